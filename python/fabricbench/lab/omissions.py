"""Lists the features of a plan that a lab lacks or implements differently, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict

from fabricbench.plan._run_spec import FabricSpec, RunSpec, SwitchSpec

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description

_PS_PER_US: Final = 1_000_000
BY_FLOW: Final = ("ecmp", "weighted", "pinned", "d-mod-k")
"""Load balancing with a single path per queue pair."""
FORWARDING: Final = "a free port passes a frame on as it arrives, as with cut-through"
"""A token bucket delays only the frames after the current one."""


class Omission(BaseModel):
    """A part of the plan that the lab lacks or implements differently.

    Attributes:
        field: Field of the plan.
        text: What the lab has instead.
    """

    model_config = ConfigDict(frozen=True)

    field: str
    text: str


def omissions(spec: RunSpec, description: Description, scale: int, *, unpinned: str) -> list[Omission]:
    """Return the parts of a run spec that a lab at a scale does not have.

    Args:
        spec: The run spec.
        description: Its nodes and links.
        scale: Divisor of rates.
        unpinned: Queue pairs whose paths the kernel chooses; empty if there are none.
    """
    fabric = spec["fabric"]
    reductions = [
        *_of_links(fabric, description, scale),
        *_of_switches(fabric, unpinned),
        *_of_addresses(fabric),
        *_of_hosts(fabric),
    ]
    return [Omission(field=field, text=text) for field, text in reductions]


def _of_links(fabric: FabricSpec, description: Description, scale: int) -> Iterator[tuple[str, str]]:
    longest = max((link["delay_ps"] for link in description["links"]), default=0) * scale / _PS_PER_US
    yield (
        "fabric delays",
        f"cables (up to {longest:g} us at this scale), switch pipelines and NICs: the kernel's own latency, "
        "some 10 us a hop, in their place",
    )
    if fabric["link_layer"]["kind"] != "ethernet":
        yield "fabric.link_layer", "InfiniBand: Ethernet in its place, without credits"
    if fabric["extra_delays"]:
        yield "fabric.extra_delays", "no delay lines"
    if any(not is_loss_from_start(failure) for failure in fabric["failures"]):
        yield "fabric.failures", "nothing fails or is repaired in the course of a run"


def is_loss_from_start(failure: object) -> bool:
    """Return whether a lab supports a failure of the plan: frame loss from time 0 on."""
    return isinstance(failure, dict) and failure["kind"] == "frame-loss" and failure["at_ps"] == 0


def _of_addresses(fabric: FabricSpec) -> Iterator[tuple[str, str]]:
    if "addresses" in fabric:
        yield (
            "fabric.addresses",
            "hosts have the addresses of the plan as /32 and reach all others by the switch port, without "
            "the plan's gateways and VLAN",
        )


def _of_switches(fabric: FabricSpec, unpinned: str) -> Iterator[tuple[str, str]]:
    if fabric.get("switch_settings"):
        yield "fabric.switch_settings", "every switch is set up as `fabric.switch` says"
    switch = fabric["switch"]
    balancing = fabric["load_balancing"]["kind"]
    if balancing not in BY_FLOW:
        yield "fabric.load_balancing", f"{balancing}: the kernel's 5-tuple ECMP in its place"
    elif unpinned:
        yield (
            "fabric.load_balancing",
            f"the kernel's 5-tuple hash for {unpinned}: they take other paths than predicted",
        )
    if switch["scheduled"] is not None:
        yield "fabric.switch", "scheduled fabric: Ethernet switches in its place"
    if switch["forwarding"] == "store-and-forward":
        yield "fabric.switch.forwarding", f"store-and-forward: {FORWARDING}"
    if switch["pfc"] is not None:
        yield "fabric.switch.pfc", "no priority flow control: a full queue drops"
    yield (
        "fabric.switch.buffer",
        "not shared: each port has one queue for all priorities, as long as one queue may grow in the plan",
    )
    if switch["buffer"].get("pools") is not None:
        yield "fabric.switch.buffer.pools", "no pools: each port has its one queue"
    if fabric.get("chips"):
        yield "fabric.chips", "each switch is a namespace of its own: nothing is shared"
    yield from _of_marking(switch)


def _of_marking(switch: SwitchSpec) -> Iterator[tuple[str, str]]:
    if switch.get("markers"):
        yield "fabric.switch.markers", "frames have no colours"
    ecn = switch["ecn"]
    if ecn is not None:
        yield "fabric.switch.ecn", "marks by the length of the port's one queue, whatever the priority"
        if ecn["dynamic"] is not None:
            yield "fabric.switch.ecn.dynamic", "thresholds stay as they are"
        if ecn.get("wred") is not None:
            yield "fabric.switch.ecn.wred", "every frame is marked by the thresholds of `ecn`, none dropped"


def _of_hosts(fabric: FabricSpec) -> Iterator[tuple[str, str]]:
    nic = fabric["nic"]
    if nic["impairments"]:
        yield "fabric.nic.impairments", "every host port has its link's rate"
    if nic.get("messages"):
        yield "fabric.nic.message_cost", "messages cost what endpoints take for them"
    if "clocks" in fabric:
        yield "fabric.clocks", "hosts of a lab share one clock"
    if nic["drain_rate_bps"] is not None:
        yield "fabric.nic.drain_rate", "hosts take data as fast as the machine lets them"
