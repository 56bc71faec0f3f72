"""Checks of the transport that need more than one field."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.model import Plan
from fabricbench.plan.transport.dcqcn import Dcqcn
from fabricbench.plan.transport.model import WINDOW_PACKETS_MAX
from fabricbench.plan.transport.swift import Swift
from fabricbench.plan.transport.timely import Timely

_RATE_CONTROL: Final[FieldPath] = ("transport", "rate_control")
_WINDOW_MIN: Final = Fraction(1, 1000)
"""Smallest window of Swift [packets]."""
_INCREASE_MAX: Final = 1000
"""Largest additive increase of Swift [packets]."""


def check_transport(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check the transport's fields against each other, and its rate control against the fabric."""
    transport = plan.transport
    if transport.ack_every > transport.window_packets:
        yield document.problem(
            ("transport", "ack_every"),
            f"{transport.ack_every} packets with a window of {transport.window_packets}",
            f"1 to {transport.window_packets}, or the window never opens",
        )
    yield from _check_rate_control(plan, document)


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
        found = f"`{control.kinds[0]}` with a storage job"
        hint = "data of a READ are not acknowledged one by one"
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
