"""Deletes trials, first to a trash from which they can be restored, then permanently."""

from __future__ import annotations

import shutil

from fabricbench.store.catalog.memberships import remove_memberships
from fabricbench.store.catalog.rows import TRIAL_ID
from fabricbench.store.catalog.schema import NOT_IN_TRASH, RUNNING
from fabricbench.store.catalog.sql import Connection, Sql, one_of
from fabricbench.store.catalog.trials import now
from fabricbench.store.workspace import Workspace


class TrialRunsError(Exception):
    """A trial that is running cannot be deleted."""


def delete_trial(workspace: Workspace, trial_id: str) -> bool:
    """Move a trial to the trash, whatever its status; its record remains until it is purged.

    Returns:
        Whether there was such a trial.

    Raises:
        TrialRunsError: It is running.
        StoreError: The catalog cannot be written.
    """
    with workspace.database.writing() as connection:
        query = f"SELECT attempt, status FROM trials WHERE id = ? AND {NOT_IN_TRASH}"
        rows = connection.execute(Sql(query, trial_id)).all()
        if any(row.status == RUNNING for row in rows):
            raise TrialRunsError(trial_id)
        deleted_at = now()
        for row in rows:
            values = {"attempt": row.attempt, "trial_id": trial_id, "deleted_at": deleted_at}
            connection.insert("trash", values)
    return bool(rows)


def restore_trial(workspace: Workspace, trial_id: str) -> bool:
    """Restore a trial from the trash; return whether it was there.

    Raises:
        StoreError: The catalog cannot be written.
    """
    with workspace.database.writing() as connection:
        return connection.execute(Sql("DELETE FROM trash WHERE trial_id = ?", trial_id)).rowcount > 0


def purge(workspace: Workspace, before: str) -> list[str]:
    """Remove permanently the trials that were deleted before a time, with their records.

    Args:
        workspace: The workspace.
        before: The time, ISO 8601 in UTC.

    Returns:
        Their ids.

    Raises:
        StoreError: The catalog cannot be written.
    """
    urls: set[str] = set()
    with workspace.database.writing() as connection:
        deleted = connection.execute(Sql("SELECT trial_id FROM trash WHERE deleted_at < ?", before)).scalars()
        ids = sorted({trial_id for trial_id in deleted if TRIAL_ID.fullmatch(str(trial_id))})
        for trial_id in ids:
            urls |= _remove(workspace, connection, trial_id)
    workspace.remove_records(urls)
    return ids


def _remove(workspace: Workspace, connection: Connection, trial_id: str) -> set[str]:
    """Remove the attempts of a trial that are in the trash; return the URLs of their records."""
    deleted = connection.execute(Sql("SELECT attempt FROM trash WHERE trial_id = ?", trial_id)).scalars()
    condition = one_of("attempt", deleted)
    urls = workspace.catalog.remote_records(connection, condition)
    workspace.catalog.remove(connection, condition)
    if not workspace.catalog.has_record(connection, trial_id):
        shutil.rmtree(workspace.records / trial_id, ignore_errors=True)
    if connection.execute(Sql("SELECT attempt FROM trials WHERE id = ?", trial_id)).first() is None:
        connection.execute(Sql("DELETE FROM tags WHERE trial_id = ?", trial_id))
        remove_memberships(connection, trial_id)
    return urls
