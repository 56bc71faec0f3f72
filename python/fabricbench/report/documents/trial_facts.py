"""Collects the facts of a trial: its plan, backend, status, cost and machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, Final

from fabricbench.analysis.links.utilisation import packet_hops_per_s
from fabricbench.figures.scales import significant, time_text
from fabricbench.report.documents.criteria import not_met_text
from fabricbench.report.documents.measured import measured_facts
from fabricbench.report.documents.table import Fact
from fabricbench.results.job_ranking import jobs_text
from fabricbench.results.job_reports import JobReport
from fabricbench.store import Trial
from fabricbench.words import plan_value

_OF_SIMULATOR: Final = ("wall_s", "threads", "packet_hops", "peak_rss_bytes")


def trial_facts(jobs: Sequence[JobReport], tags: Sequence[str] = ()) -> list[Fact]:
    """Return the facts of a finished trial.

    Args:
        jobs: Its jobs.
        tags: All its tags; that of its plan if there are none.
    """
    trial = jobs[0].trial
    facts = list(starmap(Fact, measured_facts(trial))) if trial.is_printed else list(_facts(trial))
    changes = {"status": trial.status + not_met_text(jobs), "tag": tags_text(trial, tags)}
    facts = [Fact(fact.name, changes.get(fact.name, fact.text), fact.is_detail) for fact in facts]
    return [*facts, *([Fact("jobs", text)] if (text := jobs_text(jobs)) else [])]


def tags_text(trial: Trial, tags: Sequence[str]) -> str:
    """Return the tags of a trial; that of its plan if there are none."""
    return ", ".join(tags) or trial.facts.tag or "-"


def _facts(trial: Trial) -> Iterator[Fact]:
    facts = trial.facts
    yield Fact("trial", facts.id)
    yield Fact("plan", f"{facts.plan}: {facts.title}" if facts.title else facts.plan)
    yield Fact("tag", "-")
    yield Fact("variant, iteration", f"{facts.variant}, {facts.iteration}")
    yield from (Fact(name, plan_value(value)) for name, value in facts.axes)
    yield Fact("seed", str(facts.run_spec["seed"]))
    yield Fact("status", trial.status)
    yield Fact("backend", f"{facts.backend}, results {facts.backend_version}, engine {facts.engine_version}")
    yield Fact("started", _utc(trial.started_at))
    yield Fact("ended", _utc(trial.ended_at), is_detail=True)
    yield from _cost(trial)
    yield from _engine(trial)
    yield from (Fact(f"machine: {name}", str(value), is_detail=True) for name, value in trial.machine.items())


def _utc(moment: str | None) -> str:
    """Shorten an ISO 8601 time in UTC to seconds."""
    return "-" if moment is None else f"{moment[:19].replace('T', ' ')} UTC"


def _cost(trial: Trial) -> Iterator[Fact]:
    """Yield the cost of a run: facts of the simulator, or those of another backend by their names."""
    engine, host = trial.engine, trial.machine["host"]
    if not set(_OF_SIMULATOR) <= set(engine):
        yield Fact("machine", host)
        for name, value in engine.items():
            if isinstance(value, int | float):
                yield Fact(name, f"{value:,}")
        return
    yield Fact("took", f"{engine['wall_s']:.3g} s on {host}, threads: {engine['threads']}")
    yield Fact("packet-hops", f"{engine['packet_hops']:,}")
    yield Fact("memory", f"{engine['peak_rss_bytes'] / 2**20:.0f} MiB")
    speed = packet_hops_per_s(engine["packet_hops"], engine["wall_s"])
    yield Fact("packet-hops / s", "-" if speed is None else f"{speed:,.0f}", is_detail=True)
    windows = ("fast_windows", "exact_windows")
    if set(windows) <= set(engine):
        paths = ", ".join(f"{engine[name]:,} {name.replace('_', ' ')}" for name in windows)
        yield Fact("engine path", paths, is_detail=True)
    for name, value in engine.items():
        if isinstance(value, int | float) and name not in (*_OF_SIMULATOR, *windows):
            title, text = _ENGINE.get(name, (name, _count))
            yield Fact(title, text(value), is_detail=True)


def _engine(trial: Trial) -> Iterator[Fact]:
    """Yield the times and frames of the run, as far as its backend reports them."""
    summary = trial.summary or {}
    for name, (title, text) in _SUMMARY.items():
        if name in summary:
            yield Fact(title, text(summary[name]), is_detail=True)
    for cause, count in summary.get("frames_lost", {}).items():
        yield Fact(f"lost: {cause.replace('_', ' ')}", f"{count:,}", is_detail=True)


def _count(value: float) -> str:
    return f"{value:,}"


_Formats = Mapping[str, tuple[str, Callable[[Any], str]]]
"""Title and formatter of each fact."""
_ENGINE: Final[_Formats] = {
    "cpu_s": ("processor time", lambda value: f"{significant(value)} s"),
    "events": ("engine events", _count),
    "fast_forward_ps": ("skipped, as it repeated", time_text),
}
_SUMMARY: Final[_Formats] = {
    "end_ps": ("time of the run", time_text),
    "window_ps": ("time window", time_text),
    "frames_sent": ("frames sent", _count),
    "frames_delivered": ("frames delivered", _count),
    "frames_in_flight": ("frames in flight at the end", _count),
}
