"""How far the campaigns of a workspace are, for whoever looks while they run: a file for each.

    campaigns/NAME.json

Only the process of the campaign writes it. It decides nothing: the catalog alone tells which trials there
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from fabricbench.store.catalog import now
from fabricbench.store.catalog_schema import COMPLETE, FAILED, INTERRUPTED, RUNNING
from fabricbench.store.process import ProcessIdentity

_FOLDER: Final = "campaigns"
_STATES: Final = (RUNNING, COMPLETE, FAILED, INTERRUPTED)


@dataclass(frozen=True)
class CampaignState:
    """How far a campaign is.

    Attributes:
        name: Its name.
        state: `running`, `complete` (all trials have ended), `failed` or `interrupted`.
        trials: How many trials it has.
        kept: How many had their record before.
        finished: How many have ended with a record since.
        failed: How many have ended without.
        percent: Share of the estimated work that is done [%].
        elapsed_s: Time since it began [s].
        left_s: Time that the rest will take [s]; none if that is not known yet.
        cores: Cores that work on it.
        waits: What does not answer and is waited for; nothing if empty.
        noted_at: When all this was noted, ISO 8601 in UTC.
    """

    name: str
    state: str
    trials: int
    kept: int
    finished: int
    failed: int
    percent: float
    elapsed_s: float
    left_s: float | None
    cores: int
    waits: str = ""
    noted_at: str = ""


def note_campaign(root: Path, campaign: CampaignState) -> None:
    """Note how far a campaign of this process is. Without room for that it goes on all the same."""
    process = ProcessIdentity.current()
    values = asdict(replace(campaign, noted_at=now())) | {"process": asdict(process)}
    target = root / _FOLDER / f"{campaign.name}.json"
    partial = target.with_name(f".{target.name}.{uuid4().hex[:12]}")
    with suppress(OSError):
        target.parent.mkdir(exist_ok=True)
        try:
            partial.write_text(json.dumps(values), encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def campaigns(root: Path) -> list[CampaignState]:
    """Return the campaigns of a workspace, the one of which something was noted last first."""
    return sorted(_readable(root), key=lambda campaign: campaign.noted_at, reverse=True)


def _readable(root: Path) -> Iterator[CampaignState]:
    for path in (root / _FOLDER).glob("[!.]*.json"):
        # What anybody else has put there is not shown.
        with suppress(OSError, ValueError, TypeError, KeyError):
            yield _read(dict(json.loads(path.read_text(encoding="utf-8"))))


def _read(values: dict[str, Any]) -> CampaignState:
    process = ProcessIdentity(**values.pop("process"))
    campaign = CampaignState(**values)
    if campaign.state not in _STATES or not isinstance(campaign.noted_at, str):
        raise ValueError(campaign.state)
    if campaign.state == RUNNING and not process.may_be_alive():
        return replace(campaign, state=INTERRUPTED, left_s=None, waits="")
    return campaign
