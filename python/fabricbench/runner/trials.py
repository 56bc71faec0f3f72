"""Runs the trials of a plan into a workspace, sequentially or concurrently.

Also defines the listener of a run, facts and ids of trials and runs, and the facts of this machine.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from fabricbench.backend.protocol import Backend, Choosing, Progress, RunResult, carrier_of
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded import LoadedPlan
from fabricbench.runner.interrupts import Interrupts
from fabricbench.store import Trial, TrialFacts, Workspace
from fabricbench.store.record.tables import TableFolder
from fabricbench.store.record.writer import TrialWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.runner.places import Pace, Places
    from fabricbench.runner.search import Found, Judge

Results = Callable[["TrialFacts", Mapping[str, Any], "TableFolder"], "pa.Table"]
"""Computes the rows of the table `trials` from the facts, the backend's summary and the record."""


RunOf = Callable[["LoadedPlan", Sequence[tuple["PlannedTrial", "TrialFacts"]], "Listener"], Sequence["Trial"]]
"""Runs the trials of a plan, each with its facts, notifies a listener, and returns them."""


class Listener(Protocol):
    """Interface for the events of a runner, implemented by displays."""

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Trials of a search were chosen, none at its end; `count` is the upper bound of all its trials."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Trial `number` (from 1) of `count` started; others may be running."""

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """A running trial reported its progress."""

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """A trial has its record; `resumed` if it had it before. Called in the order of the plan."""

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        """A concurrent trial failed; the others continue, and then the run raises its error."""


class Quiet:
    """A listener that does nothing."""

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        """Do nothing."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing."""

    def trial_progressed(self, progress: Progress, number: int) -> None:
        """Do nothing."""

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:
        """Do nothing."""

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Outcome:
    """Result of running a plan.

    Attributes:
        trials: The finished trials, in the order of the plan.
        count: Number of trials of the plan; the upper bound for a search that was stopped.
        stopped_by: The signal that ended it early; None if all trials ran.
        found: Results of the plan's search in each case; empty for a plan without a search.
    """

    trials: Sequence[Trial]
    count: int
    stopped_by: signal.Signals | None = None
    found: Sequence[Found] = ()


@dataclass
class Runner:
    """Runs plans into one workspace with one backend.

    Attributes:
        workspace: Workspace that receives the records.
        backend: The backend that runs the trials.
        results: Computes the rows of the table `trials`.
        listener: Receives the events of the run.
        threads: Worker threads of the backend; None for as many as help.
        resume: Skip the trials that are already complete.
        jobs: Largest number of concurrent trials, each in its own process; None for as many as cores and
            memory allow, if that saves time.
        allowed: Called before each trial; returns the number of concurrent trials allowed at that time.
        judge: Returns whether a trial meets the criteria; required for plans with a search.
        suite: Id of the run that the trials belong to; None to derive it from the plan and this backend.
            Trials of one run measured by different hosts need it, because their backends differ.
    """

    workspace: Workspace
    backend: Backend
    results: Results
    listener: Listener = field(default_factory=Quiet)
    threads: int | None = None
    resume: bool = False
    jobs: int | None = 1
    allowed: Callable[[], int] | None = None
    judge: Judge | None = None
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
        from fabricbench.runner.search import Searching

        if self.judge is None:
            raise AssertionError("a plan with a search has nobody who judges its trials")
        searching = Searching(loaded, self.backend, self.judge)
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
                searching.run(run, self.listener)
            except KeyboardInterrupt:
                stopped_by = interrupts.received or signal.SIGINT
                return Outcome(done, searching.count, stopped_by, searching.found)
        return Outcome(done, searching.count, found=searching.found)

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
            if pace is not None and pace.is_side_by_side(len(done)):
                self._side_by_side(loaded, remaining, pace.places, done, interrupts)
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
        from fabricbench.runner.places import pace_of

        options = {"threads": self.threads, "jobs": self.jobs}
        return pace_of(loaded, self.backend, **options, allowed=self.allowed)

    def _side_by_side(
        self,
        loaded: LoadedPlan,
        left: Sequence[tuple[PlannedTrial, TrialFacts]],
        places: Places,
        done: list[Trial],
        interrupts: Interrupts,
    ) -> None:
        from fabricbench.runner.side_by_side import SideBySide, Task

        first_index = len(done)
        estimated = zip(left, loaded.estimates[first_index:], strict=True)
        tasks = [
            Task(planned, facts, number, estimate["memory_bytes"] if estimate else None)
            for number, ((planned, facts), estimate) in enumerate(estimated, first_index + 1)
        ]
        SideBySide(self, tasks, places, done).run(interrupts)

    def _one(
        self, planned: PlannedTrial, facts: TrialFacts, number_of: tuple[int, int], interrupts: Interrupts
    ) -> tuple[Trial, bool]:
        """Return a trial and whether it already had its record; run it if not."""
        trial = self.kept(facts)
        number, count = number_of
        resumed = trial is not None
        if trial is None:
            self.listener.trial_started(facts, number, count)
            with self.workspace.begin(facts, machine_facts()) as writer:
                result = self._execute(planned, number, writer, interrupts)
                tables = writer.close()
                summary = summary_of(planned, result)
                writer.finish(summary, result.engine, self.results(facts, summary, tables))
            trial = self.workspace.find(facts.id)
        self.listener.trial_finished(trial, number, resumed=resumed)
        return trial, resumed

    def kept(self, facts: TrialFacts) -> Trial | None:
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


def facts_of(
    loaded: LoadedPlan, backend: Backend, suite: str | None = None
) -> Iterator[tuple[PlannedTrial, TrialFacts]]:
    """Yield the trials of a plan, each with its facts before it runs.

    If the backend delegates a trial to another one, the facts are for that one.

    Args:
        loaded: The plan.
        backend: The backend.
        suite: Id of the run that they belong to; None to derive it from the plan and this backend.
    """
    plan = loaded.plan
    suite = suite or suite_id(
        plan.name, [trial_id(suite_trial, backend) for suite_trial in loaded.suite], plan.tag
    )
    for trial in loaded.trials:
        planned, carrier = trial, backend
        if isinstance(backend, Choosing):
            carrier, reason = backend.carrier(trial)
            planned = replace(trial, chosen=reason)
        row, judged = _published_and_criteria(planned, loaded)
        yield (
            planned,
            TrialFacts(
                id=trial_id(planned, carrier),
                plan=plan.name,
                title=plan.title,
                plan_source=loaded.text,
                overrides=(*loaded.overrides, *loaded.configured),
                suite=suite,
                position=planned.index,
                variant=planned.variant,
                iteration=planned.iteration,
                data_size_bytes=planned.data_size_bytes,
                size_kind=planned.size_kind,
                axes=planned.case.axes,
                tag=plan.tag,
                run_spec=planned.run_spec,
                published=row,
                criteria=judged,
                backend=carrier.name,
                backend_version=carrier.version,
                engine_version=carrier.engine_version,
                reference=loaded.reference,
                observed=carrier.observed,
            ),
        )


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


def _published_and_criteria(
    planned: PlannedTrial, loaded: LoadedPlan
) -> tuple[dict[str, Any] | None, tuple[Mapping[str, Any], ...]]:
    """Return the published row of a trial and the criteria that apply to it.

    Published rows and criteria apply to trials with all jobs, not to trials of single jobs.
    """
    if planned.is_solo:
        return None, ()
    variant = loaded.variant_of(planned)
    criteria, reference = loaded.plan.criteria, loaded.reference
    judged = tuple(
        criterion.stored() for criterion in criteria if criterion.concerns(planned.variant, reference)
    )
    table = variant.published
    values = table.rows.get(planned.data_size_bytes) if table else None
    if not table or not values:
        return None, judged
    note = {"note": variant.plan.published_note} if variant.plan.published_note else {}
    return {"table": table.name, "source": table.source, "values": values} | note, judged


def trial_id(planned: PlannedTrial, backend: Backend) -> str:
    """Return the id of a result, derived from the run spec, the backend and the version of its results.

    It is the first 12 hex digits of SHA-256 over three lines: the RunSpec as canonical JSON, the name of the
    backend that runs it and that version.
    """
    carrier = carrier_of(backend, planned)
    text = f"{planned.spec_json}\n{carrier.name}\n{carrier.version}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def suite_id(plan: str, trial_ids: Sequence[str], tag: str) -> str:
    """Return the common id of the trials of one plan, expanded in the same way."""
    return hashlib.sha256("\n".join((plan, *trial_ids, tag)).encode()).hexdigest()[:12]


def machine_facts() -> dict[str, Any]:
    """Return properties of this machine that may affect results."""
    system = os.uname()
    return {
        "host": system.nodename,
        "system": f"{system.sysname} {system.release}",
        "architecture": system.machine,
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
    }
