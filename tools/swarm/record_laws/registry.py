"""Lists all laws about records; `violations` returns those that a record breaks."""

from __future__ import annotations

from tools.swarm.record import Record, Violation
from tools.swarm.record_laws import bounds, chunks, network, results, run_end, servers, time_series

LAWS = (
    *chunks.LAWS,
    *network.LAWS,
    *time_series.LAWS,
    *results.LAWS,
    *bounds.LAWS,
    *run_end.LAWS,
    *servers.LAWS,
)
"""Functions that yield the violations of a law by a record."""


def violations(record: Record) -> list[Violation]:
    """Return every law that a record breaks, with table, row and figures."""
    return [violation for law in LAWS for violation in law(record)]
