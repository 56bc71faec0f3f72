"""Runs the trials of `expect`: a plan with many seeds and, if requested, random placements of its jobs.

Results of the flow model are checked by the packet simulator.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from signal import Signals
from typing import TYPE_CHECKING, Any, Final

from fabricbench.backend.protocol import Backend, RefusedError
from fabricbench.plan.engine import SIMULATOR, busiest_link
from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.lifted_bounds import lifted, times_us_of
from fabricbench.runner.session import Session
from fabricbench.runner.unrecorded_trials import UnrecordedTrials
from fabricbench.store import Trial

if TYPE_CHECKING:
    from fabricbench.plan.engine import BusiestLink

SEEDS_MAX: Final = 10_000
PLACEMENTS_MAX: Final = 1_000
_FLOW: Final = "flow"
"""The backend that is fast enough to run trials again with each bound lifted."""


@dataclass(frozen=True)
class Placed:
    """A plan with its jobs in one placement.

    Attributes:
        placement: Number of the placement, from 1; 0 for that of the plan itself.
        loaded: The plan, with a trial for each seed, size and variant.
    """

    placement: int
    loaded: LoadedPlan


@dataclass(frozen=True)
class Drawn:
    """A trial with its random choices.

    Attributes:
        placement: Number of its placement.
        trial: The trial.
        busiest: Link to which the hash assigns most queue pairs; None if the hash does not choose links.
    """

    placement: int
    trial: Trial
    busiest: BusiestLink | None


def placed(loaded: LoadedPlan, placements: int) -> Iterator[Placed]:
    """Yield a plan in each of `placements` random placements, or unchanged if there are none.

    A placement permutes the servers of the fabric, with the same permutation for every job, like a scheduler
    that assigns hosts in any order. Rank r of a job then runs on the server that replaces its own, and with
    rails on the same rail.

    Raises:
        PlanError: A variant or the sweep sets the ranks or the topology itself.
    """
    if not placements:
        yield Placed(0, loaded)
        return
    _check_ranks_are_free(loaded)
    for number in range(1, placements + 1):
        yield Placed(number, loading.reload(loaded, list(_placement_overrides(loaded, number))))


def _check_ranks_are_free(loaded: LoadedPlan) -> None:
    if loaded.plan.fabric.load_balancing.kind == "pinned":
        path = ("fabric", "load_balancing", "kind")
        hint = "leave --placements out, or take another load balancing"
        raise PlanError([document_of(loaded).problem(path, "pinned", "no pins beside --placements", hint)])
    fields = [field for variant in loaded.plan.variants for field in variant.changes]
    swept = [field for trial in loaded.trials[:1] for field, _ in trial.case.axes]
    for section, names in (("variants", fields), ("sweep", swept)):
        conflicts = [name for name in names if name.endswith(".ranks") or name.startswith("fabric.topology")]
        if conflicts:
            message = f"{conflicts[0]}, which placements would set"
            hint = "leave --placements out, or `-s variants=[]`" if section == "variants" else "leave it out"
            problem = document_of(loaded).problem(
                (section,), message, "other fields beside --placements", hint
            )
            raise PlanError([problem])


def _placement_overrides(loaded: LoadedPlan, number: int) -> Iterator[str]:
    """Yield an override for each job that moves its ranks to the hosts, or GPUs, of the placement."""
    spec: Mapping[str, Any] = next(trial for trial in loaded.trials if not trial.is_solo).run_spec
    estimate = next((trial_estimate for trial_estimate in loaded.estimates if trial_estimate), None)
    server = spec["fabric"].get("server")
    width = len(server["adapters_of_gpu"]) if server else int(spec["fabric"]["topology"].get("rails", 1))
    ranks_by_job = [dict.fromkeys(_members(job, width)) for job in spec["jobs"]]
    hosts = 1 + max(rank for job_ranks in ranks_by_job for rank in job_ranks)
    if estimate:
        hosts = estimate["hosts"] * (width if server else 1)
    order = _order(f"{loaded.plan.seed}/placement/{number}", hosts // width)
    for index, ranks in enumerate(ranks_by_job):
        placed_ranks = [order[host // width] * width + host % width for host in ranks]
        yield f"jobs.{index}.ranks={json.dumps(placed_ranks)}"


def _members(job: Mapping[str, Any], gpus: int) -> Iterator[int]:
    """Yield the host of each rank of a job as `ranks` of a plan names it, or its GPU on servers."""
    if "gpus" not in job:
        yield from job["hosts"]
        return
    yield from (host * gpus + gpu for host, gpu in zip(job["hosts"], job["gpus"], strict=True))


def _order(text: str, count: int) -> list[int]:
    """Return a permutation of the numbers below `count`: sorted by SHA-256 of a text and the number."""
    keys = [hashlib.sha256(f"{text}/{number}".encode()).digest() for number in range(count)]
    return sorted(range(count), key=keys.__getitem__)


def drawn(parts: Sequence[tuple[Placed, Sequence[Trial]]]) -> list[Drawn]:
    """Return finished trials with their random choices, without the trials of single jobs.

    The hash does not depend on the data size, so it is computed once for all sizes.
    """
    link_by_case: dict[tuple[object, ...], BusiestLink | None] = {}
    drawn_trials: list[Drawn] = []
    for part, trials in parts:
        planned = {candidate.index: candidate for candidate in part.loaded.trials}
        for trial in trials:
            planned_trial = planned[trial.facts.position]
            if planned_trial.is_solo or not trial.is_finished:
                continue
            key = (
                part.placement,
                planned_trial.variant,
                planned_trial.iteration,
                str(planned_trial.case.axes),
            )
            if key not in link_by_case:
                link_by_case[key] = busiest_link(planned_trial.spec_json)
            drawn_trials.append(Drawn(part.placement, trial, link_by_case[key]))
    return drawn_trials


@dataclass(frozen=True)
class ExpectTrials:
    """Finished trials of `expect`.

    Attributes:
        draws: The trials, with their random choices.
        packets: Trials of the packet simulator that check those of the flow model.
        gains: Gain of the bandwidth by each lifted bound, as a fraction, by the id of the trial: of trials of
            the flow model with the first seed.
        stopped_by: The signal that ended it early; None if all trials ran.
    """

    draws: Sequence[Drawn]
    packets: Sequence[Trial] = ()
    gains: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    stopped_by: Signals | None = None


def run_expect(
    session: Session, loaded: LoadedPlan, backend: Backend, placements: int, *, check: bool
) -> ExpectTrials:
    """Run the trials without a record.

    Args:
        session: Runs them.
        loaded: The plan, with its seeds as iterations.
        backend: Its backend.
        placements: Number of random placements; 0 for that of the plan.
        check: Also simulate packets, for the first seed of each size and variant, if the backend does not.

    Raises:
        PlanError: Placements are not possible, or the simulator cannot run the plan.
    """
    parts: list[tuple[Placed, Sequence[Trial]]] = []
    for part in placed(loaded, placements):
        outcome = session.run(part.loaded, backend, resume=True)
        parts.append((part, outcome.trials))
        if outcome.stopped_by is not None:
            return ExpectTrials(drawn(parts), stopped_by=outcome.stopped_by)
    draws = drawn(parts)
    gains = _gains(*parts[0], backend) if backend.name == _FLOW else {}
    if not check or backend.name == SIMULATOR:
        return ExpectTrials(draws, gains=gains)
    first_seed = loading.reload(parts[0][0].loaded, [f'backend="{SIMULATOR}"', "iterations=1"])
    outcome = session.run(first_seed, resume=True)
    return ExpectTrials(draws, outcome.trials, gains, outcome.stopped_by)


def _gains(part: Placed, trials: Sequence[Trial], backend: Backend) -> dict[str, dict[str, float]]:
    """Return the gains of complete trials of the first seed; see `ExpectTrials.gains`.

    A case that the flow model refuses with a lifted bound has none.
    """
    planned = {candidate.index: candidate for candidate in part.loaded.trials}
    cases: dict[tuple[str, str], dict[int, tuple[PlannedTrial, str]]] = {}
    for trial in trials:
        first = planned[trial.facts.position]
        if trial.status == "complete" and first.iteration == 0 and not first.is_solo:
            sizes = cases.setdefault((first.variant, str(first.case.axes)), {})
            sizes[first.data_size_bytes] = (first, trial.id)
    runs = UnrecordedTrials(backend)
    gains: dict[str, dict[str, float]] = {}
    for sizes in cases.values():
        of_case = [one for one, _ in sizes.values()]
        try:
            times = dict(zip(sizes, times_us_of(runs, of_case), strict=True))
            by_bound = lifted(runs, of_case, times)
        except RefusedError:
            continue
        for size, (_, trial_id) in sizes.items():
            gains[trial_id] = {
                name: lift.before_us[size] / lift.after_us[size] - 1 for name, lift in by_bound.items()
            }
    return gains
