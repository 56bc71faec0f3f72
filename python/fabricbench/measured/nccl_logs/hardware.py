"""Rates of ports and PCIe links of adapters (`HardwareFacts`), read from NCCL's log and outputs of tools.

`HardwareReader` reads the lines into `PortRate` and `PcieLink`; `slower_ports` returns the ports below a
rate, `by_adapter` the rates of each adapter. `LINE_RATES` and `PCIE` list the usual rates of ports and PCIe
slots.

NCCL logs the rate of each port (`speed=400000`, Mb/s, src/transport/net_ib.cc) and with
NCCL_DEBUG_SUBSYS=GRAPH the detected topology (`+ PCI[12.0] - NIC/6000`, `+ NET[25.0] - NET/0`, GB/s,
ncclTopoPrint of src/graph/topo.cc) or writes it as XML (NCCL_TOPO_DUMP_FILE). Other tools: `ibstat`,
`ibstatus`, `ibv_devinfo`, `ethtool`, `lspci -vv`, and the kernel's message of the PCIe bandwidth of a device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fabricbench.measured.file_text.line import SHOWN_MAX, EvidenceLine
from fabricbench.measured.nccl_logs.log_lines import host_of

_TOKENS: Final = re.compile(
    r"speed=|ndevs=1|NET\[|NIC/|/PIX\)|/PXB\)|CA '|[Rr]ate:|[Ss]tate:|Infiniband device|Settings for|Speed:"
    r"|hca_id|active_|LnkCap:|LnkSta:|^\S+ [A-Z0-9].*(?:controller|bridge)|PCIe bandwidth|<pci |<net "
    r"|CPU/F{8}|could not find value of ''"
)
_PORT: Final = re.compile(
    r"\[\d+\] ?([\w.+-]{1,64}):(?:uverbs\d{1,4}:)?(\d{1,3})/(\w+) provider=\S{1,40} speed=(\d{1,9})\b"
)
_DEVICE: Final = re.compile(r"\bname=([\w.-]{1,64}) speed=(\d{1,9}) ndevs=1\b")
_NIC_NODE: Final = re.compile(r"\+ PCI\[([\d.]{1,8})\] - NIC/([\w-]{1,24})")
_NET_NODE: Final = re.compile(r"\+ NET\[([\d.]{1,8})\] - NET/([\w-]{1,12})")
_PATH: Final = re.compile(r"\bNET/([\w-]{1,12}) \(\d+/([\d.]{1,12})/(?:PIX|PXB)\)")
"""The path from a GPU to an adapter behind the same PCIe switch: its slowest link is the limit."""
_IBSTAT: Final = re.compile(r"\s*CA '([\w.-]{1,64})'")
_IBSTATUS: Final = re.compile(r"\s*Infiniband device '([\w.-]{1,64})' port \d+ status")
_HCA_ID: Final = re.compile(r"\s*hca_id:\s+([\w.-]{1,64})")
_STATE: Final = re.compile(r"\s*[Ss]tate:\s+(?:\d+: )?(?:PORT_)?(\w+)")
_RATE: Final = re.compile(r"\s*[Rr]ate:\s+([\d.]{1,8})(?: Gb/sec.*)?\s*$")
_WIDTH: Final = re.compile(r"\s*active_width:\s+(\d{1,2})X")
_LANE: Final = re.compile(r"\s*active_speed:\s+([\d.]{1,8}) Gbps")
_ACTIVE_MTU: Final = re.compile(r"\s*active_mtu:\s+(\d{3,4}) \(\d\)")
_ETHTOOL: Final = re.compile(r"\s*Settings for ([\w.@-]{1,64}):")
_SPEED: Final = re.compile(r"\s*Speed: (\d{1,7})Mb/s")
_CONTROLLER: Final = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d (.{1,80}?)(?:\[\d+\])?:")
_LINK: Final = re.compile(r"\s*Lnk(Cap|Sta):.{0,40}?Speed ([\d.]{1,5})GT/s(?: \(\w+\))?, Width x(\d{1,2})")
_KERNEL: Final = re.compile(
    r"(\S{1,24}): ([\d.]{1,8}) Gb/s available PCIe bandwidth(?:, limited by| \([\d.]+ GT/s)"
)
_XML_PCI: Final = re.compile(
    r'<pci busid="([^"]{1,24})".{0,300}?link_speed="([\d.]{1,5}) ?GT/s[^"]*" link_width="(\d{1,2})"'
)
_XML_NET: Final = re.compile(r'<net name="([^"]{1,64})".{0,200}?\bspeed="(\d{1,9})"')
_DEFAULT_GB_PER_S: Final = 3.0
"""Rate below which a network's rate may be unknown to NCCL: 10 Gb/s if a plug-in or interface names none."""
_TOPOLOGY_SHARE: Final = 0.9
"""Fraction of the port's rate below which a PCIe link is narrow: NCCL assumes 12, 24 and 48 GB/s for x16 of
Gen3, Gen4 and Gen5, and 12.5, 25 and 50 for their ports."""


@dataclass(frozen=True)
class PortRate:
    """The rate of a port.

    Attributes:
        host: Host that logged it; empty if unknown.
        adapter: The adapter or interface.
        gbps: The rate [Gb/s].
        seen: The line.
        kind: `IB` or `RoCE`; empty if the line has neither.
    """

    host: str
    adapter: str
    gbps: float
    seen: EvidenceLine
    kind: str = ""


@dataclass(frozen=True)
class PcieLink:
    """The PCIe link of an adapter.

    Attributes:
        adapter: The adapter; empty if unknown.
        gb_per_s: Rate in one direction [GB/s].
        port_gb_per_s: The rate of the adapter's port [GB/s]; none if the output has none.
        seen: The line.
    """

    adapter: str
    gb_per_s: float
    port_gb_per_s: float | None
    seen: EvidenceLine

    def is_narrow(self, port_gbps: float | None) -> bool:
        """Return whether its rate is below that of the adapter's port.

        Args:
            port_gbps: Rate of a port [Gb/s] for outputs without it.
        """
        port = self.port_gb_per_s or (port_gbps or 0.0) / 8
        return self.gb_per_s < _TOPOLOGY_SHARE * port


@dataclass
class HardwareFacts:
    """Ports and PCIe links of adapters that lines of a file name.

    Attributes:
        ports: Rates by host and adapter.
        links: PCIe links of adapters, by host and adapter.
        mtu: Least active MTU of ports, with its line; none if no line has it.
        hidden: Lines that report that NCCL does not know the PCIe topology.
    """

    ports: dict[tuple[str, str], PortRate] = field(default_factory=dict)
    links: dict[tuple[str, str], PcieLink] = field(default_factory=dict)
    mtu: tuple[int, EvidenceLine] | None = None
    hidden: list[EvidenceLine] = field(default_factory=list)


class HardwareReader:
    """Reads lines one after another, as a rate belongs to the device that an earlier line names."""

    def __init__(self) -> None:
        self.facts = HardwareFacts()
        self._device = ""
        self._is_active = True
        self._lanes = 0
        self._controller = ""
        self._capable = ""
        self._nic: dict[str, tuple[float, EvidenceLine]] = {}
        self._pci: tuple[float, EvidenceLine] | None = None

    def take(self, number: int, text: str) -> None:
        """Read a line."""
        if _TOKENS.search(text):
            seen = EvidenceLine(number, " ".join(text.split())[:SHOWN_MAX])
            for take in _TAKES:
                take(self, text, seen)

    def take_log(self, text: str, seen: EvidenceLine) -> None:
        """Read NCCL's log: ports and topology."""
        host = host_of(text)
        for name, port, kind, speed in _PORT.findall(text):
            self._add_port(host, f"{name}:{port}", int(speed) / 1e3, seen, kind)
        for name, speed in _DEVICE.findall(text):
            self._add_port(host, name, int(speed) / 1e3, seen)
        if nic := _NIC_NODE.search(text):
            self._nic[host] = float(nic[1]), seen
        elif (net := _NET_NODE.search(text)) and float(net[1]) >= _DEFAULT_GB_PER_S:
            self._add_port(host, f"NET/{net[2]}", 8 * float(net[1]), seen)
            if host in self._nic:
                gb_per_s, of_nic = self._nic[host]
                shown = EvidenceLine(of_nic.line, f"{of_nic.text}; {seen.text[seen.text.find('+ NET') :]}")
                link = PcieLink(f"NET/{net[2]}", gb_per_s, float(net[1]), shown)
                self.facts.links.setdefault((host, link.adapter), link)
        for number, gb_per_s in _PATH.findall(text) if " GPU/" in text else ():
            link = PcieLink(f"NET/{number}", float(gb_per_s), None, seen)
            self.facts.links.setdefault((host, link.adapter), link)
        if "CPU/FFFFFFFF" in text or "could not find value of ''" in text:
            self.facts.hidden.append(seen)

    def take_port_tools(self, text: str, seen: EvidenceLine) -> None:
        """Read `ibstat`, `ibstatus`, `ibv_devinfo` and `ethtool`: ports that are up."""
        if device := _IBSTAT.match(text) or _IBSTATUS.match(text) or _HCA_ID.match(text):
            self._device, self._is_active, self._lanes = device[1], True, 0
        elif interface := _ETHTOOL.match(text):
            self._device, self._is_active = interface[1], True
        elif state := _STATE.match(text):
            self._is_active = state[1].upper() == "ACTIVE"
        elif mtu := _ACTIVE_MTU.match(text):
            if self._is_active and (self.facts.mtu is None or int(mtu[1]) < self.facts.mtu[0]):
                self.facts.mtu = int(mtu[1]), seen
        elif width := _WIDTH.match(text):
            self._lanes = int(width[1])
        elif self._device and self._is_active:
            self._take_rate(text, seen)

    def _take_rate(self, text: str, seen: EvidenceLine) -> None:
        """Read the rate of the port of the last named device."""
        if rate := _RATE.match(text):
            self._add_port("", self._device, float(rate[1]), seen)
        elif speed := _SPEED.match(text):
            self._add_port("", self._device, int(speed[1]) / 1e3, seen)
        elif (lane := _LANE.match(text)) and self._lanes:
            self._add_port("", self._device, self._lanes * float(lane[1]), seen)

    def take_pcie(self, text: str, seen: EvidenceLine) -> None:
        """Read `lspci -vv`, the kernel's message of a PCIe device, and NCCL's topology as XML."""
        if controller := _CONTROLLER.match(text):
            self._controller = text.split(" ", 1)[0] if _is_network(controller[1]) else "other"
            self._capable = ""
        elif link := _LINK.match(text):
            self._take_link(link, seen)
        elif kernel := _KERNEL.search(text):
            pcie_link = PcieLink(kernel[1], float(kernel[2]) / 8, None, seen)
            self.facts.links.setdefault(("", kernel[1]), pcie_link)
        elif pci := _XML_PCI.search(text):
            self._pci = _gb_per_s(float(pci[2]), int(pci[3])), seen
        elif (net := _XML_NET.search(text)) and self._pci is not None:
            gb_per_s, of_pci = self._pci
            self._add_port("", net[1], int(net[2]) / 1e3, seen)
            pcie_link = PcieLink(net[1], gb_per_s, int(net[2]) / 8e3, of_pci)
            self.facts.links.setdefault(("", net[1]), pcie_link)

    def _take_link(self, link: re.Match[str], seen: EvidenceLine) -> None:
        """Store the link state of a network device, with its capability from an earlier line."""
        if self._controller == "other":
            return
        if link[1] == "Cap":
            self._capable = f"{seen.text}; "
            return
        pcie_link = PcieLink(
            self._controller,
            _gb_per_s(float(link[2]), int(link[3])),
            None,
            EvidenceLine(seen.line, f"{self._capable}{seen.text}"[:SHOWN_MAX]),
        )
        self.facts.links.setdefault(("", self._controller or f"line {seen.line}"), pcie_link)

    def _add_port(self, host: str, adapter: str, gbps: float, seen: EvidenceLine, kind: str = "") -> None:
        self.facts.ports.setdefault((host, adapter), PortRate(host, adapter, gbps, seen, kind))


def _is_network(name: str) -> bool:
    return name.lower().startswith(("ethernet", "infiniband", "network"))


_TAKES: Final[tuple[Callable[[HardwareReader, str, EvidenceLine], None], ...]] = (
    HardwareReader.take_log,
    HardwareReader.take_port_tools,
    HardwareReader.take_pcie,
)


def _gb_per_s(transfers: float, width: int) -> float:
    """Return the rate of a PCIe link [GB/s], less its line code: 128b/130b from 8 GT/s on, 8b/10b below."""
    return transfers * width / 8 * (128 / 130 if transfers >= 8 else 0.8)


def slower_ports(facts: HardwareFacts, gbps: float | None) -> list[PortRate]:
    """Return the ports with a lower rate than the given one, or than the fastest of the file."""
    fastest = max((port.gbps for port in facts.ports.values()), default=0.0)
    return [port for port in facts.ports.values() if port.gbps < 0.95 * (gbps or fastest)]


def by_adapter(facts: HardwareFacts) -> Mapping[str, list[PortRate]]:
    """Return the rates of each adapter on all hosts."""
    rates: dict[str, list[PortRate]] = {}
    for (_, adapter), rate in facts.ports.items():
        rates.setdefault(adapter, []).append(rate)
    return rates


LINE_RATES: Final = (1, 10, 25, 40, 50, 100, 200, 400, 800)
"""Rates of Ethernet and InfiniBand ports [Gb/s]."""
_GENERATIONS: Final = (3, 4, 5, 6)
_WIDTHS: Final = (1, 2, 4, 8, 16)
_GIGATRANSFERS: Final = 8
"""Rate of a lane of PCIe Gen3 [GT/s]; each later generation doubles it."""
_PCIE_EFFICIENCY: Final = 128 / 130 * 0.8
"""Headers of 24 to 28 B for each 128 B of a write leave 82 %, for each 256 B 90 % (PCI Express Base
Specification), acknowledgements and credits a little less. Assumption: 80 %, and slots from 66 to 90 %."""


def _slots() -> tuple[tuple[str, float], ...]:
    """Return the PCIe slots of equal rate by name, with their rate in one direction [GB/s]."""
    names: dict[int, list[str]] = {}
    for generation in _GENERATIONS:
        for width in _WIDTHS:
            transfers = (_GIGATRANSFERS << (generation - 3)) * width
            names.setdefault(transfers, []).append(f"Gen{generation} x{width}")
    return tuple((" or ".join(names[rate]), rate / 8 * _PCIE_EFFICIENCY) for rate in sorted(names))


PCIE: Final = _slots()
