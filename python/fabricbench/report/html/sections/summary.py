"""Builds sections on a whole run: table of its trials, bandwidth, flow completion times, swept fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.figures.figure import BANDWIDTH, FCT, SWEEP
from fabricbench.figures.registry import figures_of
from fabricbench.figures.results.fct import chosen_rows
from fabricbench.figures.trial_data import Subject
from fabricbench.metrics import METRICS, JobKind
from fabricbench.report.documents.fabric_metrics import fabric_table
from fabricbench.report.documents.measured import NO_CHUNKS
from fabricbench.report.documents.result_tables import result_tables
from fabricbench.report.documents.table import Note
from fabricbench.report.html.figure_sections import figure_section, plot_parts
from fabricbench.report.html.page_parts import Part, Section
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.studies.sweep import sweeps
from fabricbench.store import Trial

MAX_TABLE_ROWS = 1000


def summary_section(rows: Sequence[ResultRow]) -> Section:
    """Return the tables of all trials, with published values and deviations below ours."""
    jobs = [row.report for row in rows]
    focus = next((row.trial.id for row in rows if row.is_focus), "")
    *tables, last = result_tables(jobs, focus, MAX_TABLE_ROWS)
    fabric = fabric_table(jobs, focus, MAX_TABLE_ROWS)
    parts = [
        *tables,
        replace(last, caption=_caption(rows)),
        *([fabric] if fabric else []),
        *_notes(rows),
    ]
    return Section("summary", "Summary", parts)


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
        text += " Source of the published values: "
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
        Note(f"{note}." if count == every else f"{count:,} of {every:,} trials: {note}.")
        for note, count in counts.items()
    ]


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
    if len(chosen) == len(rows) or isinstance(section.parts[0], Note):
        return section
    note = Note(f"Reduced: {len(chosen)} of {len(rows)} results, taken evenly.")
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
