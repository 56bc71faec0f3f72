"""Runs the trials of a plan, or those of its search, into a workspace, sequentially or concurrently."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fabricbench.backend.protocol import Backend, Progress, RunResult
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.results.job_reports import result_rows
from fabricbench.runner.concurrency import Pace, SharedResources, pace_of
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.listener import Listener, Quiet
from fabricbench.runner.search import PlanSearch, SearchResult
from fabricbench.runner.trial_facts import facts_of, machine_facts
from fabricbench.store import Trial, TrialFacts, Workspace
from fabricbench.store.record.writer import TrialWriter

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Outcome:
    """Result of running a plan.

    Attributes:
        trials: The finished trials, in the order of the plan.
        count: Number of trials of the plan; the upper bound for a search that was stopped.
        stopped_by: The signal that ended it early; None if all trials ran.
        search_results: Results of the plan's search in each case; empty for a plan without a search.
    """

    trials: Sequence[Trial]
    count: int
    stopped_by: signal.Signals | None = None
    search_results: Sequence[SearchResult] = ()


@dataclass
class Runner:
    """Runs plans into one workspace with one backend.

    Attributes:
        workspace: Workspace that receives the records.
        backend: The backend that runs the trials.
        listener: Receives the events of the run.
        threads: Worker threads of the backend; None for as many as help.
        resume: Skip the trials that are already complete.
        jobs: Largest number of concurrent trials, each in its own process; None for as many as cores and
            memory allow, if that saves time.
        allowed: Called before each trial; returns the number of concurrent trials allowed at that time.
        suite: Id of the run that the trials belong to; None to derive it from the plan and this backend.
            Trials of one run measured by different hosts need it, because their backends differ.
    """

    workspace: Workspace
    backend: Backend
    listener: Listener = field(default_factory=Quiet)
    threads: int | None = None
    resume: bool = False
    jobs: int | None = 1
    allowed: Callable[[], int] | None = None
    suite: str | None = None

    def run(self, loaded: LoadedPlan) -> Outcome:
        """Run every trial of a plan, or the trials that its search tries.

        Ctrl-C and SIGTERM end it early: the unfinished trial is marked `interrupted`, finished ones remain.

        Raises:
            PlanError: The plan cannot run with a value that its search tries.
            StoreError: The workspace cannot be written, or the disk is full.
            TrialProcessError: The process of a concurrent trial has ended unexpectedly.
        """
        if loaded.plan.search is not None:
            return self._search(loaded)
        done: list[Trial] = []
        with Interrupts() as interrupts:
            try:
                facts = list(facts_of(loaded, self.backend, self.suite))
                self._run(loaded, facts, done, interrupts)
            except KeyboardInterrupt:
                return Outcome(done, len(loaded.trials), interrupts.received or signal.SIGINT)
        return Outcome(done, len(loaded.trials))

    def _search(self, loaded: LoadedPlan) -> Outcome:
        """Run the search of a plan; each round runs like the trials of a plan."""
        search = PlanSearch(loaded, self.backend)
        done: list[Trial] = []
        with Interrupts() as interrupts:

            def run(
                part: LoadedPlan, facts: Sequence[tuple[PlannedTrial, TrialFacts]], listener: Listener
            ) -> list[Trial]:
                part_trials: list[Trial] = []
                try:
                    replace(self, listener=listener)._run(part, facts, part_trials, interrupts)
                finally:
                    done.extend(part_trials)
                return part_trials

            try:
                search.run(run, self.listener)
            except KeyboardInterrupt:
                stopped_by = interrupts.received or signal.SIGINT
                return Outcome(done, search.count, stopped_by, search.results)
        return Outcome(done, search.count, search_results=search.results)

    def _run(
        self,
        loaded: LoadedPlan,
        facts_of_trials: Sequence[tuple[PlannedTrial, TrialFacts]],
        done: list[Trial],
        interrupts: Interrupts,
    ) -> None:
        """Run trials sequentially, then concurrently once that saves time; append them to `done`."""
        remaining, count = deque(facts_of_trials), len(loaded.trials)
        pace = self._pace(loaded)
        while remaining:
            interrupts.check()
            if pace is not None and pace.is_concurrent(len(done)):
                self._run_concurrently(loaded, remaining, pace.resources, done, interrupts)
                return
            planned, facts = remaining.popleft()
            started_at = time.monotonic()
            trial, resumed = self._one(planned, facts, (len(done) + 1, count), interrupts)
            if pace is not None and not resumed:
                pace.took(len(done), time.monotonic() - started_at)
            done.append(trial)

    def _pace(self, loaded: LoadedPlan) -> Pace | None:
        if self.jobs == 1 or len(loaded.trials) == 1:
            return None

        options = {"threads": self.threads, "jobs": self.jobs}
        return pace_of(loaded, self.backend, **options, allowed=self.allowed)

    def _run_concurrently(
        self,
        loaded: LoadedPlan,
        left: Sequence[tuple[PlannedTrial, TrialFacts]],
        resources: SharedResources,
        done: list[Trial],
        interrupts: Interrupts,
    ) -> None:
        from fabricbench.runner.parallel import ConcurrentTrials, Task

        first_index = len(done)
        estimated = zip(left, loaded.estimates[first_index:], strict=True)
        tasks = [
            Task(planned, facts, number, estimate["memory_bytes"] if estimate else None)
            for number, ((planned, facts), estimate) in enumerate(estimated, first_index + 1)
        ]
        ConcurrentTrials(self, tasks, resources, done).run(interrupts)

    def _one(
        self, planned: PlannedTrial, facts: TrialFacts, number_of: tuple[int, int], interrupts: Interrupts
    ) -> tuple[Trial, bool]:
        """Return a trial and whether it already had its record; run it if not."""
        trial = self.stored_trial(facts)
        number, count = number_of
        resumed = trial is not None
        if trial is None:
            self.listener.trial_started(facts, number, count)
            with self.workspace.begin(facts, machine_facts()) as writer:
                result = self._execute(planned, number, writer, interrupts)
                tables = writer.close()
                summary = summary_of(planned, result)
                writer.finish(summary, result.engine, result_rows(facts, summary, tables))
            trial = self.workspace.find(facts.id)
        self.listener.trial_finished(trial, number, resumed=resumed)
        return trial, resumed

    def stored_trial(self, facts: TrialFacts) -> Trial | None:
        """Return the trial if it already has its record and the run resumes."""
        return self.workspace.resume(facts) if self.resume else None

    def _execute(
        self, planned: PlannedTrial, number: int, writer: TrialWriter, interrupts: Interrupts
    ) -> RunResult:
        """Run the trial with the backend, and check for signals at each of its reports."""
        with interrupts.allowed():
            observer = _Observer(self.listener, number, writer, interrupts)
            return self.backend.run(planned, observer, threads=self.threads)


def summary_of(planned: PlannedTrial, result: RunResult) -> dict[str, Any]:
    """Return the summary of a trial for its record, with the reason for its backend and its notes."""
    summary: dict[str, Any] = dict(result.summary)
    plan_notes = [*([planned.chosen] if planned.chosen else ()), *planned.notes]
    return summary | {"notes": [*plan_notes, *summary.get("notes", ())]} if plan_notes else summary


@dataclass(frozen=True)
class _Observer:
    """Forwards the reports of a backend, and checks for signals at each report."""

    listener: Listener
    number: int
    writer: TrialWriter
    interrupts: Interrupts

    def progressed(self, progress: Progress) -> None:
        self.interrupts.check()
        self.listener.trial_progressed(progress, self.number)

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.interrupts.check()
        self.writer.write(table, batch)
