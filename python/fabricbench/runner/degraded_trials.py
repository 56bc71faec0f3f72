"""Runs the trials of `degrade`: each again with an adapter, link or switch at half rate, lossy or down.

The flow model runs elements at half rate and down. The packet simulator runs lossy elements, trials that the
flow model does not cover, and those that take it longer: where many flows share each adapter, as in a large
all-to-all, each slow flow changes the rates of all. If all trials would take too long, long ones run with
less data, at two sizes; times of the planned size are on the line through both, as NCCL's choice remains and
messages repeat.

An element that would lose too few frames for a mean loses more: the additional time is in proportion to the
frames that are lost. Waits for the transport's timeout, which only a lost last packet causes, are counted
separately: a single one may be longer than the operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from fabricbench.backend.protocol import JobSummary, RefusedError, RunSummary
from fabricbench.backend.registry import get_backend
from fabricbench.plan import engine
from fabricbench.plan.cluster import Cluster
from fabricbench.plan.degradation import (
    LOSS_PPM,
    Element,
    Group,
    Kind,
    State,
    degraded,
    elements_of,
    groups_of,
    is_unaffected,
    shortened,
    unrecorded,
)
from fabricbench.plan.engine import FLOW, SIMULATOR, SpecError
from fabricbench.plan.errors import PlanError, named_as_written
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.nccl import parse_sizes
from fabricbench.runner import loading
from fabricbench.runner.unrecorded_trials import UnrecordedTrials
from fabricbench.words import counted
from fabricbench.work import collective_of, pattern_of

_BUDGET_MS: Final = 180_000
"""Estimated time of all runs of a backend on one core [ms], above which they run with less data."""
_SHORTER_MIN: Final = 0.7
"""Estimated time and chunks of a run with less data at most, compared with all data."""
_FLOWS_MIN_MS: Final = 10_000
"""Estimated time of flows that is short enough in any case [ms]."""
_FLOWS_MAX: Final = 4
"""Estimated time of flows at most, compared with that of packets."""
_TIME_MIN_MS: Final = 2_000
"""Estimated time of a run that is not shortened in any case [ms]."""
_PS_PER_US: Final = 1_000_000
_LOST_FRAMES: Final = 32
"""Frames that a lossy element loses in a trial, if `_LOSS_PPM_MAX` allows it."""
_LOSS_PPM_MAX: Final = 1_000


def with_collectives(loaded: LoadedPlan, collectives: Sequence[str]) -> dict[str, LoadedPlan]:
    """Return a plan with each of some collectives in all its jobs, by their names; else the plan itself.

    Raises:
        PlanError: A job cannot have one of them.
    """
    plans: dict[str, LoadedPlan] = {}
    for collective in dict.fromkeys(collectives):
        options = {
            f"--collective {collective}, job {job.name}": f"jobs.{index}.collective={collective}"
            for index, job in enumerate(loaded.plan.jobs)
        }
        algorithms = [
            f"jobs.{index}.algorithm=null"
            for index, job in enumerate(loaded.plan.jobs)
            if job.collective != collective
        ]
        with named_as_written(options):
            plans[collective] = loading.reload(loaded, [*options.values(), *algorithms])
    return plans or {"": loaded}


def of_cluster(
    cluster: Cluster, collectives: Sequence[str], size: str, overrides: Sequence[str]
) -> dict[str, LoadedPlan]:
    """Return the plan of each of some collectives on a cluster that has been checked.

    Raises:
        PlanError: A collective or an override is not allowed.
    """
    sizes = parse_sizes(size)
    return {
        collective: loading.load_fields(
            cluster.fields(collective, sizes), Path.cwd() / "cluster.yaml", overrides
        )
        for collective in collectives
    }


def degradable(loaded: LoadedPlan) -> PlannedTrial:
    """Return the trial of a plan that is run with degraded elements: the largest of its first variant.

    Raises:
        PlanError: It has failures, or jobs other than collectives of one round.
    """
    document = document_of(loaded)
    trials = [trial for trial in loaded.trials if not trial.is_solo and trial.case == loaded.trials[0].case]
    trial = max(trials, key=lambda trial: (trial.data_size_bytes, -trial.iteration))
    if loaded.plan.fabric.failures:
        found = counted(len(loaded.plan.fabric.failures), "failure")
        hint = "`-s fabric.failures=[]` leaves them out"
        raise PlanError([document.problem(("fabric", "failures"), found, "none with degrade", hint)])
    for index, job in enumerate(trial.run_spec["jobs"]):
        if not collective_of(job):
            allowed = "collectives with degrade"
            raise PlanError([document.problem(("jobs", index), job["work"]["kind"], allowed)])
        if job["repeat"] != {"kind": "rounds", "rounds": 1}:
            raise PlanError([document.problem(("jobs", index, "repeat"), "several rounds", "1 with degrade")])
    return trial


@dataclass(frozen=True)
class JobTimes:
    """Times of a job, as it is and with an element of a group degraded.

    Attributes:
        job: Name of the job.
        trial: Index of its trial.
        backend: What ran it; empty if the job is unaffected, without a run.
        before_us: Time as it is [us].
        after_us: Time with an element degraded, by its name [us], without waits for timeouts; none if the
            job stops.
        waits: How often it waits for the transport's timeout, on average.
        refused: Why it could not be run; else empty.
    """

    job: str
    trial: int
    backend: str = ""
    before_us: float = 0.0
    after_us: Mapping[str, float | None] = field(default_factory=dict)
    waits: float = 0.0
    refused: str = ""


@dataclass(frozen=True)
class DegradedGroup:
    """A group of elements in a state, and the times of all jobs."""

    group: Group
    state: State
    jobs: Sequence[JobTimes]


@dataclass(frozen=True)
class DegradedTrials:
    """Results of all trials.

    Attributes:
        elements: Adapters, links and switches of the fabric.
        groups: Each group in each state.
        sizes: Data size of each trial that a backend ran with less data, by trial and backend [bytes].
        runs: Number of runs.
    """

    elements: Sequence[Element]
    groups: Sequence[DegradedGroup]
    sizes: Mapping[tuple[int, str], int]
    runs: int


@dataclass(frozen=True)
class _Case:
    """A trial with an element degraded, which loses `loss_ppm` frames if it is lossy."""

    trial: int
    group: int
    state: State
    element: Element
    loss_ppm: int = LOSS_PPM


@dataclass(frozen=True)
class _Run:
    """Outcomes of a case, and of its trial as it is, at each size."""

    case: _Case
    backend: str
    sizes: Sequence[int]
    before: Sequence[RunSummary | RefusedError]
    after: Sequence[RunSummary | RefusedError]
    timeout_us: float

    @property
    def refusal(self) -> RefusedError | None:
        """Why one of its runs was refused; else none."""
        return next((one for one in (*self.before, *self.after) if isinstance(one, RefusedError)), None)

    def times_us(self, job: int, planned_bytes: int) -> tuple[float | None, float | None]:
        """Return the times of a job at the planned size, as it is and degraded; none if it does not end."""
        before, after = (
            [_time_us(one["jobs"][job]) for one in outcomes if not isinstance(one, RefusedError)]
            for outcomes in (self.before, self.after)
        )
        before_us = _at(planned_bytes, self.sizes, before)
        if self.case.state is not State.LOSS:
            return before_us, _at(planned_bytes, self.sizes, after)
        if before_us is None or before[0] is None or after[0] is None:
            return before_us, None
        added_us, waits = self._added_us(before[0], after[0])
        return before_us, before_us + self._scale(planned_bytes) * (added_us - waits * self.timeout_us)

    def waits(self, job: int, planned_bytes: int) -> float:
        """Return how often a job waits for a timeout after the loss of a last packet, at the planned size.

        A timeout is so much longer than the other additional time that the number of waits follows.
        """
        first = (self.before[0], self.after[0])
        times = [_time_us(one["jobs"][job]) for one in first if not isinstance(one, RefusedError)]
        if self.case.state is not State.LOSS or len(times) < len(first):
            return 0.0
        before, after = times
        if before is None or after is None:
            return 0.0
        return self._scale(planned_bytes) * self._added_us(before, after)[1]

    def _scale(self, planned_bytes: int) -> float:
        """Return lost frames of the planned size and loss, as a multiple of those of the run."""
        return planned_bytes / self.sizes[0] * LOSS_PPM / self.case.loss_ppm

    def _added_us(self, before_us: float, after_us: float) -> tuple[float, int]:
        """Return the additional time, at least that of its waits, and their number."""
        added_us = after_us - before_us
        # Other queue pairs go on during a wait.
        waits = max(0, int((added_us + min(before_us, self.timeout_us / 2)) / self.timeout_us))
        return max(added_us, waits * self.timeout_us), waits


def _at(size: int, sizes: Sequence[int], times_us: Sequence[float | None]) -> float | None:
    """Return the time at a size on the line through the times of two others, or that of the only one [us]."""
    known = [time for time in times_us if time is not None]
    if len(known) < len(sizes):
        return None
    if len(sizes) == 1:
        return known[0]
    return known[0] + (known[0] - known[1]) * (size - sizes[0]) / (sizes[0] - sizes[1])


class _Model:
    """Runs trials of one backend, long ones with less data."""

    def __init__(self, backend: str, trials: Sequence[PlannedTrial], cases: Sequence[_Case]) -> None:
        self.backend = backend
        self.cases = cases
        long = [case for case in cases if case.state is not State.DOWN or case.element.kind is Kind.LINK]
        limit_ms = max(_TIME_MIN_MS, _BUDGET_MS // (len(long) + len(trials)))
        self.trials = [_affordable(trial, backend, limit_ms) for trial in trials]

    def run(self) -> list[_Run]:
        """Run all cases, and all trials as they are."""
        before = [(trial, part) for trial, parts in enumerate(self.trials) for part in range(len(parts))]
        after = [
            (case, part)
            for case in self.cases
            for part in range(1 if case.state is State.LOSS else len(self.trials[case.trial]))
        ]
        planned = [self.trials[trial][part] for trial, part in before] + [
            degraded(self.trials[case.trial][part], case.element, case.state, case.loss_ppm)
            for case, part in after
        ]
        outcomes = UnrecordedTrials(get_backend(self.backend)).outcomes(planned) if self.cases else []
        of_trial: dict[int, list[RunSummary | RefusedError]] = {}
        for (trial, _), outcome in zip(before, outcomes, strict=False):
            of_trial.setdefault(trial, []).append(outcome)
        of_case: dict[int, list[RunSummary | RefusedError]] = {}
        for (case, _), outcome in zip(after, outcomes[len(before) :], strict=True):
            of_case.setdefault(id(case), []).append(outcome)
        return [
            _Run(
                case,
                self.backend,
                self.sizes(case.trial),
                of_trial[case.trial],
                of_case[id(case)],
                self.trials[case.trial][0].run_spec["transport"]["timeout_ps"] / _PS_PER_US,
            )
            for case in self.cases
        ]

    def sizes(self, trial: int) -> list[int]:
        """Return the data sizes that run of a trial, the largest first [bytes]."""
        return [data_bytes(part) for part in self.trials[trial]]


def _affordable(trial: PlannedTrial, backend: str, limit_ms: int) -> list[PlannedTrial]:
    """Return the trial, or one with less data that takes an estimated time at most, and one with half."""
    planned_ms, shorter = _estimated_ms(trial, backend), trial
    for _ in range(3):
        time_ms = _estimated_ms(shorter, backend)
        if time_ms <= limit_ms:
            break
        shorter = shortened(shorter, 0.9 * limit_ms / time_ms)
    half = shortened(shorter, 0.5)
    saves_time = _estimated_ms(shorter, backend) < _SHORTER_MIN * planned_ms
    is_linear = _has_fewer_chunks(trial, shorter) and _has_fewer_chunks(shorter, half)
    return [shorter, half] if saves_time and is_linear else [trial]


def _has_fewer_chunks(trial: PlannedTrial, shorter: PlannedTrial) -> bool:
    """Whether a trial with less data repeats its messages less often, so that times are on a line.

    In NCCL's first loops less data have smaller chunks, not fewer. Transfers without NCCL are one chunk each.
    """
    if not any(collective_of(job).get("nccl") for job in trial.run_spec["jobs"]):
        return data_bytes(shorter) < data_bytes(trial)
    estimates = [engine.estimate(one.spec_json, FLOW) for one in (trial, shorter)]
    longer, less = (0 if estimate is None else estimate["chunks"] for estimate in estimates)
    return less < _SHORTER_MIN * longer


def _estimated_ms(trial: PlannedTrial, backend: str) -> int:
    """Return the estimated time of a trial [ms]; 0 if the backend refuses it."""
    estimate = engine.estimate(trial.spec_json, backend)
    return 0 if estimate is None else estimate["time_ms"]


def _has_slow_flows(trial: PlannedTrial, index: int, elements: Sequence[Element]) -> bool:
    """Whether flows of a degraded trial take much longer than packets.

    The end of a flow changes the rates of those on its links: about half of the flows that share an adapter
    for each chunk, as measured for 512 ranks.
    """
    adapters = (element for element in elements if element.kind is Kind.ADAPTER)
    shared = max((adapter.load(index).queue_pairs for adapter in adapters), default=0) / 4
    flows_ms = _estimated_ms(trial, FLOW) * shared
    return flows_ms > max(_FLOWS_MIN_MS, _FLOWS_MAX * _estimated_ms(trial, SIMULATOR))


def run_degraded(planned: Sequence[PlannedTrial], states: Sequence[State]) -> DegradedTrials:
    """Run trials with elements of their fabric degraded.

    Args:
        planned: Trials of one fabric without failures, each with collectives of one round.
        states: States of the elements.

    Raises:
        RefusedError: The flow model does not cover a trial.
        KeyboardInterrupt: The user stopped it.
    """
    trials = [unrecorded(trial) for trial in planned]
    try:
        elements = elements_of(trials)
    except SpecError as error:
        raise RefusedError(error.field, error.found, error.allowed) from error
    groups = groups_of(elements)
    cases = [
        _Case(trial, index, state, element)
        for state in states
        for index, group in enumerate(groups)
        for trial in range(len(trials))
        if not is_unaffected(group, trial, state, elements)
        for element in group.computed
    ]
    slow_flows = {index for index, trial in enumerate(trials) if _has_slow_flows(trial, index, elements)}
    by_flows = [case for case in cases if case.state is not State.LOSS and case.trial not in slow_flows]
    flows = _Model(FLOW, trials, by_flows)
    runs = flows.run()
    refused = [run.case for run in runs if run.refusal is not None]
    others = [case for case in cases if case.state is State.LOSS or case.trial in slow_flows]
    packets = _Model(SIMULATOR, trials, [*refused, *others])
    packets.cases = [_lossier(case, trials, packets) for case in packets.cases]
    runs = [run for run in runs if run.refusal is None] + packets.run()
    return DegradedTrials(
        elements,
        [
            DegradedGroup(group, state, list(_times_of(index, state, trials, runs)))
            for index, group in enumerate(groups)
            for state in states
        ],
        {
            (index, model.backend): model.sizes(index)[0]
            for model in (flows, packets)
            for index in {case.trial for case in model.cases}
            if len(model.trials[index]) > 1
        },
        len(runs),
    )


def _lossier(case: _Case, trials: Sequence[PlannedTrial], packets: _Model) -> _Case:
    """Return a case in which a lossy element loses enough frames for a mean."""
    if case.state is not State.LOSS:
        return case
    size = packets.sizes(case.trial)[0]
    mtu = trials[case.trial].run_spec["transport"]["mtu_bytes"]
    bytes_run = case.element.load(case.trial).bytes * size / data_bytes(trials[case.trial])
    enough_ppm = 1e6 * _LOST_FRAMES * mtu / max(1, bytes_run)
    return replace(case, loss_ppm=round(min(max(LOSS_PPM, enough_ppm), _LOSS_PPM_MAX)))


def _times_of(
    group: int, state: State, trials: Sequence[PlannedTrial], runs: Sequence[_Run]
) -> Iterator[JobTimes]:
    """Yield the times of each job of each trial with elements of a group in a state."""
    for index, trial in enumerate(trials):
        own = [
            run for run in runs if (run.case.trial, run.case.group, run.case.state) == (index, group, state)
        ]
        for number, job in enumerate(trial.run_spec["jobs"]):
            yield _job_times(job["name"], number, trial, own) if own else JobTimes(job["name"], index)


def _job_times(name: str, number: int, trial: PlannedTrial, runs: Sequence[_Run]) -> JobTimes:
    index, backend = runs[0].case.trial, runs[0].backend
    if refusal := next((run.refusal for run in runs if run.refusal is not None), None):
        return JobTimes(name, index, backend, refused=str(refusal))
    times = {run.case.element.name: run.times_us(number, data_bytes(trial)) for run in runs}
    before_us = next(before for before, _ in times.values())
    if before_us is None:
        return JobTimes(name, index, backend, refused=f"{name} does not end on the fabric as it is")
    after_us = {element: after for element, (_, after) in times.items()}
    waits = fmean(run.waits(number, data_bytes(trial)) for run in runs)
    return JobTimes(name, index, backend, before_us, after_us, waits)


def _time_us(job: JobSummary) -> float | None:
    """Return the time of a job [us]; none if it does not end."""
    return None if job["end_ps"] is None else (job["end_ps"] - job["start_ps"]) / _PS_PER_US


def data_bytes(trial: PlannedTrial) -> int:
    """Return the data size of the first job of a trial [bytes]."""
    size: int = pattern_of(trial.run_spec["jobs"][0])["data_bytes"]
    return size
