"""Reads and checks SONiC's `config_db.json`: typed entries of each table, resolved references, and ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from fabricbench.plan.devices.fragment import names_text
from fabricbench.plan.devices.json_text import JsonText
from fabricbench.plan.devices.sonic_config.port import Entry, Port, has_worked_out_headroom, marks
from fabricbench.plan.devices.sonic_config.tables import (
    COLOURS,
    LEFT_OUT,
    MAPS,
    NO_TRAFFIC,
    PRIORITIES,
    QUEUES_MAX,
    TABLES,
    Kind,
)
from fabricbench.plan.document.nodes import kind_name, shorten
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.words import close_match_hint, counted, one_line

FORMAT: Final = "SONiC config_db.json"
_NO_PROFILE: Final = "NULL"
_EVERY_PORT: Final = {"PORT_QOS_MAP": ("global",), "PFC_WD": ("GLOBAL",), "QUEUE": ("CPU",)}
"""Keys of entries that are of no single port."""
_MAY_BE_ABSENT: Final = (*MAPS, "SCHEDULER", "WRED_PROFILE")
"""Tables that an excerpt may lack: the behaviour of ports is then unknown, not contradictory."""
_SHOWN: Final = 8
_MBPS: Final = 10**6
_NAME_MAX: Final = 200
_PROBLEMS_MAX: Final = 200
_KEYS_MAX: Final = 200_000


class Sonic:
    """A `config_db.json` that has been read and checked: entries of its tables, and its ports.

    Attributes:
        file: The file.
        left_out: Tables and fields of it that are not modelled, with the reason.
    """

    def __init__(self, file: JsonText) -> None:
        """Read every table.

        Raises:
            PlanError: With everything in it that is malformed, contradictory or missing.
        """
        self.file = file
        self.left_out: list[str] = []
        self._problems: list[Problem] = []
        self._unmodelled: dict[tuple[str, str], list[str]] = {}
        self._reported: set[tuple[str, ...]] = set()
        self.tables = {table: self._table(table) for table in file.data}
        self._raise()
        if not any(table in TABLES for table in self.tables):
            location = file.place(())
            table_names = ", ".join(list(TABLES)[:_SHOWN])
            actual = "no table of buffers, queues or ports"
            raise PlanError(
                [Problem(location, "", actual, f"tables: {table_names}", self._namespaces_hint())]
            )
        self.ports = self._ports()
        self._check_profiles()
        self._check_pauses()
        self._raise()
        self.left_out += self._unmodelled_fields()

    def entries(self, table: str) -> list[Entry]:
        """Return the entries of a table."""
        return list(self.tables.get(table, {}).values())

    def metadata(self, name: str) -> str:
        """Return a field of DEVICE_METADATA of the switch; empty if it is missing."""
        metadata = self.file.data.get("DEVICE_METADATA")
        local = metadata.get("localhost") if isinstance(metadata, dict) else None
        value = local.get(name) if isinstance(local, dict) else None
        return value if isinstance(value, str) else ""

    def _namespaces_hint(self) -> str:
        """Return the hint for a file of several namespaces, each with the tables of one chip."""
        names = [
            name
            for name, tables in self.file.data.items()
            if isinstance(tables, dict) and not TABLES.keys().isdisjoint(tables)
        ]
        if not names:
            return ""
        shown = ", ".join(map(shorten, names[:_SHOWN])) + (" ..." if len(names) > _SHOWN else "")
        return f"it has namespaces ({shown}), each a switch of its own: give the tables of one as a file"

    def _unmodelled_fields(self) -> Iterator[str]:
        """Yield the fields that are not modelled, grouped by table and reason."""
        fields_by_reason: dict[tuple[str, str], tuple[list[str], dict[str, None]]] = {}
        for (table, name), keys in self._unmodelled.items():
            field_kind = TABLES.get(table, {}).get(name)
            reason = field_kind.left_out if field_kind is not None else "no field that is known"
            names, keys_of_reason = fields_by_reason.setdefault((table, reason), ([], {}))
            names.append(shorten(name)[1:-1])
            keys_of_reason.update(dict.fromkeys(keys))
        for (table, reason), (names, keys_of_reason) in fields_by_reason.items():
            shown = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
            entries = (
                shorten(next(iter(keys_of_reason)))
                if len(keys_of_reason) == 1
                else f"{len(keys_of_reason):,} entries"
            )
            yield f"{table}: {shown} of {entries}: {reason}"

    def _raise(self) -> None:
        if self._problems:
            raise PlanError(self._problems)

    def _problem(
        self, entry: tuple[str, str], name: str, actual: str, allowed: str = "", hint: str = ""
    ) -> None:
        table, key = entry
        path = tuple(part for part in (table, key, name) if part)
        entry_name = f"{table}|{key}" if key else table
        field_name = f"{entry_name}: {name}" if name else entry_name
        self._problems.append(Problem(self.file.place(path), field_name, actual, allowed, hint))
        if len(self._problems) == _PROBLEMS_MAX:
            self._raise()

    def _is_new(self, *message: str) -> bool:
        """Whether a message has not been reported yet; record it."""
        is_new = message not in self._reported
        self._reported.add(message)
        return is_new

    def _table(self, table: str) -> dict[str, Entry]:
        """Read a table whose fields are modelled; note any other as left out."""
        content = self.file.data[table]
        if table not in TABLES and table not in MAPS:
            self._note_table(table, content)
            return {}
        if not isinstance(content, dict):
            self._problem((table, ""), "", kind_name(content), "entries by their keys")
            return {}
        read = self._map if table in MAPS else self._entry
        return {key: read(table, key, value) for key, value in content.items()}

    def _note_table(self, table: str, written: object) -> None:
        if table in NO_TRAFFIC:
            return
        count = len(written) if isinstance(written, dict | list) else 1
        reason = LEFT_OUT.get(table, "no table that is known")
        self.left_out.append(
            f"{shorten(table)[1:-1]} ({count:,} {'entry' if count == 1 else 'entries'}): {reason}"
        )

    def _entry(self, table: str, key: str, written: object) -> Entry:
        values: dict[str, Any] = {}
        if not isinstance(written, dict):
            self._problem((table, key), "", kind_name(written), "fields and their values")
            return Entry(table, key, values)
        for name, value in written.items():
            field_kind = TABLES[table].get(name)
            if name == _NO_PROFILE or (
                field_kind is not None and field_kind.kind is None and not field_kind.left_out
            ):
                continue
            text = self._text(table, key, name, value)
            if field_kind is None or field_kind.left_out:
                self._unmodelled.setdefault((table, name), []).append(key)
            if text is not None and field_kind is not None and field_kind.kind is not None:
                values[name] = self._value((table, key), name, text, field_kind.kind)
        return Entry(table, key, {name: value for name, value in values.items() if value is not None})

    def _text(self, table: str, key: str, name: str, value: object) -> str | None:
        """Return a value as text, the only type of the database; none, with a problem, for other types."""
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int) and abs(value) < 10**24:
            return str(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return ",".join(value)
        kind = TABLES.get(table, {}).get(name)
        allowed = kind.kind.allowed if kind is not None and kind.kind is not None else "text"
        actual = str(value)[:60] if isinstance(value, int | float) else kind_name(value)
        self._problem((table, key), name, actual, allowed)
        return None

    def _value(self, entry: tuple[str, str], name: str, text: str, kind: Kind) -> Any:
        if kind.table == "BUFFER_PROFILE" and text == _NO_PROFILE:
            return _NO_PROFILE
        try:
            value = kind.read(text)
        except ValueError:
            self._problem(entry, name, shorten(text), kind.allowed)
            return None
        if kind.table:
            names = self.file.data.get(kind.table)
            if names is None and kind.table in _MAY_BE_ABSENT:
                if self._is_new(kind.table, entry[0], name):
                    consequence = f"{entry[0]}: {name} names entries of it, which are unknown"
                    self.left_out.append(f"{kind.table} is not in the file: {consequence}")
                return None
            names = names if isinstance(names, dict) else {}
            if value not in names:
                if self._is_new(entry[0], name, value):
                    actual = f"{shorten(value)}, which {kind.table} has no entry for"
                    allowed = ", ".join(list(names)[:_SHOWN]) or f"nothing, there is no entry in {kind.table}"
                    self._problem(entry, name, actual, allowed, close_match_hint(value, names))
                return None
        return value

    def _map(self, table: str, key: str, written: object) -> Entry:
        number_kind, key_max, value_max = MAPS[table]
        values: dict[str, Any] = {}
        if not isinstance(written, dict):
            self._problem((table, key), "", kind_name(written), f"a value for each {number_kind}")
            return Entry(table, key, values)
        for name, value in written.items():
            text = self._text(table, key, name, value)
            number = _number(name, key_max)
            if number is None:
                self._problem((table, key), name, f"the {number_kind} {shorten(name)}", f"0 to {key_max}")
            elif text is not None and (mapped := _number(text, value_max)) is not None:
                values[str(number)] = mapped
            elif text is not None:
                self._problem((table, key), name, shorten(text), f"0 to {value_max}")
        return Entry(table, key, values)

    def _ports(self) -> list[Port]:
        """Return every port that is not switched off."""
        shared = self.tables.get("PORT_QOS_MAP", {}).get("global")
        groups, buffers = (self._numbered(table, PRIORITIES) for table in ("BUFFER_PG", "BUFFER_QUEUE"))
        queues, maps = self._numbered("QUEUE", QUEUES_MAX), self._by_port("PORT_QOS_MAP")
        watchdogs = self._by_port("PFC_WD")
        port_entries = self.tables.get("PORT", {})
        names = list(port_entries) or list(dict.fromkeys((*groups, *queues, *buffers, *maps, *watchdogs)))
        # Without `admin_status` a port is down (default of `portmgrd`), unless no port has the field.
        up = [
            name
            for name in names
            if name not in port_entries or port_entries[name].get("admin_status") == "up"
        ]
        up = up or [name for name in names if port_entries[name].get("admin_status") is None]
        if down := len(names) - len(up):
            self.left_out.append(f"PORT: {counted(down, 'port')} with admin_status down, as by default")
        return [
            self._port(
                name,
                Port(
                    name,
                    groups={number: self._profile(entry) for number, entry in groups.get(name, {}).items()},
                    queues=queues.get(name, {}),
                    buffers={number: self._profile(entry) for number, entry in buffers.get(name, {}).items()},
                    watchdog=watchdogs.get(name),
                ),
                [entry for entry in (shared, maps.get(name)) if entry is not None],
            )
            for name in up or names
        ]

    def _port(self, name: str, port: Port, qos: Iterable[Entry]) -> Port:
        entry = self.tables.get("PORT", {}).get(name)
        speed = entry.get("speed") if entry else None
        qos_values: dict[str, Any] = {}
        for qos_entry in qos:
            qos_values |= qos_entry.values
        maps = {
            name: {
                int(key): mapped
                for key, mapped in self.tables[kind.kind.table][qos_values[name]].values.items()
            }
            for name, kind in TABLES["PORT_QOS_MAP"].items()
            if name in qos_values and kind.kind is not None and kind.kind.table
        }
        return Port(
            name,
            speed * _MBPS if speed else None,
            entry.get("mtu") if entry else None,
            qos_values.get("pfc_enable", ()),
            port.groups,
            port.queues,
            port.buffers,
            maps,
            port.watchdog,
            qos_values.get("pfcwd_sw_enable"),
        )

    def _profile(self, entry: Entry) -> Entry | None:
        name = entry.get("profile")
        return None if name in (None, _NO_PROFILE) else self.tables["BUFFER_PROFILE"][name]

    def _by_port(self, table: str) -> dict[str, Entry]:
        entry_by_port: dict[str, Entry] = {}
        for entry in self.entries(table):
            if entry.key not in _EVERY_PORT[table]:
                for name in self._names(entry, entry.key):
                    entry_by_port[name] = self._joined(entry_by_port.get(name), entry)
        return entry_by_port

    def _joined(self, first: Entry | None, second: Entry) -> Entry:
        """Merge two entries of a table for the same port or number; fields of both must be equal."""
        if first is None or first is second:
            return second
        for name, value in second.values.items():
            if first.values.get(name, value) != value:
                if self._is_new(second.table, first.key, second.key, name):
                    actual = f"{_shown(value)}, while {first.key} has {_shown(first.values[name])}"
                    self._problem((second.table, second.key), name, actual, "one of the two")
                return first
        return Entry(second.table, second.key, {**first.values, **second.values})

    def _numbered(self, table: str, most: int) -> dict[str, dict[int, Entry]]:
        """Return the entries of a table by port and number.

        Keys are as `Ethernet0,Ethernet4|3-4`, and in a chassis as `HOST|ASIC|Ethernet0|3-4`.
        """
        entries_by_port: dict[str, dict[int, Entry]] = {}
        card = f"{self.metadata('hostname')}|{self.metadata('asic_name')}|"
        port_number_count, elsewhere = 0, list[str]()
        for entry in self.entries(table):
            names, bar, numbers = entry.key.rpartition("|")
            numbers_range = _run(numbers, most if table != "BUFFER_QUEUE" else QUEUES_MAX)
            if not bar or numbers_range is None:
                allowed = f'a port and numbers up to {most - 1}, such as "Ethernet0|3-4"'
                self._problem((table, entry.key), "", f"the key {shorten(entry.key)}", allowed)
                continue
            names = names.removeprefix(card)
            if "|" in names or names in _EVERY_PORT.get(table, ()):
                elsewhere.append(entry.key)
                continue
            for name in self._names(entry, names):
                port_number_count += len(numbers_range)
                if port_number_count > _KEYS_MAX:
                    raise PlanError(
                        [Problem(self.file.place((table, entry.key)), table, "more ports than a switch has")]
                    )
                entry_by_number = entries_by_port.setdefault(name, {})
                entry_by_number.update(
                    {number: self._joined(entry_by_number.get(number), entry) for number in numbers_range}
                )
        if elsewhere:
            shown = ", ".join(map(shorten, elsewhere[:_SHOWN])) + (" ..." if len(elsewhere) > _SHOWN else "")
            self.left_out.append(f"{table}: queues of the processor or of other cards: {shown}")
        return entries_by_port

    def _names(self, entry: Entry, names: str) -> Iterator[str]:
        port_entries = self.tables.get("PORT", {})
        for name in names.split(","):
            if not port_entries or name in port_entries:
                yield name
            else:
                allowed = f"ports of PORT: {', '.join(list(port_entries)[:_SHOWN])}"
                allowed += " ..." if len(port_entries) > _SHOWN else ""
                hint = close_match_hint(name, port_entries)
                self._problem((entry.table, entry.key), "", f"the port {shorten(name)}", allowed, hint)

    def _check_profiles(self) -> None:
        """Check that the fields of a profile agree with each other and with its pool."""
        # The mode of a pool is that of profiles that give no threshold: SAI has each profile choose its own.
        for entry in self.entries("BUFFER_PROFILE"):
            if {"dynamic_th", "static_th"} <= set(entry.values):
                actual = "both `dynamic_th` and `static_th`"
                self._problem((entry.table, entry.key), "static_th", actual, "one of them")
        for table, side in (("BUFFER_PG", "ingress"), ("BUFFER_QUEUE", "egress")):
            for entry in self.entries(table):
                self._check_side(entry, side)
        for entry in self.entries("WRED_PROFILE"):
            self._check_thresholds(entry)

    def _check_thresholds(self, each: Entry) -> None:
        """Check the thresholds of a WRED profile."""
        for colour in COLOURS:
            low, high = each.get(f"{colour}_min_threshold"), each.get(f"{colour}_max_threshold")
            if low is not None and high is not None and low > high:
                actual = f"{low}, which is above {colour}_max_threshold {high}"
                self._problem((each.table, each.key), f"{colour}_min_threshold", actual, f"at most {high}")
        if marks(each, "green"):
            for name in ("green_min_threshold", "green_max_threshold"):
                if name not in each.values and name not in self.file.data[each.table][each.key]:
                    self._problem((each.table, each.key), name, "nothing", "bytes, as ECN is on")

    def _check_side(self, entry: Entry, side: str) -> None:
        """Check that the pool of a group, or of a queue, is one of its side."""
        name = entry.get("profile")
        profile = None if name in (None, _NO_PROFILE) else self.tables["BUFFER_PROFILE"][name]
        pool_name = profile.get("pool") if profile is not None else None
        pool = self.tables["BUFFER_POOL"][pool_name] if pool_name else None
        if pool is not None and pool.get("type") not in (side, "both", None):
            actual = f"{shorten(name)}, whose pool {shorten(pool.key)} is of type {pool.get('type')}"
            self._problem((entry.table, entry.key), "profile", actual, f"a profile of a pool of type {side}")

    def _check_pauses(self) -> None:
        """Check that paused priorities have headroom, and that a pause stops the queue of its priority."""
        reported: set[tuple[str, str]] = set()
        for port in self.ports:
            for traffic_class in range(PRIORITIES):
                for priority in port.pausing(traffic_class):
                    self._check_pause(port, traffic_class, priority, reported)

    def _check_pause(
        self, port: Port, traffic_class: int, priority: int, reported: set[tuple[str, str]]
    ) -> None:
        group = port.group_of(traffic_class)
        profile = port.groups.get(group)
        is_bare = profile is not None and not profile.get("xoff") and not has_worked_out_headroom(profile)
        if profile is not None and is_bare and ("xoff", profile.key) not in reported:
            reported.add(("xoff", profile.key))
            actual = (
                f"{'0' if profile.get('xoff') == 0 else 'nothing'}, in priority group {group} of {port.name}"
            )
            allowed = f"bytes of headroom, as PORT_QOS_MAP enables PFC for priority {priority}"
            hint = "give the group a profile with headroom, or take the priority out of `pfc_enable`"
            self._problem((profile.table, profile.key), "xoff", actual, allowed, hint)
        queue, stopped = port.queue_of(traffic_class), port.stopped_by(priority)
        maps = {"pfc_to_queue_map", "tc_to_queue_map"} & set(port.maps)
        if queue != stopped and maps and ("queue", port.name) not in reported:
            reported.add(("queue", port.name))
            actual = f"a pause of priority {priority} that stops queue {stopped}"
            allowed = f"queue {queue}, which traffic class {traffic_class} of priority group {group} waits in"
            key = port.name if port.name in self.tables.get("PORT_QOS_MAP", {}) else "global"
            self._problem(("PORT_QOS_MAP", key), "pfc_to_queue_map", actual, allowed)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """Summary of the file in words: ports, rates, entries, switch and neighbours."""
        speeds = sorted({port.speed_bps // 10**9 for port in self.ports if port.speed_bps})
        rates = f" of {', '.join(map(str, speeds))} Gb/s" if speeds else ""
        tables = [table for table in self.tables if table in TABLES or table in MAPS]
        counts = [f"{table} {len(self.tables[table])}" for table in tables]
        ports_by_gbps = Counter(port.speed_bps // 10**9 for port in self.ports if port.speed_bps)
        rate_counts = ", ".join(f"{count} of {speed} Gb/s" for speed, count in sorted(ports_by_gbps.items()))
        host = self.metadata("hostname")
        return (
            counted(len(self.ports), "port") + rates,
            *((f"rates: {rate_counts}",) if len(ports_by_gbps) > 1 else ()),
            "entries: " + ", ".join(counts),
            *((f"switch: {one_line(host, _NAME_MAX)}",) if host else ()),
            *((f"neighbors: {names_text(self._neighbors)}",) if self._neighbors else ()),
        )

    @cached_property
    def _neighbors(self) -> list[str]:
        """Neighbour of each port by DEVICE_NEIGHBOR, in words."""
        table = self.file.data.get("DEVICE_NEIGHBOR")
        entries = table.items() if isinstance(table, dict) else ()
        named = [(port, fields.get("name")) for port, fields in entries if isinstance(fields, dict)]
        return [
            f"{one_line(name, _NAME_MAX)} at {one_line(port, _NAME_MAX)}"
            for port, name in named
            if isinstance(name, str) and name
        ]


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _number(text: str, most: int) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 4 and int(text) <= most else None


def _run(text: str, most: int) -> range | None:
    """Read numbers such as `3` or `3-4`."""
    first, dash, last = text.partition("-")
    low, high = _number(first, most - 1), _number(last if dash else first, most - 1)
    return range(low, high + 1) if low is not None and high is not None and low <= high else None
