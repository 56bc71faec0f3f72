"""All laws about records, and their violations by a record."""

from __future__ import annotations

from tools.swarm import laws_bounds, laws_chunks, laws_ends, laws_network, laws_results, laws_time
from tools.swarm.record import Record, Violation

LAWS = (
    *laws_chunks.LAWS,
    *laws_network.LAWS,
    *laws_time.LAWS,
    *laws_results.LAWS,
    *laws_bounds.LAWS,
    *laws_ends.LAWS,
)
"""Functions that yield the violations of a law by a record."""


def violations(record: Record) -> list[Violation]:
    """Return every law that a record breaks, with table, row and figures."""
    return [violation for law in LAWS for violation in law(record)]
