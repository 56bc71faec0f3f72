"""Builds the section that compares a plan's variants: ratios to the reference, plots, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabricbench.figures.figure import VARIANTS
from fabricbench.figures.results.variants import RATIO_FIGURE, ratio_groups
from fabricbench.figures.trial_data import Subject
from fabricbench.metrics import RATIOS, Direction
from fabricbench.report.documents.comparison import Comparison, parameters_table
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Note
from fabricbench.report.documents.variants import RATIO_DECIMALS, ratio_tables, spread_table
from fabricbench.report.html.figure_sections import plot_parts
from fabricbench.report.html.page_parts import Part, Section
from fabricbench.results.variants import VersusRow, versus_rows

MAX_ROWS = 400
MAX_PLOTS = 8
MAX_PARAMETERS = 60


def variants_section(subject: Subject, comparison: Comparison) -> Section | None:
    """Return the ratios of all variants to the reference, or `None` for a plan without variants.

    Args:
        subject: Every job of every trial of the run.
        comparison: Their differences.
    """
    rows = versus_rows([row.report for row in subject.rows])
    if not rows:
        return None
    shown = rows[:MAX_ROWS]
    spread = spread_table(shown)
    ratios: list[Part] = [*ratio_tables(shown), *([spread] if spread else [])]
    if len(rows) > MAX_ROWS:
        ratios.append(Note(f"Reduced: the first {MAX_ROWS} of {len(rows):,} lines."))
    parts: list[Part] = [*_findings(rows), *ratios, *_plots(subject, rows)]
    parameters = parameters_table(comparison, MAX_PARAMETERS)
    parts += [parameters] if parameters else []
    return Section(VARIANTS.key, VARIANTS.title, parts)


def _variants(rows: Sequence[VersusRow]) -> list[str]:
    return list(dict.fromkeys(result.variant for row in rows for result in row.results))


def _findings(rows: Sequence[VersusRow]) -> list[Part]:
    """Return a sentence for each variant about its ratios over all jobs and sizes."""
    notes: list[Part] = []
    for name in _variants(rows):
        ratio_texts = [_ratio_text(name, ratio, rows) for ratio in dict.fromkeys(row.ratio for row in rows)]
        if name != rows[0].reference and any(ratio_texts):
            notes.append(Note(f"{name}: {', '.join(text for text in ratio_texts if text)}."))
    return notes


def _ratio_text(variant: str, ratio: str, rows: Sequence[VersusRow]) -> str:
    """Format the range of a variant's ratio; empty if it has none."""
    results = [
        result for row in rows if row.ratio == ratio for result in row.results if result.variant == variant
    ]
    values = [result.value for result in results if result.value is not None]
    if not values:
        return ""
    low, high = fixed(min(values), RATIO_DECIMALS), fixed(max(values), RATIO_DECIMALS)
    times = low if low == high else f"{low} to {high}"
    better = "less is better" if RATIOS[ratio].direction is Direction.LOWER else "more is better"
    return f"{RATIOS[ratio].phrase} {times} times that of {rows[0].reference} ({better})"


def _plots(subject: Subject, rows: Sequence[VersusRow]) -> list[Part]:
    """Return bars over the data sizes for each job, or over the jobs if there is one size."""
    groups = ratio_groups(rows)
    chosen = groups[:MAX_PLOTS]
    plots = [
        replace(part, name=f"{part.name}-{index}")
        for index, group in enumerate(chosen)
        for part in plot_parts([RATIO_FIGURE], subject.of_job(group.rows[0].job), half=len(chosen) > 1)
    ]
    if len(groups) <= MAX_PLOTS:
        return [*plots]
    return [*plots, Note(f"Reduced: the plots of {MAX_PLOTS} of {len(groups)} jobs.")]
