"""Reads the counters of a lab's links from the kernel: bytes, frames, drops, queue length, marks, losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.lab.blueprint import Node, Port
from fabricbench.lab.kernel import marking, namespaces
from fabricbench.lab.kernel.marking import PortCounts
from fabricbench.lab.kernel.ports import interface_indices
from fabricbench.lab.state import Lab


@dataclass(frozen=True)
class LinkCounters:
    """Counters of one direction of a link since the lab was created.

    Attributes:
        from_node: Sending node.
        from_port: Its port.
        to_node: Receiving node.
        to_port: Its port.
        tx_bytes: Bytes sent, without preamble, FCS and interframe gap.
        tx_packets: Frames sent; a batch that fitted into the shaper's burst counts as one.
        drops: Frames dropped at the full queue of the sending port or of the receiving one.
        backlog_bytes: Current queue length of the sending port.
        marked: Frames marked at the sending port; `None` if it does not mark.
        lost: Random losses at the receiving port; `None` if it has none configured.
        queue_max_bytes: Longest queue that a frame has met; `None` if the port does not mark.
    """

    from_node: str
    from_port: int
    to_node: str
    to_port: int
    tx_bytes: int
    tx_packets: int
    drops: int
    backlog_bytes: int
    marked: int | None
    lost: int | None
    queue_max_bytes: int | None


@dataclass(frozen=True)
class _Interface:
    tx_bytes: int
    tx_packets: int
    tx_dropped: int
    queue_drops: int
    backlog_bytes: int


def counters(lab: Lab) -> list[LinkCounters]:
    """Return both directions of every link of a lab.

    Raises:
        LabError: One of its namespaces no longer exists.
    """
    counted = _programs(lab)
    rows = []
    for node in lab.blueprint.nodes:
        interfaces = namespaces.inside(node.namespace, _read)
        rows += [_row(node, port, interfaces[port.interface], counted) for port in node.ports]
    return rows


def _programs(lab: Lab) -> dict[tuple[str, int], PortCounts]:
    if lab.marks_map is None:
        return {}
    return marking.counts(lab.blueprint, lab.marks_map)


def _row(
    node: Node, port: Port, interface: _Interface, counted: Mapping[tuple[str, int], PortCounts]
) -> LinkCounters:
    own_counts, peer_counts = counted.get((node.name, port.number)), counted.get((port.peer, port.peer_port))
    marks = own_counts if port.marking is not None else None
    return LinkCounters(
        from_node=node.name,
        from_port=port.number,
        to_node=port.peer,
        to_port=port.peer_port,
        tx_bytes=interface.tx_bytes,
        tx_packets=interface.tx_packets,
        drops=interface.tx_dropped + interface.queue_drops,
        backlog_bytes=interface.backlog_bytes,
        marked=None if marks is None else marks.marked,
        lost=None if peer_counts is None or not port.lost_ppm else peer_counts.lost,
        queue_max_bytes=None if marks is None else marks.queue_max_bytes,
    )


def _read() -> dict[str, _Interface]:
    """Return the counters of the interfaces of this thread's namespace."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        queues = {
            queue["index"]: queue.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")
            for queue in netlink.get_qdiscs()
            if queue.get_attr("TCA_KIND") == "tbf"
        }
        links = {link["index"]: link.get_attr("IFLA_STATS64") for link in netlink.get_links()}
        return {
            name: _interface(links[index], queues[index])
            for name, index in interface_indices(netlink).items()
            if index in queues
        }


def _interface(link: Mapping[str, Any], queue: Mapping[str, Any]) -> _Interface:
    return _Interface(
        tx_bytes=link["tx_bytes"],
        tx_packets=link["tx_packets"],
        tx_dropped=link["tx_dropped"],
        queue_drops=queue["drops"],
        backlog_bytes=queue["backlog"],
    )
