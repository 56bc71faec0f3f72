"""Exports and imports trials: a tar archive of catalog rows and Parquet tables.

    trials.json                catalog rows of the trials with the digests of their tables, and a digest of
                               all that
    trials/ID/TABLE.parquet    the record of a trial

Parquet is compressed already, so the archive is not. Archives of version 1 have no digests.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from fabricbench.inputs import open_regular
from fabricbench.store.catalog.memberships import ENTRIES, NEWEST_FIRST, add_membership
from fabricbench.store.catalog.rows import RowError, checked_row
from fabricbench.store.catalog.schema import FINISHED, IS_FINISHED, MEMBERSHIP_COLUMNS, OF_RUN, TRIAL_COLUMNS
from fabricbench.store.catalog.sql import Sql, all_of
from fabricbench.store.catalog.trial import IMPORTED, Trial, to_json
from fabricbench.store.columns import SCHEMA_VERSION
from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.inspection import identity_of, table_problem
from fabricbench.store.record.earlier_versions import LATER_TABLES, OF_THE_SIMULATOR, with_later
from fabricbench.store.record.identity import Identity, digest_of, digests_of, opened_table
from fabricbench.store.record.replacement import RecordSwap
from fabricbench.store.record.schema import TABLES, TRIALS, schema_of
from fabricbench.store.record.staging import Staging
from fabricbench.store.record.tables import damaged, sync
from fabricbench.store.record.tar_members import MemberError, Members
from fabricbench.store.workspace import Workspace

VERSION: Final = 3
_VERSIONS: Final = (1, 2, VERSION)
_ROWS: Final = "trials.json"
_TABLE: Final = re.compile(r"trials/([0-9a-f]{12})/([a-z_]+)\.parquet")
_ROWS_BYTES_MAX: Final = 256 << 20
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_TRIAL: Final = TRIAL_COLUMNS.keys() - {"attempt", "tables"}
_MEMBERSHIP: Final = MEMBERSHIP_COLUMNS.keys() - {"number"}

_TEXT_LENGTH_MAX: Final = 80
_LATER_COLUMNS: Final = {"criteria": "[]", "size_kind": "data", "axes": "[]", "digests": None}
"""Columns that rows of earlier versions do not have, with their values."""

Row = Mapping[str, Any]


def write_archive(
    workspace: Workspace, chosen: Sequence[Trial], stream: IO[bytes], *, plan: str | None = None
) -> int:
    """Write finished trials.

    Args:
        workspace: The workspace that has them.
        chosen: The trials.
        stream: Output for the archive.
        plan: The plan whose runs are exported with the trials; all by default.

    Returns:
        Total size of their tables [bytes].

    Raises:
        StoreError: A record is damaged, or the catalog cannot be read.
    """
    rows = _catalog_rows(workspace, plan)
    exported = {
        "trials": [_row_with_digests(trial, rows[trial.attempt][0]) for trial in chosen],
        "memberships": [
            {"trial_id": trial.id} | {name: row[name] for name in (*OF_RUN, "placed_at")}
            for trial in chosen
            for row in reversed(rows[trial.attempt][1:])
        ],
    }
    content = {"version": VERSION, "digest": _digest(exported)} | exported
    written = 0
    # Unlike PAX, the GNU format has every size in a plain header.
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        text = json.dumps(content, indent=1).encode()
        archive.addfile(_member(_ROWS, len(text)), io.BytesIO(text))
        for trial in chosen:
            for table in trial.tables.kept(TABLES):
                written += _add_table(archive, trial, table)
    return written


def _row_with_digests(trial: Trial, row: Row) -> Row:
    """Return the catalog row of a trial, with a digest of every table.

    Raises:
        StoreError: A table is missing or damaged.
    """
    digests = {}
    for table in trial.tables.kept(TABLES):
        path = trial.tables.opened(table)
        try:
            digests[table] = digest_of(path)
        except OSError as error:
            raise damaged(path, f"it cannot be read: {error.strerror}") from error
    columns = {name: value for name, value in row.items() if name in _TRIAL}
    return columns | {"digests": to_json(digests)}


def _digest(exported: Mapping[str, Any]) -> str:
    """Return the digest of the rows in an archive, independent of their layout."""
    text = to_json({name: exported[name] for name in ("trials", "memberships")})
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _catalog_rows(workspace: Workspace, plan: str | None) -> dict[int, list[Row]]:
    """Return the rows of `entries` of each finished attempt, newest first."""
    of_plan = all_of() if plan is None else Sql("plan = ?", plan)
    query = f"SELECT * FROM {ENTRIES} WHERE {IS_FINISHED} AND"
    rows: dict[int, list[Row]] = {}
    with workspace.database.reading() as connection:
        for row in connection.execute(query, of_plan, f"ORDER BY {NEWEST_FIRST}"):
            rows.setdefault(row.attempt, []).append(row.mapping)
    return rows


def _add_table(archive: tarfile.TarFile, trial: Trial, table: str) -> int:
    path = trial.tables.path(table)
    problem = table_problem(path, table, identity_of(trial))
    if problem:
        raise damaged(path, problem)
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        archive.addfile(_member(f"trials/{trial.id}/{table}.parquet", size_bytes), file)
    return size_bytes


def _member(name: str, size_bytes: int) -> tarfile.TarInfo:
    """Return a member without owner and time, so that the same trials give the same archive."""
    member = tarfile.TarInfo(name)
    member.size = size_bytes
    return member


def read_archive(workspace: Workspace, path: Path) -> tuple[list[str], list[str]]:
    """Import all trials of an archive into a workspace, or none.

    Every record is unpacked and checked before any is added. Trials that already exist keep their records,
    which are also added to the runs of the archive.

    Returns:
        The ids of the imported trials, and of those that already existed.

    Raises:
        StoreError: The file is not such an archive, contains something else, or is damaged; or the workspace
            cannot be written.
    """
    with _opened(path) as archive:
        rows, earlier = _rows(archive, path)
        staging = Staging(workspace.database, workspace.records)
        in_doubt = False
        try:
            for trial_id, row in rows.items():
                digests = _extract(archive, path, row, staging.folder / trial_id)
                rows[trial_id] = {**row, "digests": to_json(digests)}
            if not archive.is_at_end():
                raise _damaged(path, "it has more than its trials: something follows the last table")
            imported = _import_all(workspace, staging, rows, earlier)
        except _InDoubtError as error:
            in_doubt = True
            raise error.cause from None
        finally:
            if in_doubt:
                staging.leave()
            else:
                staging.close()
    return imported, [trial_id for trial_id in rows if trial_id not in imported]


class _InDoubtError(Exception):
    """The result of a commit is unknown, and the catalog cannot be read now."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


@contextmanager
def _opened(path: Path) -> Iterator[Members]:
    try:
        with open_regular(path) as file:
            yield Members(file, os.fstat(file.fileno()).st_size)
    except MemberError as error:
        raise _damaged(path, f"no archive of trials, or a damaged one: {error}") from error
    except OSError as error:
        raise StoreError(
            path, f"cannot be read: {error.strerror}", "name a file that export wrote"
        ) from error


def _damaged(path: Path, problem: str) -> StoreError:
    return StoreError(path, problem, "`fabricbench workspace export` writes such archives")


def _rows(archive: Members, path: Path) -> tuple[dict[str, Row], dict[str, list[Row]]]:
    """Return the catalog rows by trial id, in their order, and the earlier memberships of each trial."""
    member = archive.next()
    if member is None or member.name != _ROWS or member.size_bytes > _ROWS_BYTES_MAX:
        raise _damaged(path, f"it does not begin with {_ROWS}")
    try:
        content = json.loads(archive.content(member))
        version = content["version"]
        exported = {name: [dict(row) for row in content.get(name, ())] for name in ("trials", "memberships")}
        is_whole = version == 1 or content.get("digest") == _digest(exported)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, f"{_ROWS} cannot be read: {error}") from error
    if version not in _VERSIONS:
        hint = "use the version of fabricbench that wrote it, or a newer one"
        message = f"version {version!r:.40}; this fabricbench reads versions up to {VERSION}"
        raise StoreError(path, message, hint)
    if not is_whole:
        raise _damaged(path, f"{_ROWS} is damaged: its digest is another")
    for row in exported["trials"]:
        _check(row, _TRIAL, path)
        if row["status"] not in FINISHED or not _has_digests(row, version):
            raise _damaged(path, f"{_ROWS} holds a row that is no finished trial of this version")
    earlier: dict[str, list[Row]] = {}
    for row in exported["memberships"]:
        _check(row, _MEMBERSHIP, path)
        earlier.setdefault(row["trial_id"], []).append(row)
    rows: dict[str, Row] = {row["id"]: row for row in exported["trials"]}
    if len(rows) != len(exported["trials"]):
        raise _damaged(path, f"{_ROWS} names a trial twice")
    if not earlier.keys() <= rows.keys():
        raise _damaged(path, f"{_ROWS} has runs of a trial that it does not have")
    return rows, earlier


def _check(row: dict[str, Any], columns: Set[str], path: Path) -> None:
    """Check a row, and add the columns that earlier versions did not have.

    Raises:
        StoreError: It does not fit its table of the catalog, or has invalid values.
    """
    row |= {name: value for name, value in _LATER_COLUMNS.items() if name in columns and name not in row}
    if columns is _TRIAL:
        row.setdefault("backend_version", row.get("engine_version"))
        imported = row.get("backend") == IMPORTED
        row.setdefault("observed", "{}" if imported else to_json(OF_THE_SIMULATOR))
    if row.keys() != columns:
        differing_columns = ", ".join(sorted(row.keys() ^ columns))[:_TEXT_LENGTH_MAX]
        message = f"a row has columns {differing_columns} too many or too few"
        raise _damaged(path, f"{_ROWS}: no finished trial of this version: {message}")
    try:
        checked_row(row, [name for name in row if name in _TRIAL])
    except RowError as error:
        raise _damaged(path, f"{_ROWS}: no finished trial of this version: {error}") from error
    if any("\0" in value for value in row.values() if isinstance(value, str)):
        raise _damaged(path, f"{_ROWS}: a text has a character 0, which no database takes")


def _has_digests(row: Row, version: int) -> bool:
    """Return whether a row has the digests of all tables; one of version 1 has none."""
    digests = digests_of(row.get("digests"))
    tables = set(TABLES) - LATER_TABLES if version > 1 else set()
    is_whole = tables <= digests.keys() <= (set(TABLES) if version > 1 else tables)
    return is_whole and all(_DIGEST.fullmatch(str(digest)) for digest in digests.values())


def _extract(archive: Members, path: Path, row: Row, folder: Path) -> dict[str, str]:
    """Write the tables of a trial, which are next in the archive, reading each once; return their digests."""
    try:
        folder.mkdir()
        identity = Identity(row["id"], row["backend"], row["run_spec"], digests_of(row.get("digests")))
        tables = [table for table in TABLES if identity.names(table)]
        digests = {table: _extract_table(archive, path, row, folder / f"{table}.parquet") for table in tables}
        sync(folder)
    except OSError as error:
        raise write_error(folder, error) from error
    return digests


def _extract_table(archive: Members, path: Path, row: Row, target: Path) -> str:
    """Write a table, which is next in the archive, reading it once; return its digest."""
    member, trial_id, table = archive.next(), row["id"], target.stem
    match = _TABLE.fullmatch(member.name) if member else None
    if member is None or match is None or match.groups() != (trial_id, table):
        problem_start = f"{member.name[:80]!a} in place of" if member else "it ends before"
        raise _damaged(path, f"{problem_start} table {table} of trial {trial_id}")
    try:
        digest = archive.copy(member, target)
    except OSError as error:
        raise write_error(target, error) from error
    if digests_of(row.get("digests")).get(table, digest) != digest:
        raise _damaged(path, f"trial {trial_id}: table {table} is not what was exported")
    problem = table_problem(target, table, Identity(trial_id, row["backend"], row["run_spec"]))
    problem = problem or _difference(target, table, row)
    if problem:
        raise _damaged(path, f"trial {trial_id}: {problem}")
    return digest


def _difference(path: Path, table: str, row: Row) -> str:
    """Return how a readable table differs from the declarations of its row; empty if it does not."""
    with opened_table(path) as file:
        if table == TRIALS:
            is_equal = file.read().to_pylist() == json.loads(row["results"])
            return "" if is_equal else "table trials has other results than its row"
        if row["record_version"] > SCHEMA_VERSION:
            return ""
        columns = {field.name: field.type for field in with_later(table, file.schema_arrow)}
        declared = {field.name: field.type for field in schema_of(table)}
    differing = sorted(name for name in columns.keys() | declared if columns.get(name) != declared.get(name))
    return (
        f"table {table}: its columns {', '.join(differing)[:_TEXT_LENGTH_MAX]} are not those of a record"
        if differing
        else ""
    )


def _import_all(
    workspace: Workspace, staging: Staging, rows: Mapping[str, Row], earlier: Mapping[str, Sequence[Row]]
) -> list[str]:
    """Move the records and add them to the catalog, all or none; return the ids of the imported trials."""
    urls = {trial_id: workspace.new_record(trial_id)[1] for trial_id in rows}
    staging.note(urls)
    swaps: dict[str, RecordSwap] = {}
    imported: list[str] = []
    is_committing = False
    try:
        for trial_id in _missing(workspace, rows):
            swaps[trial_id] = workspace.swap(trial_id, staging.folder / trial_id, urls[trial_id])
        with workspace.database.writing() as connection:
            for trial_id, row in rows.items():
                runs = [*earlier.get(trial_id, ()), {**row, "placed_at": row["ended_at"]}]
                if trial_id in swaps and not workspace.catalog.has_record(connection, trial_id):
                    workspace.catalog.take(connection, row, staging.folder.name, urls[trial_id])
                    swaps[trial_id].apply()
                    imported.append(trial_id)
                connection.execute(Sql("DELETE FROM trash WHERE trial_id = ?", trial_id))
                for run in runs:
                    add_membership(connection, trial_id, run)
            is_committing = True
    except BaseException as error:
        # An error of the commit itself does not show whether it took effect.
        are_imported = _are_imported(workspace, imported) if is_committing else False
        if are_imported is None:
            raise _InDoubtError(error) from error
        if not are_imported:
            for swap in reversed(swaps.values()):
                swap.undo()
            workspace.remove_records(urls[trial_id] for trial_id in swaps)
            raise
    for trial_id in imported:
        swaps[trial_id].discard()
    workspace.remove_records(urls[trial_id] for trial_id in swaps.keys() - set(imported))
    return imported


def _missing(workspace: Workspace, trial_ids: Iterable[str]) -> list[str]:
    """Return the trials without a record in this workspace."""
    with workspace.database.reading() as connection:
        return [trial_id for trial_id in trial_ids if not workspace.catalog.has_record(connection, trial_id)]


def _are_imported(workspace: Workspace, trial_ids: Sequence[str]) -> bool | None:
    """Check whether the catalog has records of trials; None if it cannot be read."""
    try:
        return not _missing(workspace, trial_ids)
    except StoreError:
        return None
