"""Fields of the search of a plan, as written; `fabricbench.plan.search` checks it."""

from typing import Final, Literal

from pydantic import Field

from fabricbench.plan.fields.base import PlanModel

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
