"""Parser of the output of perftest (ib_write_bw, ib_read_lat and so on): `is_output` and `read`.

Rates are MiB/s of 2^20 bytes, also under the head MB/sec, and with `--report_gbits` Gb/s of 1e9 bits
(perftest, README and print_report_bw in src/perftest_parameters.c). Bidirectional tests print the sum of both
directions; half of it is the rate of each. Latencies of WRITE and SEND are half a round trip, those of READ
and atomics a whole one (print_report_lat). The size is that of one message between two ranks. `meanings`,
`benchmark_of` and `row_of` also serve the parser of the JSON output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fabricbench.measured.file_text.document import (
    ROW_HINT,
    Document,
    command_before,
    command_lines,
    failure,
    shown,
    table_lines,
    whole_rows,
)
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.file_text.origins import read_each
from fabricbench.measured.model import Row, Table, UserFacts, Value

NAME = "perftest"
PROGRAM = r"(?:ib|raw_ethernet)_\w+_(?:bw|lat)"
COLLECTIVE = "send-receive"
RANKS = 2
MIB_PER_S = 2**20 / 1e9
GBIT_PER_S = 1 / 8
_TITLE = re.compile(r"^\s+(\S.*\b(?:BW|Latency)\b.*Test.*?)\s*$")
_HEAD = re.compile(r"^\s*#?bytes\s+#?iterations\b")
_COLUMN = re.compile(r"#\w+|[\w%.]+(?: \w+)?\[[^\]]*\]|tps average")
_FACT = re.compile(r"([A-Za-z][^:]*?)\s*:\s+(\S+(?: \S+)*)(?:\s{2,}|\t|$)")
_ADDRESS = re.compile(r"\s*(local|remote) address: ")
_NUMBERED = re.compile(r"\b(LID|QPN|PSN) (\w{1,20})")
_GID = re.compile(r"\s*GID: ([\w:.]{2,64})")
_MEMORY = re.compile(r"\b(?:CUDA_MEM\w*|ROCM_MEM\w*|HL_MEM\w*|cuMemAlloc|hipMalloc|GPU buffer|CUDA device)\b")
_FREED = re.compile(r"\s*(?:deallocat|destroy|free)", re.IGNORECASE)
"""Beginning of lines after a test with GPU memory; they do not belong to the next test."""
_BOTH = "what is printed is the sum of both directions; here it is one, half of it"
_LATENCY = "it measures times; rates here are size over time"
_AVERAGE = "t_avg[usec]"
_MEAN, _MEDIAN = "the mean (t_avg)", "the median (t_typical)"
_CLOCK = re.compile(r"\s*Conflicting CPU frequency values detected")
_MIXED_HINT = "several tests wrote at the same time: keep each in a file of its own, or label their lines"
_DEFAULTS = {"end": "client", "memory": "host"}
"""Settings of a test without other values in its output."""
_FACT_NAMES = {
    "Device": "nic",
    "Mtu": "mtu",
    "Link type": "link type",
    "Connection type": "connection type",
    "Transport type": "transport type",
    "Number of qps": "queue pairs",
    "TX depth": "tx depth",
    "GID index": "gid index",
    "CQ Moderation": "cq moderation",
    "Dual-port": "dual port",
}
_VERBS = (
    ("rdma_write", "ib_write"),
    ("rdma_read", "ib_read"),
    ("write", "ib_write"),
    ("atomic", "ib_atomic"),
    ("raw ethernet", "raw_ethernet_send"),
    ("send", "ib_send"),
)
_MIB, _GBIT = ("[MB/sec]", "[MiB/sec]"), ("[Gb/sec]",)


@dataclass
class _Header:
    """Facts and settings from the lines before a table."""

    title: str = ""
    facts: dict[str, Value] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    side: str = "local"

    def take(self, text: str) -> None:
        """Read a line before the table; some lines are before the title of their test."""
        if title := _TITLE.match(text):
            self.title, self.facts = title[1], {}
            self.settings, self.pending = {"test": title[1], **_DEFAULTS, **self.pending}, {}
        elif _is_header(text):
            self.settings, self.pending = {**self.settings, **self.pending}, {}
        if "Waiting for client" in text:
            self.pending["end"] = "server"
        if (memory := _MEMORY.search(text)) and not _FREED.match(text):
            self.pending["memory"] = f"GPU ({memory[0]})"
        if address := _ADDRESS.match(text):
            self._take_address(address[1], text)
        elif gid := _GID.match(text):
            self.settings[f"{self.side} gid"] = gid[1]
        else:
            for name, value in _FACT.findall(text):
                fact_name = _FACT_NAMES.get(name.strip(), "")
                self.settings[fact_name or name.strip().lower()[:40]] = value[:200]
                if fact_name:
                    self.facts[fact_name] = value[:200]

    def _take_address(self, side: str, text: str) -> None:
        """Store queue pair and first PSN, which identify an end of a test, and the LID of InfiniBand."""
        self.side = side
        numbers = dict(_NUMBERED.findall(text))
        self.settings.setdefault(side, f"{numbers.get('QPN', '')} {numbers.get('PSN', '')}".strip())
        if numbers.get("LID", "0000").strip("0x"):
            self.settings[f"{side} lid"] = numbers["LID"]


def is_output(document: Document) -> bool:
    """Return whether a text has the head of a table of perftest."""
    return any(_is_header(line.text) for line in document.lines)


def _is_header(text: str) -> bool:
    return bool(_HEAD.match(text))


def _columns(text: str) -> list[str]:
    """Return the columns of a head, also of one that lost a `#`."""
    return ["#bytes", "#iterations", *_COLUMN.findall(_HEAD.sub("", text, count=1))]


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every table of a file, separately for hosts and processes that wrote at the same time.

    Raises:
        MeasuredError: A row is malformed, the benchmark is missing, or tests are mixed line by line.
    """
    tables, warnings = read_each(
        document, _TITLE, lambda part, part_warnings: _read(part, user_facts, part_warnings)
    )
    return _with_ends(document, tables, warnings), warnings


def _read(document: Document, user_facts: UserFacts, warnings: list[str]) -> list[Table]:
    commands = command_lines(document.lines, PROGRAM)
    tables: list[Table] = []
    header, index = _Header(), 0
    titles, is_mixed = 0, False
    while index < len(document.lines):
        line = document.lines[index]
        header.take(line.text)
        titles += bool(_TITLE.match(line.text))
        index += 1
        if not _is_header(line.text):
            continue
        if is_mixed and not titles:
            second_head = "a second head of a table after two titles"
            raise document.error(
                line.number, second_head, "a title, its settings and then its table", _MIXED_HINT
            )
        titles, is_mixed = 0, titles > 1
        last_command = command_before(commands, line.number)
        columns = _columns(line.text)
        benchmark = _benchmark(document, line, header.title, last_command, columns, user_facts)
        command = command_before(commands, line.number, benchmark)
        is_bidirectional = "bidirectional" in header.title.lower()
        lines, index = table_lines(document, index)
        warnings += failure(document, index)
        lines = whole_rows(document, lines, warnings)
        rows = [_row(document, each, columns, 2 if is_bidirectional else 1) for each in lines]
        if rows:
            warnings += meanings(
                f"{document.name}:{line.number}: {benchmark}", rows[0], columns, is_sum=is_bidirectional
            )
            warnings += _clocks(document, line.number, index, rows[0])
            tables.append(
                Table(
                    benchmark, COLLECTIVE, RANKS, "message", line.number, rows, "", command, header.facts,
                    settings=dict(header.settings),
                )
            )  # fmt: skip
            document.require_rows([each.rows for each in tables])
    return tables


def _clocks(document: Document, head: int, end: int, row: Row) -> list[str]:
    """Return a warning if the processor's clock varied during a test of latency: times are cycles of it."""
    lines = (line for line in document.lines[max(head - 3, 0) : end] if _CLOCK.match(line.text))
    first_line = next(lines, None)
    if first_line is None or row.gb_per_s is not None:
        return []
    message = shown(first_line.text.strip())
    return [f"{document.name}:{first_line.number}: {message}: times are cycles of that clock and may be off"]


def meanings(place: str, row: Row, columns: Iterable[str], *, is_sum: bool) -> list[str]:
    """Return a warning if rates are not the printed ones: half of a sum, or size over time."""
    if row.gb_per_s is not None:
        return [f"{place}: {_BOTH}"] if is_sum else []
    return [f"{place}: {_LATENCY}; the time is {_MEAN if _AVERAGE in columns else _MEDIAN}"]


def _with_ends(document: Document, tables: Sequence[Table], warnings: list[str]) -> list[Table]:
    """Return the tables without their queue pairs; that of the second end of a test is marked as such.

    Both ends have the same two first PSNs, which are random numbers, with local and remote exchanged.
    """
    lines: dict[tuple[str, str], int] = {}
    marked_tables: list[Table] = []
    for table in tables:
        settings = dict(table.settings)
        local, remote = (settings.pop(side, "").rpartition(" ")[2] for side in ("local", "remote"))
        if line := lines.get((remote, local)) if local and remote else None:
            settings["end"] = f"other of line {line}"
            warnings.append(
                f"{document.name}:{table.line}: the other end of the test at line {line}, not another test"
            )
        lines.setdefault((local, remote), table.line)
        marked_tables.append(replace(table, settings=settings))
    return marked_tables


def _benchmark(
    document: Document, line: Line, title: str, command: str, columns: Sequence[str], user_facts: UserFacts
) -> str:
    program = re.search(rf"({PROGRAM})(?:\s|$)", command)
    is_rate = any(name.startswith("BW average") for name in columns)
    benchmark = (
        benchmark_of(title, is_rate=is_rate) or (program[1] if program else "") or user_facts.benchmark
    )
    if not benchmark:
        expected = 'its title, such as "RDMA_Write BW Test"'
        raise document.error(
            line.number, "a table of an unknown test", expected, "say it: --benchmark ib_write_bw"
        )
    return benchmark


def benchmark_of(title: str, *, is_rate: bool) -> str:
    """Return the program that prints a title; empty if none is known."""
    lowered = title.lower()
    verb = next((name for word, name in _VERBS if lowered.startswith(word)), "")
    return f"{verb}_{'bw' if is_rate else 'lat'}" if verb else ""


def _row(document: Document, line: Line, columns: Sequence[str], directions: int) -> Row:
    cells = dict(zip(columns, document.cells(line, columns), strict=True))
    size = document.integer(line.number, "#bytes", cells.pop("#bytes"))
    iterations = document.integer(line.number, "#iterations", cells.pop("#iterations", "0"))
    numbers = {name: document.number(line.number, name, cell) for name, cell in cells.items()}
    return row_of(document, line.number, size, iterations, numbers, directions)


def row_of(
    document: Document, line: int, size: int, iterations: int, numbers: Mapping[str, float], directions: int
) -> Row:
    """Return a row from the numbers of its columns.

    Raises:
        MeasuredError: There is neither a rate nor a latency.
    """
    rate = next((name for name in numbers if name.startswith("BW average")), None)
    if rate is not None:
        per_s = _unit(document, line, rate)
        values = {name: value for name, value in numbers.items() if name != rate}
        values[rate] = numbers[rate]
        _require_message_rate(document, line, size, rate, numbers)
        return Row(
            line,
            size,
            gb_per_s=numbers[rate] * per_s / directions,
            iterations=iterations or None,
            values=values,
        )
    if "t_avg[usec]" not in numbers and "t_typical[usec]" not in numbers:
        expected = "a column BW average, t_avg[usec] or t_typical[usec]"
        raise document.error(line, f"columns {', '.join(numbers) or 'none'}", expected, ROW_HINT)
    time_columns = ("t_avg[usec]", "t_min[usec]", "t_max[usec]")
    mean, least, most = (numbers.get(name) for name in time_columns)
    return Row(
        line,
        size,
        # Until perftest 4 there was no mean; the typical latency is the median.
        time_us=numbers["t_typical[usec]"] if mean is None else mean,
        time_us_min=least,
        time_us_max=most,
        iterations=iterations or None,
        values={name: value for name, value in numbers.items() if name not in time_columns},
    )


def _require_message_rate(
    document: Document, line: int, size: int, column: str, numbers: Mapping[str, float]
) -> None:
    """Refuse a row whose bandwidth is not its messages per second times their size.

    Raises:
        MeasuredError: It is not. Raw Ethernet counts more than the message, so a quarter more is allowed.
    """
    messages = numbers.get("MsgRate[Mpps]")
    if not messages or not size:
        return
    counted = Interval.written(messages).times(1e6 * size / 1e9 / _unit(document, line, column))
    printed = Interval.written(numbers[column], 2)
    if not printed.meets(Interval(counted.low * 0.99, counted.high * 1.25)):
        printed_rate = f"{column} {numbers[column]:.2f}"
        expected_rate = (counted.low + counted.high) / 2
        expected = f"{expected_rate:.2f}, which {messages:.6f} million messages of {size} bytes make"
        raise document.error(line, printed_rate, expected, ROW_HINT)


def _unit(document: Document, line: int, column: str) -> float:
    """Return the unit of a rate [GB/s]."""
    if column.endswith(_GBIT):
        return GBIT_PER_S
    if column.endswith(_MIB):
        return MIB_PER_S
    raise document.error(line, f"column {shown(column)}", "a rate in MB/sec, MiB/sec or Gb/sec", ROW_HINT)
