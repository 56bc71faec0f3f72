"""Runs the trials of a plan, one after the other, into a workspace."""

from __future__ import annotations

import hashlib
import os
import platform
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, Self

from fabricbench.backend.rates import goodput_gb_per_s as goodput_gb_per_s  # noqa: PLC0414 -- displays too
from fabricbench.backend.rates import paused_mean as paused_mean  # noqa: PLC0414

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.backend.protocol import Backend as Backend  # noqa: PLC0414 -- callers hold one
    from fabricbench.backend.protocol import Progress as Progress  # noqa: PLC0414 -- displays take it from here
    from fabricbench.backend.protocol import RunResult
    from fabricbench.backend.wiring import Wiring as Wiring  # noqa: PLC0414 -- captures take it from here
    from fabricbench.plan.cost import Limits
    from fabricbench.plan.expand import PlannedTrial as PlannedTrial  # noqa: PLC0414
    from fabricbench.plan.loaded import LoadedPlan as LoadedPlan  # noqa: PLC0414
    from fabricbench.store import Trial, TrialFacts, Workspace
    from fabricbench.store.tables import TableFolder
    from fabricbench.store.writer import TrialWriter

THREADS_MAX = 1024
"""Most worker threads that may be asked for."""
TIME_LIMIT_MIN = 60
"""A trial that is estimated to take longer is hardly meant, so it is to be asked for."""

Results = Callable[["TrialFacts", Mapping[str, Any], "TableFolder"], "pa.Table"]
"""Computes the rows of the table `trials` from what was run, the backend's summary and the record."""


class Listener(Protocol):
    """Told what the runner does; a display implements it."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Trial `number` (from 1) of `count` begins."""

    def trial_progressed(self, progress: Progress) -> None:
        """The trial that began last is so far."""

    def trial_finished(self, trial: Trial, *, resumed: bool) -> None:
        """A trial has its record; `resumed` if it had it before."""


class Quiet:
    """A listener that does nothing."""

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing."""

    def trial_progressed(self, progress: Progress) -> None:
        """Do nothing."""

    def trial_finished(self, trial: Trial, *, resumed: bool) -> None:
        """Do nothing."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM; everything that Ctrl-C tidies up, this does too."""


class Interrupts:
    """Ctrl-C and SIGTERM as exceptions, but only where they do no harm.

    A signal raises at once inside `allowed`, and elsewhere waits for the next `check`: half-way through
    putting a record in place, an exception would leave it half there. `check` also catches up on an exception
    that a library has swallowed. Signals are handled in the main thread only; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._may_raise = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Take the signals over."""
        with suppress(ValueError):  # not the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.received = self.received or signal.Signals(number)
        if self._may_raise:
            self._may_raise = False  # a second one must not interrupt the tidying up
            self.check()

    def check(self) -> None:
        """Raise if a signal has come.

        Raises:
            Terminated: It was SIGTERM.
            KeyboardInterrupt: It was SIGINT.
        """
        if self.received is not None:
            raise Terminated if self.received is signal.SIGTERM else KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals raise at once within the block."""
        self.check()
        self._may_raise = True
        try:
            yield
        finally:
            self._may_raise = False


@dataclass(frozen=True)
class Outcome:
    """What a run of a plan came to.

    Attributes:
        trials: The finished trials, in the order of the plan.
        count: How many the plan has.
        stopped_by: The signal that ended it early; none if all trials ran.
    """

    trials: Sequence[Trial]
    count: int
    stopped_by: signal.Signals | None = None


@dataclass
class Runner:
    """Runs plans into one workspace with one backend.

    Attributes:
        workspace: Where the records go.
        backend: What carries the trials out.
        results: Computes the rows of the table `trials`.
        listener: Told what happens.
        threads: Worker threads of the backend; as many as help if none.
        resume: Leave out the trials that are complete already.
    """

    workspace: Workspace
    backend: Backend
    results: Results
    listener: Listener = field(default_factory=Quiet)
    threads: int | None = None
    resume: bool = False

    def run(self, loaded: LoadedPlan) -> Outcome:
        """Run every trial of a plan.

        Ctrl-C and SIGTERM end it early: the unfinished trial is marked `interrupted`, the finished ones stay.

        Raises:
            StoreError: The workspace cannot be written, or the disk is full.
        """
        done: list[Trial] = []
        count = len(loaded.trials)
        with Interrupts() as interrupts:
            try:
                for number, (planned, facts) in enumerate(self._facts(loaded), 1):
                    interrupts.check()
                    done.append(self._one(planned, facts, (number, count), interrupts))
            except KeyboardInterrupt:
                return Outcome(done, count, interrupts.received or signal.SIGINT)
        return Outcome(done, count)

    def _facts(self, loaded: LoadedPlan) -> Iterator[tuple[PlannedTrial, TrialFacts]]:
        from fabricbench.store import TrialFacts

        plan = loaded.plan
        suite = suite_id(plan.name, [trial_id(each, self.backend) for each in loaded.suite], plan.tag)
        for planned in loaded.trials:
            row, judged = _expected(planned, loaded)
            yield (
                planned,
                TrialFacts(
                    id=trial_id(planned, self.backend),
                    plan=plan.name,
                    title=plan.title,
                    plan_source=loaded.text,
                    overrides=loaded.overrides,
                    suite=suite,
                    position=planned.index,
                    variant=planned.variant,
                    iteration=planned.iteration,
                    data_size_bytes=planned.data_size_bytes,
                    size_kind=planned.size_kind,
                    tag=plan.tag,
                    run_spec=planned.run_spec,
                    published=row,
                    criteria=judged,
                    backend=self.backend.name,
                    backend_version=self.backend.version,
                    engine_version=self.backend.engine_version,
                    reference=loaded.reference,
                    observed=self.backend.observed,
                ),
            )

    def _one(
        self, planned: PlannedTrial, facts: TrialFacts, number_of: tuple[int, int], interrupts: Interrupts
    ) -> Trial:
        """Return the trial, the first of so many, run now unless it is to be resumed and has its record."""
        trial = self.workspace.resume(facts) if self.resume else None
        resumed = trial is not None
        if trial is None:
            self.listener.trial_started(facts, *number_of)
            with self.workspace.begin(facts, machine_facts()) as writer:
                result = self._execute(planned, writer, interrupts)
                tables = writer.close()
                summary = dict(result.summary)
                writer.finish(summary, result.engine, self.results(facts, summary, tables))
            trial = self.workspace.find(facts.id)
        self.listener.trial_finished(trial, resumed=resumed)
        return trial

    def _execute(self, planned: PlannedTrial, writer: TrialWriter, interrupts: Interrupts) -> RunResult:
        """Have the backend run the trial, and look for signals whenever it reports."""
        with interrupts.allowed():
            observer = _Observer(self.listener, writer, interrupts)
            return self.backend.run(planned, observer, threads=self.threads)


@dataclass(frozen=True)
class _Observer:
    """Hands on what a backend reports, and looks for signals whenever it does."""

    listener: Listener
    writer: TrialWriter
    interrupts: Interrupts

    def progressed(self, progress: Progress) -> None:
        self.interrupts.check()
        self.listener.trial_progressed(progress)

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.interrupts.check()
        self.writer.write(table, batch)


def _expected(
    planned: PlannedTrial, loaded: LoadedPlan
) -> tuple[dict[str, Any] | None, tuple[Mapping[str, Any], ...]]:
    """Return the published row of a trial and the criteria that it is judged by.

    A published row was measured with every job there, and criteria are about that as well.
    """
    if planned.is_solo:
        return None, ()
    variant = loaded.variant_of(planned)
    criteria, reference = loaded.plan.criteria, loaded.reference
    judged = tuple(each.stored() for each in criteria if each.concerns(planned.variant, reference))
    table = variant.published
    values = table.rows.get(planned.data_size_bytes) if table else None
    if not table or not values:
        return None, judged
    note = {"note": variant.plan.published_note} if variant.plan.published_note else {}
    return {"table": table.name, "source": table.source, "values": values} | note, judged


def trial_id(planned: PlannedTrial, backend: Backend) -> str:
    """Return the identity of a result: what was run, by which backend, and the version of its results.

    It is the first 12 hex digits of SHA-256 over three lines: the RunSpec as canonical JSON, the name of the
    backend and that version.
    """
    text = f"{planned.spec_json}\n{backend.name}\n{backend.version}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def suite_id(plan: str, trial_ids: Sequence[str], tag: str) -> str:
    """Return what the trials of one plan, expanded in the same way, have in common."""
    return hashlib.sha256("\n".join((plan, *trial_ids, tag)).encode()).hexdigest()[:12]


def machine_facts() -> dict[str, Any]:
    """Return what may matter about this machine."""
    system = os.uname()
    return {
        "host": system.nodename,
        "system": f"{system.sysname} {system.release}",
        "architecture": system.machine,
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }


def load(
    name: str,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
    *,
    quick: bool = False,
) -> LoadedPlan:
    """Load a plan by the name of a shipped one or by its file, with overrides FIELD=VALUE.

    With `quick` it is changed first as its own `quick` says.

    Raises:
        PlanError: It cannot be carried out as it is written, or would cost more than the limits.
    """
    from fabricbench.plan.load import load_plan

    return _with_backend(load_plan(name, overrides, limits, chosen, quick=quick))


def load_fields(fields: Mapping[str, Any]) -> LoadedPlan:
    """Load a plan from the fields of its YAML.

    Raises:
        PlanError: It cannot be carried out as it is written.
    """
    from fabricbench.plan import load

    return _with_backend(load.load_fields(fields))


def load_text(
    text: str,
    source: str,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan from YAML text, without a look at any file; see `fabricbench.plan.load.load_text`.

    Raises:
        PlanError: It cannot be carried out as it is written, or would cost more than the limits.
    """
    from fabricbench.plan import load

    return _with_backend(load.load_text(text, source, overrides, limits, chosen))


def reload(
    loaded: LoadedPlan,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan again with more overrides FIELD=VALUE, with limits, or some of its variants.

    Raises:
        PlanError: It cannot be carried out, or would cost more than the limits.
    """
    from fabricbench.plan import load

    return _with_backend(load.reload(loaded, overrides, limits, chosen))


def _with_backend(loaded: LoadedPlan) -> LoadedPlan:
    """Return a plan whose backend is there.

    Raises:
        PlanError: There is no such backend, or a prerequisite of it is missing.
    """
    from fabricbench.backend.registry import BackendError, get_backend
    from fabricbench.plan.errors import PlanError
    from fabricbench.plan.load import document_of

    try:
        get_backend(loaded.plan.backend)
    except BackendError as error:
        problem = document_of(loaded).problem(("backend",), error.found, error.allowed, error.hint)
        raise PlanError([problem]) from error
    return loaded


def machine_limits(time_limit_min: int | None = TIME_LIMIT_MIN) -> Limits:
    """Return what a trial may cost on this machine: the memory that is left, and so many minutes or any."""
    from fabricbench.backend.machine import available_memory_bytes
    from fabricbench.plan.cost import Limits

    time_ms = None if time_limit_min is None else time_limit_min * 60_000
    return Limits(available_memory_bytes(), time_ms)


def backend_names() -> list[str]:
    """Return the names of the backends that there are."""
    from fabricbench.backend.registry import BACKENDS

    return sorted(BACKENDS)


def backend_of(loaded: LoadedPlan, settings: Mapping[str, Any] | None = None) -> Backend:
    """Return the backend that a plan names, with settings of its own that the user gave.

    Raises:
        BackendError: It does not know one of the settings.
    """
    from fabricbench.backend.registry import get_backend

    return get_backend(loaded.plan.backend, settings)


def problem_text(error: Exception) -> str | None:
    """Return what to tell the user of an error about the plan or its backend; none of any other."""
    from fabricbench.backend.protocol import RefusedError
    from fabricbench.backend.registry import BackendError
    from fabricbench.plan.errors import PlanError

    if isinstance(error, PlanError):
        return str(error)
    if isinstance(error, BackendError):
        return f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")
    if isinstance(error, RefusedError):
        return (
            f"error: the engine refuses the trial: {error}\nhint: `fabricbench plan check PLAN` checks a plan"
        )
    return None


def wiring(planned: PlannedTrial, backend: str) -> Wiring:
    """Return the queue pairs and hosts of a trial of a backend, without running it.

    Raises:
        BackendError: The backend has no frames to capture.
        RefusedError: The RunSpec cannot be run.
    """
    from fabricbench.backend.registry import capturing

    return capturing(backend).wiring(planned)


def capture_problem(backend: str) -> str:
    """Say why the frames of a backend's trials cannot be captured; empty if they can."""
    from fabricbench.backend.registry import BackendError, capturing

    try:
        capturing(backend)
    except BackendError as error:
        return error.found
    return ""


def captured_frames(
    planned: PlannedTrial, backend: str, qps: Sequence[int], count: int
) -> list[tuple[int, bytes]]:
    """Run a trial until some queue pairs have sent `count` frames; see `Capturing.frames`.

    Raises:
        BackendError: The backend has no frames to capture.
        RefusedError: The RunSpec cannot be run.
    """
    from fabricbench.backend.registry import capturing

    return capturing(backend).frames(planned, qps, count)
