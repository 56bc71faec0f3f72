"""Sums the counters of a run's ports and links: pauses, queue depths, load of uplinks, imbalance of links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from fabricbench.analysis.links.uplinks import COLUMNS as UPLINK_COLUMNS, egress_distributions
from fabricbench.analysis.record import arrow_kernels
from fabricbench.analysis.record.percentiles import measured_total, sum_of

if TYPE_CHECKING:
    import pyarrow as pa

_OF_EACH_PORT = ("node", "tier", "pfc_rx", "queue_max_bytes")
PORT_COLUMNS = tuple(dict.fromkeys((*_OF_EACH_PORT, *UPLINK_COLUMNS, "pfc_tx", "paused_ps")))
"""Columns of `ports` that are read."""
LINK_COLUMNS = ("from", "to", "tier", "busy_ps")
"""Columns of `links` that are read."""

_HOST_TIER = 0


class FabricFacts:
    """Facts of a run from the tables `ports` and `links`.

    Attributes:
        queue_max_bytes: Deepest egress queue of a switch; none without switches, or if not measured.
        switch_ports: Ports of switches.
        pauses: Pause frames that switches sent; none without PFC, switches or a count.
        paused_ps: Time for which ports of switches and NICs were paused, summed over ports and priorities;
            none likewise.
        distributions: Distribution of queue pairs and bytes over the uplinks of each switch with several.
        link_load_max_to_mean: Imbalance of the links between switches; none without traffic on such links.
    """

    def __init__(self, ports: Iterable[pa.RecordBatch], links: Iterable[pa.RecordBatch]) -> None:
        """Read the tables once.

        Args:
            ports: Rows of `ports` with at least `PORT_COLUMNS`.
            links: Rows of `links` with at least `LINK_COLUMNS`.
        """
        self.queue_max_bytes: int | None = None
        self.switch_ports = 0
        self._has_pfc: bool | None = None
        self._pfc_rx_of_host: dict[str, int] = {}
        pauses: int | None = 0
        paused_ps: int | None = 0
        uplinks: list[pa.RecordBatch] = []
        for batch in ports:
            self._add_ports(batch)
            of_switches = arrow_kernels.filtered(batch, arrow_kernels.less(_HOST_TIER, batch.column("tier")))
            self.switch_ports += of_switches.num_rows
            pauses = sum_of(pauses, measured_total(of_switches.column("pfc_tx")))
            paused_ps = sum_of(paused_ps, measured_total(batch.column("paused_ps")))
            uplinks.append(of_switches.select(UPLINK_COLUMNS))
        self.pauses = pauses if self.switch_ports else None
        self.paused_ps = paused_ps if self.switch_ports else None
        self.distributions = egress_distributions(uplinks)
        self.link_load_max_to_mean = _imbalance(links, self._pfc_rx_of_host)

    def _add_ports(self, batch: pa.RecordBatch) -> None:
        columns = (batch.column(name).to_pylist() for name in _OF_EACH_PORT)
        for node, tier, pfc_rx, queue_bytes in zip(*columns, strict=True):
            # Without PFC, such as on InfiniBand, the counters are null.
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

    @property
    def hosts(self) -> Collection[str]:
        """The names of all hosts."""
        return self._pfc_rx_of_host.keys()

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
