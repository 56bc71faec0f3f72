"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.output import Format

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
PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A shipped plan's name, or a file.")]
OverridesOption = Annotated[
    list[str] | None,
    typer.Option("-s", "--set", metavar="FIELD=VALUE", help="Change a field, such as transport.ack_every=4."),
]
TrialArgument = Annotated[
    str,
    typer.Argument(metavar="TRIAL", help="An id, the beginning of one, or `latest` or `latest~1`."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write the results.")]
