"""Channels of NCCL over all servers of a job, from table `channels`: bytes, times, rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_KEY: Final = ("job", "algorithm", "protocol", "channel", "gpu", "send_nic", "receive_nic")
_PS_PER_NS: Final = 1000


@dataclass
class ChannelResult:
    """A channel of a job; of messages between ranks, a channel and an adapter of each server.

    Attributes:
        job: Name of the job.
        algorithm: Algorithm of NCCL.
        protocol: Its protocol.
        channel: Number of the channel.
        gpu: GPU nearest to its adapters; none of messages between ranks and on one server.
        send_nic: Adapter through which servers send; none for copies inside servers.
        receive_nic: Adapter through which they receive; none where that is any.
        servers: Number of servers.
        network_bytes: Payload between servers, sum over all.
        scale_up_bytes: The same over scale-up domains.
        start_ps: First byte sent; none if none was.
        completed_ps: Last completion; none if nothing completed.
        last_host: Server with the last completion.
    """

    job: str
    algorithm: str
    protocol: str
    channel: int
    gpu: int | None
    send_nic: int | None
    receive_nic: int | None
    servers: int = 0
    network_bytes: int = 0
    scale_up_bytes: int = 0
    start_ps: int | None = None
    completed_ps: int | None = None
    last_host: int | None = None

    @property
    def server_gb_per_s(self) -> float | None:
        """Mean rate of a server from first byte to last completion [GB/s]; of copies without an adapter."""
        if self.start_ps is None or self.completed_ps is None or self.completed_ps <= self.start_ps:
            return None
        moved_bytes = self.network_bytes if self.send_nic is not None else self.scale_up_bytes
        return moved_bytes / self.servers / ((self.completed_ps - self.start_ps) / _PS_PER_NS)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row of the table: a server."""
        self.servers += 1
        self.network_bytes += row["network_bytes"]
        self.scale_up_bytes += row["scale_up_bytes"]
        if row["start_ps"] is not None and (self.start_ps is None or row["start_ps"] < self.start_ps):
            self.start_ps = row["start_ps"]
        completed_ps = row["completed_ps"]
        if completed_ps is not None and (self.completed_ps is None or completed_ps > self.completed_ps):
            self.completed_ps, self.last_host = completed_ps, row["host"]


def channel_results(channels: Iterable[pa.RecordBatch]) -> list[ChannelResult]:
    """Return the channels of each job, in the order of the table.

    Args:
        channels: Rows of `channels`.
    """
    results: dict[tuple[Any, ...], ChannelResult] = {}
    for batch in channels:
        for row in batch.to_pylist():
            key = tuple(row[name] for name in _KEY)
            results.setdefault(key, ChannelResult(*key)).add(row)
    return list(results.values())
