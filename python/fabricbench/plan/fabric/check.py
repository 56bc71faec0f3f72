"""Checks of the fabric: size and connectivity of its graph, switches, NICs, clocks, priorities, addresses."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fabricbench import units
from fabricbench.plan._run_spec import LIMITS
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fabric.custom_topology import Custom, check_custom
from fabricbench.plan.fabric.failures import check_failures
from fabricbench.plan.fabric.model import Fabric
from fabricbench.plan.fabric.nic import Nic
from fabricbench.plan.fabric.node import ADAPTERS_MAX, UNEQUAL_DOMAINS, domains_allowed
from fabricbench.plan.fabric.pins import check_pinned_steps
from fabricbench.plan.fabric.server import server_problems
from fabricbench.plan.fabric.switches.check import check_chips, check_markers, check_pools, check_scheduled
from fabricbench.plan.fabric.switches.colours import Marker
from fabricbench.plan.fabric.switches.ecn import Ecn, check_ecn
from fabricbench.plan.fabric.switches.pfc import Pfc, check_pfc
from fabricbench.plan.fabric.switches.pools import Pool
from fabricbench.plan.fabric.topology import MultiPlane, RailOptimised, RailPods
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.model import Plan
from fabricbench.plan.transport.model import Dscp
from fabricbench.words import counted


def check_link_layer(plan: "Plan") -> Iterator[FieldProblem]:
    """Yield the settings of Ethernet that InfiniBand does not have, or not in the model."""
    if plan.fabric.link_layer is None:
        return
    switch, fabric = plan.fabric.switch, plan.fabric
    settings: dict[FieldPath, tuple[bool, str, str]] = {
        ("fabric", "switch", "pfc"): (switch.pfc is not None, "PFC", "credits keep InfiniBand lossless"),
        ("fabric", "switch", "ecn"): (
            switch.ecn is not None,
            "ECN",
            "InfiniBand has no marks in an IP header",
        ),
        ("fabric", "switch", "markers"): (
            bool(switch.markers),
            "markers",
            "InfiniBand has no drop precedence",
        ),
        ("fabric", "switch", "scheduled"): (
            switch.scheduled is not None,
            "scheduled switches",
            "their cells and credits are not those of InfiniBand",
        ),
        ("fabric", "switch", "buffer", "release"): (
            switch.buffer.release is not None,
            "`release`",
            "a receive buffer is granted again when the frame is out",
        ),
        ("fabric", "switch", "buffer", "pipeline"): (
            switch.buffer.pipeline_ps > 0,
            "`pipeline`",
            "a receive buffer is granted again when the frame is out",
        ),
        ("fabric", "nic", "pause_response"): (
            fabric.nic.pause_response_ps > 0,
            "a response to thresholds",
            "InfiniBand has no pause frames",
        ),
        ("fabric", "nic", "pause_reaction"): (
            fabric.nic.pause_reaction_ps is not None,
            "a reaction to pauses",
            "InfiniBand has no pause frames",
        ),
        ("tcp",): (bool(plan.tcp), "TCP", "its frames are those of Ethernet"),
        ("fabric", "failures"): (
            bool(fabric.failures),
            "failures",
            "InfiniBand links do not fail in this model",
        ),
        ("fabric", "addresses"): (
            fabric.addresses is not None,
            "addresses of IP and Ethernet",
            "InfiniBand ports have local identifiers",
        ),
        ("transport", "dscp"): (
            plan.transport.dscp != Dscp(),
            "code points of IP",
            "InfiniBand has service levels: those of `transport.priorities`",
        ),
        ("transport", "port_mtu"): (
            plan.transport.port_mtu_bytes is not None,
            "an Ethernet MTU",
            "write `transport.mtu`",
        ),
        ("transport", "rate_control"): (
            plan.transport.rate_control is not None,
            "rate control",
            "rate control is modelled for RoCEv2 alone",
        ),
    }
    for path, (is_set, name, hint) in settings.items():
        if is_set:
            yield FieldProblem(
                path, f"{name} with `link_layer: infiniband`", "none, or `link_layer: ethernet`", hint
            )


_PATH: Final[FieldPath] = ("fabric", "addresses")


CABLES_MAX: Final = 1 << 24
"""Most cables of a fabric."""
_CLOCK_PS_MAX: Final = LIMITS["ClockSpec.offset_ps_max"][1]


def check_topology(plan: Plan, document: Document) -> Iterator[FieldProblem]:
    """Check that the graph is of a size that can be built, and connected."""
    topology, path = plan.fabric.topology, ("fabric", "topology")
    if topology.host_count > HOSTS_MAX:
        yield FieldProblem(path, f"{topology.host_count} hosts", f"at most {HOSTS_MAX}")
    elif topology.cable_count > CABLES_MAX:
        yield FieldProblem(path, f"{topology.cable_count} cables", f"at most {CABLES_MAX}")
    if isinstance(topology, Custom):
        yield from check_custom(topology, document)
    if isinstance(topology, RailOptimised):
        yield from _check_rails(("spines", topology.spines), topology.rails)
    if isinstance(topology, RailPods):
        yield from _check_rails(("cores_per_spine", topology.cores_per_spine), topology.rails)
    yield from _check_server(plan.fabric)


def _check_rails(named_count: tuple[str, int], rails: int) -> Iterator[FieldProblem]:
    """Check that switches join the rails, if there are several."""
    name, count = named_count
    if count == 0 and rails > 1:
        actual = f"0 {name.partition('_')[0]} for {rails} rails"
        allowed = "1 or more, so that every rank reaches every other"
        yield FieldProblem(("fabric", "topology", name), actual, allowed)


_SERVER: Final[FieldPath] = ("fabric", "server")
_SPRAYED: Final = {"spray-random", "spray-round-robin", "adaptive"}


def _check_server(fabric: Fabric) -> Iterator[FieldProblem]:
    """Check that the hosts of the topology are adapters of whole servers, each with a scale-up domain."""
    server, topology = fabric.server, fabric.topology
    if server is None:
        return
    problems = list(server_problems(server))
    yield from (replace(problem, path=(*_SERVER, *problem.path)) for problem in problems)
    if problems:
        return
    if isinstance(topology, MultiPlane):
        yield FieldProblem(
            _SERVER, "servers whose adapters have ports in planes", "none, or another topology"
        )
    elif isinstance(topology, RailOptimised | RailPods) and server.nics != topology.rails:
        actual = f"{counted(server.nics, 'adapter')} on {counted(topology.rails, 'rail')}"
        yield FieldProblem((*_SERVER, "nics"), actual, f"{topology.rails}, one on each rail")
    elif server.nics == 0 or topology.host_count % server.nics:
        actual = (
            f"{counted(server.nics, 'adapter')} of {counted(topology.host_count, 'host')} of the topology"
        )
        hint = "hosts of the topology are adapters: 16 with 8 adapters are 2 servers"
        yield FieldProblem((*_SERVER, "nics"), actual, "a divisor of the hosts", hint)
    if getattr(topology, "scale_up_link", None) is not None:
        actual = "a scale-up domain beside `scale_up_link` of the topology"
        yield FieldProblem((*_SERVER, "scale_up"), actual, "one of them")
    if server.scale_up is None:
        yield FieldProblem(
            (*_SERVER, "scale_up"), "none", "a scale-up domain: servers without one are not modelled"
        )
    else:
        yield from _check_domains(fabric)
    if "shared_memory" in fabric.model_fields_set:
        actual = "shared memory of servers with GPUs"
        yield FieldProblem(
            ("fabric", "shared_memory"), actual, "none", "`fabric.server.scale_up` replaces it"
        )


def _check_domains(fabric: Fabric) -> Iterator[FieldProblem]:
    """Check that all scale-up domains have equally many servers, and not too many adapters."""
    node, servers = fabric.node, fabric.server_count
    assert node is not None, "the caller checks it"
    path: FieldPath = (*_SERVER, "scale_up", "servers")
    if servers % node.servers:
        actual = f"{counted(servers, 'server')} in domains of {node.servers}"
        yield FieldProblem(path, actual, domains_allowed(node.servers), UNEQUAL_DOMAINS)
    elif node.nics > ADAPTERS_MAX:
        actual = f"domains of {counted(node.nics, 'adapter')}"
        yield FieldProblem(path, actual, f"at most {ADAPTERS_MAX} adapters")


def server_warnings(plan: Plan) -> Iterator[FieldProblem]:
    """Yield adapters of another rate than the links, and load balancing other than their transport's."""
    server, rate_bps = plan.fabric.server, plan.fabric.topology.host_link.rate_bps
    if server is None or server.nic is None:
        return
    uses_network = plan.fabric.topology.host_count > server.nics
    is_sprayed = plan.fabric.load_balancing.kind in _SPRAYED
    if server.nic.transport == "srd" and uses_network and not is_sprayed:
        actual = f"{plan.fabric.load_balancing.kind} with adapters whose transport, SRD, sprays packets"
        hint = "`spray-random` with `transport.recovery: selective` is the nearest to it"
        yield FieldProblem(("fabric", "load_balancing"), actual, hint=hint)
    bus_bps = server.bus_bps()
    if bus_bps is not None and bus_bps < rate_bps and uses_network:
        actual = f"adapters at {units.format_rate(rate_bps)}, of which PCIe moves {_rounded(bus_bps)}"
        yield FieldProblem((*_SERVER, "nic", "pcie_rate"), actual, hint="`pcie_rate` states another rate")
    if server.nic.rate_bps != rate_bps:
        actual = f"adapters of {units.format_rate(server.nic.rate_bps)}"
        actual += f", which run at {units.format_rate(rate_bps)}, the rate of `fabric.topology.host_link`"
        yield FieldProblem(_SERVER, actual, hint="give both the same rate")


def _rounded(rate_bps: int) -> str:
    """Return a rate in Gb/s with a decimal at most."""
    return f"{round(rate_bps / 1e9, 1):g}Gbps"


def check_fabric(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the problems of switches, NICs, links, failures and pins."""
    fabric = plan.fabric
    for path, set_up in fabric.set_ups:
        if set_up.pfc:
            yield from check_pfc(set_up.pfc, (*path, "pfc"))
        if set_up.ecn:
            yield from check_ecn(set_up.ecn, (*path, "ecn"))
        yield from check_pools(set_up.buffer, (*path, "buffer"))
    yield from check_markers(fabric)
    yield from check_chips(fabric.chips)
    yield from _check_priorities(plan)
    yield from _check_nic(plan)
    yield from _check_clocks(plan)
    yield from check_pinned_steps(plan)
    yield from check_scheduled(fabric)
    yield from check_link_layer(plan)
    yield from check_addresses(plan)
    yield from check_failures(fabric.failures)


def _check_priorities(plan: Plan) -> Iterator[FieldProblem]:
    """Check that PFC and ECN are for priorities that traffic uses, and that each is named once.

    Pools of a chip also have the unused priorities, with their reserves.
    """
    priorities = plan.transport.priorities
    users = {priorities.ack: "acknowledgements"}
    users |= dict.fromkeys(plan.data_priorities, "data")
    if plan.transport.has_cnps:
        users.setdefault(priorities.cnp, "CNPs")
    users |= {tcp.priority: "TCP" for tcp in plan.tcp if tcp.priority not in users}
    used = ", ".join(f"{priority} ({users[priority]})" for priority in sorted(users))
    for parts, model in _with_priorities(plan.fabric):
        chosen = (model.priorities or ()) if model else ()
        for index, priority in enumerate(chosen):
            path: FieldPath = (*parts, "priorities", index)
            if priority not in users and not isinstance(model, Pool):
                actual = f"priority {priority}, which no traffic uses"
                hint = "`transport.priorities` and `jobs.N.priority` give traffic its priorities"
                yield FieldProblem(path, actual, used, hint)
            elif priority in chosen[:index]:
                yield FieldProblem(path, f"priority {priority} twice", "each priority once")


def _with_priorities(fabric: Fabric) -> Iterator[tuple[FieldPath, Pfc | Ecn | Pool | Marker | None]]:
    """Yield each part of the fabric that names priorities, with its field."""
    for index, marker in enumerate(fabric.switch.markers):
        yield ("fabric", "switch", "markers", index), marker
    for path, set_up in fabric.set_ups:
        yield (*path, "pfc"), set_up.pfc
        yield (*path, "ecn"), set_up.ecn
        pools = set_up.buffer.pools
        for side in ("ingress", "egress") if pools else ():
            for index, pool in enumerate(getattr(pools, side)):
                yield (*path, "buffer", "pools", side, index), pool


def _check_nic(plan: Plan) -> Iterator[FieldProblem]:
    """Check the receive buffer, and that impaired hosts exist, each named once."""
    nic, path = plan.fabric.nic, ("fabric", "nic")
    if nic.receive_xoff_bytes is not None and nic.receive_xoff_bytes >= nic.receive_buffer_bytes:
        actual = f"{units.format_size(nic.receive_xoff_bytes)}, which is not below the buffer"
        allowed = f"less than the receive buffer of {units.format_size(nic.receive_buffer_bytes)}"
        yield FieldProblem((*path, "receive_xoff"), actual, allowed)
    if nic.cnp_above_bytes is not None and nic.cnp_above_bytes >= nic.receive_buffer_bytes:
        actual = f"{units.format_size(nic.cnp_above_bytes)}, which is not below the buffer"
        allowed = f"less than the receive buffer of {units.format_size(nic.receive_buffer_bytes)}"
        yield FieldProblem((*path, "cnp_above"), actual, allowed)
    has_storage = any(job.storage is not None for job in plan.jobs)
    if nic.has_message_costs and (has_storage or plan.transport.recovery == "selective"):
        name = next(
            name for name in ("message_cost", "message_interval", "transfer_start") if _is_set(nic, name)
        )
        actual = "a cost of messages with " + ("a storage job" if has_storage else "`recovery: selective`")
        hint = "`host.nic: ideal` has none" if plan.host.nic != "ideal" else "leave it out"
        yield FieldProblem((*path, name), actual, "none", hint)
    host_count, seen = plan.fabric.host_count, set()
    for index, impairment in enumerate(nic.impairments):
        host_path: FieldPath = (*path, "impairments", index, "host")
        for host in impairment.hosts:
            if host >= host_count:
                allowed = f"hosts 0 to {host_count - 1} of this topology"
                yield FieldProblem(host_path, f"host {host}", allowed)
            elif host in seen:
                yield FieldProblem(host_path, f"host {host} again", "each host once")
            seen.add(host)


def _is_set(nic: Nic, name: str) -> bool:
    """Whether a cost of messages is above 0."""
    return bool(getattr(nic, name if name == "transfer_start" else f"{name}_ps"))


def _check_clocks(plan: Plan) -> Iterator[FieldProblem]:
    """Check that hosts with clocks of their own exist, and that the model covers clocks in the run."""
    clocks, path = plan.fabric.clocks, ("fabric", "clocks")
    if clocks is None:
        return
    for name, value_ps in (("offset", clocks.offset_ps), ("jitter", clocks.jitter_ps)):
        if value_ps > _CLOCK_PS_MAX:
            yield FieldProblem((*path, name), units.format_time(value_ps), "at most 1s")
    host_count, seen = plan.fabric.host_count, set()
    for index, clock in enumerate(clocks.hosts):
        clock_path: FieldPath = (*path, "hosts", index)
        if clock.host >= host_count:
            allowed = f"hosts 0 to {host_count - 1} of this topology"
            yield FieldProblem((*clock_path, "host"), f"host {clock.host}", allowed)
        elif clock.host in seen:
            yield FieldProblem((*clock_path, "host"), f"host {clock.host} again", "each host once")
        seen.add(clock.host)
        if clock.offset_ps > _CLOCK_PS_MAX:
            yield FieldProblem((*clock_path, "offset"), units.format_time(clock.offset_ps), "at most 1s")
    if any(job.storage is not None for job in plan.jobs):
        yield FieldProblem(path, "clocks with a storage job", "none", "leave them out")
    if plan.fabric.switch.forwarding == "cut-through":
        hint = "frames would leave a switch faster than they come in"
        yield FieldProblem(path, "clocks with cut-through switches", "none, or store-and-forward", hint)


def check_addresses(plan: "Plan") -> Iterator[FieldProblem]:
    """Check that the fields of addresses are consistent."""
    addresses = plan.fabric.addresses
    if addresses is None:
        return
    if addresses.subnet is not None and addresses.ips is not None:
        yield FieldProblem((*_PATH, "ips"), "`ips` and `subnet`", "one of the two")
    requirements = {
        "subnet_per": (addresses.subnet_per, addresses.subnet, "`subnet`"),
        "prefix": (addresses.prefix, addresses.ips, "`ips`"),
        "gateway": (addresses.gateway, addresses.subnet or addresses.ips, "`subnet` or `ips`"),
    }
    for name, (value, required_field, required_name) in requirements.items():
        if value is not None and required_field is None:
            yield FieldProblem(
                (*_PATH, name), f"`{name}` without {required_name}", f"{required_name} with it"
            )
