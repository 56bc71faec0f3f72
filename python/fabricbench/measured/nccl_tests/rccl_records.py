"""Parser of files of rccl-tests (`--output_file`): a record for each result, as JSON lines, a list, or CSV.

`is_output` and `is_csv` detect them, `read` returns their tables. Sizes are data sizes, times microseconds
and GB/s 1e9 bytes/s, as in the table. The case of field names is ignored. Ranks are `gpus`, or `ranks` times
`gpusPerRank`; a record whose bandwidths do not follow from size, time and ranks is refused.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabricbench.measured.file_text.document import RANKS_HINT, Document, shown
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.json_fields import documents_and_lines
from fabricbench.measured.model import Row, Table, UserFacts, Value
from fabricbench.measured.nccl_tests.bandwidth_check import KINDS, Kind, factor_of
from fabricbench.measured.nccl_tests.output import collective_of

_NEEDED: Final = ("size", "time", "algbw", "busbw", "inplace")
_NAMES: Final = ("name", "collective", "coll")
_HEAD: Final = re.compile(r"[\w #,\"]*\bsize\b[\w #,\"]*\balgbw\b[\w #,\"]*", re.IGNORECASE)
_PLACEMENTS: Final = {"0": "out-of-place", "1": "in-place", "false": "out-of-place", "true": "in-place"}
_VALUE_FIELDS: Final = ("type", "redop", "root", "numcycle", "nodes")
_HINT: Final = (
    "the record may be cut off or edited: take the file that rccl-tests wrote, or remove the record"
)

_Record = tuple[int, Mapping[str, str]]
"""A record with its line: fields by their names in small letters, as text."""


def is_output(content: Any) -> bool:
    """Return whether a JSON document is a record of rccl-tests, or a list of them."""
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and _is_record({str(name).lower() for name in first})


def is_csv(document: Document) -> bool:
    """Return whether a text begins with the head of rccl-tests' CSV."""
    first = next((line.text for line in document.lines if line.text.strip()), "")
    return bool(_HEAD.fullmatch(first)) and _is_record(set(_head(first)))


def _is_record(names: set[str]) -> bool:
    return names.issuperset(_NEEDED) and any(name in names for name in _NAMES)


def _head(text: str) -> list[str]:
    return [name.strip().lower() for name in next(csv.reader([text], skipinitialspace=True))]


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read every record of a file.

    Raises:
        MeasuredError: A record lacks a field, or its bandwidths do not follow from the rest.
    """
    is_json = document.text.lstrip()[:1] in ("{", "[")
    cut: list[str] = []
    records = _of_json(document, cut) if is_json else _of_csv(document)
    tables: dict[tuple[str, int], tuple[int, list[Row]]] = {}
    omitted_counts: dict[str, int] = {}
    for line, record in records:
        name = next((record[name_field] for name_field in _NAMES if record.get(name_field)), "")
        kind = KINDS.get(_plain(name))
        if kind is None:
            omitted_counts[name] = omitted_counts.get(name, 0) + 1
            continue
        ranks = _ranks(document, line, record, user_facts)
        row = _row(document, line, record, kind, ranks)
        tables.setdefault((kind.name, ranks), (line, []))[1].append(row)
        document.require_rows([rows for _, rows in tables.values()])
    warnings = [*cut]
    warnings += [
        f"{document.name}: {count:,} results of {shown(name)} are not imported: no bandwidth is known of it"
        for name, count in omitted_counts.items()
    ]
    return [
        Table(f"{name}_perf", collective_of(name), ranks, "data", line, rows)
        for (name, ranks), (line, rows) in tables.items()
    ], warnings


def _plain(name: str) -> str:
    """Return the name of nccl-tests for a collective: `AllReduce` and `all_reduce_perf` are `all_reduce`."""
    bare = re.sub(r"[^a-z]", "", name.lower().removesuffix("_perf"))
    return next((kind for kind in KINDS if kind.replace("_", "") == bare), bare)


def _of_json(document: Document, cut: list[str]) -> Iterator[_Record]:
    for line, content in documents_and_lines(document, cut=cut):
        for record in content if isinstance(content, list) else [content]:
            if not isinstance(record, dict) or not is_output(record):
                excerpt = shown(json.dumps(record, default=str))
                raise document.error(line, excerpt, "a record of rccl-tests", _HINT)
            yield line, {str(name).lower(): _text(value) for name, value in record.items()}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _of_csv(document: Document) -> Iterator[_Record]:
    lines = [line for line in document.lines if line.text.strip()]
    head = _head(lines[0].text)
    for line in lines[1:]:
        cells = [cell.strip() for cell in next(csv.reader([line.text], skipinitialspace=True))]
        names = [cell.lower() for cell in cells]
        if names == head:
            continue  # a file to which a second run was appended
        columns = head
        if len(cells) == len(head) + 1 and "ranks" in head and "nodes" not in head:
            # Builds with MPI leave the name of the first of four numbers out.
            ranks_index = head.index("ranks")
            columns = [*head[:ranks_index], "nodes", *head[ranks_index:]]
        if len(cells) != len(columns) or not cells[-1]:
            cells_text = f"{len([cell for cell in cells if cell])} cells in {shown(line.text.strip())}"
            raise document.error(line.number, cells_text, f"{len(head)}: {', '.join(head)}", _HINT)
        yield line.number, dict(zip(columns, cells, strict=True))


def _ranks(document: Document, line: int, record: Mapping[str, str], user_facts: UserFacts) -> int:
    gpus = _integer(document, line, record, "gpus")
    processes, gpus_per_process = (
        _integer(document, line, record, name) for name in ("ranks", "gpusperrank")
    )
    ranks = gpus or (processes * (gpus_per_process or 1) if processes else None) or user_facts.ranks
    if ranks is None:
        raise document.error(line, "no number of GPUs", "gpus, or ranks and gpusPerRank", RANKS_HINT)
    return ranks


def _integer(document: Document, line: int, record: Mapping[str, str], name: str) -> int | None:
    text = record.get(name, "")
    return document.integer(line, name, text) if text else None


def _row(document: Document, line: int, record: Mapping[str, str], kind: Kind, ranks: int) -> Row:
    size = document.integer(line, "size", record["size"])
    time, algbw, busbw = (document.number(line, name, record[name]) for name in ("time", "algbw", "busbw"))
    rate = size / time / 1e3 * factor_of(kind.algorithm_factor, ranks) if time else None
    if rate is not None:
        _require(document, line, "algBw", record["algbw"], rate, f"{size:,} bytes in {time:g} us have")
        _require_factor(document, line, record, kind, ranks)
    placement = _PLACEMENTS.get(record["inplace"].lower())
    if placement is None:
        raise document.error(line, f"{shown(record['inplace'])} at inPlace", "0 or 1", _HINT)
    wrong = record.get("#wrong", record.get("wrong", ""))
    values: dict[str, Value] = {name: record[name] for name in _VALUE_FIELDS if record.get(name)}
    values |= {"algbw": algbw, "busbw": busbw}
    return Row(
        line,
        size,
        time_us=time,
        placement=placement,
        wrong=None if wrong in ("", "N/A") else round(document.number(line, "#wrong", wrong)),
        values=values,
    )


def _require_factor(document: Document, line: int, record: Mapping[str, str], kind: Kind, ranks: int) -> None:
    """Refuse a bus bandwidth that is not algBw times the factor, within the digits of both.

    Raises:
        MeasuredError: It is not.
    """
    factor = factor_of(kind.factor, ranks) / factor_of(kind.algorithm_factor, ranks)
    expected_busbw = Interval.printed(record["algbw"]).times(factor)
    if not Interval.printed(record["busbw"]).meets(
        Interval(expected_busbw.low * (1 - _ROUNDED), expected_busbw.high * (1 + _ROUNDED))
    ):
        expected = (
            f"{(expected_busbw.low + expected_busbw.high) / 2:.6g}, as {kind.name} of {ranks:,} ranks has"
        )
        raise document.error(line, f"{record['busbw']} at busBw", expected, _HINT)


_ROUNDED: Final = 1e-4
_TOLERANCE: Final = 0.02
"""Fraction by which a bandwidth may differ from size over time: times are rounded before or after."""


def _require(document: Document, line: int, name: str, cell: str, value: float, reason: str) -> None:
    """Refuse a bandwidth that does not follow from the rest of a record.

    Raises:
        MeasuredError: It is not.
    """
    allowed = Interval(value * (1 - _TOLERANCE), value * (1 + _TOLERANCE))
    if not Interval.printed(cell).meets(allowed):
        raise document.error(line, f"{cell} at {name}", f"{value:.6g}, as {reason}", _HINT)
