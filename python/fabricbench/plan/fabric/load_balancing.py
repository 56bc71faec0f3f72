"""Load balancing of a plan: how a switch chooses among next hops of equal cost; a model for each method."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, InstanceOf, WithJsonSchema

from fabricbench.plan._run_spec import LoadBalancing as LoadBalancingSpec, PinSpec
from fabricbench.plan.fabric.traffic_filters import FLOW_PATTERN, FlowFilter, parse_flow
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import Duration

_PORTS_MAX = 1 << 16


class Ecmp(PlanModel):
    """By a hash of the 5-tuple with a seed of the switch: one path for each queue pair."""

    kind: Literal["ecmp"] = Field(description="One path for each queue pair, by a hash of the 5-tuple.")
    hash: Literal["crc", "toeplitz"] = Field(
        default="crc",
        description=(
            "CRC-32, or Toeplitz with the key of Microsoft's RSS specification. Source: what most switches "
            "take."
        ),
    )
    include_qp: bool = Field(
        default=False,
        description=(
            "The destination queue pair is part of the hash. Source: plain ECMP takes the 5-tuple only."
        ),
    )

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind, "hash": self.hash, "include_qp": self.include_qp}


class Flowlet(PlanModel):
    """ECMP, drawn anew after each pause of a queue pair."""

    kind: Literal["flowlet"] = Field(description="ECMP, drawn anew after each pause of a queue pair.")
    gap_ps: Duration = Field(
        default="50us",
        alias="gap",
        validate_default=True,
        description=(
            "The pause [time]. Source: an estimate in the range of published flowlet gaps (Vanini et al., "
            "LetFlow, NSDI 2017: 50 to 500 us); it must exceed the difference of delays between paths."
        ),
    )

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind, "gap_ps": self.gap_ps}


class SprayRandom(PlanModel):
    """Each packet to a next hop drawn at random."""

    kind: Literal["spray-random"] = Field(description="Each packet to a next hop drawn at random.")

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind}


class SprayRoundRobin(PlanModel):
    """Packets to the next hops in turn."""

    kind: Literal["spray-round-robin"] = Field(description="Packets to the next hops in turn.")

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind}


class Adaptive(PlanModel):
    """Each packet to the next hop with the shortest queue."""

    kind: Literal["adaptive"] = Field(description="Each packet to the next hop with the shortest queue.")

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind}


class DModK(PlanModel):
    """By the destination alone, as the forwarding tables of a fat tree have it."""

    kind: Literal["d-mod-k"] = Field(
        description=(
            "By the destination d alone: number floor(d / w) mod k of k equal next hops, below which w ways "
            "lead up."
        )
    )

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind}


class Weighted(PlanModel):
    """ECMP with weights."""

    kind: Literal["weighted"] = Field(description="ECMP with weights.")
    weights: Annotated[
        tuple[Annotated[int, Field(ge=0, le=_PORTS_MAX)], ...],
        Field(strict=False, min_length=1, max_length=_PORTS_MAX),
    ] = Field(
        description=(
            "Weight of each uplink in a group, in the order of ports; those beyond the list have weight 1. "
            "0 leaves an uplink out."
        )
    )

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:  # noqa: ARG002
        """Return the choice for the engine."""
        return {"kind": self.kind, "weights": list(self.weights)}


class Pin(PlanModel):
    """The uplink that a switch gives to some queue pairs."""

    switch: str = Field(description="Name of the switch, such as `leaf0`.")
    uplink: int = Field(
        ge=0, lt=_PORTS_MAX, description="Position among the equal next hops, from 0, in the order of ports."
    )
    flows: Annotated[
        tuple[
            Annotated[
                InstanceOf[FlowFilter],
                BeforeValidator(parse_flow),
                WithJsonSchema(
                    {"type": "string", "pattern": FLOW_PATTERN, "examples": ["0>4", "0-3>4,5@2#1"]}
                ),
            ],
            ...,
        ],
        Field(strict=False, min_length=1),
    ] = Field(
        description=(
            'Which queue pairs: `"0>4"` from rank 0 to rank 4; `"0-3>4,6"` from several to several; `@2` or '
            "`@0-3` after it, only those of these steps; `#1`, only that part of several queue pairs; "
            "`job/` before it, of that job only."
        )
    )


class Pinned(PlanModel):
    """An explicit uplink for some queue pairs at some switches, ECMP for everything else."""

    kind: Literal["pinned"] = Field(
        description="An explicit uplink for some queue pairs at some switches, ECMP for everything else."
    )
    pins: Annotated[tuple[Pin, ...], Field(strict=False, min_length=1)] = Field(
        description="The map; it holds for data, acknowledgements go by ECMP."
    )

    def run_spec(self, pins: list[PinSpec]) -> LoadBalancingSpec:
        """Return the choice for the engine, with the pins resolved to queue pairs."""
        return {"kind": self.kind, "pins": pins}


LoadBalancing = Annotated[
    Annotated[
        Ecmp | Flowlet | SprayRandom | SprayRoundRobin | Adaptive | DModK | Weighted | Pinned,
        Field(discriminator="kind"),
    ],
    Named(
        {
            kind: {"kind": kind}
            for kind in ("ecmp", "flowlet", "spray-random", "spray-round-robin", "adaptive", "d-mod-k")
        }
    ),
]
"""One of the kinds; a kind without further fields, such as `ecmp`, may be written as its name."""
