"""Intel MPI Benchmarks, as IMB-MPI1 prints.

Times are microseconds, and the mean over the ranks is taken where there are three. Mbytes/sec are 1e6 bytes
since version 2018 and 2^20 before (IMB_output.c), so rates are computed from times, and of Uniband and Biband
from messages per second. The size is the message size: of Alltoall, Gather, Scatter and Allgather what a rank
gives to each other or puts in, of the others the whole (Intel MPI Benchmarks User Guide, MPI-1 benchmarks).
PingPong is half a round trip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricbench.measured.line import Line
from fabricbench.measured.model import Given, Row, Table, Value, times_of_ranks
from fabricbench.measured.text import (
    RANKS_HINT,
    Document,
    command_before,
    command_lines,
    table_lines,
)

NAME = "imb"
PROGRAM = r"IMB-\w+"
COLLECTIVES: Mapping[str, str] = {
    "pingpong": "send-receive",
    "pingping": "send-receive",
    "sendrecv": "send-receive",
    "uniband": "send-receive",
    "biband": "send-receive",
    "bcast": "broadcast",
    "allreduce": "all-reduce",
    "reduce": "reduce",
    "reduce_scatter": "reduce-scatter",
    "allgather": "all-gather",
    "allgatherv": "all-gather",
    "gather": "gather",
    "gatherv": "gather",
    "scatter": "scatter",
    "scatterv": "scatter",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
}
"""For each benchmark the collective of a plan; others keep their own name."""
_SUITE = re.compile(r"^#?\s*Intel\s?\(R\) MPI Benchmarks? (?:Suite )?V?([\w.]+)")
_BENCHMARK = re.compile(r"^#?\s*Benchmarking (\S+)")
_PROCESSES = re.compile(r"^#?\s*\(?\s*#?processes = (\d{1,9})\b")
_GROUPS = re.compile(r"groups? of \d+ process")
_HEAD = re.compile(r"^\s*#?(bytes|repetitions|Group)\s+#?(?:repetitions\b|#?bytes\b|t_min\[|t\[)")
_FACT = re.compile(r"^#? ?(Machine|System|Release|MPI Version|MPI Thread Environment)\s*:\s*(\S.*)")
_FAILED = re.compile(r"out-of-mem|int-overflow|time-out")
_TIMES = ("t_avg[usec]", "t[usec]")
_OF_RANKS = ("t_min[usec]", "t_max[usec]")
_MESSAGES = "Msg/sec"


@dataclass
class _Header:
    """What stands before a table."""

    version: str = ""
    command: str = ""
    benchmark: str = ""
    processes: int | None = None
    in_groups: bool = False
    is_calling: bool = False
    facts: dict[str, Value] = field(default_factory=dict)

    def take(self, text: str) -> None:
        """Read a line before the table."""
        if suite := _SUITE.match(text):
            self.version, self.facts, self.command = suite[1].rstrip(","), {}, ""
        if fact := _FACT.match(text):
            self.facts[fact[1].lower()] = fact[2].strip()[:200]
        if self.is_calling and text.strip(" #"):
            self.command, self.is_calling = text.strip(" #"), False
        self.is_calling = self.is_calling or text.lstrip("# ").startswith("Calling sequence was")
        if benchmark := _BENCHMARK.match(text):
            self.benchmark, self.processes, self.in_groups = benchmark[1], None, False
        if processes := _PROCESSES.match(text):
            self.processes = int(processes[1])
        self.in_groups = self.in_groups or (bool(_GROUPS.search(text)) and not text[:1].isdigit())


def is_output(document: Document) -> bool:
    """Tell whether a text looks like the output of Intel MPI Benchmarks."""
    return any(_SUITE.match(line.text) or _BENCHMARK.match(line.text) for line in document.lines)


def read(document: Document, given: Given) -> tuple[list[Table], list[str]]:
    """Read every table of a file; those that measure something else are left out with a warning.

    Raises:
        MeasuredError: A row is malformed, or the number of processes is not said.
    """
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    warnings: list[str] = []
    header, index = _Header(), 0
    while index < len(document.lines):
        line = document.lines[index]
        header.take(line.text)
        index += 1
        if not _HEAD.match(line.text):
            continue
        columns = _columns(line.text)
        if columns[0] != "#bytes" or header.in_groups or _time_column(columns) is None:
            what = header.benchmark or "a table"
            warnings.append(
                f"{document.name}:{line.number}: {what[:60]}, {columns[0]} first, is not imported"
            )
            continue
        lines, index = table_lines(document, index)
        rows = [_row(document, each, columns, header) for each in _measured(document, lines, warnings)]
        if not rows:
            warnings.append(f"{document.name}:{line.number}: the head of a table without rows")
        if rows:
            command = header.command or command_before(commands, line.number)
            tables.append(_table(document, line, header, command, given, rows))
            document.require_rows([table.rows for table in tables])
    return tables, warnings


def _columns(text: str) -> list[str]:
    """Return the columns of a head, also of one that lost a `#`."""
    named = ("bytes", "repetitions")
    return [f"#{name}" if name in named else name for name in text.split()]


def _time_column(columns: Sequence[str]) -> str | None:
    return next((name for name in (*_TIMES, _MESSAGES) if name in columns), None)


def _measured(document: Document, lines: Sequence[Line], warnings: list[str]) -> list[Line]:
    """Return the rows that were measured; those that the benchmark could not measure become warnings."""
    failed = [line for line in lines if _FAILED.search(line.text)]
    warnings += [f"{document.name}:{line.number}: {' '.join(line.text.split())[:80]}" for line in failed]
    return [line for line in lines if not _FAILED.search(line.text)]


def _row(document: Document, line: Line, columns: Sequence[str], header: _Header) -> Row:
    cells = dict(zip(columns, document.cells(line, columns), strict=True))
    size = document.integer(line.number, "#bytes", cells.pop("#bytes"))
    iterations = document.integer(line.number, "#repetitions", cells.pop("#repetitions", "0"))
    defects = cells.pop("defects", None)
    values: dict[str, Value] = {
        name: document.number(line.number, name, cell) for name, cell in cells.items()
    }
    time = next((name for name in _TIMES if name in values), None)
    wrong = None if defects is None else int(document.number(line.number, "defects", defects) > 0)
    least, most = times_of_ranks(values, _OF_RANKS)
    return Row(
        line.number,
        size,
        time_us=None if time is None else float(values.pop(time)),
        rank_us_min=least,
        rank_us_max=most,
        gb_per_s=_rate(values, size, header) if time is None else None,
        iterations=iterations or None,
        wrong=wrong,
        values=values,
    )


def _rate(values: Mapping[str, Value], size: int, header: _Header) -> float:
    """Return the rate of each pair and direction from the messages of all [GB/s]."""
    pairs = max((header.processes or 2) // 2, 1)
    directions = 2 if header.benchmark.lower() == "biband" else 1
    return float(values[_MESSAGES]) * size / 1e9 / pairs / directions


def _table(
    document: Document, line: Line, header: _Header, command: str, given: Given, rows: Sequence[Row]
) -> Table:
    name = header.benchmark or given.benchmark
    if not name:
        expected = 'a line "# Benchmarking ..." before the table'
        hint = "say which it was: --benchmark Alltoall"
        raise document.error(line.number, "a table of an unknown benchmark", expected, hint)
    ranks = header.processes or given.ranks
    if not ranks:
        expected = 'a line "# #processes = N" before the table'
        raise document.error(line.number, "a table of unknown ranks", expected, RANKS_HINT)
    lowered = name.lower()
    collective = COLLECTIVES.get(lowered, lowered.replace("_", "-"))
    return Table(
        f"imb-{lowered}", collective, ranks, "message", line.number, rows, header.version, command[:8000],
        dict(header.facts),
    )  # fmt: skip
