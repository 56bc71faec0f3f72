"""The command `export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import TrialArgument, WorkspaceOption


class TableName(StrEnum):
    """A table of a trial's record."""

    CHUNKS = "chunks"
    PORTS = "ports"
    PRIORITIES = "priorities"
    LINKS = "links"
    PATHS = "paths"
    REORDERING = "reordering"
    SERIES = "series"
    EVENTS = "events"
    TRIALS = "trials"


class FileFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export_command(
    trial: TrialArgument = "latest",
    table: Annotated[TableName, typer.Option(help="Which table.")] = TableName.CHUNKS,
    output: Annotated[FileFormat, typer.Option("--format", help="How to write it.")] = FileFormat.CSV,
    target: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; standard output by default."),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a table of a trial's record; docs/records.md explains the columns."""
    import sys

    from fabricbench.cli.trials import workspace_trials
    from fabricbench.report.export import export_table
    from fabricbench.report.files import atomic_file

    tables = workspace_trials(workspace, trial)[0].tables
    if target is not None:
        with atomic_file(target) as stream:
            export_table(tables, table.value, output.value, stream)
        return
    if output is FileFormat.PARQUET and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text for a terminal; name a file with -o")
    export_table(tables, table.value, output.value, sys.stdout.buffer)
    sys.stdout.buffer.flush()
