"""Scheduled switches in a plan: credits, cells and the speed of the fabric."""

from typing import Annotated

from pydantic import Field

from fabricbench.plan._run_spec import ScheduledSpec
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import Ratio, Size
from fabricbench.units import parse_size

_WHOLE_PPM = 10**6


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
        """Return the scheduled switches for the engine."""
        return self.to_spec(
            ScheduledSpec,
            credit_speedup_ppm=int(self.credit_speedup * _WHOLE_PPM),
            fabric_speedup_ppm=int(self.fabric_speedup * _WHOLE_PPM),
            egress_buffer_bytes=self.egress_buffer_bytes,
        )
