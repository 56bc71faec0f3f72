"""Sums the chunk rows of one job: by step of the collective and host while rows are read, then by host.

A chunk is the part of a collective's data that one rank sends to another in one transfer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from fabricbench.analysis.record.tables import Tables

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


PREAMBLE_AND_GAP_BYTES = 20
"""Overhead of each frame on a link in addition to its bytes (IEEE 802.3)."""

_TOTALS = (
    *("tx_frames", "rx_frames", "retransmits", "naks", "timeouts", "out_of_order", "cnp_rx"),
    "payload_bytes",
)
_COLUMNS = (
    *("round", "step", "part", "src_host", "dst_host", "start_ps", "completed_ps", "latency_min_ps"),
    *("latency_max_ps", "tx_bytes", *_TOTALS),
)
_PLACE = ("round", "step")
_ROUND_BITS = 32
_OPEN_ROWS = 1 << 18
"""Number of sums by step and host above which those of one step and host are merged."""
_NEVER = (1 << 63) - 1


class Chunks:
    """Sums over the chunk rows of one job.

    The sums of a step are stored by host until no more of its chunks can follow, and are then added to the
    sums by host, so that memory does not grow with the rounds.

    Attributes:
        steps: Steps of the algorithm.
        latency_min_ps: Smallest latency of a frame; none if none was accepted.
        latency_max_ps: Largest latency of a frame; none if none was accepted.
        most_at_once: Largest number of chunks that each host received in one step of a round.
        wire_sent: Bytes on the wire of the data frames sent by each host, preamble and gap included.
        wire_received: Bytes on the wire of the data frames sent to each host, preamble and gap included.
    """

    def __init__(self, tables: Tables, job: str | None, line_ps: float) -> None:
        """Read the rows of a job.

        Args:
            tables: The record.
            job: Name of the job; none if it is the only one, so that the column of names is not read.
            line_ps: Time of a byte on the port of a host.
        """
        self.latency_min_ps: int | None = None
        self.latency_max_ps: int | None = None
        self.steps = 0
        self._totals = dict.fromkeys(_TOTALS, 0)
        self._senders, self._receivers = _senders([]), _receivers([])
        steps = _OpenSteps()
        least_later: list[int] = []
        name = ("job",) if job is not None else ()
        for number, batch in enumerate(tables.batches("chunks", (*name, *_COLUMNS))):
            rows = _of_job(batch, job)
            self._add(rows)
            steps.add(rows)
            if steps.is_full:
                batches = tables.batches("chunks", (*name, *_PLACE))
                least_later = least_later or _least_later(batches, job)
                self._fold(*steps.closed(least_later[number]), line_ps)
        self._fold(*steps.closed(_NEVER), line_ps)
        received = list(self._receivers.iter_rows())
        self.wire_received: dict[int, int] = {host: wire_bytes for host, wire_bytes, _ in received}
        self.most_at_once: dict[int, int] = {host: chunks for host, _, chunks in received}
        self.wire_sent: dict[int, int] = dict(self._senders.select("src_host", "wire_bytes").iter_rows())

    def total(self, column: str) -> int:
        """Return the sum of a counter over the job."""
        return self._totals[column]

    def first_sent_share(self, hosts: Sequence[int] = ()) -> float:
        """Return the fraction of first transmissions among the data frames of some hosts, or of all."""
        if not hosts:
            return self._first_sent_share_of_all
        sent = self._frames_and_resends
        return _fraction_once([sent.get(host, (0, 0)) for host in hosts])

    @cached_property
    def _first_sent_share_of_all(self) -> float:
        return _fraction_once(list(self._frames_and_resends.values()))

    @cached_property
    def _frames_and_resends(self) -> dict[int, tuple[int, int]]:
        """Data frames that each host sent, and its retransmissions among them."""
        rows = self._senders.select("src_host", "tx_frames", "retransmits")
        return {host: (frames, resent) for host, frames, resent in rows.iter_rows()}

    @property
    def most_resent_bytes(self) -> float:
        """Bytes on the wire of the retransmissions of the host with the most of them."""
        resent_bytes = self._senders["resent_bytes"].max()
        return 0.0 if resent_bytes is None else float(str(resent_bytes))

    @property
    def stretched_ps(self) -> float:
        """Time by which the steps of the slowest host exceeded the line time of the ports at both ends.

        A step of a host lasts from its first byte offered to its last acknowledgement. Its line time is that
        of the bytes the host sends in it, or of the bytes the busiest host receives in it if that is more.
        """
        waited_ps = self._senders["waited_ps"].max()
        return 0.0 if waited_ps is None else float(str(waited_ps))

    def _add(self, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            return
        for name in _TOTALS:
            self._totals[name] += int(rows[name].sum())
        self.steps = max(self.steps, int(str(rows["step"].max())) + 1)
        self.latency_min_ps = min(_integers(self.latency_min_ps, rows["latency_min_ps"].min()), default=None)
        self.latency_max_ps = max(_integers(self.latency_max_ps, rows["latency_max_ps"].max()), default=None)

    def _fold(self, sent: pl.DataFrame, received: pl.DataFrame, line_ps: float) -> None:
        """Add complete steps to the sums by host."""
        self._senders = _senders([self._senders, _costs(sent, received, line_ps)])
        self._receivers = _receivers([self._receivers, received.select("dst_host", "wire_bytes", "chunks")])


def _integers(*values: object) -> list[int]:
    return [int(str(value)) for value in values if value is not None]


class _OpenSteps:
    """Sums of steps that may still get more chunks, by the hosts at both ends."""

    def __init__(self) -> None:
        self._sent: list[pl.DataFrame] = []
        self._received: list[pl.DataFrame] = []
        self._rows, self._limit = 0, _OPEN_ROWS

    @property
    def is_full(self) -> bool:
        """Whether it is time to check which steps are complete."""
        return self._rows > self._limit

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows of the job."""
        self._sent.append(_by_sender(rows))
        self._received.append(_by_receiver(rows))
        self._rows += self._sent[-1].height + self._received[-1].height

    def closed(self, least_later: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Remove and return the steps before a given one."""
        import polars as pl

        sent, received = _joined_sent(self._sent), _joined_received(self._received)
        is_closed = pl.col("at") < least_later
        self._sent, self._received = [sent.filter(~is_closed)], [received.filter(~is_closed)]
        self._rows = self._sent[0].height + self._received[0].height
        self._limit = max(_OPEN_ROWS, 2 * self._rows)  # so that steps that stay open are not merged each time
        return sent.filter(is_closed), received.filter(is_closed)


def _of_job(batch: pa.RecordBatch, job: str | None) -> pl.DataFrame:
    """Return the rows of a job with a column `at`: a number for round and step, in their order."""
    import polars as pl

    at = pl.col("round").cast(pl.Int64) * (1 << _ROUND_BITS) + pl.col("step")
    rows = pl.DataFrame(batch)
    return (rows if job is None else rows.filter(pl.col("job") == job)).with_columns(at=at)


def _least_later(batches: Iterable[pa.RecordBatch], job: str | None) -> list[int]:
    """Return for each batch the first step with chunks in a later batch."""
    firsts = [_of_job(batch, job)["at"].min() for batch in batches]
    first_steps = [_NEVER if first is None else int(str(first)) for first in firsts]
    first_later = list(accumulate(reversed(first_steps), min, initial=_NEVER))
    return first_later[-2::-1]


def _wire_bytes() -> pl.Expr:
    import polars as pl

    return pl.col("tx_bytes") + PREAMBLE_AND_GAP_BYTES * pl.col("tx_frames")


def _by_sender(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return rows.group_by("at", "src_host").agg(
        _wire_bytes().sum().alias("wire_bytes"),
        pl.col("tx_frames", "retransmits").sum(),
        pl.col("start_ps").min(),
        pl.col("completed_ps").max(),
    )


def _joined_sent(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if not parts:
        names = ("at", "src_host", "wire_bytes", "tx_frames", "retransmits", "start_ps", "completed_ps")
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
    joined = pl.concat(parts).group_by("at", "src_host")
    return joined.agg(
        pl.col("wire_bytes", "tx_frames", "retransmits").sum(),
        pl.col("start_ps").min(),
        pl.col("completed_ps").max(),
    ).sort("at", "src_host")


def _by_receiver(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return rows.group_by("at", "dst_host").agg(
        _wire_bytes().sum().alias("wire_bytes"),
        (pl.col("part") == 0).sum().cast(pl.Int64).alias("chunks"),
    )


def _joined_received(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if not parts:
        return pl.DataFrame(schema=dict.fromkeys(("at", "dst_host", "wire_bytes", "chunks"), pl.Int64))
    return pl.concat(parts).group_by("at", "dst_host").agg(pl.col("wire_bytes", "chunks").sum())


def _costs(sent: pl.DataFrame, received: pl.DataFrame, line_ps: float) -> pl.DataFrame:
    """Return the retransmitted bytes and the time beyond line time of each sender in each step."""
    import polars as pl

    arriving = received.group_by("at").agg(pl.col("wire_bytes").max().alias("arriving"))
    needed = pl.max_horizontal("wire_bytes", "arriving") * line_ps
    waited = (pl.col("completed_ps") - pl.col("start_ps") - needed).clip(lower_bound=0)
    resent_bytes = (pl.col("wire_bytes") * pl.col("retransmits") / pl.col("tx_frames")).fill_nan(0.0)
    steps = sent.join(arriving, on="at", how="left", maintain_order="left")
    return steps.select(
        *("src_host", "wire_bytes", "tx_frames", "retransmits"),
        resent_bytes.alias("resent_bytes"),
        waited.alias("waited_ps"),
    )


def _senders(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the sums by sending host."""
    import polars as pl

    counts = ("wire_bytes", "tx_frames", "retransmits")
    if not parts:
        schema = dict.fromkeys(("src_host", *counts), pl.Int64)
        return pl.DataFrame(schema=schema | dict.fromkeys(("resent_bytes", "waited_ps"), pl.Float64))
    joined = pl.concat(parts).group_by("src_host", maintain_order=True)
    return joined.agg(pl.col(*counts, "resent_bytes", "waited_ps").sum())


def _receivers(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the sums by receiving host, and its largest number of chunks in a step."""
    import polars as pl

    if not parts:
        return pl.DataFrame(schema=dict.fromkeys(("dst_host", "wire_bytes", "chunks"), pl.Int64))
    joined = pl.concat(parts).group_by("dst_host", maintain_order=True)
    return joined.agg(pl.col("wire_bytes").sum(), pl.col("chunks").max())


def _fraction_once(sent: Sequence[tuple[int, int]]) -> float:
    """Return the fraction of first transmissions, from pairs of frames and retransmissions."""
    frames, resent = sum(counts[0] for counts in sent), sum(counts[1] for counts in sent)
    return 1 - resent / frames if frames else 1.0
