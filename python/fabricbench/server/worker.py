"""A worker process: claims the run that has waited longest, carries it out and ends.

It takes its orders from standard input: a line `places 3` says how many of its trials may run at once, a line
`cancel` ends the run, and so does the end of the input, which comes when the server is gone. It tells what
happens by JSON lines on its standard output.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from fabricbench.backend.protocol import SharingCores
from fabricbench.results.jobs import result_rows
from fabricbench.runner import loading
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.trials import Runner
from fabricbench.server.hosts_files import HostsFiles
from fabricbench.server.phases import Phase, phases_of
from fabricbench.server.samples import Samples
from fabricbench.server.tasks import SOURCE
from fabricbench.store import StoreError, Workspace
from fabricbench.store.catalog_schema import COMPLETE, FAILED, INTERRUPTED
from fabricbench.store.runs import CANCELLED, QueuedRun, RunQueue
from fabricbench.store.tags import change_tags
from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress
    from fabricbench.plan.cost import Limits
    from fabricbench.runner.campaign.progress import Progress as CampaignProgress
    from fabricbench.store import Trial, TrialFacts

_TELL_S: Final = 0.25
_PATIENCE_S: Final = 20


class Control:
    """Listens to the server, and has the run end when it says so or is gone."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.is_over = False
        self.places = 1
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        for line in sys.stdin:
            order, _, number = line.strip().partition(" ")
            if order == "places":
                self.places = int(number)
            if order == "cancel":
                self.is_cancelled = True
                break
        self.is_over = True
        self._end()

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        os._exit(1)  # the next start finds this process gone and tidies up


class Teller:
    """Tells the server what the runner does, progress a few times a second.

    Where trials run side by side, progress and samples are those of the first of them.
    """

    def __init__(self, run: QueuedRun, store: Workspace) -> None:
        self._store = store
        self._tags = run.options["tags"]
        sizes = [trial["data_size_bytes"] for trial in run.trials]
        self._weights = sizes + [sizes[-1]] * (run.options["count"] - len(sizes))
        self._before, self._count = 0, len(self._weights)
        self._running: dict[int, str] = {}
        self._shares: dict[int, float] = {}
        self._told_at = 0.0
        self._untold: Progress | None = None
        self._samples = Samples()

    def next_phase(self, trials: int) -> None:
        """Number the trials that come now after those of the phase before."""
        self._before += trials

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002 -- of a phase
        """Tell which trial begins."""
        number += self._before
        self._running[number] = facts.id
        self._shares.pop(number, None)  # it may begin again
        if number == min(self._running):
            self._samples, self._untold = Samples(), None
        tell(
            "trial_started",
            id=facts.id,
            number=number,
            count=self._count,
            running=self._at_work,
            data_size_bytes=facts.data_size_bytes,
        )

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Report the progress, unless that was done just now."""
        number += self._before
        total = progress["total_bytes"]
        self._shares[number] = progress["delivered_bytes"] / total if total else 0.0
        if number != min(self._running):
            return
        self._samples.add(progress["samples"])
        self._untold = progress
        if time.monotonic() - self._told_at < _TELL_S:
            return
        self._told_at, self._untold = time.monotonic(), None
        self._tell_progress(progress, number)
        self._tell_samples(self._running[number])

    def _tell_progress(self, progress: Mapping[str, Any], number: int) -> None:
        wall_s, share = progress["wall_s"], self._shares[number]
        tell(
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
        """How many trials run; others may be done and wait for those ahead of them."""
        return sum(self._shares.get(number, 0.0) < 1.0 for number in self._running)

    def _tell_samples(self, trial: str) -> None:
        points = self._samples.take()
        if points:
            tell("samples", trial=trial, points=points)

    def _share(self) -> float:
        """Return how much of the run is done, each trial weighing as much as its data."""
        done = sum(self._weights[number - 1] * share for number, share in self._shares.items())
        return min(1.0, float(done / max(1, sum(self._weights))))

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Give the trial its tags and tell that it has finished."""
        number += self._before
        if self._tags:
            change_tags(self._store, [trial.id], add=self._tags)
        if number in self._running and number == min(self._running):
            if self._untold is not None:
                self._tell_progress(self._untold, number)
            self._tell_samples(trial.id)
            self._samples, self._untold = Samples(), None
        self._running.pop(number, None)
        self._shares[number] = 1.0
        tell("trial", id=trial.id, number=number, count=self._count, status=trial.status, resumed=resumed)

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002
        """Leave the trial out of what is told; its error becomes the message of the run."""
        self._running.pop(number + self._before, None)


def tell(event: str, **content: Any) -> None:
    """Write a line for the server; one that nobody reads any more is of no use."""
    out = sys.__stdout__ or sys.stdout  # on a cluster, what libraries write goes elsewhere
    try:
        out.write(json.dumps({"event": event, **content}) + "\n")
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def main(root: str, hosts_files: HostsFiles, time_limit_min: int, memory_bytes: int, on: str = "") -> None:
    """Claim a run, which may be on the hosts of some files, and carry it out.

    Args:
        root: Folder of the workspace.
        hosts_files: The files of hosts.
        time_limit_min: Estimated time of a trial at most [min].
        memory_bytes: Memory that it may take [bytes]; 0 for any.
        on: Address of the Ray cluster that carries trials out; this process does if empty.
    """
    if memory_bytes and not on:
        # Of what it writes to: libraries and files that are mapped take none of another's memory.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGTERM, _interrupt)
    control = Control()
    store = Workspace.open(Path(root))
    queue = RunQueue(store)
    run = None if control.is_over else queue.claim(hosts_files.offered())
    tell("claimed", id=run.id if run else None)
    if run is None:
        return
    try:
        state, message = _carried_out(run, store, control, hosts_files, time_limit_min, on)
    except KeyboardInterrupt:  # before its first trial: the runner takes signals over
        if not control.is_cancelled:
            queue.put_back(run.id)
            return
        state, message = CANCELLED, "cancelled before it started"
    queue.end(run.id, state, message)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _carried_out(
    run: QueuedRun, store: Workspace, control: Control, hosts_files: HostsFiles, time_limit_min: int, on: str
) -> tuple[str, str]:
    """Run the trials, and return how the run ended and why."""
    limits = None if run.options["force"] else loading.machine_limits(time_limit_min)
    if on and limits is not None:
        limits = replace(limits, memory_bytes=None)  # its nodes have their own
    try:
        phases = _phases(run, hosts_files, limits)
        finished, is_whole = _run(phases, run, store, control, on)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # there is only the end to note
    except StoreError as error:
        return FAILED, f"{error.found}; {error.hint}"
    except TrialsFailedError as error:
        return FAILED, str(error)
    except Exception as error:
        told = loading.problem_text(error)
        if told is None:
            raise
        return FAILED, hosts_files.without_paths(told)
    if is_whole:
        return COMPLETE, ""
    count = sum(len(phase.loaded.trials) for phase in phases)
    kept = f"{finished} of {counted(count, 'trial')} finished"
    if control.is_cancelled:
        return CANCELLED, f"cancelled; {kept}"
    return INTERRUPTED, f"the server ended; {kept}"


def _phases(run: QueuedRun, hosts_files: HostsFiles, limits: Limits | None) -> list[Phase]:
    """Return what there is to carry out."""
    overrides, chosen = run.options["overrides"], run.options["variants"]
    loaded = loading.load_text(run.plan_source, SOURCE, overrides, limits, chosen)
    settings = hosts_files.settings_of(run.hosts.name) if run.hosts else {}
    return phases_of(loaded, settings, limits, chosen, twin=run.options.get("twin", False))


def _run(
    phases: Sequence[Phase], run: QueuedRun, store: Workspace, control: Control, on: str = ""
) -> tuple[int, bool]:
    """Run the trials of every phase; return how many have finished, and whether nobody ended it early."""
    teller = Teller(run, store)
    threads, resume = run.options["threads"], run.options.get("resume", False)
    finished = 0
    with Interrupts() as between:
        for phase in phases:
            if between.received is not None:
                return finished, False
            again = resume or phase.is_prediction
            if on and isinstance(phase.backend, SharingCores):
                ended, is_whole = _on_cluster(phase, store, teller, on, threads, resume=again)
                finished += ended
                if not is_whole:
                    return finished, False
                teller.next_phase(len(phase.loaded.trials))
                continue
            runner = Runner(store, phase.backend, result_rows, teller, threads, again, jobs=None)
            runner.allowed = lambda: control.places
            outcome = runner.run(phase.loaded)
            finished += len(outcome.trials)
            if outcome.stopped_by is not None:
                return finished, False
            teller.next_phase(outcome.count)
    return finished, True


def _on_cluster(
    phase: Phase, store: Workspace, teller: Teller, on: str, threads: int, *, resume: bool
) -> tuple[int, bool]:
    """Run the trials of a phase on a cluster; return how many have finished, and whether nobody ended it.

    Raises:
        TrialsFailedError: Some have failed; the others have their records.
        ClusterError: The cluster cannot be used, or is gone.
    """
    from fabricbench.runner.campaign.drive import drive
    from fabricbench.runner.campaign.units import units_of_plans

    units = units_of_plans([(phase.loaded, phase.backend)])
    last: list[CampaignProgress] = []

    def told(progress: CampaignProgress) -> None:
        last[:] = [progress]

    try:
        progress = drive(store, units, on, result_rows, told, listener=teller, threads=threads, resume=resume)
    except KeyboardInterrupt:
        return sum(each.kept + each.finished for each in last), False
    if progress.failed:
        _, error = progress.failed[0]
        told_of_first = (loading.problem_text(error) if isinstance(error, Exception) else None) or (
            f"{type(error).__name__}: {error}"
        )
        raise TrialsFailedError(
            f"{len(progress.failed)} of {counted(len(units), 'trial')} failed: {told_of_first}"
        )
    return len(phase.loaded.trials), True


class TrialsFailedError(Exception):
    """Trials of a run have failed; its text says how many, and why the first of them."""


if __name__ == "__main__":
    root, hosts, minutes, memory, *on = sys.argv[1:]
    main(root, HostsFiles.read(hosts), int(minutes), int(memory), *on)
