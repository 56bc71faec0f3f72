"""Checks of the transport with other fields: rate control, MTU, DCQCN with ECN, and smallest rates."""

from collections.abc import Iterator
from typing import Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.model import Plan
from fabricbench.plan.transport.dcqcn import Dcqcn
from fabricbench.plan.transport.rate_control import KINDS

_RATE_CONTROL: Final[FieldPath] = ("transport", "rate_control")


def check_transport(plan: Plan) -> Iterator[FieldProblem]:
    """Check that one rate control is chosen, if any, and that it can work on the fabric."""
    yield from _check_mtu(plan)
    control = plan.transport.rate_control
    if control is None:
        return
    if len(control.kinds) != 1:
        actual = " and ".join(f"`{kind}`" for kind in control.kinds) or "nothing"
        *others, last = (f"`{kind}`" for kind in KINDS)
        yield FieldProblem(_RATE_CONTROL, actual, f"one of {', '.join(others)} and {last}")
        return
    if plan.fabric.nic.packets_per_turn > 1 and not control.is_line_rate:
        actual = f"turns of several packets with `{control.kinds[0]}`"
        hint = "a queue pair that its rate control paces sends packet by packet"
        yield FieldProblem(("fabric", "nic", "packets_per_turn"), actual, "1, or `line-rate`", hint)
    if control.dcqcn is not None:
        yield from _check_dcqcn(control.dcqcn, plan)
    elif control.fixed is not None:
        yield from _check_rate(control.fixed.rate_bps, plan, (*_RATE_CONTROL, "fixed", "rate"))
    elif any(job.storage is not None for job in plan.jobs):
        actual = f"`{control.kinds[0]}` with a storage job"
        hint = "data of a READ are not acknowledged one by one"
        yield FieldProblem(_RATE_CONTROL, actual, "`line-rate`, `fixed` or `dcqcn` with storage", hint)
    if control.timely is not None:
        yield from _check_rate(control.timely.rate_min_bps, plan, (*_RATE_CONTROL, "timely", "rate_min"))


def _check_mtu(plan: Plan) -> Iterator[FieldProblem]:
    """Check that packets fit the MTU of the ports."""
    port_mtu = plan.transport.port_mtu_bytes
    if port_mtu is None:
        return
    largest_mtu = engine.roce_mtu(port_mtu)
    if largest_mtu is not None and plan.transport.mtu_bytes > largest_mtu:
        allowed = f"at most {largest_mtu} with `port_mtu: {port_mtu}`"
        hint = "leave `transport.mtu` out, and it is what fits"
        yield FieldProblem(("transport", "mtu"), str(plan.transport.mtu_bytes), allowed, hint)
    for index, tcp in enumerate(plan.tcp):
        if tcp.mtu_bytes > port_mtu:
            allowed = f"at most {port_mtu}, the `transport.port_mtu`"
            yield FieldProblem(("tcp", index, "mtu"), str(tcp.mtu_bytes), allowed)


def _check_dcqcn(dcqcn: Dcqcn, plan: Plan) -> Iterator[FieldProblem]:
    """Check that DCQCN can work: marks to react to, and rates within those of the port."""
    if ignored := dcqcn.without_effect:
        path = (*_RATE_CONTROL, "dcqcn", ignored[0])
        actual = "a parameter of a sender that does not react"
        hint = "leave it out, or take `reaction: on`"
        yield FieldProblem(path, actual, "`cnp_interval` alone", hint)
    data = plan.transport.priorities.data
    marking = [set_up.ecn for _, set_up in plan.fabric.set_ups if set_up.ecn is not None]
    marks_data = any(not plan.data_priorities.isdisjoint(ecn.priorities or (data,)) for ecn in marking)
    has_own_cnps = plan.fabric.nic.cnp_above_bytes is not None  # those of receivers, without marks
    if not has_own_cnps and not marks_data:
        actual = "DCQCN without ECN marking of data, so that it never gets a CNP"
        hint = "add `fabric.switch.ecn: alibaba`, or take `line-rate`"
        yield FieldProblem(_RATE_CONTROL, actual, "DCQCN with ECN", hint)
    yield from _check_rate(dcqcn.rate_min_bps, plan, (*_RATE_CONTROL, "dcqcn", "rate_min"))


def _check_rate(rate_bps: int | None, plan: Plan, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that a rate is at most that of the port."""
    port_bps = plan.fabric.topology.host_link.rate_bps
    if rate_bps is not None and rate_bps > port_bps:
        allowed = f"at most the rate of the host's port, {units.format_rate(port_bps)}"
        yield FieldProblem(path, units.format_rate(rate_bps), allowed)
