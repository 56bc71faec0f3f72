"""The command `new`: writes a plan to start from, of a shipped plan or of a cluster of GPU servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.output import note
from fabricbench.plan.cluster import COLLECTIVES, Cluster, option_problem
from fabricbench.plan.cluster_fabric import LOAD_BALANCERS, TOPOLOGIES
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.templates import cluster_text, copy_text
from fabricbench.report.output.atomic_files import atomic_file, check_writable_target
from fabricbench.runner import loading


def new_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The plan to write.")],
    template: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PLAN",
            autocompletion=completion.plans,
            help="Copy a shipped plan, with its comments; `fabricbench plans` lists them.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="SERVER",
            autocompletion=completion.servers,
            help="A collective on servers with GPUs: a shipped server, such as dgx-h100, or a file of one.",
        ),
    ] = None,
    servers: Annotated[int, typer.Option(metavar="N", help="Servers of the cluster.")] = 2,
    topology: Annotated[
        str, typer.Option(metavar="KIND", help=f"Fabric of the cluster: {', '.join(TOPOLOGIES)}.")
    ] = TOPOLOGIES[0],
    adapters: Annotated[
        int | None,
        typer.Option(metavar="N", help="Adapters of a server that are connected; by default all."),
    ] = None,
    tiers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Tiers of switches; 3: pods of rails, or a fat tree for leaf-spine."),
    ] = None,
    oversubscription: Annotated[int, typer.Option(metavar="N", help="N:1 at the leaves.")] = 1,
    load_balancing: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Load balancing: {', '.join(LOAD_BALANCERS)}.")
    ] = None,
    collective: Annotated[
        str, typer.Option(metavar="NAME", help=f"Collective of the cluster: {', '.join(COLLECTIVES)}.")
    ] = COLLECTIVES[0],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write a plan to start from: a copy of a shipped one, or a collective on a cluster of GPU servers.

    The plan has the name of the file. Exit status: 0; 2 for an error, and nothing is written.
    """
    if (template is None) == (cluster is None):
        found = "neither" if template is None else "both"
        hint = "such as --from jct-alltoall, or --cluster dgx-h100 --servers 64"
        raise option_problem("--from, --cluster", found, "one of them", hint)
    if file.exists() and not force:
        raise option_problem("FILE.yaml", f"{file}, which exists", "a new file", "--force replaces it")
    check_writable_target(file)
    if template is not None:
        text = copy_text(template, file.stem)
    else:
        assert cluster is not None
        shape = Cluster(
            cluster,
            servers,
            topology,
            nics=adapters,
            tiers=tiers,
            oversubscription=oversubscription,
            load_balancing=load_balancing,
        )
        text = cluster_text(shape, collective, file.stem)
    try:
        loaded = loading.load_text(text, str(file))
    except PlanError as error:
        problem = error.problems[0]
        message = f"{problem.found} in the copy of {template or cluster}"
        raise PlanError([Problem(Place(str(file)), "", message, problem.allowed, problem.hint)]) from error
    with atomic_file(file) as stream:
        stream.write(text.encode())
    note(f"wrote {file}: {loaded.extent}\nnext: fabricbench run {file}")
