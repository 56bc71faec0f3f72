"""nccl-tests, as it prints: sizes are data sizes, GB/s are 1e9 bytes/s, times are microseconds.

The size is the larger of what a rank sends and receives, its own part included, which is the data size S of a
plan for every collective (nccl-tests, doc/PERFORMANCE.md and src/common.cu). Versions name the check `error`
or `#wrong`, and have or have not the columns `redop` and `root`, so columns are taken by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricbench.measured.model import Given, Row, Table, Value
from fabricbench.measured.text import (
    RANKS_HINT,
    ROW_HINT,
    Document,
    Line,
    command_before,
    command_lines,
    launched_ranks,
    shown,
    table_lines,
)

NAME = "nccl-tests"
COLLECTIVES: Mapping[str, str] = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "send-receive",
}
"""For each benchmark, without `_perf`, the collective of a plan; others keep their own name."""
PROGRAM = r"\w+_perf(?:_mpi)?"
_HEADER = re.compile(r"^#\s+size\s+count\s+type\b.*\btime\b|^#\s+size\s+count\s+type\b.*\bcputime\b")
_VERSION = re.compile(r"^# nccl-tests version (\S+)(?:.*nccl-library=(\d+))?")
_STARTING = re.compile(r"^# Collective test starting: (\S+)")
_RANK = re.compile(r"^#\s+Rank\s+(\d+)(?: Group\s+(\d+))? Pid\s+\d+ on\s+(\S+) device\s+\d+ \[[^\]]*\] (.*)")
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )\biters: (\d{1,9})(?: agg iters: (\d{1,9}))?")
_LIBRARY = re.compile(r"^NCCL version (\S+)")
_PLACEMENTS = ("out-of-place", "in-place")
_TIMES = ("time", "cputime")


@dataclass
class _Header:
    """What stands before a table."""

    benchmark: str = ""
    version: str = ""
    library: str = ""
    iterations: int | None = None
    devices: list[tuple[int, str, str, str]] = field(default_factory=list)

    def take(self, text: str) -> None:
        """Read a line before the table."""
        version, starting = _VERSION.match(text), _STARTING.match(text)
        if version:
            self.devices = []
            self.version, self.library = version[1], library_version(int(version[2] or 0))
        if starting:
            self.benchmark = starting[1]
        if library := _LIBRARY.match(text):
            self.library = library[1]
        if text.startswith("# nThread"):
            self.devices = []
            found = _ITERATIONS.search(text)
            self.iterations = int(found[1]) * int(found[2] or 1) if found else None
        if rank := _RANK.match(text):
            self.devices.append((int(rank[1]), rank[2] or "0", rank[3], rank[4].strip()))


def library_version(code: int) -> str:
    """Write NCCL_VERSION_CODE as a version (nccl.h): 22809 is 2.28.9, and until 2.8 2708 is 2.7.8."""
    if not code:
        return ""
    scale = 10_000 if code >= 10_000 else 1000
    return f"{code // scale}.{code % scale // 100}.{code % 100}"


def is_output(document: Document) -> bool:
    """Tell whether a text looks like the output of nccl-tests."""
    return any(_HEADER.match(line.text) for line in document.lines)


def read(document: Document, given: Given) -> tuple[list[Table], list[str]]:
    """Read every table of a file.

    Raises:
        MeasuredError: A row is malformed, or benchmark or ranks are not said.
    """
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    warnings: list[str] = []
    header, index = _Header(), 0
    while index < len(document.lines):
        line = document.lines[index]
        header.take(line.text)
        index += 1
        if _HEADER.match(line.text):
            lines, index = table_lines(document, index, has_units=True)
            columns = _columns(document, line)
            rows = [row for each in lines for row in _row(document, each, columns, header.iterations)]
            last = command_before(commands, line.number)
            named = command_before(commands, line.number, header.benchmark) if header.benchmark else last
            if rows:
                tables.append(_table(document, line, header, named, given, rows, warnings))
    return tables, warnings


def _columns(document: Document, line: Line) -> list[str]:
    """Return the columns of a head: those of the operation, then two times those of a placement.

    Raises:
        MeasuredError: They are others.
    """
    columns = line.text[1:].split()
    measured = [name for name in columns[3:] if name not in ("redop", "root", "timestamp")]
    half = len(measured) // 2
    if measured[:half] != measured[half:] or measured[:1] not in (["time"], ["cputime"]):
        expected = "columns size, count, type and then time, algbw, busbw and #wrong twice"
        raise document.error(line.number, shown(line.text), expected, ROW_HINT)
    return columns


def _row(document: Document, line: Line, columns: Sequence[str], iterations: int | None) -> list[Row]:
    kept = [name for name in columns if name != "timestamp"]
    texts = line.text.split()
    if "timestamp" in columns and len(texts) == len(kept) + 2:
        texts = texts[:-2]  # a date and a time
    if len(texts) == len(kept) - 1 and "redop" in kept:
        kept.remove("redop")  # until 2.12 it is empty where nothing is reduced
    cells = document.cells(Line(line.number, " ".join(texts)), kept)
    start = next(index for index, name in enumerate(kept) if name in _TIMES)
    common = dict(zip(kept[:start], cells[:start], strict=True))
    size = document.integer(line.number, "size", common.pop("size"))
    document.integer(line.number, "count", common["count"])
    measured = list(zip(kept[start:], cells[start:], strict=True))
    half = len(measured) // 2
    return [
        _result(document, line.number, size, part, common, iterations, placement)
        for part, placement in zip((measured[:half], measured[half:]), _PLACEMENTS, strict=True)
    ]


def _result(
    document: Document,
    line: int,
    size: int,
    measured: Sequence[tuple[str, str]],
    common: Mapping[str, str],
    iterations: int | None,
    placement: str,
) -> Row:
    values: dict[str, Value] = dict(common)
    time_us, wrong = 0.0, None
    for name, cell in measured:
        if name in ("#wrong", "error"):
            wrong = _wrong(document, line, name, cell)
        elif name in _TIMES:
            time_us = document.number(line, name, cell)
        else:
            values[name] = document.number(line, name, cell)
    low, high = (values.pop(name, None) for name in ("i_min", "i_max"))
    return Row(
        line,
        size,
        time_us=time_us,
        time_us_min=None if low is None else float(low),
        time_us_max=None if high is None else float(high),
        placement=placement,
        iterations=iterations,
        wrong=wrong,
        values=values,
    )


def _wrong(document: Document, line: int, column: str, cell: str) -> int | None:
    """Read the check: wrong values are counted; `error` of older versions is the largest deviation."""
    if cell == "N/A":
        return None
    value = document.number(line, column, cell)
    return round(value) if column == "#wrong" else None


def _table(
    document: Document,
    line: Line,
    header: _Header,
    command: str,
    given: Given,
    rows: Sequence[Row],
    warnings: list[str],
) -> Table:
    program = re.search(rf"({PROGRAM})(?:\s|$)", command)
    benchmark = header.benchmark or (program[1] if program else "") or given.benchmark
    if not benchmark:
        expected = 'a line "# Collective test starting: ..." or the command line before the table'
        hint = "say which it was: --benchmark all_reduce_perf"
        raise document.error(line.number, "a table of an unknown benchmark", expected, hint)
    listed = rank_count([(rank, group) for rank, group, _, _ in header.devices])
    ranks = taken_ranks(f"{document.name}:{line.number}", listed, given, warnings)
    ranks = ranks or launched_ranks(command, PROGRAM)
    if ranks is None:
        expected = 'lines "#  Rank  0 ... on HOST device ..." before the table'
        raise document.error(line.number, "a table of unknown ranks", expected, RANKS_HINT)
    hosts = list(dict.fromkeys(host for _, _, host, _ in header.devices))
    facts = machine_facts(hosts, [gpu for _, _, _, gpu in header.devices], header.library)
    name = benchmark.removesuffix("_mpi")
    return Table(name, collective_of(name), ranks, "data", line.number, rows, header.version, command, facts)


def collective_of(benchmark: str) -> str:
    """Return the collective of a benchmark, or the benchmark's own name where no plan has it."""
    name = benchmark.removesuffix("_mpi").removesuffix("_perf")
    return COLLECTIVES.get(name, name.replace("_", "-"))


def taken_ranks(place: str, listed: int | None, given: Given, warnings: list[str]) -> int | None:
    """Return how many ranks the user says, or else the output lists; that they differ becomes a warning."""
    if given.ranks and listed and given.ranks != listed:
        warnings.append(f"{place}: --ranks {given.ranks} in place of {listed}, which the output lists")
    return given.ranks or listed


def rank_count(devices: Sequence[tuple[int, str]]) -> int | None:
    """Return how many ranks a collective has, given rank and group of each device; none of no devices."""
    if not devices:
        return None
    groups = {group for _, group in devices}
    if len(groups) == 1:
        return max(rank for rank, _ in devices) + 1
    first = devices[0][1]
    return sum(1 for _, group in devices if group == first)


def machine_facts(hosts: Sequence[str], gpus: Sequence[str], library: str) -> dict[str, Value]:
    """Return the facts of the machines that the devices tell."""
    kinds = {gpu: gpus.count(gpu) for gpu in dict.fromkeys(gpus)}
    facts: dict[str, Value] = {}
    if hosts:
        facts |= {"host": ", ".join(hosts[:16]) + (", ..." if len(hosts) > 16 else ""), "hosts": len(hosts)}
    if kinds:
        facts["gpus"] = ", ".join(f"{count} x {gpu}" for gpu, count in kinds.items())
    return facts | ({"nccl": library} if library else {})
