"""Types for captures: the queue pairs of a trial, its link rates and its IP addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class QueuePair:
    """A queue pair of a trial, or a TCP connection; connections are numbered after the queue pairs.

    Attributes:
        qp: Its number in the run, from 0.
        job: Name of its job.
        part: Index of its part of the data between its ranks.
        channel: Channel (ring) of the algorithm.
        src_rank: Sending rank.
        dst_rank: Receiving rank.
        src_host: Name of the sending host.
        dst_host: Name of the receiving host.
        src_ip: IPv4 address of the requester.
        dst_ip: IPv4 address of the responder.
        udp_source_port: UDP source port of its data; for a TCP connection, its TCP source port.
    """

    qp: int
    job: str
    part: int
    channel: int
    src_rank: int
    dst_rank: int
    src_host: str
    dst_host: str
    src_ip: str
    dst_ip: str
    udp_source_port: int


@dataclass(frozen=True)
class Wiring:
    """Queue pairs, link rates and addresses of a trial, as needed for a capture.

    Attributes:
        queue_pairs: Every queue pair, by number.
        host_rates_bps: Line rate of each host's port [bit/s].
        lids: Name of the host that has each InfiniBand local identifier, a decimal number.
    """

    queue_pairs: Sequence[QueuePair]
    host_rates_bps: dict[str, int]
    lids: dict[str, str]

    @property
    def ip_addresses(self) -> dict[str, str]:
        """Name of the host that has each IPv4 address."""
        sources = {pair.src_ip: pair.src_host for pair in self.queue_pairs}
        return sources | {pair.dst_ip: pair.dst_host for pair in self.queue_pairs}
