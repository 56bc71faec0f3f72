"""Reader of SONiC's tables: `show interfaces counters`, `show pfc counters`, `show queue counters` and more.

`has_table` detects them, `read` reads them; `port_counter`, `queue_place` and `cleared_at` also serve SONiC's
JSON. The tables are those of sonic-utilities, `doc/Command-Reference.md`: `utilities_common/portstat.py`,
`scripts/pfcstat`, `queuestat`, `wredstat`, `watermarkstat`, `pg-drop` and `pfcwd/main.py`. All are in the
format `simple` of `tabulate`: a rule of hyphens below the head marks the columns, and numbers are aligned
right. A column with the value of one counter of SAI gets the name of this counter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fabricbench.measured.file_text.document import Document, shown
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.switches.model import HINT, Reading, definition

_RULE: Final = re.compile(r" *-{2,}(?: +-{2,})* *")
_PROMPT: Final = re.compile(r"(?:\(\S+\)\s*)?[\w.-]+@([\w.-]{1,63}):[^#$]{0,200}[#$](?: .*)?")
_SINCE: Final = re.compile(
    r"(?:\S+ )?Last cached time(?: for \S+)? was (.+)|The rates are calculated within (.+)"
)
_TITLES_BETWEEN: Final = re.compile(r"For namespace|Reminder:|.+:(?: \(Namespace \S+\))?$|Warning:")
_BARE_PROMPT: Final = re.compile(r"[$#>%]\s+\S")
_COMMAND: Final = re.compile(r"(?:^|[#$>] |\s)(?:show\s|watermarkstat\b)")
_PERSISTENT: Final = re.compile(r"\bpersistent-watermark\b|\bwatermarkstat\b.*\s-p\b")
"""Commands with the same titles, whose watermarks are cleared separately."""
_INDEX: Final = re.compile(r"(PG|UC|MC|ALL|VOQ)(\d{1,5})")
_BY_NUMBER: Final = ("UC", "ALL")
_WITHIN: Final = re.compile(r"\S (?!N/A\b)[A-Za-z%]")
"""A blank within a cell, as of `1.2 MB/s`."""
_NAMESPACE: Final = re.compile(r"\(Namespace (\S{1,40})\)|For namespace\s*([\w-]{0,40})\s*:?$")
"""Line that names one of several chips, such as `asic0`."""

_FIRST_COLUMNS: Final = ("IFACE", "Port Rx", "Port Tx", "Port", "Pool", "QUEUE")
_PORT: Final = {
    "RX_ERR": "SAI_PORT_STAT_IF_IN_ERRORS",
    "RX_DRP": "SAI_PORT_STAT_IF_IN_DISCARDS",
    "RX_OVR": "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS",
    "TX_ERR": "SAI_PORT_STAT_IF_OUT_ERRORS",
    "TX_DRP": "SAI_PORT_STAT_IF_OUT_DISCARDS",
    "TX_OVR": "SAI_PORT_STAT_ETHER_TX_OVERSIZE_PKTS",
    "FEC_CORR": "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES",
    "FEC_UNCORR": "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
    "FEC_SYMBOL_ERR": "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS",
    "TRIM": "SAI_PORT_STAT_TRIM_PACKETS",
    "TRIM_TX": "SAI_PORT_STAT_TX_TRIM_PACKETS",
    "TRIM_DRP": "SAI_PORT_STAT_DROPPED_TRIM_PACKETS",
}
_QUEUE: Final = {
    "Counter/pkts": "SAI_QUEUE_STAT_PACKETS",
    "Counter/bytes": "SAI_QUEUE_STAT_BYTES",
    "Drop/pkts": "SAI_QUEUE_STAT_DROPPED_PACKETS",
    "Drop/bytes": "SAI_QUEUE_STAT_DROPPED_BYTES",
    "Trim/pkts": "SAI_QUEUE_STAT_TRIM_PACKETS",
    "Credit-WD-Del/pkts": "SAI_QUEUE_STAT_CREDIT_WD_DELETED_PACKETS",
    "WredDrp/pkts": "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS",
    "WredDrp/bytes": "SAI_QUEUE_STAT_WRED_DROPPED_BYTES",
    "EcnMarked/pkts": "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
    "EcnMarked/bytes": "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES",
}
_GROUP: Final = "SAI_INGRESS_PRIORITY_GROUP_STAT"
_POOL: Final = "SAI_BUFFER_POOL_STAT"
_TITLES: Final = {
    "Ingress headroom per PG": (
        "show priority-group watermark headroom",
        f"{_GROUP}_XOFF_ROOM_WATERMARK_BYTES",
    ),
    "Ingress shared pool occupancy per PG": (
        "show priority-group watermark shared",
        f"{_GROUP}_SHARED_WATERMARK_BYTES",
    ),
    "Ingress PG dropped packets": ("show priority-group drop counters", f"{_GROUP}_DROPPED_PACKETS"),
    "Egress shared pool occupancy per": ("show queue watermark", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"),
    "Shared pool maximum occupancy": ("show buffer_pool watermark", f"{_POOL}_WATERMARK_BYTES"),
    "Headroom pool maximum occupancy": ("show headroom-pool watermark", f"{_POOL}_XOFF_ROOM_WATERMARK_BYTES"),
}
_WATERMARK_ENDS: Final = ("watermark", "watermark headroom", "watermark shared")
_WATCHDOG: Final = {
    "STORM DETECTED/RESTORED": ("DEADLOCK_DETECTED", "DEADLOCK_RESTORED"),
    "TX OK/DROP": ("TX_PACKETS", "TX_DROPPED_PACKETS"),
    "RX OK/DROP": ("RX_PACKETS", "RX_DROPPED_PACKETS"),
    "TX LAST OK/DROP": ("TX_PACKETS_LAST", "TX_DROPPED_PACKETS_LAST"),
    "RX LAST OK/DROP": ("RX_PACKETS_LAST", "RX_DROPPED_PACKETS_LAST"),
}
_HISTORY: Final = {
    "RX Pause Transitions": "TOTAL_PAUSE_TRANSITIONS",
    "Total RX Pause Time MS": "TOTAL_PAUSE_TIME_MS",
}

_RowCounters = Iterator[tuple[str, str, str]]
"""Port or queue, name and cell of each counter of a row."""


def port_counter(column: str) -> str:
    """Return the vendor's name of a column of `portstat`; the column itself if it is no single counter."""
    name = _PORT.get(column.removesuffix("_PKTS"), column)
    return name.upper() if definition("sonic", name.upper()) else name


def queue_place(port: str, queue: str) -> str:
    """Return the name of a queue or priority group: `Ethernet0:3`, `Ethernet0:MC3`, `Ethernet0:PG3`.

    Queues of unicast and those of all kinds have only their number, as in COUNTERS_DB.
    """
    match = _INDEX.fullmatch(queue)
    return f"{port}:{match[2] if match and match[1] in _BY_NUMBER else queue}"


@dataclass
class _Chip:
    """The chip of the next tables.

    A line `For namespace asic0:` applies to all tables with the same head as the first one below it, up to
    the next such line or command.

    Attributes:
        name: Prefix of the names of its objects, such as `asic0:`; empty for a switch with one chip.
        head: The first two columns of its tables.
    """

    name: str = ""
    head: tuple[str, ...] = ()

    def next(self, name: str | None, head: tuple[str, ...]) -> None:
        """Set the name above a table, if there is one, and the table's head."""
        if name is not None or head != self.head:
            self.name, self.head = name or "", head


@dataclass(frozen=True)
class _Form:
    """A known table: the command that prints it, and its reader of a row."""

    command: str
    read_row: Callable[[Sequence[str]], _RowCounters]


def _form(title: str, head: Sequence[str]) -> _Form | None:
    """Return the form of a table; none if it is unknown."""
    first, second = head[0], head[1] if len(head) > 1 else ""
    if first.upper() == "IFACE":
        return _Form("show interfaces counters", lambda cells: _ports(head, cells))
    if first in ("Port Rx", "Port Tx"):
        return _Form("show pfc counters", lambda cells: _pauses(head, cells))
    if first == "Port" and second in ("TxQ", "Voq"):
        command = "show queue wredcounters" if "EcnMarked/pkts" in head else "show queue counters"
        return _Form(command, lambda cells: _queues(head, cells))
    if first == "Port" and second == "Priority":
        return _Form("show pfc counters --history", lambda cells: _history(head, cells))
    if first == "QUEUE" and second == "STATUS":
        return _Form("show pfcwd stats", lambda cells: _watchdog(head, cells))
    title_form = next((_TITLES[beginning] for beginning in _TITLES if title.startswith(beginning)), None)
    if title_form is not None and first in ("Port", "Pool"):
        return _Form(title_form[0], lambda cells: _watermarks(title_form[1], head, cells))
    return None


def _ports(head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    for column, cell in zip(head[1:], cells[1:], strict=True):
        yield cells[0], port_counter(column), cell


def _pauses(head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    direction = head[0].split()[1].upper()
    for column, cell in zip(head[1:], cells[1:], strict=True):
        yield cells[0], f"SAI_PORT_STAT_PFC_{column.removeprefix('PFC')}_{direction}_PKTS", cell


def _queues(head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    for column, cell in zip(head[2:], cells[2:], strict=True):
        yield queue_place(cells[0], cells[1]), _QUEUE.get(column, column), cell


def _history(head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    for column, cell in zip(head[2:], cells[2:], strict=True):
        if column in _HISTORY:
            yield cells[0], f"{_HISTORY[column]}_{cells[1].removeprefix('PFC')}", cell


def _watchdog(head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    for column, cell in zip(head[2:], cells[2:], strict=True):
        for name, part in zip(_WATCHDOG.get(column, ()), cell.split("/"), strict=False):
            yield cells[0], f"PFC_WD_QUEUE_STATS_{name}", part


def _watermarks(name: str, head: Sequence[str], cells: Sequence[str]) -> _RowCounters:
    for column, cell in zip(head[1:], cells[1:], strict=True):
        yield cells[0] if head[0] == "Pool" else queue_place(cells[0], column), name, cell


def cleared_at(text: str) -> str:
    """Return the time at which counters were cleared by a line; empty if it has none."""
    match = _SINCE.fullmatch(text.strip())
    return (match[1] or match[2]).strip() if match else ""


def has_table(document: Document) -> bool:
    """Return whether a text has a table in the format of `tabulate`."""
    return any(_RULE.fullmatch(line.text) for line in document.lines)


def read(document: Document) -> Reading:
    """Read every known table.

    Raises:
        MeasuredError: A row is cut off or malformed, a cell is no number, or there are several switches.
    """
    reading, index, kind, chip = Reading(document, "sonic"), 0, "", _Chip()
    lines = [line for line in document.lines if line.text.strip()]
    while index < len(lines):
        if prompt := _PROMPT.fullmatch(lines[index].text.strip()):
            reading.at(prompt[1], lines[index].number)
            chip = _Chip()
        if _COMMAND.search(lines[index].text) and not _is_head(lines, index):
            kind = "persistent:" if _PERSISTENT.search(lines[index].text) else ""
            chip = _Chip()
        index = _table(reading, lines, index, kind, chip) if _is_head(lines, index) else index + 1
    return reading


def _is_head(lines: Sequence[Line], index: int) -> bool:
    return index + 1 < len(lines) and bool(_RULE.fullmatch(lines[index + 1].text))


def _table(reading: Reading, lines: Sequence[Line], index: int, kind: str, chip: _Chip) -> int:
    """Read the table whose head is at an index of the lines that are not empty; return the index after it.

    Args:
        reading: Receives its counters.
        lines: The lines.
        index: Index of its head.
        kind: Prefix of the names of its objects in a table of watermarks.
        chip: The chip of the table before, by the same command.
    """
    document = reading.document
    columns = [match.span() for match in re.finditer("-+", lines[index + 1].text)]
    head = _cells(lines[index].text, columns) or []
    if not head or not all(head):
        text = lines[index].text.strip()
        if re.split("  +", text)[0] not in _FIRST_COLUMNS:
            if len(columns) > 1:  # else a line of hyphens below a line of text
                message = f"line {lines[index].number}: no head that fits the rule below it, {shown(text)}"
                reading.notes.append(f"{message}: left out; a terminal that is too narrow wraps lines")
            return index + 2
        head_text = f"a head that does not fit the rule below it: {shown(text)}"
        raise document.error(lines[index].number, head_text, "a head and a rule for each column", HINT)
    title, since = _title_and_clearing(lines, index)
    form = _form(title, head)
    is_watermark = form is not None and form.command.partition("--")[0].rstrip().endswith(_WATERMARK_ENDS)
    chip.next(_namespace(lines, index), tuple(head[:2]))
    namespace = f"{kind if is_watermark else ''}{chip.name}"
    number = lines[index].number
    rows, index = _rows(document, lines, index, columns, is_known=form is not None)
    if form is None:
        message = shown(", ".join(head))
        reading.notes.append(f"line {number}: no table that is known, {message}: left out")
        return index
    reading.read_as(form.command)
    for line, cells in rows:
        for object_name, name, cell in form.read_row(cells):
            reading.add(f"{namespace}{object_name}", name, cell, line.number, since)
    return index


def _namespace(lines: Sequence[Line], index: int) -> str | None:
    """Return the namespace in the lines above a head, as a prefix of names; none without one."""
    for line in reversed(lines[max(0, index - 3) : index]):
        if _RULE.fullmatch(line.text):
            break
        if match := _NAMESPACE.search(line.text.strip()):
            name = match[1] or match[2]
            return f"{name}:" if name else ""
    return None


def _title_and_clearing(lines: Sequence[Line], index: int) -> tuple[str, str]:
    """Return the title above a head, and the time there at which the counters were cleared."""
    since = ""
    for line in reversed(lines[max(0, index - 2) : index]):
        text = line.text.strip()
        since = cleared_at(text) or since
        if not cleared_at(text):
            return text, since
    return "", since


def _rows(
    document: Document,
    lines: Sequence[Line],
    index: int,
    columns: Sequence[tuple[int, int]],
    *,
    is_known: bool,
) -> tuple[list[tuple[Line, list[str]]], int]:
    """Return the rows below a head, and the index of the line after them."""
    spacing = lines[index + 1].number - lines[index].number
    rows: list[tuple[Line, list[str]]] = []
    for next_index in range(index + 2, len(lines)):
        line, text = lines[next_index], lines[next_index].text.strip()
        is_prompt = _BARE_PROMPT.match(text) or _PROMPT.fullmatch(text)
        if is_prompt or _is_head(lines, next_index) or cleared_at(text):
            return rows, next_index
        is_last = line is document.lines[-1]  # without a line feed, as of a file that is cut off
        cells = _cells(line.text, columns)
        if (cells is None or not all(cells)) and not is_last:
            cells = _words(line.text, columns) or cells
        is_cut = is_last and len(line.text.rstrip()) < columns[-1][1]
        if cells and cells[0] and cells[-1] and not is_cut:
            rows.append((line, cells))
            continue
        is_row = bool(cells and cells[0] and is_last)
        is_after_gap = line.number - lines[next_index - 1].number > spacing
        if not is_known or _TITLES_BETWEEN.match(text) or (is_after_gap and not is_row):
            return rows, next_index
        row_text = f"{shown(text)} in a table of {len(columns)} columns"
        raise document.error(line.number, row_text, "a cell in each column", HINT)
    return rows, len(lines)


def _cells(text: str, columns: Sequence[tuple[int, int]]) -> list[str] | None:
    """Cut a line at the columns; none if there is text between two of them."""
    edges = [0, *(edge for span in columns for edge in span), len(text)]
    if any(
        text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end
    ):
        return None
    return [text[start:end].strip() for start, end in columns]


def _words(text: str, columns: Sequence[tuple[int, int]]) -> list[str] | None:
    """Cut a row with cells wider than their columns at its blanks; none if a word may be of another column.

    Two blanks separate cells. If a wide cell leaves only one, the row must have as many words as columns, no
    unit within a cell, and each word below the rule of its own column or the blanks next to it.
    """
    cells = re.split(" {2,}", text.strip())
    if len(cells) == len(columns):
        return cells
    words = list(re.finditer(r"\S+", text))
    if len(words) != len(columns) or _WITHIN.search(text.strip()):
        return None
    lefts = [0, *(end for _, end in columns[:-1])]
    rights = [*(start for start, _ in columns[1:]), len(text)]
    if any(
        word.end() <= left or word.start() >= right
        for word, left, right in zip(words, lefts, rights, strict=True)
    ):
        return None
    return [word[0] for word in words]
