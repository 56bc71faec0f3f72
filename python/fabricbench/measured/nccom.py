"""nccom-test, the benchmark of collectives on AWS Trainium and Inferentia, as it prints its table.

Sizes are data sizes, times microseconds and GB/s 1e9 bytes/s, with the bus bandwidth of nccl-tests. Operation
and ranks are those of the command line (`nccom-test -r 64 allr`); bandwidths have to follow from them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabricbench.measured.digits import Interval
from fabricbench.measured.line import Line
from fabricbench.measured.model import Given, Row, Table, Value
from fabricbench.measured.nccl import collective_of
from fabricbench.measured.nccl_check import KINDS, Kind, bandwidths
from fabricbench.measured.text import RANKS_HINT, ROW_HINT, Document, command_before, command_lines, shown

NAME: Final = "nccom-test"
_PROGRAM: Final = "nccom-test"
_HEAD: Final = re.compile(
    r"\s*size\(B\)\s+count\(elems\)\s+type\s+time(?::\w+)?\(us\).*\balgbw\(GB/s\)\s+busbw\(GB/s\).*"
)
_KINDS: Final = {
    **dict.fromkeys(("allr", "allreduce", "all_reduce", "all-reduce"), "all_reduce"),
    **dict.fromkeys(("allg", "allgather", "all_gather", "all-gather"), "all_gather"),
    **dict.fromkeys(("redsct", "reducescatter", "reduce_scatter", "reduce-scatter"), "reduce_scatter"),
    **dict.fromkeys(("sendrecv", "send_recv"), "sendrecv"),
    **dict.fromkeys(("alltoall", "all-to-all", "a2a"), "alltoall"),
    **dict.fromkeys(("bcast", "broadcast"), "broadcast"),
}
"""Operations of nccom-test, and what nccl-tests calls them."""
_RANKS: Final = ("-r", "--nworkers", "--nranks")
_BENCHMARK_HINT: Final = "say it: --benchmark allr (allg, redsct, sendrecv, alltoall, bcast)"
_TIME: Final = re.compile(r"time(?::(\w+))?\(us\)")
_BANDWIDTHS: Final = ("algbw(GB/s)", "busbw(GB/s)")
_AGREES: Final = 0.02
"""Share by which a bandwidth may differ from what size and time give: times are rounded."""


@dataclass(frozen=True)
class _Run:
    """Operation, by the name of nccl-tests, and ranks of a command line."""

    kind: Kind
    ranks: int
    command: str


def is_output(document: Document) -> bool:
    """Tell whether a text has a table of nccom-test."""
    return any(_HEAD.fullmatch(line.text) for line in document.lines)


def read(document: Document, given: Given) -> tuple[list[Table], list[str]]:
    """Read every table of a file.

    Raises:
        MeasuredError: A row is malformed, its bandwidths do not follow from size, time and ranks, or nothing
            says operation and ranks.
    """
    commands = command_lines(document.lines, _PROGRAM)
    tables: list[Table] = []
    warnings: list[str] = []
    for index, line in enumerate(document.lines):
        if not _HEAD.fullmatch(line.text):
            continue
        columns = line.text.split()
        lines = _lines(document.lines[index + 1 :])
        if not lines:
            warnings.append(f"{document.name}:{line.number}: the head of a table without rows")
            continue
        run = _run(document, line, command_before(commands, line.number), given)
        rows = [_row(document, each, columns, run) for each in lines]
        name = collective_of(run.kind.name)
        tables.append(Table(f"nccom-{name}", name, run.ranks, "data", line.number, rows, command=run.command))
    return tables, warnings


def _lines(lines: Sequence[Line]) -> list[Line]:
    """Return the rows below a head: lines that begin with a number, up to one that does not."""
    found: list[Line] = []
    for line in lines:
        text = line.text.strip()
        if text[:1].isdigit():
            found.append(line)
        elif text and found:
            break
    return found


def _run(document: Document, line: Line, command: str, given: Given) -> _Run:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    kind = next((_KINDS[word] for word in reversed(words) if word in _KINDS), None)
    kind = kind or _KINDS.get(given.benchmark.removeprefix("nccom-"))
    if kind is None:
        found = "no command line of nccom-test that names an operation"
        raise document.error(line.number, found, ", ".join(_KINDS), _BENCHMARK_HINT)
    ranks = _option(words) or given.ranks
    if ranks is None:
        raise document.error(line.number, "no number of ranks", "nccom-test -r N above the table", RANKS_HINT)
    return _Run(KINDS[kind], ranks, command)


def _option(words: Sequence[str]) -> int | None:
    """Return the number of ranks of a command line: `-r 64`, `-r64` or `--nworkers=64`."""
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in _RANKS and not value:
            value = words[index + 1] if index + 1 < len(words) else ""
        elif name not in _RANKS:
            value = word[2:] if word[:2] == "-r" else ""
        if value.isascii() and value.isdecimal() and 0 < len(value) < 8:
            return int(value)
    return None


def _row(document: Document, line: Line, columns: Sequence[str], run: _Run) -> Row:
    cells = dict(zip(columns, document.cells(line, columns), strict=True))
    size = document.integer(line.number, "size(B)", cells["size(B)"])
    times = {match[1] or "avg": name for name in columns if (match := _TIME.fullmatch(name))}
    name = times.get("avg") or next(iter(times.values()))
    time = document.number(line.number, name, cells[name])
    algbw, busbw = (document.number(line.number, each, cells[each]) for each in _BANDWIDTHS)
    _require_bandwidths(document, line, cells, run, size, time)
    values: dict[str, Value] = {"type": cells["type"], "algbw": algbw, "busbw": busbw}
    values |= {
        f"time {each}": document.number(line.number, column, cells[column])
        for each, column in times.items()
        if column != name
    }
    return Row(line.number, size, time_us=time, values=values)


def _require_bandwidths(
    document: Document, line: Line, cells: Mapping[str, str], run: _Run, size: int, time_us: float
) -> None:
    """Refuse a row whose bandwidths are not those of its size, time and ranks.

    Raises:
        MeasuredError: They are not; a time of 0 has none.
    """
    if not time_us:
        return
    for name, value in zip(_BANDWIDTHS, bandwidths(run.kind, run.ranks, size, time_us), strict=True):
        near = Interval(value * (1 - _AGREES), value * (1 + _AGREES))
        if not Interval.printed(cells[name]).meets(near):
            what = f"{run.kind.name} of {size:,} bytes, {run.ranks:,} ranks and {time_us:g} us"
            found = f"{shown(cells[name])} in column {name}"
            raise document.error(line.number, found, f"{value:.2f}, as {what} has", ROW_HINT)
