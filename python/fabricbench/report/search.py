"""What the search of a plan found: in each case the value that holds, and the nearest that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.report.text_table import Column, Row, Style, render
from fabricbench.results.axes import axis_heads
from fabricbench.words import counted, data_size


@dataclass(frozen=True)
class Searched:
    """A case of a search: a variant, at a size and values of swept fields.

    Attributes:
        field: The field that was searched.
        is_highest: Whether the highest value was looked for.
        variant: The variant, `base` if the plan has none.
        axes: The other swept fields with their values.
        data_size_bytes: The size of the case; none where no sizes are swept.
        holds: The value that holds, as a plan has it; none if not even the end of the range does.
        fails: The nearest one tried that does not; none if all that were tried hold.
        tried: How many values were tried.
    """

    field: str
    is_highest: bool
    variant: str
    axes: Sequence[tuple[str, str]]
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
        """What was found, in words."""
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


def search_table(plan: str, found: Sequence[Searched], trials: int, *, colour: bool) -> str:
    """Write a line for each case.

    Args:
        plan: Name of the plan.
        found: The cases, one at least.
        trials: How many trials were run.
        colour: Whether lines may have styles.
    """
    first = found[0]
    names = [name for name, _ in first.axes]
    which = "highest" if first.is_highest else "lowest"
    title = f"{plan}: the {which} {first.field} for which the criteria hold; {counted(trials, 'trial')}"
    has_variants = any(each.variant != "base" for each in found)
    has_sizes = any(each.data_size_bytes is not None for each in found)
    columns = [Column(("variant",), is_text=True)] if has_variants else []
    columns += [Column(head, is_text=True) for head in axis_heads(names)]
    columns += [Column(("size",))] if has_sizes else []
    columns += [Column(("holds",)), Column(("does not",)), Column(("tried",))]
    rows = []
    for each in found:
        cells = [each.variant] if has_variants else []
        cells += [value for _, value in each.axes]
        cells += [data_size(each.data_size_bytes or 0)] if has_sizes else []
        cells += [each.holds or "-", each.fails or "-", str(each.tried)]
        rows.append(Row(cells, Style.PLAIN if each.holds else Style.RED))
    lines = [title, render(columns, rows, colour=colour)]
    nothing = [each for each in found if each.holds is None]
    lines += [f"{each.label or plan}: {each.text}" for each in nothing]
    return "\n".join(lines)
