"""Computes how late frames of each job arrived behind newer ones: late frames, quantiles, histogram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.record.percentiles import total
from fabricbench.analysis.record.tables import table_of_sums
from fabricbench.analysis.record.trial import Record


@dataclass(frozen=True)
class Bucket:
    """Number of frames within a range of distances.

    Attributes:
        distance_min: Smallest distance behind the newest frame [frames].
        distance_max: Largest distance.
        frames: Frames in the range.
    """

    distance_min: int
    distance_max: int
    frames: int


@dataclass(frozen=True)
class Reordering:
    """Order in which the frames of a job arrived.

    Attributes:
        job: Its name.
        rx_frames: Data frames that arrived, copies included.
        late_frames: Frames that arrived after one with a later sequence number (RFC 4737, section 3).
        late_percent: Percentage of late frames among all that arrived [%].
        distance_p50: Median distance of the late frames behind the newest [frames]; the upper edge of a
            bucket, as buckets are powers of 2.
        distance_p99: 99th percentile of the distance, likewise.
        distance_max: Largest distance.
        buckets: Frames by distance, ascending.
    """

    job: str
    rx_frames: int
    late_frames: int
    late_percent: float
    distance_p50: int
    distance_p99: int
    distance_max: int
    buckets: Sequence[Bucket]


def reorderings(record: Record) -> list[Reordering]:
    """Return the order of arrival of each job with late frames, in the order of the spec."""
    from fabricbench.analysis.record import arrow_kernels

    buckets: dict[str, list[Bucket]] = {}
    for batch in record.tables.batches("reordering"):
        for row in arrow_kernels.filtered(batch, arrow_kernels.is_null(batch.column("qp"))).to_pylist():
            bucket = Bucket(row["distance_min"], row["distance_max"], row["frames"])
            buckets.setdefault(row["job"], []).append(bucket)
    received = _received(record, buckets)
    return [
        _of_job(job["name"], received[job["name"]], buckets[job["name"]])
        for job in record.run_spec["jobs"]
        if job["name"] in buckets
    ]


def _received(record: Record, jobs: Iterable[str]) -> dict[str, int]:
    from fabricbench.analysis.record import arrow_kernels

    totals = dict.fromkeys(jobs, 0)
    if not totals:
        return totals
    for batch in record.tables.batches(table_of_sums(record.run_spec), ["job", "rx_frames"]):
        for name in totals:
            own = arrow_kernels.filtered(batch, arrow_kernels.equal(batch.column("job"), name))
            totals[name] += total(own.column("rx_frames"))
    return totals


def _of_job(job: str, rx_frames: int, buckets: Sequence[Bucket]) -> Reordering:
    late = sum(bucket.frames for bucket in buckets)
    return Reordering(
        job=job,
        rx_frames=rx_frames,
        late_frames=late,
        late_percent=round(100 * late / max(rx_frames, late), 9),
        distance_p50=_quantile(buckets, 50, late),
        distance_p99=_quantile(buckets, 99, late),
        distance_max=max(bucket.distance_max for bucket in buckets),
        buckets=sorted(buckets, key=lambda bucket: bucket.distance_min),
    )


def _quantile(buckets: Sequence[Bucket], percent: int, late: int) -> int:
    """Return the upper edge of the bucket with the nearest rank of a percentage."""
    rank, cumulated = -(-late * percent // 100), 0
    for bucket in sorted(buckets, key=lambda bucket: bucket.distance_min):
        cumulated += bucket.frames
        if cumulated >= rank:
            return bucket.distance_max
    raise AssertionError("a nearest rank is at most the number of values")


def reordering_object(order: Reordering) -> dict[str, Any]:
    """Return the order of arrival as its JSON object."""
    import dataclasses

    return {name: value for name, value in dataclasses.asdict(order).items() if name != "job"}
