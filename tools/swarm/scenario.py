"""One scenario: a plan is checked, run, and its record held to every law."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.swarm import differences
from tools.swarm.laws import violations
from tools.swarm.record import Record, Violation, run_trial

from fabricbench.plan import engine
from fabricbench.plan.errors import PlanError
from fabricbench.runner import loading

if TYPE_CHECKING:
    from fabricbench.plan.expand import PlannedTrial

SLACK_S = 3.0
"""What a run may take beyond its estimate, and a run on a busy machine anyway."""
BEYOND = 30
"""So many times its estimate a run may take besides: losses and pauses are not in it."""


@dataclass
class Outcome:
    """What came of a scenario.

    Attributes:
        is_accepted: Whether the checks of the plan let it run.
        refusal: What they had against it; empty if it was accepted.
        trials: How many trials ran.
        packet_hops: Of all of them.
        violations: What was wrong.
    """

    is_accepted: bool = False
    refusal: str = ""
    trials: int = 0
    packet_hops: int = 0
    violations: list[Violation] = field(default_factory=list)


def examine(plan: Mapping[str, Any], *, compares: bool = False) -> Outcome:
    """Run a plan and return what is wrong with it; nothing that it does comes out as an exception.

    Args:
        plan: Its fields.
        compares: Also run each trial in other ways that have to give the same, see `differences`.
    """
    outcome = Outcome()
    try:
        loaded = loading.load_fields(plan)
    except PlanError as error:
        outcome.refusal = str(error)
        outcome.violations += _improper(error)
        return outcome
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is what we look for
        outcome.violations.append(_raised("a plan is accepted or refused with an error that says why", error))
        return outcome
    outcome.is_accepted = True
    try:
        _run(plan, loaded.trials, outcome, compares=compares)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 -- a panic of the engine is no Exception
        outcome.violations.append(_raised("a plan that is accepted runs", error))
    return outcome


def _run(
    plan: Mapping[str, Any], trials: Sequence[PlannedTrial], outcome: Outcome, *, compares: bool
) -> None:
    """Run the trials of a plan and hold each record to the laws."""
    records = []
    for planned in trials:
        record = run_trial(planned)
        records.append(record)
        outcome.trials += 1
        outcome.packet_hops += record.summary["packet_hops"]
        outcome.violations += violations(record)
        outcome.violations += _slow(record, planned.spec_json)
        if compares:
            outcome.violations += differences.violations(planned, record)
    if compares:
        outcome.violations += differences.plan_violations(plan, trials, records)


def _improper(error: PlanError) -> Iterator[Violation]:
    """Yield problems that do not say what was found where, and what is allowed."""
    for problem in error.problems:
        if not problem.found or not problem.allowed:
            yield Violation("a refusal says what was found and what is allowed", str(error))


def _raised(rule: str, error: BaseException) -> Violation:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "nowhere"
    return Violation(rule, f"{type(error).__name__} at {place}: {str(error)[:400]}")


def _slow(record: Record, spec_json: str) -> Iterator[Violation]:
    """Yield a run that took far longer than was told before it."""
    told = engine.estimate(spec_json)
    if told is None:
        return
    taken_s, told_s = record.summary["cpu_s"], told["time_ms"] / 1000
    if taken_s > SLACK_S + BEYOND * told_s:
        yield Violation(
            "a run takes no longer than its estimate",
            f"summary: cpu_s {taken_s:.1f}, end_ps {record.summary['end_ps']}; estimate: {told_s:.3f} s",
        )
