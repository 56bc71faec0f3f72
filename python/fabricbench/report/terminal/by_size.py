"""Formats the comparison of two runs by data size: times and bandwidths with their ratios."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fabricbench.analysis.comparison.ratios import Change
from fabricbench.metrics import Metric, View, in_views
from fabricbench.report.documents.columns import with_short_units
from fabricbench.report.documents.comparison import Comparison, JobPair
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.words import data_size

_DECIMALS = 3


def sizes_text(comparison: Comparison, *, colour: bool = False) -> str:
    """Return a table with a line for each common size of two runs; ratios are second over first."""
    title = f"{comparison.labels[0]} (1) and {comparison.labels[1]} (2); ratios are 2 over 1"
    kinds = list(dict.fromkeys(map(_kind, comparison.pairs)))
    ordered = sorted(comparison.pairs, key=lambda pair: kinds.index(_kind(pair)))
    tables = [_table(list(group), colour=colour) for _, group in groupby(ordered, key=_kind)]
    note = [comparison.note] if comparison.note else []
    return "\n\n".join([styled(title, Style.BOLD, colour=colour), *tables, *note])


def _kind(pair: JobPair) -> tuple[str, int, str, str]:
    first = pair.first
    return first.summary.collective, first.summary.ranks, first.trial.facts.variant, first.axes


def _table(pairs: Sequence[JobPair], *, colour: bool) -> str:
    collective, ranks, variant, axes = _kind(pairs[0])
    with_values = [
        metric for metric in in_views(View.SIZES) if any(_change(pair, metric).has_values for pair in pairs)
    ]
    shown = with_short_units(
        with_values, [job.summary for pair in pairs for job in (pair.first, pair.second)]
    )
    columns = [Column("data", "size", is_text=True)]
    for metric in shown:
        head, unit = metric.lines
        columns += [Column(f"{head} 1", unit), Column(f"{head} 2", unit)]
        columns += [Column("ratio")] if _has_ratio(metric) else []
    rows = [_row(pair, shown) for pair in pairs]
    suffix = "" if variant in ("", "base") else f", {variant}"
    suffix += f", {axes}" if axes else ""
    return f"{collective}, {ranks} ranks{suffix}\n{render(Table(columns, rows), colour=colour)}"


def _row(pair: JobPair, metrics: Sequence[Metric]) -> Row:
    iteration = pair.first.trial.facts.iteration
    cells = [data_size(pair.first.summary.data_size_bytes) + (f" #{iteration}" if iteration else "")]
    for metric in metrics:
        change = _change(pair, metric)
        cells += [metric_text(metric, change.first), metric_text(metric, change.second)]
        cells += [fixed(change.ratio, _DECIMALS)] if _has_ratio(metric) else []
    return Row(cells)


def _has_ratio(metric: Metric) -> bool:
    """Return whether a ratio adds information to the two values; for percentages it does not."""
    return metric.unit != "%"


def _change(pair: JobPair, metric: Metric) -> Change:
    return next(change for change in pair.changes if change.metric.name == metric.name)
