"""Reads and changes the tags that users give to trials, in addition to the tag of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabricbench.store.catalog.schema import IS_FINISHED
from fabricbench.store.catalog.sql import one_of
from fabricbench.store.catalog.trial import Trial
from fabricbench.store.workspace import Workspace


def tags_of(workspace: Workspace, trials: Iterable[Trial]) -> Mapping[str, list[str]]:
    """Return the tags of trials by their ids: that of the plan first, then the others by name.

    Raises:
        StoreError: The catalog cannot be read.
    """
    tags = {trial.id: [trial.facts.tag] if trial.facts.tag else [] for trial in trials}
    has_tag = f"AND {IS_FINISHED} AND tag <> ''"
    with workspace.database.reading() as connection:
        rows = [
            *connection.execute("SELECT trial_id, tag FROM tags WHERE", one_of("trial_id", tags)),
            *connection.execute("SELECT id, tag FROM trials WHERE", one_of("id", tags), has_tag),
        ]
    for trial_id, tag in sorted(tuple(row) for row in rows if isinstance(row.tag, str)):
        if tag not in tags[trial_id]:
            tags[trial_id].append(tag)
    return tags


def change_tags(
    workspace: Workspace, trial_ids: Iterable[str], *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> None:
    """Add and remove tags of trials, including those from their plans.

    Raises:
        StoreError: The catalog cannot be written.
    """
    ids, removed, added = list(trial_ids), list(remove), list(dict.fromkeys(add))
    with workspace.database.writing() as connection:
        changed = one_of("tag", [*removed, *added])
        connection.execute("DELETE FROM tags WHERE", one_of("trial_id", ids), "AND", changed)
        for table, trial_id in (("trials", "id"), ("memberships", "trial_id")):
            condition = (one_of(trial_id, ids), "AND", one_of("tag", removed))
            connection.execute(f"UPDATE {table} SET tag = '' WHERE", *condition)
        for row in [
            {"trial_id": tagged_id, "tag": tag} for tagged_id in ids for tag in added if tag not in removed
        ]:
            connection.insert("tags", row)
