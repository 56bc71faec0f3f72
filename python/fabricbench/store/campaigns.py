"""How far the campaigns of a workspace are, and which trials each has, for whoever looks: two files for each.

    campaigns/NAME.json      how far it is
    campaigns/NAME.parquet   its trials, with what differs among them

Only the process of the campaign writes them. They decide nothing: the catalog alone tells which trials there
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from fabricbench.store.catalog import now
from fabricbench.store.catalog_schema import COMPLETE, FAILED, INTERRUPTED, RUNNING
from fabricbench.store.process import ProcessIdentity

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER: Final = "campaigns"
_ABOUT: Final = ("title", "source", "factors", "metric", "jobs", "alone")
_METADATA: Final = b"campaign"
_COLUMNS: Final = ("trial", "iteration", "seed", "size_bytes")
"""What a trial of a campaign has beside its factors."""
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


@dataclass(frozen=True)
class CampaignTrials:
    """The trials that a campaign has, as its file said when it began.

    Attributes:
        title: One line about it.
        source: The text of its file.
        factors: The levels of each factor.
        metric: Name of the metric that says most about its jobs.
        jobs: The names of the jobs that trials have.
        alone: How many more trials run one job of several alone.
        members: A row for each trial and plan that it is part of, with its factors.
    """

    title: str
    source: str
    factors: Mapping[str, Sequence[str]]
    metric: str
    jobs: Sequence[str]
    alone: int
    members: pa.Table


def note_campaign(root: Path, campaign: CampaignState) -> None:
    """Note how far a campaign of this process is. Without room for that it goes on all the same."""
    process = ProcessIdentity.current()
    values = asdict(replace(campaign, noted_at=now())) | {"process": asdict(process)}
    _put(root / _FOLDER / f"{campaign.name}.json", json.dumps(values).encode())


def keep_trials(root: Path, name: str, campaign: CampaignTrials) -> None:
    """Keep which trials a campaign of this process has. Without room for that it goes on all the same."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = {name: getattr(campaign, name) for name in _ABOUT}
    table = campaign.members.replace_schema_metadata({_METADATA: json.dumps(about)})
    content = pa.BufferOutputStream()
    pq.write_table(table, content)
    _put(root / _FOLDER / f"{name}.parquet", content.getvalue().to_pybytes())


def kept_trials(root: Path, name: str) -> CampaignTrials | None:
    """Return which trials a campaign has; none where that is not known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        table = pq.read_table(root / _FOLDER / f"{name}.parquet")
        about = json.loads((table.schema.metadata or {})[_METADATA])
        members = table.replace_schema_metadata(None)
        if {*_COLUMNS, *about["factors"]} == set(members.column_names):
            return CampaignTrials(members=members, **about)
    return None


def trials_stamp(root: Path, name: str) -> int | None:
    """Return what changes with what `kept_trials` returns; none where there is nothing."""
    with suppress(OSError):
        return (root / _FOLDER / f"{name}.parquet").stat().st_mtime_ns
    return None


def _put(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    partial = target.with_name(f".{target.name}.{uuid4().hex[:12]}")
    with suppress(OSError):
        target.parent.mkdir(exist_ok=True)
        try:
            partial.write_bytes(content)
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
