"""Tables of the ratios of a plan's variants to the reference variant, and of their spread over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.results.variants import TOLERANCE, VariantResult, VersusRow

RATIO_DECIMALS = 3
TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad", "same": "", "": "muted"}
"""Tone of each verdict on a ratio."""
_CAPTION = (
    "The ratio to the reference variant, which is 1 by definition, and below it the value, or over several "
    "iterations the median and below it the least and the largest. Green is better and orange worse by more "
    f"than {100 * TOLERANCE:g} %. Incomplete runs give no ratio. A ratio leads to the plots of its variant."
)


def anchor(variant: str) -> str:
    """Return the anchor of the sections of a page that show one variant."""
    return f"variant-{variant}"


def ratio_tables(rows: Sequence[VersusRow]) -> list[Table]:
    """Return a table for each ratio: a line for each size and job, a column for each variant."""
    return [_ratio_table(list(group)) for _, group in groupby(rows, key=_kind)]


def _kind(row: VersusRow) -> tuple[str, tuple[str, ...]]:
    return row.ratio, tuple(result.variant for result in row.results)


def _ratio_table(rows: Sequence[VersusRow]) -> Table:
    first = rows[0]
    columns = [Column(title, is_text=True) for title in ("size", "job")]
    columns += [Column(result.variant) for result in first.results]
    lines = [Row([row.size, row.job, *(_ratio_cell(row, result) for result in row.results)]) for row in rows]
    title = f"{first.metric.phrase} of each job, ratio to {first.reference}"
    return Table(columns, lines, _CAPTION, title)


def _ratio_cell(row: VersusRow, result: VariantResult) -> Cell:
    link = f"#{anchor(result.variant)}"
    if result.value is None:
        return Cell("-", ["incomplete"] if result.is_incomplete else [], "bad", link)
    tone = "" if result.variant == row.reference else TONES[row.verdict(result)]
    return Cell(fixed(result.value, RATIO_DECIMALS), _details(row, result), tone, link)


def _details(row: VersusRow, result: VariantResult) -> list[str]:
    """Return the value of the ratio, or its range over several seeds."""
    lines = []
    if len(result.jobs) == 1:
        value = result.jobs[0].summary.value(row.metric.name)
        lines.append(f"{metric_text(row.metric, value)} {row.metric.unit}".strip())
    elif result.ratios:
        low, high = fixed(result.ratios.least, RATIO_DECIMALS), fixed(result.ratios.largest, RATIO_DECIMALS)
        lines.append(low if low == high else f"{low} to {high}")
    return [*lines, *(["some incomplete"] if result.is_incomplete else [])]


def spread_table(rows: Sequence[VersusRow]) -> Table | None:
    """Return the spread of each ratio over the seeds, or `None` for one seed."""
    results = [(row, result) for row in rows for result in row.results]
    if not any(len(result.jobs) > 1 for _, result in results):
        return None
    columns = [Column(title, is_text=True) for title in ("size", "job", "variant", "ratio of")]
    columns += [Column(title) for title in ("seeds", "least", "P25", "median", "P75", "largest")]
    lines = [_spread_row(row, result) for row, result in results]
    return Table(columns, lines, title=f"ratios to {rows[0].reference} over the seeds")


def _spread_row(row: VersusRow, result: VariantResult) -> Row:
    values = result.ratios.quartiles if result.ratios else (None,) * 5
    count = str(result.ratios.count if result.ratios else 0)
    names = [row.size, row.job, result.variant, row.metric.phrase]
    return Row([*names, count, *(fixed(value, RATIO_DECIMALS) for value in values)])
