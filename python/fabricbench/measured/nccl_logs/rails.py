"""Adapters at both ends of connections between hosts, and distances of GPUs to adapters: `RailFacts`.

`RailReader` reads them from NCCL's log and other outputs. NCCL logs both ends of a channel with the number of
the adapter: `Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/7` and the same with `[receive] via NET/IB/0`.
`nvidia-smi topo -m` prints the distance of each GPU to each adapter, and NCCL also logs it, by name
(`GPU/17000 :... NET/0 (4/16.000000/SYS)`) or by number (`GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance
7 <= 7)`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fabricbench.measured.file_text.line import SHOWN_MAX, EvidenceLine
from fabricbench.measured.nccl_logs.log_lines import host_of

_END: Final = re.compile(
    r"\b(?:Channel|Ring) (\d{1,4})(?:/\d+)? ?: (\d{1,7})\S{0,20} -> (\d{1,7})\S{0,20} \[(send|receive)\] via "
    r"NET/[A-Za-z_0-9 ]{1,40}/(\d{1,4})"
)
_PATHS: Final = re.compile(r"\b(GPU/[\w-]{1,24}) :(?=.*\bNET/)")
_PATH: Final = re.compile(r"\bNET/[\w-]{1,12} \(\d+/[\d.]{1,14}/(\w{3,4})\)")
_DIRECT: Final = re.compile(
    r"GPU Direct RDMA Enabled for (GPU \S{1,24}) / HCA \S{1,24} \(distance (\d{1,2}) <= (\d{1,2})\)"
)
_VERSION: Final = re.compile(r"\b[NR]CCL version (\d{1,2})\.(\d{1,3})\b|\bnccl-library=2(\d\d)\d\d\b")
_GPU: Final = re.compile(r"GPU\d+\Z")
_ADAPTER: Final = re.compile(r"(?:NIC\d+|mlx\w+|bnxt\w+|irdma\w+|rdma\w+|efa\w+)\Z")
DISTANCES: Final = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Names of paths in `nvidia-smi topo -m`, from one PCIe switch to the link between processors."""


@dataclass
class RailFacts:
    """Connections between hosts, and GPUs with the nearest adapter.

    Attributes:
        ends: Adapter numbers of a connection's ends, by channel and ranks.
        where: The first line of a connection whose ends differ.
        nearest: Distance of each GPU to its nearest adapter, with the line of the GPU.
        direct: Least distance of each GPU to an adapter with GPU Direct RDMA, as NCCL's number of a path; the
            largest allowed distance, and the line.
        version: Major and minor version of NCCL.
    """

    ends: dict[tuple[str, str, str], dict[str, int]] = field(default_factory=dict)
    where: EvidenceLine | None = None
    nearest: dict[str, tuple[str, EvidenceLine]] = field(default_factory=dict)
    direct: dict[str, tuple[int, int, EvidenceLine]] = field(default_factory=dict)
    version: tuple[int, int] | None = None

    @property
    def complete(self) -> int:
        """Number of connections with both ends in the log."""
        return sum(1 for ends in self.ends.values() if len(ends) > 1)

    @property
    def changed(self) -> int:
        """Number of connections between adapters of different numbers."""
        return sum(1 for ends in self.ends.values() if len(set(ends.values())) > 1)


class RailReader:
    """Reads lines one after another; a matrix of distances has its adapters in the first line."""

    def __init__(self) -> None:
        self.facts = RailFacts()
        self._columns: list[int] = []

    def take(self, number: int, text: str) -> None:
        """Read a line."""
        if " via NET/" in text and (end := _END.search(text)):
            ends = self.facts.ends.setdefault((end[1], end[2], end[3]), {})
            ends.setdefault(end[4], int(end[5]))
            if len(set(ends.values())) > 1 and self.facts.where is None:
                self.facts.where = EvidenceLine(number, " ".join(text.split())[:SHOWN_MAX])
        elif " GPU/" in text and (paths := _PATHS.search(text)):
            self._note(f"{host_of(text)} {paths[1]}", _PATH.findall(text), number, text)
        elif "GPU Direct RDMA Enabled" in text and (direct := _DIRECT.search(text)):
            gpu, distance = f"{host_of(text)} {direct[1]}", int(direct[2])
            if gpu not in self.facts.direct or distance < self.facts.direct[gpu][0]:
                line = " ".join(text[direct.start() :].split())[:SHOWN_MAX]
                self.facts.direct[gpu] = (distance, int(direct[3]), EvidenceLine(number, line))
        elif self.facts.version is None and (version := _version(text)):
            self.facts.version = version
        elif "GPU" in text:
            self._take_row(number, text.split())

    def _take_row(self, number: int, words: Sequence[str]) -> None:
        """Read the head of a matrix, or the row of a GPU."""
        if words and _GPU.match(words[0]) and "X" not in words:
            self._columns = [index for index, word in enumerate(words) if _ADAPTER.match(word)]
        elif self._columns and words and _GPU.match(words[0]) and len(words) > self._columns[-1] + 1:
            self._note(words[0], [words[index + 1] for index in self._columns], number, " ".join(words))

    def _note(self, gpu: str, distances: Sequence[str], number: int, text: str) -> None:
        """Store the least distance of a GPU to an adapter."""
        ascending_distances = [distance for distance in DISTANCES if distance in distances]
        if ascending_distances:
            seen = EvidenceLine(number, " ".join(text.split())[:SHOWN_MAX])
            self.facts.nearest.setdefault(gpu, (ascending_distances[0], seen))


def _version(text: str) -> tuple[int, int] | None:
    """Return NCCL's version from a line with it: `NCCL version 2.19.4`, `nccl-library=21904`."""
    if ("version" in text or "library=" in text) and (match := _VERSION.search(text)):
        return (2, int(match[3])) if match[3] else (int(match[1]), int(match[2]))
    return None
