"""`read` reads the counters of a switch or a host from a file, by the parser of the detected file format."""

from __future__ import annotations

import re
from typing import Any, Final

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.file_text.json_fields import documents
from fabricbench.measured.switches import host_text, openconfig, sonic_json, sonic_text, unsupported_tables
from fabricbench.measured.switches.model import HINT, Reading

MAX_FILE_BYTES: Final = 64 << 20
"""Most bytes of a file: a dump of COUNTERS_DB has some 2 KB for each queue."""
FORMS: Final = (
    "tables of SONiC (show interfaces counters, pfc counters, queue counters), its COUNTERS_DB, JSON of "
    "OpenConfig, or of a host `ethtool -S`, `rdma statistic` and hw_counters"
)
_FORMS_HINT: Final = (
    "docs/counters.md says what can be read and how to get it; what a counter of an adapter counts, "
    "`fabricbench counters NAME` says"
)
_JSON: Final = re.compile(r"^[\[{]", re.MULTILINE)
_END: Final = re.compile(r"^[\]}]\s*$", re.MULTILINE)


def read(name: str, data: bytes) -> Reading:
    """Read a file.

    Args:
        name: Its name in errors.
        data: Its bytes, perhaps packed by gzip.

    Raises:
        MeasuredError: It has no readable counters, has those of several switches, or is cut off.
    """
    document = Document.decoded(name, data, FORMS, _FORMS_HINT, MAX_FILE_BYTES)
    begin = _JSON.search(document.text)
    is_json = document.text.lstrip()[:1] in ("{", "[") and not openconfig.has_flat(document)
    has_table = not is_json and sonic_text.has_table(document)
    if begin is None or has_table or openconfig.has_flat(document):
        reading = _text(document)
        foreign_format = unsupported_tables.of_text(document)
    else:
        above = document.text[: begin.start()].strip().rpartition("\n")[2]
        document, values = _documents(document, begin.start())
        foreign_format = unsupported_tables.of_json(values)
        reading = (
            sonic_json.read(document, values, above)
            or host_text.read_json(document, values)
            or (None if foreign_format else openconfig.read(document, values))
        )
    if foreign_format is not None and (reading is None or not reading.counts or reading.kind == "switch"):
        raise document.error(None, foreign_format.name, FORMS, foreign_format.hint)
    if reading is None or not reading.counts:
        omission = f" ({reading.notes[0]})" if reading and reading.notes else ""
        raise document.error(None, f"no counters{omission}", FORMS, _FORMS_HINT)
    return reading


def _text(document: Document) -> Reading | None:
    """Read a text by the parser of its format: tables of SONiC, counters of a host, or lines of gnmic."""
    if openconfig.has_flat(document):
        return openconfig.read_flat(document)
    if sonic_text.has_table(document):
        reading = sonic_text.read(document)
        if reading.counts:
            return reading
        return host_text.read(document) or reading
    return host_text.read(document)


def _documents(document: Document, start: int) -> tuple[Document, list[Any]]:
    """Parse JSON without the lines of a command's output before and after it."""
    ends = [match.end() for match in _END.finditer(document.text, start)]
    end = ends[-1] if ends else len(document.text)
    if _JSON.search(document.text, end):
        end = len(document.text)  # another document, which is cut off
    text = "\n" * document.text.count("\n", 0, start) + document.text[start:end]
    inner = Document(document.name, text)
    try:
        return inner, documents(inner, has_names_once=True)
    except MeasuredError as error:
        raise document.error(error.line, error.found, error.expected, HINT) from error
