"""Reader of counters of hosts: `ethtool -S`, `rdma statistic` and files of `hw_counters` below /sys.

`read` is for text, `read_json` for `rdma -j`. Names are those of a driver: a section belongs to the driver
that has most of its names. An interface is named by the command line or the line above its section, a port by
`mlx5_0/1` or its path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from fabricbench.counters import find
from fabricbench.measured.file_text.document import Document, shown
from fabricbench.measured.file_text.line import Line
from fabricbench.measured.switches.model import HINT, Reading

ETHTOOL, RDMA, FILES = "ethtool -S", "rdma statistic", "hw_counters"
"""Forms, by the command or folder that gives them."""
_SOURCES: Final = {ETHTOOL: ("ethtool",), RDMA: ("hw_counters", "rdma"), FILES: ("hw_counters", "rdma")}
_DRIVERS: Final = {"mlx5": "mlx5", "bnxt": "bnxt_re", "rxe": "rxe", "irdma": "irdma"}
"""Families by the beginning of the name of an RDMA device."""
_NO_NAME: Final = "adapter"
_PROMPT: Final = re.compile(r"\[?[\w.-]+@([\w.-]{1,63})(?:[: ][^\]#$]{0,200})?\]?\s?[#$](?: .*)?")
_COMMAND: Final = re.compile(r"\bethtool\s+(?:-S|--statistics)\s+([\w.@:-]{1,63})")
_SECTION_NAME: Final = re.compile(
    r"\W*(?:(?:interface|iface|dev|device|nic):?\s+)?([A-Za-z][\w.@-]{0,62})\W*", re.IGNORECASE
)
"""A line such as `=== eth0 ===` or `Interface: eth0`."""
_NIC: Final = re.compile(r"\s*NIC statistics:\s*")
_STANDARD: Final = re.compile(r"\s*Standard stats for ([\w.@:-]{1,63}):\s*")
_ROW: Final = re.compile(r"\s*(\S.{0,200}?)\s*:\s*(-?\d{1,20})\s*")
_CUT_ROW: Final = re.compile(r"\s*(\S[^:]{0,200}):\s*")
_LINK: Final = re.compile(r"\s*(?:link|dev)\s+([\w.-]{1,63}(?:/\d{1,4})?)\s+(\S.*)")
_PATH: Final = re.compile(
    r"\s*(?:==> )?(?:\S*/)?infiniband/([\w.-]{1,63})/ports/(\d{1,4})/(hw_counters|counters)/([\w.-]{1,80})"
    r"(?:\s*<==|\s*[:=\s]\s*(-?\d{1,20}))?\s*"
)
_HEAD: Final = re.compile(r"\s*==> (?:\S*/)?([\w.-]{1,80}) <==\s*")
_PAIR: Final = re.compile(
    r"\s*(?:\./|hw_counters/|counters/)?([A-Za-z][\w.]{1,80})\s*(?:[:=]|\s)\s*(-?\d{1,20})\s*"
)
_NUMBER: Final = re.compile(r"-?\d{1,20}")
_LIFESPAN: Final = "lifespan"
"""A file among `hw_counters` that is no counter: lifetime of a value in the driver's cache [ms]."""
_STATE_TAGS: Final = ("state", "physical_state", "netdev")
"""Fields of `rdma link`, which has no counters."""


@dataclass
class _Section:
    """Counters of one interface or port, as text: names and cells with their lines."""

    form: str
    place: str
    cells: list[tuple[str, str, int | None]] = field(default_factory=list)


def read(document: Document) -> Reading | None:
    """Read every section of counters of a host; none if there is none.

    Raises:
        MeasuredError: One of several sections has no interface, or a row is cut off.
    """
    reading = Reading(document, "host", kind="host")
    collector = _Sections(reading)
    for line in document.lines:
        if line.text.strip():
            collector.take(line)
    sections = [section for section in collector.sections if section.cells] or _pairs(document.lines)
    _require_names(document, sections)
    for section in sections:
        _require_whole(reading, section)
        _add(reading, section)
    return reading if sections else None


def read_json(document: Document, values: Sequence[Any]) -> Reading | None:
    """Read `rdma -j statistic show`; none if it is another document.

    Raises:
        MeasuredError: A value of a known counter is no number.
    """
    entries = [each for value in values for each in (value if isinstance(value, list) else [value])]
    rows = [each for each in entries if isinstance(each, dict) and isinstance(each.get("ifname"), str)]
    rows = [each for each in rows if any(find(str(name)) for name in each)]
    if not rows:
        return None
    reading = Reading(document, "host", kind="host")
    for row in rows:
        tags = {name: value for name, value in row.items() if name in _TAGS or isinstance(value, str)}
        port_name = _port(
            str(row["ifname"]),
            row.get("port"),
            {k: v for k, v in tags.items() if k not in ("ifname", "port")},
        )
        cells = [
            (str(name), str(value), None)
            for name, value in row.items()
            if name not in tags and isinstance(value, int | float) and not isinstance(value, bool)
        ]
        _add(reading, _Section(RDMA, port_name, [each for each in cells if each[0] != "port"]))
    return reading if reading.counts else None


_TAGS: Final = (
    "port",
    "cntn",
    "lqpn",
    "pid",
    "qp-type",
    "qp_type",
    "mode",
    "type",
    "comm",
    "ifindex",
    "rdmacm-id",
)
"""Fields of `rdma statistic qp show` that name an object."""


def _port(device: str, port: object, tags: Mapping[str, object]) -> str:
    """Return the name of a port, or of a counter bound to queue pairs of it."""
    name = device if port in (None, "") else f"{device}/{port}"
    parts = [
        f"{tag} {value}"
        for tag, value in tags.items()
        if tag in ("cntn", "lqpn", "pid", "qp-type", "qp_type")
    ]
    return " ".join([name, *parts])


class _Sections:
    """Sections of a text, filled line by line.

    State: the sections so far, the open one that receives rows, the name for the next one by the lines above
    it, and the counter whose value is in the next line.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.sections: list[_Section] = []
        self._open: _Section | None = None
        self._above = ""
        self._pending = ""

    def take(self, line: Line) -> None:
        """Read a line; one outside all sections is skipped.

        Raises:
            MeasuredError: It names a second host, or has a name without a value.
        """
        text = line.text.strip()
        if prompt := _PROMPT.fullmatch(text):
            self._reading.at(prompt[1], line.number)
        if command := _COMMAND.search(text):
            self._above, self._open = command[1], None
        elif _NIC.fullmatch(text):
            self._begin(_Section(ETHTOOL, self._above))
        elif standard := _STANDARD.fullmatch(text):
            self._begin(_Section(ETHTOOL, standard[1]))
        elif link := _LINK.fullmatch(text):
            self._open = None
            self.sections += _of_link(self._reading.document, line, link[1], link[2])
        elif path := _PATH.fullmatch(text):
            self._take_path(path, line)
        elif self._open is None or not self._take_row(self._open, line):
            name = _SECTION_NAME.fullmatch(text)
            self._above = name[1] if name else self._above

    def _begin(self, section: _Section) -> None:
        self.sections.append(section)
        self._open, self._above, self._pending = section, "", ""

    def _take_path(self, path: re.Match[str], line: Line) -> None:
        """Read a path of a counter, with its value or above it."""
        port = f"{path[1]}/{path[2]}"
        section = next((candidate for candidate in self.sections if candidate.place == port), None)
        if section is None:
            self._begin(section := _Section(FILES, port))
        if path[5] is None:
            self._open, self._pending = section, path[4]
        else:
            self._open = None
            section.cells.append((path[4], path[5], line.number))

    def _take_row(self, section: _Section, line: Line) -> bool:
        """Read a row of the open section; return whether the line is one."""
        text = line.text.strip()
        if section.form == FILES:
            if self._pending and _NUMBER.fullmatch(text):
                section.cells.append((self._pending, text, line.number))
                self._pending = ""
                return True
            return False
        if row := _ROW.fullmatch(text):
            section.cells.append((row[1], row[2], line.number))
        elif _is_cut(line, self._reading.document.lines):
            raise self._reading.document.error(
                line.number, f"{shown(text)} without a value", "NAME: VALUE", HINT
            )
        return bool(row)


def _is_cut(line: Line, lines: Sequence[Line]) -> bool:
    """Return whether a line is a name without a value at the end of a file."""
    return bool(_CUT_ROW.fullmatch(line.text)) and not any(
        next_line.text.strip() for next_line in lines[line.number :]
    )


def _of_link(document: Document, line: Line, port: str, rest: str) -> list[_Section]:
    """Read a line of `rdma statistic show`: alternating names and values; empty for a line of `rdma link`.

    Raises:
        MeasuredError: Its last name has no value.
    """
    words = rest.split()
    tags: dict[str, object] = {}
    cells: list[tuple[str, str, int | None]] = []
    index = 0
    while index < len(words):
        name, value = words[index], words[index + 1] if index + 1 < len(words) else ""
        if not value and cells:
            raise document.error(line.number, f"{shown(name)} without a value", "NAME VALUE in turn", HINT)
        if name in _TAGS or not _NUMBER.fullmatch(value):
            tags[name] = value
        else:
            cells.append((name, value, line.number))
        index += 2
    if not cells or tags.keys() & set(_STATE_TAGS):
        return []
    return [_Section(RDMA, _port(port, None, tags), cells)]


def _pairs(lines: Sequence[Line]) -> list[_Section]:
    """Return lines of `NAME VALUE` or `==> NAME <==` as a section, if some name is one of a driver."""
    section, pending = _Section(FILES, _NO_NAME), ""
    for line in lines:
        if head := _HEAD.fullmatch(line.text):
            pending = head[1]
        elif pending and _NUMBER.fullmatch(line.text.strip()):
            section.cells.append((pending, line.text.strip(), line.number))
            pending = ""
        elif pair := _PAIR.fullmatch(line.text):
            section.cells.append((pair[1], pair[2], line.number))
    names = {name for name, _, _ in section.cells}
    (_, of_files), (_, of_ethtool) = _family(FILES, names), _family(ETHTOOL, names)
    section.form = FILES if of_files >= of_ethtool else ETHTOOL
    return [section] if of_files or of_ethtool else []


def _require_names(document: Document, sections: Sequence[_Section]) -> None:
    """Name a single section without an interface, and refuse several if one has none.

    Raises:
        MeasuredError: Two sections may be of one interface or of two.
    """
    nameless = [section for section in sections if not section.place]
    if nameless and len([section for section in sections if section.form == ETHTOOL]) > 1:
        line = nameless[0].cells[0][2] if nameless[0].cells else None
        hint = (
            "keep the command line `ethtool -S IFACE` above each section, or give one file for each interface"
        )
        raise document.error(
            line, "several NIC statistics, one of an interface without name", "their interfaces", hint
        )
    for section in nameless:
        section.place = _NO_NAME


def _require_whole(reading: Reading, section: _Section) -> None:
    """Leave out a counter in the last line of a file if it has no line end: its value may be cut off."""
    document = reading.document
    last = section.cells[-1][2]
    text = document.text
    if last == len(document.lines) and not text.endswith(("\n", "\r")):
        name, _, number = section.cells.pop()
        reading.notes.append(
            f"line {number}: {name} is in the last line, which has no end and may be cut off: left out"
        )


def _add(reading: Reading, section: _Section) -> None:
    names = {name for name, _, _ in section.cells}
    family = _family(section.form, names)[0] or _by_device(section.place)
    reading.read_as(section.form)
    known_count = sum(1 for name in names if family and _is_of(family, name))
    if not known_count:
        reading.notes.append(
            f"{section.place}: no driver is known that has these {len(names):,} names: they are listed "
            "without a meaning"
        )
    for name, cell, line in section.cells:
        if section.form == FILES and name == _LIFESPAN:
            reading.notes.append(
                f"{section.place}: lifespan is how old a value may be, {cell} ms; no counter"
            )
            continue
        is_of_port = (
            section.form == FILES and not (family and _is_of(family, name)) and _is_of(_PORT_FAMILY, name)
        )
        reading.add(section.place, name, cell, line, family=_PORT_FAMILY if is_of_port else family or "host")


def _family(form: str, names: Collection[str]) -> tuple[str, int]:
    """Return the driver with the most of some names, and their number; no driver if two have equally many."""
    scores: dict[str, int] = {}
    for name in names:
        for family in {counter.family for counter in find(name) if counter.source in _SOURCES[form]} - {
            _PORT_FAMILY
        }:
            scores[family] = scores.get(family, 0) + 1
    best = max(scores.values(), default=0)
    best_families = [family for family, score in scores.items() if score == best]
    return (best_families[0] if len(best_families) == 1 else ""), best


_PORT_FAMILY: Final = "ib-port"
"""Counters of a port that every RDMA device has; they name no driver."""


def _by_device(port: str) -> str:
    return next((family for begin, family in _DRIVERS.items() if port.startswith(begin)), "")


@cache
def _is_of(family: str, name: str) -> bool:
    return any(counter.family == family for counter in find(name))
