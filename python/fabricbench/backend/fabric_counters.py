"""Converts counters of the links of a real fabric to rows of tables `links`, `ports` and `counters`.

`links` and `ports` contain only columns with the same meaning as in the simulator; their other columns are
null. A batch that software forwards as a whole counts as one packet with one set of headers, preamble and
gap. The number of frames is therefore unknown, and bytes are too low by the headers of the other frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from fabricbench.backend.host_counters import batch_of
from fabricbench.backend.protocol import Observation

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.plan.engine import Description

_FCS_BYTES: Final = 4
_FRAMING_BYTES: Final = 24
"""Preamble and start 8, FCS 4, gap between frames 12 (IEEE 802.3-2022, 3.1.1 and 4.4.2)."""
_PS_PER_S: Final = 10**12

_UNKNOWN_OF_PORTS: Final = (
    *("tx_frames", "rx_frames", "rx_bytes", "dropped_bytes", "fcs_error_bytes", "queue_max_bytes"),
    *(
        f"dropped_{cause}_{unit}"
        for cause in ("headroom", "wred", "watchdog")
        for unit in ("frames", "bytes")
    ),
    *("dropped_wred_yellow_frames", "dropped_wred_red_frames"),
    *("lost_link_down_frames", "lost_link_down_bytes", "pfc_tx", "pfc_rx"),
    *("pfc_xon_tx", "pfc_xon_rx", "pfc_storms", "paused_ps"),
    *("flow_control_tx", "flow_control_rx", "credit_wait_ps", "ecn_changes", "egress_qps"),
    *("credits_granted", "credit_granted_bytes", "voq_max_bytes", "reassembly_max_bytes"),
)
OBSERVED: Final[Mapping[str, Observation]] = {
    "ports": {"at": "device", "unmeasured": _UNKNOWN_OF_PORTS},
    "links": {"at": "device", "unmeasured": ("frames",)},
}
"""Tables that such a fabric adds to a record."""


class LinkCounts(Protocol):
    """Counters of one direction of a link; `lab.kernel.counters.LinkCounters` implements it."""

    @property
    def from_node(self) -> str:
        """Node that sends."""

    @property
    def from_port(self) -> int:
        """Port of the node that sends."""

    @property
    def to_node(self) -> str:
        """Node that receives."""

    @property
    def tx_bytes(self) -> int:
        """Bytes sent, without preamble, FCS and gap."""

    @property
    def tx_packets(self) -> int:
        """Packets sent."""

    @property
    def drops(self) -> int:
        """Packets dropped because the queue of the sending port was full."""

    @property
    def marked(self) -> int | None:
        """Frames marked by the sending port; None if it never marks."""

    @property
    def lost(self) -> int | None:
        """Frames lost at ingress of the receiving port; None if it never loses any."""

    @property
    def queue_max_bytes(self) -> int | None:
        """Longest queue at the sending port; None if it is not monitored."""


ReadLinks = Callable[[], Sequence[LinkCounts]]
"""Reads the counters of both directions of every link of a fabric."""
_End = tuple[str, int]
_Ends = Mapping[_End, LinkCounts]


def fabric_rows(
    description: Description, before: Sequence[LinkCounts], after: Sequence[LinkCounts]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each table.

    Args:
        description: The plan's fabric, with the same names of nodes and ports as the counters.
        before: Counters before the run.
        after: Counters after the run.
    """
    import pyarrow as pa

    counts_before, counts_after = (
        {(counters.from_node, counters.from_port): counters for counters in counts}
        for counts in (before, after)
    )
    link_rows = _link_rows(description, counts_before, counts_after)
    links = [row | {"frames": None} for row in link_rows.values()]
    yield "links", pa.RecordBatch.from_pylist(links)
    yield "ports", pa.RecordBatch.from_pylist(_port_rows(description, link_rows, counts_before, counts_after))
    yield (
        "counters",
        batch_of([row for end in link_rows for row in _counter_rows(counts_before[end], counts_after[end])]),
    )


def _link_rows(description: Description, before: _Ends, after: _Ends) -> dict[_End, dict[str, Any]]:
    """Return the rows of `links` by their sending ends, for both directions of each cable."""
    rows: dict[_End, dict[str, Any]] = {}
    for link in description["links"]:
        ends = ((link["from"], link["from_port"]), (link["to"], link["to_port"]))
        for end, (peer, peer_port) in (ends, ends[::-1]):
            packets = after[end].tx_packets - before[end].tx_packets
            sent_bytes = after[end].tx_bytes - before[end].tx_bytes
            occupied_bits = 8 * (sent_bytes + _FRAMING_BYTES * packets)
            rows[end] = {
                "from": end[0],
                "from_port": end[1],
                "to": peer,
                "to_port": peer_port,
                "tier": link["tier"],
                "rate_bps": link["rate_bps"],
                "bytes": sent_bytes + _FCS_BYTES * packets,
                "busy_ps": occupied_bits * _PS_PER_S // link["rate_bps"],
            }
    return rows


def _port_rows(
    description: Description, links: Mapping[_End, Mapping[str, Any]], before: _Ends, after: _Ends
) -> list[dict[str, Any]]:
    """Return the rows of `ports`, ordered by node."""
    positions = {node["name"]: (position, node["tier"]) for position, node in enumerate(description["nodes"])}
    rows = []
    for end in sorted(links, key=lambda each: (positions[each[0]][0], each[1])):
        link = links[end]
        opposite_end = (link["to"], link["to_port"])
        row = {
            "node": end[0],
            "tier": positions[end[0]][1],
            "port": end[1],
            "peer": link["to"],
            "tx_bytes": link["bytes"],
            "dropped_frames": after[end].drops - before[end].drops,
            "fcs_error_frames": (after[opposite_end].lost or 0) - (before[opposite_end].lost or 0),
            "ecn_marked": (after[end].marked or 0) - (before[end].marked or 0),
        }
        rows.append(row | dict.fromkeys(_UNKNOWN_OF_PORTS))
    return rows


def _counter_rows(before: LinkCounts, after: LinkCounts) -> Iterator[dict[str, Any]]:
    """Yield counters whose meaning differs from the columns of `links` and `ports`."""
    definitions = {
        "tx_packets": ("packets", "Packets sent; a batch of frames that was forwarded whole counts as one."),
        "queue_max_bytes": ("bytes", "Longest queue that a frame has met since the lab was made."),
    }
    device = f"port{after.from_port} to {after.to_node}"
    for name, (unit, meaning) in definitions.items():
        values = {"before": getattr(before, name), "after": getattr(after, name)}
        if values["after"] is not None:
            identity = {"host": after.from_node, "device": device, "source": "lab", "vendor_name": name}
            yield identity | {"name": name, "unit": unit, "meaning": meaning} | values
