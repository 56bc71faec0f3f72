"""Pools of a switch's buffer in a plan, as chips divide it, and several switches in one chip."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import (
    ChipSpec,
    EgressPoolSpec,
    IngressPoolSpec,
    PoolsSpec,
    PoolXoffSpec,
    ProfileSpec,
    XoffSpec,
)
from fabricbench.plan.fabric.switches.pfc import Xoff
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import PRIORITIES, AnySize, Name, Priorities, Size

SONIC_POOLS: Final[dict[str, dict[str, Any]]] = {
    "sonic-trident3": {
        "ingress": [{"name": "ingress_lossless_pool", "size": 32_689_152, "headroom": 2_058_240}],
        "egress": [
            {"name": "egress_lossless_pool", "size": 32_340_992, "priorities": [3]},
            {"name": "egress_lossy_pool", "size": 24_192_256, "reserved": 1_792, "limit": {"alpha": 8}},
        ],
    },
    "sonic-tomahawk5": {
        "ingress": [
            {
                "name": "ingress_lossless_pool",
                "size": 164_505_640,
                "headroom": 22_010_624,
                "limit": {"bytes": 82_682_080},
            }
        ],
        "egress": [
            {
                "name": "egress_lossless_pool",
                "size": 164_505_640,
                "priorities": [3],
                "limit": {"bytes": 82_682_080},
            }
        ],
    },
}
"""Pools of switches as SONiC configures them."""

_Limit = Annotated[Xoff | None, Named({"none": None})]


def _limit_spec(limit: Xoff | None) -> XoffSpec | None:
    return limit.run_spec() if limit else None


class PoolXoff(PlanModel):
    """A threshold of a whole pool, above which all of its lossless groups request a pause."""

    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description=(
            "What the groups of the pool may hold beyond their reserves [size]. Default: all there is, so "
            "that they pause once the pool has no room."
        ),
    )
    offset_bytes: AnySize = Field(
        default="16KB",
        alias="offset",
        validate_default=True,
        description=(
            "The pauses end this far below the threshold [size]. Source: as for `pfc.xon_offset`; no value "
            "of a chip is public."
        ),
    )
    pauses: Literal["holders", "host-ports"] = Field(
        default="holders",
        description=(
            "Which lossless groups ask: those that hold something beyond their reserve, while they do "
            "(`holders`), or these and all of ports to hosts (`host-ports`). Source: a group within its "
            "reserve takes nothing of what is short."
        ),
    )

    def run_spec(self) -> PoolXoffSpec:
        """Return the threshold for the engine."""
        return self.to_spec(PoolXoffSpec, bytes=self.size_bytes)


class PoolProfile(PlanModel):
    """Limits of the groups or queues of some priorities of a pool, if those of others differ."""

    priorities: Priorities = Field(description="Which, of the priorities of the pool [0 to 7].")
    reserved_bytes: AnySize = Field(
        default=0,
        alias="reserved",
        description="As `reserved` of the pool [size]. Source: none is the least.",
    )
    limit: _Limit = Field(
        default=None,
        description="As `limit` of the pool. Source: the pool alone is a limit.",
        json_schema_extra={"default": "none"},
    )

    def run_spec(self) -> ProfileSpec:
        """Return the profile for the engine."""
        return {
            "priorities": list(self.priorities),
            "reserved_bytes": self.reserved_bytes,
            "limit": _limit_spec(self.limit),
        }


class Pool(PlanModel):
    """Fields of ingress and egress pools."""

    name: Name = Field(description="Name of the pool.")
    size_bytes: Size = Field(
        alias="size", description="What its groups or queues may hold in all, reserves included [size]."
    )
    priorities: Priorities | None = Field(
        default=None,
        description=(
            "Priorities whose groups or queues are in it [0 to 7]. Default: all that no other pool of its "
            "side names."
        ),
    )
    reserved_bytes: AnySize = Field(
        default=0,
        alias="reserved",
        description=(
            "Reserved for each egress queue or lossy priority group [size]; `pfc.reserved` is that of "
            "lossless ones. Source: none is the least."
        ),
    )
    limit: _Limit = Field(
        default=None,
        description=(
            "Most bytes of an egress queue or lossy priority group beyond its reserve: `{alpha: 8}` times "
            "the free bytes of the pool, `{bytes: 1MB}`, or `none`; a frame beyond it is dropped. Lossless "
            "groups pause at `pfc.xoff` instead. Source: the pool is the only limit by default."
        ),
        json_schema_extra={"default": "none"},
    )
    profiles: Annotated[tuple[PoolProfile, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Groups or queues of some priorities with `reserved` and `limit` of their own: "
            "`{priorities: [3], limit: {bytes: 8MB}}`."
        ),
    )


class IngressPool(Pool):
    """A pool of priority groups, each of one ingress port and priority."""

    headroom_bytes: AnySize | None = Field(
        default=None,
        alias="headroom",
        description=(
            "Headroom that its lossless groups share, beside its size [size]. Default: each has its own, "
            "`pfc.headroom`."
        ),
    )
    headroom_in_size: bool = Field(
        default=False,
        description=(
            "Headroom, shared or of each group, is a part of the pool's size, not beside it. Source: chips "
            "with a shared headroom pool have it beside."
        ),
    )
    xoff: Annotated[PoolXoff | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "A threshold of the whole pool, above which its lossless groups ask for a pause: `off`, `on` "
            "(with every default) or a mapping. Source: not every chip has one; a full pool pauses whom it "
            "has no room for."
        ),
        json_schema_extra={"default": "off"},
    )

    def run_spec(self, priorities: list[int]) -> IngressPoolSpec:
        """Return the pool of these priorities for the engine."""
        spec: IngressPoolSpec = self.to_spec(
            IngressPoolSpec,
            priorities=priorities,
            headroom_bytes=self.headroom_bytes,
            xoff=self.xoff.run_spec() if self.xoff else None,
            limit=_limit_spec(self.limit),
        )
        if self.headroom_in_size:
            spec["headroom_in_size"] = True
        if self.profiles:
            spec["profiles"] = [profile.run_spec() for profile in self.profiles]
        return spec


class EgressPool(Pool):
    """A pool of egress queues, each of one egress port and priority."""

    def run_spec(self, priorities: list[int]) -> EgressPoolSpec:
        """Return the pool of these priorities for the engine."""
        spec: EgressPoolSpec = self.to_spec(
            EgressPoolSpec,
            priorities=priorities,
            limit=_limit_spec(self.limit),
        )
        if self.profiles:
            spec["profiles"] = [profile.run_spec() for profile in self.profiles]
        return spec


class Pools(PlanModel):
    """How a buffer is divided: a frame counts for its group at its ingress, for its queue at its egress."""

    ingress: Annotated[tuple[IngressPool, ...], Field(strict=False)] = Field(
        default=(), description="Pools of priority groups; a lossless priority must be in one."
    )
    egress: Annotated[tuple[EgressPool, ...], Field(strict=False)] = Field(
        default=(), description="Pools of egress queues. A queue in none has the buffer for a limit."
    )

    def run_spec(self) -> PoolsSpec:
        """Return the pools for the engine."""
        ingress = zip(self.ingress, _priorities_of(self.ingress), strict=True)
        egress = zip(self.egress, _priorities_of(self.egress), strict=True)
        return {
            "ingress": [pool.run_spec(priorities) for pool, priorities in ingress],
            "egress": [pool.run_spec(priorities) for pool, priorities in egress],
        }


def _priorities_of(pools: Sequence[Pool]) -> list[list[int]]:
    """Return the priorities of each pool: those it names, or all that no other does."""
    named_priorities = {priority for pool in pools for priority in pool.priorities or ()}
    unnamed_priorities = [priority for priority in range(PRIORITIES) if priority not in named_priorities]
    return [unnamed_priorities if pool.priorities is None else list(pool.priorities) for pool in pools]


class Chip(PlanModel):
    """Switches of the topology that are one chip, as labs build a fabric out of one device."""

    name: Name = Field(description="Name of the chip.")
    switches: Annotated[tuple[Name, ...], Field(strict=False)] = Field(
        description="Its switches, such as `[leaf0, leaf1, spine0]`: they share one buffer, `switch.buffer`."
    )

    def run_spec(self) -> ChipSpec:
        """Return the chip for the engine."""
        return {"name": self.name, "switches": list(self.switches)}
