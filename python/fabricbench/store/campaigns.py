"""Writes and reads the progress and the trials of the campaigns of a workspace, in two files each.

    campaigns/NAME.json      its progress
    campaigns/NAME.parquet   its trials, with the fields that differ among them

Only the process of the campaign writes them. They are informative only: the catalog alone defines which
trials exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from fabricbench.store.catalog.process_identity import ProcessIdentity
from fabricbench.store.catalog.schema import COMPLETE, FAILED, INTERRUPTED, RUNNING
from fabricbench.store.catalog.trials import now

if TYPE_CHECKING:
    import pyarrow as pa

_FOLDER: Final = "campaigns"
_ABOUT: Final = ("title", "source", "factors", "metric", "jobs", "alone")
_METADATA: Final = b"campaign"
_COLUMNS: Final = ("trial", "iteration", "seed", "size_bytes")
"""Columns of a campaign's trials other than the factors."""
_STATES: Final = (RUNNING, COMPLETE, FAILED, INTERRUPTED)


@dataclass(frozen=True)
class CampaignState:
    """Progress of a campaign.

    Attributes:
        name: Its name.
        state: `running`, `complete` (all trials have ended), `failed` or `interrupted`.
        trials: Number of trials.
        kept: Number of trials that already had a record.
        finished: Number of trials that have finished with a record since the start.
        failed: Number of trials that have ended without a record.
        percent: Percentage of the estimated work that is done [%].
        elapsed_s: Time since the start [s].
        left_s: Estimated remaining time [s]; None before any trial has ended.
        cores: Number of cores that work on it.
        waits: Description of the service that does not respond; empty if none.
        noted_at: Time of this report, ISO 8601 in UTC.
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
    """The trials of a campaign, as defined by its file when it started.

    Attributes:
        title: One-line description.
        source: The text of its file.
        factors: The levels of each factor.
        metric: Name of the main metric of its jobs.
        jobs: The names of the jobs in its trials.
        alone: Number of additional trials in which one of several jobs runs alone.
        members: A row for each pair of trial and plan, with its factors.
    """

    title: str
    source: str
    factors: Mapping[str, Sequence[str]]
    metric: str
    jobs: Sequence[str]
    alone: int
    members: pa.Table


def note_campaign(root: Path, campaign: CampaignState) -> None:
    """Write the progress of a campaign of this process; errors such as a full disk are ignored."""
    process = ProcessIdentity.current()
    values = asdict(replace(campaign, noted_at=now())) | {"process": asdict(process)}
    _put(root / _FOLDER / f"{campaign.name}.json", json.dumps(values).encode())


def keep_trials(root: Path, name: str, campaign: CampaignTrials) -> None:
    """Write the trials of a campaign of this process; errors such as a full disk are ignored."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = {name: getattr(campaign, name) for name in _ABOUT}
    table = campaign.members.replace_schema_metadata({_METADATA: json.dumps(about)})
    content = pa.BufferOutputStream()
    pq.write_table(table, content)
    _put(root / _FOLDER / f"{name}.parquet", content.getvalue().to_pybytes())


def kept_trials(root: Path, name: str) -> CampaignTrials | None:
    """Return the trials of a campaign; None if they are unknown."""
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
    """Return a stamp that changes whenever the result of `kept_trials` does; None if there is none."""
    with suppress(OSError):
        return (root / _FOLDER / f"{name}.parquet").stat().st_mtime_ns
    return None


def _put(target: Path, content: bytes) -> None:
    """Write a file atomically; errors are ignored."""
    partial = target.with_name(f".{target.name}.{uuid4().hex[:12]}")
    with suppress(OSError):
        target.parent.mkdir(exist_ok=True)
        try:
            partial.write_bytes(content)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def campaigns(root: Path) -> list[CampaignState]:
    """Return the campaigns of a workspace, most recently updated first."""
    return sorted(_readable(root), key=lambda campaign: campaign.noted_at, reverse=True)


def _readable(root: Path) -> Iterator[CampaignState]:
    for path in (root / _FOLDER).glob("[!.]*.json"):
        # Files with other content are ignored.
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
