"""Table of a search: for each case the value that passes the criteria, and the nearest that does not."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import axis_columns
from fabricbench.searched import Searched
from fabricbench.words import counted, data_size


def search_table(plan: str, cases: Sequence[Searched], trials: int) -> Table:
    """Return a line for each case.

    Args:
        plan: Name of the plan.
        cases: The cases, at least one.
        trials: Number of trials that were run.
    """
    first = cases[0]
    direction = "highest" if first.is_highest else "lowest"
    title = f"{plan}: the {direction} {first.field} for which the criteria hold; {counted(trials, 'trial')}"
    has_variants = any(case.variant != "base" for case in cases)
    has_sizes = any(case.data_size_bytes is not None for case in cases)
    columns = [Column("variant", is_text=True)] if has_variants else []
    columns += axis_columns([name for name, _ in first.axes])
    columns += [Column("size")] if has_sizes else []
    columns += [Column("holds"), Column("does not"), Column("tried")]
    rows = []
    for case in cases:
        cells = [case.variant] if has_variants else []
        cells += [value for _, value in case.axes]
        cells += [data_size(case.data_size_bytes or 0)] if has_sizes else []
        cells += [case.holds or "-", case.fails or "-", str(case.tried)]
        rows.append(Row(cells, "" if case.holds else "bad"))
    notes = [f"{case.label or plan}: {case.text}" for case in cases if case.holds is None]
    return Table(columns, rows, title=title, notes=notes)
