"""Checks of congestion control, priorities and impairments that need more than one field."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.fabric.balancing import Pinned
from fabricbench.plan.fabric.ecn import DynamicEcn, Ecn
from fabricbench.plan.model import Plan
from fabricbench.plan.transport import WINDOW_PACKETS_MAX, Dcqcn, Swift, Timely

_SWITCH: FieldPath = ("fabric", "switch")
_CONTROL_INTERVAL_PS = (10**6, 10**12)
_ECN_SCALE_MIN, _ECN_SCALE_MAX = Fraction(1, 10**6), 1000
_RATE_CONTROL: FieldPath = ("transport", "rate_control")
_WINDOW_MIN: Final = Fraction(1, 1000)
"""Smallest window of Swift [packets]."""
_INCREASE_MAX: Final = 1000
"""Largest additive increase of Swift [packets]."""


def check_congestion(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with PFC, ECN, rate control, NICs and pins."""
    yield from _check_xoff(plan, document)
    yield from _check_ecn(plan, document)
    yield from _check_priorities(plan, document)
    yield from _check_rate_control(plan, document)
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
    if plan.transport.has_cnps:
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


def _check_rate_control(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that one control is chosen, and that it can work."""
    control = plan.transport.rate_control
    if control is None:
        return
    if len(control.kinds) != 1:
        found = " and ".join(f"`{kind}`" for kind in control.kinds) or "nothing"
        yield document.problem(_RATE_CONTROL, found, "one of `dcqcn`, `swift` and `timely`")
        return
    if control.dcqcn is not None:
        yield from _check_dcqcn(control.dcqcn, plan, document)
    elif any(job.storage is not None for job in plan.jobs):
        found, hint = (
            f"`{control.kinds[0]}` with a storage job",
            "data of a READ are not acknowledged one by one",
        )
        yield document.problem(_RATE_CONTROL, found, "`line-rate` or `dcqcn` with storage", hint)
    if control.swift is not None:
        yield from _check_swift(control.swift, document)
    if control.timely is not None:
        yield from _check_timely(control.timely, plan, document)


def _check_dcqcn(dcqcn: Dcqcn, plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that DCQCN can work: marks to react to, and rates within those of the port."""
    ecn, data = plan.fabric.switch.ecn, plan.transport.priorities.data
    if ecn is None or data not in (ecn.priorities or (data,)):
        found = "DCQCN without ECN marking of data, so that it never gets a CNP"
        hint = "add `fabric.switch.ecn: alibaba`, or take `line-rate`"
        yield document.problem(_RATE_CONTROL, found, "DCQCN with ECN", hint)
    path: FieldPath = (*_RATE_CONTROL, "dcqcn")
    yield from _check_ratios(dcqcn, ("g",), path, document)
    yield from _check_rate_min(dcqcn.rate_min_bps, plan, path, document)


def _check_swift(swift: Swift, document: Document) -> Iterator[Problem]:
    """Check that windows are ones that a queue pair can have, and in order."""
    path: FieldPath = (*_RATE_CONTROL, "swift")
    yield from _check_ratios(swift, ("beta", "decrease_max"), path, document)
    for name in ("window_min", "window_max", "scaling_window_min", "scaling_window_max"):
        window = getattr(swift, name)
        if not _WINDOW_MIN <= window <= WINDOW_PACKETS_MAX:
            allowed = f"{float(_WINDOW_MIN)} to {WINDOW_PACKETS_MAX:,} packets"
            yield document.problem((*path, name), f"{float(window):g} packets", allowed)
    if swift.additive_increase > _INCREASE_MAX:
        found, allowed = f"{float(swift.additive_increase):g} packets", f"at most {_INCREASE_MAX:,} packets"
        yield document.problem((*path, "additive_increase"), found, allowed)
    for least, most in (("window_min", "window_max"), ("scaling_window_min", "scaling_window_max")):
        if getattr(swift, least) > getattr(swift, most):
            found = f"{float(getattr(swift, least)):g} packets, above `{most}`"
            allowed = f"at most {float(getattr(swift, most)):g} packets"
            yield document.problem((*path, least), found, allowed)


def _check_timely(timely: Timely, plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that round-trip times are in order, and rates within those of the port."""
    path: FieldPath = (*_RATE_CONTROL, "timely")
    yield from _check_ratios(timely, ("alpha", "beta"), path, document)
    if timely.rtt_low_ps > timely.rtt_high_ps:
        found = f"{units.format_time(timely.rtt_low_ps)}, above `rtt_high`"
        yield document.problem((*path, "rtt_low"), found, f"at most {units.format_time(timely.rtt_high_ps)}")
    yield from _check_rate_min(timely.rate_min_bps, plan, path, document)


def _check_ratios(
    control: Dcqcn | Swift | Timely, names: tuple[str, ...], path: FieldPath, document: Document
) -> Iterator[Problem]:
    """Check that parts of a whole are at most all of it."""
    for name in names:
        ratio = getattr(control, name)
        if ratio is not None and ratio > 1:
            yield document.problem((*path, name), f"{ratio}", "a ratio above 0 and at most 1")


def _check_rate_min(
    rate_min_bps: int | None, plan: Plan, path: FieldPath, document: Document
) -> Iterator[Problem]:
    """Check that the smallest rate is one that the port has."""
    port_bps = plan.fabric.topology.host_link.rate_bps
    if rate_min_bps is not None and rate_min_bps > port_bps:
        allowed = f"at most the rate of the host's port, {units.format_rate(port_bps)}"
        yield document.problem((*path, "rate_min"), units.format_rate(rate_min_bps), allowed)


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
