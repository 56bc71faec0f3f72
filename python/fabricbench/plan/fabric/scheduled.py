"""Scheduled switches in a plan: credits, cells and the speed of the fabric."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from fabricbench import units
from fabricbench.plan._run_spec import ScheduledSpec
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import Ratio, Size
from fabricbench.units import parse_size

if TYPE_CHECKING:
    from fabricbench.plan.fabric.model import Fabric

_WHOLE_PPM = 10**6
_SWITCH: FieldPath = ("fabric", "switch")
_CELL_MAX, _PAYLOAD_MIN, _CREDIT_MAX = 4096, 32, 1 << 20
_SPEEDUP_MIN, _SPEEDUP_MAX = Fraction(1, 10), 10
_TOPOLOGIES = ("leaf-spine", "single-switch")


class Scheduled(PlanModel):
    """A scheduled fabric: virtual output queues at ingress, credits of the egress port, sprayed cells.

    `buffer` and `pfc` are then those of the virtual output queues (VOQs), towards hosts alone; `scheduling`
    is how a port grants credits to priorities and sends to its host; `load_balancing` is of no meaning.
    """

    credit_bytes: Size = Field(
        default="4KB",
        alias="credit",
        validate_default=True,
        description=(
            "What one credit lets a VOQ send [size, on the link of the host with preamble and gap]; its "
            "last one is as small as what is left. Source: an estimate after Stardust (Zilberman, Bracha, "
            "Schzukin, NSDI 2019), whose credits are a few kilobytes."
        ),
    )
    credit_speedup: Ratio = Field(
        default="1.03",
        validate_default=True,
        description=(
            "A port's scheduler grants credits at this many times the rate of the port [ratio, 0.1 to 10]. "
            "Source: an estimate; Stardust grants a little more than the port sends."
        ),
    )
    cell_bytes: Size = Field(
        default=256,
        alias="cell",
        description=(
            "Largest cell on a fabric link, header included [size, at most 4 KB and a credit]. Source: "
            "Stardust."
        ),
    )
    cell_header_bytes: Size = Field(
        default=16,
        alias="cell_header",
        description=(
            "Header of a cell [size]. Source: an estimate; vendors do not publish theirs. The fabric "
            "speed-up has to make up for it."
        ),
    )
    control_cell_bytes: Size = Field(
        default=16,
        alias="control_cell",
        description=(
            "A request for credits, or a credit, on a fabric link [size], ahead of cells. Source: an "
            "estimate: a header alone."
        ),
    )
    fabric_speedup: Ratio = Field(
        default="10/9",
        validate_default=True,
        description=(
            "Fabric links carry cells at this many times their rate in the topology [ratio, 0.1 to 10]. "
            "Source: leaves of the Jericho3-AI kind have 160 fabric lanes for 144 lanes of ports."
        ),
    )
    egress_buffer_bytes: Annotated[Size | None, Named({"auto": None}, parse_size)] = Field(
        default=None,
        alias="egress_buffer",
        description=(
            "A port grants a priority no more credits while this much is granted and has not left by the "
            "port [size, a credit or more]. `auto`: twice what the port sends in one round trip through the "
            "fabric, two credits and two frames. Source: an estimate; less than a round trip would starve "
            "the port."
        ),
        json_schema_extra={"default": "auto"},
    )

    def run_spec(self) -> ScheduledSpec:
        """Write the scheduled switches out for the engine."""
        return {
            "credit_bytes": self.credit_bytes,
            "credit_speedup_ppm": int(self.credit_speedup * _WHOLE_PPM),
            "cell_bytes": self.cell_bytes,
            "cell_header_bytes": self.cell_header_bytes,
            "control_cell_bytes": self.control_cell_bytes,
            "fabric_speedup_ppm": int(self.fabric_speedup * _WHOLE_PPM),
            "egress_buffer_bytes": self.egress_buffer_bytes,
        }


def check_scheduled(fabric: "Fabric", document: Document) -> Iterator[Problem]:
    """Yield what is wrong with scheduled switches, if the fabric has them."""
    scheduled = fabric.switch.scheduled
    if scheduled:
        yield from _check_sizes(scheduled, document)
        yield from _check_speedups(scheduled, document)
        yield from _check_company(fabric, document)


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


def _check_company(fabric: "Fabric", document: Document) -> Iterator[Problem]:
    """Check that nothing is asked for that the model of scheduled switches leaves out."""
    switch = fabric.switch
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
