"""Builds sections on the origin of results: the plan, facts of the run and machine, limits of the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fabricbench.analysis.links.utilisation import packet_hops_per_s
from fabricbench.figures.scales import byte_count_text, significant, time_text
from fabricbench.report.documents.model_notes import FLOW_NOTES, MODEL_NOTES
from fabricbench.report.documents.switch_configurations import configurations
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.html.page_parts import FactsPart, Part, Section, TextPart
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


def facts_section(trials: Sequence[Trial], focus: Trial) -> Section:
    """Return the facts of the focus trial: backend, machine, duration."""
    machine = [(f"Machine: {name}", str(value)) for name, value in focus.machine.items()]
    return Section("run", "Run", [FactsPart([*_identity(trials, focus), *_engine(focus), *machine])])


def _identity(trials: Sequence[Trial], focus: Trial) -> list[tuple[str, str]]:
    facts = focus.facts
    return [
        ("Trial", focus.id),
        ("Trials of the run", f"{len(trials):,}"),
        ("Seed", str(facts.run_spec["seed"])),
        ("Backend", f"{facts.backend}, results {facts.backend_version}"),
        ("Engine", facts.engine_version),
        ("Tag", facts.tag or "–"),
        ("Started", _utc(focus.started_at)),
        ("Ended", _utc(focus.ended_at)),
    ]


def _engine(focus: Trial) -> list[tuple[str, str]]:
    """Return costs and counters of the run, as far as its backend reports them."""
    engine, summary = focus.engine, focus.summary or {}
    pairs = [("Time of the run", time_text(summary["end_ps"])), *_facts(engine, _ENGINE)]
    if {"packet_hops", "wall_s"} <= set(engine):
        speed = packet_hops_per_s(engine["packet_hops"], engine["wall_s"])
        pairs.append(("Packet-hops / s", "–" if speed is None else f"{speed:,.0f}"))
    if {"fast_windows", "exact_windows"} <= set(engine):
        paths = f"{engine['fast_windows']:,} fast, {engine['exact_windows']:,} exact windows"
        pairs.append(("Engine path", paths))
    counts = {name: value for name, value in engine.items() if isinstance(value, int | float)}
    pairs += [(name, f"{value:,}") for name, value in counts.items() if name not in _FORMATTED]
    pairs += _facts(summary, _SUMMARY)
    lost = summary.get("frames_lost", {})
    return [*pairs, *((f"Lost: {cause.replace('_', ' ')}", f"{count:,}") for cause, count in lost.items())]


_Facts = Mapping[str, tuple[str, Callable[[Any], str]]]
"""Title and formatter of each fact."""


def _facts(values: Mapping[str, Any], formats: _Facts) -> list[tuple[str, str]]:
    return [(title, text(values[name])) for name, (title, text) in formats.items() if name in values]


def _count(value: int) -> str:
    return f"{value:,}"


def _seconds(value: float) -> str:
    return f"{significant(value)} s"


_ENGINE: _Facts = {
    "wall_s": ("Wall time", _seconds),
    "cpu_s": ("Processor time", _seconds),
    "threads": ("Threads", _count),
    "packet_hops": ("Packet-hops", _count),
    "events": ("Engine events", _count),
    "fast_forward_ps": ("Skipped, as it repeated", time_text),
    "peak_rss_bytes": ("Peak memory", byte_count_text),
}
_FORMATTED = {*_ENGINE, "fast_windows", "exact_windows"}
_SUMMARY: _Facts = {
    "window_ps": ("Time window", time_text),
    "frames_sent": ("Frames sent", _count),
    "frames_delivered": ("Frames delivered", _count),
    "frames_in_flight": ("Frames in flight at the end", _count),
}


def _utc(moment: str | None) -> str:
    """Shorten an ISO 8601 time in UTC to seconds."""
    return "–" if moment is None else f"{moment[:19].replace('T', ' ')} UTC"


def model_section(focus: Trial) -> Section | None:
    """Return the scope and the omissions of a model, or `None` for measurements."""
    notes = {SIMULATED: MODEL_NOTES, FLOW_MODEL: FLOW_NOTES}.get(made(focus))
    if notes is None:
        return None
    columns = [Column(title, is_text=True) for title in ("part", "modelled", "left out")]
    rows = [Row([note.part, note.modelled, note.left_out]) for note in notes]
    return Section("model", "Assumptions and limits", [Table(columns, rows)])
