"""Builds sections on the origin of results: the plan, facts of the run and machine, limits of the model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fabricbench.report.documents.model_notes import FLOW_NOTES, MODEL_NOTES
from fabricbench.report.documents.switch_configurations import configurations
from fabricbench.report.documents.table import Column, Fact, Row, Table
from fabricbench.report.documents.trial_facts import trial_facts
from fabricbench.report.html.page_parts import FactsPart, Part, Section, TextPart
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.result_source import FLOW_MODEL, SIMULATED, made
from fabricbench.store import Trial


def plan_section(focus: Trial) -> Section:
    """Return the plan as written, the changes for this run, and the complete spec of the focus trial."""
    parts: list[Part] = [TextPart(focus.facts.plan_source.rstrip())]
    configured, changed = configurations(focus.facts.overrides)
    if changed:
        parts.append(TextPart("\n".join(changed), title="Changed on the command line"))
    parts += [
        TextPart("\n".join(configuration.lines), title=configuration.title) for configuration in configured
    ]
    spec = json.dumps(focus.facts.run_spec, indent=2)
    parts.append(
        TextPart(spec, title=f"Complete run spec of trial {focus.id}, every default included", folded=True)
    )
    return Section("plan", "Plan", parts)


def facts_section(rows: Sequence[ResultRow]) -> Section:
    """Return the facts of the focus trial: backend, cost, machine; and the number of trials of its run."""
    facts = trial_facts([row.report for row in rows if row.is_focus])
    count = Fact("trials of the run", f"{len({row.trial.id for row in rows}):,}")
    return Section("run", "Run", [FactsPart([*facts, count])])


def model_section(focus: Trial) -> Section | None:
    """Return the scope and the omissions of a model, or `None` for measurements."""
    notes = {SIMULATED: MODEL_NOTES, FLOW_MODEL: FLOW_NOTES}.get(made(focus))
    if notes is None:
        return None
    columns = [Column(title, is_text=True) for title in ("part", "modelled", "left out")]
    rows = [Row([note.part, note.modelled, note.left_out]) for note in notes]
    return Section("model", "Assumptions and limits", [Table(columns, rows)])
