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
TrialArgument = Annotated[
    str,
    typer.Argument(metavar="TRIAL", help="An id, the beginning of one, or `latest` or `latest~1`."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to write the results.")]
