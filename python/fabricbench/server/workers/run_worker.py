"""Worker process: claims the oldest queued run, runs it and ends.

Its standard input controls it: a line `places 3` sets the number of concurrent trials, a line `cancel` ends
the run, and so does the end of the input, which follows the end of the server. It reports events as JSON
lines on its standard output.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any, Final

from fabricbench.backend.protocol import SharingCores
from fabricbench.errors import UserError
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.campaign.execution import drive
from fabricbench.runner.campaign.progress import Progress as CampaignProgress
from fabricbench.runner.campaign.trial_units import Unit, units_of_plans, units_of_trials
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.listener import Listener
from fabricbench.runner.search import PlanSearch
from fabricbench.runner.session import Phase, Session, phases_of
from fabricbench.server.queue.hosts_files import HostsFiles
from fabricbench.server.workers.progress_events import ProgressEvents, emit
from fabricbench.server.workers.sandbox_tasks import SOURCE
from fabricbench.store import StoreError, Trial, TrialFacts, Workspace
from fabricbench.store.catalog.schema import COMPLETE, FAILED, INTERRUPTED
from fabricbench.store.runs import CANCELLED, QueuedRun, RunQueue
from fabricbench.words import counted

_KILL_AFTER_S: Final = 20


class Control:
    """Thread that reads orders of the server, and ends the run at `cancel` or at the end of the input."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.is_over = False
        self.slots = 1
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        for line in sys.stdin:
            order, _, number = line.strip().partition(" ")
            if order == "places":
                self.slots = int(number)
            if order == "cancel":
                self.is_cancelled = True
                break
        self.is_over = True
        self._end()

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_KILL_AFTER_S)
        os._exit(1)  # the next start recovers the state of a dead process


def main(root: str, hosts_files: HostsFiles, time_limit_min: int, memory_bytes: int, on: str = "") -> None:
    """Claim the oldest run that can start, and execute it.

    Args:
        root: Folder of the workspace.
        hosts_files: The files of hosts that the run may use.
        time_limit_min: Estimated time of a trial at most [min].
        memory_bytes: Memory that this process may take [bytes]; 0 for no limit.
        on: Address of the Ray cluster that executes trials; this process does if empty.
    """
    if memory_bytes and not on:
        # Limit writable memory only: mapped libraries and files are shared with other processes.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGTERM, _interrupt)
    control = Control()
    store = Workspace.open(Path(root))
    queue = RunQueue(store)
    run = None if control.is_over else queue.claim(hosts_files.offered())
    emit("claimed", id=run.id if run else None)
    if run is None:
        return
    try:
        state, message = _execute(run, store, control, hosts_files, time_limit_min, on)
    except KeyboardInterrupt:  # before its first trial: from then on the runner handles signals
        if not control.is_cancelled:
            queue.put_back(run.id)
            return
        state, message = CANCELLED, "cancelled before it started"
    queue.end(run.id, state, message)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _execute(
    run: QueuedRun, store: Workspace, control: Control, hosts_files: HostsFiles, time_limit_min: int, on: str
) -> tuple[str, str]:
    """Run the trials, and return the final state of the run and its message."""
    limits = None if run.options["force"] else loading.machine_limits(time_limit_min)
    if on and limits is not None:
        limits = replace(limits, memory_bytes=None)  # memory is limited by the nodes of the cluster
    try:
        phases = _phases(run, hosts_files, limits)
        finished, is_whole = _run(phases, run, store, control, on)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # only the end of the run has to be recorded
    except StoreError as error:
        return FAILED, f"{error.found}; {error.hint}"
    except TrialsFailedError as error:
        return FAILED, str(error)
    except UserError as error:
        return FAILED, hosts_files.without_paths(error.text())
    if is_whole:
        return COMPLETE, ""
    finished_text = f"{_finished_of(finished, phases)} finished"
    if control.is_cancelled:
        return CANCELLED, f"cancelled; {finished_text}"
    return INTERRUPTED, f"the server ended; {finished_text}"


def _finished_of(finished: int, phases: Sequence[Phase]) -> str:
    if any(phase.loaded.plan.search for phase in phases):
        return counted(finished, "trial")
    return f"{finished} of {counted(sum(len(phase.loaded.trials) for phase in phases), 'trial')}"


def _phases(run: QueuedRun, hosts_files: HostsFiles, limits: Limits | None) -> list[Phase]:
    """Return the phases of a run."""
    overrides, variants = run.options["overrides"], run.options["variants"]
    loaded = loading.load_text(run.plan_source, SOURCE, overrides, limits, variants)
    settings = hosts_files.settings_of(run.hosts.name) if run.hosts else {}
    return phases_of(loaded, settings, limits, variants, twin=run.options.get("twin", False))


def _run(
    phases: Sequence[Phase], run: QueuedRun, store: Workspace, control: Control, on: str = ""
) -> tuple[int, bool]:
    """Run the trials of every phase; return the number of finished ones, and whether none was interrupted."""
    events = ProgressEvents(run, store)
    threads, resume = run.options["threads"], run.options.get("resume", False)
    session = Session(store, events, threads, jobs=None, allowed=lambda: control.slots)
    finished = 0
    with Interrupts() as between:
        for phase in phases:
            if between.received is not None:
                return finished, False
            resumes = resume or phase.is_prediction
            if on and isinstance(phase.backend, SharingCores):
                options = {"threads": threads, "resume": resumes}
                if phase.loaded.plan.search is None:
                    units = units_of_plans([(phase.loaded, phase.backend)])
                    ended, is_whole = _on_cluster(units, store, events, on, **options)
                else:
                    ended, is_whole = _search_on_cluster(phase, store, events, on, between, **options)
                finished += ended
                if not is_whole:
                    return finished, False
                events.next_phase(len(phase.loaded.trials))
                continue
            outcome = session.run(phase.loaded, phase.backend, resume=resumes)
            finished += len(outcome.trials)
            if outcome.search_results:
                events.search_finished(outcome.search_results)
            if outcome.stopped_by is not None:
                return finished, False
            events.next_phase(outcome.count)
    return finished, True


def _search_on_cluster(
    phase: Phase, store: Workspace, events: ProgressEvents, on: str, interrupts: Interrupts, **own: Any
) -> tuple[int, bool]:
    """Run the trials of a phase's search on a cluster, each batch of trials by `_on_cluster`."""
    searching, finished = PlanSearch(phase.loaded, phase.backend), 0

    def run(
        batch: LoadedPlan, facts: Sequence[tuple[PlannedTrial, TrialFacts]], listener: Listener
    ) -> list[Trial]:
        nonlocal finished
        interrupts.check()
        ended, is_whole = _on_cluster(
            units_of_trials(batch, phase.backend, facts), store, listener, on, **own
        )
        finished += ended
        if not is_whole:
            raise KeyboardInterrupt
        return [store.find(trial_facts.id) for _, trial_facts in facts]

    try:
        searching.run(run, events)
    except KeyboardInterrupt:
        return finished, False
    finally:
        events.search_finished(searching.results)
    return finished, True


def _on_cluster(
    units: Sequence[Unit], store: Workspace, listener: Listener, on: str, *, threads: int, resume: bool
) -> tuple[int, bool]:
    """Run trials on a cluster; return the number of finished ones, and whether the run was not interrupted.

    Raises:
        TrialsFailedError: Some trials failed; the others have their records.
        ClusterError: The cluster cannot be used, or has ended.
    """
    last_report: list[CampaignProgress] = []

    def note_progress(progress: CampaignProgress) -> None:
        last_report[:] = [progress]

    try:
        progress = drive(store, units, on, note_progress, listener=listener, threads=threads, resume=resume)
    except KeyboardInterrupt:
        return sum(report.kept + report.finished for report in last_report), False
    if progress.failed:
        _, error = progress.failed[0]
        first_text = error.text() if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        raise TrialsFailedError(
            f"{len(progress.failed)} of {counted(len(units), 'trial')} failed: {first_text}"
        )
    return len(units), True


class TrialsFailedError(Exception):
    """Trials of a run have failed; the text has their number, and the error of the first."""


if __name__ == "__main__":
    root, hosts, minutes, memory, *on = sys.argv[1:]
    main(root, HostsFiles.read(hosts), int(minutes), int(memory), *on)
