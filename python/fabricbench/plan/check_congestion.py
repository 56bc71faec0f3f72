"""Checks of congestion control, priorities and impairments that need more than one field."""

from collections.abc import Iterator
from fractions import Fraction

from fabricbench import units
from fabricbench.plan.balancing import Pinned
from fabricbench.plan.document import Document
from fabricbench.plan.ecn import DynamicEcn, Ecn
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.model import Plan

_SWITCH: FieldPath = ("fabric", "switch")
_CONTROL_INTERVAL_PS = (10**6, 10**12)
_ECN_SCALE_MIN, _ECN_SCALE_MAX = Fraction(1, 10**6), 1000
_DCQCN: FieldPath = ("transport", "rate_control", "dcqcn")


def check_congestion(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with PFC, ECN, DCQCN, NICs and pins."""
    yield from _check_xoff(plan, document)
    yield from _check_ecn(plan, document)
    yield from _check_priorities(plan, document)
    yield from _check_dcqcn(plan, document)
    yield from _check_nic(plan, document)
    yield from _check_pinned_steps(plan, document)


def _check_xoff(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that the threshold of a pause is given in one way."""
    pfc = plan.fabric.switch.pfc
    if pfc and (pfc.xoff.alpha is None) == (pfc.xoff.size_bytes is None):
        found = "neither `alpha` nor `bytes`" if pfc.xoff.alpha is None else "both `alpha` and `bytes`"
        yield document.problem((*_SWITCH, "pfc", "xoff"), found, "one of them")


def _check_ecn(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that the thresholds of ECN are whole and in order."""
    ecn = plan.fabric.switch.ecn
    if ecn is None:
        return
    missing = _missing(ecn)
    if missing:
        hint = "give it, or a `preset`: alibaba or sonic"
        yield document.problem((*_SWITCH, "ecn", missing), "nothing", "a value, as there is no preset", hint)
        return
    kmin, kmax = ecn.thresholds
    if kmin > kmax:
        key = "kmax" if ecn.kmin_bytes is None else "kmin"
        found = f"kmin {units.format_size(kmin)} above kmax {units.format_size(kmax)}"
        yield document.problem((*_SWITCH, "ecn", key), found, "kmin of at most kmax")
    if ecn.dynamic:
        yield from _check_dynamic_ecn(ecn.dynamic, document)


def _check_dynamic_ecn(dynamic: DynamicEcn, document: Document) -> Iterator[Problem]:
    """Check that thresholds move between bounds that hold what is configured, in sensible intervals."""
    path: FieldPath = (*_SWITCH, "ecn", "dynamic")
    least, most = _CONTROL_INTERVAL_PS
    if not least <= dynamic.interval_ps <= most:
        found, allowed = units.format_time(dynamic.interval_ps), "1us to 1s"
        yield document.problem((*path, "interval"), found, allowed)
    hint = "thresholds begin as configured, and both are multiples of them"
    if not _ECN_SCALE_MIN <= dynamic.floor <= 1:
        yield document.problem((*path, "floor"), f"{dynamic.floor}", "0.000001 to 1", hint)
    if not 1 <= dynamic.ceiling <= _ECN_SCALE_MAX:
        yield document.problem((*path, "ceiling"), f"{dynamic.ceiling}", f"1 to {_ECN_SCALE_MAX}", hint)
    if dynamic.floor == dynamic.ceiling == 1:
        found = "floor and ceiling of 1, between which nothing can move"
        yield document.problem(path, found, "a floor below 1 or a ceiling above it, or `off`")


def _missing(ecn: Ecn) -> str | None:
    """Return the first threshold that neither the plan nor a preset gives."""
    given = {"kmin": ecn.kmin_bytes, "kmax": ecn.kmax_bytes, "pmax": ecn.pmax_ppm}
    return None if ecn.preset else next((name for name, value in given.items() if value is None), None)


def _check_priorities(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that PFC and ECN hold for priorities that traffic uses, each named once."""
    priorities = plan.transport.priorities
    users = {priorities.ack: "acknowledgements", priorities.data: "data"}
    if plan.transport.rate_control:
        users.setdefault(priorities.cnp, "CNPs")
    users |= {tcp.priority: "TCP" for tcp in plan.tcp if tcp.priority not in users}
    used = ", ".join(f"{priority} ({users[priority]})" for priority in sorted(users))
    for name, model in (("pfc", plan.fabric.switch.pfc), ("ecn", plan.fabric.switch.ecn)):
        chosen = (model.priorities or ()) if model else ()
        for place, priority in enumerate(chosen):
            path: FieldPath = (*_SWITCH, name, "priorities", place)
            if priority not in users:
                found = f"priority {priority}, which no traffic uses"
                hint = "`transport.priorities` gives traffic its priorities"
                yield document.problem(path, found, used, hint)
            elif priority in chosen[:place]:
                yield document.problem(path, f"priority {priority} twice", "each priority once")


def _check_dcqcn(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that DCQCN can work: marks to react to, and rates within those of the port."""
    if plan.transport.rate_control is None:
        return
    ecn, data = plan.fabric.switch.ecn, plan.transport.priorities.data
    if ecn is None or data not in (ecn.priorities or (data,)):
        found = "DCQCN without ECN marking of data, so that it never gets a CNP"
        hint = "add `fabric.switch.ecn: alibaba`, or take `line-rate`"
        yield document.problem(("transport", "rate_control"), found, "DCQCN with ECN", hint)
    dcqcn = plan.transport.rate_control.dcqcn
    port_bps = plan.fabric.topology.host_link.rate_bps
    if dcqcn.g is not None and dcqcn.g > 1:
        yield document.problem((*_DCQCN, "g"), f"{dcqcn.g}", "a ratio above 0 and at most 1")
    if dcqcn.rate_min_bps is not None and dcqcn.rate_min_bps > port_bps:
        allowed = f"at most the rate of the host's port, {units.format_rate(port_bps)}"
        yield document.problem((*_DCQCN, "rate_min"), units.format_rate(dcqcn.rate_min_bps), allowed)


def _check_nic(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check the receive buffer, and that impaired hosts exist, each named once."""
    nic, path = plan.fabric.nic, ("fabric", "nic")
    if nic.receive_xoff_bytes is not None and nic.receive_xoff_bytes >= nic.receive_buffer_bytes:
        found = f"{units.format_size(nic.receive_xoff_bytes)}, which is not below the buffer"
        allowed = f"less than the receive buffer of {units.format_size(nic.receive_buffer_bytes)}"
        yield document.problem((*path, "receive_xoff"), found, allowed)
    host_count, seen = plan.fabric.topology.host_count, set()
    for index, impairment in enumerate(nic.impairments):
        place: FieldPath = (*path, "impairments", index, "host")
        for host in impairment.hosts:
            if host >= host_count:
                allowed = f"hosts 0 to {host_count - 1} of this topology"
                yield document.problem(place, f"host {host}", allowed)
            elif host in seen:
                yield document.problem(place, f"host {host} again", "each host once")
            seen.add(host)


def _check_pinned_steps(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that steps are pinned only where each step has queue pairs of its own."""
    balancing = plan.fabric.load_balancing
    if not isinstance(balancing, Pinned) or plan.transport.qp_mode == "per_chunk":
        return
    for index, pin in enumerate(balancing.pins):
        for place, flow in enumerate(pin.flows):
            if flow.steps is not None:
                path: FieldPath = ("fabric", "load_balancing", "pins", index, "flows", place)
                found = f'"{flow.text}", which names steps while queue pairs serve several'
                yield document.problem(path, found, "flows without `@`, or `qp_mode: per_chunk`")
