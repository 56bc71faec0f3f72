"""Reports the progress of a worker process to the server, as JSON lines on standard output.

Samples of the current trial (goodput, queue depth) are buffered and sent as event `samples`. The trials that
a search chose, and its results, are written to the catalog.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from fabricbench.backend.protocol import Progress, goodput_gb_per_s, paused_mean
from fabricbench.runner.session import ListedTrial
from fabricbench.searched import Searched
from fabricbench.server.workers.sandbox_tasks import TRIALS_MAX
from fabricbench.store import Trial, TrialFacts, Workspace
from fabricbench.store.queries.tags import change_tags
from fabricbench.store.runs import QueuedRun, RunQueue


class SamplePoint(TypedDict):
    """A sample of a trial: rates since the one before, and the ports of switches if any is sampled."""

    sim_ps: int
    goodput_gb_per_s: float
    queue_max_bytes: NotRequired[int]
    marks_per_us: NotRequired[float]
    paused_mean: NotRequired[float]


class RunSamples(TypedDict):
    """Data of event `samples`: new points of the first running trial."""

    trial: str
    points: list[SamplePoint]


class RunProgress(TypedDict):
    """Data of event `progress`, about the first running trial and the whole run.

    `number` is that of the trial, from 1, of `count`, and `running` how many run; `share` is the finished
    fraction of the run, `trial_share` of the trial, and `left_s` the time that the rest of the trial will
    take, which is null if unknown. Only the simulator has `packet_hops` and what follows.
    """

    trial: str
    number: int
    count: int
    running: int
    share: float
    trial_share: float
    left_s: float | None
    hops_per_s: int | None
    delivered_bytes: int
    total_bytes: int
    sim_ps: int
    wall_s: float
    packet_hops: NotRequired[int]
    waiting_ps: NotRequired[int]
    patience_ps: NotRequired[int]
    open_chunks: NotRequired[int]


class TrialStarted(TypedDict):
    """Data of event `trial_started`."""

    id: str
    number: int
    count: int
    running: int
    data_size_bytes: int


class TrialEnded(TypedDict):
    """Data of event `trial`; a resumed one had its record before."""

    id: str
    number: int
    count: int
    status: str
    resumed: bool


class Samples:
    """Buffer of points until the next call of `take`."""

    def __init__(self) -> None:
        self._points: list[SamplePoint] = []

    def add(self, samples: Sequence[Mapping[str, Any]]) -> None:
        """Add the samples of a progress report as points."""
        self._points += map(_point, samples)

    def take(self) -> list[SamplePoint]:
        """Return the points in order of time and forget them."""
        points, self._points = self._points, []
        return points


def _point(sample: Mapping[str, Any]) -> SamplePoint:
    """Return a sample as a point."""
    span_ps = sample["span_ps"]
    goodput = goodput_gb_per_s(sample["delivered_bytes"], span_ps)
    point: SamplePoint = {"sim_ps": sample["sim_ps"], "goodput_gb_per_s": goodput}
    if sample["queue_max_bytes"] is None:
        return point
    return {
        **point,
        "queue_max_bytes": sample["queue_max_bytes"],
        "marks_per_us": sample["marked_frames"] * 1e6 / span_ps,
        "paused_mean": paused_mean(sample["paused_ps"], span_ps),
    }


_PROGRESS_PERIOD_S: Final = 0.25


class ProgressEvents:
    """Listener of the runner that sends events to the server, progress at most four times a second.

    With concurrent trials, progress and samples are those of the first running one. Trials chosen by a
    search, and its results, are written to the catalog.
    """

    def __init__(self, run: QueuedRun, store: Workspace) -> None:
        self._run, self._store = run, store
        self._tags = run.options["tags"]
        self._before, self._count = 0, run.options["count"]
        self._chosen: list[ListedTrial] = []
        sizes = [trial["data_size_bytes"] for trial in run.trials]
        self._weights = sizes + sizes[-1:] * (self._count - len(sizes))
        self._running: dict[int, str] = {}
        self._shares: dict[int, float] = {}
        self._sent_at = 0.0
        self._unsent: Progress | None = None
        self._samples = Samples()

    def next_phase(self, trials: int) -> None:
        """Continue the numbers of trials after those of the phase that has ended."""
        self._before += trials

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Add the trials chosen by a search to the run in the catalog."""
        self._count, self._weights = count, []
        self._chosen += [_listed(trial_facts) for trial_facts in facts[: TRIALS_MAX - len(self._chosen)]]
        self._note([])

    def search_finished(self, results: Sequence[Searched]) -> None:
        """Store the results of the search with the run in the catalog."""
        self._note([result.content for result in results])

    def _note(self, search: Sequence[Mapping[str, Any]]) -> None:
        options = {**self._run.options, "count": self._count, "search": search}
        RunQueue(self._store).save_search_progress(self._run.id, options, self._chosen)

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of a phase
        """Send event `trial_started`."""
        number += self._before
        self._running[number] = facts.id
        self._shares.pop(number, None)  # it may be a second start
        if number == min(self._running):
            self._samples, self._unsent = Samples(), None
        emit(
            "trial_started",
            id=facts.id,
            number=number,
            count=self._count,
            running=self._at_work,
            data_size_bytes=facts.data_size_bytes,
        )

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Send the progress, unless the last event is less than 0.25 s ago."""
        number += self._before
        total = progress["total_bytes"]
        self._shares[number] = progress["delivered_bytes"] / total if total else 0.0
        if number != min(self._running):
            return
        self._samples.add(progress["samples"])
        self._unsent = progress
        if time.monotonic() - self._sent_at < _PROGRESS_PERIOD_S:
            return
        self._sent_at, self._unsent = time.monotonic(), None
        self._emit_progress(progress, number)
        self._emit_samples(self._running[number])

    def _emit_progress(self, progress: Mapping[str, Any], number: int) -> None:
        wall_s, share = progress["wall_s"], self._shares[number]
        emit(
            "progress",
            trial=self._running[number],
            number=number,
            count=self._count,
            running=self._at_work,
            share=self._share(),
            trial_share=share,
            left_s=wall_s * (1 - share) / share if share else None,
            hops_per_s=round(progress["packet_hops"] / wall_s)
            if wall_s and "packet_hops" in progress
            else None,
            **{name: value for name, value in progress.items() if name != "samples"},
        )

    @property
    def _at_work(self) -> int:
        """Number of running trials; finished ones may still wait for trials before them in the order."""
        return sum(self._shares.get(number, 0.0) < 1.0 for number in self._running)

    def _emit_samples(self, trial: str) -> None:
        points = self._samples.take()
        if points:
            emit("samples", trial=trial, points=points)

    def _share(self) -> float:
        """Return the finished fraction of the run, trials weighted by data size, or equally in a search."""
        weights = self._weights or [1] * self._count
        done = sum(weights[number - 1] * share for number, share in self._shares.items())
        return min(1.0, float(done / max(1, sum(weights))))

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Tag the trial and send event `trial`."""
        number += self._before
        if self._tags:
            change_tags(self._store, [trial.id], add=self._tags)
        if number in self._running and number == min(self._running):
            if self._unsent is not None:
                self._emit_progress(self._unsent, number)
            self._emit_samples(trial.id)
            self._samples, self._unsent = Samples(), None
        self._running.pop(number, None)
        self._shares[number] = 1.0
        emit("trial", id=trial.id, number=number, count=self._count, status=trial.status, resumed=resumed)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002
        """Drop the trial from the progress; its error becomes the message of the run."""
        self._running.pop(number + self._before, None)


def _listed(facts: TrialFacts) -> ListedTrial:
    """Return a trial in the form that the queue stores."""
    return {
        "id": facts.id,
        "backend": facts.backend,
        "position": facts.position,
        "variant": facts.variant,
        "axes": dict(facts.axes),
        "iteration": facts.iteration,
        "data_size_bytes": facts.data_size_bytes,
        "size_kind": facts.size_kind,
    }


def emit(event: str, **content: Any) -> None:
    """Write an event as a JSON line for the server; discard output if the server has ended."""
    out = sys.__stdout__ or sys.stdout  # on a cluster, `sys.stdout` is redirected for libraries
    try:
        out.write(json.dumps({"event": event, **content}) + "\n")
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
