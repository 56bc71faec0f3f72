"""The commands about plans: `plans`, `plan check` and `plan schema`."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fabricbench.plan.load import LoadedPlan

EXIT_USER_ERROR = 2


class ListFormat(StrEnum):
    """How a list is written."""

    TABLE = "table"
    JSON = "json"


def plans_command(
    output: Annotated[ListFormat, typer.Option("--format", help="How to write the list.")] = ListFormat.TABLE,
) -> None:
    """List the shipped plans."""
    from fabricbench.plan.load import load_plan
    from fabricbench.plan.shipped import shipped_plans

    rows = [_plan_row(load_plan(name)) for name in shipped_plans()]
    if output is ListFormat.JSON:
        _write(json.dumps({"plans": rows}, indent=2))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        _write(f"{row['name']:{width}}  {row['title']}")


def plan_check_command(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A shipped plan's name, or a file.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "-s", "--set", metavar="FIELD=VALUE", help="Change a field, such as transport.ack_every=4."
        ),
    ] = None,
) -> None:
    """Check a plan without running it; exit status 2 if it cannot be run."""
    from fabricbench.plan.errors import PlanError
    from fabricbench.plan.load import load_plan
    from fabricbench.units import human_size

    try:
        row = _plan_row(load_plan(plan, overrides or ()))
    except PlanError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_USER_ERROR) from error
    trials = "1 trial" if row["trials"] == 1 else f"{row['trials']} trials"
    smallest, largest = human_size(row["data_size_min_bytes"]), human_size(row["data_size_max_bytes"])
    sizes = smallest if smallest == largest else f"{smallest} to {largest}"
    _write(f"ok: {plan}: {trials}, {row['ranks']} ranks on {row['hosts']} hosts, data size {sizes}")


def plan_schema_command() -> None:
    """Write the JSON Schema of a plan, for editors."""
    from fabricbench.plan.schema import plan_schema

    _write(json.dumps(plan_schema(), indent=2))


def _plan_row(loaded: "LoadedPlan") -> dict[str, Any]:
    """Return what a list says about a plan."""
    sizes = [trial.data_size_bytes for trial in loaded.trials]
    return {
        "name": loaded.plan.name,
        "title": loaded.plan.title,
        "file": str(loaded.path),
        "trials": len(loaded.trials),
        "ranks": sum(len(job["hosts"]) for job in loaded.trials[0].run_spec["jobs"]),
        "hosts": loaded.plan.fabric.topology.host_count,
        "data_size_min_bytes": min(sizes),
        "data_size_max_bytes": max(sizes),
        "published": loaded.plan.published,
    }


def _write(text: str) -> None:
    """Write data to standard output."""
    sys.stdout.write(f"{text}\n")
