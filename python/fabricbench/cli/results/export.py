"""The command `export`: writes a table, comparison, timeline or port map of a trial (CSV, JSON, Parquet)."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from fabricbench.cli.errors import bad_value
from fabricbench.cli.options import TrialArgument, WorkspaceOption
from fabricbench.cli.results.compare import by_variant
from fabricbench.report.documents.port_map import TABLES, table_of_trial, write_table
from fabricbench.report.output.atomic_files import atomic_file
from fabricbench.report.output.number_selection import ChoiceError, choose
from fabricbench.report.output.perfetto import (
    CHUNKS_MAX,
    Chosen,
    TooManyChunksError,
    has_chunks,
    write_trace_file,
)
from fabricbench.report.output.record_tables import export_comparison, export_table
from fabricbench.store import Workspace
from fabricbench.store.columns import COLUMNS

TableName = StrEnum("TableName", [*COLUMNS, "trials", "comparison", "timeline", "port_map", "queue_pairs"])  # type: ignore[misc]
"""Names of the tables for `--table`."""
_TIMELINE = TableName("timeline")


class FileFormat(StrEnum):
    """File format of a table."""

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
    job: Annotated[
        list[str] | None, typer.Option("--job", metavar="JOB", help="Timeline: of this job; repeatable.")
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option("--ranks", metavar="RANKS", help="Timeline: what these ranks send or receive: 0-7,12."),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a table of a trial's record; docs/records.md explains the columns.

    `comparison` is that of the variants of its run, as `compare --by variant` has it. `timeline` is a trace
    for Perfetto (ui.perfetto.dev) or chrome://tracing: a slice for each chunk of each rank, counters of the
    ports that are sampled; FILE ends in .json or .json.gz. `port_map` has a row for each rank and port,
    `queue_pairs` one for each queue pair with its addresses, source port and destination queue pair.
    """
    import sys

    if table is _TIMELINE:
        write = _timeline_writer(trial, (job or [], ranks), output, target, workspace)
        output = FileFormat.JSON
    elif job or ranks:
        raise typer.BadParameter("--job and --ranks are for --table timeline; filter other tables yourself")
    else:
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
    """Return the format for the ending of a file; CSV for no ending or that of a text file."""
    ending = target.suffix[1:].lower() if target else ""
    if ending in _TEXT_ENDINGS:
        return FileFormat.CSV
    for file_format in FileFormat:
        if file_format.value == ending:
            return file_format
    endings = ", ".join(f".{file_format.value}" for file_format in FileFormat)
    raise typer.BadParameter(
        f"-o {target}: tables are written as {endings}; name it so, or say which by --format"
    )


def _writer(
    trial: str, table: TableName, output: FileFormat, workspace: Path | None
) -> Callable[[IO[bytes]], None]:
    """Return the function that writes a table of a trial to a stream."""
    store = Workspace.open(workspace)
    if table is TableName("comparison"):
        comparison = by_variant(store, [trial], None)
        return lambda stream: export_comparison(comparison, output.value, stream)
    stored = store.find(trial)
    if table.value in TABLES:
        rows = table_of_trial(stored, table.value)
        if rows is None:
            raise typer.BadParameter(f"trial {stored.id} was imported and has no ranks at ports")
        return lambda stream: write_table(rows, output.value, stream)
    tables = stored.tables
    return lambda stream: export_table(tables, table.value, output.value, stream)


def _timeline_writer(
    trial: str,
    chosen: tuple[list[str], str | None],
    output: FileFormat | None,
    target: Path | None,
    workspace: Path | None,
) -> Callable[[IO[bytes]], None]:
    """Return the function that writes the trace of a trial, compressed if the file's name ends in .gz."""
    name = target.name.lower() if target else ".json"
    if output not in {None, FileFormat.JSON} or not name.endswith((".json", ".json.gz")):
        raise typer.BadParameter("a timeline is written as JSON; name the file .json or .json.gz")
    stored_trial = Workspace.open(workspace).find(trial)
    if not has_chunks(stored_trial):
        raise typer.BadParameter(
            f"trial {stored_trial.id} has no rows of chunks: its plan observes a summary alone"
        )
    jobs, ranks = chosen
    job_names = [job["name"] for job in stored_trial.facts.run_spec["jobs"]]
    for job in jobs:
        if job not in job_names:
            raise bad_value("--job", f'"{job}"', ", ".join(job_names))
    rank_count = max((len(job["hosts"]) for job in stored_trial.facts.run_spec["jobs"]), default=0)
    choice = Chosen(frozenset(jobs), frozenset(_ranks_of(ranks, rank_count)))

    def write(stream: IO[bytes]) -> None:
        try:
            write_trace_file(stored_trial, choice, name, stream)
        except TooManyChunksError as error:
            raise typer.BadParameter(
                f"trial {stored_trial.id}: found {error.count:,} chunks; allowed: {CHUNKS_MAX:,} in a trace; "
                "choose some by --ranks 0-7 or --job"
            ) from error

    return write


def _ranks_of(text: str | None, count: int) -> list[int]:
    """Return the ranks of a list such as `0-7,12`; none if there is no list."""
    try:
        return choose(text, count, "rank") if text is not None else []
    except ChoiceError as error:
        raise typer.BadParameter(f"--ranks: {error}") from error
