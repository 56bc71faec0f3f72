"""Link layer: Ethernet, or InfiniBand with its credits and the latencies of its switches and adapters."""

from typing import Annotated, Any, Final

from pydantic import Field

from fabricbench.plan._run_spec import LinkLayerSpec
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import Size, Time

_DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "switch": {"forwarding": "cut-through", "pipeline_latency": "130ns"},
    "nic": {"latency": "300ns"},
}
"""Defaults of `fabric.switch` and `fabric.nic` on InfiniBand; their sources are in docs/plan.md."""
_LOAD_BALANCING: Final = "d-mod-k"


class Infiniband(PlanModel):
    """InfiniBand links: local routing headers, and credits for each virtual lane in place of PFC."""

    vl_buffer_bytes: Size = Field(
        default="128KB",
        alias="vl_buffer",
        validate_default=True,
        description=(
            "Receive buffer of each virtual lane of each port [size], in blocks of 64 bytes, from a full "
            "packet to 128 KB. Source: the most that credits can grant (IBTA 1.7, 7.9.4.4.2)."
        ),
    )
    credit_interval_ps: Time = Field(
        default="256ns",
        alias="credit_interval",
        validate_default=True,
        description=(
            "A receiver grants new credits of a lane at most once in this time [time]. Source: our choice: "
            "at 100 Gb/s a flow control packet of 8 bytes in 3,200, and less than a tenth of the buffer; "
            "the standard asks for one in 65,536 symbol times."
        ),
    )

    def run_spec(self) -> LinkLayerSpec:
        """Return the links for the engine."""
        return {
            "kind": "infiniband",
            "vl_buffer_bytes": self.vl_buffer_bytes,
            "credit_interval_ps": self.credit_interval_ps,
        }


class LinkLayerForm(PlanModel):
    """Link layer of all links other than Ethernet."""

    infiniband: Infiniband = Field(description="InfiniBand.")


LinkLayer = Annotated[LinkLayerForm | None, Named({"ethernet": None, "infiniband": {"infiniband": {}}})]
"""`ethernet`, `infiniband` with every default, or a mapping."""


def link_layer_spec(link_layer: LinkLayerForm | None) -> LinkLayerSpec:
    """Return the links for the engine."""
    return link_layer.infiniband.run_spec() if link_layer else {"kind": "ethernet"}


def with_infiniband_defaults(fabric: Any) -> Any:
    """Return the fabric of a plan as written, with InfiniBand's defaults if it is InfiniBand."""
    if not isinstance(fabric, dict) or fabric.get("link_layer") in (None, "ethernet"):
        return fabric
    filled: dict[str, Any] = {"load_balancing": _LOAD_BALANCING} | fabric
    for name, defaults in _DEFAULTS.items():
        section: Any = filled.get(name, {})
        if isinstance(section, dict):
            filled[name] = defaults | section
    return filled
