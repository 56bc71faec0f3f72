"""Parser of the output of Intel MPI Benchmarks (IMB-MPI1): `is_output` detects it, `read` returns its tables.

Times are in microseconds; where a table has minimum, maximum and mean over the ranks, the mean is used.
Mbytes/sec are 1e6 bytes since version 2018 and 2^20 before (IMB_output.c), so rates are computed from times,
and for Uniband and Biband from messages per second. The size is the message size: for Alltoall the bytes from
a rank to each other rank, for Scatter, Gather and Allgather the block of one rank, for the others the whole
buffer (Intel MPI Benchmarks User Guide, MPI-1 benchmarks). PingPong is half a round trip.

With `-multi`, groups of processes run at the same time, and names begin with `Multi-`: with `-multi 0` a row
is the slowest group, with `-multi 1` each group has its own rows, which begin with its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricbench.measured.file_text.document import (
    RANKS_HINT,
    Document,
    command_before,
    command_lines,
    table_lines,
    whole_rows,
)
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.file_text.origins import read_each
from fabricbench.measured.model import Row, Table, UserFacts, Value, times_of_ranks

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
_GROUPS = re.compile(r"\(\s*(\d{1,9}) groups? of (\d{1,9}) process")
_GROUP = "Group"
_HEAD = re.compile(r"^\s*#?(bytes|repetitions|Group)\s+#?(?:repetitions\b|#?bytes\b|t_min\[|t\[)")
_FACT = re.compile(r"^#? ?(Machine|System|Release|MPI Version|MPI Thread Environment)\s*:\s*(\S.*)")
_FAILED = re.compile(r"out-of-mem|int-overflow|time-out")
_MEAN = "times are t_avg, the mean over ranks, and rates size over it; its Mbytes/sec are by t_max"
_TIMES = ("t_avg[usec]", "t[usec]")
_OF_RANKS = ("t_min[usec]", "t_max[usec]")
_MESSAGES = "Msg/sec"


@dataclass
class _Header:
    """Facts from the lines before a table: version, command line, benchmark, processes, machine."""

    version: str = ""
    command: str = ""
    benchmark: str = ""
    processes: int | None = None
    groups: int = 1
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
            self.benchmark, self.processes, self.groups = benchmark[1], None, 1
        if processes := _PROCESSES.match(text):
            self.processes = int(processes[1])
        if groups := _GROUPS.search(text):
            self.groups, self.processes = int(groups[1]), int(groups[2])


def is_output(document: Document) -> bool:
    """Return whether a text has a title of Intel MPI Benchmarks."""
    return any(_SUITE.match(line.text) or _BENCHMARK.match(line.text) for line in document.lines)


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every table of a file; those that measure something else are left out with a warning.

    Raises:
        MeasuredError: A row is malformed, or the number of processes is missing.
    """
    return read_each(document, _BENCHMARK, lambda part, part_warnings: _read(part, user_facts, part_warnings))


def _read(document: Document, user_facts: UserFacts, warnings: list[str]) -> list[Table]:
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    header, index = _Header(), 0
    while index < len(document.lines):
        line = document.lines[index]
        header.take(line.text)
        index += 1
        if not _HEAD.match(line.text):
            continue
        columns = _columns(line.text)
        has_groups = columns[:2] == [_GROUP, "#bytes"]
        if (columns[0] != "#bytes" and not has_groups) or not {*_TIMES, _MESSAGES} & {*columns}:
            benchmark = header.benchmark or "a table"
            warnings.append(
                f"{document.name}:{line.number}: {benchmark[:60]}, {columns[0]} first, is not imported"
            )
            continue
        lines, index = table_lines(document, index)
        lines = whole_rows(document, lines, warnings)
        rows = [_row(document, row, columns, header) for row in _measured(document, lines, warnings)]
        if not rows:
            warnings.append(f"{document.name}:{line.number}: the head of a table without rows")
        mean_note = f"{document.name}: {_MEAN}"
        if {"t_max[usec]", "Mbytes/sec"} <= set(columns) and mean_note not in warnings:
            warnings.append(mean_note)
        if header.groups > 1 and rows:
            warnings.append(f"{document.name}:{line.number}: {_of_groups(header, has_groups=has_groups)}")
        command = header.command or command_before(commands, line.number)
        for group, group_rows in _by_group(rows, header).items():
            tables.append(_table(document, line, header, command, user_facts, group_rows, group))
        document.require_rows([table.rows for table in tables])
    return tables


def _of_groups(header: _Header, *, has_groups: bool) -> str:
    """Return the warning about the meaning of a row of several groups."""
    groups = (
        f"{header.groups:,} groups of {header.processes or 0:,} ranks ran {header.benchmark[:60]} at once"
    )
    return f"{groups}: {'each is a run of its own' if has_groups else 'a row is the slowest of them'}"


def _by_group(rows: Sequence[Row], header: _Header) -> dict[str, list[Row]]:
    """Return the rows of each group of processes by its name; of a table of one group the name is empty."""
    rows_by_group: dict[str, list[Row]] = {}
    slowest = f"{header.groups}groups" if header.groups > 1 else ""
    for row in rows:
        group = row.values.get(_GROUP)
        rows_by_group.setdefault(slowest if group is None else f"group{group:.0f}", []).append(row)
    return rows_by_group


def _columns(text: str) -> list[str]:
    """Return the columns of a head, also of one that lost a `#`."""
    numbered_columns = ("bytes", "repetitions")
    return [f"#{name}" if name in numbered_columns else name for name in text.split()]


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
    directions = 2 if header.benchmark.lower().endswith("biband") else 1
    return float(values[_MESSAGES]) * size / 1e9 / pairs / directions


def _table(
    document: Document,
    line: Line,
    header: _Header,
    command: str,
    user_facts: UserFacts,
    rows: Sequence[Row],
    group: str,
) -> Table:
    name = (header.benchmark or user_facts.benchmark).lower().removeprefix("multi-")
    if not name:
        expected = 'a line "# Benchmarking ..." before the table'
        hint = "say which it was: --benchmark Alltoall"
        raise document.error(line.number, "a table of an unknown benchmark", expected, hint)
    ranks = header.processes or user_facts.ranks
    if not ranks:
        expected = 'a line "# #processes = N" before the table'
        raise document.error(line.number, "a table of unknown ranks", expected, RANKS_HINT)
    collective = COLLECTIVES.get(_blocking(name), name.replace("_", "-"))
    return Table(
        f"imb-{name}", collective, ranks, "message", line.number, rows, header.version, command[:8000],
        dict(header.facts), part=group,
    )  # fmt: skip


def _blocking(name: str) -> str:
    """Return the collective of a benchmark of IMB-NBC without computation: `ialltoall_pure` is `alltoall`."""
    return name.removeprefix("i").removesuffix("_pure") if name.endswith("_pure") else name
