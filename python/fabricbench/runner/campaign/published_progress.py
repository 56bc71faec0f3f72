"""Writes the progress of a campaign to the workspace, for other processes; refuses a second process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from fabricbench.runner.campaign.progress import Progress
from fabricbench.runner.messages import ClusterError
from fabricbench.store import Workspace
from fabricbench.store.campaigns import CampaignState, campaigns, note_campaign
from fabricbench.store.catalog.schema import COMPLETE, FAILED, INTERRUPTED, RUNNING

_EVERY_S: Final = 1.0
_FRESH_S: Final = 60
"""Age [s] up to which a `running` state written by another machine means that its process is still active."""


@contextmanager
def announced(workspace: Workspace, name: str, trials: int) -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that writes the progress of a campaign to the workspace once a second and at the end.

    Raises:
        ClusterError: Another process is running the campaign.
    """
    previous = next((campaign for campaign in campaigns(workspace.root) if campaign.name == name), None)
    _require_alone(previous)
    latest: list[Progress] = []
    start = Progress(trials, cost_ms=1)
    note_campaign(workspace.root, state_of(name, RUNNING, start))
    written_at = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal written_at
        latest[:] = [progress]
        if time.monotonic() - written_at >= _EVERY_S:
            note_campaign(workspace.root, state_of(name, RUNNING, progress))
            written_at = time.monotonic()

    state = COMPLETE
    try:
        yield report
    except KeyboardInterrupt:
        state = INTERRUPTED
        raise
    except BaseException:
        state = FAILED
        raise
    finally:
        if not latest and previous is not None:  # no progress was made: restore the previous state
            note_campaign(workspace.root, previous)
        else:
            note_campaign(workspace.root, state_of(name, state, latest[0] if latest else start))


def _require_alone(campaign: CampaignState | None) -> None:
    """Check that no other process is running a campaign: both would run every trial."""
    if campaign is None or campaign.state != RUNNING:
        return
    age = timedelta.max
    with suppress(ValueError, TypeError):  # the file was edited by hand
        age = abs(datetime.now(UTC) - datetime.fromisoformat(campaign.noted_at))
    if age < timedelta(seconds=_FRESH_S):
        raise ClusterError(
            f"campaign {campaign.name} is carried out by another process",
            "`--status` tells how far it is; another name lets both run",
        )


def state_of(name: str, state: str, progress: Progress) -> CampaignState:
    """Return the progress of a campaign as a `CampaignState` with the given state."""
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
