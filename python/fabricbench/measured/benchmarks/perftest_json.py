"""Parser of the JSON of perftest (`--out_json`, `--out_json_file`): `is_output` detects it, `read` reads it.

Until 2023 names and texts have no quotation marks there, and each closing brace has a comma before it
(linux-rdma/perftest, issue 216); `is_unquoted` detects this form and `quoted` turns it into JSON.

The file lacks the unit of rates: MiB/s, or Gb/s with `--report_gbits`. Message rate times size is the rate in
bytes per second, which determines the unit.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fabricbench.measured.benchmarks import perftest
from fabricbench.measured.file_text.document import Document
from fabricbench.measured.file_text.json_fields import HINT, Fields, documents
from fabricbench.measured.model import Row, Table, UserFacts

_INFO_NAMES = {
    "Device": "nic",
    "Mtu": "mtu",
    "Link_type": "link type",
    "Connection_type": "connection type",
    "Transport_type": "transport type",
    "Number_of_qps": "queue pairs",
    "TX_depth": "tx depth",
    "GID_index": "gid index",
    "CQ_Moderation": "cq moderation",
    "Dual_port": "dual port",
}
_GEOMETRIC_MEAN = (perftest.MIB_PER_S * perftest.GBIT_PER_S) ** 0.5
_MEGA = 1e6


_UNQUOTED = re.compile(r"\s*\{\s*\"?test_info\"?\s*:")
_LINES_MAX = 100_000
_ITEM = re.compile(r'^(\s*)"?([A-Za-z][\w. ]{0,60}?)"?\s*:\s*(.*?)\s*,?\s*$')
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_COMMA = re.compile(r",(\s*[}\]])")


def is_unquoted(document: Document) -> bool:
    """Return whether a file of perftest may have names without quotation marks, or commas before braces."""
    return bool(_UNQUOTED.match(document.text)) and document.text.count("\n") < _LINES_MAX


def quoted(document: Document) -> Document:
    """Return a file of perftest as JSON with the same lines."""
    lines = [_quoted_line(line) for line in document.text.split("\n")]
    return Document(document.name, _COMMA.sub(r"\1", "\n".join(lines)))


def _quoted_line(line: str) -> str:
    item = _ITEM.match(line[:1000])
    if item is None:
        return line
    indent, name, value = item.groups()
    if value in ("{", "["):
        return f'{indent}"{name}": {value}'
    is_json = (
        _NUMBER.fullmatch(value) or value in ("null", "true", "false") or value.startswith(("{", "[", '"'))
    )
    return f'{indent}"{name}": {value if is_json else json.dumps(value)},'


def is_output(content: Any) -> bool:
    """Return whether a JSON document is one of perftest."""
    return isinstance(content, dict) and "test_info" in content and "results" in content


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read the results of a file with one or more documents.

    Raises:
        MeasuredError: A field is missing or is no number.
    """
    warnings: list[str] = []
    tables = [
        _table(document, Fields(document, content, ""), user_facts, warnings)
        for content in documents(document)
    ]
    return tables, warnings


def _table(document: Document, fields: Fields, user_facts: UserFacts, warnings: list[str]) -> Table:
    info = fields.object("test_info")
    title = info.text("test")
    listed = fields.value.get("results")
    results = listed if isinstance(listed, list) else [listed]
    parts = [Fields(document, result, "results") for result in results]
    is_rate = any("BW_average" in part.value for part in parts)
    benchmark = perftest.benchmark_of(
        title.replace("_BW", " BW").replace("_Latency", " Latency"), is_rate=is_rate
    )
    if not (benchmark or user_facts.benchmark):
        expected = 'a test such as "RDMA_Write_BW_Test"'
        raise document.error(None, f'"{title}" at test_info.test', expected, HINT)
    directions = 2 if "bidirectional" in title.lower() else 1
    scalars = info.scalars()
    facts = {name: scalars[key] for key, name in _INFO_NAMES.items() if key in scalars}
    rows = [_row(document, part, directions) for part in parts]
    if rows:
        position = f"{document.name}: {benchmark or user_facts.benchmark}"
        columns = [f"{name}[usec]" for name in parts[0].value]
        warnings += perftest.meanings(position, rows[0], columns, is_sum=directions > 1)
    return Table(
        benchmark or user_facts.benchmark,
        perftest.COLLECTIVE,
        perftest.RANKS,
        "message",
        1,
        rows,
        facts=facts,
        settings={_INFO_NAMES.get(key, key.lower().replace("_", " ")): str(scalars[key]) for key in scalars},
    )


def _row(document: Document, part: Fields, directions: int) -> Row:
    size, iterations = part.integer("MsgSize"), part.integer("n_iterations")
    if "BW_average" in part.value:
        average, unit = part.number("BW_average"), _unit(part, size)
        values = {f"BW average[{unit}]": average, "MsgRate[Mpps]": part.number("MsgRate")}
        if "BW_peak" in part.value:
            values[f"BW peak[{unit}]"] = part.number("BW_peak")
        return perftest.row_of(document, 1, size, iterations, values, directions)
    numbers = {
        f"{name}[usec]": part.number(name) for name in ("t_avg", "t_min", "t_max") if name in part.value
    }
    others = part.scalars(left_out=("MsgSize", "n_iterations", "t_avg", "t_min", "t_max"))
    numbers |= {f"{name}[usec]": part.number(name) for name in others}
    return perftest.row_of(document, 1, size, iterations, numbers, directions)


def _unit(part: Fields, size: int) -> str:
    """Return the unit of the rates: the one that agrees with the message rate."""
    average, messages = part.number("BW_average"), part.number("MsgRate")
    gb_per_s = messages * _MEGA * size / 1e9
    return "Gb/sec" if average and gb_per_s / average > _GEOMETRIC_MEAN else "MiB/sec"
