"""Telling other processes how far a campaign is, by way of the workspace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fabricbench.store.campaigns import CampaignState, note_campaign
from fabricbench.store.catalog_schema import COMPLETE, FAILED, INTERRUPTED, RUNNING

if TYPE_CHECKING:
    from fabricbench.runner.campaign.drive import Progress
    from fabricbench.store import Workspace

_EVERY_S: Final = 1.0


@contextmanager
def announced(workspace: Workspace, name: str) -> Iterator[Callable[[Progress], None]]:
    """Yield what takes the progress of a campaign, and notes it about once a second and at the end."""
    last: list[Progress] = []
    noted_at = 0.0

    def told(progress: Progress) -> None:
        nonlocal noted_at
        last[:] = [progress]
        if time.monotonic() - noted_at >= _EVERY_S:
            note_campaign(workspace.root, state_of(name, RUNNING, progress))
            noted_at = time.monotonic()

    state = COMPLETE
    try:
        yield told
    except KeyboardInterrupt:
        state = INTERRUPTED
        raise
    except BaseException:
        state = FAILED
        raise
    finally:
        for progress in last:
            note_campaign(workspace.root, state_of(name, state, progress))


def state_of(name: str, state: str, progress: Progress) -> CampaignState:
    """Return how far a campaign is, in one of the states of `CampaignState`."""
    return CampaignState(
        name=name,
        state=state,
        trials=progress.trials,
        kept=progress.kept,
        finished=progress.finished,
        failed=len(progress.failed),
        percent=round(100 * progress.share, 1),
        elapsed_s=round(progress.elapsed_s, 1),
        left_s=None if progress.left_s is None or state != RUNNING else round(progress.left_s, 1),
        cores=progress.cores,
        waits=progress.waits,
    )
