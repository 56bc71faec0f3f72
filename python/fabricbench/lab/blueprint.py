"""Computes the description of a lab from a run spec: nodes, ports, shaped links, routes. Creates nothing.

A lab is a plan's fabric in network namespaces. At scale N, the fabric's clock runs N times slower: a link has
an N-th of its rate, while buffers and ECN thresholds keep their bytes, so that filling and draining a queue
takes N times as long, like everything else.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict

from fabricbench.lab.errors import LabError
from fabricbench.lab.omissions import Omission, is_loss_from_start, omissions
from fabricbench.lab.routing import next_hops
from fabricbench.plan._run_spec import FabricSpec, RunSpec, SwitchSpec

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description, LinkDescription, PathChoice

NODES_MAX: Final = 512
"""Maximum namespaces of one lab; each takes about 50 ms to create."""
LINKS_MAX: Final = 4_096
"""Maximum cables of one lab."""
RATE_BPS_MIN: Final = 1_000_000
"""Slowest link; a frame of 4 KB takes 33 ms on it."""
PINS_MAX: Final = 1_024
"""Maximum queue pairs with routing rules at one switch: the kernel scans all of them for each packet, at
about 10 ns each."""
RATE_BPS_MAX: Final = 32_000_000_000
"""Fastest link: the limit of the shaper's 32-bit rate in bytes/s, and more than a core forwards."""

ROCE_HEADERS_BYTES: Final = 104
"""Bytes of an IP packet beyond the RoCE MTU: IPv6, UDP, BTH, the longest extended headers, ICRC. A RoCE MTU
of 4096 needs 4200, as adapter vendors recommend."""
IP_MTU_MIN_BYTES: Final = 1_500
ETHERNET_HEADER_BYTES: Final = 14
HOST_QUEUE_BYTES: Final = 64 << 20
"""Queue of a host port: longer than the unsent data of its sockets, so that a host, like a NIC, never drops
its own packets."""
IN_FLIGHT_PACKETS_MAX: Final = 1_024
_IN_FLIGHT_MIN: Final = 64
_BURST_US: Final = 800
_BURST_US_MIN: Final = 200
_BURST_LATE_US: Final = 10_000
_BURSTS_PER_CHUNK: Final = 128
_BURST_BYTES_MAX: Final = 32_768
_QUEUE_BYTES_MAX: Final = (1 << 32) - 1
_FIRST_LOOPBACK: Final = IPv4Address("100.64.0.1")  # RFC 6598: shared address space
_LOOPBACKS: Final = IPv4Network("100.64.0.0/16")
"""Addresses of switches; hosts of a lab may not have them."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Marking(_Model):
    """ECN marking by queue length: 0 up to Kmin, linear to Pmax at Kmax, every frame from Kmax on.

    Attributes:
        kmin_bytes: Kmin.
        kmax_bytes: Kmax.
        pmax_ppm: Pmax [parts per million].
    """

    kmin_bytes: int
    kmax_bytes: int
    pmax_ppm: int


class Port(_Model):
    """One end of a cable.

    Attributes:
        number: Port number at its node.
        peer: Node at the other end.
        peer_port: Port number there.
        rate_bps: Rate at the lab's scale.
        burst_bytes: Burst of the shaper. It splits longer batches of segments (GSO), so that their frames are
            queued and dropped one by one.
        queue_bytes: Queue capacity; more is dropped.
        mac: MAC address of this end.
        peer_mac: MAC address of the other end.
        address: IP address, if the node is a host.
        marking: ECN, if this end marks.
        lost_ppm: Arriving frames that are lost [parts per million].
    """

    number: int
    peer: str
    peer_port: int
    rate_bps: int
    burst_bytes: int
    queue_bytes: int
    mac: str
    peer_mac: str
    address: str | None
    marking: Marking | None
    lost_ppm: int

    @property
    def interface(self) -> str:
        """Name of the network interface."""
        return f"port{self.number}"


class Route(_Model):
    """Route of a switch to a host port.

    Attributes:
        address: IP address of the host port.
        ports: Equal next hops, by port of the switch.
        mac: MAC address of the host port, if it is attached to this switch.
    """

    address: str
    ports: tuple[int, ...]
    mac: str | None


class Pin(_Model):
    """Next hop of a queue pair's data at a switch with several.

    Attributes:
        source: Source IP address.
        destination: Destination IP address.
        source_port: UDP source port.
        port: Port of the switch.
    """

    source: str
    destination: str
    source_port: int
    port: int


class Node(_Model):
    """A host or a switch.

    Attributes:
        name: Name in the plan's engine.
        kind: Host or switch.
        namespace: Name of its network namespace.
        loopback: Address of a switch, from which it answers traceroute and packets that are too long.
        hash_seed: Seed of a switch's hash over equal next hops.
        ports: Its ports, by number.
        routes: Routes of a switch.
        pins: Queue pairs with the path of the simulator; others follow the kernel's hash.
    """

    name: str
    kind: Literal["host", "switch"]
    namespace: str
    loopback: str | None
    hash_seed: int
    ports: tuple[Port, ...]
    routes: tuple[Route, ...]
    pins: tuple[Pin, ...] = ()

    @property
    def addresses(self) -> list[str]:
        """IP addresses of its ports."""
        return [port.address for port in self.ports if port.address is not None]


class Blueprint(_Model):
    """A lab.

    Attributes:
        name: Its name.
        plan: Name of its plan.
        scale: Factor by which its clock is slower than the plan's.
        mtu_bytes: IP MTU of every interface.
        nodes: Hosts, then switches.
        omissions: Parts of the plan that it does not have.
        acknowledgements_first: Whether acknowledgements overtake data at every port.
    """

    name: str
    plan: str
    scale: int
    mtu_bytes: int
    nodes: tuple[Node, ...]
    omissions: tuple[Omission, ...]
    acknowledgements_first: bool = False

    @property
    def hosts(self) -> list[Node]:
        """Hosts, in the order of the plan."""
        return [node for node in self.nodes if node.kind == "host"]

    @property
    def switches(self) -> list[Node]:
        """Switches."""
        return [node for node in self.nodes if node.kind == "switch"]

    @property
    def batch_packets(self) -> int:
        """Maximum packets of a queue pair in one batch (GSO), which all ports then forward as one.

        As many as fit into the burst of every shaper, at most 32 KiB: one timer and one pass through the
        kernel per frame is too much for a machine at some Gb/s. 1 if ports mark or lose frames, which must be
        done per frame.
        """
        ports = [port for node in self.nodes for port in node.ports]
        if any(port.marking is not None or port.lost_ppm for port in ports):
            return 1
        frame = self.mtu_bytes + ETHERNET_HEADER_BYTES
        return max(1, min((port.burst_bytes // frame for port in ports), default=1))

    @property
    def in_flight_packets(self) -> int:
        """Maximum packets of a host in flight, over all its queue pairs.

        The packets that its port sends in 20 ms, ten round trips through the fabric, from 64 to 1,024: more
        would only queue in the host and take processor time from the other hosts at the start. 1,024, the
        default of endpoints, if queue pairs have several paths: those on a shared uplink hold most of the
        packets while others run, and the queue of the uplink should grow as in the twin.
        """
        if any(len(route.ports) > 1 for node in self.switches for route in node.routes):
            return IN_FLIGHT_PACKETS_MAX
        rates = [port.rate_bps for node in self.hosts for port in node.ports]
        return min(max(_IN_FLIGHT_MIN, max(rates) // 50 // 8 // self.mtu_bytes), IN_FLIGHT_PACKETS_MAX)


def blueprint(
    name: str,
    plan: str,
    spec: RunSpec,
    description: Description,
    scale: int,
    choices: Sequence[PathChoice] = (),
    chunk_bytes: int = 0,
    *,
    paced: bool = False,
) -> Blueprint:
    """Return the lab of a run spec.

    Args:
        name: Name of the lab.
        plan: Name of the plan.
        spec: A run spec of the plan.
        description: The engine's description of that spec.
        scale: Divisor of rates.
        choices: Path of each queue pair; those without one follow the kernel's hash.
        chunk_bytes: Mean size of the jobs' chunks; 0 if unknown.
        paced: Hosts pace themselves to the rate of their port, as endpoints do (`port_rate_bps`).

    Raises:
        LabError: The fabric is too large, or its links are too slow or too fast.
    """
    _check_extent(description, scale)
    mtu = _ip_mtu(spec)
    bursts = Bursts(mtu, chunk_bytes, paced=paced)
    ports = _ports(spec["fabric"], description, scale, bursts)
    routes = next_hops(description)
    macs = {
        port.address: port.mac
        for node_ports in ports.values()
        for port in node_ports
        if port.address is not None
    }
    pins = _pins(description, choices)
    nodes = []
    for number, node in enumerate(description["nodes"]):
        is_switch = node["kind"] == "switch"
        node_name = node["name"]
        nodes.append(
            Node(
                name=node_name,
                kind=node["kind"],
                namespace=f"fb-{name}-{node_name}",
                loopback=str(_FIRST_LOOPBACK + number) if is_switch else None,
                hash_seed=zlib.crc32(f"{spec['seed']}/{node_name}".encode()) or 1,
                ports=tuple(sorted(ports[node_name], key=lambda port: port.number)),
                routes=tuple(
                    Route(
                        address=hop.address, ports=hop.ports, mac=macs[hop.address] if hop.attached else None
                    )
                    for hop in routes.get(node_name, ())
                ),
                pins=tuple(pins[node_name]),
            )
        )
    has_choices = any(len(route.ports) > 1 for node in nodes for route in node.routes)
    unpinned = _unpinned(choices, pins) if has_choices else ""
    plan_omissions = omissions(spec, description, scale, unpinned=unpinned)
    priorities = spec["transport"]["priorities"]
    is_strict = spec["fabric"]["switch"]["scheduling"]["kind"] == "strict"
    return Blueprint(
        name=name,
        plan=plan,
        scale=scale,
        mtu_bytes=mtu,
        nodes=tuple(nodes),
        omissions=tuple(plan_omissions),
        acknowledgements_first=is_strict and priorities["ack"] > priorities["data"],
    )


def _pins(description: Description, choices: Sequence[PathChoice]) -> defaultdict[str, list[Pin]]:
    """Return the pins of each switch; a switch with too many gets none."""
    pairs = {pair["qp"]: pair for pair in description["qps"]} if choices else {}
    pins = defaultdict[str, list[Pin]](list)
    for choice in choices:
        pair = pairs[choice["qp"]]
        pins[choice["switch"]].append(
            Pin(
                source=pair["src_ip"],
                destination=pair["dst_ip"],
                source_port=pair["udp_source_port"],
                port=choice["port"],
            )
        )
    for switch, own in pins.items():
        if len(own) > PINS_MAX:
            pins[switch] = []
    return pins


def _unpinned(choices: Sequence[PathChoice], pins: dict[str, list[Pin]]) -> str:
    """Describe which queue pairs follow the kernel's hash, and why; empty if none does."""
    if not choices:
        return "all queue pairs"
    switches = {choice["switch"] for choice in choices}
    free = sorted(name for name in switches if not pins[name])
    return f"queue pairs at {', '.join(free[:4])}, more than {PINS_MAX:,} at a switch" if free else ""


def _check_extent(description: Description, scale: int) -> None:
    for count, allowed, noun in (
        (len(description["nodes"]), NODES_MAX, "hosts and switches"),
        (len(description["links"]), LINKS_MAX, "links"),
    ):
        if count > allowed:
            raise LabError(
                f"the plan's fabric has {count:,} {noun}; a lab has at most {allowed:,}",
                "make the fabric smaller, as with -s fabric.topology.leaves=2",
            )
    for link in description["links"]:
        if link["from_ip"] is not None and IPv4Address(link["from_ip"]) in _LOOPBACKS:
            raise LabError(
                f"host {link['from']} has the address {link['from_ip']}; "
                f"allowed: addresses outside {_LOOPBACKS}, which switches of labs have",
                "choose another `fabric.addresses.subnet`",
            )
        rate = link["rate_bps"] // scale
        if not RATE_BPS_MIN <= rate <= RATE_BPS_MAX:
            names = f"{link['from']}-{link['to']}"
            word = "smaller" if rate < RATE_BPS_MIN else "larger"
            raise LabError(
                f"link {names} would have {rate:,} bit/s at scale {scale:,}; "
                f"allowed: {RATE_BPS_MIN:,} to {RATE_BPS_MAX:,}",
                f"choose a {word} --scale",
            )


def _ip_mtu(spec: RunSpec) -> int:
    """Return the IP MTU that fits the packets of the plan's transports."""
    tcp = [stream["mtu_bytes"] for stream in spec["tcp"]]
    return max(IP_MTU_MIN_BYTES, spec["transport"]["mtu_bytes"] + ROCE_HEADERS_BYTES, *tcp)


def _ports(
    fabric: FabricSpec, description: Description, scale: int, bursts: Bursts
) -> defaultdict[str, list[Port]]:
    """Return the ports of each node."""
    hosts = {node["name"] for node in description["nodes"] if node["kind"] == "host"}
    lost = _losses(fabric, description)
    ports = defaultdict[str, list[Port]](list)
    for number, link in enumerate(description["links"]):
        rate = link["rate_bps"] // scale
        own_macs = (link["from_mac"], link["to_mac"])  # set for cables of hosts; the lab assigns the others
        macs = [mac or f"02:0{end}:" + number.to_bytes(4, "big").hex(":") for end, mac in enumerate(own_macs)]
        ends = (
            (link["from"], link["from_port"], link["from_ip"]),
            (link["to"], link["to_port"], None),
        )
        for end, (node, port, address) in enumerate(ends):
            peer, peer_port, _ = ends[1 - end]
            is_host = node in hosts
            ports[node].append(
                Port(
                    number=port,
                    peer=peer,
                    peer_port=peer_port,
                    rate_bps=rate,
                    burst_bytes=bursts.of_host(rate) if is_host else bursts.of_switch(rate),
                    queue_bytes=(
                        HOST_QUEUE_BYTES
                        if is_host
                        else switch_queue_bytes(fabric["switch"], bursts.mtu_bytes)
                    ),
                    mac=macs[end],
                    peer_mac=macs[1 - end],
                    address=address,
                    marking=None if is_host else _marking(fabric["switch"], link["rate_bps"]),
                    lost_ppm=lost[number],
                )
            )
    return ports


@dataclass(frozen=True)
class Bursts:
    """Burst sizes of a lab's shapers, chosen so that late timers do not reduce the rate.

    Attributes:
        mtu_bytes: IP MTU.
        chunk_bytes: Mean size of the jobs' chunks; 0 if unknown.
        paced: Hosts pace themselves to the rate of their port.
    """

    mtu_bytes: int
    chunk_bytes: int = 0
    paced: bool = False

    def of_switch(self, rate_bps: int) -> int:
        """Return the burst of a switch port.

        One frame, so that a port forwards frames like a cut-through switch, plus a 128th of a chunk, which
        changes the chunk's time by no more than that, limited to 200 us to 10 ms at the link's rate. If the
        chunk size is unknown: 800 us, at least two frames. At most 32 KiB, half a batch of segments, or two
        frames.
        """
        least, usual, late = (_bytes_in(rate_bps, us) for us in (_BURST_US_MIN, _BURST_US, _BURST_LATE_US))
        frame = self.mtu_bytes + ETHERNET_HEADER_BYTES
        if self.chunk_bytes:
            burst = frame + min(max(self.chunk_bytes // _BURSTS_PER_CHUNK, least), late)
        else:
            burst = max(usual, 2 * frame)
        return min(burst, max(2 * frame, _BURST_BYTES_MAX))

    def of_host(self, rate_bps: int) -> int:
        """Return the burst of a host port: that of a switch port; if paced, at least 10 ms up to 32 KiB."""
        late = min(_bytes_in(rate_bps, _BURST_LATE_US), _BURST_BYTES_MAX) if self.paced else 0
        return max(self.of_switch(rate_bps), late)


def _bytes_in(rate_bps: int, us: int) -> int:
    return rate_bps * us // 8_000_000


def switch_queue_bytes(switch: SwitchSpec, mtu_bytes: int) -> int:
    """Return the maximum queue length of a single active port in a switch's shared buffer.

    With a dynamic threshold of alpha, a queue takes at most alpha times the free buffer, so a single one gets
    alpha / (1 + alpha) of the buffer (Choudhury and Hahne, 1998).
    """
    size, alpha = switch["buffer"]["size_bytes"], switch["buffer"]["lossy_alpha"]
    if alpha is not None:
        size = size * alpha["numerator"] // (alpha["numerator"] + alpha["denominator"])
    return min(max(size, mtu_bytes + ETHERNET_HEADER_BYTES), _QUEUE_BYTES_MAX)


def _marking(switch: SwitchSpec, rate_bps: int) -> Marking | None:
    ecn = switch["ecn"]
    if ecn is None:
        return None
    reference = ecn["reference_rate_bps"] or rate_bps
    kmin, kmax = (ecn[name] * rate_bps // reference for name in ("kmin_bytes", "kmax_bytes"))
    return Marking(kmin_bytes=kmin, kmax_bytes=kmax, pmax_ppm=ecn["pmax_ppm"])


def _losses(fabric: FabricSpec, description: Description) -> list[int]:
    """Return the loss rate of each link from the start of the run [parts per million]."""
    loss_by_link = {
        failure["link"]: failure["lost_ppm"]
        for failure in fabric["failures"]
        if failure["kind"] == "frame-loss" and is_loss_from_start(failure)
    }
    links_by_pair = defaultdict[frozenset[str], int](int)
    lost = []
    for link in description["links"]:
        pair = frozenset((link["from"], link["to"]))
        names = _link_names(link, links_by_pair[pair])
        links_by_pair[pair] += 1
        lost.append(next((ppm for name, ppm in loss_by_link.items() if name in names), 0))
    return lost


def _link_names(link: LinkDescription, which: int) -> set[str]:
    """Return the names that a plan may use for a link, the `which`-th between its two nodes."""
    pairs = (f"{link['from']}-{link['to']}", f"{link['to']}-{link['from']}")
    return {*pairs, *(f"{pair}:{which}" for pair in pairs)}
