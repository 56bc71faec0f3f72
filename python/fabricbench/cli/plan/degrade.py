"""The command `degrade`: what jobs lose by a degraded adapter, link or switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import (
    ClusterOption,
    OverridesOption,
    PlanOrClusterArgument,
    ServersOption,
    TopologyOption,
)
from fabricbench.cli.output import Format, has_colour, note, warn, write
from fabricbench.plan.cluster import Cluster, collectives_named, option_problem
from fabricbench.plan.cluster_fabric import TOPOLOGIES
from fabricbench.plan.degradation import State
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.html.degradation_page import write_degradation_page
from fabricbench.report.output.atomic_files import check_writable_target
from fabricbench.report.studies import degradation as report
from fabricbench.runner import loading
from fabricbench.runner.degraded_trials import degradable, of_cluster, run_degraded, with_collectives
from fabricbench.words import close_match_hint, same_name

_SIZE = "1GB"


def degrade_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plan: PlanOrClusterArgument = None,
    cluster: ClusterOption = None,
    servers: ServersOption = None,
    topology: TopologyOption = None,
    collectives: Annotated[
        list[str] | None,
        typer.Option(
            "--collective",
            metavar="NAME",
            help="Collectives instead of those of the jobs, with commas or given again; all-reduce with "
            "--cluster.",
        ),
    ] = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="half-rate, loss or down; may be given again. All of them by default.",
        ),
    ] = None,
    overrides: OverridesOption = None,
    page: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write a page with maps of the fabric."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to write the results.")] = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Compute what jobs lose by one adapter, link or switch at half rate, with 1e-4 loss, or down.

    Of a plan with several variants or sizes it takes the first variant and its largest size. Elements with
    equal loads are run once, and a second one checks it. No trial is stored.

    Exit status: 0; 2 for an error in the plan or an option; 130 when stopped by Ctrl-C.
    """
    chosen = _states(states or [])
    names = [name for text in collectives or [] for name in text.split(",") if name]
    if page is not None:
        check_writable_target(page)
    if cluster is None:
        _check_no_cluster_options({"--servers": servers, "--topology": topology})
        plans = _plans_of_file(plan, names, overrides or [])
    else:
        if plan is not None:
            raise option_problem("PLAN", "it with --cluster", "either a plan or a cluster")
        plans = _plans_of_cluster(cluster, servers, topology, names, overrides or [])
    trials = [degradable(each) for each in plans.values()]
    try:
        results = run_degraded(trials, chosen)
    except KeyboardInterrupt:
        note("interrupted: nothing of it is stored")
        raise typer.Exit(130) from None
    name = next(iter(plans.values())).plan.name
    degradation = report.degradation_of(name, results, list(plans), [trial.run_spec for trial in trials])
    if page is not None:
        write_degradation_page(degradation, page)
        note(f"wrote {page}")
    write(_formatted(degradation, Format.JSON if as_json else output))


def _formatted(degradation: report.Degradation, output: Format) -> str:
    match output:
        case Format.JSON:
            return report.degradation_json(degradation)
        case Format.CSV:
            return report.degradation_csv(degradation)
        case Format.TABLE:
            return report.degradation_text(degradation, colour=has_colour())


def _check_no_cluster_options(options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise option_problem(option, "no --cluster", "it with --cluster SERVER")


def _plans_of_file(
    plan: str | None, collectives: Sequence[str], overrides: Sequence[str]
) -> dict[str, LoadedPlan]:
    if plan is None:
        raise option_problem("PLAN", "nothing", "a plan, or --cluster SERVER --servers N")
    loaded = loading.load(plan, overrides)
    loading.check_no_search(loaded, "degrade")
    warn(loaded)
    return with_collectives(loaded, collectives)


def _states(names: Sequence[str]) -> list[State]:
    """Return the states of some names; all of them without a name."""
    by_name = {state.name.lower().replace("_", "-"): state for state in State}
    found = []
    for name in names:
        known = same_name(name, by_name)
        if known is None:
            hint = close_match_hint(name, by_name)
            raise option_problem("--state", f'"{name}"', ", ".join(by_name), hint)
        found.append(by_name[known])
    return list(dict.fromkeys(found)) or list(State)


def _plans_of_cluster(
    server: str,
    servers: int | None,
    topology: str | None,
    collectives: Sequence[str],
    overrides: Sequence[str],
) -> dict[str, LoadedPlan]:
    if servers is None:
        raise option_problem("--servers", "nothing", "a number of servers", "such as --servers 64")
    cluster = Cluster(server, servers, topology or TOPOLOGIES[0])
    cluster.check()
    names = collectives_named(collectives or ["all-reduce"])
    return of_cluster(cluster, names, _SIZE, overrides)
