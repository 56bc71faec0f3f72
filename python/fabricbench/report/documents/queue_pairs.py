"""Builds a table of queue pairs by number: job, ranks, hosts, addresses and UDP port of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricbench.report.documents.table import Column, Row, Table

_TEXTS = ("job", "source host", "target host", "source address", "target address")
_HEADS = (
    "QP", "job", "part", "channel", "source rank", "target rank", "source host", "target host",
    "source address", "target address", "UDP port",
)  # fmt: skip
_COLUMNS = [Column(head, is_text=head in _TEXTS, head=tuple(head.split())) for head in _HEADS]


def queue_pairs_table(pairs: Iterable[Sequence[object]]) -> Table:
    """Return a line for each queue pair.

    Args:
        pairs: Number, job, part, channel, sending and receiving rank, host, address and UDP port of each.
    """
    return Table(_COLUMNS, [Row([str(value) for value in pair]) for pair in pairs])
