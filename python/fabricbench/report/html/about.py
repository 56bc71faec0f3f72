"""The sections about where the figures come from: the plan, the facts of the run, the model's limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.analysis.rates import packet_hops_per_s
from fabricbench.report.html.model import Cell, Column, FactsPart, Part, Row, Section, TablePart, TextPart
from fabricbench.report.html.scales import byte_count_text, significant, time_text
from fabricbench.report.model_notes import MODEL_NOTES

if TYPE_CHECKING:
    from fabricbench.store import Trial


def plan_section(focus: Trial) -> Section:
    """Give the plan as the user wrote it, what was changed for this run, and the focus trial's whole spec."""
    parts: list[Part] = [TextPart(focus.facts.plan_source.rstrip())]
    if focus.facts.overrides:
        parts.append(TextPart("\n".join(focus.facts.overrides), title="Changed on the command line"))
    spec = json.dumps(focus.facts.run_spec, indent=2)
    parts.append(
        TextPart(spec, title=f"Complete run spec of trial {focus.id}, every default included", folded=True)
    )
    return Section("plan", "Plan", parts)


def facts_section(trials: Sequence[Trial], focus: Trial) -> Section:
    """Give the facts of the focus trial: what ran it, where, how long it took."""
    return Section("run", "Run", [FactsPart([*_identity(trials, focus), *_engine(focus), *_machine(focus)])])


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
    engine, summary = focus.engine, focus.summary or {}
    speed = packet_hops_per_s(engine["packet_hops"], engine["wall_s"])
    return [
        ("Simulated time", time_text(summary["end_ps"])),
        ("Wall time", f"{significant(engine['wall_s'])} s"),
        ("Processor time", f"{significant(engine['cpu_s'])} s"),
        ("Threads", f"{engine['threads']:,}"),
        ("Packet-hops", f"{engine['packet_hops']:,}"),
        ("Packet-hops / s", "–" if speed is None else f"{speed:,.0f}"),
        ("Engine events", f"{engine['events']:,}"),
        ("Engine path", f"{engine['fast_windows']:,} fast, {engine['exact_windows']:,} exact windows"),
        ("Skipped, as it repeated", time_text(engine.get("fast_forward_ps", 0))),
        ("Time window", time_text(summary["window_ps"])),
        ("Peak memory", byte_count_text(engine["peak_rss_bytes"])),
        ("Frames sent", f"{summary['frames_sent']:,}"),
        ("Frames delivered", f"{summary['frames_delivered']:,}"),
        ("Frames in flight at the end", f"{summary['frames_in_flight']:,}"),
        *(
            (f"Lost: {cause.replace('_', ' ')}", f"{count:,}")
            for cause, count in summary["frames_lost"].items()
        ),
    ]


def _machine(focus: Trial) -> list[tuple[str, str]]:
    return [(f"Machine: {name}", str(value)) for name, value in focus.machine.items()]


def _utc(moment: str | None) -> str:
    """Shorten an ISO 8601 time in UTC to seconds."""
    return "–" if moment is None else f"{moment[:19].replace('T', ' ')} UTC"


def model_section() -> Section:
    """Give what the simulator models and what it leaves out."""
    columns = [Column(title, numeric=False) for title in ("part", "modelled", "left out")]
    rows = [Row([Cell(note.part), Cell(note.modelled), Cell(note.left_out)]) for note in MODEL_NOTES]
    return Section("model", "Assumptions and limits", [TablePart(columns, rows)])
