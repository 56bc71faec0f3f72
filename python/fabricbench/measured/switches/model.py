"""Counters of a switch or host in a file, and their growth between two files or moments.

`Reading` has the counters of a file (`Count`); `compared` returns them as `SwitchCounters`, a list of
`Change`; `totals` adds up changes by port. `parsed` reads the value of a cell, `definition` returns the
meaning of a counter, `line_of` the line of a name in a JSON document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from fabricbench.counters import Counter, find
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import Document, shown
from fabricbench.words import one_line

Value = int | float | None
"""Value of a counter; none if the device does not count it."""

HINT: Final = "the file may be cut off or edited: write what the switch says into a file once more"
_NAME_MAX: Final = 200
_TWICE_HINT: Final = "one file for each moment: give the earlier one by --before"
_INTEGER: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,20})", re.ASCII)
_RATE: Final = re.compile(r"(\d{1,20}(?:\.\d{1,20})?) ?(?:([KMGT]?)B?/s|%)", re.ASCII)
_FLOAT: Final = re.compile(r"-?\d{1,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_SCALES: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""Of `utilities_common/netstat.py` of sonic-utilities."""
_NOT_COUNTED: Final = ((1 << 64) - 1, -1)
"""Values that chips return for a counter that they do not have."""
_NO_VALUE: Final = ("", "N/A", "-", "--", "---")
_GAUGES: Final = ("depth", "rate")
_GAUGE: Final = re.compile(r"WATERMARK|OCCUPANCY|_BER|UTIL|[BP]PS$|per-second|FLR")
"""Names of counters without a definition that do not only grow."""


def parsed(cell: object) -> Value:
    """Read a cell: `1,210`, `204.80 KB/s` [bytes/s], `12.5%`, `4e-10`; none for `N/A`, `-` and all ones.

    Raises:
        ValueError: It is no number.
    """
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return None if cell in _NOT_COUNTED else cell
    text = "" if cell is None else str(cell).strip()
    if text.upper() in _NO_VALUE:
        return None
    if _INTEGER.fullmatch(text):
        number = int(text.replace(",", ""))
        return None if number in _NOT_COUNTED else number
    if match := _RATE.fullmatch(text):
        return float(match[1]) * _SCALES[match[2] or ""]
    if _FLOAT.fullmatch(text):
        return float(text)
    raise ValueError(text)


@cache
def definition(family: str, vendor_name: str) -> Counter | None:
    """Return the definition of a counter; none if it is unknown."""
    return next((counter for counter in find(vendor_name) if counter.family == family), None)


@dataclass(frozen=True)
class Count:
    """Value of one counter of one port, queue, priority group or pool.

    Attributes:
        value: Its value.
        since: Time at which it was cleared, by the device; empty if the device gives none.
        line: Its line; none if unknown.
        family: Vendor family of its name; empty for the family of its file.
        moment: Time at which it was read [ns since 1970]; none if the file has none.
    """

    value: Value
    since: str = ""
    line: int | None = None
    family: str = ""
    moment: int | None = None


_Key = tuple[str, str]
"""Port, queue (`Ethernet0:3`), priority group (`Ethernet0:PG3`) or pool, and the vendor's name."""


@dataclass
class Reading:
    """Counters of one switch or one host in a file.

    Attributes:
        document: The file.
        family: Vendor family of the names: `sonic`, `openconfig`, or `host` if each counter has its driver.
        forms: Names of the tables that were read, such as `show pfc counters`.
        host: Name of the switch or host; empty if the file does not have it.
        counts: The counters.
        notes: Parts that were left out.
        kind: `switch` or `host`.
        scope: Prefix of the name of each port: the switch, in a file of several; otherwise empty.
        moment: Time of the counters that are being read [ns since 1970]; none if the file has none.
        earlier: Earliest value of counters that the file has at several moments; `counts` has the latest.
    """

    document: Document
    family: str
    forms: list[str] = field(default_factory=list)
    host: str = ""
    counts: dict[_Key, Count] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kind: str = "switch"
    scope: str = ""
    moment: int | None = None
    earlier: dict[_Key, Count] = field(default_factory=dict)

    @property
    def switch(self) -> str:
        """Name of the switch, or of its file."""
        return self.host or Path(self.document.name).stem

    def at(self, host: str, line: int | None) -> None:
        """Set the name of the switch.

        Raises:
            MeasuredError: The file has another name.
        """
        if self.host and one_line(host, _NAME_MAX) != self.host:
            host_names = f"{shown(host)} after {shown(self.host)}"
            hint = f"split the file: one for each {self.kind}"
            raise self.document.error(line, host_names, f"the counters of one {self.kind}", hint)
        self.host = one_line(host, _NAME_MAX)

    def read_as(self, form: str) -> None:
        """Add a form to `forms`, once."""
        if form not in self.forms:
            self.forms.append(form)

    def add(
        self, place: str, vendor_name: str, cell: object, line: int | None, since: str = "", family: str = ""
    ) -> None:
        """Store a counter; one without a definition is skipped if it has no number.

        Raises:
            MeasuredError: A defined counter has no number, or the file has another value of it.
        """
        place, vendor_name = one_line(f"{self.scope}{place}", _NAME_MAX), one_line(vendor_name, _NAME_MAX)
        counter = definition(family or self.family, vendor_name)
        try:
            value = parsed(cell)
        except ValueError:
            if counter is None:
                return
            conflict = f"{shown(str(cell))} for {shown(vendor_name)} of {shown(place)}"
            raise self.document.error(line, conflict, "a number or N/A", HINT) from None
        if value is None and counter is None:
            return
        key = (place, vendor_name)
        former = self.counts.get(key)
        count = Count(value, one_line(since, _NAME_MAX), line, family, self.moment)
        if former is not None and former.moment != self.moment and None not in (former.moment, self.moment):
            self._at_another_moment(key, former, count)
            return
        if former is not None and former.value != value:
            position = "" if former.line is None else f" in line {former.line}"
            conflict = (
                f"{value} for {shown(vendor_name)} of {shown(place)}, which is {former.value}{position}"
            )
            raise self.document.error(line, conflict, "each counter once", _TWICE_HINT)
        self.counts[key] = count

    def _at_another_moment(self, key: _Key, *counts: Count) -> None:
        """Store the earliest and the latest value of a counter."""
        readings = [*counts, *([self.earlier[key]] if key in self.earlier else [])]
        readings.sort(key=lambda count: count.moment or 0)
        self.earlier[key], self.counts[key] = readings[0], readings[-1]

    def take(self, place: str, vendor_name: str, cell: object, names: Sequence[str], since: str = "") -> None:
        """Store a counter of a JSON document; `names` is its path there.

        Raises:
            MeasuredError: As `add`, with its line.
        """
        try:
            self.add(place, vendor_name, cell, None, since)
        except MeasuredError as error:
            line = line_of(self.document, names)
            raise self.document.error(line, error.found, error.expected, error.hint) from None


def line_of(document: Document, names: Sequence[str]) -> int | None:
    """Return the line of the last of some names, each searched in the text after the one before."""
    offset = 0
    for name in names:
        match_offset = document.text.find(f'{name}"', offset)
        offset = offset if match_offset < 0 else match_offset
    return document.text.count("\n", 0, offset) + 1 if offset else None


@dataclass(frozen=True)
class Change:
    """A counter of a switch: its value in one file, or its growth between two.

    Attributes:
        place: Port, queue, priority group or pool.
        vendor_name: The vendor's name.
        counter: Its definition; none if unknown.
        before: Value of the earlier file; none without one.
        after: Value of the file.
        value: Its growth in units; the value of the file without an earlier file, and for a counter that does
            not only grow. None if unknown.
        note: Reason for an unknown value.
        least: Least growth in units if it was cleared between the files; none otherwise.
    """

    place: str
    vendor_name: str
    counter: Counter | None
    before: Value
    after: Value
    value: Value
    note: str = ""
    least: Value = None

    @property
    def name(self) -> str:
        """Neutral name; the vendor's if it has none."""
        return self.counter.name if self.counter else self.vendor_name


@dataclass(frozen=True)
class SwitchCounters:
    """Counters of a switch or host, as differences if there is an earlier file.

    Attributes:
        switch: Its name.
        file: The file.
        before: The earlier file; empty without one.
        forms: Names of the tables that were read.
        changes: Its counters, in the order of the file.
        notes: Parts that were left out or are uncertain.
        kind: `switch` or `host`.
    """

    switch: str
    file: str
    before: str
    forms: Sequence[str]
    changes: Sequence[Change]
    notes: Sequence[str]
    kind: str = "switch"

    def named(self, *names: str) -> list[Change]:
        """Return the counters with these neutral names and a known value; `name_{p}` is every priority."""
        priorities = tuple(name.removesuffix("{p}") for name in names if name.endswith("{p}"))
        return [
            change
            for change in self.changes
            if change.value is not None
            and change.counter is not None
            and (
                change.name in names
                or (change.name[-1:].isdigit() and change.name.rstrip("01234567") in priorities)
            )
        ]


def compared(after: Reading, before: Reading | None) -> SwitchCounters:
    """Return the counters of a file, as differences to an earlier one if there is one.

    Raises:
        MeasuredError: The files are of different switches, or have no counter in common.
    """
    notes = list(after.notes)
    if before is None and after.earlier:
        before = _first_moment(after)
        notes.append(_span(after))
    if before is not None:
        _require_same(after, before)
        missing = len(before.counts.keys() - after.counts.keys())
        notes += [f"{missing:,} counters of {before.document.name} are no longer there"] if missing else []
    changes = [_change(after.family, key, count, before) for key, count in after.counts.items()]
    fallen = sum(1 for change in changes if change.note == _FALLEN)
    if fallen:
        notes.append(
            f"{fallen:,} of {len(changes):,} counters fell: the {after.kind} restarted, or was cleared"
        )
    earlier = "" if before is None else before.document.name
    return SwitchCounters(after.switch, after.document.name, earlier, after.forms, changes, notes, after.kind)


def _first_moment(reading: Reading) -> Reading:
    """Return the counters of a file at the first of its moments."""
    document = Document(f"the first moment of {reading.document.name}", reading.document.text)
    single_moment = {key: count for key, count in reading.counts.items() if key not in reading.earlier}
    return replace(reading, document=document, counts={**single_moment, **reading.earlier}, earlier={})


def _span(reading: Reading) -> str:
    """Return the note on the span between the moments of a file."""
    latest = (reading.counts[key].moment or 0 for key in reading.earlier)
    earliest = (count.moment or 0 for count in reading.earlier.values())
    seconds = (max(latest) - min(earliest)) / 1e9
    return f"the file has several moments: growth from the first to the last of each counter, {seconds:g} s"


def _require_same(after: Reading, before: Reading) -> None:
    name = after.document.name
    expected, hint = (
        f"two files of one {after.kind}",
        f"give two files of one {after.kind}, by the same command",
    )
    if after.host and before.host and after.host != before.host:
        difference = f"counters of {shown(after.host)}, and of {shown(before.host)} in {before.document.name}"
        raise MeasuredError(name, None, difference, expected, hint)
    if not after.counts.keys() & before.counts.keys():
        difference = f"no counter that is in {before.document.name} as well"
        raise MeasuredError(name, None, difference, expected, hint)


_FALLEN: Final = "less than before: cleared, restarted or wrapped"


def _change(family: str, key: _Key, count: Count, before: Reading | None) -> Change:
    port, vendor_name = key
    counter = definition(count.family or family, vendor_name)
    former = None if before is None else before.counts.get(key)
    earlier = None if former is None else former.value
    value, note = count.value, ""
    is_gauge = _GAUGE.search(vendor_name) if counter is None else counter.counts in _GAUGES
    if value is None:
        note = "not counted"
    elif before is not None and not is_gauge:
        value, note = _growth(value, count.since, former)
    elif value < 0:
        value, note = None, "less than 0: cleared by another command, or restarted"
    least = (
        count.value
        if value is None and former is not None and count.since not in ("", former.since)
        else None
    )
    if counter is not None:
        value = None if value is None else value * counter.scale
        least = None if least is None else least * counter.scale
    return Change(port, vendor_name, counter, earlier, count.value, value, note, least)


def _growth(value: int | float, since: str, former: Count | None) -> tuple[Value, str]:
    if former is None or former.value is None:
        return None, "not counted before"
    if since != former.since:
        return None, f"cleared in between: {since or 'not'} after, {former.since or 'not'} before"
    grown = value - former.value
    return (grown, "") if grown >= 0 else (None, _FALLEN)


def totals(changes: Sequence[Change]) -> Mapping[str, int | float]:
    """Return the sum of the changes of each port, queue or pool, the largest first."""
    sums: dict[str, int | float] = {}
    for change in changes:
        sums[change.place] = sums.get(change.place, 0) + (change.value or 0)
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
