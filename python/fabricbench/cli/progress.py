"""Shows the progress of a run on standard error: bars on a terminal, elsewhere a line each 30 seconds.

Warns of a trial that takes far longer than its estimate.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.backend.protocol import Progress
from fabricbench.cli.output import Verbosity
from fabricbench.plan import engine
from fabricbench.plan.sweep.labels import solo_job
from fabricbench.report.documents.numbers import count
from fabricbench.runner.listener import Listener
from fabricbench.store import Trial, TrialFacts
from fabricbench.words import counted, data_size

if TYPE_CHECKING:
    from rich.progress import Progress as Bar, TaskID


_PS_PER_MS = 1e9


_EXCESS_RATIO = 10
"""Ratio of a trial's packet-hops to their estimate from which on a warning is written."""
EVERY_S = 30.0
"""Time between two lines of progress where there is no terminal."""
LONG_MS = 10_000
"""Without a terminal, a run with a longer estimate [ms] writes the estimate before it begins."""
_SHOWN_MAX = 3
_HOPS_MIN = 20_000_000
"""Packet-hops before which no warning is written: about a second."""


@contextmanager
def display(verbosity: Verbosity = Verbosity.NORMAL) -> Iterator[Listener]:
    """Show progress until the block ends: bars on a terminal, lines elsewhere or of each trial."""
    if verbosity is Verbosity.QUIET:
        yield _Warning()
        return
    if verbosity is Verbosity.VERBOSE:
        yield TrialLines()
        return
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    with bar() as shown:
        yield _Display(shown)


def bar() -> Bar:
    """Return the bars of a terminal: each task has a description, a percentage and, as `detail`, a text."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[detail]}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


@dataclass
class _Running:
    """A trial that runs: name, run spec, packet-hops of its estimate once needed, progress."""

    name: str
    spec: Mapping[str, Any]
    hops: int | None = None
    is_warned: bool = False
    progress: Progress | None = None
    task: TaskID | None = None


class _Warning:
    """Warns once per trial that it is far beyond its estimate, and why, or that it failed in parallel."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Do nothing: each trial is shown when it begins."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        self._running[number] = _Running(_name(facts, number, count), facts.run_spec)

    def trial_progressed(self, progress: Progress, number: int) -> None:
        trial = self._running[number]
        if trial.is_warned or progress.get("packet_hops", 0) < _HOPS_MIN:
            return
        if trial.hops is None:
            trial.hops = _estimated_hops(trial.spec)
        if text := beyond_text(progress, trial.hops):
            trial.is_warned = True
            self._write_line(f"warning: {trial.name}: {text}")

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:  # noqa: ARG002
        """Forget the trial."""
        self._running.pop(number, None)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        self._running.pop(number, None)
        if self._running:
            name = _name(facts, number, count)
            self._write_line(f"note: {name}, has failed; those beside it run to their end")

    def _write_line(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class ProgressLines(_Warning):
    """Writes a line each 30 seconds: number of finished trials, and progress of the running ones."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock.

        Args:
            clock: Returns a time that only grows [s].
        """
        super().__init__()
        self._clock = clock
        self._last_s = clock()
        self._finished = 0
        self._count = 0

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Store the number of trials."""
        super().trial_started(facts, number, count)
        self._count = count

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Write a line if it is time."""
        super().trial_progressed(progress, number)
        self._running[number].progress = progress
        now_s = self._clock()
        if now_s - self._last_s >= EVERY_S:
            self._last_s = now_s
            self._write_line(self._line())

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Count the finished trial."""
        self._finished += 1
        super().trial_finished(trial, number, resumed=resumed)

    def _line(self) -> str:
        """Return the progress of the run and its trials; of many trials the first few."""
        texts = [
            f"{trial.name}: {_percent(trial.progress)}, {progress_text(trial.progress)}"
            for trial in self._running.values()
            if trial.progress is not None
        ]
        remainder_text = [f"and {len(texts) - _SHOWN_MAX} more"] if len(texts) > _SHOWN_MAX else []
        done = f"progress: {self._finished} of {self._count} trials finished"
        return "; ".join([done, *texts[:_SHOWN_MAX], *remainder_text])


class TrialLines(ProgressLines):
    """Writes a line when a trial starts and when it ends, with its completion times, and each 30 seconds."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Write which trial starts."""
        super().trial_started(facts, number, count)
        self._write_line(f"started: {self._running[number].name}, {facts.variant}")

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Write how it ended."""
        facts = trial.facts
        name = f"trial {number} of {self._count}" if self._count else f"trial {number}"
        times = [f"{row['job']} {_time_text(row['completion_time_ms'])}" for row in trial.results]
        how = "resumed" if resumed else f"{trial.status} in {float(trial.engine.get('wall_s') or 0):.3g} s"
        size = data_size(facts.data_size_bytes)
        self._write_line(f"ended: {name}, {size}, {facts.variant}: {how}: {', '.join(times)}")
        super().trial_finished(trial, number, resumed=resumed)


def _time_text(time_ms: float | None) -> str:
    return "without a time" if time_ms is None else f"{time_ms:.6g} ms"


def _percent(progress: Progress) -> str:
    total = progress["total_bytes"]
    return f"{100 * progress['delivered_bytes'] / total:.0f} %" if total else "- %"


class _Display(_Warning):
    """Bars of the running trials: number and count, bytes delivered, simulated time, speed, time left."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar
        self._idle: list[TaskID] = [bar.add_task("starting", total=None, detail="")]

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        super().trial_started(facts, number, count)
        trial = self._running[number]
        trial.task = self._idle.pop() if self._idle else self._bar.add_task(trial.name, total=None, detail="")
        self._bar.reset(trial.task, description=trial.name, total=None, detail="", visible=True)

    def trial_progressed(self, progress: Progress, number: int) -> None:
        super().trial_progressed(progress, number)
        task = self._running[number].task
        if task is not None:
            self._bar.update(
                task,
                total=progress["total_bytes"],
                completed=progress["delivered_bytes"],
                detail=progress_text(progress),
                # A complete trial that waits for earlier ones is not shown.
                visible=len(self._running) == 1 or progress["delivered_bytes"] < progress["total_bytes"],
            )

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        self._hide(number)
        super().trial_finished(trial, number, resumed=resumed)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        self._hide(number)
        super().trial_failed(facts, number, count)

    def _hide(self, number: int) -> None:
        """Remove the bar of a trial while others have one; the last one stays until the next trial begins."""
        trial = self._running.get(number)
        if trial is None or trial.task is None:
            return
        self._idle.append(trial.task)
        if len(self._running) > 1:
            self._bar.update(trial.task, visible=False)

    def _write_line(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False)


def _name(facts: TrialFacts, number: int, count: int) -> str:
    job = solo_job(facts.variant)
    size = f"trial {number} of {count}, {data_size(facts.data_size_bytes)}"
    return f"{size}, {job} alone" if job else size


def _estimated_hops(run_spec: Mapping[str, Any]) -> int:
    """Return the estimated packet-hops of a trial; 0 if unknown."""
    import json

    estimate = engine.estimate(json.dumps(run_spec))
    return estimate["packet_hops"] if estimate else 0


def beyond_text(progress: Progress, estimated_hops: int) -> str:
    """Return the warning that a trial is far beyond its estimate, and why; empty if it is not."""
    hops = progress["packet_hops"]
    if not estimated_hops or hops < max(_EXCESS_RATIO * estimated_hops, _HOPS_MIN):
        return ""
    excess = f"{count(hops)} packet-hops so far, {hops // estimated_hops} times its estimate"
    open_chunks = counted(progress["open_chunks"], "chunk")
    waiting, patience = (progress[name] / _PS_PER_MS for name in ("waiting_ps", "patience_ps"))
    if progress["waiting_ps"] > progress["patience_ps"] / 100:
        return (
            f"{excess}; nothing was delivered for {waiting:.3f} ms of simulated time, and {open_chunks} not "
            f"complete: after {patience:.3f} ms it is ended as stalled"
        )
    return f"{excess}; payload still arrives, {open_chunks} not complete: look for losses and retransmissions"


def progress_text(progress: Progress) -> str:
    """Return the time left of a trial; of a simulated one simulated time and speed as well."""
    wall_s, delivered = progress["wall_s"], progress["delivered_bytes"]
    eta = _duration(wall_s * (progress["total_bytes"] - delivered) / delivered) if delivered else "-"
    if "packet_hops" not in progress:
        return f"{eta} left"
    hops_per_s = round(progress["packet_hops"] / wall_s) if wall_s else 0
    return (
        f"{progress['sim_ps'] / _PS_PER_MS:.3f} ms simulated, {count(hops_per_s)} packet-hops/s, {eta} left"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
