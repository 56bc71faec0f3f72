"""Types of options and arguments that commands share; finds the folder of the certificate authority."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.output import Format, Verbosity, set_quiet
from fabricbench.runner.limits import JOBS_MAX
from fabricbench.store.names import workspace_folder

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        envvar="FABRICBENCH_WORKSPACE",
        show_default="./fabricbench-workspace",
        help="Folder of the trials.",
    ),
]
AuthorityOption = Annotated[
    Path | None,
    typer.Option(
        "--authority",
        metavar="DIR",
        envvar="FABRICBENCH_AUTHORITY",
        show_default="authority/ of the workspace",
        help="Folder of the authority that signs the certificates of agents.",
    ),
]
PlanArgument = Annotated[
    str,
    typer.Argument(metavar="PLAN", autocompletion=completion.plans, help="A shipped plan's name, or a file."),
]
PlanOrClusterArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PLAN",
        autocompletion=completion.plans,
        help="A shipped plan's name, or a file; none with --cluster.",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="SERVER",
        autocompletion=completion.servers,
        help="Without a plan: a shipped server, such as dgx-h100, or a file of one.",
    ),
]
ServersOption = Annotated[int | None, typer.Option(metavar="N", help="Servers of the cluster.")]
TopologyOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Fabric of the cluster: rail-optimised (default), leaf-spine, single-switch, full-mesh.",
    ),
]
OverridesOption = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--set",
        metavar="FIELD=VALUE",
        autocompletion=completion.fields,
        help="Change a field, such as transport.ack_every=4.",
    ),
]
VariantsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--variant", metavar="NAME", help="Only this variant; may be given again. All of them by default."
    ),
]
TrialArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRIAL",
        autocompletion=completion.trials,
        help="An id or its beginning, `latest` or `latest~1`, or a plan for its last trial.",
    ),
]
BeforeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--before",
        metavar="FILE",
        help="The counters of a switch or host at an earlier moment; again for each file of counters.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write the results.")]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Go on though a trial is estimated to be beyond this machine."),
]
TimeLimitOption = Annotated[
    int,
    typer.Option("--time-limit", metavar="MINUTES", min=1, help="Estimated time of one trial at most."),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Change the plan as its `quick` says, for a look in seconds.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Leave out the trials that are complete already.")
]
QuietOption = Annotated[
    bool, typer.Option("-q", "--quiet", help="No progress and no notes; warnings, verdict and errors remain.")
]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Write a line for each trial that starts or ends.")
]
JUnitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE.xml", help="Also write the verdict of each trial as JUnit XML."),
]
FailIncompleteOption = Annotated[
    bool,
    typer.Option("--fail-incomplete", help="Exit with status 3 if a trial is not complete."),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would run and cost, and run nothing.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=JOBS_MAX,
        metavar="N",
        help="Trials at once; as many as cores and memory allow by default.",
    ),
]


def verbosity_of(*, quiet: bool, verbose: bool) -> Verbosity:
    """Return how much a command writes to standard error, and hide remarks if it is quiet."""
    if quiet and verbose:
        raise typer.BadParameter("found --quiet and --verbose; allowed: one of them")
    set_quiet(quiet=quiet)
    return Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.NORMAL


def authority_folder(workspace: Path | None, authority: Path | None) -> Path:
    """Return the folder of the certificate authority: from the option, or `authority/` of the workspace."""
    return authority if authority is not None else workspace_folder(workspace) / "authority"
