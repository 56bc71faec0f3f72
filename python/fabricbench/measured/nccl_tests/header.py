"""`Header`: facts from the lines before a table of nccl-tests: program, settings, sizes, devices.

`Sizes` are the sizes of a run. `library_version`, `rank_count` and `machine_facts` derive values from these
facts, also for the JSON output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fabricbench.measured.model import Value
from fabricbench.measured.nccl_tests.bandwidth_check import Lead

_VERSION = re.compile(r"^#?\s*nccl-tests version (\S+)(?:.*nccl-library=(\d{1,9}))?")
_STARTING = re.compile(r"^#?\s*Collective test starting: (\S+)")
_RUN = re.compile(r"^#?\s*nThread:? (\d{1,6}) nGpus:? (\d{1,6})\b")
_RANK = re.compile(
    r"^#?\s*Rank\s+(\d{1,8})(?: Group\s+(\d{1,8}))? Pid\s+\d+ on\s+(\S+) device\s+(\d+) \[([^\]]*)\] (.*)"
)
_OPTION = re.compile(
    r"\b(nThread|nGpus|warmup iters|agg iters|iters|validation|graph|unalign|blocking|parallel init)"
    r":? (\d{1,9})\b"
)
"""Settings of a run that the line with `nThread` has, without those of its sizes."""
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )\biters: (\d{1,9})(?: agg iters: (\d{1,9}))?")
_LIBRARY = re.compile(r"^NCCL version (\S+)")
_SIZES = re.compile(r"\bminBytes:? \d{1,19} maxBytes:? (\d{1,19}) step:? (\d{1,19}) ?\((factor|bytes)\)")
_REDUCED = re.compile(r"^#?\s*Reducing maxBytes to (\d{1,19})\b")
Device = tuple[int, str, str, str]
"""Rank, group, host and name of a device."""


@dataclass(frozen=True)
class Sizes:
    """The largest size of a run [bytes], and the step to the next: a factor, or bytes."""

    most: int
    step: int
    is_factor: bool

    def has_more(self, size: int) -> bool:
        """Return whether the run was to measure another size after this one."""
        following = size * self.step if self.is_factor else size + self.step
        return size < following <= self.most


@dataclass
class Header:
    """Facts from the lines before a table.

    Attributes:
        benchmark: The program that the run of this table names; empty if it names none.
        earlier: The program of an earlier table.
        each: Ranks of one process, as threads and devices.
        lists: The devices that are listed, one list for each run that began since the last table.
        heads: Heads of tables since the last row.
        settings: Options of the run, as it prints them.
        sizes: The sizes that the run is to measure; none if it prints none.
        slots: Device and bus address of each rank of the last list.
    """

    benchmark: str = ""
    earlier: str = ""
    version: str = ""
    library: str = ""
    iterations: int | None = None
    each: int = 1
    lists: list[list[Device]] = field(default_factory=list)
    heads: int = 0
    is_read: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    sizes: Sizes | None = None
    slots: list[str] = field(default_factory=list)

    def take(self, text: str) -> None:
        """Read a line before the table."""
        if version := _VERSION.match(text):
            self._begin()
            self.version, self.library = version[1], library_version(int(version[2] or 0))
        if starting := _STARTING.match(text):
            self._begin()
            self.benchmark = starting[1]
        if library := _LIBRARY.match(text):
            self.library = library[1]
        if run := _RUN.match(text):
            self._begin()
            self.lists.append([])
            self.slots = []
            self.settings = dict(_OPTION.findall(text))
            sizes = _SIZES.search(text)
            self.sizes = sizes and Sizes(int(sizes[1]), int(sizes[2]), sizes[3] == "factor")
            self.each = max(int(run[1]) * int(run[2]), 1)
            iterations = _ITERATIONS.search(text)
            self.iterations = int(iterations[1]) * int(iterations[2] or 1) if iterations else None
        if (reduced := _REDUCED.match(text)) and self.sizes:
            self.sizes = replace(self.sizes, most=int(reduced[1]))
        if rank := _RANK.match(text):
            self._begin()
            self.lists = self.lists or [[]]
            self.lists[-1].append((int(rank[1]), rank[2] or "0", rank[3], rank[6].strip()))
            self.slots.append(f"{rank[4]} [{rank[5]}]")

    def _begin(self) -> None:
        """Clear the facts of the last table."""
        if self.is_read:
            self.earlier, self.benchmark = self.benchmark or self.earlier, ""
            self.version, self.library, self.iterations, self.each = "", "", None, 1
            self.lists, self.heads, self.is_read = [], 0, False
            self.settings, self.slots, self.sizes = {}, [], None

    @property
    def devices(self) -> Sequence[Device]:
        """The devices of the run."""
        return next((devices for devices in reversed(self.lists) if devices), [])

    def has_several_processes(self, rows: Sequence[Lead]) -> bool:
        """Return whether unconnected processes printed a table into the same output.

        Two lists may also be those of a failed run and of the next; then no size is in two rows in sequence.
        """
        if any(len({each[:2] for each in devices}) < len(devices) for devices in self.lists):
            return True
        is_twice = any(first.size_bytes == second.size_bytes for first, second in pairwise(rows))
        return is_twice and self.heads > 1 and sum(1 for each in self.lists if each) > 1


def library_version(code: int) -> str:
    """Return NCCL_VERSION_CODE as a version (nccl.h): 22809 is 2.28.9, and until 2.8 2708 is 2.7.8."""
    if not code:
        return ""
    scale = 10_000 if code >= 10_000 else 1000
    return f"{code // scale}.{code % scale // 100}.{code % 100}"


def rank_count(devices: Sequence[tuple[int, str]]) -> int | None:
    """Return the number of ranks of a collective by rank and group of each device; none without devices."""
    if not devices:
        return None
    groups = {group for _, group in devices}
    if len(groups) == 1:
        return max(rank for rank, _ in devices) + 1
    first = devices[0][1]
    return sum(1 for _, group in devices if group == first)


def machine_facts(hosts: Sequence[str], gpus: Sequence[str], library: str) -> dict[str, Value]:
    """Return the facts of the machines by the list of devices."""
    kinds = {gpu: gpus.count(gpu) for gpu in dict.fromkeys(gpus)}
    facts: dict[str, Value] = {}
    if hosts:
        facts |= {"host": ", ".join(hosts[:16]) + (", ..." if len(hosts) > 16 else ""), "hosts": len(hosts)}
    if kinds:
        facts["gpus"] = ", ".join(f"{count} x {gpu}" for gpu, count in kinds.items())
    return facts | ({"nccl": library} if library else {})
