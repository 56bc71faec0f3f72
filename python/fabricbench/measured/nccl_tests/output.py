"""Parser of the text output of nccl-tests: `is_output` detects it, `read` returns its tables.

Sizes are data sizes, GB/s are 1e9 bytes/s, times are microseconds. The size is the larger of the bytes that a
rank sends and receives, including its own part: the `data_size` of a plan for every collective (nccl-tests,
doc/PERFORMANCE.md and src/common.cu). Versions differ in the name of the check (`error` or `#wrong`) and in
the columns `redop` and `root`, so columns are identified by their names. Benchmark and ranks of a table are
checked against its bandwidths (`identify`). `COLLECTIVES` maps benchmarks to collectives of a plan;
`is_by_cpu_time`, `of_whole` and `collective_of` also serve the parser of the JSON output.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fabricbench.measured.file_text.document import (
    ROW_HINT,
    Document,
    command_before,
    command_lines,
    failure,
    launched_processes,
    shown,
    table_lines,
    whole_rows,
)
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.model import Row, Table, UserFacts, Value
from fabricbench.measured.nccl_logs.log_lines import Choices, choices, chosen_for
from fabricbench.measured.nccl_tests.bandwidth_check import (
    KINDS,
    Evidence,
    Lead,
    Print,
    factor_of,
    plain_name,
)
from fabricbench.measured.nccl_tests.collective import MPI_HINT, OutputFacts, identify
from fabricbench.measured.nccl_tests.header import Header, machine_facts, rank_count

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
_HEADER = re.compile(r"^\s*#?\s*size\s+count\s+type\b.*\b(?:cpu)?time\b")
_UNITS = re.compile(r"#?\s*\(B\)|#\s*$")
_PLACEMENTS = ("out-of-place", "in-place")
_TIMES = ("time", "cputime")
CPU_TIME = (
    "its times are those of the processor that starts operations (option -C 1), not of operations: left out; "
    "rates are as printed"
)
TIMED_BY = "column"
"""Setting that separates tables of `time` from those of `cputime`."""
BY_CPU_TIME = (
    "its rates are size over the times of the processor (option -C 1): they say how fast operations are "
    "started, not what the network carries"
)
_JUDGED_GB_PER_S = 1.0
"""Least printed rate from which its formula can be identified: smaller ones have too few digits."""
_SAME = 0.02
"""Fraction by which a rate may differ from size over a time that is printed with few digits."""


def is_output(document: Document) -> bool:
    """Return whether a text has the head of a table of nccl-tests."""
    return any(_HEADER.match(line.text) for line in document.lines)


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every table of a file.

    Raises:
        MeasuredError: A row is malformed, or its bandwidths do not follow from the rest of it; or benchmark
            or ranks are missing and more than one fit.
    """
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    warnings: list[str] = []
    heads = [index for index, line in enumerate(document.lines) if _HEADER.match(line.text)]
    header, index, last = Header(), 0, 0
    for head, following in pairwise([*heads, len(document.lines)]):
        for line in document.lines[index:head]:
            header.take(line.text)
        header.heads += 1
        line = document.lines[head]
        placements = _placements(document, head)
        reader = _TableReader(document, line, _columns(document, line), header.iterations, placements)
        lines, index = table_lines(document, head + 1, _UNITS)
        if failed := failure(document, index):
            warnings += failed
            # The row that was being printed at the failure is no result.
            lines = lines[:-1] if lines and reader.is_cut(lines[-1]) else lines
        lines = whole_rows(document, lines, warnings)
        for each in lines:
            reader.take(each)
        if reader.rows:
            own = commands[bisect_right(commands, last, key=lambda each: each[0]) :]
            identity = _table_identity(reader, header, own, commands)
            algorithms = choices(document.lines[head:following])
            tables.append(_table(reader, header, identity, user_facts, warnings, algorithms))
            is_end = not any(each.text.strip() for each in document.lines[index:])
            warnings += _missing(reader, header, is_end=is_end)
            document.require_rows([table.rows for table in tables])
            header.is_read, last = True, line.number
        else:
            warnings.append(f"{document.name}:{line.number}: the head of a table without rows")
    return tables, warnings


def is_by_cpu_time(rows: Sequence[Row]) -> bool:
    """Return whether all rates of a table are size over `cputime`, so that none is of the operation.

    nccl-tests computes rates from the time of the operation also with `-C 1`; other builds and edited outputs
    may not.
    """
    rates = [
        (row.gb_per_s, row.size_bytes / float(row.values["cputime"]) / 1e3)
        for row in rows
        if "cputime" in row.values and float(row.values["cputime"]) > 0
        if row.gb_per_s is not None and row.gb_per_s >= _JUDGED_GB_PER_S
    ]
    return bool(rates) and all(abs(printed - expected) <= _SAME * expected for printed, expected in rates)


def _columns(document: Document, line: Line) -> list[str]:
    """Return the columns of a head: those of the operation, then those of a placement twice.

    Raises:
        MeasuredError: The head has other columns.
    """
    columns = line.text.strip().removeprefix("#").split()
    measured = [name for name in columns[3:] if name not in ("redop", "root", "timestamp")]
    half = len(measured) // 2
    if measured.count("algbw") == 1:  # of one placement, as rccl-tests prints with `-O 0`
        measured, half = [*measured, *measured], len(measured)
    is_whole = {"algbw", "busbw"} <= set(measured) and len(set(measured)) == half
    if measured[:half] != measured[half:] or measured[:1] not in (["time"], ["cputime"]) or not is_whole:
        expected = "columns size, count, type and then time, algbw, busbw and #wrong, once or twice"
        raise document.error(line.number, shown(line.text), expected, ROW_HINT)
    return columns


def _placements(document: Document, head: int) -> Sequence[str]:
    """Return the placements of a table: both, or the only one, which the line above the head names.

    Raises:
        MeasuredError: The table has one placement and no line names it.
    """
    line = document.lines[head]
    if line.text.split().count("algbw") > 1:
        return _PLACEMENTS
    above = document.lines[head - 1].text if head else ""
    named_placements = [placement for placement in _PLACEMENTS if re.search(rf"\b{placement}\b", above)]
    if len(named_placements) == 1:
        return named_placements
    expected = "a line above that says in-place or out-of-place"
    raise document.error(
        line.number, f"columns of one placement, {shown(line.text.strip())}", expected, ROW_HINT
    )


@dataclass
class _TableReader:
    """Rows of a table, with the printed numbers and the collective's fields of each for `identify`."""

    document: Document
    head: Line
    columns: Sequence[str]
    iterations: int | None
    placements: Sequence[str] = _PLACEMENTS
    rows: list[Row] = field(default_factory=list)
    prints: list[Print] = field(default_factory=list)
    leads: list[Lead] = field(default_factory=list)

    def take(self, line: Line) -> None:
        """Read a row.

        Raises:
            MeasuredError: It is malformed.
        """
        columns, cells = self._cells(line)
        start = next(index for index, name in enumerate(columns) if name in _TIMES)
        common = dict(zip(columns[:start], cells[:start], strict=True))
        size = self.document.integer(line.number, "size", common.pop("size"))
        count = self.document.integer(line.number, "count", common["count"])
        measured = list(zip(columns[start:], cells[start:], strict=True))
        half = len(measured) // len(self.placements)
        parts = [dict(measured[:half]), dict(measured[half:])][: len(self.placements)]
        for part, placement in zip(parts, self.placements, strict=True):
            if set(part.values()) == {"N/A"}:
                continue  # not measured
            self.rows.append(self._result(line.number, size, part, common, placement))
            self.prints.append(_print(line.number, size, part, placement))
        redop = common.get("redop", "" if "redop" in self.columns else None)
        parts_of = dict(zip(self.placements, parts, strict=True))
        checked = [
            parts_of.get(name_of_placement, {}).get(
                "#wrong", parts_of.get(name_of_placement, {}).get("error", "N/A")
            )
            != "N/A"
            for name_of_placement in _PLACEMENTS
        ]
        self.leads.append(
            Lead(
                line.number, size, count, common["type"], redop, common.get("root"), (checked[0], checked[1])
            )
        )

    def is_cut(self, line: Line) -> bool:
        """Return whether a row has fewer cells than there are columns."""
        return len(line.text.split()) < len(self.columns) - 1

    def _cells(self, line: Line) -> tuple[list[str], list[str]]:
        """Return the columns that a row has, and its cells."""
        columns = [name for name in self.columns if name != "timestamp"]
        texts = line.text.split()
        if "timestamp" in self.columns and len(texts) == len(columns) + 2:
            texts = texts[:-2]  # a date and a time
        if len(texts) == len(columns) - 1 and "redop" in columns:
            columns.remove("redop")  # until 2.12 it is empty where nothing is reduced
        return columns, self.document.cells(Line(line.number, " ".join(texts)), columns)

    def _result(
        self, line: int, size: int, part: Mapping[str, str], common: Mapping[str, str], placement: str
    ) -> Row:
        values: dict[str, Value] = dict(common)
        values |= {
            name: self.document.number(line, name, cell)
            for name, cell in part.items()
            if name not in ("#wrong", "error", "time")
        }
        check = next((name for name in ("#wrong", "error") if name in part), "")
        time_us = self.document.number(line, "time", part["time"]) if "time" in part else None
        low, high = (values.pop(name, None) for name in ("i_min", "i_max"))
        return Row(
            line,
            size,
            time_us=time_us,
            time_us_min=None if low is None else float(low),
            time_us_max=None if high is None else float(high),
            # `cputime` is the busy time of the processor; the rate of the operation is algbw.
            gb_per_s=float(values["algbw"]) if time_us is None else None,
            placement=placement,
            iterations=self.iterations,
            wrong=_wrong(self.document, line, check, part[check]) if check else None,
            values=values,
        )


def _print(line: int, size: int, part: Mapping[str, str], placement: str) -> Print:
    """Return the numbers of a result with their digits; `_result` has checked that they are numbers."""
    time = Interval.printed(part["time"]) if "time" in part else None
    algbw, busbw = Interval.printed(part["algbw"]), Interval.printed(part["busbw"])
    return Print(line, placement, size, time, algbw, busbw, (part["algbw"], part["busbw"]))


def _wrong(document: Document, line: int, column: str, cell: str) -> int | None:
    """Return the number of wrong values; none for `error` of older versions, the largest deviation."""
    if cell == "N/A":
        return None
    value = document.number(line, column, cell)
    return round(value) if column == "#wrong" else None


def _missing(table: _TableReader, header: Header, *, is_end: bool) -> Iterator[str]:
    """Yield warnings if the run was to measure more sizes, and if the times are those of the processor.

    Args:
        table: The table.
        header: The lines before it.
        is_end: Whether the file ends with it, without the lines that end a run.
    """
    position, size = f"{table.document.name}:{table.head.number}", table.rows[-1].size_bytes
    if is_end and header.sizes and header.sizes.has_more(size):
        yield f"{position}: the table ends at {size:,} bytes; the run was to go up to {header.sizes.most:,}"
    if "cputime" in table.columns:
        yield f"{position}: {CPU_TIME}"
        if is_by_cpu_time(table.rows):
            yield f"{position}: {BY_CPU_TIME}"


def _table_identity(
    table: _TableReader,
    header: Header,
    table_commands: Sequence[tuple[int, str]],
    commands: Sequence[tuple[int, str]],
) -> tuple[OutputFacts, str]:
    """Return benchmark and ranks of a table in the output, and the command line that started the run.

    Args:
        table: The table.
        header: The lines before it.
        table_commands: The command lines since the table before.
        commands: All command lines of the file.

    Raises:
        MeasuredError: Several unconnected processes printed the table.
    """
    line = table.head
    if header.has_several_processes(table.leads):
        several = 'several processes with a "Rank 0" each'
        raise table.document.error(line.number, several, "one list of all ranks", MPI_HINT)
    program = header.benchmark
    of_program = (
        command_before(table_commands, line.number, program)
        if program
        else command_before(table_commands, line.number)
    )
    before = command_before(commands, line.number, program) if program else ""
    benchmark = program or _program(of_program)
    earlier = "" if benchmark else header.earlier or _program(command_before(commands, line.number))
    processes = launched_processes(of_program or before, PROGRAM)
    launched = processes * header.each if processes and processes * header.each > 1 else None
    listed = rank_count([(rank, group) for rank, group, _, _ in header.devices])
    groups = len({group for _, group, _, _ in header.devices}) or 1
    return OutputFacts(line.number, benchmark, earlier, listed, launched, groups), of_program or before


def _program(command: str) -> str:
    match = re.search(rf"({PROGRAM})(?:\s|$)", command)
    return match[1] if match else ""


def _table(
    reader: _TableReader,
    header: Header,
    identity: tuple[OutputFacts, str],
    user_facts: UserFacts,
    warnings: list[str],
    algorithms: Choices,
) -> Table:
    stated, command = identity
    evidence = Evidence(reader.prints, reader.leads)
    benchmark, ranks = identify(reader.document, evidence, stated, user_facts, warnings)
    hosts = list(dict.fromkeys(host for _, _, host, _ in header.devices))
    facts = machine_facts(hosts, [gpu for _, _, _, gpu in header.devices], header.library)
    name = benchmark.removesuffix("_mpi")
    rows = _with_fine_times(reader, name, ranks, warnings)
    return Table(
        name,
        collective_of(name),
        ranks,
        "data",
        reader.head.number,
        [_with_choice(row, algorithms, plain_name(name)) for row in of_whole(rows, name, ranks)],
        header.version,
        command,
        facts,
        settings=_settings(header, hosts) | {TIMED_BY: "cputime" if "cputime" in reader.columns else "time"},
    )


def _with_fine_times(reader: _TableReader, benchmark: str, ranks: int, warnings: list[str]) -> Sequence[Row]:
    """Return the results, with time computed from algbw where the printed time has too few digits."""
    kind = KINDS.get(plain_name(benchmark))
    rows: list[Row] = []
    for row, printed in zip(reader.rows, reader.prints, strict=True):
        fine = printed.fine_time_us(kind, ranks) if kind else None
        if fine is not None:
            warnings.append(
                f"{reader.document.name}:{row.line}: {row.placement}: the time {row.time_us:g} us has few "
                f"digits; here it is size over algbw, {fine:.6g} us"
            )
        rows.append(row if fine is None else replace(row, time_us=fine))
    return rows


def of_whole(rows: Sequence[Row], benchmark: str, ranks: int) -> Sequence[Row]:
    """Return results whose rate, if they have no time, is that of the whole size: hypercube prints less."""
    kind = KINDS.get(plain_name(benchmark))
    if kind is None or kind.algorithm_factor == "1":
        return rows
    part = factor_of(kind.algorithm_factor, ranks)
    return [row if row.gb_per_s is None else replace(row, gb_per_s=row.gb_per_s / part) for row in rows]


def _settings(header: Header, hosts: Sequence[str]) -> dict[str, str]:
    """Return options, hosts and devices of a run: all hosts and devices, where facts have the first ones."""
    lists = {"host": ", ".join(hosts), "device": ", ".join(header.slots)}
    return header.settings | {name: text for name, text in lists.items() if text}


def _with_choice(row: Row, algorithms: Choices, benchmark: str) -> Row:
    """Return a result with the algorithm and protocol that NCCL logged for its size."""
    choice = chosen_for(algorithms, benchmark, row.size_bytes)
    return replace(row, values={**row.values, **choice}) if choice else row


def collective_of(benchmark: str) -> str:
    """Return the collective of a benchmark, or the benchmark's own name where no plan has it."""
    name = plain_name(benchmark)
    return COLLECTIVES.get(name, name.replace("_", "-"))
