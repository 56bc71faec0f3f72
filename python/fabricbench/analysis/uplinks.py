"""How a switch spread queue pairs and bytes over its uplinks, how busy these were, and what it lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.distribution import jain

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("node", "tier", "port", "peer", "tx_bytes", "egress_qps")
"""Columns of `ports` that are read."""
LOSS_COLUMNS = (
    *("dropped_frames", "dropped_headroom_frames", "dropped_wred_frames", "dropped_watchdog_frames"),
    *("lost_link_down_frames", "fcs_error_frames"),
)
"""Columns of `ports` whose sum a switch has lost."""


@dataclass(frozen=True)
class Uplink:
    """A port towards a higher tier.

    Attributes:
        port: Port of the switch.
        peer: The switch above.
        qps: Distinct queue pairs whose data left here; 0 where load balancing has no path for each of them,
            or nobody counted them.
        tx_bytes: Frame bytes sent.
        usage_percent: Time for which the link was occupied, preamble and gap included, over the length of the
            run [%]; none where that was not asked for.
    """

    port: int
    peer: str
    qps: int
    tx_bytes: int
    usage_percent: float | None = None


@dataclass(frozen=True)
class EgressDistribution:
    """A switch and its uplinks.

    Attributes:
        switch: Its name.
        tier: Its tier, 1 or more.
        uplinks: At least two, in the order of its ports.
        frames_delta: Frames that it was sent and did not send on, as they were lost there: dropped for want
            of buffer or headroom, by WRED or the PFC watchdog, lost on a link that was down, or corrupted on
            a link and dropped where they arrived. None where that was not counted or not asked for.
    """

    switch: str
    tier: int
    uplinks: tuple[Uplink, ...]
    frames_delta: int | None = None

    @property
    def usage_percent(self) -> float | None:
        """Mean of the time for which its uplinks were occupied, over the length of the run [%]."""
        known = [uplink.usage_percent for uplink in self.uplinks if uplink.usage_percent is not None]
        return sum(known) / len(known) if known else None

    @property
    def has_paths(self) -> bool:
        """Whether queue pairs kept to one path each, so that they can be counted."""
        return any(uplink.qps for uplink in self.uplinks)

    @property
    def qps_text(self) -> str:
        """The queue pairs of each uplink as test equipment writes them, `4+5+3+4`; `-` without paths."""
        return "+".join(str(uplink.qps) for uplink in self.uplinks) if self.has_paths else "-"

    @property
    def qps_max_to_mean(self) -> float | None:
        """Most queue pairs of an uplink over their mean; 1 is even, none without paths."""
        return _max_to_mean([uplink.qps for uplink in self.uplinks])

    @property
    def bytes_max_to_mean(self) -> float | None:
        """Most bytes of an uplink over their mean; 1 is even, none if nothing was sent."""
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

    A port is an uplink when its peer is in a higher tier; tiers are those of the rows of both nodes.

    Args:
        ports: Rows of `ports` with at least `COLUMNS`.
    """
    return _distributions([row for batch in ports for row in batch.select(COLUMNS).to_pylist()], {}, {})


def switch_uplinks(
    ports: Iterable[pa.RecordBatch], links: Iterable[pa.RecordBatch], run_ps: int
) -> list[EgressDistribution]:
    """Return the same with the usage of the uplinks and the frames that each switch lost.

    Args:
        ports: All rows of `ports`.
        links: All rows of `links`.
        run_ps: Length of the run, `end_ps` of its summary [ps].
    """
    rows = [row for batch in ports for row in batch.select((*COLUMNS, *LOSS_COLUMNS)).to_pylist()]
    usage: dict[tuple[str, int], float] = {}
    for batch in links:
        for row in batch.select(("from", "from_port", "busy_ps")).to_pylist():
            if row["busy_ps"] is not None and run_ps:
                usage[row["from"], row["from_port"]] = 100 * row["busy_ps"] / run_ps
    return _distributions(rows, usage, _losses(rows))


def _losses(rows: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the frames that each node lost; none where a port did not count."""
    lost: dict[str, int | None] = {}
    for row in rows:
        known, counts = lost.get(row["node"], 0), [row[name] for name in LOSS_COLUMNS]
        is_counted = known is not None and None not in counts
        lost[row["node"]] = (known or 0) + sum(counts) if is_counted else None
    return lost


def _distributions(
    rows: Iterable[Mapping[str, Any]],
    usage: Mapping[tuple[str, int], float],
    lost: Mapping[str, int | None],
) -> list[EgressDistribution]:
    rows = list(rows)
    tiers = {row["node"]: row["tier"] for row in rows}
    uplinks: dict[str, list[Uplink]] = defaultdict(list)
    for row in rows:
        if 0 < row["tier"] < tiers.get(row["peer"], 0):
            qps = row["egress_qps"] or 0
            place = row["node"], row["port"]
            uplink = Uplink(row["port"], row["peer"], qps, row["tx_bytes"], usage.get(place))
            uplinks[row["node"]].append(uplink)
    found = [
        EgressDistribution(
            switch, tiers[switch], tuple(sorted(links, key=lambda link: link.port)), lost.get(switch)
        )
        for switch, links in uplinks.items()
        if len(links) > 1
    ]
    return sorted(found, key=lambda each: each.tier)
