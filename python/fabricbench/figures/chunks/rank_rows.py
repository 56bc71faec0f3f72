"""Groups sending ranks into rows of a drawing that has fewer rows than ranks: by switch, or consecutive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from fabricbench.figures.links.layout import natural_key
from fabricbench.words import runs_of

MAX_ROWS = 128
_MIN_RACKS = 8
"""With fewer racks than this, their rows would be too coarse."""
_RANGES_NAMED = 3


class Sender(NamedTuple):
    """A sending rank and the number of its host."""

    job: str
    rank: int
    host: int


@dataclass(frozen=True)
class RankRow:
    """A row.

    Attributes:
        name: Its label, with its ranks.
        senders: Its ranks.
    """

    name: str
    senders: Sequence[Sender]


@dataclass(frozen=True)
class RankRows:
    """Rows from top to bottom, and a description of one row."""

    rows: Sequence[RankRow]
    description: str


def rank_rows(senders: Sequence[Sender], racks: Mapping[int, str]) -> RankRows:
    """Assign every sending rank to one of at most `MAX_ROWS` rows.

    Args:
        senders: The ranks, by job and rank.
        racks: Switch of each host, as far as known.
    """
    has_jobs = len({sender.job for sender in senders}) > 1
    if len(senders) <= MAX_ROWS:
        rows = [RankRow(_name([sender], has_jobs), [sender]) for sender in senders]
        return RankRows(rows, "one sending rank")
    by_rack = _by_rack(senders, racks)
    if _MIN_RACKS <= len(by_rack) <= MAX_ROWS:
        rows = [
            RankRow(f"{rack}: {_name(rack_senders, has_jobs)}", rack_senders)
            for rack, rack_senders in by_rack
        ]
        return RankRows(rows, "the sending ranks below one switch")
    size = -(-len(senders) // MAX_ROWS)
    blocks = [senders[start : start + size] for start in range(0, len(senders), size)]
    rows = [RankRow(_name(block, has_jobs), block) for block in blocks]
    return RankRows(rows, f"{size} sending ranks in their order")


def _by_rack(senders: Sequence[Sender], racks: Mapping[int, str]) -> list[tuple[str, list[Sender]]]:
    """Group ranks by the switch of their host; empty if one host's switch is unknown."""
    if any(sender.host not in racks for sender in senders):
        return []

    def rack_key(sender: Sender) -> tuple[str, list[tuple[int, int | str]]]:
        return sender.job, natural_key(racks[sender.host])

    ordered = sorted(senders, key=rack_key)
    groups = [list(group) for _, group in groupby(ordered, rack_key)]
    return [(racks[group[0].host], group) for group in groups]


def _name(senders: Sequence[Sender], has_jobs: bool) -> str:
    parts = groupby(senders, lambda sender: sender.job)
    names = [(job, ranks_text([sender.rank for sender in part])) for job, part in parts]
    if not has_jobs:
        return names[0][1]
    shown = names if len(names) <= 2 else [names[0], names[-1]]
    return (" … " if len(names) > 2 else ", ").join(f"{job} {ranks}" for job, ranks in shown)


def ranks_text(ranks: Sequence[int]) -> str:
    """Format ascending ranks briefly: `0–31`, or `3, 11 … 1019` with gaps."""
    ranges = [str(first) if first == last else f"{first}–{last}" for first, last in runs_of(ranks)]
    if len(ranges) > _RANGES_NAMED:
        return f"{ranges[0]}, {ranges[1]} … {ranges[-1]}"
    return ", ".join(ranges)
