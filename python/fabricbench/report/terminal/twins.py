"""Formats measured and predicted results by size as tables, with the likely causes of their difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import BY_NAME
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text, value_text
from fabricbench.report.documents.twins import METRICS, TwinGroup, TwinRow, trend_text
from fabricbench.report.terminal.text_table import Style, render, styled

_CAUSES = 4


def twins_text(groups: Sequence[TwinGroup], *, colour: bool = False) -> str:
    """Return a table for each job: measured and predicted time and bandwidths, and their deviation."""
    return "\n\n".join(_group_text(group, colour=colour) for group in groups)


def _group_text(group: TwinGroup, *, colour: bool) -> str:
    metrics = [BY_NAME[name] for name in METRICS]
    columns = [Column("data", "size", is_text=True)]
    columns += [
        Column(f"{side} {metric.label}", metric.unit, head=(side, *metric.lines))
        for side in ("measured", "predicted")
        for metric in metrics
    ]
    columns.append(Column("deviation", "%"))
    lines = [styled(group.title, Style.BOLD, colour=colour)]
    lines.append(render(Table(columns, [_row(row) for row in group.rows]), colour=colour))
    lines += [f"trend: {trend_text(group.trend)}"] if group.trend else []
    return "\n".join([*lines, *(line for row in group.rows for line in _note_lines(row))])


def _row(row: TwinRow) -> Row:
    deviation = row.twin.deviation_percent
    metrics = [BY_NAME[name] for name in METRICS]
    measured = [value_text(row.measured, row.twin.measured, metric) for metric in metrics]
    cells = [row.size, *measured, *_predicted(row.twin.predicted)]
    return Row([*cells, "-" if deviation is None else f"{deviation:+.2f}"])


def _predicted(summary: Summary | None) -> list[str]:
    return [metric_text(BY_NAME[name], summary.value(name) if summary else None) for name in METRICS]


def _note_lines(row: TwinRow) -> Iterator[str]:
    """Yield why there is no prediction, or the likely causes and the slowest ranks."""
    if row.missing:
        yield f"{row.size}: {row.missing}"
    yield from (f"{row.size}: {cause.text}" for cause in row.twin.causes[:_CAUSES])
    slowest = [
        f"{pair.src_rank} to {pair.dst_rank} ({pair.ratio:.2f} times)"
        for pair in row.twin.slowest
        if pair.ratio > 1
    ]
    if slowest and row.twin.causes:
        yield f"{row.size}: slowest ranks against the prediction: {', '.join(slowest)}"
