"""`expect --cluster`: the expected curves of a cluster without a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from fabricbench import importing
from fabricbench.cli.output import has_colour, note
from fabricbench.plan.cluster import (
    SIZES,
    Cluster,
    collectives_named,
    default_topology,
    option_problem,
)
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.nccl import parse_variables
from fabricbench.report.studies import cluster_curves as report
from fabricbench.runner.cluster_trials import run_cluster


@dataclass(frozen=True)
class ClusterOptions:
    """Options of `expect` that describe a cluster; those that are none were not given."""

    cluster: str | None
    servers: int | None
    topology: str | None
    switch: Path | None
    collectives: Sequence[str] | None
    sizes: str | None
    variables: Sequence[str] | None
    nccl: str | None

    def given(self) -> list[str]:
        """Return the names of the options that were given."""
        names = (
            "--cluster",
            "--servers",
            "--topology",
            "--switch",
            "--collective",
            "--sizes",
            "-x",
            "--nccl",
        )
        values = (
            *(self.cluster, self.servers, self.topology, self.switch),
            *(self.collectives or None, self.sizes, self.variables or None, self.nccl),
        )
        return [name for name, value in zip(names, values, strict=True) if value is not None]


def check_options(
    options: ClusterOptions, plan: str | None, plan_options: Mapping[str, object], *, needs_one: bool = True
) -> None:
    """Check that either a plan or a cluster is given, with options of its own only.

    Args:
        options: Options of a cluster.
        plan: The plan.
        plan_options: Other options that only a plan has; those given are true.
        needs_one: Whether one of the two must be given.

    Raises:
        PlanError: There is none, or both.
    """
    given = [name for name, value in {"PLAN": plan, **plan_options}.items() if value]
    if options.cluster is not None and given:
        raise option_problem(given[0], "it with --cluster", "either a plan with its options or a cluster")
    if options.cluster is None and (names := options.given()):
        raise option_problem(names[0], "no --cluster", "it with --cluster SERVER, such as --cluster dgx-h100")
    if needs_one and options.cluster is None and plan is None:
        raise option_problem("PLAN", "nothing", "a plan, or --cluster SERVER --servers N")


def cluster_of(options: ClusterOptions) -> Cluster:
    """Return the cluster that options describe.

    Raises:
        PlanError: The number of servers is missing, or a variable is not one.
    """
    assert options.cluster is not None, "the caller checks it"
    if options.servers is None:
        raise option_problem("--servers", "nothing", "a number of servers", "such as --servers 64")
    return Cluster(
        options.cluster,
        options.servers,
        options.topology or default_topology(options.cluster, options.servers),
        options.switch,
        options.nccl or NCCL_VERSION,
        parse_variables(options.variables or ()),
    )


def expect_cluster(
    options: ClusterOptions, overrides: Sequence[str], seeds: int, allowance_percent: float
) -> report.ClusterExpectation:
    """Return the expected curves of a cluster.

    Raises:
        PlanError: An option is not allowed.
    """
    cluster = cluster_of(options)
    collectives = collectives_named(options.collectives or ())
    ignored = cluster.check()
    if ignored:
        note(f"ignored, as they change neither graphs nor choices here: {', '.join(ignored)}")
    if cluster.is_sprayed and cluster.nodes > 1:
        note("EFA's SRD is approximated by RoCE whose packets are sprayed, with selective recovery")
    try:
        times = run_cluster(cluster, collectives, options.sizes or SIZES, seeds, overrides)
    except KeyboardInterrupt:
        note("interrupted: nothing of it is stored")
        raise typer.Exit(130) from None
    return report.cluster_expectation(cluster, times, allowance_percent / 100)


def formatted(expectation: report.ClusterExpectation, output: str) -> str:
    """Return the curves in a format of `expect`."""
    match output:
        case "json":
            return report.cluster_json(expectation, importing.PROGRAMS)
        case "csv":
            return report.cluster_csv(expectation)
        case "yaml":
            return report.cluster_yaml(expectation)
        case "nccl":
            return report.cluster_nccl(expectation, importing.PROGRAMS)
        case _:
            return report.cluster_text(expectation, colour=has_colour())
