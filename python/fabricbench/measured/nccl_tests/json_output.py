"""Parser of the JSON of nccl-tests (option `-J`): values of the text output with all digits (src/util.cu).

`is_output` detects it, `read` returns its tables. The file has the environment of the process; only NCCL's
own variables of it are stored, since the others may be secrets.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from fabricbench.measured.file_text.document import MAX_ROWS, Document
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.json_fields import HINT, Fields, documents
from fabricbench.measured.model import Row, Table, UserFacts, Value
from fabricbench.measured.nccl_tests.bandwidth_check import Evidence, Lead, Print
from fabricbench.measured.nccl_tests.collective import OutputFacts, identify
from fabricbench.measured.nccl_tests.header import library_version, machine_facts
from fabricbench.measured.nccl_tests.output import (
    BY_CPU_TIME,
    CPU_TIME,
    collective_of,
    is_by_cpu_time,
    of_whole,
)

_PUBLIC_PREFIXES = ("NCCL_",)
_PLACEMENTS = (("out_of_place", "out-of-place"), ("in_place", "in-place"))


def is_output(content: Any) -> bool:
    """Return whether a JSON document is one of nccl-tests."""
    return isinstance(content, dict) and "nccl_version" in content and "results" in content


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str], str]:
    """Read the results of a file.

    Returns:
        The tests, the warnings, and the text of the file without the environment.

    Raises:
        MeasuredError: A field is missing or is no number.
    """
    contents = documents(document)
    warnings: list[str] = []
    tables = [_table(document, Fields(document, content, ""), user_facts, warnings) for content in contents]
    public_text = "\n".join(json.dumps(_public(content), indent=1) for content in contents)
    return [table for table in tables if table.rows], warnings, public_text


def _public(content: dict[str, Any]) -> dict[str, Any]:
    variables = content.get("env")
    public_variables = (
        [variable for variable in variables if str(variable).startswith(_PUBLIC_PREFIXES)]
        if isinstance(variables, list)
        else []
    )
    return content | {"env": public_variables}


def _table(document: Document, fields: Fields, user_facts: UserFacts, warnings: list[str]) -> Table:
    arguments = _texts(fields, "args")
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
    evidence = Evidence([], [])
    iterations = config.value.get("iterations")
    rows = [
        row
        for index, each in enumerate(results)
        for row in _rows(Fields(document, each, f"results[{index}]"), index + 1, iterations, evidence)
    ]
    if any("cputime" in row.values for row in rows):
        warnings.append(f"{document.name}: {CPU_TIME}")
    if is_by_cpu_time(rows):
        warnings.append(f"{document.name}: {BY_CPU_TIME}")
    benchmark, ranks = _identified(document, arguments, config, devices, evidence, user_facts, warnings)
    return Table(
        benchmark,
        collective_of(benchmark),
        ranks,
        "data",
        1,
        of_whole(rows, benchmark, ranks),
        "",
        shlex.join(arguments)[:8000],
        _facts(fields, devices),
    )


def _texts(fields: Fields, name: str) -> list[str]:
    """Return the texts of a list; none if it is no list."""
    value = fields.value.get(name)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _identified(
    document: Document,
    arguments: Sequence[str],
    config: Fields,
    devices: Sequence[Fields],
    evidence: Evidence,
    user_facts: UserFacts,
    warnings: list[str],
) -> tuple[str, int]:
    """Return the benchmark and the ranks; they are not checked for a file without results."""
    name = arguments[0].rsplit("/", 1)[-1].removesuffix("_mpi") if arguments else ""
    groups = len({str(device.value.get("group")) for device in devices}) or 1
    stated = OutputFacts(None, benchmark=name, listed=_listed(config, devices), groups=groups)
    if not evidence.prints:
        return name, stated.listed or 1
    return identify(document, evidence, stated, user_facts, warnings)


def _listed(config: Fields, devices: Sequence[Fields]) -> int | None:
    """Return the number of ranks by the list of devices; none if it is empty.

    Of a process with several devices only the first is listed (writeDeviceReport in src/util.cu).
    """
    if not devices:
        return None
    group = str(devices[0].value.get("group"))
    of_group = [device.integer("rank") for device in devices if str(device.value.get("group")) == group]
    counts_of_process = [config.value.get(name) for name in ("nthreads", "ngpus")]
    threads, gpus = (
        number if isinstance(number, int) and 0 < number < 1 << 16 else 1 for number in counts_of_process
    )
    of_process = threads * gpus
    if len(set(of_group)) < len(of_group) or any(rank % of_process for rank in of_group):
        return len(of_group)
    return len(of_group) * of_process


def _facts(fields: Fields, devices: Sequence[Fields]) -> dict[str, Value]:
    hosts = list(dict.fromkeys(each.text("hostname") for each in devices if each.text("hostname")))
    gpus = [each.text("device_info").strip() for each in devices if each.text("device_info")]
    code = fields.value.get("nccl_version")
    library = library_version(code) if isinstance(code, int) and 0 < code < 10**7 else ""
    facts = machine_facts(hosts, gpus, library)
    variables = [each for each in _texts(fields, "env") if each.startswith(_PUBLIC_PREFIXES)]
    pairs = (each.partition("=") for each in variables[:64])
    facts |= {name[:80]: value[:200] for name, _, value in pairs}
    started = fields.text("start_time")
    return facts | ({"measured at": started} if started else {})


def _rows(fields: Fields, number: int, iterations: Any, evidence: Evidence) -> list[Row]:
    size = fields.integer("size")
    excluded_fields = ("size", "actual_iterations", "experiment_name")
    common = {
        name: value.strip() if isinstance(value, str) else value
        for name, value in fields.scalars(excluded_fields).items()
    }
    count = fields.value.get("actual_iterations", iterations)
    rows = []
    checked = [False, False]
    for index, (key, placement) in enumerate(_PLACEMENTS):
        if fields.value.get(key) is None:
            continue
        part = fields.object(key)
        time = "cpu_time" if "cpu_time" in part.value else "time"
        values = common | {"algbw": part.number("alg_bw"), "busbw": part.number("bus_bw")}
        wrong = None if part.value.get("nwrong") is None else round(part.number("nwrong"))
        checked[index] = wrong is not None
        is_timed = time == "time"
        if not is_timed:
            values["cputime"] = part.number(time)
        evidence.prints.append(_print(number, size, part, placement))
        low, high = _shortest_and_longest(fields, f"{key}_per_iter")
        rows.append(
            Row(
                number,
                size,
                part.number(time) if is_timed else None,
                low,
                high,
                # `cpu_time` is the busy time of the processor; the rate of the operation is alg_bw.
                None if is_timed else part.number("alg_bw"),
                placement,
                count if isinstance(count, int) and count > 0 else None,
                wrong,
                values,
            )
        )
    evidence.leads.append(_lead(fields, number, size, common, (checked[0], checked[1])))
    return rows


def _print(number: int, size: int, part: Fields, placement: str) -> Print:
    algbw, busbw = part.number("alg_bw"), part.number("bus_bw")
    time = Interval.written(part.number("time")) if "time" in part.value else None
    return Print(
        number,
        placement,
        size,
        time,
        Interval.written(algbw),
        Interval.written(busbw),
        (f"{algbw:.6f}", f"{busbw:.6f}"),
    )


def _lead(
    fields: Fields, number: int, size: int, common: Mapping[str, Value], checked: tuple[bool, bool]
) -> Lead:
    count = fields.integer("count") if "count" in fields.value else 0
    redop, root = common.get("redop"), common.get("root")
    return Lead(
        number,
        size,
        count,
        str(common.get("type", "")),
        None if redop is None else str(redop),
        None if root is None else str(root),
        checked,
    )


def _shortest_and_longest(fields: Fields, key: str) -> tuple[float | None, float | None]:
    if fields.value.get(key) is None:
        return None, None
    part = fields.object(key)
    return part.number("min_us"), part.number("max_us")
