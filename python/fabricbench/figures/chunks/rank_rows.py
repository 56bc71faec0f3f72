"""Which ranks share a row of a drawing that has fewer rows than the run has sending ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from fabricbench.figures.links.layout import natural_key
from fabricbench.words import runs_of

MAX_ROWS = 128
_MIN_RACKS = 8
"""Fewer racks than these would be rows too coarse to tell ranks apart."""
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
        name: What it is called: which ranks it shows.
        senders: Its ranks.
    """

    name: str
    senders: Sequence[Sender]


@dataclass(frozen=True)
class RankRows:
    """Rows from top to bottom, and what one of them is, in words."""

    rows: Sequence[RankRow]
    what: str


def rank_rows(senders: Sequence[Sender], racks: Mapping[int, str]) -> RankRows:
    """Put every sending rank into one of at most `MAX_ROWS` rows.

    Args:
        senders: The ranks, by job and rank.
        racks: Switch that each host is plugged into, as far as known.
    """
    has_jobs = len({sender.job for sender in senders}) > 1
    if len(senders) <= MAX_ROWS:
        rows = [RankRow(_name([sender], has_jobs), [sender]) for sender in senders]
        return RankRows(rows, "one sending rank")
    by_rack = _by_rack(senders, racks)
    if _MIN_RACKS <= len(by_rack) <= MAX_ROWS:
        rows = [RankRow(f"{rack}: {_name(each, has_jobs)}", each) for rack, each in by_rack]
        return RankRows(rows, "the sending ranks below one switch")
    size = -(-len(senders) // MAX_ROWS)
    blocks = [senders[start : start + size] for start in range(0, len(senders), size)]
    rows = [RankRow(_name(each, has_jobs), each) for each in blocks]
    return RankRows(rows, f"{size} sending ranks in their order")


def _by_rack(senders: Sequence[Sender], racks: Mapping[int, str]) -> list[tuple[str, list[Sender]]]:
    """Sort ranks by the switch of their host; none where one host's is not known."""
    if any(sender.host not in racks for sender in senders):
        return []

    def place(sender: Sender) -> tuple[str, list[tuple[int, int | str]]]:
        return sender.job, natural_key(racks[sender.host])

    ordered = sorted(senders, key=place)
    groups = [list(each) for _, each in groupby(ordered, place)]
    return [(racks[each[0].host], each) for each in groups]


def _name(senders: Sequence[Sender], has_jobs: bool) -> str:
    parts = groupby(senders, lambda sender: sender.job)
    names = [(job, ranks_text([sender.rank for sender in each])) for job, each in parts]
    if not has_jobs:
        return names[0][1]
    shown = names if len(names) <= 2 else [names[0], names[-1]]
    return (" … " if len(names) > 2 else ", ").join(f"{job} {ranks}" for job, ranks in shown)


def ranks_text(ranks: Sequence[int]) -> str:
    """Name ranks in rising order in few words: `0–31`, or `3, 11 … 1019` where there are gaps."""
    ranges = [str(first) if first == last else f"{first}–{last}" for first, last in runs_of(ranks)]
    if len(ranges) > _RANGES_NAMED:
        return f"{ranges[0]}, {ranges[1]} … {ranges[-1]}"
    return ", ".join(ranges)
