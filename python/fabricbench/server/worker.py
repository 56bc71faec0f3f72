"""A worker process: claims the run that has waited longest, carries it out and ends.

It takes its orders from standard input: a line `cancel` ends the run, and so does the end of the input,
which comes when the server is gone. It tells what happens by JSON lines on its standard output.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from fabricbench.results.jobs import result_rows
from fabricbench.runner import loading
from fabricbench.runner.trials import Runner
from fabricbench.server.samples import Samples
from fabricbench.server.tasks import SOURCE
from fabricbench.store import StoreError, Workspace
from fabricbench.store.catalog_schema import COMPLETE, FAILED, INTERRUPTED
from fabricbench.store.runs import CANCELLED, QueuedRun, RunQueue
from fabricbench.store.tags import change_tags
from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress
    from fabricbench.store import Trial, TrialFacts

_TELL_S: Final = 0.25
_PATIENCE_S: Final = 20


class Control:
    """Listens to the server, and has the run end when it says so or is gone."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.is_over = False
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            if line.strip() == "cancel":
                self.is_cancelled = True
                break
        self.is_over = True
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        os._exit(1)  # the next start finds this process gone and tidies up


class Teller:
    """Tells the server what the runner does, progress a few times a second."""

    def __init__(self, run: QueuedRun, store: Workspace) -> None:
        self._store = store
        self._tags = run.options["tags"]
        sizes = [trial["data_size_bytes"] for trial in run.trials]
        self._weights = sizes + [sizes[-1]] * (run.options["count"] - len(sizes))
        self._number, self._count = 0, len(self._weights)
        self._trial = ""
        self._told_at = 0.0
        self._samples = Samples()

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Tell which trial begins."""
        self._number, self._count, self._trial = number, count, facts.id
        self._samples = Samples()
        tell("trial_started", id=facts.id, number=number, count=count, data_size_bytes=facts.data_size_bytes)

    def trial_progressed(self, progress: Progress) -> None:
        """Report the progress, unless that was done just now."""
        self._samples.add(progress["samples"])
        if time.monotonic() - self._told_at < _TELL_S:
            return
        self._told_at = time.monotonic()
        self._tell_progress(progress)
        points = self._samples.take()
        if points:
            tell("samples", trial=self._trial, points=points)

    def _tell_progress(self, progress: Mapping[str, Any]) -> None:
        wall_s, total = progress["wall_s"], progress["total_bytes"]
        share = progress["delivered_bytes"] / total if total else 0.0
        tell(
            "progress",
            trial=self._trial,
            number=self._number,
            count=self._count,
            share=self._share(share),
            trial_share=share,
            left_s=wall_s * (1 - share) / share if share else None,
            hops_per_s=round(progress["packet_hops"] / wall_s)
            if wall_s and "packet_hops" in progress
            else None,
            **{name: value for name, value in progress.items() if name != "samples"},
        )

    def _share(self, of_trial: float) -> float:
        """Return how much of the run is done, each trial weighing as much as its data."""
        before: int = sum(self._weights[: self._number - 1])
        weight = self._weights[self._number - 1] if self._number <= len(self._weights) else 0
        total: int = sum(self._weights)
        return min(1.0, (before + weight * of_trial) / max(1, total))

    def trial_finished(self, trial: Trial, *, resumed: bool) -> None:
        """Give the trial its tags and tell that it has finished."""
        self._number += resumed  # it has not been started
        if self._tags:
            change_tags(self._store, [trial.id], add=self._tags)
        points = self._samples.take()
        if points:
            tell("samples", trial=trial.id, points=points)
        tell(
            "trial", id=trial.id, number=self._number, count=self._count, status=trial.status, resumed=resumed
        )


def tell(event: str, **content: Any) -> None:
    """Write a line for the server; one that nobody reads any more is of no use."""
    try:
        sys.stdout.write(json.dumps({"event": event, **content}) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(root: str, time_limit_min: int, memory_bytes: int) -> None:
    """Claim a run and carry it out, with so much memory at most; 0 for any."""
    if memory_bytes:
        # Of what it writes to: libraries and files that are mapped take none of another's memory.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGTERM, _interrupt)
    control = Control()
    store = Workspace.open(Path(root))
    queue = RunQueue(store)
    run = None if control.is_over else queue.claim()
    tell("claimed", id=run.id if run else None)
    if run is None:
        return
    try:
        state, message = _carried_out(run, store, control, time_limit_min)
    except KeyboardInterrupt:  # before its first trial: the runner takes signals over
        if not control.is_cancelled:
            queue.put_back(run.id)
            return
        state, message = CANCELLED, "cancelled before it started"
    queue.end(run.id, state, message)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _carried_out(run: QueuedRun, store: Workspace, control: Control, time_limit_min: int) -> tuple[str, str]:
    """Run the trials, and return how the run ended and why."""
    options = run.options
    limits = None if options["force"] else loading.machine_limits(time_limit_min)
    teller = Teller(run, store)
    try:
        loaded = loading.load_text(run.plan_source, SOURCE, options["overrides"], limits, options["variants"])
        outcome = Runner(
            store,
            loading.backend_of(loaded),
            result_rows,
            teller,
            threads=options["threads"],
            resume=options.get("resume", False),
        ).run(loaded)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # there is only the end to note
    except StoreError as error:
        return FAILED, f"{error.found}; {error.hint}"
    except Exception as error:
        told = loading.problem_text(error)
        if told is None:
            raise
        return FAILED, told
    if outcome.stopped_by is None:
        return COMPLETE, ""
    kept = f"{len(outcome.trials)} of {counted(outcome.count, 'trial')} finished"
    if control.is_cancelled:
        return CANCELLED, f"cancelled; {kept}"
    return INTERRUPTED, f"the server ended; {kept}"


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
