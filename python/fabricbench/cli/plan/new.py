"""The command `new`: writes a plan to start from, of a shipped plan or of a cluster of GPU servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.output import note, yaml_text
from fabricbench.plan.cluster import COLLECTIVES, TOPOLOGIES, Cluster, option_problem
from fabricbench.plan.document.shipped import find_plan
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.report.output.atomic_files import atomic_file, check_writable_target
from fabricbench.runner import loading
from fabricbench.words import close_match_hint, same_name

_SIZES = ("1MB", "16MB", "256MB", "1GB", "4GB")
"""Data sizes of a plan of a cluster."""


def new_command(
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
        text = _renamed(find_plan(template)[0].read_text(encoding="utf-8"), file.stem)
    else:
        assert cluster is not None
        text = _of_cluster(Cluster(cluster, servers, topology), collective, file.stem)
    try:
        loaded = loading.load_text(text, str(file))
    except PlanError as error:
        problem = error.problems[0]
        message = f"{problem.found} in the copy of {template or cluster}"
        raise PlanError([Problem(Place(str(file)), "", message, problem.allowed, problem.hint)]) from error
    with atomic_file(file) as stream:
        stream.write(text.encode())
    note(f"wrote {file}: {loaded.extent}\nnext: fabricbench run {file}")


def _renamed(text: str, name: str) -> str:
    """Return the text of a plan with another name."""
    return re.sub(r"^name: .*$", f"name: {name}", text, count=1, flags=re.MULTILINE)


def _of_cluster(cluster: Cluster, collective: str, name: str) -> str:
    """Return the text of the plan of a collective on a cluster."""
    same = same_name(collective, COLLECTIVES)
    if same is None:
        hint = close_match_hint(collective, COLLECTIVES)
        raise option_problem("--collective", f'"{collective}"', ", ".join(COLLECTIVES), hint)
    cluster.check()
    title = f"{same} on {cluster.servers} x {Path(cluster.server).stem}"
    cluster_fields = cluster.fields(same, [])
    parts = {key: cluster_fields[key] for key in ("backend", "fabric", "transport")}
    jobs = [{key: value for key, value in job.items() if key != "library"} for job in cluster_fields["jobs"]]
    sweep = {"data_size": list(_SIZES)}
    fields = {"fabricbench": 1, "name": name, "title": title, **parts, "jobs": jobs, "sweep": sweep}
    return (
        f"# {title}, as NCCL {cluster.version} runs it; `backend: sim` simulates packets.\n"
        f"# What it should give: fabricbench expect --cluster {cluster.server} --servers {cluster.servers}\n"
        f"{yaml_text(fields, flow_style=None)}"
    )
