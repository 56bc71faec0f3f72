"""Reads the load of each switch's uplinks: queue pairs, bytes, rates, ECN marks; frames the switch lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.record.percentiles import jain

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("node", "tier", "port", "peer", "tx_bytes", "egress_qps")
"""Columns of `ports` that are read."""
LOSS_COLUMNS = (
    *("dropped_frames", "dropped_headroom_frames", "dropped_wred_frames", "dropped_watchdog_frames"),
    *("lost_link_down_frames", "fcs_error_frames"),
)
"""Columns of `ports` whose sum is the frames that a switch lost."""
_RATE_COLUMNS = ("rx_bytes", "ecn_marked")
_GBPS_PER_BYTE_PER_PS = 8e3


@dataclass(frozen=True)
class Uplink:
    """A port towards a higher tier.

    Attributes:
        port: Port of the switch.
        peer: The switch above.
        qps: Distinct queue pairs whose data left here; 0 if load balancing has no path for each of them, or
            if they were not counted.
        tx_bytes: Frame bytes sent.
        usage_percent: Time for which the link was occupied, preamble and gap included, over the length of the
            run [%]; none if not requested.
        tx_gbps: Frame bytes sent over the length of the run [Gb/s]; none as above.
        rx_gbps: Frame bytes received from the switch above, likewise.
        ecn_marked: Frames that the switch marked with congestion experienced at this port; none if not
            counted or not requested.
        peer_ecn_marked: Frames that the switch above marked at its end of the cable.
    """

    port: int
    peer: str
    qps: int
    tx_bytes: int
    usage_percent: float | None = None
    tx_gbps: float | None = None
    rx_gbps: float | None = None
    ecn_marked: int | None = None
    peer_ecn_marked: int | None = None


@dataclass(frozen=True)
class EgressDistribution:
    """A switch and its uplinks.

    Attributes:
        switch: Its name.
        tier: Its tier, 1 or more.
        uplinks: At least two, in the order of its ports.
        frames_delta: Frames sent to it that it did not forward, as they were lost there: dropped for lack of
            buffer or headroom, by WRED or the PFC watchdog, lost on a link that was down, or corrupted on a
            link and dropped on arrival. None if not counted or not requested.
        ecn_marked_below: Frames that it marked with congestion experienced at its other ports, such as those
            to hosts; none as above.
    """

    switch: str
    tier: int
    uplinks: tuple[Uplink, ...]
    frames_delta: int | None = None
    ecn_marked_below: int | None = None

    @property
    def has_marks(self) -> bool:
        """Whether frames were marked at the switch, or on its links from switches above."""
        at_uplinks = (mark for uplink in self.uplinks for mark in (uplink.ecn_marked, uplink.peer_ecn_marked))
        return any((self.ecn_marked_below, *at_uplinks))

    @property
    def usage_percent(self) -> float | None:
        """Mean of the time for which its uplinks were occupied, over the length of the run [%]."""
        percentages = [uplink.usage_percent for uplink in self.uplinks if uplink.usage_percent is not None]
        return sum(percentages) / len(percentages) if percentages else None

    @property
    def has_paths(self) -> bool:
        """Whether each queue pair used one path, so that they can be counted."""
        return any(uplink.qps for uplink in self.uplinks)

    @property
    def qps_text(self) -> str:
        """Queue pairs of each uplink in the format of test equipment, `4+5+3+4`; `-` without paths."""
        return "+".join(str(uplink.qps) for uplink in self.uplinks) if self.has_paths else "-"

    @property
    def qps_max_to_mean(self) -> float | None:
        """Largest number of queue pairs of an uplink over the mean; 1 is even, none without paths."""
        return _max_to_mean([uplink.qps for uplink in self.uplinks])

    @property
    def bytes_max_to_mean(self) -> float | None:
        """Largest number of bytes of an uplink over the mean; 1 is even, none if nothing was sent."""
        return _max_to_mean([uplink.tx_bytes for uplink in self.uplinks])

    @property
    def qps_fairness(self) -> float | None:
        """Jain's index of the queue pairs of its uplinks; 1 is even, none without paths."""
        return jain([uplink.qps for uplink in self.uplinks])

    @property
    def bytes_fairness(self) -> float | None:
        """Jain's index of the bytes of its uplinks; 1 is even, none if nothing was sent."""
        return jain([uplink.tx_bytes for uplink in self.uplinks])


def _max_to_mean(values: list[int]) -> float | None:
    return max(values) * len(values) / sum(values) if any(values) else None


def egress_distributions(ports: Iterable[pa.RecordBatch]) -> list[EgressDistribution]:
    """Return every switch with several uplinks, lower tiers first, in the order of the table.

    A port is an uplink if its peer is in a higher tier, by the rows of both nodes.

    Args:
        ports: Rows of `ports` with at least `COLUMNS`.
    """
    return _distributions([row for batch in ports for row in batch.select(COLUMNS).to_pylist()], {}, None)


class _Measured:
    """Rates, utilisation and marks of ports over the length of a run."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], links: Iterable[pa.RecordBatch], run_ps: int
    ) -> None:
        self._run_ps = run_ps
        self._marks = {(row["node"], row["port"]): row["ecn_marked"] for row in rows}
        self._links = {
            (row["from"], row["from_port"]): row
            for batch in links
            for row in batch.select(("from", "from_port", "to", "to_port", "busy_ps")).to_pylist()
        }

    def uplink(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the measured fields of an uplink, from its row of `ports`."""
        link = self._links.get((row["node"], row["port"]))
        busy_ps = link["busy_ps"] if link else None
        usage_percent = 100 * busy_ps / self._run_ps if busy_ps is not None and self._run_ps else None
        return {
            "usage_percent": usage_percent,
            "tx_gbps": self._gbps(row["tx_bytes"]),
            "rx_gbps": self._gbps(row["rx_bytes"]),
            "ecn_marked": row["ecn_marked"],
            "peer_ecn_marked": self._marks.get((link["to"], link["to_port"])) if link else None,
        }

    def _gbps(self, size_bytes: int | None) -> float | None:
        return (
            size_bytes * _GBPS_PER_BYTE_PER_PS / self._run_ps
            if size_bytes is not None and self._run_ps
            else None
        )


def switch_uplinks(
    ports: Iterable[pa.RecordBatch], links: Iterable[pa.RecordBatch], run_ps: int
) -> list[EgressDistribution]:
    """Return every switch with several uplinks, with utilisation, rates, ECN marks and lost frames.

    Args:
        ports: All rows of `ports`.
        links: All rows of `links`.
        run_ps: Length of the run, `end_ps` of its summary [ps].
    """
    columns = (*COLUMNS, *_RATE_COLUMNS, *LOSS_COLUMNS)
    rows = [row for batch in ports for row in batch.select(columns).to_pylist()]
    return _distributions(rows, _losses(rows), _Measured(rows, links, run_ps))


def _losses(rows: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the frames that each node lost; none where a port did not count."""
    lost: dict[str, int | None] = {}
    for row in rows:
        lost[row["node"]] = _sum(lost.get(row["node"], 0), *(row[name] for name in LOSS_COLUMNS))
    return lost


def _sum(*counts: int | None) -> int | None:
    """Return the sum; none if a count is missing."""
    return sum(count for count in counts if count is not None) if None not in counts else None


def _distributions(
    rows: Sequence[Mapping[str, Any]],
    lost: Mapping[str, int | None],
    measured: _Measured | None,
) -> list[EgressDistribution]:
    tiers = {row["node"]: row["tier"] for row in rows}
    uplinks: dict[str, list[Uplink]] = defaultdict(list)
    marked_below: dict[str, int | None] = {}
    for row in rows:
        if 0 < row["tier"] < tiers.get(row["peer"], 0):
            qps = row["egress_qps"] or 0
            measured_fields = measured.uplink(row) if measured else {}
            uplinks[row["node"]].append(
                Uplink(row["port"], row["peer"], qps, row["tx_bytes"], **measured_fields)
            )
        elif measured:
            marked_below[row["node"]] = _sum(marked_below.get(row["node"], 0), row["ecn_marked"])
    distributions = [
        EgressDistribution(
            switch,
            tiers[switch],
            tuple(sorted(links, key=lambda link: link.port)),
            lost.get(switch),
            marked_below.get(switch),
        )
        for switch, links in uplinks.items()
        if len(links) > 1
    ]
    return sorted(distributions, key=lambda distribution: distribution.tier)
