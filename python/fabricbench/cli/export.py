"""The command `export`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from fabricbench.cli.options import TrialArgument, WorkspaceOption
from fabricbench.store.columns import COLUMNS

TableName = StrEnum("TableName", [*COLUMNS, "trials", "comparison"])  # type: ignore[misc]
"""What can be exported."""


class FileFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


_TEXT_ENDINGS = ("", "txt", "text")


def export_command(
    trial: TrialArgument = "latest",
    table: Annotated[
        TableName, typer.Option(metavar="TABLE", help=f"Which table: {', '.join(TableName)}.")
    ] = TableName["chunks"],
    output: Annotated[
        FileFormat | None,
        typer.Option("--format", help="How to write it; by default as FILE ends, or as CSV."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; standard output by default."),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a table of a trial's record; docs/records.md explains the columns.

    `comparison` is that of the variants of its run, as `compare --by variant` has it.
    """
    import sys

    from fabricbench.report.files import atomic_file

    output = output or _format_of(target)
    write = _writer(trial, table, output, workspace)
    if target is not None:
        with atomic_file(target) as stream:
            write(stream)
        return
    if output is FileFormat.PARQUET and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text for a terminal; name a file with -o")
    write(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _format_of(target: Path | None) -> FileFormat:
    """Return the format that the ending of a file names, CSV if it has none or is that of a text."""
    ending = target.suffix[1:].lower() if target else ""
    if ending in _TEXT_ENDINGS:
        return FileFormat.CSV
    for each in FileFormat:
        if each.value == ending:
            return each
    known = ", ".join(f".{each.value}" for each in FileFormat)
    raise typer.BadParameter(
        f"-o {target}: tables are written as {known}; name it so, or say which by --format"
    )


def _writer(
    trial: str, table: TableName, output: FileFormat, workspace: Path | None
) -> Callable[[IO[bytes]], None]:
    """Find what is to be written, and return what writes it."""
    from fabricbench.report.export import export_comparison, export_table
    from fabricbench.store import Workspace

    store = Workspace.open(workspace)
    if table is TableName("comparison"):
        from fabricbench.cli.compare import by_variant

        found = by_variant(store, [trial], None)
        return lambda stream: export_comparison(found, output.value, stream)
    tables = store.find(trial).tables
    return lambda stream: export_table(tables, table.value, output.value, stream)
