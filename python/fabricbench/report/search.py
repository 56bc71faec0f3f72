"""Results of a plan's search: in each case the value that passes, and the nearest that does not."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.report.text_table import Column, Row, Style, render
from fabricbench.results.axes import axis_heads
from fabricbench.searched import Searched
from fabricbench.words import counted, data_size


def search_table(plan: str, found: Sequence[Searched], trials: int, *, colour: bool) -> str:
    """Format a line for each case.

    Args:
        plan: Name of the plan.
        found: The cases, at least one.
        trials: Number of trials that were run.
        colour: Whether lines may have styles.
    """
    first = found[0]
    names = [name for name, _ in first.axes]
    direction = "highest" if first.is_highest else "lowest"
    title = f"{plan}: the {direction} {first.field} for which the criteria hold; {counted(trials, 'trial')}"
    has_variants = any(case.variant != "base" for case in found)
    has_sizes = any(case.data_size_bytes is not None for case in found)
    columns = [Column(("variant",), is_text=True)] if has_variants else []
    columns += [Column(head, is_text=True) for head in axis_heads(names)]
    columns += [Column(("size",))] if has_sizes else []
    columns += [Column(("holds",)), Column(("does not",)), Column(("tried",))]
    rows = []
    for case in found:
        cells = [case.variant] if has_variants else []
        cells += [value for _, value in case.axes]
        cells += [data_size(case.data_size_bytes or 0)] if has_sizes else []
        cells += [case.holds or "-", case.fails or "-", str(case.tried)]
        rows.append(Row(cells, Style.PLAIN if case.holds else Style.RED))
    lines = [title, render(columns, rows, colour=colour)]
    unsolved = [case for case in found if case.holds is None]
    lines += [f"{case.label or plan}: {case.text}" for case in unsolved]
    return "\n".join(lines)
