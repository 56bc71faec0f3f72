"""Converts dumps of SONiC's CONFIG_DB to its `config_db.json`: keys `TABLE|KEY` to tables and entries.

Forms: `sonic-db-dump -n CONFIG_DB`, which `show techsupport` has as `dump/CONFIG_DB.json` (redis-dump-load,
`{key: {"type": "hash", "value": {...}}}`), plain `{key: {...}}`, and `redis-dump` in Ruby (a document for
each key). Fields of lists end with `@` in Redis, and their values are joined by commas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from fabricbench.plan.devices.json_text import JsonText, json_of, text_of
from fabricbench.plan.errors import Place, PlanError, Problem

_BAR: Final = "|"
_LIST: Final = "@"
_HEAD_BYTES: Final = 4096
_APPLICATION: Final = "_TABLE:"
"""In a key of APPL_DB, whose tables have other names and fields."""


@dataclass(frozen=True)
class _Hash:
    """A hash of Redis: its key, its fields, and its line."""

    key: str
    fields: dict[str, Any]
    line: int | None = None


@dataclass(frozen=True)
class RedisDump(JsonText):
    """A dump as the tables of a configuration; locations are those in the dump.

    Attributes:
        dump: The dump as JSON.
        lines_by_key: The line of each key, if the dump has a document for each.
    """

    dump: JsonText
    lines_by_key: dict[str, int]

    def place(self, path: Sequence[str]) -> Place:
        """Return the location of a key in the dump, or of its nearest parent."""
        if len(path) < 2:
            first = next((key for key in self._keys if path and key.startswith(f"{path[0]}{_BAR}")), "")
            return self.dump.place((first,)) if first in self.dump.data else Place(self.source)
        key, names = f"{path[0]}{_BAR}{path[1]}", tuple(path[2:])
        if key in self.lines_by_key:
            return Place(self.source, self.lines_by_key[key], 1)
        listed = tuple(f"{name}{_LIST}" for name in names)
        for inner in ((key, "value", *names), (key, "value", *listed), (key, *names), (key, *listed)):
            if inner in self.dump.lines:
                return self.dump.place(inner)
        return self.dump.place((key,))

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self.dump.data)


def configuration_of(content: bytes, source: str) -> JsonText:
    """Read a configuration: `config_db.json`, or a dump of CONFIG_DB.

    Raises:
        PlanError: It is neither, or a key is repeated.
    """
    hashes = _documents(content, source)
    if hashes is not None:
        file = JsonText(source, text_of(content, source), {}, hashlib.sha256(content).hexdigest())
        return _configuration(file, hashes)
    file = json_of(content, source)
    keys = [key for key in file.data if _BAR in key or _APPLICATION in key]
    if not keys or len(keys) * 2 < len(file.data):
        return file
    if not any(_BAR in key for key in keys):
        actual = f"keys of APPL_DB, such as {keys[0][:40]}"
        hint = "`sonic-db-dump -n CONFIG_DB`, or /etc/sonic/config_db.json"
        raise PlanError([Problem(file.place((keys[0],)), "", actual, "keys of CONFIG_DB", hint)])
    return _configuration(file, list(_hashes(file.data)))


def _hashes(data: dict[str, Any]) -> Iterator[_Hash]:
    """Yield the hashes of a dump; other values of Redis, such as CONFIG_DB_INITIALIZED, are no tables."""
    for key, value in data.items():
        if isinstance(value, dict) and _BAR in key:
            inner = value.get("value") if value.get("type") == "hash" or "ttl" in value else value
            if isinstance(inner, dict):
                yield _Hash(key, inner)


def _documents(content: bytes, source: str) -> list[_Hash] | None:
    """Return the hashes of a dump with a document for each key; none if it is no such dump."""
    hashes: list[_Hash] = []
    lines: dict[str, int] = {}
    if b'"key"' not in content[:_HEAD_BYTES]:
        return None
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or not isinstance(value.get("key"), str) or "type" not in value:
            return None
        if value["key"] in lines:
            actual = f"the key {value['key'][:60]} twice, first in line {lines[value['key']]}"
            raise PlanError([Problem(Place(source, number, 1), "", actual, "each key once")])
        lines[value["key"]] = number
        if isinstance(value.get("value"), dict) and _BAR in value["key"]:
            hashes.append(_Hash(value["key"], value["value"], number))
    return hashes or None


def _configuration(file: JsonText, hashes: Sequence[_Hash]) -> RedisDump:
    tables: dict[str, Any] = {}
    for entry in hashes:
        table, _, key = entry.key.partition(_BAR)
        fields = {name.removesuffix(_LIST): value for name, value in entry.fields.items()}
        tables.setdefault(table, {})[key] = fields
    lines = {entry.key: entry.line for entry in hashes if entry.line is not None}
    return RedisDump(file.source, file.text, tables, file.sha256, file, lines)
