"""Checks of scheduled switches: their own fields, and what does not go with them."""

from collections.abc import Iterator
from fractions import Fraction

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.fabric.scheduled import Scheduled
from fabricbench.plan.model import Plan

_SWITCH: FieldPath = ("fabric", "switch")
_CELL_MAX, _PAYLOAD_MIN, _CREDIT_MAX = 4096, 32, 1 << 20
_SPEEDUP_MIN, _SPEEDUP_MAX = Fraction(1, 10), 10
_TOPOLOGIES = ("leaf-spine", "single-switch")


def check_scheduled(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with scheduled switches."""
    scheduled = plan.fabric.switch.scheduled
    if scheduled:
        yield from _check_sizes(scheduled, document)
        yield from _check_speedups(scheduled, document)
        yield from _check_company(plan, document)


def _check_sizes(scheduled: Scheduled, document: Document) -> Iterator[Problem]:
    """Check that a cell is a part of a credit and holds more than its header."""
    path: FieldPath = (*_SWITCH, "scheduled")
    credit, cell = scheduled.credit_bytes, scheduled.cell_bytes
    if credit > _CREDIT_MAX:
        yield document.problem((*path, "credit"), units.format_size(credit), "at most 1 MB")
    if cell > min(_CELL_MAX, credit):
        allowed = f"at most 4 KB and the credit of {units.format_size(credit)}, of which it is a part"
        yield document.problem((*path, "cell"), units.format_size(cell), allowed)
    if scheduled.cell_header_bytes + _PAYLOAD_MIN > cell:
        found = f"a header of {scheduled.cell_header_bytes} bytes in a cell of {cell}"
        yield document.problem((*path, "cell_header"), found, f"{_PAYLOAD_MIN} bytes less than the cell")
    if scheduled.control_cell_bytes > cell:
        allowed = f"at most the cell of {units.format_size(cell)}"
        yield document.problem(
            (*path, "control_cell"), units.format_size(scheduled.control_cell_bytes), allowed
        )
    window = scheduled.egress_buffer_bytes
    if window is not None and window < credit:
        allowed = f"the credit of {units.format_size(credit)} or more"
        yield document.problem((*path, "egress_buffer"), units.format_size(window), allowed)


def _check_speedups(scheduled: Scheduled, document: Document) -> Iterator[Problem]:
    for name in ("credit_speedup", "fabric_speedup"):
        ratio = getattr(scheduled, name)
        if not _SPEEDUP_MIN <= ratio <= _SPEEDUP_MAX:
            yield document.problem((*_SWITCH, "scheduled", name), f"{ratio}", "0.1 to 10")


def _check_company(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that nothing is asked for that the model of scheduled switches leaves out."""
    fabric, switch = plan.fabric, plan.fabric.switch
    if fabric.topology.kind not in _TOPOLOGIES:
        hint = "the fabric links of a leaf have to lead to every other leaf, cell by cell"
        found = f"{fabric.topology.kind} with scheduled switches"
        yield document.problem(("fabric", "topology", "kind"), found, " or ".join(_TOPOLOGIES), hint)
    if switch.forwarding != "store-and-forward":
        found = f"{switch.forwarding} with scheduled switches"
        yield document.problem((*_SWITCH, "forwarding"), found, "store-and-forward")
    if switch.ecn:
        hint = "they mark nothing: what waits for a port is in nobody's way"
        yield document.problem((*_SWITCH, "ecn"), "ECN with scheduled switches", "off", hint)
    if switch.pfc and switch.pfc.watchdog:
        found = "a watchdog with scheduled switches"
        yield document.problem((*_SWITCH, "pfc", "watchdog"), found, "off")
    if fabric.extra_delays:
        found = "delay lines with scheduled switches"
        hint = "the fabric links of a leaf have one delay in this model"
        yield document.problem(("fabric", "extra_delays"), found, "none", hint)
    if fabric.failures:
        hint = "links of a scheduled fabric do not fail in this model"
        yield document.problem(("fabric", "failures"), "failures with scheduled switches", "none", hint)
