"""Sums a job's chunks to its rate on the wire, frame loss, and the slowest and fastest sender's fraction.

A chunk is the part of a collective's data that one rank sends to another in one transfer. Also the time out
of service that follows from losses of traffic at a constant rate, and the overhead of a frame on a link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from fabricbench.analysis.record import arrow_kernels
from fabricbench.analysis.record.percentiles import measured_total, sum_of, total

COLUMNS: Final = ("src_rank", "start_ps", "delivered_ps", "tx_frames", "rx_bytes")
"""Columns of `chunks` that are read in addition to those of every summary."""
_LINK_OVERHEAD_BYTES: Final = {"ethernet": 20, "infiniband": 2}
_PS_PER_S: Final = 1e12
_BITS_PER_GB: Final = 8e-9
_US_PER_S: Final = 1e6
_FEW_SENDERS: Final = 8
_DIGITS: Final = 9


@dataclass
class _Sender:
    """Delivered data of one sending rank, with first start and last delivery."""

    payload_bytes: int = 0
    first_ps: int | None = None
    last_ps: int | None = None

    def add(self, payload_bytes: int, first_ps: int | None, last_ps: int | None) -> None:
        self.payload_bytes += payload_bytes
        self.first_ps = min_of(self.first_ps, first_ps)
        self.last_ps = max_of(self.last_ps, last_ps)

    def rate(self, until_ps: int) -> float:
        """Return its rate [bytes/ps]; for open-loop traffic its payload, as all send for the same time."""
        if until_ps:
            return float(self.payload_bytes)
        spent = self.last_ps - self.first_ps if self.first_ps is not None and self.last_ps is not None else 0
        return self.payload_bytes / spent if spent else 0.0


@dataclass
class WireFacts:
    """Sums over all chunks of a job.

    Attributes:
        until_ps: End of the offer of open-loop traffic; 0 for other jobs.
        senders: Delivered data of each rank; none if not every chunk has a row.
        lost_bytes: Payload of each sending rank that was never delivered.
    """

    until_ps: int = 0
    tx_frames: int | None = 0
    rx_bytes: int | None = 0
    first_ps: int | None = None
    last_ps: int | None = None
    senders: dict[int, _Sender] | None = field(default_factory=dict)
    lost_bytes: Counter[int] = field(default_factory=Counter)

    def add(self, rows: pa.RecordBatch) -> None:
        """Add some rows of the job."""
        starts, ends = rows.column("start_ps"), rows.column("delivered_ps")
        self.tx_frames = sum_of(self.tx_frames, measured_total(rows.column("tx_frames")))
        self.rx_bytes = sum_of(self.rx_bytes, measured_total(rows.column("rx_bytes")))
        self.first_ps = min_of(self.first_ps, arrow_kernels.least(starts).as_py())
        self.last_ps = max_of(self.last_ps, arrow_kernels.largest(ends).as_py())
        arrived = arrow_kernels.is_valid(ends)
        if self.until_ps:
            lost = arrow_kernels.filtered(
                rows.select(["src_rank", "payload_bytes"]), arrow_kernels.is_null(ends)
            )
            for sender, payload_bytes in zip(*(column.to_pylist() for column in lost.columns), strict=True):
                self.lost_bytes[sender] += payload_bytes
            arrived = arrow_kernels.coalesce(arrow_kernels.less_equal(ends, self.until_ps), False)
        columns = rows.select(["src_rank", "payload_bytes", "start_ps", "delivered_ps"])
        for sender, payload_bytes, first_ps, last_ps in _by_sender(arrow_kernels.filtered(columns, arrived)):
            if self.senders is not None:
                self.senders.setdefault(sender, _Sender()).add(payload_bytes, first_ps, last_ps)

    def out_of_service_us(self, rate_bps: int) -> float | None:
        """Return the time in which a rank offers the largest loss of any rank, all at one rate [us]."""
        if self.senders is None:
            return None
        return 8 * max(self.lost_bytes.values(), default=0) / rate_bps * _US_PER_S

    def add_step(self, row: Mapping[str, Any]) -> None:
        """Add the counts of the chunks of a step."""
        self.senders = None
        self.tx_frames = sum_of(self.tx_frames, row["tx_frames"])
        self.rx_bytes = sum_of(self.rx_bytes, row["rx_bytes"])
        self.first_ps = min_of(self.first_ps, row["start_ps"])
        self.last_ps = max_of(self.last_ps, row["delivered_ps"])

    def metrics(self, run_spec: Mapping[str, Any], rx_frames: int | None, late: int) -> dict[str, Any]:
        """Return wire rate, loss and sender fractions; without those that could not be measured.

        Args:
            run_spec: The RunSpec.
            rx_frames: Frames of its chunks that arrived, without late ones.
            late: Frames that arrived after their chunk had been delivered.
        """
        return {**self._wire(run_spec, rx_frames), **self._loss(rx_frames, late), **self._shares()}

    def _wire(self, run_spec: Mapping[str, Any], rx_frames: int | None) -> dict[str, float]:
        if self.rx_bytes is None or rx_frames is None or self.first_ps is None or self.last_ps is None:
            return {}
        wire_bytes = self.rx_bytes + rx_frames * link_overhead_bytes(run_spec)
        seconds = (self.last_ps - self.first_ps) / _PS_PER_S
        return {"wire_gbps": wire_bytes / seconds * _BITS_PER_GB} if seconds > 0 else {}

    def _loss(self, rx_frames: int | None, late: int) -> dict[str, float]:
        if not self.tx_frames or rx_frames is None:
            return {}
        lost = self.tx_frames - rx_frames - late
        lost = max(0, lost)
        return {"loss_percent": round(100 * lost / self.tx_frames, _DIGITS), "data_frames_lost": lost}

    def _shares(self) -> dict[str, float]:
        rates = [sender.rate(self.until_ps) for sender in (self.senders or {}).values()]
        if not rates or not (whole := sum(rates)):
            return {}
        names = {"min": min(rates), "max": max(rates)}
        return {
            f"sender_share_percent_{name}": round(100 * rate / whole, _DIGITS) for name, rate in names.items()
        }


def _by_sender(rows: pa.RecordBatch) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Yield each sending rank with its payload, its first start and its last delivery."""
    senders = arrow_kernels.unique(rows.column("src_rank")).to_pylist()
    if len(senders) > _FEW_SENDERS:
        groups = pa.Table.from_batches([rows]).group_by("src_rank")
        sums = groups.aggregate([("payload_bytes", "sum"), ("start_ps", "min"), ("delivered_ps", "max")])
        names = ("src_rank", "payload_bytes_sum", "start_ps_min", "delivered_ps_max")
        yield from zip(*(sums.column(name).to_pylist() for name in names), strict=True)
        return
    for sender in senders:
        own = arrow_kernels.filtered(rows, arrow_kernels.equal(rows.column("src_rank"), sender))
        yield (
            sender,
            total(own.column("payload_bytes")),
            arrow_kernels.least(own.column("start_ps")).as_py(),
            arrow_kernels.largest(own.column("delivered_ps")).as_py(),
        )


def link_overhead_bytes(run_spec: Mapping[str, Any]) -> int:
    """Return the overhead of a link for each frame [bytes]."""
    return _LINK_OVERHEAD_BYTES[run_spec["fabric"].get("link_layer", {}).get("kind", "ethernet")]


def min_of(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two numbers, or the only one."""
    return other if one is None else one if other is None else min(one, other)


def max_of(one: int | None, other: int | None) -> int | None:
    """Return the larger of two numbers, or the only one."""
    return other if one is None else one if other is None else max(one, other)
