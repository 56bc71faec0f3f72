"""Servers with GPUs: GPUs, scale-up domain, adapters, PCIe and CPUs; those that are shipped, and inline ones.

A shipped server is a file of `servers/` whose `sources` name the origin of every value. NCCL's rules read a
server by `Server.hardware`. A server that a plan describes has the values of `DEFAULT_SERVER` where it has
none of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema

from fabricbench.plan._run_spec import SharedMemorySpec
from fabricbench.plan.document.document import read_file
from fabricbench.plan.errors import FieldProblem
from fabricbench.plan.fabric.cables import HostLink
from fabricbench.plan.fabric.pcie import data_rate_bps
from fabricbench.plan.fields.base import Named, PlanModel, shown
from fabricbench.plan.fields.quantities import OneLine, Rate, Time
from fabricbench.units import UnitError, describe, format_rate

_SHIPPED: Final = Path(__file__).parents[1] / "servers"
_GPUS_MAX: Final = 64
"""Most GPUs, and adapters, of a server."""
_DOMAIN_SERVERS_MAX: Final = 144
_RATE_BPS_MAX: Final = 8_000_000_000_000
"""Highest rate of an adapter or a chip-to-chip link [bit/s]."""
MBYTE_BITS: Final = 8_000_000
"""Bits of a megabyte, the unit of bandwidths in the core's rules of NCCL."""
_PS_PER_US: Final = 1_000_000
_CAPABILITY: Final = re.compile(r"(1?[0-9])\.([0-9])", re.ASCII)
_CAPABILITY_ALLOWED: Final = "a compute capability of CUDA such as 9.0"


def parse_capability(value: object) -> int:
    """Read a compute capability of CUDA, such as 9.0, as ten times its value.

    Raises:
        UnitError: It is something else.
    """
    match = _CAPABILITY.fullmatch(str(value)) if isinstance(value, float | str) else None
    if match is None:
        raise UnitError(describe(value), _CAPABILITY_ALLOWED)
    return 10 * int(match[1]) + int(match[2])


def parse_nics_of_gpus(value: object) -> tuple[tuple[int, ...], ...]:
    """Read the adapters of each GPU: a number, or a list of numbers for several.

    Raises:
        UnitError: It is something else.
    """
    if not isinstance(value, list):
        raise UnitError(describe(value), "a list with the adapter of each GPU")
    return tuple(_nics(item) for item in value)


def _nics(item: object) -> tuple[int, ...]:
    nics = item if isinstance(item, list) else [item]
    if not nics or any(type(nic) is not int or not 0 <= nic < _GPUS_MAX for nic in nics):
        raise UnitError(f"{shown(item)} in the list", "numbers of adapters from 0, or lists of them")
    return tuple(nics)


Capability = Annotated[
    int, BeforeValidator(parse_capability), WithJsonSchema({"type": "number", "examples": [9.0]})
]
NicsOfGpus = Annotated[
    tuple[tuple[int, ...], ...],
    BeforeValidator(parse_nics_of_gpus),
    WithJsonSchema({"type": "array", "examples": [[0, 1, 2, 3]]}),
]
Generation = Annotated[int, Field(ge=1, le=6)]
Processor = Literal[
    "intel-broadwell",
    "intel-skylake",
    "intel-sapphire-rapids",
    "intel-emerald-rapids",
    "amd-zen2",
    "amd-zen4",
    "amd-zen5",
    "arm",
    "power9",
    "zhaoxin",
    "yongfeng",
    "other",
]


class ScaleUp(PlanModel):
    """Scale-up domain of GPUs that NVLink joins."""

    kind: Literal["nvswitch", "mesh"] = Field(
        description="`nvswitch`: switches join all GPUs; `mesh`: each pair of GPUs has links of its own."
    )
    links: int = Field(
        ge=1, le=72, description="NVLinks of a GPU to the switches, or between each pair of GPUs."
    )
    rate_bps: Rate = Field(alias="rate", description="Rate of a GPU to all others together, one way [bit/s].")
    latency_ps: Time = Field(alias="latency", description="Latency between two GPUs [time].")
    servers: int = Field(
        default=1,
        ge=1,
        le=_DOMAIN_SERVERS_MAX,
        description="Servers that one domain joins (MNNVL). Source: DGX and HGX servers.",
    )


class Adapter(PlanModel):
    """Adapter as NCCL uses it: one device, even if several ports are bonded."""

    rate_bps: Rate = Field(alias="rate", description="Rate of the device, all ports together [bit/s].")
    ports: int = Field(
        default=1, ge=1, le=16, description="Ports of which the device consists. Source: DGX H100."
    )
    latency_ps: Time = Field(
        default=0,
        alias="latency",
        description=(
            "Latency that the network plugin reports to NCCL's tuner [time]. Source: NCCL's own plugin for "
            "InfiniBand and RoCE."
        ),
    )
    transport: Literal["roce", "srd"] = Field(
        default="roce",
        description=(
            "`roce`, InfiniBand included; `srd`: that of AWS's EFA, whose packets take many paths and arrive "
            "out of order. Source: DGX H100."
        ),
    )
    pcie: Generation = Field(description="Generation of PCIe whose 16 lanes are as fast as its own.")
    pcie_rate_bps: Rate | None = Field(
        default=None,
        alias="pcie_rate",
        description=(
            "Rate at which PCIe moves frames between memory and adapter, each way [bit/s]. Default: that of "
            "16 lanes of `pcie`, or of the GPUs' generation if that is slower and they have no `c2c`: 26.5 "
            "GB/s of generation 4, 53 of 5. Source: Neugebauer et al., SIGCOMM 2018."
        ),
    )
    gpu_direct: bool = Field(default=True, description="GPUDirect RDMA is supported.")


class Pcie(PlanModel):
    """PCIe between GPUs, adapters and CPUs."""

    generation: Generation = Field(description="Generation of the links of GPUs and switches, 16 lanes each.")
    gpus_per_switch: int = Field(
        default=1,
        ge=1,
        le=_GPUS_MAX,
        description="GPUs on one switch, or on one CPU without switches. Source: DGX H100.",
    )
    layout: Literal["switch", "two-switches", "nic-at-cpu", "cpu"] = Field(
        default="switch",
        description="`switch`: a GPU and its adapter on one switch; `two-switches`: the GPU on a further "
        "switch below; `nic-at-cpu`: GPUs on switches, adapters on the CPU; `cpu`: no switches.",
    )


class Cpu(PlanModel):
    """CPUs of a server."""

    processor: Processor = Field(description="Vendor and generation, as far as NCCL distinguishes them.")
    numa_nodes: int = Field(
        ge=1, le=16, description="NUMA nodes among which PCIe switches are divided evenly."
    )


class Server(PlanModel):
    """A server with GPUs that are all connected alike."""

    description: OneLine = Field(default="", description="What the server is, in a line.")
    gpus: int = Field(ge=1, le=_GPUS_MAX, description="GPUs of a server.")
    compute_capability: Capability = Field(description="Compute capability of CUDA, such as 9.0.")
    nics: int = Field(ge=0, le=_GPUS_MAX, description="Adapters for the scale-out network.")
    nic: Adapter | None = Field(default=None, description="The adapters.")
    nic_of_gpu: NicsOfGpus | None = Field(
        default=None, description="Adapter near each GPU, or a list of several; by default divided evenly."
    )
    scale_up: ScaleUp | None = Field(default=None, description="Scale-up domain; none: GPUs use PCIe.")
    c2c_bps: Rate | None = Field(
        default=None, alias="c2c", description="Rate of the chip-to-chip link of a GPU to its CPU [bit/s]."
    )
    pcie: Pcie = Field(description="PCIe.")
    cpu: Cpu = Field(description="CPUs.")
    peer_to_peer: bool = Field(default=True, description="GPUs access one another directly.")
    sources: dict[str, OneLine] = Field(
        default={},
        description="Origin of each value, by field; `inferred` marks a conclusion.",
    )

    def nics_by_gpu(self) -> tuple[tuple[int, ...], ...]:
        """Return the adapters near each GPU."""
        if self.nic_of_gpu is not None:
            return self.nic_of_gpu
        if self.nics >= self.gpus:
            owners = [nic * self.gpus // self.nics for nic in range(self.nics)]
            return tuple(
                tuple(nic for nic, owner in enumerate(owners) if owner == gpu) for gpu in range(self.gpus)
            )
        return tuple((gpu * self.nics // self.gpus,) if self.nics else () for gpu in range(self.gpus))

    def bus_bps(self) -> int | None:
        """Return the rate of PCIe between memory and an adapter [bit/s]; none without adapters."""
        if self.nic is None or self.nic.pcie_rate_bps is not None:
            return None if self.nic is None else self.nic.pcie_rate_bps
        has_c2c = self.c2c_bps is not None
        generation = self.nic.pcie if has_c2c else min(self.nic.pcie, self.pcie.generation)
        return data_rate_bps(generation)

    @property
    def domain_servers(self) -> int:
        """Most servers that one scale-up domain joins."""
        return 1 if self.scale_up is None else self.scale_up.servers

    def domain_spec(self) -> SharedMemorySpec:
        """Return the scale-up domain for the engine: the memory by which ranks of a server send."""
        assert self.scale_up is not None, "`check_server` refuses it"
        return {"rate_bps": self.scale_up.rate_bps, "latency_ps": self.scale_up.latency_ps}

    def with_adapters_of(self, rate_bps: int) -> Server:
        """Return the server with adapters of another rate."""
        if self.nic is None:
            return self
        return self.model_copy(update={"nic": self.nic.model_copy(update={"rate_bps": rate_bps})})

    def hardware(self) -> dict[str, Any]:
        """Return the server as NCCL's rules read it, in the core's JSON."""
        nics_by_gpu = self.nics_by_gpu()
        first_gpu = [
            next(gpu for gpu, nics in enumerate(nics_by_gpu) if nic in nics) for nic in range(self.nics)
        ]
        generation = f"Gen{self.pcie.generation}"
        adapter = self.nic
        return {
            "gpus": self.gpus,
            "capability": self.compute_capability,
            "nvlink": self._nvlink(),
            "c2c": None if self.c2c_bps is None else self.c2c_bps // MBYTE_BITS,
            "gpu_of_nic": first_gpu,
            "nic": {
                "bandwidth": 0 if adapter is None else adapter.rate_bps // MBYTE_BITS,
                "latency_us": 0.0 if adapter is None else adapter.latency_ps / _PS_PER_US,
                "pcie": generation if adapter is None else f"Gen{adapter.pcie}",
                "gpu_direct": adapter is not None and adapter.gpu_direct,
            },
            "pcie": generation,
            "gpus_per_switch": self.pcie.gpus_per_switch,
            "layout": self.pcie.layout.replace("-", "_"),
            "cpus": self.cpu.numa_nodes,
            "processor": processor_name(self.cpu.processor),
            "peer_to_peer": self.peer_to_peer,
            "hosts": self.domain_servers,
        }

    def _nvlink(self) -> Any:
        if self.scale_up is None:
            return "none"
        return {{"nvswitch": "switch", "mesh": "mesh"}[self.scale_up.kind]: self.scale_up.links}


def processor_name(processor: str) -> str:
    """Return the core's name of a processor."""
    return processor.replace("-", "_")


@cache
def shipped_servers() -> dict[str, Path]:
    """Return the shipped servers by name, in the order of the names."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.yaml"))}


def server_problems(server: Server) -> Iterator[FieldProblem]:
    """Yield the contradictions between fields."""
    if server.nics and server.nic is None:
        yield FieldProblem(("nics",), f"{server.nics} without `nic`", "`nic` with the adapters' rate")
    rates = (
        (("nic", "rate"), None if server.nic is None else server.nic.rate_bps),
        (("nic", "pcie_rate"), None if server.nic is None else server.nic.pcie_rate_bps),
        (("c2c",), server.c2c_bps),
    )
    for path, rate_bps in rates:
        if rate_bps is not None and not MBYTE_BITS <= rate_bps <= _RATE_BPS_MAX:
            limits = f"{format_rate(MBYTE_BITS)} to {format_rate(_RATE_BPS_MAX)}"
            yield FieldProblem(path, format_rate(rate_bps), limits)
    if server.nic_of_gpu is not None and len(server.nic_of_gpu) != server.gpus:
        count = f"a list of {len(server.nic_of_gpu)}"
        yield FieldProblem(("nic_of_gpu",), count, f"an item for each of the {server.gpus} GPUs")
        return
    listed = {nic for nics in server.nics_by_gpu() for nic in nics}
    if too_large := sorted(nic for nic in listed if nic >= server.nics):
        yield FieldProblem(("nic_of_gpu",), f"adapter {too_large[0]}", f"0 to {server.nics - 1}")
    elif missing := sorted(set(range(server.nics)) - listed):
        yield FieldProblem(("nic_of_gpu",), f"no GPU with adapter {missing[0]}", "each adapter near a GPU")
    if server.scale_up is not None and server.scale_up.kind == "mesh" and server.scale_up.servers > 1:
        yield FieldProblem(("scale_up", "servers"), str(server.scale_up.servers), "1 with `kind: mesh`")


RAILS: Final = ("rail-optimised", "rail-pods")
"""Topologies whose servers have an adapter on each rail."""
DEFAULT_SERVER: Final = "dgx-h100"
"""Shipped server with the values that a plan leaves out."""
NO_SERVER: Final = "none"


class ServerForms(Named):
    """Annotates the field of a plan with a server: a shipped one's name, none, or a mapping of fields."""

    def __init__(self) -> None:
        super().__init__({NO_SERVER: None} | dict.fromkeys(shipped_servers()))

    def read(self, value: object) -> Any:
        """Return the fields of a server; see `Named.read`.

        Raises:
            UnitError: There is no such server.
        """
        if isinstance(value, str) and value in shipped_servers():
            return _shipped(value)
        return super().read(value)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow a mapping without any field; a file of a server has all that have no default."""
        forms = super().__get_pydantic_json_schema__(schema, handler)
        _without_required(forms, handler)
        forms["anyOf"].insert(1, {"type": "string", "pattern": r"\.ya?ml$"})
        return forms


def _without_required(node: Any, handler: GetJsonSchemaHandler) -> None:
    """Remove the requirements of mappings in a JSON Schema, and in those that it refers to."""
    if isinstance(node, list):
        for child in node:
            _without_required(child, handler)
    elif isinstance(node, dict):
        node.pop("required", None)
        if "$ref" in node:
            _without_required(handler.resolve_ref_schema(node), handler)
        for child in node.values():
            _without_required(child, handler)


@cache
def _shipped(name: str) -> dict[str, Any]:
    """Return the fields of a shipped server."""
    return read_file(shipped_servers()[name], name).data


_GENERATIONS: Final = (("pcie", "nic"), ("generation", "pcie"))
"""Fields of a server with generations of PCIe, by name and part."""


def fill_server(fabric: Any) -> Any:
    """Return a fabric as written with its server, complete: the default one where it names none.

    On topologies with rails a server has a GPU and an adapter for each rail by default; with the links of a
    scale-up switch in the topology, and on other topologies, hosts are no servers by default. Fields that a
    server leaves out are those of `DEFAULT_SERVER`, and the rate of its adapters is that of the hosts' links.
    So is that of PCIe, unless the server states a generation.
    """
    topology = fabric.get("topology") if isinstance(fabric, dict) else None
    if not isinstance(topology, dict):
        return fabric
    rails = topology.get("rails") if topology.get("kind") in RAILS else None
    written = fabric.get("server")
    if "server" not in fabric:
        has_rails = type(rails) is int and 1 < rails <= _GPUS_MAX
        if not has_rails or topology.get("scale_up_link") is not None:
            return fabric
        written = {}
    if not isinstance(written, dict):
        return fabric
    default = _shipped(DEFAULT_SERVER)
    count = rails if rails is not None else default["gpus"]
    link = topology.get("host_link", {})
    rate = link.get("rate", HostLink.model_fields["rate_bps"].default) if isinstance(link, dict) else link
    nic = default["nic"] | {"rate": rate}
    if not any(name in written[part] for name, part in _GENERATIONS if isinstance(written.get(part), dict)):
        nic |= {"pcie_rate": rate}
    defaults = {
        **{name: default[name] for name in ("compute_capability", "scale_up", "pcie", "cpu")},
        "gpus": count,
        "nics": count if rails is not None else written.get("gpus", count),
        "nic": nic,
    }
    return fabric | {
        "server": {name: _merged(defaults[name], written.get(name)) for name in defaults}
        | {name: value for name, value in written.items() if name not in defaults}
    }


def _merged(default: Any, written: Any) -> Any:
    """Return a value as written; of a mapping with the default of each field that it leaves out."""
    if written is None:
        return default
    return default | written if isinstance(default, dict) and isinstance(written, dict) else written
