"""Result of a search: the highest or lowest value of a field with which a plan's criteria pass.

`Searched` has it for one case (a variant at one size and one combination of swept values), as text and JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabricbench.words import data_size


@dataclass(frozen=True)
class Searched:
    """A case of a search: a variant, at a size and values of swept fields.

    Attributes:
        field: The field that was searched.
        is_highest: Whether the highest value was searched.
        variant: The variant, `base` if the plan has none.
        axes: The other swept fields with their values.
        data_size_bytes: The size of the case; none if no sizes are swept.
        holds: The value that passes, as a plan writes it; none if not even the end of the range does.
        fails: The nearest tried value that does not; none if the other end of the range passes.
        tried: Number of tried values.
    """

    field: str
    is_highest: bool
    variant: str
    axes: tuple[tuple[str, str], ...]
    data_size_bytes: int | None
    holds: str | None
    fails: str | None
    tried: int

    @property
    def label(self) -> str:
        """Variant, size and values of swept fields; empty if there are none."""
        size = [] if self.data_size_bytes is None else [data_size(self.data_size_bytes)]
        variant = [] if self.variant == "base" else [self.variant]
        return ", ".join([*variant, *size, *(f"{name} {value}" for name, value in self.axes)])

    @property
    def text(self) -> str:
        """The result, in words."""
        if self.holds is None:
            return f"not even {self.fails} holds"
        if self.fails is None:
            return f"{self.holds} holds, the {'highest' if self.is_highest else 'lowest'} of the range"
        return f"{self.holds} holds, {self.fails} does not"

    @property
    def content(self) -> dict[str, Any]:
        """Its JSON object."""
        return {
            "field": self.field,
            "find": "highest" if self.is_highest else "lowest",
            "variant": self.variant,
            "axes": dict(self.axes),
            "data_size_bytes": self.data_size_bytes,
            "holds": self.holds,
            "fails": self.fails,
            "tried": self.tried,
        }
