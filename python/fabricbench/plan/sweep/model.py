"""Sweep and search of a plan as written: sizes, other fields with lists of values, range of a search.

`fabricbench.plan.sweep.search_range` checks the search.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Size
from fabricbench.plan.fields.sizes import Sizes

SIZE_FIELDS: Final = ("data_size", "message_size")
"""The sizes that a sweep may have; every other key is the dotted path of a field."""


def _as_list(value: object) -> object:
    """Return a single value as a list; mappings are unchanged and then refused: they may be nested fields."""
    return value if isinstance(value, list | tuple | dict) else (value,)


Values = Annotated[
    tuple[Any, ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=list[Any] | str | float | bool),
]
"""Values of a swept field, each as the plan writes it: a list, or one value."""


class FieldValues(PlanModel):
    """Fields by their dotted paths, each with its values; `sweep.fields` checks the paths."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Values]

    @property
    def fields(self) -> Mapping[str, tuple[Any, ...]]:
        """The values of each field, in the order of the plan; without sizes."""
        return self.__pydantic_extra__


class Zip(FieldValues):
    """Fields whose values change together: the first of each, then the second of each."""

    data_size: Annotated[tuple[Size, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="Data sizes that change with the fields [size]."
    )
    message_size: Annotated[tuple[Size, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="Message sizes that change with the fields [size]."
    )

    @property
    def lists(self) -> Mapping[str, tuple[Any, ...]]:
        """All its lists, including those of sizes."""
        sizes = {name: getattr(self, name) for name in SIZE_FIELDS}
        return {name: values for name, values in sizes.items() if values is not None} | dict(self.fields)


class Sweep(FieldValues):
    """Settings that change between trials: `data_size` or `message_size`, and fields by dotted paths."""

    data_size: Sizes | None = Field(
        default=None,
        description=(
            "Data sizes, one trial each [size]: one size, a list, or a mapping `{start, factor, end}` "
            "(docs/plan.md says what S is)."
        ),
    )
    message_size: Sizes | None = Field(
        default=None,
        description=(
            "The same as message sizes [size], as in MPI benchmarks: what a rank gives to each other rank "
            "(all-to-all, scatter) or puts in (all-gather, gather), a data size of so much times the ranks; "
            "of other collectives the data size. Source: Intel MPI Benchmarks, OSU micro-benchmarks."
        ),
    )
    zipped: Zip | None = Field(
        default=None,
        alias="zip",
        description=(
            "Lists of equal length, by the dotted paths of fields, whose values change together; fields "
            "beside it are combined with all of them."
        ),
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted paths of every swept field, in order."""
        return (*self.fields, *(self.zipped.fields if self.zipped else ()))


STEPS_MAX: Final = 64
"""Halvings after which the bracket of any range is a single value."""
HIGHEST: Final = "highest"

Written = str | int | float
"""A value as a plan has it."""


class Search(PlanModel):
    """Find the highest, or lowest, value of a field for which the criteria hold, by halving a range."""

    field: str = Field(
        min_length=1,
        max_length=400,
        description="The field, by its dotted path, as of a sweep: one that has numbers.",
    )
    low: Written = Field(alias="from", description="The lower end of the range, as the field has it.")
    high: Written = Field(alias="to", description="The upper end of the range.")
    find: Literal["highest", "lowest"] = Field(
        default="highest",
        description="Which value is looked for; that end of the range is tried first. Source: RFC 2544.",
    )
    resolution: Written | None = Field(
        default=None,
        description=(
            "The search ends when the value that holds and the one that does not are that near. Default: it "
            "ends after `steps`."
        ),
    )
    steps: int = Field(
        default=10,
        ge=1,
        le=STEPS_MAX,
        description="Halvings at most, beside the two ends. Source: a thousandth of the range.",
    )

    @property
    def values_max(self) -> int:
        """Largest number of tried values: both ends and the halvings."""
        return 2 + self.steps
