"""Looking at every record of a workspace, and putting aside what cannot be read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fabricbench.store.catalog_schema import FINISHED, INTERRUPTED
from fabricbench.store.errors import write_error
from fabricbench.store.schema import TABLES
from fabricbench.store.trial import Trial
from fabricbench.store.workspace import TRIAL_ID, Workspace

ASIDE = "damaged"
"""Folder of a workspace in which repairing puts what cannot be used, rather than removing it."""


@dataclass(frozen=True)
class Damage:
    """Something in a workspace that cannot be used.

    Attributes:
        trial_id: The trial.
        found: What is wrong with its record.
        attempt: Its row in the catalog; none if the catalog does not know it.
    """

    trial_id: str
    found: str
    attempt: int | None


def damages(workspace: Workspace) -> Iterator[Damage]:
    """Read every table of every finished trial, and look for records that the catalog does not know.

    Raises:
        StoreError: The catalog cannot be read.
    """
    known = workspace.trials(states=FINISHED, deleted=None)
    for trial in known:
        found = _first_problem(trial)
        if found:
            yield Damage(trial.id, found, trial.attempt)
    ids = {trial.id for trial in known}
    for folder in sorted(workspace.records.iterdir()):
        if TRIAL_ID.fullmatch(folder.name) and folder.name not in ids:
            yield Damage(folder.name, "the catalog does not know this record", None)


def _first_problem(trial: Trial) -> str:
    """Say what is wrong with the record of a trial; nothing if all of it can be read."""
    missing = trial.tables.missing(TABLES)
    if missing:
        return f"no table {', '.join(missing)}"
    problems = (table_problem(trial.tables.path(table), trial.id) for table in TABLES)
    return next((problem for problem in problems if problem), "")


def table_problem(path: Path, trial_id: str) -> str:
    """Read a table whole, page checksums and all; say what is wrong with it, or nothing."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            metadata = file.schema_arrow.metadata or {}
            owner = metadata.get(b"fabricbench.trial", b"").decode(errors="replace")
            if owner != trial_id:
                return f"table {path.stem} is of trial {owner or 'nobody'}"
            for _ in file.iter_batches():
                pass
    except (OSError, pa.ArrowException) as error:
        return f"table {path.stem} cannot be read: {' '.join(str(error).split())}"
    return ""


def put_aside(workspace: Workspace, damage: Damage) -> Path | None:
    """Move a damaged record out of the way and note in the catalog that its trial has none.

    Returns:
        Where it is now; none if it had gone altogether.

    Raises:
        StoreError: A folder cannot be moved, or the catalog cannot be written.
    """
    record = workspace.records / damage.trial_id
    target = _free_name(workspace.root / ASIDE / damage.trial_id)
    moved = None
    with workspace.database.writing() as connection:
        if damage.attempt is not None:
            message = f"its record was damaged: {damage.found}"
            workspace.catalog.give_up(connection, damage.attempt, INTERRUPTED, message)
        if record.exists():
            try:
                target.parent.mkdir(exist_ok=True)
                moved = Path(shutil.move(record, target))
            except OSError as error:
                raise write_error(target, error) from error
    return moved


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") for number in range(1, 1_000_000))
    return path if not path.exists() else next(name for name in names if not name.exists())
