"""How a switch spread queue pairs and bytes over its uplinks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.analysis.distribution import jain

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("node", "tier", "port", "peer", "tx_bytes", "egress_qps")
"""Columns of `ports` that are read."""


@dataclass(frozen=True)
class Uplink:
    """A port towards a higher tier.

    Attributes:
        port: Port of the switch.
        peer: The switch above.
        qps: Distinct queue pairs whose data left here; 0 where load balancing has no path for each of them,
            or nobody counted them.
        tx_bytes: Frame bytes sent.
    """

    port: int
    peer: str
    qps: int
    tx_bytes: int


@dataclass(frozen=True)
class EgressDistribution:
    """A switch and its uplinks.

    Attributes:
        switch: Its name.
        tier: Its tier, 1 or more.
        uplinks: At least two, in the order of its ports.
    """

    switch: str
    tier: int
    uplinks: tuple[Uplink, ...]

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
    rows = [row for batch in ports for row in batch.select(COLUMNS).to_pylist()]
    tiers = {row["node"]: row["tier"] for row in rows}
    uplinks: dict[str, list[Uplink]] = defaultdict(list)
    for row in rows:
        if 0 < row["tier"] < tiers.get(row["peer"], 0):
            qps = row["egress_qps"] or 0
            uplinks[row["node"]].append(Uplink(row["port"], row["peer"], qps, row["tx_bytes"]))
    found = [
        EgressDistribution(switch, tiers[switch], tuple(sorted(links, key=lambda link: link.port)))
        for switch, links in uplinks.items()
        if len(links) > 1
    ]
    return sorted(found, key=lambda each: each.tier)
