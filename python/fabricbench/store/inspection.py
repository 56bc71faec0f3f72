"""Checks all records (result tables) of a workspace; moves unreadable ones and catalog rows to a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fabricbench.store.catalog.rows import RECORD_NAME, TRIAL_ID
from fabricbench.store.catalog.schema import FINISHED, INTERRUPTED, RUNNING
from fabricbench.store.catalog.sql import Sql, one_of
from fabricbench.store.catalog.trial import Trial
from fabricbench.store.catalog.trials import UnreadableRow
from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.record.identity import Identity, excess, opened_table, unreadable
from fabricbench.store.record.location import QUARANTINE_FOLDER, Location, place_and_name
from fabricbench.store.record.schema import TABLES, TRIALS
from fabricbench.store.record.tables import sync
from fabricbench.store.workspace import Workspace

_UNKNOWN = "the catalog does not know this record"


@dataclass(frozen=True)
class Damage:
    """A damaged or unknown record of a workspace.

    Attributes:
        trial_id: The trial.
        found: Description of the problem.
        attempt: Its row in the catalog; None if it is not in the catalog.
        url: URL of its record; None for the folder of the workspace.
    """

    trial_id: str
    found: str
    attempt: int | None
    url: str | None = None


def damages(workspace: Workspace) -> Iterator[Damage]:
    """Read every table of every finished trial, and find records that are not in the catalog.

    Raises:
        StoreError: The catalog cannot be read, or a record store cannot be reached.
    """
    has_folder = workspace.records.is_dir()  # without it, every record is reported as missing
    local_records = {path.name for path in workspace.records.iterdir()} if has_folder else set[str]()
    local_records = {name for name in local_records if TRIAL_ID.fullmatch(name)}
    remote_records = _remote_records(workspace)
    # Folders first, then the catalog in a write transaction: a record may be in the middle of being added.
    finished = _finished(workspace)
    unreadable_ids = {row.trial_id for row in workspace.unreadable()}
    for trial in finished:
        problem = _first_problem(trial)
        if problem:
            yield Damage(trial.id, problem, trial.attempt, trial.tables.url)
    for trial_id in sorted(
        local_records - {trial.id for trial in finished if trial.tables.url is None} - unreadable_ids
    ):
        yield Damage(trial_id, _UNKNOWN, None)
    for url in sorted(remote_records - _known_urls(workspace)):
        match = RECORD_NAME.fullmatch(place_and_name(url)[1])
        if match:
            yield Damage(match[1], _UNKNOWN, None, url)


def _finished(workspace: Workspace) -> list[Trial]:
    """Return the finished trials after every transaction that was moving records."""
    with suppress(StoreError), workspace.database.writing() as connection:
        return workspace.catalog.select(connection, states=FINISHED, deleted=None)
    return workspace.trials(states=FINISHED, deleted=None)


def _remote_records(workspace: Workspace) -> set[str]:
    """Return the URLs of all records at every location that the workspace uses or would use for new ones."""
    locations = {place_and_name(url)[0] for url in _known_urls(workspace)}
    locations |= {workspace.location.url} if workspace.location else set()
    return {f"{location}/{name}" for location in locations for name in Location(location).records()}


def _known_urls(workspace: Workspace) -> set[str]:
    with workspace.database.reading() as connection:
        return workspace.catalog.remote_records(connection, one_of("status", (RUNNING, *FINISHED)))


def _first_problem(trial: Trial) -> str:
    """Return the first problem of a trial's record; empty if all of it can be read."""
    missing = trial.tables.missing(TABLES)
    if missing:
        return f"no table {', '.join(missing)}"
    problems = (_problem(trial, table) for table in trial.tables.kept(TABLES))
    return next((problem for problem in problems if problem), "") or _other_results(trial)


def _other_results(trial: Trial) -> str:
    """Return a message if the results in the catalog differ from the record's; else an empty string."""
    if TRIALS not in identity_of(trial).digests:
        return ""
    with trial.tables.checked(TRIALS) as path, opened_table(path) as file:
        is_equal = file.read().to_pylist() == list(trial.results)
    return "" if is_equal else "the catalog has other results than table trials"


def _problem(trial: Trial, table: str) -> str:
    with trial.tables.checked(table) as path:
        return table_problem(path, table, identity_of(trial))


def identity_of(trial: Trial) -> Identity:
    """Return the identity of the files of a trial's record from the catalog."""
    if trial.tables.identity is None:
        raise AssertionError(f"the record of trial {trial.id} is still being written")
    return trial.tables.identity


def without_digest(workspace: Workspace) -> list[str]:
    """Return the ids of finished trials with a table whose digest is not in the catalog.

    Raises:
        StoreError: The catalog cannot be read.
    """
    finished = workspace.trials(states=FINISHED, deleted=None)
    return [
        trial.id
        for trial in finished
        if not identity_of(trial).digests.keys() >= set(trial.tables.kept(TABLES))
    ]


def table_problem(path: Path, table: str, identity: Identity) -> str:
    """Read a whole table with page checksums; return its problem, or an empty string."""
    try:
        problem = identity.problem(path, table)
        if problem:
            return f"table {table}: {problem}"
        with opened_table(path) as file:
            problem = excess(file, path.stat().st_size)
            if problem:
                return f"table {table}: {problem}"
            for _ in file.iter_batches():
                pass
    except unreadable() as error:
        return f"table {table}: it cannot be read: {' '.join(str(error).split())}"
    return ""


def quarantine(workspace: Workspace, damage: Damage) -> Path | str | None:
    """Move a damaged record to a separate folder and record in the catalog that its trial has none.

    Returns:
        Its new path; None if it no longer existed.

    Raises:
        StoreError: A folder cannot be moved, or the catalog cannot be written.
    """
    new_path = None
    with workspace.database.writing() as connection:
        if damage.attempt is not None:
            message = f"its record was damaged: {damage.found}"
            workspace.catalog.give_up(connection, damage.attempt, INTERRUPTED, message, states=FINISHED)
        elif damage.url is None and workspace.catalog.has_record(connection, damage.trial_id):
            return None
        if damage.url is None:
            new_path = _move(
                workspace.records / damage.trial_id, workspace.root / QUARANTINE_FOLDER / damage.trial_id
            )
    if damage.url is None:
        return new_path
    location, name = place_and_name(damage.url)
    shutil.rmtree(workspace.copies / name, ignore_errors=True)
    return Location(location).quarantine(name)


def take_out(workspace: Workspace, row: UnreadableRow) -> Path:
    """Move an unreadable row from the catalog to a file in the folder `damaged`.

    Returns:
        The file, JSON; values without a JSON form are written as text.

    Raises:
        StoreError: The file cannot be written, or the catalog.
    """
    target = _free_name(workspace.root / QUARANTINE_FOLDER / f"row-{row.attempt}.json")
    with workspace.database.writing() as connection:
        if row.number is None:
            condition = Sql("attempt = ?", row.attempt)
            removed = connection.execute("SELECT * FROM trials WHERE", condition).first()
            workspace.catalog.remove(connection, condition)
        else:
            condition = Sql("number = ?", row.number)
            removed = connection.execute("SELECT * FROM memberships WHERE", condition).first()
            connection.execute("DELETE FROM memberships WHERE", condition)
        if removed is not None:
            _write_row(target, removed.mapping)
    return target


def _write_row(target: Path, values: Mapping[str, object]) -> None:
    try:
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(values, indent=1, default=repr) + "\n")
        sync(target)
    except OSError as error:
        raise write_error(target, error) from error


def _move(record: Path, target_path: Path) -> Path | None:
    if not record.exists():
        return None
    target = _free_name(target_path)
    try:
        target.parent.mkdir(exist_ok=True)
        return Path(shutil.move(record, target))
    except OSError as error:
        raise write_error(target, error) from error


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") for number in range(1, 1_000_000))
    return path if not path.exists() else next(name for name in names if not name.exists())
