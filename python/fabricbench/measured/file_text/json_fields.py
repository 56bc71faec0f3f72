"""`Fields`: an object of a JSON document, with getters whose errors name the path of a field.

`documents` and `documents_and_lines` parse the JSON documents of a file, one after another.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import Document, shown

_MAX_DEPTH_ERRORS = (RecursionError, ValueError)
HINT = "the file may be cut off or edited: take the benchmark's own JSON file"
DOCUMENTS_MAX = 100_000
_INTEGER_MAX = (1 << 63) - 1
_NO_SPACE = re.compile(r"\S")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def documents(document: Document, *, has_names_once: bool = False) -> list[Any]:
    """Parse the JSON documents of a file, one after another: perftest appends to its file.

    Args:
        document: The file.
        has_names_once: An object that has a name twice, with other contents, is refused.

    Raises:
        MeasuredError: It is no JSON; the error names the line.
    """
    hook = _unique_names if has_names_once else None
    return [value for _, value in documents_and_lines(document, hook)]


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise ValueError(f"{shown(name)} twice in one object, with other contents")
    return values


def documents_and_lines(
    document: Document,
    hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None,
    *,
    cut: list[str] | None = None,
) -> list[tuple[int, Any]]:
    """Parse the JSON documents of a file, each with the number of the line where it begins.

    Args:
        document: The file.
        hook: Makes an object of its names and values; its ValueError refuses the file.
        cut: Receives a warning if the last line is incomplete, which is then left out; none to refuse.

    Raises:
        MeasuredError: It is no JSON; the error names the line.
    """
    decoder, text, index = (
        json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=hook),
        document.text,
        _skipped(document.text, 0),
    )
    documents_of_file, line, counted = [], 1, 0
    try:
        while index < len(text):
            line, counted = line + text.count("\n", counted, index), index
            value, index = decoder.raw_decode(text, index)
            documents_of_file.append((line, value))
            if len(documents_of_file) > DOCUMENTS_MAX:
                most = f"{DOCUMENTS_MAX:,}"
                raise document.error(
                    None, f"more than {most} JSON documents", f"at most {most}", "split the file"
                )
            index = _skipped(text, index)
    except json.JSONDecodeError as error:
        if cut is not None and documents_of_file and "\n" not in text[index:] and text[index - 1] == "\n":
            cut.append(f"{document.name}:{error.lineno}: the file ends in this line, which is left out")
            return documents_of_file
        excerpt = error.doc[error.pos : error.pos + 20].split("\n")[0] or "the end of the line"
        raise document.error(error.lineno, shown(excerpt), f"JSON ({error.msg})", HINT) from error
    except _MAX_DEPTH_ERRORS as error:
        raise document.error(
            line, f"JSON that cannot be read ({error})", "plain numbers, not too deep", HINT
        ) from error
    _require_characters(document, documents_of_file)
    return documents_of_file


def _skipped(text: str, index: int) -> int:
    """Return the index of the next character that is no space."""
    match = _NO_SPACE.search(text, index)
    return match.start() if match else len(text)


def _require_characters(document: Document, documents_of_file: Sequence[tuple[int, Any]]) -> None:
    """Refuse halves of surrogate pairs, which JSON can express and UTF-8 cannot.

    Raises:
        MeasuredError: There is one.
    """
    if not _SURROGATE.search(document.text):
        return
    for line, value in documents_of_file:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half_character = f"half of a character, {shown(error.object[error.start : error.end])}"
            raise document.error(line, half_character, "whole characters", HINT) from error


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


class Fields:
    """An object of a JSON document and its path."""

    def __init__(self, document: Document, value: Any, path: str, line: int | None = None) -> None:
        """Store a value that must be an object.

        Raises:
            MeasuredError: It is none.
        """
        self._document = document
        self.path = path
        self._line = line
        if not isinstance(value, dict):
            raise self._error("", value, "an object")
        self.value: dict[str, Any] = value

    def _error(self, name: str, value: Any, expected: str) -> MeasuredError:
        path = ".".join(part for part in (self.path, name) if part) or "the document"
        shown_value = "nothing" if value is None else shown(json.dumps(value, default=str))
        line = self._line or self._line_of(name)
        return self._document.error(line, f"{shown_value} at {path}", expected, HINT)

    def _line_of(self, name: str) -> int | None:
        """Return the line of the first occurrence of a name, which may be another field of that name."""
        position = self._document.text.find(f'"{name}"') if name else 0
        return None if position < 0 else self._document.text.count("\n", 0, position) + 1

    def object(self, name: str) -> Fields:
        """Return an object."""
        return Fields(self._document, self.value.get(name), f"{self.path}.{name}".lstrip("."), self._line)

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.value.get(name)
        if not isinstance(value, list):
            raise self._error(name, value, "a list")
        return value

    def number(self, name: str) -> float:
        """Return a number of 0 or more."""
        value = self.value.get(name)
        # An integer may be too large for a float.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _INTEGER_MAX:
            raise self._error(name, value, "a number of 0 or more")
        return float(value)

    def integer(self, name: str) -> int:
        """Return a whole number of 0 or more."""
        value = self.value.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _INTEGER_MAX:
            raise self._error(name, value, "a whole number of 0 or more")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return a text, or the default if there is none."""
        value = self.value.get(name)
        return value if isinstance(value, str) else default

    def scalars(self, left_out: Sequence[str] = ()) -> dict[str, float | int | str]:
        """Return the plain numbers and short texts of the object."""
        return {
            str(name)[:80]: value if not isinstance(value, str) else value[:200]
            for name, value in self.value.items()
            if name not in left_out
            and isinstance(value, int | float | str)
            and not isinstance(value, bool)
            and (not isinstance(value, float) or math.isfinite(value))
            and (not isinstance(value, int) or abs(value) <= _INTEGER_MAX)
        }
