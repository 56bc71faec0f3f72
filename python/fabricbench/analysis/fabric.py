"""What the ports and links of the fabric tell about a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

PORT_COLUMNS = ("node", "tier", "pfc_rx", "queue_max_bytes")
"""Columns of `ports` that are read."""
LINK_COLUMNS = ("from", "to", "tier", "busy_ps")
"""Columns of `links` that are read."""

_HOST_TIER = 0


class FabricFacts:
    """Facts of a run that the tables `ports` and `links` hold.

    Attributes:
        queue_max_bytes: Deepest egress queue of a switch; none without switches, or where nobody looked.
        link_load_max_to_mean: Imbalance of the links between switches; none without traffic on such links.
    """

    def __init__(self, ports: Iterable[pa.RecordBatch], links: Iterable[pa.RecordBatch]) -> None:
        """Read the tables once.

        Args:
            ports: Rows of `ports` with at least `PORT_COLUMNS`.
            links: Rows of `links` with at least `LINK_COLUMNS`.
        """
        self.queue_max_bytes: int | None = None
        self._has_pfc: bool | None = None
        self._pfc_rx_of_host: dict[str, int] = {}
        for batch in ports:
            self._add_ports(batch)
        self.link_load_max_to_mean = _imbalance(links, self._pfc_rx_of_host)

    def _add_ports(self, batch: pa.RecordBatch) -> None:
        columns = (batch.column(name).to_pylist() for name in PORT_COLUMNS)
        for node, tier, pfc_rx, queue_bytes in zip(*columns, strict=True):
            # Nothing is counted where there is no PFC: on InfiniBand.
            self._has_pfc = pfc_rx is not None and self._has_pfc is not False
            if tier == _HOST_TIER:
                self._pfc_rx_of_host[node] = self._pfc_rx_of_host.get(node, 0) + (pfc_rx or 0)
            elif queue_bytes is not None:
                self.queue_max_bytes = max(self.queue_max_bytes or 0, queue_bytes)

    def pfc_rx(self, hosts: Collection[int]) -> int | None:
        """Return the pause frames that the NICs of some hosts received; none without PFC or without rows."""
        if not self._has_pfc:
            return None
        return sum(self._pfc_rx_of_host[name] for name in self.names(hosts))

    def names(self, hosts: Collection[int]) -> list[str]:
        """Return the names of some hosts: the lowest tier of `ports`, in the order of their numbers."""
        names = list(self._pfc_rx_of_host)
        return [names[host] for host in hosts if host < len(names)]


def _imbalance(links: Iterable[pa.RecordBatch], hosts: Collection[str]) -> float | None:
    """Return max / mean of the time occupied over the links between switches, for the worst tier."""
    busy_ps: dict[int, list[int]] = defaultdict(list)
    for batch in links:
        columns = (batch.column(name).to_pylist() for name in LINK_COLUMNS)
        for source, target, tier, busy in zip(*columns, strict=True):
            if source not in hosts and target not in hosts:
                busy_ps[tier].append(busy)
    ratios = [max(values) * len(values) / sum(values) for values in busy_ps.values() if any(values)]
    return max(ratios, default=None)
