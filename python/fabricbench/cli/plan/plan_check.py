"""The commands `plan check` and `plan schema`."""

from __future__ import annotations

import json

from fabricbench.cli.options import (
    ForceOption,
    OverridesOption,
    PlanArgument,
    TimeLimitOption,
    VariantsOption,
)
from fabricbench.cli.output import warn, write
from fabricbench.plan.schema import plan_schema
from fabricbench.runner import loading
from fabricbench.runner.loading import TIME_LIMIT_MIN


def plan_check_command(
    plan: PlanArgument,
    overrides: OverridesOption = None,
    variants: VariantsOption = None,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
) -> None:
    """Check a plan without running it and estimate what it costs; exit status 2 if `run` would refuse it."""
    limits = None if force else loading.machine_limits(time_limit)
    loaded = loading.load(plan, overrides or (), limits, variants or ())
    warn(loaded)
    write(f"ok: {plan}: {loaded.extent}\n{loaded.cost}")


def plan_schema_command() -> None:
    """Write the JSON Schema of a plan, for editors."""
    write(json.dumps(plan_schema(), indent=2))
