"""A file of measured results, read by the parser of its format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

from fabricbench.measured import imb, nccl, nccl_json, osu, perftest, perftest_json
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.json_text import documents
from fabricbench.measured.model import Given, Reading, Table
from fabricbench.measured.text import FORMATS_HINT, MAX_ROWS, Document

FORMATS: Mapping[str, ModuleType] = {module.NAME: module for module in (nccl, perftest, osu, imb)}
"""The formats by their names; nccl-tests and perftest have a text and a JSON form."""


def read(name: str, data: bytes, format_name: str | None = None, given: Given | None = None) -> Reading:
    """Read a file.

    Args:
        name: What to call it in errors.
        data: Its bytes.
        format_name: One of `FORMATS`; by default the one that it looks like.
        given: What its output does not say.

    Raises:
        MeasuredError: It is not the output of a benchmark that is known, or a line of it is malformed.
    """
    document = Document.decoded(name, data)
    if format_name is not None and format_name not in FORMATS:
        expected = ", ".join(FORMATS)
        raise MeasuredError(
            name, None, f'format "{format_name}"', expected, "leave --format out to detect it"
        )
    known = given or Given()
    read_as = _json if document.text.lstrip().startswith("{") else _text
    reading = read_as(document, format_name, known)
    rows = sum(len(table.rows) for table in reading.tables)
    if rows > MAX_ROWS:
        raise document.error(None, f"{rows:,} results or more", f"at most {MAX_ROWS:,}", "split the file")
    if not rows:
        left_out = f"; left out: {reading.warnings[0]}" if reading.warnings else ""
        raise document.error(
            None, f"no result of {reading.format}{left_out}", "rows of a table", FORMATS_HINT
        )
    return replace(reading, warnings=[*reading.warnings, *_unused_ranks(document, reading.tables, known)])


def _unused_ranks(document: Document, tables: Sequence[Table], given: Given) -> Iterator[str]:
    """Yield a warning where the output itself says how many ranks there are, and the user another number."""
    said = sorted({table.ranks for table in tables} - {given.ranks})
    if given.ranks and said:
        counts = ", ".join(map(str, said))
        yield f"{document.name}: --ranks {given.ranks} is not taken where the output says {counts}"


def _text(document: Document, format_name: str | None, given: Given) -> Reading:
    found = format_name or next((name for name, each in FORMATS.items() if each.is_output(document)), None)
    if found is None:
        expected = f"the output of {', '.join(FORMATS)}, with the heads of its tables"
        raise document.error(None, "no table of a benchmark that is known", expected, FORMATS_HINT)
    tables, warnings = FORMATS[found].read(document, given)
    return Reading(found, tables, warnings, document.text)


def _json(document: Document, format_name: str | None, given: Given) -> Reading:
    first = documents(document)[0]
    if nccl_json.is_output(first) and format_name in (None, nccl.NAME):
        tables, warnings, text = nccl_json.read(document, given)
        return Reading(nccl.NAME, tables, warnings, text)
    if perftest_json.is_output(first) and format_name in (None, perftest.NAME):
        tables, warnings = perftest_json.read(document, given)
        return Reading(perftest.NAME, tables, warnings, document.text)
    keys = ", ".join(list(first)[:5]) if isinstance(first, dict) else json.dumps(first)[:40]
    expected = "the JSON of nccl-tests (nccl_version, results) or perftest (test_info, results)"
    raise document.error(1, f"JSON with {keys or 'nothing'}", expected, FORMATS_HINT)
