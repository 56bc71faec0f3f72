"""Computes the KPIs of a run at each of three observation points, and the differences between the points.

The BMWG drafts have three classes of points, which are never mixed: the boundary of the fabric, at the
Ethernet ports of the adapters; the counters of devices; and the endpoints, from the post of a message to its
completion. A simulation observes all of them for the same frames, so the difference is the part that one
class does not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabricbench.analysis.record import arrow_kernels
from fabricbench.analysis.record.percentiles import measured_total, sum_of, total
from fabricbench.analysis.record.tables import ALL, Tables, observed_chunks, table_of_sums
from fabricbench.analysis.record.wire_rates import link_overhead_bytes, max_of, min_of
from fabricbench.analysis.summary.kpis import AT_HOSTS

if TYPE_CHECKING:
    import pyarrow as pa


_PS_PER_US: Final = 1e6
_PS_PER_S: Final = 1e12
_BITS_PER_GBIT: Final = 8e-9
_HOST_TIER: Final = 0
_DROPS: Final = (
    *("dropped_frames", "dropped_headroom_frames", "dropped_wred_frames", "dropped_watchdog_frames"),
    *("lost_link_down_frames", "fcs_error_frames"),
)
"""Counters of `ports` whose sum is the frames lost; each lost frame is in one of them."""
_SUMS: Final = ("retransmits", "timeouts", "ecn_ce_rx", "cnp_tx")
_LATENCIES: Final = ("latency_min_ps", "latency_mean_ps", "latency_max_ps")


@dataclass(frozen=True)
class PointRow:
    """One KPI of a run, at each observation point.

    Attributes:
        name: Its name.
        title: Its title.
        unit: Unit of all values.
        fabric: Value at a tap on the links of the hosts; none if not observed.
        device: Value from counters of switches and adapters; none if not observed.
        endpoint: Value at sender and receiver; none if not observed.
    """

    name: str
    title: str
    unit: str
    fabric: float | int | None = None
    device: float | int | None = None
    endpoint: float | int | None = None

    @property
    def device_less_fabric(self) -> float | int | None:
        """Value at devices minus the value at the boundary; none unless both are known."""
        return _difference(self.device, self.fabric)

    @property
    def endpoint_less_fabric(self) -> float | int | None:
        """Value at endpoints minus the value at the boundary; none unless both are known."""
        return _difference(self.endpoint, self.fabric)


def _difference(one: float | int | None, other: float | int | None) -> float | int | None:
    return None if one is None or other is None else one - other


def observation_points(
    run_spec: Mapping[str, Any],
    summary: Mapping[str, Any],
    tables: Tables,
    observed: Mapping[str, Mapping[str, Any]],
) -> list[PointRow]:
    """Return each KPI of a run at each point, in the order of output.

    Args:
        run_spec: The RunSpec.
        summary: The backend's RunSummary.
        tables: The record tables; `ports`, `links` and `chunks`, or its counts, are read.
        observed: Observation point of each table; tables without an entry were not observed.
    """
    ports = _DeviceCounters.read(summary, tables) if "ports" in observed else None
    endpoints = _EndpointSums.read(run_spec, summary, tables) if table_of_sums(run_spec) in observed else None
    is_tapped = ports is not None and observed.get("links", {}).get("at") == "fabric"
    tap = (
        _Tap.read(run_spec, summary, tables, ports, endpoints) if is_tapped and ports and endpoints else None
    )
    return [
        *_throughput(summary, tap, ports, endpoints),
        *_times(tap, endpoints),
        *_frames(tap, ports, endpoints),
    ]


def _throughput(
    summary: Mapping[str, Any],
    tap: _Tap | None,
    ports: _DeviceCounters | None,
    endpoints: _EndpointSums | None,
) -> Iterator[PointRow]:
    counted = (
        tap.received_bytes if tap else None,
        ports.to_hosts_bytes if ports else None,
        endpoints.delivered_bytes if endpoints else None,
    )
    seconds = summary["end_ps"] / _PS_PER_S
    rates = (None if value is None or not seconds else value * _BITS_PER_GBIT / seconds for value in counted)
    yield PointRow("received_bytes", "Received by hosts", "bytes", *counted)
    yield PointRow("throughput_gbps", "Throughput, all hosts", "Gb/s", *rates)


def _times(tap: _Tap | None, endpoints: _EndpointSums | None) -> Iterator[PointRow]:
    for name, title in (("min", "minimum"), ("mean", "mean"), ("max", "maximum")):
        fabric = tap.latency_ps.get(name) if tap else None
        endpoint = endpoints.fct_ps.get(name) if endpoints else None
        values = (None if time_ps is None else time_ps / _PS_PER_US for time_ps in (fabric, None, endpoint))
        yield PointRow(f"latency_us_{name}", f"Latency, {title}", "us", *values)


def _frames(
    tap: _Tap | None, ports: _DeviceCounters | None, endpoints: _EndpointSums | None
) -> Iterator[PointRow]:
    yield PointRow(
        "frames_lost",
        "Frames lost",
        "frames",
        tap.lost if tap else None,
        ports.dropped if ports else None,
        endpoints.sums["retransmits"] if endpoints else None,
    )
    yield PointRow("timeouts", "Timeouts", "", endpoint=endpoints.sums["timeouts"] if endpoints else None)
    yield PointRow(
        "ce_frames",
        "CE marks",
        "frames",
        tap.marked if tap else None,
        ports.marked if ports else None,
        endpoints.sums["cnp_tx"] if endpoints else None,
    )
    yield PointRow(
        "pause_frames",
        "Pause frames",
        "frames",
        tap.pauses if tap else None,
        ports.pauses if ports else None,
    )
    yield PointRow(
        "paused_us",
        "Time paused",
        "us",
        None if tap is None or tap.paused_ps is None else tap.paused_ps / _PS_PER_US,
        None if ports is None or ports.paused_ps is None else ports.paused_ps / _PS_PER_US,
    )


@dataclass
class _DeviceCounters:
    """Counters of ports: those of switches, and the pauses of NICs.

    Attributes:
        hosts: Names of the hosts.
        to_hosts_bytes: Frame bytes that switches sent to hosts.
        dropped: Frames lost, by all counters of all ports, and by adapters without room.
        marked: Frames that switches marked. A frame marked at two switches counts twice, and other frames of
            the priority of the data are included.
        pauses: Pause frames that switches sent.
        paused_ps: Time for which ports of switches were paused.
        pauses_at_hosts: Pause frames on the links of hosts, in either direction.
        paused_at_hosts_ps: Time for which ports of hosts were paused.
    """

    hosts: set[str] = field(default_factory=set)
    to_hosts_bytes: int | None = 0
    dropped: int | None = 0
    marked: int | None = 0
    pauses: int | None = 0
    paused_ps: int | None = 0
    pauses_at_hosts: int | None = 0
    paused_at_hosts_ps: int | None = 0

    @classmethod
    def read(cls, summary: Mapping[str, Any], tables: Tables) -> _DeviceCounters:
        columns = ("node", "tier", "peer", "tx_bytes", "ecn_marked", "pfc_tx", "pfc_rx", "paused_ps")
        counters, to_switch = cls(dropped=_lost_at_hosts(summary)), []
        for batch in tables.batches("ports", (*columns, *_DROPS)):
            is_host = arrow_kernels.equal(batch.column("tier"), _HOST_TIER)
            hosts = arrow_kernels.filtered(batch, is_host)
            switches = arrow_kernels.filtered(batch, arrow_kernels.less(_HOST_TIER, batch.column("tier")))
            counters.hosts.update(hosts.column("node").to_pylist())
            to_switch.append(switches.select(("peer", "tx_bytes")))
            counters._add(batch, switches, hosts)
        for rows in to_switch:
            for peer, sent_bytes in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                if peer in counters.hosts:
                    counters.to_hosts_bytes = sum_of(counters.to_hosts_bytes, sent_bytes)
        return counters

    def _add(self, ports: pa.RecordBatch, switches: pa.RecordBatch, hosts: pa.RecordBatch) -> None:
        # Counters that a device does not have, such as one of a lab, are left out of the sum.
        counted = [column for name in _DROPS if not (column := ports.column(name)).null_count]
        for column in counted:
            self.dropped = sum_of(self.dropped, measured_total(column))
        self.marked = _with_column(self.marked, switches, "ecn_marked")
        self.pauses = _with_column(self.pauses, switches, "pfc_tx")
        self.paused_ps = _with_column(self.paused_ps, switches, "paused_ps")
        self.pauses_at_hosts = _with_column(
            _with_column(self.pauses_at_hosts, hosts, "pfc_rx"), hosts, "pfc_tx"
        )
        self.paused_at_hosts_ps = _with_column(self.paused_at_hosts_ps, hosts, "paused_ps")


def _with_column(value: int | None, rows: pa.RecordBatch, column: str) -> int | None:
    return sum_of(value, measured_total(rows.column(column)))


@dataclass
class _EndpointSums:
    """Values at senders and receivers, over all jobs and all TCP traffic.

    Attributes:
        delivered_bytes: Payload delivered.
        sums: Sums of counters.
        fct_ps: Smallest, mean and largest flow completion time of complete chunks; empty without one.
        latency_ps: The same of frames, as measured by the receivers of the simulator.
    """

    delivered_bytes: int | None = 0
    sums: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(_SUMS, 0))
    fct_ps: dict[str, float] = field(default_factory=dict)
    latency_ps: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, run_spec: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables) -> _EndpointSums:
        sums, fct, latency = cls(), _Spread(), _Spread()
        is_all = observed_chunks(run_spec) == ALL
        for batch in tables.batches(table_of_sums(run_spec)):
            sums._add(batch, by_chunk=is_all)
            latency.add_latencies(batch, "rx_frames" if is_all else "latency_frames")
            if is_all:
                fct.add(
                    arrow_kernels.filtered(batch, arrow_kernels.equal(batch.column("status"), "complete"))
                )
        for batch in () if is_all else tables.batches("chunk_times"):
            for row in batch.to_pylist():
                if row["status"] == "complete":
                    fct.add_repeated(row["fct_ps"], row["chunks"])
        sums.fct_ps, sums.latency_ps = fct.values(), latency.values()
        sums._add_rest(summary)
        return sums

    def _add(self, rows: pa.RecordBatch, *, by_chunk: bool) -> None:
        for name in _SUMS:
            self.sums[name] = _with_column(self.sums[name], rows, name)
        if by_chunk:
            delivered = arrow_kernels.filtered(rows, arrow_kernels.is_valid(rows.column("delivered_ps")))
            self.delivered_bytes = sum_of(self.delivered_bytes, total(delivered.column("payload_bytes")))
        elif total(rows.column("complete")) == total(rows.column("chunks")):
            self.delivered_bytes = sum_of(self.delivered_bytes, total(rows.column("payload_bytes")))
        else:  # includes the payload of chunks that were not delivered
            self.delivered_bytes = None

    def _add_rest(self, summary: Mapping[str, Any]) -> None:
        """Add frames that arrived late, and TCP traffic, from the summary of the run."""
        for job in summary["jobs"]:
            for name in ("ecn_ce_rx", "cnp_tx"):
                self.sums[name] = sum_of(self.sums[name], job.get("late", {}).get(name, 0))
        for traffic in summary.get("tcp", ()):
            self.delivered_bytes = sum_of(self.delivered_bytes, traffic["delivered_bytes"])
            for name in ("retransmits", "timeouts", "ecn_ce_rx"):
                self.sums[name] = sum_of(self.sums[name], traffic[name])


@dataclass
class _Spread:
    """Smallest, mean and largest of times [ps]."""

    count: int = 0
    summed: float = 0
    least: int | None = None
    largest: int | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the completion times of chunks."""
        times = rows.column("fct_ps")
        self.count += len(times)
        self.summed += total(times)
        self._span(arrow_kernels.least(times).as_py(), arrow_kernels.largest(times).as_py())

    def add_repeated(self, time_ps: int, count: int) -> None:
        """Add `count` chunks with the same completion time."""
        self.count += count
        self.summed += time_ps * count
        self._span(time_ps, time_ps)

    def add_latencies(self, rows: pa.RecordBatch, frames: str) -> None:
        """Add the latencies of frames; column `frames` has their number in each row."""
        measured = arrow_kernels.filtered(rows, arrow_kernels.is_valid(rows.column("latency_mean_ps")))
        if not measured.num_rows:
            return
        counts = measured.column(frames)
        weights = arrow_kernels.multiply(measured.column("latency_mean_ps"), arrow_kernels.as_float(counts))
        self.count += total(counts)
        self.summed += arrow_kernels.total(weights).as_py()
        least, largest = measured.column("latency_min_ps"), measured.column("latency_max_ps")
        self._span(arrow_kernels.least(least).as_py(), arrow_kernels.largest(largest).as_py())

    def _span(self, least: int | None, largest: int | None) -> None:
        self.least, self.largest = min_of(self.least, least), max_of(self.largest, largest)

    def values(self) -> dict[str, float]:
        if not self.count or self.least is None or self.largest is None:
            return {}
        return {"min": self.least, "mean": self.summed / self.count, "max": self.largest}


@dataclass(frozen=True)
class _Tap:
    """Traffic at the boundary of the fabric.

    Attributes:
        received_bytes: Bytes on the links to hosts, with the overhead of each frame on a link.
        lost: Frames that left a NIC, reached none and are no longer in flight; none if not counted.
        marked: Marked frames that reached hosts.
        pauses: Pause frames on the links of hosts.
        paused_ps: Time for which ports of hosts were paused.
        latency_ps: Smallest, mean and largest latency of frames.
    """

    received_bytes: int
    lost: int | None
    marked: int | None
    pauses: int | None
    paused_ps: int | None
    latency_ps: Mapping[str, float]

    @classmethod
    def read(
        cls,
        run_spec: Mapping[str, Any],
        summary: Mapping[str, Any],
        tables: Tables,
        ports: _DeviceCounters,
        ends: _EndpointSums,
    ) -> _Tap:
        received_bytes, overhead = 0, link_overhead_bytes(run_spec)
        for batch in tables.batches("links", ("to", "frames", "bytes")):
            for to, frames, size in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                received_bytes += (size + overhead * frames) * (to in ports.hosts)
        return cls(
            received_bytes,
            _lost(summary),
            ends.sums["ecn_ce_rx"],
            ports.pauses_at_hosts,
            ports.paused_at_hosts_ps,
            ends.latency_ps,
        )


def _lost(summary: Mapping[str, Any]) -> int | None:
    """Return the frames that NICs sent minus those that reached one, accepted or not."""
    names = ("frames_sent", "frames_delivered", "frames_in_flight")
    if any(summary.get(name) is None for name in names):
        return None
    sent, delivered, in_flight = (int(summary[name]) for name in names)
    return sent - delivered - in_flight - _lost_at_hosts(summary)


def _lost_at_hosts(summary: Mapping[str, Any]) -> int:
    """Return the frames that reached a NIC and were dropped there for lack of room."""
    return int(summary.get("frames_lost", {}).get(AT_HOSTS, 0))
