"""Examines one scenario: checks and runs its plan, and checks the records with every law."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.swarm import differences
from tools.swarm.record import Record, Violation, run_trial
from tools.swarm.record_laws.registry import violations

from fabricbench.plan import engine
from fabricbench.plan.errors import PlanError
from fabricbench.runner import loading

if TYPE_CHECKING:
    from fabricbench.plan.expand import PlannedTrial

SLACK_S = 3.0
"""Processor time allowed to each run in addition to `BEYOND`, such as for a busy machine [s]."""
BEYOND = 30
"""Processor time allowed to a run, as a multiple of its estimate, which leaves out losses and pauses."""


@dataclass
class Outcome:
    """Result of a scenario.

    Attributes:
        is_accepted: Whether the plan passed its checks.
        refusal: The error of the checks; empty if it was accepted.
        trials: Number of trials that ran.
        packet_hops: Packet-hops of all trials.
        violations: Broken laws, and unexpected errors.
    """

    is_accepted: bool = False
    refusal: str = ""
    trials: int = 0
    packet_hops: int = 0
    violations: list[Violation] = field(default_factory=list)


def examine(plan: Mapping[str, Any], *, compares: bool = False) -> Outcome:
    """Run a plan and return its violations; exceptions are returned as violations too.

    Args:
        plan: Its fields.
        compares: Also run each trial with other options that must give the same, see `differences`.
    """
    outcome = Outcome()
    try:
        loaded = loading.load_fields(plan)
    except PlanError as error:
        outcome.refusal = str(error)
        outcome.violations += _incomplete_problems(error)
        return outcome
    except Exception as error:  # noqa: BLE001 -- any unexpected error is a violation
        outcome.violations.append(
            _exception_violation("a plan is accepted or refused with an error that says why", error)
        )
        return outcome
    outcome.is_accepted = True
    try:
        _run(plan, loaded.trials, outcome, compares=compares)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 -- a panic of the engine is no Exception
        outcome.violations.append(_exception_violation("a plan that is accepted runs", error))
    return outcome


def _run(
    plan: Mapping[str, Any], trials: Sequence[PlannedTrial], outcome: Outcome, *, compares: bool
) -> None:
    """Run the trials of a plan and check each record with the laws."""
    records = []
    for planned in trials:
        record = run_trial(planned)
        records.append(record)
        outcome.trials += 1
        outcome.packet_hops += record.summary["packet_hops"]
        outcome.violations += violations(record)
        outcome.violations += _time_violations(record, planned.spec_json)
        if compares:
            outcome.violations += differences.violations(planned, record)
    if compares:
        outcome.violations += differences.plan_violations(plan, trials, records)


def _incomplete_problems(error: PlanError) -> Iterator[Violation]:
    """Yield problems without the invalid value or the allowed ones."""
    for problem in error.problems:
        if not problem.found or not problem.allowed:
            yield Violation("a refusal says what was found and what is allowed", str(error))


def _exception_violation(rule: str, error: BaseException) -> Violation:
    frames = traceback.extract_tb(error.__traceback__)
    location = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "nowhere"
    return Violation(rule, f"{type(error).__name__} at {location}: {str(error)[:400]}")


def _time_violations(record: Record, spec_json: str) -> Iterator[Violation]:
    """Yield a run whose processor time far exceeds its estimate."""
    estimate = engine.estimate(spec_json)
    if estimate is None:
        return
    cpu_s, estimated_s = record.summary["cpu_s"], estimate["time_ms"] / 1000
    if cpu_s > SLACK_S + BEYOND * estimated_s:
        yield Violation(
            "a run takes no longer than its estimate",
            f"summary: cpu_s {cpu_s:.1f}, end_ps {record.summary['end_ps']}; estimate: {estimated_s:.3f} s",
        )
