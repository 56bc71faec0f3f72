"""The commands about plans: `plans`, `plan check` and `plan schema`."""

from __future__ import annotations

import json
from typing import Any

from fabricbench.cli.options import (
    ForceOption,
    FormatOption,
    OverridesOption,
    PlanArgument,
    TimeLimitOption,
    VariantsOption,
)
from fabricbench.cli.output import Format, warn, write
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.loaded_plan import PlanSummary
from fabricbench.plan.schema import plan_schema
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.runner import loading
from fabricbench.runner.loading import TIME_LIMIT_MIN


def plans_command(output: FormatOption = Format.TABLE) -> None:
    """List the shipped plans."""
    plans = {str(path): loading.load(name).summary for name, path in shipped_plans().items()}
    rows = [_row(file, summary) for file, summary in plans.items()]
    write(_list(rows, output))


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


def _row(file: str, summary: PlanSummary) -> dict[str, Any]:
    """Return the row of a plan in the list: its file after its title."""
    return {"name": summary.name, "title": summary.title, "file": file} | vars(summary)


def _list(plans: list[dict[str, Any]], output: Format) -> str:
    """Write a list of plans in a format."""
    if output is Format.JSON:
        return json.dumps({"plans": plans}, indent=2)
    if output is Format.CSV:
        rows = [{**plan, "variants": " ".join(plan["variants"])} for plan in plans]
        return rows_csv(list(plans[0]) if plans else [], rows)
    width = max((len(plan["name"]) for plan in plans), default=0)
    return "\n".join(f"{plan['name']:{width}}  {plan['title']}" for plan in plans)
