"""Reader of OpenConfig's counters from gNMI or RESTCONF: JSON of RFC 7951, names with or without module.

`read` is for JSON, `has_flat` and `read_flat` for gnmic's format `flat` (lines of `PATH: VALUE`). The
counters are `state/counters` and `statistics` of openconfig-interfaces and its augmentations, and
`queue/state` of openconfig-qos. The tree may begin at the root, at `openconfig-interfaces:interfaces`, as in
responses of RESTCONF (RFC 8040, 4.3), or at a path in the document, as from `gnmic get` (`source`, `updates`
with `Path` and `values`) and pygnmi (`notification`, `update` with `path` and `val`). gnmic's format `event`
(a list of `tags` and `values`) is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from fabricbench.counters import counters
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.switches.model import HINT, Reading, definition, line_of

_DEPTH_MAX: Final = 60
_SOURCES_DEPTH: Final = 3
_MODULE: Final = re.compile(r"^[A-Za-z_][\w.-]*:")
_STEP: Final = re.compile(r"([^/\[]+)((?:\[(?:[^\]\\]|\\.)*\])*)")
_KEY: Final = re.compile(r"\[[^=\]]*=((?:[^\]\\]|\\.)*)\]")
_KEYS: Final = ("name", "interface-id", "index", "priority", "id")
"""Leaves that are keys of the entries of a list."""
_META: Final = ("source", "subscription-name", "subscription_name", "target", "target_name")
"""Tags of gnmic that are no keys of a path."""
_FLAT: Final = re.compile(
    r"\s*(?:\[([^\[\]\s]{1,100})\]\s*)?(/?[A-Za-z][\w.:-]*(?:\[[^\]]*\])*(?:/[A-Za-z][\w.:-]*(?:\[(?:[^\]\\]|\\.)*\])*)+)"
    r"\s*:\s+(.*)"
)
_NO_COUNTERS: Final = (*_KEYS, "last-clear", "timestamp")
_ROOTS: Final = (
    *("", "/interfaces", "/interfaces/interface", "/interfaces/interface/state"),
    *("/interfaces/interface/ethernet", "/interfaces/interface/ethernet/state"),
    *("/qos", "/qos/interfaces", "/qos/interfaces/interface", "/qos/interfaces/interface/output"),
    *("/qos/interfaces/interface/output/queues", "/qos/interfaces/interface/output/queues/queue"),
)
"""Paths at which a tree may begin."""

_Step = tuple[str, str]
"""A name without its module, and the key of the entry; empty without one."""


def read(document: Document, values: Sequence[Any]) -> Reading:
    """Read every counter of a document.

    Raises:
        MeasuredError: It is nested too deep, a known counter has no number, or there are several switches.
    """
    reading = Reading(document, "openconfig")
    is_one = len(set(_sources(values, 0))) < 2
    for value in values:
        if _is_events(value):
            _read_events(reading, value if isinstance(value, list) else [value], is_one=is_one)
        else:
            _walk(reading, value, (), "", is_one=is_one)
    if reading.counts:
        reading.read_as("OpenConfig")
    return reading


def _is_events(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("values"), dict) and "tags" in first


def _sources(value: Any, depth: int) -> Iterator[str]:
    """Yield the switches that responses of gnmic name."""
    if isinstance(value, list) and depth < _SOURCES_DEPTH:
        for entry in value:
            yield from _sources(entry, depth + 1)
    elif isinstance(value, dict):
        tags = value.get("tags")
        source = tags.get("source") if isinstance(tags, dict) else value.get("source")
        if source is not None and (value.get("updates") or value.get("values")):
            yield _host(str(source))


def _at(reading: Reading, source: str, line: int | None, moment: Any, *, is_one: bool) -> None:
    """Set switch and moment of the next counters; with several switches, the switch is a prefix of ports."""
    if not is_one:
        reading.scope = f"{_host(source)}:" if source else ""
    elif source:
        reading.at(_host(source), line)
    reading.moment = moment if isinstance(moment, int) and not isinstance(moment, bool) else None


def _read_events(reading: Reading, events: Sequence[Any], *, is_one: bool) -> None:
    """Read events of gnmic: each has tags, keys of paths among them, and values by their path.

    Raises:
        MeasuredError: A known counter has no number, or two at one moment.
    """
    for event in events:
        tags = event.get("tags") if isinstance(event, dict) else None
        values = event.get("values") if isinstance(event, dict) else None
        tags = {str(name): str(value) for name, value in tags.items()} if isinstance(tags, dict) else {}
        source = tags.get("source", "")
        moment = event.get("timestamp") if isinstance(event, dict) else None
        _at(reading, source, line_of(reading.document, (source,)), moment, is_one=is_one)
        for path, value in values.items() if isinstance(values, dict) else ():
            names = [name for name, _ in _steps(str(path))]
            steps = tuple((name, key) for name, key in _tagged(names, tags))
            if _is_counter(steps):
                reading.take(_place(steps, tags), _name(steps), value, (*tags.values(), str(path)))


def _tagged(names: Sequence[str], tags: Mapping[str, str]) -> Iterator[_Step]:
    """Yield the steps of a path with the keys that tags have: `interface_name` is `name` of `interface`."""
    for name in names:
        keys = [value for tag, value in tags.items() if tag.startswith(f"{name}_") and tag not in _META]
        yield name, ":".join(keys)


def _place(steps: Sequence[_Step], tags: Mapping[str, str]) -> str:
    """Return the name of an object by its keys, and by tags that are no key of its path."""
    keys = [key for _, key in steps if key]
    key_prefixes = tuple(f"{name}_" for name, _ in steps)
    others = [
        f"{tag}={value}"
        for tag, value in tags.items()
        if tag not in _META and not tag.startswith(key_prefixes)
    ]
    return ":".join((*keys, *others)) or "-"


def _host(source: str) -> str:
    """Return the host of an address of gNMI, without its port."""
    host, colon, port = source.rpartition(":")
    return host if colon and port.isdecimal() and host else source


def has_flat(document: Document) -> bool:
    """Return whether a text has a line of gnmic's format `flat`."""
    return any(_FLAT.fullmatch(line.text) for line in document.lines)


def read_flat(document: Document) -> Reading:
    """Read lines of `PATH: VALUE`; with several targets each has `[TARGET]` before it.

    Raises:
        MeasuredError: A known counter has no number or two values, or there are several switches.
    """
    reading = Reading(document, "openconfig")
    matches = [(line, match) for line in document.lines if (match := _FLAT.fullmatch(line.text))]
    is_one = len({_host(match[1]) for _, match in matches if match[1]}) < 2
    for line, match in matches:
        if line.number == len(document.lines):
            reading.notes.append(f"line {line.number}: the last line has no end and may be cut off: left out")
            continue
        _at(reading, match[1] or "", line.number, None, is_one=is_one)
        steps = tuple(_steps(match[2]))
        if _is_counter(steps):
            object_name = ":".join(key for _, key in steps if key) or "-"
            reading.add(object_name, _name(steps), match[3].strip().strip('"'), line.number)
    if reading.counts:
        reading.read_as("OpenConfig")
    return reading


def _walk(reading: Reading, value: Any, path: tuple[_Step, ...], since: str, *, is_one: bool = True) -> None:
    if len(path) > _DEPTH_MAX:
        raise reading.document.error(None, f"more than {_DEPTH_MAX} levels", "a tree of OpenConfig", HINT)
    if isinstance(value, list):
        for entry in value:
            inner = (*path[:-1], (path[-1][0], _key(entry))) if path else ()
            _walk(reading, entry, inner, since, is_one=is_one)
    elif isinstance(value, dict):
        _walk_object(reading, value, path, since, is_one=is_one)
    elif _is_counter(path):
        object_name = ":".join(key for _, key in path if key) or "-"
        reading.take(
            object_name,
            _name(path),
            value,
            [part for name, key in path for part in (key, name) if part],
            since,
        )


def _walk_object(
    reading: Reading, value: dict[str, Any], path: tuple[_Step, ...], since: str, *, is_one: bool
) -> None:
    if isinstance(source := value.get("source"), str) and "updates" in value:
        _at(reading, source, line_of(reading.document, (source,)), value.get("timestamp"), is_one=is_one)
    update_path = value.get("Path", value.get("path"))
    if isinstance(update_path, str):
        before = value.get("prefix")
        base = (*_steps(before if isinstance(before, str) else ""), *path, *_steps(update_path))
        inner = value.get("values", value.get("val"))
        inner = list(inner.values()) if "values" in value and isinstance(inner, dict) else [inner]
        for content_of_path in inner:
            _walk(reading, _unwrapped(content_of_path, base), base, since)
        return
    prefix = value.get("prefix")
    base = (*path, *_steps(prefix)) if isinstance(prefix, str) and not path else path
    cleared = value.get("last-clear")
    cleared = since if cleared in (None, "0", 0) else str(cleared)
    for name, content in value.items():
        bare = _MODULE.sub("", name)
        is_envelope = not path and bare in ("updates", "update", "notification", "notifications")
        _walk_entries(reading, content, base) if is_envelope else _walk(
            reading, content, (*base, (bare, "")), cleared
        )


def _walk_entries(reading: Reading, content: Any, path: tuple[_Step, ...]) -> None:
    for entry in content if isinstance(content, list) else [content]:
        _walk(reading, entry, path, "")


def _unwrapped(value: Any, path: Sequence[_Step]) -> Any:
    """Return the value without an object that repeats the last name of its path, as SONiC's responses do."""
    if isinstance(value, dict) and len(value) == 1 and path:
        (name, content), *_ = value.items()
        if _MODULE.sub("", name) == path[-1][0]:
            return content
    return value


def _steps(path: str) -> Iterator[_Step]:
    """Yield the steps of a path such as `openconfig-interfaces:interfaces/interface[name=Eth1/1]/state`."""
    for match in _STEP.finditer(_MODULE.sub("", path, count=1) if path.startswith("openconfig:") else path):
        keys = (re.sub(r"\\(.)", r"\1", key) for key in _KEY.findall(match[2]))
        if bare := _MODULE.sub("", match[1]):
            yield bare, ":".join(keys)


def _key(entry: Any) -> str:
    """Return the key of an entry of a list; empty without one."""
    if not isinstance(entry, dict):
        return ""
    for holder in (entry, entry.get("state"), entry.get("config")):
        for name, value in holder.items() if isinstance(holder, dict) else ():
            if _MODULE.sub("", name) in _KEYS and isinstance(value, str | int):
                return str(value)
    return ""


def _is_counter(path: Sequence[_Step]) -> bool:
    names = [name for name, _ in path]
    if not names or names[-1] in _NO_COUNTERS:
        return False
    holders = names[:-1]
    return "counters" in holders or "statistics" in holders or holders[-2:] == ["queue", "state"]


def _name(path: Sequence[_Step]) -> str:
    """Return the path of a counter without keys, from the root if known."""
    return _full("/" + "/".join(name for name, _ in path))


@cache
def _full(bare: str) -> str:
    """Return a path from the root: the first at which it is a known counter, or else is next to one."""
    for root in _ROOTS:
        if definition("openconfig", f"{root}{bare}"):
            return f"{root}{bare}"
    holder = bare.rpartition("/")[0]
    return next((f"{root}{bare}" for root in _ROOTS if f"{root}{holder}" in _holders()), bare)


@cache
def _holders() -> frozenset[str]:
    """Return the containers of the known counters."""
    return frozenset(
        counter.vendor_name.rpartition("/")[0] for counter in counters() if counter.family == "openconfig"
    )
