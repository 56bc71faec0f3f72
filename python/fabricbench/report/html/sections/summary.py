"""Builds sections on a whole run: table of its trials, bandwidth, flow completion times, swept fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.figures.figure import BANDWIDTH, FCT, SWEEP
from fabricbench.figures.registry import figures_of
from fabricbench.figures.results.fct import chosen_rows
from fabricbench.figures.trial_data import Subject
from fabricbench.metrics import METRICS, JobKind, Metric, View
from fabricbench.report.documents.columns import has_barriers, run_columns
from fabricbench.report.documents.criteria import judgement_text
from fabricbench.report.documents.fabric_metrics import fabric_table
from fabricbench.report.documents.measured import NO_CHUNKS
from fabricbench.report.documents.table import Cell, Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import axis_columns, metric_cell, metric_columns, size_column
from fabricbench.report.html.figure_sections import figure_section, plot_parts
from fabricbench.report.html.page_parts import NotePart, Part, Section
from fabricbench.results.axes import axis_names, axis_values
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.studies.sweep import sweeps
from fabricbench.store import Trial
from fabricbench.work import NCCL_HEAD, nccl_text

MAX_TABLE_ROWS = 1000
_MAX_REASONS = 20


def summary_section(rows: Sequence[ResultRow]) -> Section:
    """Return the table of all trials, with published values and deviations below ours."""
    has_parts = any(row.part for row in rows)
    names = axis_names([row.trial for row in rows])
    columns = axis_columns(names)
    columns.append(size_column([row.trial for row in rows]))
    columns += [Column("", is_text=True)] if has_parts else []
    has_nccl = any(nccl_text(row.report.job_spec) for row in rows)
    columns += [Column(" ".join(NCCL_HEAD), is_text=True)] if has_nccl else []
    of_rounds = View.RANKS if has_barriers(rows) else View.ROUNDS
    metrics = run_columns(rows, View.RUN, View.REPEATS, of_rounds, View.ADAPTERS)
    columns += metric_columns(metrics)
    columns.append(Column("trial", is_text=True))
    cells = [
        _row(row, metrics, names, has_parts=has_parts, has_nccl=has_nccl) for row in rows[:MAX_TABLE_ROWS]
    ]
    table = Table(columns, cells, _caption(rows))
    labels = {row.trial.attempt: f"{row.trial.id} {row.size}" for row in reversed(rows)}
    focus = next((row.trial.id for row in rows if row.is_focus), "")
    fabric = fabric_table([row.report for row in rows], labels, focus, MAX_TABLE_ROWS)
    parts = [
        table,
        *([fabric] if fabric else []),
        *_notes(rows),
        *_published_notes(rows),
        *_reasons(rows),
        *_criteria(rows),
    ]
    return Section("summary", "Summary", parts)


def _row(
    row: ResultRow, metrics: Iterable[Metric], names: Sequence[str], *, has_parts: bool, has_nccl: bool
) -> Row:
    incomplete: Tone = "bad" if row.summary.status != "complete" else ""
    cells = [*map(Cell, axis_values(row.trial, names)), Cell(row.size)]
    cells += [Cell(row.part)] if has_parts else []
    cells += [Cell(nccl_text(row.report.job_spec))] if has_nccl else []
    cells += [metric_cell(row.report, metric) for metric in metrics]
    cells.append(Cell(row.trial.id, [row.summary.status] if incomplete else [], incomplete or "muted"))
    return Row(cells, focus=row.is_focus)


def _caption(rows: Sequence[ResultRow]) -> str:
    text = "Sizes in binary units (1 MB = 2^20 bytes), bandwidths in GB/s of 10^9 bytes."
    if any((row.summary.rounds or 0) > 1 for row in rows if row.trial.has("chunks")):
        text += " Of jobs that repeat, the time is the mean of their rounds."
    if any(row.trial.has("chunks") for row in rows):
        text += (
            " FCT is the time from the first byte of a data chunk offered to its last byte acknowledged, "
            "percentiles by nearest rank."
        )
    if any(row.trial.is_printed for row in rows):
        text += f" {NO_CHUNKS}"
    if any(_has_operations(row.summary) for row in rows):
        text += (
            " IOPS, throughput and latency are those of storage operations in the measured time, from the "
            "issue by the "
            "client to the completion there."
        )
    sources = {
        row.trial.facts.published["source"] for row in rows if row.published and row.trial.facts.published
    }
    if sources:
        text += " Small figures are published values and our deviation from them. Source: "
        text += " ".join(" ".join(sorted(sources)).split())
    if len(rows) > 1:
        text += " The shaded row is the trial that the detailed plots show."
    if len(rows) > MAX_TABLE_ROWS:
        text += f" Reduced: the first {MAX_TABLE_ROWS:,} of {len(rows):,} rows."
    return text


def _has_operations(summary: Summary) -> bool:
    return any(summary.value(metric.name) is not None for metric in METRICS if metric.kind is JobKind.STORAGE)


def _notes(rows: Sequence[ResultRow]) -> list[Part]:
    """Return the notes of the results, each with the number of trials if not all have it."""
    trials = {row.trial.id: row.trial for row in rows}
    counts = Counter(note for trial in trials.values() for note in trial.notes)
    every = len(trials)
    return [
        NotePart(f"{note}." if count == every else f"{count:,} of {every:,} trials: {note}.")
        for note, count in counts.items()
    ]


def _published_notes(rows: Sequence[ResultRow]) -> list[Part]:
    """Return the plan's notes about the published results in the table."""
    published = [row.trial.facts.published for row in rows if row.published]
    notes = dict.fromkeys(table["note"] for table in published if table and table.get("note"))
    return [NotePart(f"About the published results: {note}") for note in notes]


def _reasons(rows: Sequence[ResultRow]) -> list[Part]:
    broken = [row for row in rows if row.summary.status != "complete"]
    notes: list[Part] = [
        NotePart(f"{row.label}: {row.summary.reason or row.summary.status}") for row in broken[:_MAX_REASONS]
    ]
    if len(broken) > _MAX_REASONS:
        notes.append(NotePart(f"… and {len(broken) - _MAX_REASONS} more that are incomplete."))
    missing = [row for row in rows if row.missing]
    return [*notes, *(NotePart(f"{row.label}: {row.missing}.") for row in missing[:_MAX_REASONS])]


def _criteria(rows: Sequence[ResultRow]) -> list[Part]:
    """Return the criteria of the plan that are not met, or that all are; empty without criteria."""
    judged = [(row, judgement) for row in rows for judgement in row.judgements]
    failed = [
        f"{row.label}: {judgement_text(judgement)}" for row, judgement in judged if not judgement.passed
    ]
    if not failed:
        return [NotePart(f"Criteria: all met, {len(judged):,} judged.")] if judged else []
    notes: list[Part] = [NotePart(f"Criterion of the plan: {text}") for text in failed[:_MAX_REASONS]]
    if len(failed) > _MAX_REASONS:
        notes.append(NotePart(f"… and {len(failed) - _MAX_REASONS} more that are not met."))
    return notes


def bandwidth_section(rows: Sequence[ResultRow], focus: Trial) -> Section | None:
    """Return bus bandwidth and its percentage of the ideal against data size, or `None` without any."""
    rows = [row for row in rows if row.summary.kind is JobKind.COLLECTIVE]
    return figure_section(BANDWIDTH, Subject(focus, lambda: rows), half=True) if rows else None


def fct_section(rows: Sequence[ResultRow], focus: Trial) -> Section:
    """Return the distribution of flow completion times of each trial.

    Raises:
        StoreError: A table `chunks` cannot be read.
    """
    rows = [row for row in rows if row.trial.has("chunks")]
    section = figure_section(FCT, Subject(focus, lambda: rows))
    chosen = chosen_rows(rows)
    if len(chosen) == len(rows) or isinstance(section.parts[0], NotePart):
        return section
    note = NotePart(f"Reduced: {len(chosen)} of {len(rows)} results, taken evenly.")
    return replace(section, parts=[*section.parts, note])


_JOBS_MAX = 4


def sweep_section(rows: Sequence[ResultRow], focus: Trial) -> Section | None:
    """Return the figures of each job, or `None` if no field is swept over several values."""
    subject = Subject(focus, lambda: rows)
    suite_reports = [row.report for row in rows if row.trial.facts.suite == focus.facts.suite]
    parts: list[Part] = [
        replace(part, name=f"{part.name}-{index}")
        for index, sweep in enumerate(sweeps(suite_reports)[:_JOBS_MAX])
        for part in plot_parts(figures_of(SWEEP), subject.of_job(sweep.job))
    ]
    return Section(SWEEP.key, SWEEP.title, parts) if parts else None
