"""Reader of SONiC's JSON: dumps of its COUNTERS_DB, and `-j` of `portstat`, `queuestat` and `wredstat`.

A dump is that of `sonic-db-dump -n COUNTERS_DB -y`, which is `dump/COUNTERS_DB*.json` in `show techsupport`
(redis-dump-load: `{key: {"type": "hash", "value": {...}}}`), of the `redis-dump` in Ruby (a document for each
key), or plain `{key: {...}}` as in the tests of sonic-utilities. `COUNTERS:oid:0x...` has the counters of a
port, queue, priority group or pool; `COUNTERS_*_NAME_MAP` has their names (sonic-utilities,
`scripts/queuestat`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fabricbench.measured.file_text.document import Document, shown
from fabricbench.measured.switches.model import Reading
from fabricbench.measured.switches.sonic_text import cleared_at, port_counter, queue_place

_MAP: Final = re.compile(r"COUNTERS_(\w+)_NAME_MAP")
_TYPES: Final = "COUNTERS_QUEUE_TYPE_MAP"
_QUEUE_KINDS: Final = {"SAI_QUEUE_TYPE_MULTICAST": "MC", "SAI_QUEUE_TYPE_UNICAST_VOQ": "VOQ"}
"""Kinds of queues that `show queue counters` prints before their number (sonic-utilities, `queuestat`)."""
_NUMBERED: Final = ("PG", "QUEUE")
"""Kinds of objects that are named by their port and a number."""
_COUNTERS: Final = "COUNTERS:"
_WATERMARKS: Final = "USER_WATERMARKS:"
"""Watermarks as `show` prints them; those below `COUNTERS:` are since the last poll."""
_OF_QUEUES: Final = {
    "totalpacket": "SAI_QUEUE_STAT_PACKETS",
    "totalbytes": "SAI_QUEUE_STAT_BYTES",
    "droppacket": "SAI_QUEUE_STAT_DROPPED_PACKETS",
    "dropbytes": "SAI_QUEUE_STAT_DROPPED_BYTES",
    "creditWDPkts": "SAI_QUEUE_STAT_CREDIT_WD_DELETED_PACKETS",
    "wreddroppacket": "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS",
    "wreddropbytes": "SAI_QUEUE_STAT_WRED_DROPPED_BYTES",
    "ecnmarkedpacket": "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
    "ecnmarkedbytes": "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES",
}
_OF_PORTS: Final = ("RX_OK", "TX_OK", "RX_ERR", "TX_ERR", "FEC_CORR", "TRIM_PKTS")
_WATERMARK_HINT: Final = "write the table without -j, whose title says it, or dump COUNTERS_DB"


def read(document: Document, values: Sequence[Any], above: str) -> Reading | None:
    """Read SONiC's JSON; none if it is another document.

    Args:
        document: The file.
        values: Its JSON documents.
        above: The line before them, such as the time at which the counters were cleared.

    Raises:
        MeasuredError: A value of a known counter is no number.
    """
    first = values[0]
    if isinstance(first, list) and first and isinstance(first[0], dict) and "Port" in first[0]:
        expected = "JSON that says which watermark it is of"
        raise document.error(1, "watermarks by -j", expected, _WATERMARK_HINT)
    hashes = _unique_hashes(document, _hashes(values))
    if any(key.startswith((_COUNTERS, _WATERMARKS)) or _MAP.fullmatch(key) for key in hashes):
        return _dump(document, hashes)
    tables = [table for value in values if isinstance(value, dict) for table in value.values()]
    kinds = [_kind(table) for table in tables if isinstance(table, dict)]
    if not any(kinds):
        return None
    reading = Reading(document, "sonic")
    for value in values:
        _tables(reading, value, cleared_at(above))
    return reading


def _hashes(values: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hashes of a dump with their keys."""
    for value in values:
        if not isinstance(value, dict):
            continue
        if isinstance(value.get("key"), str) and isinstance(value.get("value"), dict):
            yield value["key"], value["value"]
            continue
        for key, content in value.items():
            if isinstance(content, dict):
                inner = content.get("value")
                yield key, inner if isinstance(inner, dict) else content


def _unique_hashes(
    document: Document, hashes: Iterator[tuple[str, dict[str, Any]]]
) -> dict[str, dict[str, Any]]:
    """Return hashes by their keys.

    Raises:
        MeasuredError: A key occurs twice with other fields, as in dumps of two chips in one file.
    """
    hashes_by_key: dict[str, dict[str, Any]] = {}
    for key, content in hashes:
        if hashes_by_key.setdefault(key, content) != content:
            line = document.text.count("\n", 0, document.text.rfind(f'{key}"')) + 1
            hint = "one file for each chip (`sonic-db-dump -n COUNTERS_DB` of a namespace) and each moment"
            raise document.error(
                line, f"{shown(key)} a second time, with other fields", "each key once", hint
            )
    return hashes_by_key


def _dump(document: Document, hashes: Mapping[str, Mapping[str, Any]]) -> Reading:
    reading = Reading(document, "sonic", ["COUNTERS_DB"])
    names: dict[str, str] = {}
    kinds = {oid: _QUEUE_KINDS.get(str(kind), "") for oid, kind in hashes.get(_TYPES, {}).items()}
    for key, content in hashes.items():
        if match := _MAP.fullmatch(key):
            names |= {
                str(oid): _place(match[1], name, kinds.get(str(oid), "")) for name, oid in content.items()
            }
    marked = {key.removeprefix(_WATERMARKS) for key in hashes if key.startswith(_WATERMARKS)}
    nameless = 0
    for key, content in hashes.items():
        prefix = next(
            (candidate for candidate in (_COUNTERS, _WATERMARKS) if key.startswith(candidate)), None
        )
        if prefix is None:
            continue
        oid = key.removeprefix(prefix)
        nameless += oid not in names and oid.startswith("oid:")
        for name, cell in content.items():
            if prefix == _WATERMARKS or oid not in marked or "WATERMARK" not in name:
                reading.take(names.get(oid, oid), name, cell, (key, name))
    if nameless:
        reading.notes.append(
            f"{nameless:,} objects have no name in COUNTERS_*_NAME_MAP: they go by their oid"
        )
    return reading


def _place(kind: str, name: str, queue_kind: str) -> str:
    """Return the name of an object: queues by port, kind and number, priority groups by `PG` and number."""
    port, colon, number = name.rpartition(":")
    return f"{port}:{'PG' if kind == 'PG' else queue_kind}{number}" if colon and kind in _NUMBERED else name


def _kind(content: Mapping[str, Any]) -> str:
    """Return the command whose `-j` wrote an object; empty if it is none."""
    if any(name in content for name in _OF_PORTS):
        return "show interfaces counters -j"
    if any(isinstance(queue, dict) and _OF_QUEUES.keys() & queue.keys() for queue in content.values()):
        return "show queue counters --json"
    return ""


def _tables(reading: Reading, value: Any, cleared: str) -> None:
    for port, content in value.items() if isinstance(value, dict) else ():
        kind = _kind(content) if isinstance(content, dict) else ""
        if not kind:
            continue
        reading.read_as(kind)
        since = str(content.get("cached_time") or cleared)
        for name, cell in content.items():
            if isinstance(cell, dict):
                for counter, number in cell.items():
                    counter_name = _OF_QUEUES[counter] if counter in _OF_QUEUES else str(counter)
                    reading.take(queue_place(port, name), counter_name, number, (port, name, counter), since)
            elif name not in ("time", "cached_time"):
                reading.take(port, port_counter(name), cell, (port, name), since)
