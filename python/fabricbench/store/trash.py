"""Deletes trials, first to a trash from which they can be restored, then permanently."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from fabricbench.store.catalog import now
from fabricbench.store.catalog_schema import RUNNING, tags, trash, trials
from fabricbench.store.memberships import forget
from fabricbench.store.rows import TRIAL_ID
from fabricbench.store.sql.statement import delete, insert, select

if TYPE_CHECKING:
    from fabricbench.store.sql.connection import Connection
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
    known = select(trash.c.attempt)
    with workspace.database.writing() as connection:
        query = select(trials.c.attempt, trials.c.status).where(
            trials.c.id == trial_id, ~trials.c.attempt.in_(known)
        )
        found = connection.execute(query).all()
        if any(row.status == RUNNING for row in found):
            raise TrialRunsError(trial_id)
        at = now()
        for row in found:
            values = {"attempt": row.attempt, "trial_id": trial_id, "deleted_at": at}
            connection.execute(insert(trash, values))
    return bool(found)


def restore_trial(workspace: Workspace, trial_id: str) -> bool:
    """Restore a trial from the trash; return whether it was there.

    Raises:
        StoreError: The catalog cannot be written.
    """
    with workspace.database.writing() as connection:
        return connection.execute(delete(trash).where(trash.c.trial_id == trial_id)).rowcount > 0


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
        found = connection.execute(select(trash.c.trial_id).where(trash.c.deleted_at < before)).scalars()
        ids = sorted({trial_id for trial_id in found if TRIAL_ID.fullmatch(str(trial_id))})
        for trial_id in ids:
            urls |= _remove(workspace, connection, trial_id)
    workspace.remove_records(urls)
    return ids


def _remove(workspace: Workspace, connection: Connection, trial_id: str) -> set[str]:
    """Remove the attempts of a trial that are in the trash; return the URLs of their records."""
    deleted = select(trash.c.attempt).where(trash.c.trial_id == trial_id)
    condition = trials.c.attempt.in_(list(connection.execute(deleted).scalars()))
    urls = workspace.catalog.remote_records(connection, condition)
    workspace.catalog.remove(connection, condition)
    if not workspace.catalog.has_record(connection, trial_id):
        shutil.rmtree(workspace.records / trial_id, ignore_errors=True)
    if connection.execute(select(trials.c.attempt).where(trials.c.id == trial_id)).first() is None:
        connection.execute(delete(tags).where(tags.c.trial_id == trial_id))
        forget(connection, trial_id)
    return urls
