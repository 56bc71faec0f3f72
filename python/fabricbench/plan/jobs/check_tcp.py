"""Checks of TCP traffic that need more than one field."""

from collections.abc import Iterator

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.jobs.tcp import TCP_WINDOW_SEGMENTS_MAX, Tcp
from fabricbench.plan.model import Plan
from fabricbench.words import close_match_hint


def check_tcp(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check the names, hosts, priorities, rates and windows of TCP traffic."""
    if plan.tcp and plan.fabric.switch.scheduled is not None:
        found = "TCP over scheduled switches"
        yield document.problem(("tcp",), found, "Ethernet switches, whose lossy queues drop")
    names = {job.name for job in plan.jobs}
    taken: dict[int, str] = {}
    for index, tcp in enumerate(plan.tcp):
        path: FieldPath = ("tcp", index)
        if tcp.name in names:
            hint = "give each TCP traffic a `name`"
            found = f"`{tcp.name}` again"
            yield document.problem((*path, "name"), found, "a name of no job or other traffic", hint)
        names.add(tcp.name)
        yield from _check_hosts(plan, tcp, path, document, taken)
        yield from _check_priority(plan, tcp, path, document)
        yield from _check_load(plan, tcp, path, document)


def tcp_hosts(plan: Plan, tcp: Tcp) -> list[int]:
    """Return the host of each rank."""
    return list(range(plan.fabric.topology.host_count)) if tcp.hosts is None else list(tcp.hosts)


def _check_hosts(
    plan: Plan, tcp: Tcp, path: FieldPath, document: Document, taken: dict[int, str]
) -> Iterator[Problem]:
    """Check that the ranks are on hosts that exist and have no other TCP rank, and what the pattern needs."""
    hosts, host_count = tcp_hosts(plan, tcp), plan.fabric.topology.host_count
    place = (*path, "ranks")
    if len(hosts) < 2:
        yield document.problem(place, f"{len(hosts)} rank" if hosts else "no rank", "2 ranks or more")
        return
    for host in hosts:
        if host >= host_count:
            yield document.problem(place, f"host {host}", f"hosts 0 to {host_count - 1} of this topology")
            return
        if host in taken:
            other = f"host {host}, which TCP traffic `{taken[host]}` has"
            hint = "one entry for a host; more `connections` of each pair, or another collective"
            yield document.problem(place, other, "hosts with one TCP rank", hint)
            return
        taken[host] = tcp.name
    if tcp.root >= len(hosts):
        allowed = f"ranks 0 to {len(hosts) - 1} of this traffic"
        yield document.problem((*path, "root"), f"rank {tcp.root}", allowed)
    yield from _check_pattern(tcp, len(hosts), path, document)


def _check_pattern(tcp: Tcp, ranks: int, path: FieldPath, document: Document) -> Iterator[Problem]:
    known = engine.algorithms()
    if tcp.collective not in known:
        hint = close_match_hint(tcp.collective, known)
        yield document.problem((*path, "collective"), f'"{tcp.collective}"', ", ".join(known), hint)
        return
    names = known[tcp.collective]
    if tcp.algorithm is not None and tcp.algorithm not in names:
        found = f'"{tcp.algorithm}", which is no algorithm of {tcp.collective}'
        hint = close_match_hint(tcp.algorithm, names)
        yield document.problem((*path, "algorithm"), found, ", ".join(names), hint)
        return
    refusal = engine.refusal(tcp.collective, tcp.algorithm or names[0], ranks)
    if refusal is not None:
        yield document.problem((*path, "ranks"), f"{refusal.found} for {tcp.collective}", refusal.allowed)


def _check_priority(plan: Plan, tcp: Tcp, path: FieldPath, document: Document) -> Iterator[Problem]:
    """Check that the priority is lossy, and marked if and only if congestion control reacts to marks."""
    switch, data = plan.fabric.switch, plan.transport.priorities.data
    place = (*path, "priority")
    lossless = (switch.pfc.priorities or (data,)) if switch.pfc else ()
    if tcp.priority in lossless:
        found = f"priority {tcp.priority}, which PFC makes lossless"
        hint = "TCP needs losses or marks to find its rate; the default of 0 is lossy"
        yield document.problem(place, found, "a lossy priority", hint)
        return
    marked = (switch.ecn.priorities or (data,)) if switch.ecn else ()
    is_marked, needs_marks = tcp.priority in marked, tcp.congestion == "dctcp"
    if needs_marks and not is_marked:
        found = f"dctcp in priority {tcp.priority}, which no switch marks"
        hint = f"`fabric.switch.ecn: {{preset: alibaba, priorities: [{data}, {tcp.priority}]}}` marks it"
        yield document.problem((*path, "congestion"), found, "dctcp in a priority of `ecn`", hint)
    elif is_marked and not needs_marks:
        found = f"priority {tcp.priority}, which is marked, for {tcp.congestion}"
        hint = "only `congestion: dctcp` is capable of ECN"
        yield document.problem(place, found, "a priority that is not among those of `ecn`", hint)


def _check_load(plan: Plan, tcp: Tcp, path: FieldPath, document: Document) -> Iterator[Problem]:
    """Check rate, window and timeouts."""
    port_bps = plan.fabric.topology.host_link.rate_bps
    if tcp.rate_bps is not None and tcp.rate_bps > port_bps:
        found = f"{units.format_rate(tcp.rate_bps)}, more than a host's port has"
        hint = "`rate: unlimited` sends as fast as congestion control allows"
        yield document.problem((*path, "rate"), found, f"at most {units.format_rate(port_bps)}", hint)
    segments = tcp.window_bytes / tcp.mss_bytes
    if not 1 <= segments <= TCP_WINDOW_SEGMENTS_MAX:
        allowed = f"{tcp.mss_bytes} to {TCP_WINDOW_SEGMENTS_MAX * tcp.mss_bytes} bytes: 1 to 2047 segments"
        found = f"{tcp.window_bytes} bytes with an MTU of {tcp.mtu_bytes}"
        yield document.problem((*path, "window"), found, allowed, "a larger `mtu` allows a larger window")
    if tcp.rto_min_ps > tcp.rto_max_ps:
        yield document.problem((*path, "rto_min"), "more than rto_max", "at most `rto_max`")
