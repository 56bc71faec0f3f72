"""Builds the page of an imported benchmark output: results, printed values, and the file itself."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.record.run_spec import MEASURED
from fabricbench.report.documents.measured import NO_CHUNKS, printed_table
from fabricbench.report.documents.table import Note
from fabricbench.report.documents.trial_facts import trial_facts
from fabricbench.report.html.page_parts import FactsPart, Page, Part, Section, TextPart
from fabricbench.report.html.sections.summary import bandwidth_section, summary_section
from fabricbench.results.result_rows import ResultRow
from fabricbench.store import Trial
from fabricbench.words import counted

MAX_LINES = 60
"""Longer files are folded."""


def measured_page(rows: Sequence[ResultRow], focus: Trial, label: str) -> Page:
    """Build the page of a measured run.

    Args:
        rows: Its results, and those of a compared run.
        focus: The trial that is shown in full.
        label: Its label.
    """
    suite_rows = [row for row in rows if row.trial.facts.suite == focus.facts.suite]
    incomplete = sum(1 for row in suite_rows if row.summary.status != "complete")
    count = counted(len(suite_rows), "result")
    ending = f", {incomplete} of them with wrong values" if incomplete else ""
    about = f"{label} · trial {focus.id}"
    bandwidth = bandwidth_section(rows, focus)
    return Page(
        name=focus.facts.plan,
        title=focus.facts.title,
        verdict=f"measured: {count}{ending}",
        tone="bad" if incomplete else "",
        focus=f"In full: {label}, trial {focus.id}",
        sections=[
            summary_section(rows),
            *([bandwidth] if bandwidth else []),
            Section("measured", "Measured", _printed_parts(rows, focus), about),
            Section("file", "Imported file", [_file(focus)]),
        ],
        footer=f"fabricbench, results of {focus.facts.engine_version}",
    )


def _file(focus: Trial) -> TextPart:
    text = focus.facts.plan_source.rstrip()
    return TextPart(text, title=focus.facts.run_spec[MEASURED]["file"], folded=text.count("\n") > MAX_LINES)


def _printed_parts(rows: Sequence[ResultRow], focus: Trial) -> list[Part]:
    table = printed_table(focus)
    return [
        FactsPart(trial_facts([row.report for row in rows if row.is_focus])),
        *([table] if table else []),
        Note(NO_CHUNKS),
    ]
