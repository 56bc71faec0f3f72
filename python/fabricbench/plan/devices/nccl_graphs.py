"""Converts NCCL's XML of graphs to servers of a plan: GPUs, adapters near them, and channels.

NCCL writes it to `NCCL_GRAPH_DUMP_FILE`: a graph for each kind of algorithm, with its speeds, the types of
its paths, and the adapters and GPUs of each channel. Rates of adapters and of NVLink are not in it: the
search has speeds of its own. `nccl_topology` reads the file that has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabricbench.plan.devices.fragment import NOT_IN_FILE, Fragment, Value
from fabricbench.plan.devices.json_text import text_of
from fabricbench.plan.devices.nccl_topology import SERVERS, rails_topology
from fabricbench.plan.devices.nccl_xml import Element, read_xml
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.words import counted

FORMAT: Final = "NCCL graphs"
TAG: Final = "graphs"
"""The outermost element."""
_PATTERNS: Final = ("balanced tree", "split tree", "tree", "ring", "NVLS", "CollNet direct")
"""Patterns from 1 on (NCCL, `src/include/graph.h`)."""
_ALGORITHMS: Final = {
    "balanced tree": "Tree",
    "split tree": "Tree",
    "tree": "Tree",
    "ring": "Ring",
    "NVLS": "NVLS",
}
"""NCCL's algorithms by pattern."""
_COLLNET_CHAIN: Final = 2
"""Id of the graph of CollNet's chain, whose pattern is a tree's."""
_PATH_TYPES: Final = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
_CHANNELS_MAX: Final = 64
_SPEED_MAX: Final = 10_000.0
_ADAPTERS_SHOWN: Final = 16


@dataclass(frozen=True)
class _Channel:
    """A channel of a graph.

    Attributes:
        nets: Numbers of its adapters: the one by which it enters, and the one by which it leaves.
        gpus: Numbers of its GPUs, in its order.
    """

    nets: tuple[int, ...]
    gpus: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """A graph of a host.

    Attributes:
        name: Its pattern.
        channels: Its channels.
        speed_intra: Speed of a channel between GPUs [GB/s].
        speed_inter: The same to adapters [GB/s].
        types: Types of the worst paths between GPUs and to adapters, as NCCL logs them.
    """

    name: str
    channels: tuple[_Channel, ...]
    speed_intra: float
    speed_inter: float
    types: str

    @property
    def algorithm(self) -> str:
        """NCCL's algorithm; empty for those of CollNet."""
        return _ALGORITHMS.get(self.name, "")

    @property
    def extent(self) -> str:
        """Channels, speeds and types of paths as text, as NCCL logs them; empty without channels."""
        if not self.channels:
            return ""
        speeds = f"{self.speed_intra:g}/{self.speed_inter:g} GB/s"
        return f"{counted(len(self.channels), 'channel')} of {speeds}, {self.types}"

    def text(self) -> str:
        """Return its name and extent as text."""
        return f"{self.name}: {self.extent or 'none'}"


def graphs_of(content: bytes, source: str) -> list[Graph]:
    """Return the graphs of a file.

    Raises:
        PlanError: It is no file of graphs, or has errors.
    """
    outermost = read_xml(text_of(content, source), source)
    if outermost.tag != TAG:
        place = Place(source, outermost.line, 1)
        hint = "NCCL_GRAPH_DUMP_FILE writes it"
        raise PlanError([Problem(place, "", f"<{outermost.tag}>", f"<{TAG}>", hint)])
    return Graphs(outermost, source).graphs


class Graphs:
    """Reads the graphs of a host, and collects their problems."""

    def __init__(self, outermost: Element, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.graphs = [self._graph(element) for element in outermost.all("graph")]
        channels = [channel for graph in self.graphs for channel in graph.channels]
        self.gpus = sorted({gpu for channel in channels for gpu in channel.gpus})
        self.nets = sorted({net for channel in channels for net in channel.nets})
        if not self.gpus and not self.problems:
            self._refuse(outermost, "graph", "no channel with a GPU", "1 `graph` or more with channels")
        if self.problems:
            raise PlanError(self.problems)

    def _refuse(self, element: Element, name: str, actual: str, allowed: str) -> None:
        field = ".".join(part for part in (element.tag, name) if part)
        self.problems.append(Problem(Place(self.source, element.line, 1), field, actual, allowed))

    def _graph(self, element: Element) -> Graph:
        number = self._number(element, "id", 0, _CHANNELS_MAX)
        pattern = self._number(element, "pattern", 1, len(_PATTERNS))
        count = self._number(element, "nchannels", 0, _CHANNELS_MAX)
        channels = tuple(self._channel(child) for child in element.inside if child.tag == "channel")
        if count != len(channels):
            self._refuse(element, "nchannels", str(count), f"{len(channels)}, the number of `channel`")
        is_chain = number == _COLLNET_CHAIN
        return Graph(
            "CollNet chain" if is_chain else _PATTERNS[pattern - 1],
            channels,
            self._speed(element, "speedintra"),
            self._speed(element, "speedinter"),
            "/".join(self._path_type(element, name) for name in ("typeintra", "typeinter")),
        )

    def _channel(self, element: Element) -> _Channel:
        numbers = {
            tag: tuple(self._number(child, "dev", 0, 1 << 62) for child in element.inside if child.tag == tag)
            for tag in ("net", "gpu")
        }
        if not numbers["gpu"]:
            self._refuse(element, "gpu", "no GPU", "1 `gpu` or more")
        if len(numbers["net"]) > 2:
            self._refuse(element, "net", f"{len(numbers['net'])} adapters", "at most 2: in and out")
        return _Channel(numbers["net"], numbers["gpu"])

    def _number(self, element: Element, name: str, least: int, most: int) -> int:
        """Return a whole number, in decimal or as 0x1f."""
        text = element.values.get(name)
        try:
            number = int(text or "", 0)
        except ValueError:
            number = -1
        if least <= number <= most:
            return number
        actual = "nothing" if text is None else shorten(text)
        self._refuse(element, name, actual, f"a whole number from {least} to {most}")
        return least

    def _speed(self, element: Element, name: str) -> float:
        text = element.values.get(name)
        try:
            speed = float(text or "")
        except ValueError:
            speed = -1.0
        if 0 <= speed <= _SPEED_MAX:
            return speed
        actual = "nothing" if text is None else shorten(text)
        self._refuse(element, name, actual, f"GB/s of a channel, 0 to {_SPEED_MAX:g}")
        return 0.0

    def _path_type(self, element: Element, name: str) -> str:
        text = element.values.get(name)
        if text in _PATH_TYPES:
            return text
        actual = "nothing" if text is None else shorten(text)
        self._refuse(element, name, actual, ", ".join(_PATH_TYPES))
        return _PATH_TYPES[0]

    def fragment(self, servers: int | None) -> Fragment:
        """Return a number of servers with these graphs as fields of a plan."""
        values = [Value("fabric.server.gpus", len(self.gpus), "gpu dev")]
        if self.nets:
            values.append(Value("fabric.server.nics", len(self.nets), "net dev"))
            topology = rails_topology(len(self.nets), servers or SERVERS)
            origins = {"rails": "net dev"}
            values = [
                *(
                    Value(f"fabric.topology.{name}", value, origins.get(name, NOT_IN_FILE))
                    for name, value in topology.items()
                ),
                *values,
            ]
        if self.nics_of_gpus is not None:
            values.append(Value("fabric.server.nic_of_gpu", self.nics_of_gpus, "channel net, gpu"))
        return Fragment(
            FORMAT, self.source, tuple(self._read()), tuple(values), tuple(self._warnings(servers)), _LEFT_OUT
        )

    def _read(self) -> Iterator[str]:
        yield f"{counted(len(self.gpus), 'GPU')}, {counted(len(self.nets), 'adapter')}"
        for graph in self.graphs:
            yield graph.text()
        rings = [graph for graph in self.graphs if graph.name == "ring"]
        for number, channel in enumerate(channel for graph in rings for channel in graph.channels):
            if number == _ADAPTERS_SHOWN:
                yield "further channels of the ring are not listed"
                return
            order = " ".join(map(str, channel.gpus))
            nets = " to ".join(map(str, channel.nets))
            yield f"ring, channel {number}: GPUs {order}" + (f"; adapters {nets}" if nets else "")

    @cached_property
    def nics_of_gpus(self) -> list[int] | None:
        """Adapter near each GPU, if each has one: that by which channels enter at this GPU."""
        entries: dict[int, Counter[int]] = {}
        for graph in self.graphs:
            for channel in graph.channels:
                if channel.nets:
                    entries.setdefault(channel.nets[0], Counter())[channel.gpus[0]] += 1
        gpu_of_net = {net: gpus.most_common(1)[0][0] for net, gpus in entries.items()}
        net_of_gpu = {gpu: net for net, gpu in gpu_of_net.items()}
        if not len(self.gpus) == len(self.nets) == len(net_of_gpu):
            return None
        return [self.nets.index(net_of_gpu[gpu]) for gpu in self.gpus]

    def _warnings(self, servers: int | None) -> Iterator[str]:
        if not self.nets:
            yield "no adapter is in the file: graphs of a job on one host, without a topology"
            return
        speeds = self._least_rates()
        if speeds:
            yield f"the rate of adapters is not in the file: give `fabric.topology.host_link`{speeds}"
        if servers is None:
            yield f"the file is of one host: {SERVERS} servers here, or as many as `--servers` says"
        yield "what joins the adapters is not in the file: a switch for each rail, full bandwidth between"
        yield "the rest of the server is that of `dgx-h100`: name yours in `fabric.server`"
        if self.nics_of_gpus is None:
            yield "which adapter is near each GPU does not follow: `fabric.server.nic_of_gpu` divides evenly"

    def _least_rates(self) -> str:
        """Return the rate that the ring needs of an adapter, as text."""
        rings = [graph for graph in self.graphs if graph.name == "ring"]
        loads: Counter[int] = Counter()
        for graph in rings:
            for channel in graph.channels:
                if channel.nets:
                    loads[channel.nets[0]] += 1
        need = max((graph.speed_inter for graph in rings), default=0.0) * max(loads.values(), default=0)
        return f"; the ring needs {need:g} GB/s" if need else ""


_LEFT_OUT: Final = (
    "graphs: fabricbench searches them by NCCL's rules; compare with `fabricbench nccl`",
    "crossnic, samechannels, latencyinter",
)
