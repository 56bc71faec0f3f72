"""`read` reads a file of measured results with the parser of its format, and checks it.

It detects the format of texts and JSON, refuses files of known tools that are not imported, separates runs
that differ in a setting, and adds warnings about omitted rows and unused options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

from fabricbench.measured.benchmarks import imb, nccom, osu, perftest, perftest_json, unsupported_tools
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import FORMATS_HINT, Document, is_elided
from fabricbench.measured.file_text.json_fields import documents_and_lines
from fabricbench.measured.model import Reading, Table, UserFacts
from fabricbench.measured.nccl_logs import inspector, ras_report
from fabricbench.measured.nccl_logs.log_lines import has_choices
from fabricbench.measured.nccl_tests import json_output, output, rccl_records
from fabricbench.measured.runs import separated
from fabricbench.measured.switches import unsupported_tables

_TEXT: Mapping[str, ModuleType] = {module.NAME: module for module in (output, perftest, osu, imb, nccom)}
FORMATS = (*_TEXT, inspector.NAME)
"""Names of the formats; nccl-tests and perftest have a text and a JSON form, NCCL Inspector only JSON."""
NAMES = (
    "nccl-tests (nccl_version, results), perftest (test_info, results) or NCCL Inspector (header, coll_perf)"
)
_JSON = re.compile(r"\s*(?:\{|\[\s*\{)")
_RAS = "NCCL's RAS report, in which there are no times"
_WARNINGS_MAX = 50
_LEFT_OUT_MAX = 4
_LOG_HINT = "import the output of nccl-tests, where such lines may stand, or of NCCL Inspector, with times"


def read(
    name: str, data: bytes, format_name: str | None = None, user_facts: UserFacts | None = None
) -> Reading:
    """Read a file.

    Args:
        name: Its name in errors.
        data: Its bytes.
        format_name: One of `FORMATS`; detected by default.
        user_facts: Ranks and benchmark given by the user, for outputs without them.

    Raises:
        MeasuredError: It is not the output of a supported benchmark, or a line of it is malformed.
    """
    document = Document.decoded(name, data)
    if format_name is not None and format_name not in FORMATS:
        expected = ", ".join(FORMATS)
        raise MeasuredError(
            name, None, f'format "{format_name}"', expected, "leave --format out to detect it"
        )
    user_facts = user_facts or UserFacts()
    read_as = _json if _JSON.match(document.text) else _text
    reading = read_as(document, format_name, user_facts)
    rows = sum(len(table.rows) for table in reading.tables)
    document.require_rows([table.rows for table in reading.tables])
    if not rows:
        left_out = f"; left out: {'; '.join(reading.warnings[:_LEFT_OUT_MAX])}" if reading.warnings else ""
        raise document.error(
            None,
            f"no result of {reading.format}{left_out}",
            "rows of a table",
            _format_hint(document, reading.format),
        )
    warnings = [
        *reading.warnings,
        *_elided(document, reading),
        *_unused_ranks(document, reading.tables, user_facts),
    ]
    tables = separated(document, reading.tables)
    return replace(reading, tables=tables, warnings=_first(document, warnings))


def _first(document: Document, warnings: Sequence[str]) -> list[str]:
    """Return the first `_WARNINGS_MAX` warnings, and one that counts the others."""
    more = len(warnings) - _WARNINGS_MAX
    omission = [f"{document.name}: and {more:,} warnings like these"] if more > 0 else []
    return [*warnings[:_WARNINGS_MAX], *omission]


def _elided(document: Document, reading: Reading) -> Iterator[str]:
    """Yield a warning for each table in which a line of dots replaces omitted rows."""
    if document.text.lstrip().startswith("{"):
        return
    dots = [line.number for line in document.lines if is_elided(line.text)]
    starts = [table.line for table in reading.tables]
    for table, end in zip(reading.tables, [*starts[1:], len(document.lines) + 1], strict=True):
        last = max((row.line for row in table.rows), default=table.line)
        gaps = [number for number in dots if table.line < number < end and number <= last + 1]
        if gaps:
            yield f"{document.name}:{gaps[0]}: rows of the table are left out here; the others are read"


def _matching_formats(document: Document) -> list[str]:
    """Return the formats that have a table in a text."""
    return [name for name, module in _TEXT.items() if module.is_output(document)]


def _format_hint(document: Document, format_name: str) -> str:
    """Return a hint that names the detected format, if it is not the chosen one."""
    others = [] if document.text.lstrip().startswith("{") else _matching_formats(document)
    others = [name for name in others if name != format_name]
    return f"it looks like {others[0]}: --format {others[0]}" if others else FORMATS_HINT


def _unused_ranks(document: Document, tables: Sequence[Table], user_facts: UserFacts) -> Iterator[str]:
    """Yield a warning if the output itself has a number of ranks, and the user gives another."""
    stated_ranks = sorted({table.ranks for table in tables} - {user_facts.ranks})
    if user_facts.ranks and stated_ranks:
        counts = ", ".join(map(str, stated_ranks))
        yield f"{document.name}: --ranks {user_facts.ranks} is not taken where the output says {counts}"


def _text(document: Document, format_name: str | None, user_facts: UserFacts) -> Reading:
    formats = _matching_formats(document)
    if format_name in (None, output.NAME) and rccl_records.is_csv(document):
        tables, warnings = rccl_records.read(document, user_facts)
        return Reading(output.NAME, tables, warnings, document.text)
    if not formats:
        _refuse_by_name(document)
    if not formats and has_choices(document.lines):
        raise document.error(
            None,
            "NCCL's log of its tuning, in which there are no times",
            "the table of nccl-tests",
            _LOG_HINT,
        )
    selected = format_name or next(iter(formats), None)
    if selected is None or selected not in _TEXT:
        expected = (
            f"the output of {', '.join(_TEXT)}, with the heads of its tables, or JSON of {selected or NAMES}"
        )
        hint = _format_hint(document, selected or "")
        raise document.error(None, "no table of a benchmark that is known", expected, hint)
    tables, warnings = _TEXT[selected].read(document, user_facts)
    warnings += [
        f"{document.name}: its tables of {other} are not imported: import it again with --format {other}"
        for other in formats
        if tables and other != selected
    ]
    return Reading(selected, tables, warnings, document.text)


def _refuse_by_name(document: Document) -> None:
    """Refuse the output of a known tool that is not imported.

    Raises:
        MeasuredError: It is such an output.
    """
    if ras_report.is_output(document):
        raise document.error(None, _RAS, "the output of a benchmark", unsupported_tools.RAS_HINT)
    if foreign_format := unsupported_tables.of_text(document):
        raise document.error(
            None, foreign_format.name, ", ".join(_TEXT), f"`fabricbench counters`: {foreign_format.hint}"
        )
    if tool := unsupported_tools.tool_of(document):
        raise document.error(None, f"the output of {tool}", ", ".join(_TEXT), unsupported_tools.hint(tool))


def _json(document: Document, format_name: str | None, user_facts: UserFacts) -> Reading:
    try:
        (_, first), *_ = documents_and_lines(document, cut=[])
    except MeasuredError:
        if not perftest_json.is_unquoted(document):
            raise
        document = perftest_json.quoted(document)
        (_, first), *_ = documents_and_lines(document)
    if json_output.is_output(first) and format_name in (None, output.NAME):
        tables, warnings, text = json_output.read(document, user_facts)
        return Reading(output.NAME, tables, warnings, text)
    if perftest_json.is_output(first) and format_name in (None, perftest.NAME):
        tables, warnings = perftest_json.read(document, user_facts)
        return Reading(perftest.NAME, tables, warnings, document.text)
    if inspector.is_output(first) and format_name in (None, inspector.NAME):
        tables, warnings = inspector.read(document, user_facts)
        return Reading(inspector.NAME, tables, warnings, document.text)
    if rccl_records.is_output(first) and format_name in (None, output.NAME):
        tables, warnings = rccl_records.read(document, user_facts)
        return Reading(output.NAME, tables, warnings, document.text)
    if nccom.is_report(first) and format_name in (None, nccom.NAME):
        tables, warnings = nccom.read_report(document, first, user_facts)
        return Reading(nccom.NAME, tables, warnings, document.text)
    if ras_report.is_json(first):
        raise document.error(1, _RAS, f"the JSON of {NAMES}", unsupported_tools.RAS_HINT)
    if tool := unsupported_tools.tool_of_json(first):
        raise document.error(1, f"the JSON of {tool}", f"the JSON of {NAMES}", unsupported_tools.hint(tool))
    keys = (
        ", ".join(str(key)[:40] for key in list(first)[:5])
        if isinstance(first, dict)
        else json.dumps(first)[:40]
    )
    expected = f"the JSON of {NAMES}"
    raise document.error(1, f"JSON with {keys or 'nothing'}", expected, FORMATS_HINT)
