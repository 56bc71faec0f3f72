"""Data or message sizes as a plan writes them: one, a list, or a range with a factor; expands ranges."""

from collections.abc import Iterator
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
    """Return the form of data sizes: one, a list or a range."""
    if isinstance(value, dict | SizeRange):
        return "range"
    return "list" if isinstance(value, list | tuple) else "one"


def _not_several(value: object) -> object:
    """Refuse several sizes that are written as one text, which an override may have in place of a list."""
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
"""Data or message sizes: one, a list or a range."""


def size_list(sizes: "SizeRange | int | tuple[int, ...]") -> list[int]:
    """Return the sizes that a plan names, in their order [bytes]."""
    if isinstance(sizes, SizeRange):
        return list(_geometric(sizes))
    return [sizes] if isinstance(sizes, int) else list(sizes)


def _geometric(sizes: SizeRange) -> Iterator[int]:
    """Yield start, start * factor, ... up to and including end."""
    size = sizes.start_bytes
    while size <= sizes.end_bytes:
        yield size
        size *= sizes.factor
