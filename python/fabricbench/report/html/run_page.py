"""Builds the report page from the trials of a run, and writes it as an HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fabricbench.figures.trial_data import subject_of
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.documents.table import Tone
from fabricbench.report.html.measured_page import measured_page
from fabricbench.report.html.page_parts import Page, Section
from fabricbench.report.html.rendering import write_page
from fabricbench.report.html.sections.about import facts_section, model_section, plan_section
from fabricbench.report.html.sections.answers import answers
from fabricbench.report.html.sections.causes import (
    diagnosis_section,
    loss_and_pause_parts,
    recovery_section,
    uplinks_section,
)
from fabricbench.report.html.sections.hosts_and_ports import hosts_section, ports_section
from fabricbench.report.html.sections.summary import (
    bandwidth_section,
    fct_section,
    summary_section,
    sweep_section,
)
from fabricbench.report.html.sections.tcp import tcp_section
from fabricbench.report.html.sections.tenants import tenants_section
from fabricbench.report.html.sections.trial import trial_sections
from fabricbench.report.html.sections.twins import twins_section
from fabricbench.report.html.sections.variant_details import RunVariants
from fabricbench.report.output.atomic_files import check_writable_target
from fabricbench.results.job_ranking import jobs_text
from fabricbench.results.result_rows import ResultRow, result_rows, trial_label
from fabricbench.store import Trial
from fabricbench.words import counted


def write_report(
    trials: Sequence[Trial],
    focus: Trial,
    path: Path,
    others: Sequence[Trial] = (),
    twins: Sequence[Trial] = (),
) -> int:
    """Write the report of a run as one HTML file that opens offline.

    Args:
        trials: The finished trials of the run, in the order of the plan; `focus` is one of them. They may
            include trials of other runs in which one of its jobs ran alone.
        focus: The trial whose chunks, links and queues are drawn.
        path: The file; replaced if it exists, unchanged if anything fails.
        others: Trials of another run that are added to the table and the plots of bandwidth, such as measured
            ones.
        twins: Trials of the same run specs by other backends, for comparison with the run.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
        StoreError: A table of a trial cannot be read.
    """
    check_writable_target(path)
    return write_page(build_page(trials, focus, others, twins), path)


def build_page(
    trials: Sequence[Trial], focus: Trial, others: Sequence[Trial] = (), twins: Sequence[Trial] = ()
) -> Page:
    """Build the page; see `write_report`."""
    rows = result_rows(trials, focus, others)
    focus_rows = [row for row in rows if row.is_focus]
    label = focus_rows[0].label if len(focus_rows) == 1 else trial_label(focus_rows)
    if focus.is_printed:
        return measured_page(rows, focus, label)
    insight = insight_of(focus)
    variants = RunVariants(trials, focus)

    def labelled(*sections: Section | None) -> list[Section]:
        """Drop missing sections, and label each with its trial."""
        about = f"{label} · trial {focus.id}"
        return [replace(section, about=about) for section in sections if section is not None]

    first, second = _present(bandwidth_section(rows, focus)), [fct_section(rows, focus)]
    if len({row.trial.id for row in rows}) == 1:  # a curve with one point has little information
        first, second = second, first
    return Page(
        name=focus.facts.plan,
        title=focus.facts.title or focus.facts.plan,
        verdict=_verdict(rows, label),
        tone=_tone(rows),
        focus=f"Detailed plots: {label}, trial {focus.id}",
        answers=answers(rows, insight),
        sections=[
            *_present(variants.comparison()),
            *_present(sweep_section(rows, focus)),
            *_present(tenants_section(rows, focus)),
            *first,
            summary_section(rows),
            *labelled(diagnosis_section(insight) if insight else None),
            *labelled(recovery_section(insight) if insight else None),
            *_present(tcp_section(rows)),
            *_present(twins_section(trials, focus, twins)),
            *second,
            *_present(variants.headline(focus)),
            *labelled(uplinks_section(subject_of(focus, [focus])) if focus.has("ports") else None),
            *labelled(*trial_sections(focus, insight, loss_and_pause_parts(insight) if insight else [])),
            *labelled(hosts_section(focus), ports_section(focus)),
            *variants.others(),
            plan_section(focus),
            facts_section(rows),
            *_present(model_section(focus)),
        ],
        footer=f"fabricbench {focus.facts.engine_version}",
    )


def _present(section: Section | None) -> list[Section]:
    return [] if section is None else [section]


def _verdict(rows: Sequence[ResultRow], label: str) -> str:
    """Describe in one line how the run ended, and the jobs of the focus trial."""
    jobs = jobs_text([row.report for row in rows if row.is_focus])
    return "; ".join([_ending(rows), *([f"{label}: {jobs}"] if jobs else [])])


def _tone(rows: Sequence[ResultRow]) -> Tone:
    """Return whether the run passed or failed; neutral if no criterion judges it."""
    if _not_met(rows) or any(row.summary.status != "complete" for row in rows):
        return "bad"
    return "good" if any(row.judgements for row in rows) else ""


def _not_met(rows: Sequence[ResultRow]) -> int:
    """Return the number of criteria that are not met."""
    return sum(1 for row in rows for judgement in row.judgements if not judgement.passed)


def _ending(rows: Sequence[ResultRow]) -> str:
    """Describe how the run ended, and whether it met the criteria of the plan; without measured results."""
    rows = [row for row in rows if not row.trial.is_printed]
    complete = sum(1 for row in rows if row.summary.status == "complete")
    results = counted(len(rows), "result")
    if complete == len(rows) and _not_met(rows):
        judged = sum(len(row.judgements) for row in rows)
        return f"failed: {_not_met(rows)} of {judged} criteria not met; {results}, all complete"
    if complete == len(rows):
        return f"complete: {results}, every chunk delivered and acknowledged"
    stalled = sum(1 for row in rows if row.summary.status == "stalled")
    if stalled and len(rows) == 1:
        return "stalled: 1 result, which made no progress any more"
    if stalled:
        return f"stalled: {stalled} of {results} made no progress any more, {complete} complete"
    if len(rows) == 1:
        return "incomplete: 1 result, which has chunks that never completed"
    return f"incomplete: {len(rows) - complete} of {results} have chunks that never completed"
