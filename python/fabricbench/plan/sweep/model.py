"""The sweep of a plan: the data or message sizes of its trials."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Size
from fabricbench.units import UnitError


class SizeRange(PlanModel):
    """Data sizes from `start`, each `factor` times the one before, up to and including `end`."""

    start_bytes: Size = Field(alias="start", description="First data size [size].")
    factor: int = Field(
        default=2,
        ge=2,
        le=1 << 20,
        description="Each size is this many times the one before. Source: nccl-tests.",
    )
    end_bytes: Size = Field(alias="end", description="No data size is above this one [size].")


def _form_of_sizes(value: Any) -> str:
    """Tell the three ways of writing data sizes apart."""
    if isinstance(value, dict | SizeRange):
        return "range"
    return "list" if isinstance(value, list | tuple) else "one"


def _not_several(value: object) -> object:
    """Refuse several sizes that are written as one text: as an override, that looks like a list."""
    if isinstance(value, str) and "," in value:
        sizes = ", ".join(part.strip() for part in value.split(","))
        allowed = 'one size such as "16MB", a list or a range'
        raise UnitError(shorten(value), allowed, f"write a list: [{sizes}]")
    return value


Sizes = Annotated[
    Annotated[Size, BeforeValidator(_not_several), Tag("one")]
    | Annotated[tuple[Size, ...], Field(strict=False, min_length=1), Tag("list")]
    | Annotated[SizeRange, Tag("range")],
    Discriminator(_form_of_sizes),
]
"""Sizes of a sweep: one, a list or a range."""


class Sweep(PlanModel):
    """What changes from trial to trial: `data_size` or `message_size`."""

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
