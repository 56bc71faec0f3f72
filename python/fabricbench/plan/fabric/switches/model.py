"""Switches in a plan: buffer, scheduling, PFC, ECN, scheduled fabrics, and settings of single switches."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench import units
from fabricbench.plan._run_spec import (
    BufferSpec,
    ReleaseSpec,
    SchedulingSpec,
    SwitchSettingsSpec,
    SwitchSpec,
)
from fabricbench.plan.devices.sonic_config.tables import DSCP_MAX
from fabricbench.plan.fabric.switches.colours import Marker
from fabricbench.plan.fabric.switches.ecn import ECN, ECN_ON, Ecn
from fabricbench.plan.fabric.switches.pfc import Pfc, ratio_spec
from fabricbench.plan.fabric.switches.pools import SONIC_POOLS, Pools
from fabricbench.plan.fabric.switches.scheduled import Scheduled
from fabricbench.plan.fields.base import Named, PlanModel, ShortModel
from fabricbench.plan.fields.quantities import (
    PRIORITIES,
    QUANTUM_BYTES,
    Names,
    Ratio,
    Size,
    Time,
    parse_quanta,
    parse_ratio,
)

Dscp = Annotated[int, Field(ge=0, le=DSCP_MAX)]


NAME_LENGTH_MAX: Final = 4096


FILES_MAX: Final = 256


SECTIONS: Final = ("buffer", "scheduling", "pfc", "ecn")
"""Sections in which switches of one fabric may differ."""


READ_CELL_BYTES: Final = 256
"""Size of the cells in which frames are read from a buffer without `cell` [bytes].

Source: cells of 254 and 256 bytes of the chips in SONiC's buffer configurations.
"""


class Buffer(ShortModel):
    """The packet buffer of a switch, shared by all ports: a size, or a mapping."""

    short_key = "size"

    size_bytes: Size = Field(
        default="64MB",
        alias="size",
        validate_default=True,
        description=(
            "Size of the whole buffer, headroom and reserves included [size, in frame bytes]. Source: the "
            "buffer of 12.8 Tb/s switch chips."
        ),
    )
    cell_bytes: Size = Field(
        default=1,
        alias="cell",
        description=(
            "A frame takes whole cells of this size [size]; 1 counts frames as they are. Source: chips "
            "differ; common are 176 to 256 bytes."
        ),
    )
    lossy_alpha: Annotated[Ratio | None, Named({"none": None}, parse_ratio)] = Field(
        default=None,
        description=(
            "Dynamic threshold of lossy priorities: an egress queue holds at most this many times the free "
            "shared buffer [ratio], `none` for no limit but the whole buffer. Source: Choudhury and Hahne, "
            "1998, for the rule; the default is a generator's fabric."
        ),
        json_schema_extra={"default": "none"},
    )
    release: Literal["start", "end", "cells"] | None = Field(
        default=None,
        description=(
            "When the buffer that a frame takes is free again: each cell when its last byte has left "
            "(`cells`, of 256 bytes where `cell` is 1), all of it when its last byte has left (`end`), or as "
            "its transmission starts (`start`). It holds for thresholds of the buffer, of PFC and of pools, "
            "and for the queue by which frames are marked. InfiniBand and scheduled switches have rules of "
            "their own. Source: an assumption; vendors describe buffers in cells, and not when a cell is "
            "free again."
        ),
        json_schema_extra={"default": "cells"},
    )
    pipeline_ps: Time = Field(
        default="0",
        alias="pipeline",
        validate_default=True,
        description=(
            "Part of `pipeline_latency` that lies inside the buffer [time], at most all of it: frames are "
            "released so much later. Source: an assumption, as chips differ."
        ),
    )
    pools: Annotated[Pools | None, Named({"none": None} | SONIC_POOLS)] = Field(
        default=None,
        description=(
            "How it is divided into pools, with what groups, queues and pools may hold: `none` for one that "
            "all share, `sonic-trident3`, `sonic-tomahawk5`, or a mapping. Source of the two: "
            "`buffers_defaults_t0.j2` of the switches with these chips in sonic-buildimage (buffers of 32 "
            "and 165 MB)."
        ),
        json_schema_extra={"default": "none"},
    )

    def run_spec(self, *, has_release: bool) -> BufferSpec:
        """Return the buffer for the engine.

        Args:
            has_release: The release of frames can be chosen: not on InfiniBand, nor in scheduled switches.
        """
        alpha = self.lossy_alpha
        spec: BufferSpec = self.to_spec(BufferSpec, lossy_alpha=ratio_spec(alpha) if alpha else None)
        # The engine's own default is omitted, so that the identity of such a trial does not change.
        if has_release and self.release != "start":
            spec["release"] = self._release_spec()
        if self.pipeline_ps:
            spec["pipeline_ps"] = self.pipeline_ps
        if self.pools:
            spec["pools"] = self.pools.run_spec()
        return spec

    def _release_spec(self) -> ReleaseSpec:
        if self.release == "end":
            return {"kind": "end"}
        return {"kind": "cells", "bytes": self.cell_bytes if self.cell_bytes > 1 else READ_CELL_BYTES}


class Dwrr(PlanModel):
    """Deficit weighted round robin over the priorities."""

    quantum_bytes: Annotated[
        tuple[int, ...],
        BeforeValidator(parse_quanta),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "array", "minItems": PRIORITIES, "maxItems": PRIORITIES},
                    {"type": "object", "propertyNames": {"pattern": "^[0-7]$"}},
                ]
            }
        ),
    ] = Field(
        default=(QUANTUM_BYTES,) * PRIORITIES,
        alias="quantum",
        description=(
            "What a priority may send in its turn [size]: a list for the priorities 0 to 7, or a mapping "
            "such as `{3: 32KB, 6: 8KB}` with 8 KB for the others. Source: a full frame each turn "
            "(Shreedhar and Varghese, 1995)."
        ),
        json_schema_extra={"default": "8KB each"},
    )


class Scheduling(PlanModel):
    """How a port chooses among its priorities, if not strictly by number."""

    dwrr: Dwrr = Field(description="Deficit weighted round robin.")


class SwitchSections(PlanModel):
    """Sections of a switch that may differ between the switches of a fabric."""

    buffer: Buffer = Field(default_factory=Buffer, description="The packet buffer.")
    scheduling: Annotated[Scheduling | None, Named({"strict": None, "dwrr": {"dwrr": {}}})] = Field(
        default=None,
        description=(
            "Which priority a port serves next: the highest (`strict`), or by deficit weighted round robin "
            "(`dwrr`). Source: control packets, which have a priority of their own, come first with it."
        ),
        json_schema_extra={"default": "strict"},
    )
    pfc: Annotated[Pfc | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "Priority flow control: `off`, `on` (with every default) or a mapping. Source: published "
            "completion times without congestion."
        ),
        json_schema_extra={"default": "off"},
    )
    ecn: Annotated[
        Ecn | None,
        Named({"off": None, "on": {"preset": ECN_ON}} | {name: {"preset": name} for name in ECN}),
    ] = Field(
        default=None,
        description=(
            f"ECN marking: `off`, `on` (which is `{ECN_ON}`), a preset, or a mapping. Source: as for `pfc`."
        ),
        json_schema_extra={"default": "off"},
    )

    def scheduling_spec(self) -> SchedulingSpec:
        """Return the scheduling of the priorities of a port for the engine."""
        if self.scheduling is None:
            return {"kind": "strict"}
        return {"kind": "dwrr", "quantum_bytes": list(self.scheduling.dwrr.quantum_bytes)}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= NAME_LENGTH_MAX


def config_files(value: object) -> Any:
    """Check the name of a file, a list of names, or names by their switches."""
    names: Any = [value] if isinstance(value, str) else value
    if isinstance(names, dict) and all(map(_is_name, names)):
        names = list(names.values())
    if isinstance(names, list | tuple) and 0 < len(names) <= FILES_MAX and all(map(_is_name, names)):
        return value if isinstance(value, dict) else tuple(names)
    actual = f"a list of {len(names)}" if isinstance(value, list) else units.describe(value)
    allowed = f"the name of a file or folder, a list of up to {FILES_MAX}, or `{{leaf*: FILE, spine*: FILE}}`"
    raise units.UnitError(actual, allowed)


class SwitchConfig(ShortModel):
    """Configuration of the switches: a file of SONiC, or a mapping."""

    short_key = "file"

    file: Annotated[
        Any,
        BeforeValidator(config_files),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                    {
                        "type": "object",
                        "additionalProperties": {"type": "string", "minLength": 1},
                        "minProperties": 1,
                    },
                ]
            }
        ),
    ] = Field(
        description=(
            "`config_db.json` of SONiC, a file next to the plan that holds for every switch; one for each, "
            "as `{leaf0: a.json, leaf*: b.json, spine*: c.json}`, or a folder with `NAME.json` of each; "
            "or a list of those of several switches, which have to come to the same."
        ),
    )
    data_dscp: Dscp | None = Field(
        default=None,
        description=(
            "DSCP of RDMA data [0 to 63], whose traffic class in the file becomes "
            "`transport.priorities.data`. Default: the priority that the plan writes, or the file pauses."
        ),
    )
    cnp_dscp: Dscp | None = Field(
        default=None, description="The same of CNPs [0 to 63]. Default: `transport.priorities.cnp`."
    )
    sha256: str | None = Field(default=None, description="In a record: digest of each file that was read.")
    values: dict[str, Any] | None = Field(
        default=None,
        description=(
            "In a record: what the file gave, by the dotted paths of fields; the file is not read then."
        ),
    )
    others: dict[str, Any] | None = Field(
        default=None,
        description="In a record: what each file gave, by the names of switches, if they differ.",
    )
    not_modelled: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="In a record: what of the file is not modelled."
    )
    differs: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="In a record: what the plan has in another way than the file."
    )


class Switch(SwitchSections):
    """Every switch of the fabric."""

    config: SwitchConfig | None = Field(
        default=None,
        description=(
            "Configuration of real switches, SONiC's `config_db.json`, or a mapping with it: its values take "
            "the place of the defaults of `buffer`, `scheduling`, `pfc`, `ecn` and `transport.priorities`. "
            "What the plan, a variant or an override writes wins."
        ),
    )
    forwarding: Literal["store-and-forward", "cut-through"] = Field(
        default="store-and-forward",
        description=(
            "When a frame may leave: once its last bit is in, or (`cut-through`) its first 64 bytes, if it "
            "leaves by a port no faster than the one it came in by. Source: the published latencies fit it."
        ),
    )
    pipeline_latency_ps: Time = Field(
        default="500ns",
        alias="pipeline_latency",
        validate_default=True,
        description=(
            "From when a frame may leave to its earliest first bit out [time]. Source: published latencies "
            "of a full frame at 400 Gb/s, about 0.8 us through one leaf and 2.1 us through leaf, spine and "
            "leaf, are 0.7 and 2.2 us with it."
        ),
    )
    scheduled: Annotated[Scheduled | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "Scheduled switches in place of Ethernet ones, as in a disaggregated chassis: `off`, `on` (with "
            "every default) or a mapping. Source: the other plans."
        ),
        json_schema_extra={"default": "off"},
    )
    markers: Annotated[tuple[Marker, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Meters that colour frames received from hosts: `{hosts: 0-7, cir: 100Gbps, pir: 200Gbps}`. The "
            "first one that matches a frame's host and priority applies; the frame keeps its colour on the "
            "whole path. Default: all frames are green. Needs `ecn.wred`, which uses the colours."
        ),
    )

    def run_spec(self, data_priority: int, *, has_release: bool) -> SwitchSpec:
        """Return the switches for the engine; PFC and ECN without a priority are for that of data."""
        spec: SwitchSpec = self.to_spec(
            SwitchSpec,
            buffer=self.buffer.run_spec(has_release=has_release),
            scheduling=self.scheduling_spec(),
            pfc=self.pfc.run_spec(data_priority) if self.pfc else None,
            ecn=self.ecn.run_spec(data_priority) if self.ecn else None,
            scheduled=self.scheduled.run_spec() if self.scheduled else None,
        )
        if self.markers:
            spec["markers"] = [marker.run_spec() for marker in self.markers]
        return spec


class SwitchSettings(SwitchSections):
    """Switches with settings of their own; fields that are not written are those of all switches."""

    switches: Annotated[tuple[Names, ...], Field(strict=False)] = Field(
        description=(
            "Their names; `leaf*` is every switch whose name begins so, unless a longer name here is of it."
        )
    )

    def run_spec(self, data_priority: int, *, has_release: bool) -> SwitchSettingsSpec:
        """Return the settings for the engine."""
        return {
            "switches": list(self.switches),
            "buffer": self.buffer.run_spec(has_release=has_release),
            "scheduling": self.scheduling_spec(),
            "pfc": self.pfc.run_spec(data_priority) if self.pfc else None,
            "ecn": self.ecn.run_spec(data_priority) if self.ecn else None,
        }


def with_switch_settings(data: Any) -> Any:
    """Return a fabric with the common sections added to switch settings that lack them."""
    settings = data.get("switch_settings") if isinstance(data, dict) else None
    switch = data.get("switch") if settings else None
    if not isinstance(settings, list) or not isinstance(switch, dict):
        return data
    common = {name: switch[name] for name in SECTIONS if name in switch}
    merged_settings = [common | entry if isinstance(entry, dict) else entry for entry in settings]
    return {**data, "switch_settings": merged_settings}
