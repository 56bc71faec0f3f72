"""Hardware of a host in NCCL's XML topology, part by part, as NCCL's rules read it.

`nccl_topology` reads the XML and selects GPUs and ports; this module connects them: PCIe with the switches of
the file, NVLink, chip-to-chip links, CPUs. A file that a cloud provides for `NCCL_TOPO_FILE` has neither
models of GPUs nor NVLink nor rates of adapters; those are taken from a server.

Source: NCCL 2.30 `src/graph/topo.cc`, `src/graph/xml.cc`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from fabricbench.plan.devices.nccl_topology import PCIE_SPEED, Host, name_of, read_host
from fabricbench.plan.devices.nccl_xml import Element
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.fabric.server import Server, processor_name

Node = dict[str, int] | str
"""Part of a system: {"cpu": 0}, {"gpu": 3}, "nv_switch"."""
_PARTS_MAX: Final = 1_000
"""Most CPUs, switches, GPUs and ports of a host."""
_GPUS_MAX: Final = 64
_CAPABILITY_MAX: Final = 1_000
_NUMBER_MAX: Final = 1_000
"""Highest number of a device or a port, and most links."""
_C2C_MB_MAX: Final = 1_000_000
"""Highest rate of a chip-to-chip link [MB/s]."""
_LOCAL_MB: Final = 5_000_000
"""Rate of an adapter without a slot of PCIe [MB/s]."""
_LANE_MB: Final = {2.5: 187.5, 5: 375, 8: 750, 16: 1_500, 32: 3_000, 64: 6_000}
"""Rate of a lane of PCIe by its transfer rate [GT/s], one way [MB/s]."""
_DEFAULT_LANE_MB: Final = 750
_LANES: Final = 16
_MB_OF_MBPS: Final = 8
_MBYTE_BITS: Final = 8_000_000
_PS_PER_US: Final = 1_000_000
_NVSWITCH_CLASS: Final = "0x068"
_GPU_CLASSES: Final = ("0x03", "0x12")
_BRIDGE_CLASS: Final = "0x0604"
_SWITCHES_OF_PAIRS: Final = ((0x1000C0101000A000, 4), (0x1000C03010000000, 5))
"""Broadcom's switches whose packages appear as pairs: vendor, device and subsystem, with the generation. The
lowest 12 bits are free, and bit 12 is set for the inner switch."""
_ANY_SUBDEVICE: Final = 0xFFF
_INNER: Final = 0x1000
_EXTENDED_FAMILY: Final = 0x8F
"""Smallest family of AMD that has its extended bits shifted by 4, as NCCL writes it."""
_SERVER_HINT: Final = (
    "the file does not have it: name the server as well, such as `fabricbench nccl dgx-a100 --topo FILE`"
)
_INTEL_MODELS: Final = (
    (0xCF, "intel-emerald-rapids"),
    (0x8F, "intel-sapphire-rapids"),
    (0x55, "intel-skylake"),
    (0, "intel-broadwell"),
)
_AMD_FAMILIES: Final = ((0x1A, "amd-zen5"), (0x19, "amd-zen4"), (0, "amd-zen2"))
_YONGFENG_MODEL: Final = 0x5B


def hardware_of(text: str, source: str, server: Server | None = None) -> dict[str, Any]:
    """Return the parts of a host, in the core's JSON.

    Args:
        text: The XML.
        source: Its name in errors.
        server: Server with the values that the file does not have.

    Raises:
        PlanError: It is no topology of a host with GPUs and adapters, or a value is neither in the file nor
            of a server.
    """
    return _Parts(read_host(text, source), server).content


class _Parts:
    """Collects the parts of a host from its CPUs down."""

    def __init__(self, host: Host, server: Server | None) -> None:
        self._host, self._server = host, server
        self._gpu_slots = {id(element) for element in host.gpus}
        self._ports = {id(element) for element in host.ports}
        self._gpu_index: dict[str, int] = {}
        self._nvlink_elements: list[tuple[int, Element, int]] = []
        self.content: dict[str, Any] = {
            name: [] for name in ("cpus", "switches", "gpus", "adapters", "nvlinks", "c2c")
        }
        cpus = list(host.system.all("cpu"))
        if not cpus:
            self._refuse(host.system, "no CPU", "1 `cpu` or more")
        for cpu in cpus:
            index = len(self.content["cpus"])
            self.content["cpus"].append(processor_name(_processor(cpu)))
            self._add_children(cpu, {"cpu": index}, index)
        self._add_nvlinks()
        self._check_size()

    def _check_size(self) -> None:
        gpus = len(self.content["gpus"])
        ports = sum(len(adapter["ports"]) for adapter in self.content["adapters"])
        parts = len(self.content["cpus"]) + len(self.content["switches"]) + gpus + ports
        if not 0 < gpus <= _GPUS_MAX or parts > _PARTS_MAX:
            allowed = f"1 to {_GPUS_MAX} GPUs, at most {_PARTS_MAX} CPUs, switches, GPUs and ports"
            self._refuse(self._host.system, f"{gpus} GPUs at CPUs, {parts} parts", allowed)

    def _refuse(self, element: Element, actual: str, allowed: str, hint: str = "") -> None:
        location = Place(self._host.source, element.line, 1)
        raise PlanError([Problem(location, element.tag, actual, allowed, hint)])

    def _add_children(self, parent: Element, node: Node, cpu: int) -> None:
        for child in _devices(parent):
            if child.tag == "nic":
                self._add_adapter([child], node, _LOCAL_MB)
            elif child.tag == "pci":
                self._add_slot(child, node, cpu)

    def _add_slot(self, slot: Element, node: Node, cpu: int) -> None:
        """Add the device of a slot of PCIe: a GPU, an adapter or a switch."""
        gpu = next((child for child in slot.inside if child.tag == "gpu"), None)
        nics = [child for child in slot.inside if child.tag == "nic"]
        if gpu is not None or id(slot) in self._gpu_slots:
            self._add_gpu(slot, gpu, node, cpu)
        elif nics:
            self._add_adapter(nics, node, _slot_mb(slot))
        elif id(slot) in self._ports:
            self._add_adapter([slot], node, _slot_mb(slot))
        elif any(child.tag == "pci" for child in slot.inside):
            index = len(self.content["switches"])
            self.content["switches"].append(_upstream(slot, node))
            self._add_children(slot, {"pci_switch": index}, cpu)

    def _add_gpu(self, slot: Element, gpu: Element | None, node: Node, cpu: int) -> None:
        index = len(self.content["gpus"])
        values = gpu.values if gpu is not None else {}
        capability = _whole(values.get("sm"), _CAPABILITY_MAX) or (
            self._server and self._server.compute_capability
        )
        if not capability:
            self._refuse(gpu or slot, "no compute capability (`sm`)", "that of the GPU", _SERVER_HINT)
        device = _whole(values.get("dev"), _NUMBER_MAX)
        self._gpu_index[slot.values.get("busid", "")] = index
        description = {
            "capability": capability,
            "device": index if device is None else device,
            "host": 0,
            "gpu_direct": values.get("gdr", "1") != "0",
            "peer_to_peer": True,
        }
        self.content["gpus"].append({"gpu": description, "upstream": _upstream(slot, node)})
        for child in gpu.inside if gpu is not None else ():
            if child.tag == "nvlink":
                self._nvlink_elements.append((index, child, cpu))
            elif child.tag == "c2c":
                self._add_c2c(index, cpu, child)

    def _add_c2c(self, gpu: int, cpu: int, element: Element) -> None:
        bandwidth_mb = (_whole(element.values.get("bw")) or 0) * _count(element)
        if not 0 < bandwidth_mb <= _C2C_MB_MAX:
            self._refuse(element, f"a rate of {bandwidth_mb} MB/s", f"1 to {_C2C_MB_MAX} MB/s")
        self.content["c2c"].append({"gpu": gpu, "cpu": cpu, "bandwidth": bandwidth_mb})

    def _add_adapter(self, nics: list[Element], node: Node, bandwidth_mb: int) -> None:
        ports = [
            port
            for nic in nics
            for port in ([nic] if id(nic) in self._ports else nic.all("net"))
            if id(port) in self._ports
        ]
        if ports:
            upstream = {"to": node, "bandwidth": bandwidth_mb}
            first = sum(len(adapter["ports"]) for adapter in self.content["adapters"])
            described = [self._port(port, first + index) for index, port in enumerate(ports)]
            self.content["adapters"].append({"upstream": upstream, "ports": described})

    def _port(self, element: Element, index: int) -> dict[str, Any]:
        values, server = element.values, self._server
        adapter = server.nic if server is not None else None
        speed_mbps = _whole(values.get("speed"))
        if not speed_mbps and adapter is None:
            self._refuse(element, "no rate (`speed`)", "that of the port", _SERVER_HINT)
        rate_mb = (
            speed_mbps // _MB_OF_MBPS if speed_mbps else adapter.rate_bps // _MBYTE_BITS if adapter else 0
        )
        latency = _decimal(values.get("latency"))
        if latency is None:
            latency = adapter.latency_ps / _PS_PER_US if adapter is not None else 0.0
        guid = _whole(values.get("guid"))
        nic = {
            "bandwidth": rate_mb,
            "latency_us": latency,
            "asic": guid or index + 1,
            "port": _whole(values.get("port"), _NUMBER_MAX) or 1,
            "rail": None,
            "plane": None,
            "gpu_direct": values.get("gdr", "1") != "0",
        }
        return {"name": name_of(element), "nic": nic}

    def _add_nvlinks(self) -> None:
        """Add the NVLinks of the file, or those of the server if the file has none."""
        pairs: set[tuple[int, int]] = set()
        links_of_gpu: Counter[int] = Counter()
        for gpu, element, cpu in self._nvlink_elements:
            links_of_gpu[gpu] += _count(element)
            if links_of_gpu[gpu] > _NUMBER_MAX:
                self._refuse(element, f"more than {_NUMBER_MAX} links of a GPU", f"at most {_NUMBER_MAX}")
            target, kind = element.values.get("target", ""), element.values.get("tclass", "").lower()
            if kind.startswith(_GPU_CLASSES):
                other = self._gpu_index.get(target)
                if other is None or other == gpu or (other, gpu) in pairs:
                    continue  # a GPU that the job does not use, or a link from its other end
                pairs.add((gpu, other))
                to: Node = {"gpu": other}
            else:
                to = "nv_switch" if kind.startswith(_NVSWITCH_CLASS) else {"cpu": cpu}
            self.content["nvlinks"].append({"gpu": gpu, "to": to, "links": _count(element)})
        scale_up = self._server.scale_up if self._server is not None else None
        if not self._nvlink_elements and scale_up is not None:
            self.content["nvlinks"] = list(self._nvlinks_of_server(scale_up.kind, scale_up.links))

    def _nvlinks_of_server(self, kind: str, links: int) -> Iterator[dict[str, Any]]:
        gpus = range(len(self.content["gpus"]))
        if kind == "nvswitch":
            yield from ({"gpu": gpu, "to": "nv_switch", "links": links} for gpu in gpus)
        else:
            for gpu in gpus:
                yield from ({"gpu": gpu, "to": {"gpu": other}, "links": links} for other in gpus[gpu + 1 :])


def _devices(parent: Element) -> Iterator[Element]:
    """Yield the devices below a CPU or a switch; a pair of switches in a package is one switch."""
    generation = _pair_generation(parent, inner=False)
    for child in parent.inside:
        if generation is not None and _pair_generation(child, inner=True) == generation:
            yield from _devices(child)
        else:
            yield child


def _pair_generation(element: Element, *, inner: bool) -> int | None:
    """Return the generation of a switch whose package appears as a pair, by its identifiers."""
    if not element.values.get("class", "").lower().startswith(_BRIDGE_CLASS):
        return None
    names = ("vendor", "device", "subsystem_vendor", "subsystem_device")
    identifier = 0
    for name in names:
        identifier = identifier << 16 | (_whole(element.values.get(name)) or 0) & 0xFFFF
    level = _INNER if inner else 0
    return next(
        (
            generation
            for pattern, generation in _SWITCHES_OF_PAIRS
            if identifier & ~_ANY_SUBDEVICE == pattern | level
        ),
        None,
    )


def _upstream(slot: Element, node: Node) -> dict[str, Any]:
    return {"to": node, "bandwidth": _slot_mb(slot)}


def _slot_mb(slot: Element) -> int:
    """Return the rate of a slot as NCCL counts it, one way [MB/s]."""
    match = PCIE_SPEED.fullmatch(slot.values.get("link_speed", ""))
    lane_mb = _LANE_MB.get(float(match[1]), _DEFAULT_LANE_MB) if match else _DEFAULT_LANE_MB
    lanes = _whole(slot.values.get("link_width"))
    return int(lane_mb * (lanes if lanes and lanes < 255 else _LANES))


def _processor(cpu: Element) -> str:
    """Return the processor of a CPU by its architecture, vendor, family and model."""
    values = cpu.values
    architecture, vendor = values.get("arch", ""), values.get("vendor", "")
    family, model = _whole(values.get("familyid")) or 0, _whole(values.get("modelid")) or 0
    if architecture in ("arm64", "aarch64"):
        return "arm"
    if architecture in ("ppc64", "ppc64le"):
        return "power9"
    if vendor == "GenuineIntel":
        return next(name for least, name in _INTEL_MODELS if model >= least)
    if vendor == "AuthenticAMD":
        family = 0xF + ((family - 0xF) >> 4) if family >= _EXTENDED_FAMILY else family
        return next(name for least, name in _AMD_FAMILIES if family >= least)
    if "Shanghai" in vendor or vendor == "CentaurHauls":
        return "yongfeng" if model == _YONGFENG_MODEL else "zhaoxin"
    return "other"


def _count(element: Element) -> int:
    return _whole(element.values.get("count"), _NUMBER_MAX) or 1


def _whole(text: str | None, most: int = (1 << 64) - 1) -> int | None:
    """Return a whole number from 0, in decimal or as 0x1f; none for anything else."""
    try:
        number = int(text or "", 0)
    except ValueError:
        return None
    return number if 0 <= number <= most else None


def _decimal(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < _PS_PER_US else None
