"""Links of a plan (line rate of the ports, length of the cable): host, fabric and scale-up links."""

from typing import Final

from pydantic import Field

from fabricbench.plan._run_spec import LinkSpec
from fabricbench.plan.fields.base import ShortModel
from fabricbench.plan.fields.quantities import Length, Rate

_MM_PER_M: Final = 1000


class Link(ShortModel):
    """A cable and the ports at its ends; a rate alone, such as `400Gbps`, leaves the length its default."""

    short_key = "rate"

    rate_bps: Rate
    length_mm: Length

    def run_spec(self, propagation_ps_per_m: int) -> LinkSpec:
        """Return the link for the engine, the delay of its cable rounded to the nearest ps, halves up."""
        delay_ps = (self.length_mm * propagation_ps_per_m + _MM_PER_M // 2) // _MM_PER_M
        return {"rate_bps": self.rate_bps, "cable": {"delay_ps": delay_ps}}


class HostLink(Link):
    """The cable between a host's NIC and its switch: a rate, or a mapping."""

    rate_bps: Rate = Field(
        default="400Gbps",
        alias="rate",
        validate_default=True,
        description="Line rate of the ports [bit/s]. Source: the published tables.",
    )
    length_mm: Length = Field(
        default="3m",
        alias="length",
        validate_default=True,
        description="Length of the cable [m]. Source: a passive copper cable within a rack.",
    )


class FabricLink(Link):
    """The cable between two switches: a rate, or a mapping."""

    rate_bps: Rate = Field(
        default="400Gbps",
        alias="rate",
        validate_default=True,
        description="Line rate of the ports [bit/s]. Source: the published tables.",
    )
    length_mm: Length = Field(
        default="30m",
        alias="length",
        validate_default=True,
        description="Length of the cable [m]. Source: an optical cable between racks of one row.",
    )


class ScaleUpLink(Link):
    """The link between a GPU and the scale-up switch inside its server: a rate, or a mapping."""

    rate_bps: Rate = Field(alias="rate", description="Rate of one GPU's link, one way [bit/s].")
    length_mm: Length = Field(
        default="1m",
        alias="length",
        validate_default=True,
        description="Length of the link [m]. Source: it stays inside a server.",
    )
