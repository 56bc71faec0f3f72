"""Draws random small fabrics for plans: topologies, links, load balancing, switches, NICs, failures.

A fabric is drawn as a user would write it. Invalid combinations (PFC on InfiniBand, failures of a scheduled
fabric) are mostly avoided here; the plan's checks must refuse the others with a clear error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tools.swarm import servers
from tools.swarm.random_draws import Draw

Fields = dict[str, Any]

RATES = ("3Gbps", "10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps")
LENGTHS = ("17cm", "1m", "3m", "3m", "30m", "30m", "100m", "1km")
SIZES = ("10000", "64KB", "150KB", "1MB", "4MB", "16MB", "64MB", "64MB")
"""Buffer sizes; reserves and headroom of PFC need the larger ones."""


@dataclass(frozen=True)
class Drawn:
    """A fabric, with the facts that other parts of a plan need.

    Attributes:
        fields: Fields of `fabric`.
        hosts: Number of hosts; servers, where there are some.
        links: Names of its links, as used in plans.
        switches: Names of its switches.
        kind: `ethernet`, `infiniband` or `scheduled`.
        gpus: GPUs of each server; none where hosts are no servers.
    """

    fields: Fields
    hosts: int
    links: tuple[str, ...]
    switches: tuple[str, ...]
    kind: str
    gpus: int | None = None

    @property
    def ranks(self) -> int:
        """Return the number of hosts that a job can have as ranks, or of GPUs."""
        return self.hosts * (self.gpus or 1)


@dataclass(frozen=True)
class Graph:
    """A topology with its number of hosts and the names of its links and switches."""

    fields: Fields
    hosts: int
    links: tuple[str, ...]
    switches: tuple[str, ...]


def link(draw: Draw) -> Fields | str:
    """Return a link, sometimes only its rate."""
    rate = draw.pick(RATES)
    return {"rate": rate, "length": draw.pick(LENGTHS)} if draw.chance(0.7) else rate


def _single_switch(draw: Draw) -> Graph:
    hosts = draw.whole(2, 12)
    links = tuple(f"host{host}-leaf0" for host in range(hosts))
    return Graph({"kind": "single-switch", "hosts": hosts, "host_link": link(draw)}, hosts, links, ("leaf0",))


def _full_mesh(draw: Draw) -> Graph:
    hosts = draw.whole(2, 12)
    return Graph({"kind": "full-mesh", "hosts": hosts, "host_link": link(draw)}, hosts, (), ())


def _leaf_spine(draw: Draw) -> Graph:
    leaves, hosts, spines = draw.whole(2, 4), draw.whole(1, 4), draw.whole(1, 4)
    fields: Fields = {"kind": "leaf-spine", "leaves": leaves, "hosts_per_leaf": hosts, "spines": spines}
    if draw.chance(0.3):
        fields["links_per_spine"] = draw.whole(1, 3)
    fields |= {"host_link": link(draw), "fabric_link": link(draw)}
    links = [f"host{host}-leaf{host // hosts}" for host in range(leaves * hosts)]
    links += [f"leaf{leaf}-spine{spine}" for leaf in range(leaves) for spine in range(spines)]
    switches = [f"leaf{leaf}" for leaf in range(leaves)] + [f"spine{spine}" for spine in range(spines)]
    return Graph(fields, leaves * hosts, tuple(links), tuple(switches))


def _fat_tree(draw: Draw) -> Graph:
    pods, leaves, hosts = draw.whole(2, 3), draw.whole(1, 2), draw.whole(1, 3)
    aggs, cores = draw.whole(1, 2), draw.whole(1, 2)
    fields = {
        "kind": "fat-tree",
        "pods": pods,
        "leaves_per_pod": leaves,
        "hosts_per_leaf": hosts,
        "aggs_per_pod": aggs,
        "cores_per_agg": cores,
        "host_link": link(draw),
        "fabric_link": link(draw),
        "core_link": link(draw),
    }
    count = pods * leaves * hosts
    links = tuple(f"host{host}-leaf{host // hosts}" for host in range(count))
    switches = tuple(f"leaf{leaf}" for leaf in range(pods * leaves))
    return Graph(fields, count, links, switches)


def _rails(draw: Draw) -> Graph:
    servers, rails = draw.whole(2, 4), draw.whole(1, 4)
    spines = draw.whole(1, 3)
    fields: Fields = {"kind": "rail-optimised", "servers": servers, "rails": rails, "spines": spines}
    fields |= {"host_link": link(draw), "fabric_link": link(draw)}
    if draw.chance(0.5):
        fields["scale_up_link"] = draw.pick(("900Gbps", "1800Gbps", {"rate": "100Gbps", "length": "50cm"}))
    count = servers * rails
    links = [f"host{host}-rail{host % rails}" for host in range(count)]
    links += [f"rail{rail}-spine{spine}" for rail in range(rails) for spine in range(spines)]
    switches = [f"rail{rail}" for rail in range(rails)] + [f"spine{spine}" for spine in range(spines)]
    return Graph(fields, count, tuple(links), tuple(switches))


def _rails_of_servers(draw: Draw) -> Graph:
    """Return rails for servers of eight GPUs, as shipped ones have."""
    fields: Fields = {"kind": "rail-optimised", "servers": 2, "rails": 8, "spines": draw.whole(1, 2)}
    fields |= {"host_link": link(draw), "fabric_link": link(draw)}
    links = [f"host{host}-rail{host % 8}" for host in range(16)]
    links += [f"rail{rail}-spine{spine}" for rail in range(8) for spine in range(fields["spines"])]
    switches = [f"rail{rail}" for rail in range(8)] + [f"spine{spine}" for spine in range(fields["spines"])]
    return Graph(fields, 16, tuple(links), tuple(switches))


def _rail_pods(draw: Draw) -> Graph:
    pods, servers, rails = draw.whole(1, 2), draw.whole(1, 2), draw.whole(2, 3)
    spines, cores = draw.whole(1, 2), draw.whole(1, 2)
    fields: Fields = {
        "kind": "rail-pods",
        "pods": pods,
        "servers_per_pod": servers,
        "rails": rails,
        "spines_per_rail": spines,
        "cores_per_spine": cores,
        "links_per_core": draw.whole(1, 2),
        "host_link": link(draw),
        "fabric_link": link(draw),
        "core_link": link(draw),
    }
    if draw.chance(0.5):
        fields["scale_up_link"] = "900Gbps"
    count = pods * servers * rails
    leaf_of_host = [host // rails // servers * rails + host % rails for host in range(count)]
    links = [f"host{host}-leaf{leaf}" for host, leaf in enumerate(leaf_of_host)]
    links += [
        f"leaf{leaf}-spine{leaf % rails * spines + spine}"
        for leaf in range(pods * rails)
        for spine in range(spines)
    ]
    switches = [f"leaf{leaf}" for leaf in range(pods * rails)]
    switches += [f"spine{spine}" for spine in range(rails * spines)]
    return Graph(fields, count, tuple(links), tuple(switches))


def _planes(draw: Draw) -> Graph:
    planes, leaves, hosts, spines = (draw.whole(1, 3) for _ in range(4))
    fields: Fields = {"kind": "multi-plane", "planes": planes, "leaves": leaves, "hosts_per_leaf": hosts + 1}
    fields |= {"spines": spines, "host_link": link(draw), "fabric_link": link(draw)}
    count = leaves * (hosts + 1)
    links = [
        f"host{host}-leaf{plane * leaves + host // (hosts + 1)}"
        for plane in range(planes)
        for host in range(count)
    ]
    links += [
        f"leaf{plane * leaves + leaf}-spine{plane * spines + spine}"
        for plane in range(planes)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    switches = [f"leaf{leaf}" for leaf in range(planes * leaves)]
    switches += [f"spine{spine}" for spine in range(planes * spines)]
    return Graph(fields, count, tuple(links), tuple(switches))


def _custom(draw: Draw) -> Graph:
    """Return a tree of switches, mostly with additional links."""
    count = draw.whole(2, 5)
    hosts = [draw.whole(0 if index else 1, 3) for index in range(count)]
    hosts[-1] = max(hosts[-1], 1)
    pairs = [(draw.whole(0, index - 1), index) for index in range(1, count)]
    for _ in range(draw.whole(0, 3)):
        switch, other_switch = draw.whole(0, count - 1), draw.whole(0, count - 1)
        pairs += [(switch, other_switch)] if switch != other_switch else []
    links = [
        {"between": [f"s{switch}", f"s{other_switch}"], "count": draw.whole(1, 2), "link": link(draw)}
        for switch, other_switch in pairs
    ]
    fields = {
        "kind": "custom",
        "switches": [{"name": f"s{index}", "hosts": host_count} for index, host_count in enumerate(hosts)],
        "links": links,
        "host_link": link(draw),
    }
    names = [f"s{switch}-s{other_switch}" for switch, other_switch in dict.fromkeys(pairs)]
    return Graph(fields, sum(hosts), tuple(names), tuple(f"s{index}" for index in range(count)))


TOPOLOGIES = (
    _single_switch,
    _leaf_spine,
    _leaf_spine,
    _fat_tree,
    _rails,
    _rail_pods,
    _planes,
    _custom,
    _custom,
    _full_mesh,
)

OF_SERVERS = (
    _rails,
    _rails,
    _rails,
    _rails_of_servers,
    _rail_pods,
    _leaf_spine,
    _leaf_spine,
    _single_switch,
    _fat_tree,
    _custom,
    _full_mesh,
)
"""Topologies whose hosts can be adapters of servers."""


def _with_servers(draw: Draw, graph: Graph) -> tuple[Fields, Graph, int]:
    """Return the field of a server, if any, the graph with servers as its hosts, and the GPUs of each."""
    server, gpus, nics = servers.server(draw, graph.fields, graph.hosts)

    def name(link: str) -> str:
        node, _, rest = link.partition("-")
        number = node.removeprefix("host")
        return f"host{int(number) // nics}-{rest}" if number.isdigit() else link

    links = tuple(dict.fromkeys(map(name, graph.links)))
    field = {} if server is None else {"server": server}
    return field, Graph(graph.fields, graph.hosts // nics, links, graph.switches), gpus


def _graph(draw: Draw) -> tuple[Fields, Graph, int | None]:
    """Return the field of a server, if any, a graph, and the GPUs of each host that is a server."""
    if not draw.chance(servers.SHARE):
        return {"server": "none"}, draw.pick(TOPOLOGIES)(draw), None
    graph = draw.pick(OF_SERVERS)(draw)
    while graph.hosts == graph.fields.get("rails"):
        graph = _rail_pods(draw)  # with a single server
    return _with_servers(draw, graph)


def fabric(draw: Draw) -> Drawn:
    """Return a fabric."""
    server, graph, gpus = _graph(draw)
    topology = graph.fields["kind"]
    kinds: tuple[str, ...] = (*("ethernet",) * 7, "infiniband")
    if topology in ("leaf-spine", "single-switch"):
        kinds += ("scheduled",) * 2
    kind = draw.pick(kinds)
    fields: Fields = {"topology": graph.fields} | server
    if draw.chance(0.4):
        fields["propagation"] = draw.pick(("0", "4ns/m", "5ns/m", "7ns/m", "7ns/m"))
    if kind == "infiniband":
        fields["link_layer"] = _infiniband(draw)
    if kind != "scheduled" and topology != "full-mesh" and draw.chance(0.85):
        fields["load_balancing"] = _balancing(draw)
    fields["switch"] = _switch(draw, kind)
    if draw.chance(0.5):
        fields["nic"] = _nic(draw, graph.hosts, kind)
    if gpus is None and draw.chance(0.2):
        fields["shared_memory"] = {"rate": draw.pick(RATES), "latency": draw.time(0, 2_000_000)}
    _add_disturbances(draw, fields, graph, kind)
    return Drawn(fields, graph.hosts, graph.links, graph.switches, kind, gpus)


def _add_disturbances(draw: Draw, fields: Fields, graph: Graph, kind: str) -> None:
    """Sometimes add delays of single links, and failures."""
    if kind != "scheduled" and graph.links and draw.chance(0.15):
        fields["extra_delays"] = [
            {"link": name, "delay": draw.time(1_000, 20_000_000)}
            for name in draw.some(graph.links, draw.whole(1, min(3, len(graph.links))))
        ]
    if kind == "ethernet" and graph.links and draw.chance(0.2):
        fields |= _failures(draw, graph)
        if any(failure["kind"] == "link-rate" for failure in fields["failures"]):
            fields["switch"]["forwarding"] = "store-and-forward"


def _infiniband(draw: Draw) -> str | Fields:
    if draw.chance(0.3):
        return "infiniband"
    buffer = draw.pick(("4608", "8KB", "16KB", "64KB", "128KB"))
    return {"infiniband": {"vl_buffer": buffer, "credit_interval": draw.pick(("0", "100ns", "256ns", "2us"))}}


def _balancing(draw: Draw) -> str | Fields:
    kind = draw.pick(
        ("ecmp", "hash", "flowlet", "spray-random", "spray-round-robin", "adaptive", "d-mod-k", "weighted")
    )
    if kind == "hash":
        return {"kind": "ecmp", "hash": draw.pick(("crc", "toeplitz")), "include_qp": draw.chance(0.5)}
    if kind == "flowlet":
        return {"kind": "flowlet", "gap": draw.time(100_000, 50_000_000)}
    if kind == "weighted":
        return {"kind": "weighted", "weights": [draw.whole(1, 4) for _ in range(draw.whole(1, 4))]}
    return kind


def _switch(draw: Draw, kind: str) -> Fields:
    fields: Fields = {}
    if kind != "scheduled" and draw.chance(0.6):
        fields["forwarding"] = draw.pick(("store-and-forward", "cut-through"))
    if draw.chance(0.6):
        fields["pipeline_latency"] = draw.pick(("100ns", "130ns", "500ns", "500ns", "1us", "3us", "0"))
    if draw.chance(0.4):
        fields["scheduling"] = _scheduling(draw)
    if kind != "infiniband" and draw.chance(0.35):
        fields["pfc"] = _pfc(draw, kind)
    if draw.chance(0.7):
        sizes = SIZES[4:] if "pfc" in fields else SIZES
        fields["buffer"] = _buffer(draw, sizes)
    if kind == "ethernet" and draw.chance(0.3):
        fields["ecn"] = _ecn(draw)
        if "wred" in fields["ecn"]:
            fields["markers"] = [_marker(draw) for _ in range(draw.whole(0, 2))]
    if kind == "scheduled":
        fields["scheduled"] = _scheduled(draw)
    if kind == "ethernet" and draw.chance(0.5):
        _add_residence(draw, fields)
    return fields


def _add_residence(draw: Draw, fields: Fields) -> None:
    """Draw the times at which frames leave the buffer, and the delays of sending and obeying pauses."""
    buffer = fields.get("buffer", {})
    buffer_fields = buffer if isinstance(buffer, dict) else {"size": buffer}
    buffer_fields["release"] = draw.pick(("start", "end", "cells", "cells"))
    latency = fields.get("pipeline_latency", "500ns")
    if draw.chance(0.3):
        buffer_fields["pipeline"] = draw.pick(("0", latency))
    fields["buffer"] = buffer_fields
    if isinstance(fields.get("pfc"), dict):
        fields["pfc"] |= {
            "response": draw.pick(("0", "80ns", "1us")),
            "reaction": draw.pick((latency, "3us")),
        }


def _buffer(draw: Draw, sizes: tuple[str, ...]) -> str | Fields:
    size = draw.pick(sizes)
    if draw.chance(0.4):
        return size
    cell = draw.pick((1, 80, 208, 256))
    return {"size": size, "cell": cell, "lossy_alpha": draw.pick(("none", "1/8", "1/2", 1, 2, 8))}


def _scheduling(draw: Draw) -> str | Fields:
    if draw.chance(0.6):
        return draw.pick(("strict", "dwrr"))
    return {"dwrr": {"quantum": {draw.whole(0, 7): draw.pick(("1KB", "8KB", "32KB"))}}}


def _pfc(draw: Draw, kind: str) -> str | Fields:
    if draw.chance(0.3):
        return "on"
    alpha, size = draw.pick(("1/8", "1/4", 1, 2)), draw.pick(("20KB", "50KB", "100KB", "300KB"))
    fields: Fields = {
        "xoff": {"alpha": alpha} if draw.chance(0.6) else {"bytes": size},
        "xon_offset": draw.pick(("0", "4KB", "16KB")),
        "reserved": draw.pick(("0", "9KB")),
        "headroom": draw.pick(("auto", "auto", "10KB", "100KB")),
        "quanta": draw.pick((100, 65535)),
        "xon": draw.pick(("on", "on", "on", "off")),
    }
    if kind == "ethernet" and draw.chance(0.25):
        times = {"detection": draw.time(10_000_000, 500_000_000), "restoration": draw.time(10_000_000, 10**9)}
        fields["watchdog"] = {**times, "action": draw.pick(("drop", "forward"))} if draw.chance(0.8) else "on"
    return fields


def _ecn(draw: Draw) -> str | Fields:
    if draw.chance(0.25):
        return draw.pick(("on", "alibaba", "sonic"))
    kmin = draw.spread(1_000, 200_000)
    fields: Fields = {"kmin": kmin, "kmax": kmin + draw.spread(1, 400_000), "pmax": f"{draw.whole(1, 100)}%"}
    if draw.chance(0.3):
        fields["dynamic"] = {
            "interval": draw.time(1_000_000, 50_000_000),
            "incast_degree": draw.whole(1, 8),
            "confirm": draw.whole(1, 3),
        }
    elif draw.chance(0.3):
        yellow = {"kmin": kmin // 4, "pmax": f"{draw.whole(1, 100)}%", "ecn": draw.pick(("on", "off"))}
        fields["wred"] = {"yellow": yellow, "red": draw.pick(("on", "off", yellow | {"kmin": 0}))}
    return fields


def _marker(draw: Draw) -> Fields:
    """Return a marker of frames: a fixed colour for one host, or meters for all."""
    if draw.chance(0.4):
        return {"hosts": 0, "colour": draw.pick(("green", "yellow", "red"))}
    fields: Fields = {"cir": draw.pick(("1Gbps", "10Gbps", "100Gbps")), "cbs": draw.pick(("10KB", "64KB"))}
    excess: Fields = {"pir": "200Gbps", "pbs": draw.pick(("10KB", "64KB"))}
    return fields | (excess if draw.chance(0.5) else {"ebs": draw.pick(("0", "64KB"))})


def _scheduled(draw: Draw) -> str | Fields:
    if draw.chance(0.4):
        return "on"
    return {
        "credit": draw.pick(("2KB", "4KB", "8KB")),
        "credit_speedup": draw.pick((1, "1.03", "1.5")),
        "cell": draw.pick((128, 256, 512)),
        "fabric_speedup": draw.pick((1, "10/9", 2)),
        "egress_buffer": draw.pick(("auto", "auto", "64KB")),
    }


def _nic(draw: Draw, hosts: int, kind: str) -> Fields:
    fields: Fields = {}
    if draw.chance(0.6):
        fields["latency"] = draw.pick(("0", "100ns", "400ns", "400ns", "1us"))
    if draw.chance(0.15):
        fields["packets_per_turn"] = draw.pick((2, 8, 32, 65_536))
    if draw.chance(0.25):
        fields["drain_rate"] = draw.pick(RATES)
    if draw.chance(0.2):
        fields["receive_buffer"] = draw.pick(("64KB", "256KB", "2MB"))
    if draw.chance(0.25):
        fields["impairments"] = [
            {
                "host": draw.whole(0, hosts - 1),
                "throughput": draw.pick(("1%", "10%", "50%", "90%")),
                "direction": draw.pick(("both", "send", "receive")),
            }
        ]
    if kind != "infiniband" and draw.chance(0.15):
        fields["pause_response"] = draw.pick(("80ns", "2us"))
        fields["pause_reaction"] = draw.pick((fields.get("latency", "400ns"), "3us"))
    return fields


def _failures(draw: Draw, graph: Graph) -> Fields:
    failures = [_failure(draw, graph) for _ in range(draw.whole(1, 3))]
    return {"failures": failures, "convergence_time": draw.time(0, 1_000_000_000)}


def _failure(draw: Draw, graph: Graph) -> Fields:
    kinds = ("link-down", "link-rate", "bit-errors", "frame-loss", "nic-throughput", "switch-down")
    kind, at = draw.pick(kinds), draw.time(0, 200_000_000)
    fields: Fields = {"at": at, "kind": kind}
    if kind == "nic-throughput":
        fields |= {"host": draw.whole(0, graph.hosts - 1), "throughput": draw.pick(("5%", "50%", "100%"))}
    elif kind == "switch-down":
        fields["switch"] = draw.pick(graph.switches)
    else:
        fields["link"] = draw.pick(graph.links)
    if kind == "link-rate":
        return fields | {"rate": draw.pick(("1Gbps", "3Gbps", "10Gbps"))}
    if kind == "bit-errors":
        fields["rate"] = draw.pick(("1e-8", "1e-6", "1e-5"))
    elif kind == "frame-loss":
        fields["share"] = draw.pick(("0.1%", "1%", "20%"))
    if kind in ("link-down", "switch-down") or draw.chance(0.5):
        fields["for"] = draw.time(1_000_000, 300_000_000)
        if draw.chance(0.25):
            fields |= {"every": "400us", "count": draw.whole(2, 4)}
    return fields
