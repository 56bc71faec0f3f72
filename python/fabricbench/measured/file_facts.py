"""Reads a benchmark output or NCCL log for `explain FILE`: `read_facts` returns `FileFacts`.

`FileFacts` has the results, the logged facts and the warnings of a file, and no diagnosis. Its method
`rule_input` adds the hardware, the expected bandwidths and the counters, for
`fabricbench.measured.causes.ranking`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fabricbench.measured.benchmarks import perftest
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.model import Row, Table, UserFacts
from fabricbench.measured.nccl_logs import ras_report
from fabricbench.measured.nccl_logs.debug_facts import DebugFacts, debug_facts, facts_of_runs
from fabricbench.measured.nccl_logs.ras_report import RasReport
from fabricbench.measured.nccl_tests.bandwidth_check import plain_name
from fabricbench.measured.reading import read
from fabricbench.measured.rule_input import Hardware, Point, RuleInput, bus_bandwidth
from fabricbench.measured.switches.model import SwitchCounters

LOG = "nccl-debug"
"""Format of a file with NCCL's log and without a table."""
FAILED = "failed-run"
"""Format of a file with neither, but with the error message of a benchmark that failed."""
_SHARES = ("alltoall", "all_gather", "gather", "scatter")
"""Collectives whose data size is the message size times the ranks, as in a plan."""

_OF_CHOICE = ("algorithm", "protocol", "channels")
"""Values of a row that are NCCL's choice."""


@dataclass(frozen=True)
class FileFacts:
    """Content of a file: results, logged facts, warnings.

    Attributes:
        format: Its format; `nccl-debug` for a log without a table, `failed-run` for an error message only.
        tables: Its tables; empty for a log without a table.
        facts: Facts from its other lines.
        warnings: Parts that were left out, and why a table could not be read if only the log could.
        ras: NCCL's RAS report; none for other formats.
        texts: Its lines.
    """

    format: str
    tables: Sequence[Table]
    facts: DebugFacts
    warnings: Sequence[str]
    ras: RasReport | None = None
    texts: Sequence[str] = ()

    @property
    def points(self) -> list[Point]:
        """Its results."""
        return [_point(table, row) for table in self.tables for row in table.rows]

    @property
    def perftest(self) -> dict[str, str]:
        """Settings that perftest prints; empty for other formats."""
        settings: dict[str, str] = {}
        if self.format != perftest.NAME:
            return settings
        for table in self.tables:
            settings |= {name: str(value) for name, value in table.facts.items()}
        return settings | {"is": perftest.NAME}

    def rule_input(
        self,
        hardware: Hardware,
        expected: Mapping[int, tuple[float, float]],
        switches: Sequence[SwitchCounters] = (),
        uplinks: Sequence[str] = (),
    ) -> RuleInput:
        """Return the input of the rules; if runs differ, the facts are those of the judged run's log."""
        whole = RuleInput(
            self.points, self.facts, hardware, self.perftest, expected, switches, uplinks, self.ras
        )
        if whole.best is None or not whole.best.differs or not self.texts:
            return whole
        facts = facts_of_runs(self.texts, self._lines_of(whole.best), self.facts)
        return replace(whole, facts=facts)

    def _lines_of(self, best: Point) -> list[tuple[int, int]]:
        """Return first and last line of each run of a result: from after the table before to the last row."""
        ends = {table.line: 0 for table in self.tables}
        for table in self.tables:  # several of one line are parts of one table
            ends[table.line] = max(ends[table.line], *(row.line for row in table.rows))
        starts = dict(zip(ends, [1, *(end + 1 for end in ends.values())], strict=False))
        last = max(ends)
        return [
            (starts[line], len(self.texts) if line == last else ends[line])
            for line in ends
            if any(
                table.line == line and table.benchmark == best.benchmark and table.differs == best.differs
                for table in self.tables
            )
        ]


def read_facts(
    name: str, data: bytes, format_name: str | None = None, user_facts: UserFacts | None = None
) -> FileFacts:
    """Read the tables of a file, and the facts in NCCL's log and its other lines.

    Only the log is used if no table can be read.

    Raises:
        MeasuredError: It is neither a benchmark's output nor NCCL's log, or a row of it is malformed.
    """
    document = Document.decoded(name, data)
    texts = [line.text for line in document.lines]
    facts = debug_facts(texts)
    if (report := ras_report.read(document)) is not None:
        return FileFacts(ras_report.NAME, [], facts, [report.timeouts] if report.timeouts else [], report)
    try:
        reading = read(name, data, format_name, user_facts)
    except MeasuredError as error:
        has_lone_ranks = facts.first_ranks > 1 or len(facts.devices) == 1
        is_log = error.line is None and facts.lines > 0
        if not (facts.is_log or has_lone_ranks or is_log):
            raise
        position = "" if error.line is None else f", line {error.line}"
        return FileFacts(
            LOG if facts.lines else FAILED,
            [],
            facts,
            [f"{name}{position}: no table that can be read ({error.found}): what its log says is explained"],
        )
    nodes = [count for table in reading.tables if isinstance(count := table.facts.get("nodes"), int)]
    facts.nodes = facts.nodes or max(nodes, default=None)
    is_text = not document.text.lstrip().startswith("{")
    return FileFacts(reading.format, reading.tables, facts, reading.warnings, texts=texts if is_text else ())


def _point(table: Table, row: Row) -> Point:
    kind = plain_name(table.collective)
    has_shares = table.size_kind == "message" and kind in _SHARES
    size = row.size_bytes * (table.ranks if has_shares else 1)
    bus = bus_bandwidth(kind, table.ranks, size, row.time_us)
    if bus is None:
        bus = row.gb_per_s
    if bus is None and row.time_us:
        bus = row.size_bytes / row.time_us / 1e3
    return Point(
        table.benchmark,
        kind,
        table.ranks,
        size,
        row.placement,
        row.time_us,
        bus if bus and bus > 0 else None,
        row.wrong or 0,
        row.line,
        table.settings,
        table.differs,
        table.is_judged,
        {name: str(row.values[name]) for name in _OF_CHOICE if name in row.values},
    )
