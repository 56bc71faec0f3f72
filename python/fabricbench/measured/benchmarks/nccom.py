"""Parser of nccom-test, the benchmark of collectives on AWS Trainium and Inferentia: table and JSON report.

`is_output` and `read` are for the table, `is_report` and `read_report` for the report. Sizes are data sizes,
times microseconds, and bandwidths those of nccl-tests. GB/s are 1e9 bytes/s, or 2^30 in tables of older
versions, determined by time and size. Operation and ranks are those of the command line (`nccom-test -r 64
allr`), which the report (`--report-to-json-file`) lacks; bandwidths must follow from them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import (
    RANKS_HINT,
    ROW_HINT,
    Document,
    command_before,
    command_lines,
    shown,
    whole_rows,
)
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.json_fields import HINT, Fields
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.model import Row, Table, UserFacts, Value
from fabricbench.measured.nccl_tests.bandwidth_check import KINDS, Kind, bandwidths, factor_of
from fabricbench.measured.nccl_tests.output import collective_of

NAME: Final = "nccom-test"
_PROGRAM: Final = "nccom-test"
_HEAD: Final = re.compile(
    r"\s*size\(B\)\s+count\(elems\)\s+(?:\S+\s+){0,8}?type\s+(?:\S+\s+){0,8}?time(?::\w+)?\(us\)"
    r".*\balgbw\(GB/s\)\s+busbw\(GB/s\).*"
)
"""With `--show-input-output-size` two sizes are before the type."""
_KINDS: Final = {
    **dict.fromkeys(("allr", "allreduce", "all_reduce", "all-reduce"), "all_reduce"),
    **dict.fromkeys(("allg", "allgather", "all_gather", "all-gather"), "all_gather"),
    **dict.fromkeys(("redsct", "reducescatter", "reduce_scatter", "reduce-scatter"), "reduce_scatter"),
    **dict.fromkeys(("sendrecv", "send_recv"), "sendrecv"),
    **dict.fromkeys(("alltoall", "all-to-all", "a2a"), "alltoall"),
    **dict.fromkeys(("bcast", "broadcast"), "broadcast"),
}
"""Names of nccl-tests for the operations of nccom-test."""
_RANKS: Final = ("-r", "--nworkers", "--nranks")
_BENCHMARK_HINT: Final = "say it: --benchmark allr (allg, redsct, sendrecv, alltoall, bcast)"
_TIME: Final = re.compile(r"time(?::(\w+))?\(us\)")
_BANDWIDTHS: Final = ("algbw(GB/s)", "busbw(GB/s)")
_FACTOR_HINT: Final = f"operation or ranks are others (--benchmark, --ranks), or {ROW_HINT}"
_ROUNDED: Final = 1e-6
_GIB: Final = 2**30 / 1e9
_FAILED: Final = re.compile(
    r"\d+\s+(?:\d+\s+)?((?:Fail(?:ure|ed)|Error|Time(?:d )?out|Out of memory|OOM)\b.*)", re.IGNORECASE
)
"""Message of a size that could not be measured, instead of its row."""
_FOOT: Final = re.compile(r"\d+ (?:errors?|failures?|tests?)\b.*", re.IGNORECASE)
"""A line that counts errors below the rows: `1 errors found - test failed`."""
_AGREES: Final = 0.02
"""Fraction by which a bandwidth may differ from size over time: times are rounded."""


@dataclass(frozen=True)
class _Run:
    """Operation, by the name of nccl-tests, and ranks of a command line."""

    kind: Kind
    ranks: int
    command: str


def is_output(document: Document) -> bool:
    """Return whether a text has a table of nccom-test."""
    return any(_HEAD.fullmatch(line.text) for line in document.lines)


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every table of a file.

    Raises:
        MeasuredError: A row is malformed, its bandwidths do not follow from size, time and ranks, or
            operation or ranks are missing.
    """
    commands = command_lines(document.lines, _PROGRAM)
    tables: list[Table] = []
    warnings: list[str] = []
    for index, line in enumerate(document.lines):
        if not _HEAD.fullmatch(line.text):
            continue
        columns = line.text.split()
        lines, foot = _lines(document.lines[index + 1 :])
        if foot is not None:
            message = shown(foot.text.strip())
            warnings.append(f"{document.name}:{foot.number}: the run failed: {message}")
        if not lines:
            warnings.append(f"{document.name}:{line.number}: the head of a table without rows")
            continue
        if missing := [name for name in ("size(B)", "type", *_BANDWIDTHS) if name not in columns]:
            raise document.error(
                line.number, f"a head without {missing[0]}", "the head of nccom-test", ROW_HINT
            )
        run = _run(document, line.number, command_before(commands, line.number), user_facts)
        cells = list(_cells(document, lines, columns, warnings))
        if cells:
            tables.append(_table(document, line.number, cells, run, warnings))
    return tables, warnings


def is_report(content: Any) -> bool:
    """Return whether a JSON document is a report of nccom-test."""
    rows = content.get("results") if isinstance(content, dict) else None
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, dict) and {"size(B)", *_BANDWIDTHS} <= first.keys()


def read_report(document: Document, content: Any, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read a report, with operation and ranks given by the user.

    Raises:
        MeasuredError: The user gives none, or a result lacks a field or does not follow from them.
    """
    warnings: list[str] = []
    run = _run(document, 1, "", user_facts)
    cells: list[tuple[int, Mapping[str, str]]] = []
    for position, result in enumerate(content["results"], 1):
        fields = Fields(document, result, f"results[{position - 1}]")
        if missing := [name for name in ("size(B)", "type", *_BANDWIDTHS) if name not in fields.value]:
            raise document.error(1, f"results[{position - 1}] without {missing[0]}", "a result", HINT)
        cells.append((1, {name: str(value) for name, value in fields.scalars().items()}))
    return [_table(document, 1, cells, run, warnings)], warnings


def _table(
    document: Document,
    line: int,
    cells: Sequence[tuple[int, Mapping[str, str]]],
    run: _Run,
    warnings: list[str],
) -> Table:
    """Return a table whose bandwidths are all of 1e9 bytes/s, or all of 2^30."""
    results = [_Result.of(document, number, result) for number, result in cells]
    unit = next((unit for unit in (1.0, _GIB) if all(result.has(run, unit) for result in results)), None)
    if unit is None:
        raise next(result.misfit(document, run) for result in results if not result.has(run, 1.0))
    if unit != 1.0:
        warnings.append(f"{document.name}:{line}: its GB/s are of 2^30 bytes, by size and time; here of 1e9")
    name = collective_of(run.kind.name)
    rows = [result.row(unit) for result in results]
    return Table(f"nccom-{name}", name, run.ranks, "data", line, rows, command=run.command)


def _cells(
    document: Document, lines: Sequence[Line], columns: Sequence[str], warnings: list[str]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the cells of each row; a size that could not be measured becomes a warning."""
    for line in whole_rows(document, list(lines), warnings):
        text = line.text.strip()
        if failed := _FAILED.fullmatch(text):
            size = text.split()[0]
            warnings.append(f"{document.name}:{line.number}: {size} bytes failed: {shown(failed[1])}")
        else:
            yield line.number, dict(zip(columns, document.cells(line, columns), strict=True))


def _lines(lines: Sequence[Line]) -> tuple[list[Line], Line | None]:
    """Return the rows below a head, and the line that counts errors if that ends them.

    Rows are lines that begin with a number, up to one that does not.
    """
    rows: list[Line] = []
    for line in lines:
        text = line.text.strip()
        if _FOOT.fullmatch(text):
            return rows, line
        if text[:1].isdigit():
            rows.append(line)
        elif text and rows:
            break
    return rows, None


def _run(document: Document, line: int, command: str, user_facts: UserFacts) -> _Run:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    kind = next((_KINDS[word] for word in reversed(words) if word in _KINDS), None)
    kind = kind or _KINDS.get(user_facts.benchmark.removeprefix("nccom-"))
    if kind is None:
        no_command = "no command line of nccom-test that names an operation"
        hint = _BENCHMARK_HINT if user_facts.ranks else f"{_BENCHMARK_HINT}, and --ranks N"
        raise document.error(line, no_command, ", ".join(_KINDS), hint)
    ranks = _option(words) or user_facts.ranks
    if ranks is None:
        raise document.error(line, "no number of ranks", "nccom-test -r N above the table", RANKS_HINT)
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


@dataclass(frozen=True)
class _Result:
    """A row, with its bandwidths as printed text."""

    line: int
    size: int
    time_us: float
    bandwidths: tuple[str, str]
    values: Mapping[str, Value]

    @classmethod
    def of(cls, document: Document, line: int, cells: Mapping[str, str]) -> _Result:
        """Read the cells of a row.

        Raises:
            MeasuredError: One is no number, or there is no time.
        """
        size = document.integer(line, "size(B)", cells["size(B)"])
        times = {match[1] or "avg": name for name in cells if (match := _TIME.fullmatch(name))}
        if not times:
            raise document.error(line, "a result without a time", "time(us) or time:avg(us)", ROW_HINT)
        name = times.get("avg") or next(iter(times.values()))
        values: dict[str, Value] = {"type": cells["type"]}
        values |= {
            f"time {each}": document.number(line, column, cells[column])
            for each, column in times.items()
            if column != name
        }
        printed = (cells[_BANDWIDTHS[0]], cells[_BANDWIDTHS[1]])
        for column, cell in zip(_BANDWIDTHS, printed, strict=True):
            document.number(line, column, cell)
        return cls(line, size, document.number(line, name, cells[name]), printed, values)

    def has(self, run: _Run, unit: float) -> bool:
        """Return whether both bandwidths follow from size, time and ranks; a time of 0 is not checked."""
        if not self._has_factor(run):
            return False
        return not self.time_us or all(
            Interval.printed(cell).meets(Interval(value * (1 - _AGREES), value * (1 + _AGREES)))
            for cell, value in zip(self.bandwidths, self._expected(run, unit), strict=True)
        )

    def _has_factor(self, run: _Run) -> bool:
        """Return whether the bus bandwidth is algbw times the factor, within the digits of both."""
        algbw, busbw = map(Interval.printed, self.bandwidths)
        expected = algbw.times(factor_of(run.kind.factor, run.ranks))
        return busbw.meets(Interval(expected.low * (1 - _ROUNDED), expected.high * (1 + _ROUNDED)))

    def _expected(self, run: _Run, unit: float) -> list[float]:
        return [value / unit for value in bandwidths(run.kind, run.ranks, self.size, self.time_us)]

    def misfit(self, document: Document, run: _Run) -> MeasuredError:
        """Return the error about the first bandwidth that does not follow from the rest."""
        operation = f"{run.kind.name} of {self.size:,} bytes, {run.ranks:,} ranks and {self.time_us:g} us"
        if not self._has_factor(run):
            value = float(self.bandwidths[0]) * factor_of(run.kind.factor, run.ranks)
            printed = f"{shown(self.bandwidths[1])} in column {_BANDWIDTHS[1]}"
            return document.error(self.line, printed, f"{value:.6g}, as {operation} has", _FACTOR_HINT)
        column, cell, value = next(
            (name, cell, value)
            for name, cell, value in zip(_BANDWIDTHS, self.bandwidths, self._expected(run, 1.0), strict=True)
            if not Interval.printed(cell).meets(Interval(value * (1 - _AGREES), value * (1 + _AGREES)))
        )
        printed = f"{shown(cell)} in column {column}"
        return document.error(self.line, printed, f"{value:.2f}, as {operation} has", ROW_HINT)

    def row(self, unit: float) -> Row:
        """Return the result, its bandwidths as they are printed."""
        name = "" if unit == 1.0 else " [GiB/s]"
        algbw, busbw = map(float, self.bandwidths)
        printed = {f"algbw{name}": algbw, f"busbw{name}": busbw}
        return Row(self.line, self.size, time_us=self.time_us, values={**self.values, **printed})
