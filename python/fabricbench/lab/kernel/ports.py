"""Configures links, addresses, routes and queues in the namespace of one node, over netlink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, collapse_addresses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.lab.blueprint import ETHERNET_HEADER_BYTES, Blueprint, Node, Port

if TYPE_CHECKING:
    from pyroute2 import IPRoute

GATEWAY: Final = "169.254.0.1"
"""Next hop address for the other end of every link: its MAC address is set statically on each port, so that
no ARP runs and ports need no addresses of their own (RFC 3927: link-local, never routed)."""
FRAMING_BYTES: Final = 24
"""Wire bytes that the kernel does not count: preamble and start 8, FCS 4, interframe gap 12
(IEEE 802.3-2022, 3.1.1 and 4.4.2).
"""
_SOURCE_TABLE: Final = 100
"""Routing table of a host's port 0; those of further ports follow."""
_PIN_TABLE: Final = 1_000
"""Routing table of a switch's port 0 for pins; those of further ports follow."""
_PIN_PRIORITY: Final = 100
"""Priority of pin rules: after the table of local addresses, before all others."""
_UDP: Final = 17
_SYSCTL: Final = Path("/proc/sys/net")

_EVERYWHERE: Final = {
    # A router without IPv6 sends no packets of its own, so the links have measured traffic only.
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    # Routes are not symmetric in a fabric of equal paths.
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
}
_OF_SWITCHES: Final = {
    "ipv4/ip_forward": "1",
    "ipv4/fib_multipath_hash_policy": "1",  # the 5-tuple (ip-sysctl)
    "ipv4/conf/all/send_redirects": "0",
    "ipv4/conf/default/send_redirects": "0",
}
_HASH_SEED: Final = "ipv4/fib_multipath_hash_seed"
"""Linux 6.11; before that, all namespaces hash equally, and tiers of a fat tree repeat each other's
choice."""


def prepare(node: Node) -> None:
    """Set the kernel's packet handling in this thread's namespace."""
    settings = _EVERYWHERE | (_OF_SWITCHES if node.kind == "switch" else {})
    for name, value in settings.items():
        path = _SYSCTL / name
        if path.exists():  # IPv6 may be missing
            path.write_text(value)
    if node.kind == "switch" and (_SYSCTL / _HASH_SEED).exists():
        (_SYSCTL / _HASH_SEED).write_text(str(node.hash_seed))


def plug_in(netlink: IPRoute, node: Node, blueprint: Blueprint, namespaces: Mapping[str, str]) -> None:
    """Create the links of this namespace to existing ones, with both ends.

    Args:
        netlink: Netlink socket of this namespace.
        node: The node.
        blueprint: Its lab.
        namespaces: Namespaces of the existing nodes.
    """
    for port in node.ports:
        if port.peer in namespaces and port.peer != node.name:
            peer = {
                "ifname": f"port{port.peer_port}",
                "net_ns_fd": namespaces[port.peer],
                "mtu": blueprint.mtu_bytes,
                "address": port.peer_mac,
            }
            netlink.link(
                "add",
                ifname=port.interface,
                kind="veth",
                mtu=blueprint.mtu_bytes,
                address=port.mac,
                peer=peer,
            )


def configure(netlink: IPRoute, node: Node) -> dict[str, int]:
    """Bring up the ports of a node with queues, neighbours, addresses and routes; return their indices."""
    indices = interface_indices(netlink)
    netlink.link("set", index=indices["lo"], state="up")
    for port in node.ports:
        index = indices[port.interface]
        netlink.link("set", index=index, state="up")
        netlink.neigh("add", dst=GATEWAY, lladdr=port.peer_mac, ifindex=index, state="permanent")
        _shape(netlink, index, port)
    if node.kind == "host":
        _address_host(netlink, node, indices)
    else:
        _route_switch(netlink, node, indices)
    return indices


def interface_indices(netlink: IPRoute) -> dict[str, int]:
    """Return the index of each interface of this namespace."""
    return {link.get_attr("IFLA_IFNAME"): link["index"] for link in netlink.get_links()}


def _address_host(netlink: IPRoute, node: Node, indices: Mapping[str, int]) -> None:
    """Give each port its address. Packets leave by the port of their source address, others by port 0."""
    for number, port in enumerate(node.ports):
        index = indices[port.interface]
        netlink.addr("add", index=index, address=port.address, prefixlen=32)
        route: dict[str, Any] = {
            "dst": "0.0.0.0/0",
            "gateway": GATEWAY,
            "oif": index,
            "flags": ["onlink"],
            "prefsrc": port.address,
        }
        if number == 0:
            netlink.route("add", **route)
        if len(node.ports) > 1:
            table = _SOURCE_TABLE + number
            netlink.route("add", table=table, **route)
            netlink.rule("add", src=port.address, src_len=32, table=table, priority=table)


def _route_switch(netlink: IPRoute, node: Node, indices: Mapping[str, int]) -> None:
    if node.loopback is not None:
        netlink.addr("add", index=indices["lo"], address=node.loopback, prefixlen=32)
    interfaces = {port.number: indices[port.interface] for port in node.ports}
    for route in node.routes:
        if route.mac is not None:
            (port,) = (interfaces[number] for number in route.ports)
            netlink.neigh("add", dst=route.address, lladdr=route.mac, ifindex=port, state="permanent")
            netlink.route("add", dst=f"{route.address}/32", oif=port, scope="link")
    for numbers, networks in _summarised(node):
        hops = [{"gateway": GATEWAY, "oif": interfaces[number], "flags": ["onlink"]} for number in numbers]
        for network in networks:
            if len(hops) == 1:
                netlink.route("add", dst=str(network), **hops[0])
            else:
                netlink.route("add", dst=str(network), multipath=hops)
    _pin(netlink, node, interfaces)


def _pin(netlink: IPRoute, node: Node, interfaces: Mapping[int, int]) -> None:
    """Route queue pairs to the ports of the plan: one rule per queue pair, one table per port."""
    for number in sorted({pin.port for pin in node.pins}):
        hop = {"gateway": GATEWAY, "oif": interfaces[number], "flags": ["onlink"]}
        netlink.route("add", table=_PIN_TABLE + number, dst="0.0.0.0/0", **hop)
    for pin in node.pins:
        netlink.rule(
            "add",
            src=pin.source,
            src_len=32,
            dst=pin.destination,
            dst_len=32,
            ip_proto=_UDP,
            sport_range=f"{pin.source_port}:{pin.source_port}",
            table=_PIN_TABLE + pin.port,
            priority=_PIN_PRIORITY,
        )


def _summarised(node: Node) -> Iterator[tuple[tuple[int, ...], list[IPv4Network]]]:
    """Yield each set of next hops with the smallest list of networks that covers exactly its addresses."""
    grouped = defaultdict[tuple[int, ...], list[IPv4Network]](list)
    for route in node.routes:
        if route.mac is None:
            grouped[route.ports].append(IPv4Network(route.address))
    for numbers, networks in grouped.items():
        yield numbers, list(collapse_addresses(networks))


def _shape(netlink: IPRoute, index: int, port: Port) -> None:
    """Give a port its rate and its queue: a token bucket (TBF) with tail drop.

    The kernel's request is built by hand, because pyroute2's helper omits the framing overhead.
    """
    from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST
    from pyroute2.netlink.rtnl import RTM_NEWQDISC, TC_H_ROOT
    from pyroute2.netlink.rtnl.tcmsg import tcmsg
    from pyroute2.netlink.rtnl.tcmsg.common import calc_xmittime

    rate = port.rate_bps // 8
    message = tcmsg()
    message["index"], message["parent"], message["handle"] = index, TC_H_ROOT, 0x10000
    parameters = {
        "rate": rate,
        "rate_overhead": FRAMING_BYTES,
        "buffer": calc_xmittime(rate, port.burst_bytes + FRAMING_BYTES),
        "limit": port.queue_bytes,
        "mtu": port.burst_bytes + ETHERNET_HEADER_BYTES,
    }
    options = {"attrs": [["TCA_TBF_PARMS", parameters], ["TCA_TBF_RTAB", True]]}
    message["attrs"] = [["TCA_KIND", "tbf"], ["TCA_OPTIONS", options]]
    message["header"]["type"] = RTM_NEWQDISC
    message["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    netlink.nlm_request_batch([message])
