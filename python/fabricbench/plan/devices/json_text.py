"""Reads JSON files of devices: plain values, an error for a repeated key, the line of each key on request."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn

from fabricbench.inputs import read_input
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.errors import Place, PlanError, Problem

FILE_BYTES_MAX: Final = 16 << 20
"""Largest file [bytes]: a chassis with every table has some megabytes."""
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


@dataclass(frozen=True)
class JsonText:
    """A JSON file.

    Attributes:
        source: Its name in errors.
        text: Its text.
        data: Its content.
        sha256: Digest of its bytes.
    """

    source: str
    text: str
    data: dict[str, Any]
    sha256: str

    def place(self, path: Sequence[str]) -> Place:
        """Return the location of a key, or of its nearest parent."""
        for end in range(len(path), 0, -1):
            if (line := self.lines.get(tuple(path[:end]))) is not None:
                return Place(self.source, line, 1)
        return Place(self.source)

    @cached_property
    def lines(self) -> dict[tuple[str, ...], int]:
        """The line of each key, by the keys from the top to it; lists have none."""
        lines: dict[tuple[str, ...], int] = {}
        for key, line in _keys(self.text):
            lines.setdefault(key, line)
        return lines


def _keys(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each key of a JSON text with its line, as the path of keys and list indices from the top."""
    path: list[str] = []
    is_mapping: list[bool] = []
    line, last, is_key = 1, 0, False
    for match in _TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last, token = match.start(), match[0]
        if token in "{[":
            is_mapping.append(token == "{")
            path.append("0")
            is_key = token == "{"
        elif token in "}]":
            is_mapping.pop()
            path.pop()
        elif token == ",":
            is_key = is_mapping[-1]
            if not is_key:
                path[-1] = str(int(path[-1]) + 1)
        elif is_key and token != ":":
            path[-1] = json.loads(token)
            yield tuple(path), line
            is_key = False


def content_of(path: Path, source: str) -> bytes:
    """Return the bytes of a file of a device.

    Raises:
        PlanError: It cannot be read, or is too large.
    """
    try:
        content = read_input(path, FILE_BYTES_MAX)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PlanError([Problem(Place(source), "", f"a file that cannot be read: {reason}")]) from error
    if len(content) > FILE_BYTES_MAX:
        raise PlanError([Problem(Place(source), "", "a larger file", f"at most {FILE_BYTES_MAX} bytes")])
    return content


def text_of(content: bytes, source: str) -> str:
    """Decode the bytes of a file of a device.

    Raises:
        PlanError: They are no UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        actual = f"the byte 0x{content[error.start]:02x}, which is not UTF-8"
        raise PlanError([Problem(Place(source, line, 1), "", actual, "UTF-8 text")]) from error


def json_of(content: bytes, source: str) -> JsonText:
    """Read the bytes of a JSON file.

    Raises:
        PlanError: They are no JSON mapping, or a key is repeated.
    """
    text = text_of(content, source)
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        location = Place(source, error.lineno, error.colno)
        raise PlanError([Problem(location, "", f"text that is no JSON: {error.msg}", "JSON")]) from error
    except UnicodeEncodeError as error:
        actual = "an escape of half a surrogate pair"
        raise PlanError([Problem(Place(source), "", actual, "text")]) from error
    except _TwiceError as error:
        raise PlanError([_twice(text, source)]) from error
    except (ValueError, RecursionError) as error:
        actual = str(error) if type(error) is ValueError else "values nested too deeply"
        raise PlanError([Problem(Place(source), "", actual, "JSON, each key once")]) from error
    if not isinstance(data, dict):
        raise PlanError([Problem(Place(source, 1, 1), "", "no mapping at the top", "tables by their names")])
    return JsonText(source, text, data, hashlib.sha256(content).hexdigest())


class _TwiceError(ValueError):
    """A mapping has a key twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _TwiceError
    return mapping


def _twice(text: str, source: str) -> Problem:
    """Return the problem of a text with a key twice in one mapping."""
    lines: dict[tuple[str, ...], int] = {}
    for key, line in _keys(text):
        if key in lines:
            actual = f"the key {shorten(key[-1])} twice in one mapping, first in line {lines[key]}"
            return Problem(Place(source, line, 1), "", actual, "each key once")
        lines[key] = line
    return Problem(Place(source), "", "a key twice in one mapping", "each key once")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name}, which is no number")
