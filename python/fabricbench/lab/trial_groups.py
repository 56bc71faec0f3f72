"""Groups the trials of a plan by lab, excludes those that no lab can run, and chooses the scale of time.

Variants of a plan may have different fabrics. Each fabric is a separate lab, and all trials of one lab run
together, so that no lab is built twice. `fitting_scale` returns the scale, by which a lab's clock is slower,
at which this machine keeps up with all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabricbench.lab.blueprint import RATE_BPS_MIN, Blueprint, blueprint
from fabricbench.lab.errors import LabError
from fabricbench.lab.omissions import Omission
from fabricbench.lab.supported_spec import likeness, obstacle
from fabricbench.plan import engine
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description, Estimate

SCALE_MIN: Final = 1_000
"""At this scale 400 Gb/s become 400 Mb/s, and delays of cables and switches are negligible."""
BATCHES_BPS_PER_CORE: Final = 1_600_000_000
"""Total send rate of all hosts per processor of this machine if frames are batched. Measured: an all-to-all
on eight links of 400 Mb/s takes the predicted time on two otherwise idle cores."""
FRAMES_BPS_PER_CORE: Final = 400_000_000
"""The same if frames are not batched, because ports mark or lose them: the same all-to-all takes 2.2 to 2.6
times the predicted time, so two cores forward at most 1.3 Gb/s or so.
"""
CHUNK_S_MIN: Final = 0.05
"""Minimum time of a chunk: delays of timers and programs, some 0.2 ms a hop, are then below 1 % of it."""
CHUNK_SCALE_MAX: Final = 80_000
"""Largest scale chosen for short chunks, so that defaults stay within the limits of a run spec: shared memory
of 80 Gb/s becomes 1 Mb/s, convergence in 10 ms takes 800 s."""
LAB_S_MAX: Final = 60
"""The scale chosen for short chunks limits the hosts' time to send their data to this."""
AGENTS_PER_CORE: Final = 60
"""Agents that one processor can start in the time limit of a minute: starting Python takes a second each."""


@dataclass(frozen=True)
class LabPart:
    """The trials of one lab.

    Attributes:
        blueprint: The lab.
        trials: The trials, in the order of the plan.
    """

    blueprint: Blueprint
    trials: Sequence[PlannedTrial]


@dataclass(frozen=True)
class Excluded:
    """A trial that no lab can run.

    Attributes:
        trial: The trial.
        reason: The reason, in one line.
    """

    trial: PlannedTrial
    reason: str


@dataclass(frozen=True)
class LabTrials:
    """The trials of a plan, adapted for labs and their twins.

    Attributes:
        trials: Trials that labs can run, without the parts that labs lack.
        excluded: The others.
        omissions: The omitted parts, each with the number of trials that lack it.
    """

    trials: Sequence[PlannedTrial]
    excluded: Sequence[Excluded]
    omissions: Mapping[Omission, int]


def lab_trials(trials: Sequence[PlannedTrial]) -> LabTrials:
    """Adapt the trials of a plan to labs.

    A trial that differs from an earlier one only by parts that labs lack is excluded: it would be the same
    run.
    """
    adapted: list[PlannedTrial] = []
    excluded: list[Excluded] = []
    counts: dict[Omission, int] = {}
    first_by_spec: dict[str, PlannedTrial] = {}
    for trial in trials:
        if reason := obstacle(trial.run_spec):
            excluded.append(Excluded(trial, reason))
            continue
        reduced = likeness(trial.run_spec)
        notes = tuple(
            f"left out, as labs lack it: {omission.field}: {omission.text}" for omission in reduced.omissions
        )
        adapted_trial = replace(trial, run_spec=reduced.run_spec, notes=notes)
        first_trial = first_by_spec.setdefault(adapted_trial.spec_json, trial)
        if first_trial is not trial and first_trial.spec_json != trial.spec_json:
            missing_fields = ", ".join(omission.field for omission in reduced.omissions)
            excluded.append(
                Excluded(trial, f"the same as variant {first_trial.variant} without {missing_fields}")
            )
            continue
        for omission in reduced.omissions:
            counts[omission] = counts.get(omission, 0) + 1
        adapted.append(adapted_trial)
    return LabTrials(adapted, excluded, counts)


def parts(
    name: str, plan: str, trials: Sequence[PlannedTrial], scale: int, *, pinned: bool
) -> tuple[list[LabPart], list[Excluded]]:
    """Return the labs, each with its trials, and the trials whose fabric is not possible in a lab.

    Args:
        name: Name of each lab; one is up at a time.
        plan: Name of the plan.
        trials: The trials.
        scale: Divisor still to be applied to rates.
        pinned: Driver `roce`: queue pairs send from the UDP source ports of the plan, so that their paths can
            be the simulator's, and at the rate of their host's port.
    """
    chunk_bytes = min(map(_chunk_bytes, trials), default=0)
    grouped: dict[str, LabPart] = {}
    excluded: list[Excluded] = []
    for trial in trials:
        try:
            lab = _blueprint(name, plan, trial, scale, chunk_bytes, pinned=pinned)
        except LabError as error:
            excluded.append(Excluded(trial, str(error)))
            continue
        key = lab.model_dump_json()
        lab_part = grouped.get(key, LabPart(lab, ()))
        grouped[key] = replace(lab_part, trials=(*lab_part.trials, trial))
    return list(grouped.values()), excluded


def _chunk_bytes(trial: PlannedTrial) -> int:
    """Return the mean chunk size of a trial, over all rounds; 0 if unknown."""
    return _mean_chunk_bytes(engine.estimate(trial.spec_json))


def _mean_chunk_bytes(estimate: Estimate | None) -> int:
    return estimate["payload_bytes"] // max(1, estimate["chunk_rows"]) if estimate else 0


def _blueprint(
    name: str, plan: str, trial: PlannedTrial, scale: int, chunk_bytes: int, *, pinned: bool
) -> Blueprint:
    description = engine.describe(trial.spec_json)
    hosts, hosts_max = _hosts(description), AGENTS_PER_CORE * _cores()
    if hosts > hosts_max:
        raise LabError(
            f"{hosts:,} hosts; on {_cores()} processors at most {hosts_max:,} agents start in time",
            "make the fabric smaller, as with -s fabric.topology.leaves=2",
        )
    choices = engine.path_choices(trial.spec_json) if pinned else []
    return blueprint(name, plan, trial.run_spec, description, scale, choices, chunk_bytes, paced=pinned)


def _hosts(described: Description) -> int:
    return sum(node["kind"] == "host" for node in described["nodes"])


def fitting_scale(trials: Sequence[PlannedTrial]) -> int:
    """Return the scale at which this machine keeps up with all trials, a multiple of `SCALE_MIN`.

    At this scale it can forward the traffic of their hosts, and chunks are not too short for its timers.
    Trials with too many hosts for this machine are ignored.
    """
    hosts_max = AGENTS_PER_CORE * _cores()
    possible = (trial for trial in trials if _hosts(engine.describe(trial.spec_json)) <= hosts_max)
    return max(map(_fitting_scale, possible), default=SCALE_MIN)


def _fitting_scale(trial: PlannedTrial) -> int:
    sending = {host for job in trial.run_spec["jobs"] for host in job["hosts"]}
    rates_bps = sum(rate for name, rate in _host_rates(trial) if name in sending)
    switch, failures = trial.run_spec["fabric"]["switch"], trial.run_spec["fabric"]["failures"]
    one_by_one = switch["ecn"] is not None or bool(failures)
    per_core = FRAMES_BPS_PER_CORE if one_by_one else BATCHES_BPS_PER_CORE
    budget_bps = per_core * _cores()
    forwarding = -(-rates_bps // (budget_bps * SCALE_MIN))
    return SCALE_MIN * max(1, forwarding, _chunk_scale(trial, rates_bps) // SCALE_MIN)


def _chunk_scale(trial: PlannedTrial, rates_bps: int) -> int:
    """Return the scale at which chunks take `CHUNK_S_MIN`, or hosts `LAB_S_MAX`; 0 if chunks are unknown.

    Args:
        trial: The trial.
        rates_bps: Total send rate of the hosts of its jobs [bit/s].
    """
    estimate = engine.estimate(trial.spec_json)
    chunk_bytes = _mean_chunk_bytes(estimate)
    if estimate is None or chunk_bytes == 0:
        return 0
    slowest_bps = min(link["rate_bps"] for link in engine.describe(trial.spec_json)["links"])
    fastest_bps = max(rate for _, rate in _host_rates(trial))
    chunk_scale = CHUNK_S_MIN * fastest_bps / 8 / chunk_bytes
    time_scale = LAB_S_MAX * rates_bps / 8 / estimate["payload_bytes"]
    return int(min(chunk_scale, time_scale, slowest_bps / RATE_BPS_MIN, CHUNK_SCALE_MAX))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _host_rates(trial: PlannedTrial) -> Iterator[tuple[int, int]]:
    """Yield host number and rate of each host link [bit/s]."""
    description = engine.describe(trial.spec_json)
    numbers = {node["name"]: number for number, node in enumerate(description["nodes"])}
    for link in description["links"]:
        if link["from_ip"] is not None:
            yield numbers[link["from"]], link["rate_bps"]
