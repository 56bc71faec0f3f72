"""Tags that users give to trials, in addition to the tag of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fabricbench.store.catalog_schema import FINISHED, memberships, tags, trials
from fabricbench.store.sql.statement import delete, insert, select, update

if TYPE_CHECKING:
    from fabricbench.store.trial import Trial
    from fabricbench.store.workspace import Workspace


def tags_of(workspace: Workspace, found: Iterable[Trial]) -> Mapping[str, list[str]]:
    """Return the tags of trials by their ids: that of the plan first, then the others by name.

    Raises:
        StoreError: The catalog cannot be read.
    """
    known = {trial.id: [trial.facts.tag] if trial.facts.tag else [] for trial in found}
    of_users = select(tags.c.trial_id, tags.c.tag).where(tags.c.trial_id.in_(known))
    last = trials.c.id.in_(known) & trials.c.status.in_(FINISHED) & (trials.c.tag != "")
    with workspace.database.reading() as connection:
        rows = [
            *connection.execute(of_users),
            *connection.execute(select(trials.c.id, trials.c.tag).where(last)),
        ]
    for trial_id, tag in sorted(tuple(row) for row in rows if isinstance(row.tag, str)):
        if tag not in known[trial_id]:
            known[trial_id].append(tag)
    return known


def change_tags(
    workspace: Workspace, trial_ids: Iterable[str], *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> None:
    """Add and remove tags of trials, including those from their plans.

    Raises:
        StoreError: The catalog cannot be written.
    """
    ids, gone, new = list(trial_ids), list(remove), list(dict.fromkeys(add))
    with workspace.database.writing() as connection:
        connection.execute(delete(tags).where(tags.c.trial_id.in_(ids), tags.c.tag.in_([*gone, *new])))
        for table, trial_id in ((trials, trials.c.id), (memberships, memberships.c.trial_id)):
            connection.execute(
                update(table).where(trial_id.in_(ids), table.c.tag.in_(gone)).values({"tag": ""})
            )
        for row in [{"trial_id": each, "tag": tag} for each in ids for tag in new if tag not in gone]:
            connection.execute(insert(tags, row))
