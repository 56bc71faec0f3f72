"""Link layer: Ethernet, or InfiniBand with its credits and the latencies of its switches and adapters."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from fabricbench.plan._run_spec import LinkLayerSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import Size, Time
from fabricbench.plan.transport.model import Dscp

if TYPE_CHECKING:
    from fabricbench.plan.model import Plan

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
    """What every link is, if not Ethernet."""

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


def check_link_layer(plan: "Plan") -> Iterator[FieldProblem]:
    """Yield the settings of Ethernet that InfiniBand does not have, or not in the model."""
    if plan.fabric.link_layer is None:
        return
    switch, fabric = plan.fabric.switch, plan.fabric
    settings: dict[FieldPath, tuple[bool, str, str]] = {
        ("fabric", "switch", "pfc"): (switch.pfc is not None, "PFC", "credits keep InfiniBand lossless"),
        ("fabric", "switch", "ecn"): (
            switch.ecn is not None,
            "ECN",
            "InfiniBand has no marks in an IP header",
        ),
        ("fabric", "switch", "markers"): (
            bool(switch.markers),
            "markers",
            "InfiniBand has no drop precedence",
        ),
        ("fabric", "switch", "scheduled"): (
            switch.scheduled is not None,
            "scheduled switches",
            "their cells and credits are not those of InfiniBand",
        ),
        ("fabric", "switch", "buffer", "release"): (
            switch.buffer.release is not None,
            "`release`",
            "a receive buffer is granted again when the frame is out",
        ),
        ("fabric", "switch", "buffer", "pipeline"): (
            switch.buffer.pipeline_ps > 0,
            "`pipeline`",
            "a receive buffer is granted again when the frame is out",
        ),
        ("fabric", "nic", "pause_response"): (
            fabric.nic.pause_response_ps > 0,
            "a response to thresholds",
            "InfiniBand has no pause frames",
        ),
        ("fabric", "nic", "pause_reaction"): (
            fabric.nic.pause_reaction_ps is not None,
            "a reaction to pauses",
            "InfiniBand has no pause frames",
        ),
        ("tcp",): (bool(plan.tcp), "TCP", "its frames are those of Ethernet"),
        ("fabric", "failures"): (
            bool(fabric.failures),
            "failures",
            "InfiniBand links do not fail in this model",
        ),
        ("fabric", "addresses"): (
            fabric.addresses is not None,
            "addresses of IP and Ethernet",
            "InfiniBand ports have local identifiers",
        ),
        ("transport", "dscp"): (
            plan.transport.dscp != Dscp(),
            "code points of IP",
            "InfiniBand has service levels: those of `transport.priorities`",
        ),
        ("transport", "port_mtu"): (
            plan.transport.port_mtu_bytes is not None,
            "an Ethernet MTU",
            "write `transport.mtu`",
        ),
        ("transport", "rate_control"): (
            plan.transport.rate_control is not None,
            "rate control",
            "rate control is modelled for RoCEv2 alone",
        ),
    }
    for path, (is_set, name, hint) in settings.items():
        if is_set:
            yield FieldProblem(
                path, f"{name} with `link_layer: infiniband`", "none, or `link_layer: ethernet`", hint
            )
