"""Reduces a plan's run spec to the features that a lab has, for the lab and for its simulation (its twin).

A run spec has the parameters of one trial. The measured trial in the lab and its predicted twin have the same
one, so both omit the same features and are comparable. Each omitted part is an `Omission`. If nothing useful
would be left, `obstacle` returns the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from fabricbench.lab.blueprint import IN_FLIGHT_PACKETS_MAX
from fabricbench.lab.omissions import BY_FLOW, FORWARDING, Omission, is_loss_from_start
from fabricbench.plan import engine
from fabricbench.plan._run_spec import (
    LIMITS,
    BufferSpec,
    FabricSpec,
    JobSpec,
    RunSpec,
    SwitchSpec,
    TransportSpec,
)
from fabricbench.plan.endpoints import unsupported
from fabricbench.plan.expand import canonical_json
from fabricbench.work import collective_of

DEEP_BUFFER_BYTES: Final = (1 << 32) - 1
"""Replaces PFC: the longest queue of the kernel, so that nothing is dropped where PFC would pause."""
WINDOW_PACKETS_MIN: Final = 16
"""Smallest window of a lab: 64 KB, several batches."""


@dataclass(frozen=True)
class Likeness:
    """A run spec that a lab can run.

    Attributes:
        run_spec: The run spec of both the lab and its twin.
        omissions: The parts of the plan that neither has.
    """

    run_spec: RunSpec
    omissions: tuple[Omission, ...]


class _Omissions:
    """Collects omissions, one per field."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, field: str, text: str) -> None:
        self._texts.setdefault(field, text)

    def all(self) -> tuple[Omission, ...]:
        return tuple(Omission(field=field, text=text) for field, text in self._texts.items())


def obstacle(spec: RunSpec) -> str:
    """Return why no lab can run a run spec, in one line; empty if one can."""
    fabric = spec["fabric"]
    if fabric["link_layer"]["kind"] != "ethernet":
        return "InfiniBand: the kernel has neither its frames nor its credits"
    if fabric["switch"]["scheduled"] is not None:
        return "scheduled fabric: the kernel has neither cells nor credits"
    return next((f"{part.found}: {part.why}" for part in unsupported(spec)), "")


def likeness(spec: RunSpec) -> Likeness:
    """Return a run spec without the parts that a lab lacks, and these parts."""
    omissions = _Omissions()
    changed: dict[str, Any] = {
        **spec,
        "fabric": _with_own_memory(spec, _fabric(spec["fabric"], omissions), omissions),
        "jobs": [_job(job, omissions) for job in spec["jobs"]],
        "observe": {**spec["observe"], "chunks": "all"},
    }
    changed["transport"] = _transport(spec, omissions)
    return Likeness(cast("RunSpec", changed), omissions.all())


def _transport(spec: RunSpec, omissions: _Omissions) -> TransportSpec:
    transport = spec["transport"]
    if transport.get("connection") == "uc":  # has neither recovery nor a window
        return transport
    if transport["recovery"] == "none":
        text = "endpoints promise that all data arrives, so what is lost is sent again (go_back_n)"
        omissions.add("transport.recovery: none", text)
        transport = cast("TransportSpec", {**transport, "recovery": "go_back_n"})
    window = max(IN_FLIGHT_PACKETS_MAX // _queue_pairs_max(spec), WINDOW_PACKETS_MIN)
    if window < transport["window_packets"]:
        text = f"{window} packets, so that those of a host have {IN_FLIGHT_PACKETS_MAX:,} under way together"
        omissions.add("transport.window", text)
        transport = cast("TransportSpec", {**transport, "window_packets": window})
    return transport


def _queue_pairs_max(spec: RunSpec) -> int:
    """Return the largest number of sending queue pairs of a host."""
    counts = Counter(pair["src_host"] for pair in engine.describe(canonical_json(spec))["qps"])
    return max(counts.values(), default=1)


def _job(job: JobSpec, omissions: _Omissions) -> JobSpec:
    if not collective_of(job).get("compute_ps"):
        return job
    omissions.add("jobs.compute", "ranks compute nothing between their rounds")
    return cast("JobSpec", {**job, "work": {**job["work"], "compute_ps": 0}})


def _with_own_memory(spec: RunSpec, fabric: FabricSpec, omissions: _Omissions) -> FabricSpec:
    """Return the fabric with memory as fast as the machine's, if ranks copy within their host.

    A copy in a lab takes negligible time at the lab's scale.
    """
    if not any(
        collective_of(job).get("copies_own_block") or len(set(job["hosts"])) < len(job["hosts"])
        for job in spec["jobs"]
    ):
        return fabric
    omissions.add("fabric.shared_memory", "ranks copy within their host as fast as the machine lets them")
    memory = {**fabric["shared_memory"], "rate_bps": LIMITS["SharedMemorySpec.rate_bps"][1]}
    return cast("FabricSpec", {**fabric, "shared_memory": memory})


def _fabric(fabric: FabricSpec, omissions: _Omissions) -> FabricSpec:
    changed: dict[str, Any] = {**fabric, "switch": _switch(fabric, omissions)}
    kind = fabric["load_balancing"]["kind"]
    if kind not in BY_FLOW:
        omissions.add(
            "fabric.load_balancing", f"{kind}: a path for each queue pair by hash (ecmp) in its place"
        )
        changed["load_balancing"] = {"kind": "ecmp", "hash": "crc", "include_qp": False}
    if fabric.get("switch_settings"):
        omissions.add("fabric.switch_settings", "every switch is set up as `fabric.switch` says")
        changed.pop("switch_settings")
    if fabric.get("chips"):
        omissions.add("fabric.chips", "each switch is a namespace of its own: nothing is shared")
        changed.pop("chips")
    if fabric["extra_delays"]:
        omissions.add("fabric.extra_delays", "no delay lines")
        changed["extra_delays"] = []
    if "clocks" in fabric:
        omissions.add("fabric.clocks", "hosts of a lab share one clock")
        changed.pop("clocks")
    failures = [failure for failure in fabric["failures"] if is_loss_from_start(failure)]
    if len(failures) < len(fabric["failures"]):
        omissions.add("fabric.failures", "nothing fails or is repaired in the course of a run")
        changed["failures"] = failures
    changed["nic"] = _nic(fabric["nic"], omissions)
    return cast("FabricSpec", changed)


def _nic(nic: Mapping[str, Any], omissions: _Omissions) -> dict[str, Any]:
    changed = dict(nic)
    if nic["impairments"]:
        omissions.add("fabric.nic.impairments", "every host port has its link's rate")
        changed["impairments"] = []
    if nic.get("messages"):
        omissions.add("fabric.nic.message_cost", "messages cost what endpoints take for them")
        changed.pop("messages")
    if nic["drain_rate_bps"] is not None:
        omissions.add("fabric.nic.drain_rate", "hosts take data as fast as the machine lets them")
        changed["drain_rate_bps"] = None
    return changed


def _switch(fabric: FabricSpec, omissions: _Omissions) -> SwitchSpec:
    switch = fabric["switch"]
    changed: dict[str, Any] = {**switch, "pfc": None, "buffer": _buffer(switch, omissions)}
    if switch["forwarding"] == "store-and-forward":
        omissions.add("fabric.switch.forwarding", f"store-and-forward: {FORWARDING}")
        changed["forwarding"] = "cut-through"
    if switch.get("markers"):
        omissions.add("fabric.switch.markers", "frames have no colours")
        changed.pop("markers")
    ecn = switch["ecn"]
    if ecn is not None and ecn["dynamic"] is not None:
        omissions.add("fabric.switch.ecn.dynamic", "thresholds stay as they are")
        ecn = {**ecn, "dynamic": None}
    if ecn is not None and ecn.get("wred") is not None:
        omissions.add(
            "fabric.switch.ecn.wred", "every frame is marked by the thresholds of `ecn`, none dropped"
        )
        ecn = {key: value for key, value in ecn.items() if key != "wred"}  # type: ignore[assignment]
    return cast("SwitchSpec", {**changed, "ecn": ecn})


def _buffer(switch: SwitchSpec, omissions: _Omissions) -> BufferSpec:
    buffer = switch["buffer"]
    if buffer.get("pools") is not None:
        omissions.add("fabric.switch.buffer.pools", "no pools: each port has its one queue")
        buffer = cast("BufferSpec", {key: value for key, value in buffer.items() if key != "pools"})
    if switch["pfc"] is None:
        return buffer
    text = "no pauses: queues grow as long as need be in their place, so that nothing is dropped either"
    omissions.add("fabric.switch.pfc", text)
    return {"size_bytes": DEEP_BUFFER_BYTES, "cell_bytes": 1, "lossy_alpha": None}
