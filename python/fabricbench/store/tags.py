"""Tags that users give to trials, beside the one tag of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from fabricbench.store.catalog_schema import tags, trials

if TYPE_CHECKING:
    from fabricbench.store.trial import Trial
    from fabricbench.store.workspace import Workspace


def tags_of(workspace: Workspace, found: Iterable[Trial]) -> Mapping[str, list[str]]:
    """Return the tags of trials by their ids: that of the plan first, then the others by name.

    Raises:
        StoreError: The catalog cannot be read.
    """
    known = {trial.id: [trial.facts.tag] if trial.facts.tag else [] for trial in found}
    query = select(tags).where(tags.c.trial_id.in_(known)).order_by(tags.c.tag)
    with workspace.database.reading() as connection:
        for row in connection.execute(query):
            if row.tag not in known[row.trial_id]:
                known[row.trial_id].append(row.tag)
    return known


def change_tags(
    workspace: Workspace, trial_ids: Iterable[str], *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> None:
    """Give tags to trials and take others away, that of their plan included.

    Raises:
        StoreError: The catalog cannot be written.
    """
    ids, gone, new = list(trial_ids), list(remove), list(dict.fromkeys(add))
    with workspace.database.writing() as connection:
        connection.execute(delete(tags).where(tags.c.trial_id.in_(ids), tags.c.tag.in_([*gone, *new])))
        connection.execute(update(trials).where(trials.c.id.in_(ids), trials.c.tag.in_(gone)).values(tag=""))
        rows = [{"trial_id": trial_id, "tag": tag} for trial_id in ids for tag in new if tag not in gone]
        if rows:
            connection.execute(tags.insert(), rows)
