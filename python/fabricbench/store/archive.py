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

from sqlalchemy import delete

from fabricbench.store.catalog_schema import FINISHED, trash, trials
from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.inspection import table_problem
from fabricbench.store.schema import TABLES
from fabricbench.store.trial import Trial
from fabricbench.store.workspace import TRIAL_ID, Workspace

VERSION: Final = 1
_ROWS: Final = "trials.json"
_TABLE: Final = re.compile(r"trials/([0-9a-f]{12})/([a-z]+)\.parquet")
_ROWS_BYTES_MAX: Final = 1 << 30
_MADE_AFRESH: Final = {"attempt", "tables"}


def write_archive(workspace: Workspace, chosen: Sequence[Trial], stream: IO[bytes]) -> int:
    """Write finished trials.

    Returns:
        How many bytes their tables have.

    Raises:
        StoreError: A record is damaged, or the catalog cannot be read.
    """
    rows = {row["attempt"]: row for row in _catalog_rows(workspace)}
    content = {
        "version": VERSION,
        "trials": [
            {name: value for name, value in rows[trial.attempt].items() if name not in _MADE_AFRESH}
            for trial in chosen
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


def _catalog_rows(workspace: Workspace) -> list[Mapping[str, Any]]:
    from sqlalchemy import select

    with workspace.database.reading() as connection:
        found = connection.execute(select(trials).where(trials.c.status.in_(FINISHED)))
        return [dict(row._mapping) for row in found]


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
    """Take the trials of an archive into a workspace; those that are there already stay as they are.

    A trial is taken as a whole or not at all.

    Returns:
        The ids of the trials that were taken, and of those that were there.

    Raises:
        StoreError: The file is no such archive, holds something else, or is damaged (the trials before the
            damage are taken); or the workspace cannot be written.
    """
    taken: list[str] = []
    present: list[str] = []
    with _opened(path) as archive:
        rows = _rows(archive, path)
        for trial_id, row in rows.items():
            folder, url = workspace.new_record(trial_id)
            try:
                _extract(archive, path, trial_id, folder)
                (taken if _put_in_place(workspace, row, folder, url) else present).append(trial_id)
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


def _rows(archive: tarfile.TarFile, path: Path) -> dict[str, dict[str, Any]]:
    """Return the catalog rows by the id of the trial, in their order."""
    member = archive.next()
    if member is None or member.name != _ROWS or not member.isreg() or member.size > _ROWS_BYTES_MAX:
        raise _damaged(path, f"it does not begin with {_ROWS}")
    try:
        content = json.loads(_content(archive, member).read())
        version = content["version"]
        rows = [dict(row) for row in content["trials"]]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"{_ROWS} cannot be read: {error}") from error
    if version != VERSION:
        hint = "use the version of fabricbench that wrote it, or a newer one"
        raise StoreError(path, f"version {version}; this fabricbench reads version {VERSION}", hint)
    for row in rows:
        _check_row(row, path)
    return {row["id"]: row for row in rows}


def _check_row(row: Mapping[str, Any], path: Path) -> None:
    """Check that a row fits the catalog."""
    columns = {column.name: column for column in trials.columns if column.name not in _MADE_AFRESH}
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
    is_trial = TRIAL_ID.fullmatch(str(row.get("id"))) and row.get("status") in FINISHED
    if unknown or missing or wrong or not is_trial:
        raise _damaged(path, f"{_ROWS} holds a row that is no finished trial of this version")


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


def _put_in_place(workspace: Workspace, row: Mapping[str, Any], folder: Path, url: str | None) -> bool:
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
    except BaseException:
        swap.undo()
        workspace.remove_records([url])
        raise
    if is_taken:
        swap.discard()
    else:
        workspace.remove_records([url])
    return is_taken
