"""Finds likely causes of a measured job's deviation from its simulated prediction, by comparing both records.

A cause is a difference between both records; that it made the job slower is likely, not proven. Values that
only one of the records has are left out.

Error counters of the devices of hosts, from table `counters`, are causes too; no prediction has them. Vendors
count differently, so counters are not summed over hosts: each is reported for the host with the most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.twins.endpoints import COUNTERS, RankPair, first_starts_ps, totals
from fabricbench.words import counted

SLOW_PAIRS: Final = 3
"""Number of pairs of ranks that are reported as the slowest."""
_MIN_REPORTED_FRACTION: Final = 0.1
"""Fraction of the difference below which a cause is not reported."""
_HOST_RATIO: Final = 1.1
"""Factor by which a host must be slower than the others, relative to its prediction, to be reported."""
_LINK_SHARE: Final = 0.1
"""Relative excess over the predicted bytes from which a link is reported."""
LOAD: Final = 0.1
"""Fraction of the bytes of the busiest link below which the load of a link is irrelevant, such as that of
acknowledgements alone.
"""
_WORDS: Final[Mapping[str, str]] = {
    "timeouts": "timeouts",
    "retransmits": "retransmitted frames",
    "naks": "NAKs",
    "out_of_order": "frames out of order",
    "ecn_ce_rx": "frames with a congestion mark",
    "cnp_rx": "CNPs",
}
_PORT_WORDS: Final[Mapping[str, str]] = {
    "dropped_frames": "frames dropped",
    "fcs_error_frames": "frames with a wrong checksum",
    "pfc_rx": "pauses received",
    "ecn_marked": "frames marked",
}


@dataclass(frozen=True)
class Cause:
    """A likely cause of a deviation.

    Attributes:
        kind: `status`, `clock`, `counter`, `start`, `path`, `port`, `link`, `device`, `host`, `overhead` or
            `rate`.
        where: The rank, host, port, link or counter affected; empty if none.
        measured: The measured value; none if the cause has no value.
        predicted: The predicted value.
        text: Description of the cause.
    """

    kind: str
    where: str
    measured: float | None
    predicted: float | None
    text: str


@dataclass(frozen=True)
class SlowPair:
    """Ranks whose chunks took longest compared with the prediction.

    Attributes:
        src_rank: Sending rank.
        dst_rank: Receiving rank.
        src_host: Its host.
        dst_host: The host of the receiving rank.
        measured_ms: Mean measured completion time of a chunk [ms].
        predicted_ms: Mean predicted one [ms].
    """

    src_rank: int
    dst_rank: int
    src_host: int
    dst_host: int
    measured_ms: float
    predicted_ms: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured_ms / self.predicted_ms


def slow_pairs(measured: Sequence[RankPair], predicted: Sequence[RankPair]) -> list[SlowPair]:
    """Return every pair of ranks with a completion time in both, largest ratio to the prediction first."""
    predicted_ps = {pair.ranks: pair.fct_ps for pair in predicted}
    pairs = [
        SlowPair(*pair.ranks, pair.src_host, pair.dst_host, pair.fct_ps / 1e9, other_ps / 1e9)
        for pair in measured
        if pair.fct_ps and (other_ps := predicted_ps.get(pair.ranks))
    ]
    return sorted(pairs, key=lambda pair: (-pair.ratio, pair.src_rank, pair.dst_rank))


def fewer_causes(measured: Sequence[RankPair], predicted: Sequence[RankPair]) -> list[Cause]:
    """Return the error counters for which the endpoints measured less than predicted."""
    measured_totals, predicted_totals = totals(measured), totals(predicted)
    return [
        Cause("counter", name, one, other, f"{one:,} {_WORDS[name]}, {other:,} predicted")
        for name in COUNTERS
        if (one := measured_totals[name]) is not None
        and (other := predicted_totals[name]) is not None
        and one < other
    ]


def counter_causes(measured: Sequence[RankPair], predicted: Sequence[RankPair]) -> list[Cause]:
    """Return the counters for which the endpoints measured more than predicted, with the worst pair."""
    measured_totals, predicted_totals = totals(measured), totals(predicted)
    return [
        _counter_cause(name, measured, one, other)
        for name in COUNTERS
        if (one := measured_totals[name]) is not None
        and (other := predicted_totals[name]) is not None
        and one > other
    ]


def _counter_cause(name: str, pairs: Sequence[RankPair], measured: int, predicted: int) -> Cause:
    worst = max(pairs, key=lambda pair: pair.counters[name] or 0)
    where = f"ranks {worst.src_rank} to {worst.dst_rank}, host{worst.src_host} to host{worst.dst_host}"
    text = f"{measured:,} {_WORDS[name]}, {predicted:,} predicted; most from {where}: "
    return Cause("counter", name, measured, predicted, f"{text}{worst.counters[name]:,}")


def clock_causes(error_ms: float | None, later_ms: float) -> list[Cause]:
    """Return a cause if the difference [ms] is within the error of the hosts' clocks."""
    if error_ms is None or abs(later_ms) > error_ms:
        return []
    text = (
        f"the difference of {_milliseconds(abs(later_ms))} is within the error of the hosts' clocks, "
        f"{_milliseconds(error_ms)}"
    )
    return [Cause("clock", "", error_ms, None, text)]


def start_causes(measured: Sequence[RankPair], predicted: Sequence[RankPair], later_ms: float) -> list[Cause]:
    """Return the rank that started latest, of those that wait for no other, if it explains the difference.

    Args:
        measured: Measured pairs.
        predicted: Predicted pairs.
        later_ms: Time by which the job took longer than predicted [ms].
    """
    measured_starts, predicted_starts = first_starts_ps(measured), first_starts_ps(predicted)
    first = min(predicted_starts.values(), default=0)
    delays_ps = {
        rank: measured_starts[rank] - start_ps
        for rank, start_ps in predicted_starts.items()
        if start_ps == first and rank in measured_starts
    }
    if not delays_ps or later_ms <= 0:
        return []
    rank = max(delays_ps, key=lambda candidate: delays_ps[candidate])
    late_ms = delays_ps[rank] / 1e9
    if late_ms < _MIN_REPORTED_FRACTION * later_ms:
        return []
    text = f"rank {rank} starts {_milliseconds(late_ms)} later than predicted"
    return [Cause("start", f"rank {rank}", measured_starts[rank] / 1e9, predicted_starts[rank] / 1e9, text)]


def host_causes(pairs: Sequence[SlowPair]) -> list[Cause]:
    """Return the host that is slower than others, relative to the prediction, as sender or receiver."""
    sides: dict[str, Callable[[SlowPair], int]] = {
        "sends": lambda pair: pair.src_host,
        "receives": lambda pair: pair.dst_host,
    }
    slowest = [cause for does, host in sides.items() if (cause := _slowest_host(pairs, does, host))]
    return [max(slowest, key=_excess)] if slowest else []


def _excess(cause: Cause) -> float:
    return (cause.measured or 0.0) / (cause.predicted or 1.0)


def _slowest_host(pairs: Sequence[SlowPair], does: str, host: Callable[[SlowPair], int]) -> Cause | None:
    ratios: dict[int, list[float]] = {}
    for pair in pairs:
        ratios.setdefault(host(pair), []).append(pair.ratio)
    if len(ratios) < 3:
        return None
    slowest = max(ratios, key=lambda other: median(ratios[other]))
    own = median(ratios[slowest])
    others = median(
        ratio for other, other_ratios in ratios.items() if other != slowest for ratio in other_ratios
    )
    if own < _HOST_RATIO * others:
        return None
    text = f"host{slowest} {does} in {own:.2f} times the predicted time, the others in {others:.2f} times"
    return Cause("host", f"host{slowest}", own, others, text)


def fabric_causes(measured: Tables, predicted: Tables) -> list[Cause]:
    """Return the ports and the link with the largest difference between both records.

    Raises:
        StoreError: A table cannot be read.
    """
    return [*_port_causes(measured, predicted), *_link_causes(measured, predicted)]


def _port_causes(measured: Tables, predicted: Tables) -> list[Cause]:
    keys = ("node", "port", "peer")
    measured_rows, predicted_rows = (
        _by_key(tables, "ports", keys, tuple(_PORT_WORDS)) for tables in (measured, predicted)
    )
    causes = []
    for index, words in enumerate(_PORT_WORDS.values()):
        more = {
            key: (one, other)
            for key, row in measured_rows.items()
            if (one := row[index]) is not None
            and (other := predicted_rows.get(key, row)[index]) is not None
            and one > other
        }
        if more:
            key = max(more, key=lambda key: more[key][0] - more[key][1])
            where, (one, other) = f"{key[0]} port {key[1]} to {key[2]}", more[key]
            causes.append(Cause("port", where, one, other, f"{where}: {one:,} {words}, {other:,} predicted"))
    return causes


def _link_causes(measured: Tables, predicted: Tables) -> list[Cause]:
    keys = ("from", "from_port", "to")
    measured_rows, predicted_rows = (
        _by_key(tables, "links", keys, ("bytes",)) for tables in (measured, predicted)
    )
    common = {
        key: (measured_rows[key][0], predicted_rows[key][0])
        for key in measured_rows.keys() & predicted_rows.keys()
    }
    min_bytes = LOAD * max((bytes_ or 0 for (bytes_,) in measured_rows.values()), default=0)
    more = {
        key: one - other
        for key, (one, other) in common.items()
        if one and other and one >= max((1 + _LINK_SHARE) * other, min_bytes)
    }
    if not more:
        return []
    key = max(sorted(more), key=lambda key: more[key])
    where, (one, other) = f"{key[0]} port {key[1]} to {key[2]}", common[key]
    return [Cause("link", where, one, other, f"{where} carried {one / other:.2f} times the predicted bytes")]


def _by_key(
    tables: Tables, table: str, keys: Sequence[str], columns: Sequence[str]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    return {
        tuple(row[key] for key in keys): tuple(row[name] for name in columns)
        for batch in tables.batches(table, [*keys, *columns])
        for row in batch.to_pylist()
    }


def status_cause(status: str, reason: str, chunks: int | None) -> Cause:
    """Return why a job has no completion time."""
    chunks_text = f" of {counted(chunks, 'chunk')}" if chunks else ""
    return Cause(
        "status", "", None, None, f"the measured job is {status}{chunks_text}: {reason or 'no reason told'}"
    )


def _milliseconds(value: float) -> str:
    return f"{1000 * value:.3g} us" if value < 1 else f"{value:.4g} ms"


def overhead_cause(fixed_ms: float) -> Cause:
    """Return the cause that every size takes longer, or shorter, by the same time."""
    more = "more" if fixed_ms >= 0 else "less"
    text = f"fixed overhead: {_milliseconds(abs(fixed_ms))} {more} than predicted whatever the size"
    return Cause("overhead", "", fixed_ms, 0.0, text)


def rate_cause(rate_percent: float) -> Cause:
    """Return the cause that the time per byte is longer, or shorter."""
    more = "more" if rate_percent >= 0 else "less"
    text = f"rate: {abs(rate_percent):.3g} % {more} time than predicted in proportion to the size"
    return Cause("rate", "", rate_percent, 0.0, text)


_ERROR_COUNTERS: Final = (
    *("failed_queue_pairs", "retries_exceeded", "unsent_calls"),
    *("socket_drops", "udp_receive_drops", "udp_send_drops"),
    *("ip_receive_discards", "ip_send_discards", "rx_dropped", "tx_dropped", "rx_discards", "tx_discards"),
    *("loss_bursts", "out_of_sequence_dropped", "receiver_not_ready", "roce_discards", "icrc_errors"),
    *("fcs_errors", "rx_errors", "symbol_errors", "link_downs", "rnr_naks", "slow_restarts"),
)
"""Neutral names, the most likely cause of the others first."""


def device_causes(measured: Tables) -> list[Cause]:
    """Return the error counters that grew while a trial ran, each with the host where it grew most.

    Raises:
        StoreError: The table cannot be read.
    """
    row_with_most: dict[str, dict[str, Any]] = {}
    for batch in measured.batches("counters"):
        for row in batch.to_pylist():
            name, grown = row["name"], row["after"] - row["before"]
            if name in _ERROR_COUNTERS and grown > 0 and grown > _grown(row_with_most.get(name)):
                row_with_most[name] = row
    return [_cause(row_with_most[name]) for name in _ERROR_COUNTERS if name in row_with_most]


def _grown(row: dict[str, Any] | None) -> int:
    return row["after"] - row["before"] if row else 0


def _cause(row: dict[str, Any]) -> Cause:
    grown = _grown(row)
    growth = f"{row['name']} grew by {grown:,} {row['unit']}"
    text = f"host {row['host']}, {row['device']}: {growth} ({row['vendor_name']}: {row['meaning']})"
    return Cause("device", f"{row['host']} {row['device']} {row['name']}", grown, None, text)
