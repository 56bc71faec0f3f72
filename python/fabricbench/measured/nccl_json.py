"""nccl-tests, as its option `-J` writes it: the values of the text with all their digits (src/util.cu).

The file has the environment of the process; of that only NCCL's own variables are kept, since the others may
be secrets.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from fabricbench.measured.json_text import HINT, Fields, documents
from fabricbench.measured.model import Given, Row, Table, Value
from fabricbench.measured.nccl import collective_of, library_version, machine_facts, rank_count, taken_ranks
from fabricbench.measured.text import MAX_ROWS, RANKS_HINT, Document, shown

_KEPT = ("NCCL_",)
_PLACEMENTS = (("out_of_place", "out-of-place"), ("in_place", "in-place"))


def is_output(content: Any) -> bool:
    """Tell whether a JSON document is one of nccl-tests."""
    return isinstance(content, dict) and "nccl_version" in content and "results" in content


def read(document: Document, given: Given) -> tuple[list[Table], list[str], str]:
    """Read the results of a file.

    Returns:
        The tests, what was left out, and the text of the file without the environment.

    Raises:
        MeasuredError: A field is missing or is no number.
    """
    contents = documents(document)
    warnings: list[str] = []
    tables = [_table(document, Fields(document, content, ""), given, warnings) for content in contents]
    kept = "\n".join(json.dumps(_public(content), indent=1) for content in contents)
    return [table for table in tables if table.rows], warnings, kept


def _public(content: dict[str, Any]) -> dict[str, Any]:
    variables = content.get("env")
    kept = [each for each in variables if str(each).startswith(_KEPT)] if isinstance(variables, list) else []
    return content | {"env": kept}


def _table(document: Document, fields: Fields, given: Given, warnings: list[str]) -> Table:
    arguments = [str(each) for each in fields.value.get("args", []) if isinstance(each, str)]
    results = fields.items("results")
    if len(results) > MAX_ROWS:
        raise document.error(None, f"{len(results):,} results", f"at most {MAX_ROWS:,}", HINT)
    config = fields.object("config")
    devices = [
        Fields(document, each, f"config.devices[{index}]")
        for index, each in enumerate(
            config.items("devices") if "devices" in config.value else fields.items("devices")
        )
    ]
    listed = rank_count([(each.integer("rank"), str(each.value.get("group"))) for each in devices])
    ranks = taken_ranks(document.name, listed, given, warnings)
    if ranks is None:
        raise document.error(None, "no device", "config.devices with one for each rank", RANKS_HINT)
    benchmark = _benchmark(arguments, given)
    if not benchmark:
        raise document.error(
            None, f"{shown(' '.join(arguments))} at args", "the program's name", "say it: --benchmark NAME"
        )
    iterations = config.value.get("iterations")
    rows = [
        row
        for index, each in enumerate(results)
        for row in _rows(Fields(document, each, f"results[{index}]"), index + 1, iterations)
    ]
    return Table(
        benchmark,
        collective_of(benchmark),
        ranks,
        "data",
        1,
        rows,
        "",
        shlex.join(arguments)[:8000],
        _facts(fields, devices),
    )


def _benchmark(arguments: Sequence[str], given: Given) -> str:
    name = arguments[0].rsplit("/", 1)[-1].removesuffix("_mpi") if arguments else ""
    return name or given.benchmark


def _facts(fields: Fields, devices: Sequence[Fields]) -> dict[str, Value]:
    hosts = list(dict.fromkeys(each.text("hostname") for each in devices if each.text("hostname")))
    gpus = [each.text("device_info").strip() for each in devices if each.text("device_info")]
    code = fields.value.get("nccl_version")
    library = library_version(code) if isinstance(code, int) and 0 < code < 10**7 else ""
    facts = machine_facts(hosts, gpus, library)
    variables = [str(each) for each in fields.value.get("env") or [] if str(each).startswith(_KEPT)]
    pairs = (each.partition("=") for each in variables[:64])
    facts |= {name[:80]: value[:200] for name, _, value in pairs}
    started = fields.text("start_time")
    return facts | ({"measured at": started} if started else {})


def _rows(fields: Fields, place: int, iterations: Any) -> list[Row]:
    size = fields.integer("size")
    left_out = ("size", "actual_iterations", "experiment_name")
    common = {
        name: value.strip() if isinstance(value, str) else value
        for name, value in fields.scalars(left_out).items()
    }
    count = fields.value.get("actual_iterations", iterations)
    rows = []
    for key, placement in _PLACEMENTS:
        if fields.value.get(key) is None:
            continue
        part = fields.object(key)
        time = "cpu_time" if "cpu_time" in part.value else "time"
        values = common | {"algbw": part.number("alg_bw"), "busbw": part.number("bus_bw")}
        wrong = None if part.value.get("nwrong") is None else round(part.number("nwrong"))
        low, high = _shortest_and_longest(fields, f"{key}_per_iter")
        rows.append(
            Row(
                place,
                size,
                part.number(time),
                low,
                high,
                None,
                placement,
                count if isinstance(count, int) and count > 0 else None,
                wrong,
                values,
            )
        )
    return rows


def _shortest_and_longest(fields: Fields, key: str) -> tuple[float | None, float | None]:
    if fields.value.get(key) is None:
        return None, None
    part = fields.object(key)
    return part.number("min_us"), part.number("max_us")
