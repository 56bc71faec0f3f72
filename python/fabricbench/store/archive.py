"""Trials in one file, to be given to others: a tar archive of catalog rows and Parquet tables.

    trials.json                what the catalog says of each trial
    trials/ID/TABLE.parquet    its record

Parquet is compressed already, so the archive is not.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from sqlalchemy import Column, delete, select

from fabricbench.store.catalog_schema import FINISHED, OF_RUN, memberships, trash, trials
from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.inspection import table_problem
from fabricbench.store.memberships import NEWEST_FIRST, add_place, places
from fabricbench.store.schema import TABLES
from fabricbench.store.trial import Trial
from fabricbench.store.workspace import TRIAL_ID, Workspace

VERSION: Final = 1
_ROWS: Final = "trials.json"
_TABLE: Final = re.compile(r"trials/([0-9a-f]{12})/([a-z]+)\.parquet")
_ROWS_BYTES_MAX: Final = 1 << 30
_TRIAL: Final = {column.name: column for column in trials.columns if column.name not in {"attempt", "tables"}}
_MEMBERSHIP: Final = {column.name: column for column in memberships.columns if column.name != "number"}

Row = Mapping[str, Any]


def write_archive(
    workspace: Workspace, chosen: Sequence[Trial], stream: IO[bytes], *, plan: str | None = None
) -> int:
    """Write finished trials.

    Args:
        workspace: Where they are.
        chosen: The trials.
        stream: Takes the archive.
        plan: The plan of whose runs they are told to be a part; all by default.

    Returns:
        How many bytes their tables have.

    Raises:
        StoreError: A record is damaged, or the catalog cannot be read.
    """
    rows = _catalog_rows(workspace, plan)
    content = {
        "version": VERSION,
        "trials": [
            {name: value for name, value in rows[trial.attempt][0].items() if name in _TRIAL}
            for trial in chosen
        ],
        "memberships": [
            {"trial_id": trial.id} | {name: row[name] for name in (*OF_RUN, "placed_at")}
            for trial in chosen
            for row in reversed(rows[trial.attempt][1:])
        ],
    }
    written = 0
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        text = json.dumps(content, indent=1).encode()
        archive.addfile(_member(_ROWS, len(text)), io.BytesIO(text))
        for trial in chosen:
            for table in TABLES:
                written += _add_table(archive, trial, table)
    return written


def _catalog_rows(workspace: Workspace, plan: str | None) -> dict[int, list[Row]]:
    """Return the places of each finished attempt, the newest first."""
    of_plan = [places.c.plan == plan] if plan is not None else []
    query = select(places).where(places.c.status.in_(FINISHED), *of_plan).order_by(NEWEST_FIRST)
    found: dict[int, list[Row]] = {}
    with workspace.database.reading() as connection:
        for row in connection.execute(query):
            found.setdefault(row.attempt, []).append(dict(row._mapping))
    return found


def _add_table(archive: tarfile.TarFile, trial: Trial, table: str) -> int:
    path = trial.tables.path(table)
    problem = table_problem(path, trial.id)
    if problem:
        raise StoreError(path, problem, "`fabricbench workspace repair` puts damaged records aside")
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        archive.addfile(_member(f"trials/{trial.id}/{table}.parquet", size_bytes), file)
    return size_bytes


def _member(name: str, size_bytes: int) -> tarfile.TarInfo:
    """Describe a file without owner and time: the same trials give the same archive."""
    member = tarfile.TarInfo(name)
    member.size = size_bytes
    return member


def read_archive(workspace: Workspace, path: Path) -> tuple[list[str], list[str]]:
    """Take the trials of an archive into a workspace; those that are there already keep their records.

    Those become a part of the runs that the archive names, too. A trial is taken as a whole or not at all.

    Returns:
        The ids of the trials that were taken, and of those that were there.

    Raises:
        StoreError: The file is no such archive, holds something else, or is damaged (the trials before the
            damage are taken); or the workspace cannot be written.
    """
    taken: list[str] = []
    present: list[str] = []
    with _opened(path) as archive:
        rows, earlier = _rows(archive, path)
        for trial_id, row in rows.items():
            folder, url = workspace.new_record(trial_id)
            try:
                _extract(archive, path, trial_id, folder)
                is_taken = _put_in_place(workspace, row, earlier.get(trial_id, []), folder, url)
                (taken if is_taken else present).append(trial_id)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return taken, present


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, mode="r:") as archive:
            yield archive
    except tarfile.TarError as error:
        raise _damaged(path, f"no archive of trials, or a damaged one: {error}") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise StoreError(
            path, f"cannot be read: {error.strerror}", "name a file that export wrote"
        ) from error


def _damaged(path: Path, found: str) -> StoreError:
    return StoreError(path, found, "`fabricbench workspace export` writes such archives")


def _rows(archive: tarfile.TarFile, path: Path) -> tuple[dict[str, Row], dict[str, list[Row]]]:
    """Return the catalog rows by the id of the trial, in their order, and its earlier memberships."""
    member = archive.next()
    if member is None or member.name != _ROWS or not member.isreg() or member.size > _ROWS_BYTES_MAX:
        raise _damaged(path, f"it does not begin with {_ROWS}")
    try:
        content = json.loads(_content(archive, member).read())
        version = content["version"]
        rows = [dict(row) for row in content["trials"]]
        earlier = [dict(row) for row in content.get("memberships", ())]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"{_ROWS} cannot be read: {error}") from error
    if version != VERSION:
        hint = "use the version of fabricbench that wrote it, or a newer one"
        raise StoreError(path, f"version {version}; this fabricbench reads version {VERSION}", hint)
    for row in rows:
        is_trial = TRIAL_ID.fullmatch(str(row.get("id"))) and row.get("status") in FINISHED
        if not is_trial or not _fits(row, _TRIAL):
            raise _damaged(path, f"{_ROWS} holds a row that is no finished trial of this version")
    found: dict[str, list[Row]] = {}
    for row in earlier:
        if not _fits(row, _MEMBERSHIP):
            raise _damaged(path, f"{_ROWS} holds a row that is no membership of a trial of this version")
        found.setdefault(row["trial_id"], []).append(row)
    return {row["id"]: row for row in rows}, found


def _fits(row: Row, columns: Mapping[str, Column[Any]]) -> bool:
    """Tell whether a row fits a table of the catalog."""
    unknown = set(row) - set(columns)
    missing = {name for name, column in columns.items() if name not in row and column.server_default is None}
    wrong = [
        name
        for name, value in row.items()
        if name in columns
        and not (
            isinstance(value, columns[name].type.python_type) or (value is None and columns[name].nullable)
        )
    ]
    return not (unknown or missing or wrong)


def _extract(archive: tarfile.TarFile, path: Path, trial_id: str, folder: Path) -> None:
    """Write the tables of a trial, which come next, and read each once."""
    try:
        folder.mkdir()
    except OSError as error:
        raise write_error(folder, error) from error
    for table in TABLES:
        member = archive.next()
        match = _TABLE.fullmatch(member.name) if member else None
        if member is None or match is None or match.groups() != (trial_id, table) or not member.isreg():
            found = f"{member.name[:80]} in place of" if member else "it ends before"
            raise _damaged(path, f"{found} table {table} of trial {trial_id}")
        target = folder / f"{table}.parquet"
        try:
            with target.open("wb") as file:
                shutil.copyfileobj(_content(archive, member), file)
        except OSError as error:
            raise write_error(target, error) from error
        problem = table_problem(target, trial_id)
        if problem:
            raise _damaged(path, f"trial {trial_id}: {problem}")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a regular file of an archive."""
    file = archive.extractfile(member)
    if file is None:
        raise AssertionError(f"{member.name} is a regular file and has no content")
    return file


def _put_in_place(
    workspace: Workspace, row: Row, earlier: Sequence[Row], folder: Path, url: str | None
) -> bool:
    """Move a record to its place and note it in the catalog, both or neither; false if there is one."""
    swap = workspace.swap(row["id"], folder, url)
    is_taken = False
    try:
        with workspace.database.writing() as connection:
            if workspace.catalog.has_record(connection, row["id"]):
                connection.execute(delete(trash).where(trash.c.trial_id == row["id"]))
            else:
                noted = {**row, "folder": folder.name, "tables": url}
                workspace.catalog.add_finished(connection, noted)
                swap.apply()
                is_taken = True
            for each in [*earlier, {**row, "placed_at": row["ended_at"]}]:
                add_place(connection, row["id"], each)
    except BaseException:
        swap.undo()
        workspace.remove_records([url])
        raise
    if is_taken:
        swap.discard()
    else:
        workspace.remove_records([url])
    return is_taken
