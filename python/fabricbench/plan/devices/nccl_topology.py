"""Converts NCCL's XML topology of a host to servers of a plan: GPUs, adapters with speeds, NVLink, PCIe.

NCCL writes it to `NCCL_TOPO_DUMP_FILE`. Files that clouds provide for `NCCL_TOPO_FILE` have GPUs and adapters
as slots of PCIe with a class, without names and speeds. A host becomes a server of a rail-optimised fabric
with a rail for each adapter; the number of servers, and the network behind the rails, are not in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import NOT_IN_FILE, Fragment, Value
from fabricbench.plan.devices.nccl_xml import Element, read_xml
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.words import counted

FORMAT: Final = "NCCL topology"
SERVERS: Final = 2
"""Default number of servers of the plan."""
_SPINES_MAX: Final = 8
_GPUS_MAX: Final = 1_024
_MBPS: Final = 10**6
_NVLINK: Final = ((100, 40_100), (90, 20_600), (87, 20_000), (86, 12_000), (70, 20_000), (60, 18_000))
"""Rate of one NVLink per direction [MB/s], from the compute capability on: NCCL, `src/graph/topo.h`."""
PCIE_SPEED: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) ?GT/s(?: PCIe)?")
_DUMP_HINT: Final = (
    "NCCL writes its GPUs and adapters once it has found them: set NCCL_TOPO_DUMP_FILE for a job of two hosts"
)
_GPU_CLASSES: Final = ("0x0302", "0x1200", "0x0300")
_ADAPTER_CLASSES: Final = ("0x0207", "0x0280", "0x0200")
"""Classes of PCI by their first digits (PCI Code and ID Assignment), the likelier of two first: 3D
controllers, processing accelerators and VGA; InfiniBand, other network controllers and Ethernet."""
_NCCL_TAGS: Final = frozenset(
    {"system", "cpu", "pci", "gpu", "nic", "net", "nvlink", "pcilink", "c2c", "xgmi", "gin"}
)


def read_host(text: str, source: str) -> Host:
    """Read a topology written by NCCL.

    Raises:
        PlanError: It is no topology of a host with GPUs and adapters.
    """
    return Host(read_xml(text, source), source)


def rails_topology(rails: int, servers: int) -> dict[str, Any]:
    """Return a topology of servers with so many adapters, each on a rail, without oversubscription."""
    if rails == 1:
        return {"kind": "single-switch", "hosts": servers}
    return {
        "kind": "rail-optimised",
        "servers": servers,
        "rails": rails,
        "spines": min(servers, _SPINES_MAX),
        "links_per_spine": -(-servers // _SPINES_MAX),
    }


@dataclass(frozen=True)
class _Net:
    """An adapter's port.

    Attributes:
        name: Its name.
        rate_bps: Its rate [bit/s]; none if the file does not have it.
        slot: Its slot of PCIe; none if the file has none.
        pci_bps: Rate per direction of the slowest PCIe link to it [bit/s]; none if the file has none.
    """

    name: str
    rate_bps: int | None
    slot: Element | None
    pci_bps: int | None


class Host:
    """Reads the GPUs, adapters and NVLinks of a host, and collects its problems.

    Attributes:
        system: The outermost element.
        gpus: Elements of GPUs, or slots of PCIe with the class of one.
        ports: Elements of the ports that GPUs use, or slots of PCIe with the class of an adapter.
    """

    def __init__(self, system: Element, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        if system.tag != "system":
            self._refuse(system, "", f"the element {shorten(system.tag)}", "system", _DUMP_HINT)
            raise PlanError(self.problems)
        hosts = {
            element.values["host_hash"] for element in system.all("cpu") if "host_hash" in element.values
        }
        if len(hosts) > 1:
            hint = "NCCL_MNNVL_ENABLE=0 keeps hosts that NVLink joins apart"
            self._refuse(system, "cpu", f"{len(hosts)} hosts by their host_hash", "one host", hint)
            raise PlanError(self.problems)
        self.system = system
        self.by_class: list[str] = []
        self.gpus = [*system.all("gpu"), *self._of_class("gpu", _GPU_CLASSES)]
        nets = [element for element in system.all("net") if element.values.get("coll") != "1"]
        nics_without_net = [element for element in system.all("nic") if not any(element.all("net"))]
        slots = self._of_class("net", _ADAPTER_CLASSES) if not nics_without_net else []
        self.host_only: list[str] = []
        self.ports = [*self._for_gpus(nets), *nics_without_net, *slots]
        self.nets = [self._net(element) for element in self.ports]
        self.merged = self._merged()
        self.nvlinks = self._scale_up()
        if not self.gpus:
            self._refuse(system, "gpu", "no GPU", "a host of 1 GPU or more", _DUMP_HINT)
        if len(self.gpus) > _GPUS_MAX or len(self.nets) > _GPUS_MAX:
            self._refuse(system, "gpu", "more devices than a host has", f"at most {_GPUS_MAX}")
        if not self.nets:
            self._refuse(system, "net", "no adapter", "1 `net` or more", _DUMP_HINT)
        if self.problems:
            raise PlanError(self.problems)

    def _refuse(self, element: Element, name: str, actual: str, allowed: str, hint: str = "") -> None:
        field_name = ".".join(part for part in (element.tag, name) if part)
        self.problems.append(Problem(Place(self.source, element.line, 1), field_name, actual, allowed, hint))

    def _of_class(self, tag: str, classes: Sequence[str]) -> list[Element]:
        """Return the slots of PCI with the first of some classes that occurs.

        None for a host whose GPUs, or adapters, are elements of their own.
        """
        if any(self.system.all(tag)):
            return []
        for begin in classes:
            slots = [
                slot
                for slot in self.system.all("pci")
                if slot.values.get("class", "").lower().startswith(begin)
            ]
            if slots:
                self.by_class.append(tag)
                return slots
        return []

    def _for_gpus(self, nets: Sequence[Element]) -> list[Element]:
        """Return the ports that GPUs use, and store the names of the others.

        Next to adapters of RDMA, interfaces of sockets and adapters without GPU Direct RDMA (`gdr="0"`) are
        for the host: NCCL takes one kind of network, and of it the fastest that a GPU reaches.
        """
        sockets = [net for net in nets if self._is_socket(net)]
        rdma = [net for net in nets if not self._is_socket(net)]
        if sockets and rdma:
            self.host_only += [f"{name_of(net)} (sockets)" for net in sockets]
            nets = rdma
        direct = [net for net in nets if net.values.get("gdr") == "1"]
        without_gpu_direct = [net for net in nets if net.values.get("gdr") == "0"]
        if direct and without_gpu_direct:
            self.host_only += [f"{name_of(net)} (no GPU Direct RDMA)" for net in without_gpu_direct]
            nets = [net for net in nets if net not in without_gpu_direct]
        return list(nets)

    def _is_socket(self, net: Element) -> bool:
        """Whether a port is an interface of IP: NCCL gives those neither port nor GUID, or no slot."""
        return net.values.get("port") == "0" and not net.values.get("guid", "").strip("0x")

    def _merged(self) -> list[str]:
        """Merge the ports of an adapter if that makes all adapters equally fast; return their names.

        A plan has one rate for all: an adapter of two ports next to one of one port with twice the rate.
        """
        groups = list(self._by_slot().values())
        rates = [sum(net.rate_bps or 0 for net in nets) for nets in groups]
        is_uneven = len({net.rate_bps for net in self.nets}) > 1
        if not is_uneven or len(set(rates)) > 1 or all(len(nets) == 1 for nets in groups):
            return []
        merged = [nets[0].name for nets in groups if len(nets) > 1]
        self.nets = [replace(nets[0], rate_bps=rate) for nets, rate in zip(groups, rates, strict=True)]
        return merged

    def _by_slot(self) -> dict[int, list[_Net]]:
        """Return the ports of each adapter, by their slot of PCIe."""
        ports: dict[int, list[_Net]] = {}
        for net in self.nets:
            ports.setdefault(id(net.slot or net), []).append(net)
        return ports

    def _number(self, element: Element, name: str, most: int, default: int | None = None) -> int:
        text = element.values.get(name)
        if text is None and default is not None:
            return default
        if (
            text is not None
            and text.isascii()
            and text.isdecimal()
            and len(text) < 12
            and 0 < int(text) <= most
        ):
            return int(text)
        actual = "nothing" if text is None else shorten(text)
        self._refuse(element, name, actual, f"a whole number from 1 to {most}")
        return 1

    def _net(self, element: Element) -> _Net:
        name = name_of(element)
        has_rate = element.tag == "net"
        rate = self._number(element, "speed", 3_200_000) * _MBPS if has_rate else None
        slots: list[Element] = []
        ancestor: Element | None = element if element.tag == "pci" else element.around
        while ancestor is not None:
            if ancestor.tag == "pci":
                slots.append(ancestor)
            ancestor = ancestor.around
        speeds = [speed for slot in slots if (speed := self._pci(slot)) is not None]
        return _Net(name, rate, slots[0] if slots else None, min(speeds, default=None))

    def _pci(self, element: Element) -> int | None:
        """Return the rate of a slot per direction [bit/s], without line code; none if the file has none."""
        speed, width = element.values.get("link_speed", ""), element.values.get("link_width", "")
        if not speed or not width or speed == "Unknown speed" or width in ("0", "255"):
            return None
        match = PCIE_SPEED.fullmatch(speed)
        if match is None:
            self._refuse(element, "link_speed", shorten(speed), "a rate such as 16.0 GT/s PCIe")
            return None
        lanes = self._number(element, "link_width", 32)
        gigatransfers = float(match[1])
        code = (8, 10) if gigatransfers <= 5 else (128, 130)
        return int(gigatransfers * 10**9) * lanes * code[0] // code[1]

    def _scale_up(self) -> int | None:
        """Return the least NVLink rate of a GPU per direction [bit/s]; none without NVLink."""
        rates = []
        for gpu in self.gpus:
            count = sum(self._number(link, "count", 64) for link in gpu.inside if link.tag == "nvlink")
            sm = self._number(gpu, "sm", 1_000, 0)
            rate = next((rate for least, rate in _NVLINK if sm >= least), None)
            if count and rate:
                rates.append(count * rate * 8 * _MBPS)
        return min(rates) if rates and len(rates) == len(self.gpus) else None

    def fragment(self, servers: int | None) -> Fragment:
        """Return a number of such hosts as fields of a plan."""
        rates = Counter(net.rate_bps for net in self.nets if net.rate_bps is not None)
        rate = rates.most_common(1)[0][0] if rates else None
        rails, count = len(self.nets), servers or SERVERS
        topology = rails_topology(rails, count)
        if rate is not None:
            topology["host_link"] = units.format_rate(rate)
        if rails > 1 and self.nvlinks is not None and rails == len(self.gpus):
            topology["scale_up_link"] = units.format_rate(self.nvlinks)
        read = (
            f"{counted(len(self.gpus), 'GPU')}, {self._adapters()}",
            *([f"NVLink: {units.human_rate(self.nvlinks)} for each GPU, one way"] if self.nvlinks else []),
        )
        origins = {"host_link": "net speed", "rails": "net", "scale_up_link": "gpu nvlink count, sm"}
        values = tuple(
            Value(f"fabric.topology.{name}", value, origins.get(name, NOT_IN_FILE))
            for name, value in topology.items()
        )
        return Fragment(
            FORMAT,
            self.source,
            read,
            values,
            tuple(self._warnings(rates, rate, servers)),
            tuple(self._left_out()),
        )

    def _adapters(self) -> str:
        """Return the number of adapters and ports, and their names, as text."""
        groups = self._by_slot().values()
        names = ", ".join(
            nets[0].name if len({net.name for net in nets}) == 1 else ", ".join(net.name for net in nets)
            for nets in groups
        )
        ports = f" with {counted(len(self.nets), 'port')}" if len(groups) < len(self.nets) else ""
        return f"{counted(len(groups), 'adapter')}{ports} ({names})"

    def _warnings(self, rates: Counter[int], rate: int | None, servers: int | None) -> Iterator[str]:
        yield from self._class_warnings(rate)
        if self.host_only:
            yield f"not counted, as GPUs have other adapters: {', '.join(map(shorten, self.host_only))}"
        if self.merged:
            names = ", ".join(map(shorten, self.merged))
            yield f"{names}: the ports of the adapter together are one link here, as fast as the others"
        elif len(self._by_slot()) < len(self.nets):
            yield "an adapter of several ports is a link and a rail for each port here"
        if servers is None:
            yield f"the file is of one host: {SERVERS} servers here, or as many as `--servers` says"
        yield "what joins the adapters is not in the file: a switch for each rail, full bandwidth between"
        if rate is not None and len(rates) > 1:
            rate_counts = ", ".join(
                f"{units.human_rate(rate_bps)} of {count}" for rate_bps, count in sorted(rates.items())
            )
            yield f"adapters differ: {rate_counts}; the plan has one rate for all: {units.human_rate(rate)}"
        yield from self._narrow_slots()
        rails, gpus = len(self.nets), len(self.gpus)
        if rails != gpus and gpus % rails == 0:
            shared = counted(rails, "adapter")
            yield f"{gpus} GPUs share {shared}: `processes_per_host: {gpus // rails}` of each job"
        elif rails != gpus:
            yield f"{gpus} GPUs and {counted(rails, 'adapter')}: a rank for each adapter here"

    def _class_warnings(self, rate: int | None) -> Iterator[str]:
        """Yield warnings of devices identified by their class of PCI, and of values missing then."""
        if "gpu" in self.by_class:
            yield "GPUs are those by their class of PCI, as in a file for NCCL_TOPO_FILE: NVLink is not in it"
        if "net" in self.by_class:
            yield "adapters are those by their class of PCI, as in a file for NCCL_TOPO_FILE"
        if rate is None:
            slot_bps = min((net.pci_bps for net in self.nets if net.pci_bps is not None), default=None)
            bound = f"; PCIe carries {units.human_rate(slot_bps)} at the most" if slot_bps else ""
            yield f"the rate of adapters is not in the file: give `fabric.topology.host_link`{bound}"

    def _narrow_slots(self) -> Iterator[str]:
        """Yield warnings of slots slower than the ports of their adapter together."""
        names_by_rates: dict[tuple[int, int], list[str]] = {}
        for nets in self._by_slot().values():
            rate, pci = sum(net.rate_bps or 0 for net in nets), nets[0].pci_bps
            if pci is not None and pci < rate:
                names_by_rates.setdefault((pci, rate), []).append(" and ".join(net.name for net in nets))
        for (pci, rate), names in names_by_rates.items():
            rates_text = f"PCIe carries {units.human_rate(pci)} of {units.human_rate(rate)}"
            yield f"{', '.join(names)}: {rates_text}, behind the line code: `fabric.nic.impairments`"

    def _left_out(self) -> Iterator[str]:
        yield "cpu, pci: memory, PCIe switches and the way between a GPU and its adapter"
        tags = {element.tag for gpu in self.gpus for element in _everything(gpu)}
        if self.nvlinks is not None and len(self.nets) != len(self.gpus):
            yield "nvlink: the scale-up network, as GPUs share adapters"
        elif self.nvlinks is None and tags & {"nvlink", "xgmi"}:
            yield "nvlink, xgmi: the scale-up network, whose rate is not known of every GPU"
        other = sorted({element.tag for element in _everything(self.system)} - _NCCL_TAGS)
        if other:
            yield f"{', '.join(map(shorten, other[:8]))}: no element that is known"


def name_of(element: Element) -> str:
    """Return the name of a port or slot."""
    values = element.values
    return values.get("name") or values.get("dev") or values.get("busid") or "?"


def _everything(element: Element) -> Iterator[Element]:
    yield element
    for child in element.inside:
        yield from _everything(child)
