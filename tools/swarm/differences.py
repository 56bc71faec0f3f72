"""Other ways of the same run, which have to give the same tables, and changes whose effect is known."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from tools.swarm.record import FRAME_OVERHEAD_BYTES, MACHINE_FACTS, Record, Violation, run_trial

import fabricbench as fb
from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.registry import get_backend
from fabricbench.metrics import OF_ALL_ROWS
from fabricbench.runner import loading

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from fabricbench.backend.protocol import Progress
    from fabricbench.plan._run_spec import RunSpec
    from fabricbench.plan.expand import PlannedTrial

_WAYS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("2 threads", {"threads": 2}),
    ("the exact path", {"path": "exact"}),
    ("no fast-forward", {"fast_forward": False}),
)
_THREADS = (3, 6, 8, 12)
"""Each trial runs on one of these numbers of threads as well."""
_OF_CHUNKS = frozenset({"chunks", "chunk_steps", "chunk_times"})
SLOWER = 1.05
"""A run with doubled rates may take so many times the time of the other."""

IDLE_FRAMES = 4
"""No queue of an idle fabric is deeper."""
FLOW_RATIO = 2
"""Flows take less than so many times what packets take there, and more than one of so many parts."""

_TIME = re.compile(r"^(\d+)(us|ns)$")
_SMALLER = {"us": "ns", "ns": "ps"}


def plan_violations(
    plan: Mapping[str, Any], trials: Sequence[PlannedTrial], records: Sequence[Record]
) -> Iterator[Violation]:
    """Yield what a workspace keeps otherwise than it was, and times that change with their unit."""
    rewritten = loading.load_fields(_in_smaller_units(plan))
    if [trial.spec_json for trial in rewritten.trials] != [trial.spec_json for trial in trials]:
        yield Violation("a time is the same in other units", "plan: other trials with times in ns and ps")
    with tempfile.TemporaryDirectory(prefix="swarm-") as folder:
        stored = fb.run(fb.load(plan), workspace=folder, threads=1, force=True)
        for kept, record in zip(stored, records, strict=True):
            yield from _kept(kept, record)


def _kept(kept: fb.Trial, record: Record) -> Iterator[Violation]:
    for table, rows in record.arrow.items():
        if not kept.arrow(table).equals(rows):
            yield Violation("a workspace keeps the tables as they are", f"{table} of {kept!r}")
    names = ("id", "plan")
    results = [{name: value for name, value in row.items() if name not in names} for row in record.results]
    found = [{name: row[name] for name in results[0]} for row in kept.arrow("trials").to_pylist()]
    if found != results:
        yield Violation("a workspace keeps the tables as they are", f"trials of {kept!r}")


def _in_smaller_units(value: Any) -> Any:
    """Return a plan with its times in the next smaller unit."""
    if isinstance(value, dict):
        return {name: _in_smaller_units(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_in_smaller_units(each) for each in value]
    match = _TIME.match(value) if isinstance(value, str) else None
    return f"{int(match[1]) * 1000}{_SMALLER[match[2]]}" if match else value


def violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield ways of running a trial that give another record."""
    threads = _THREADS[crc32(planned.spec_json.encode()) % len(_THREADS)]
    for name, options in (*_WAYS, (f"{threads} threads", {"threads": threads})):
        other, rule = run_trial(planned, **options), f"{name} give the same tables"
        if "threads" in options:
            yield from _different(rule, record, other)
            continue
        # A node that wakes for nothing, as for the end of a pause that was put off, makes a sample due. Which
        # of these there are depends on the path.
        yield from _different(rule, record, other, frozenset({"series"}))
        if not _agree(record.frame("series"), other.frame("series")):
            yield Violation(rule, "series: another value at a time that both have")
    yield from _unobserved(planned, record)
    yield from _counted(planned, record)
    yield from _faster(planned, record)
    yield from flow_violations(planned, record)


def flow_violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield jobs whose flows take a multiple of what their packets take, though nothing waits for long."""
    if not _is_idle(record):
        return
    try:
        flows = get_backend("flow", {}).run(planned, _Nothing(), threads=1).summary
    except RefusedError:
        return
    for job, other in zip(record.summary["jobs"], flows["jobs"], strict=True):
        took, theirs = (each["end_ps"] and each["end_ps"] - each["start_ps"] for each in (job, other))
        if took and theirs and not 1 / FLOW_RATIO < theirs / took < FLOW_RATIO:
            rule = "flows take about as long as packets on an idle fabric"
            yield Violation(rule, f"{job['name']}: packets {took} ps, flows {theirs} ps")


def _is_idle(record: Record) -> bool:
    """Tell whether everything was delivered at once and no queue was deep."""
    resent = any(row["retransmits"] for row in record.results)
    frame_bytes = record.spec["transport"]["mtu_bytes"] + FRAME_OVERHEAD_BYTES
    deepest = max((port["queue_max_bytes"] for port in record.ports), default=0)
    is_short = deepest <= IDLE_FRAMES * frame_bytes
    return record.is_complete and record.is_lossless and not resent and is_short


class _Nothing:
    """Observes a run for its summary alone."""

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Do nothing."""

    def progressed(self, progress: Progress) -> None:
        """Do nothing."""


def _different(
    rule: str, one: Record, other: Record, but: frozenset[str] = frozenset()
) -> Iterator[Violation]:
    for table, rows in one.arrow.items():
        if table not in but and not rows.equals(other.arrow[table]):
            yield Violation(rule, f"{table}: {_first_difference(one, other, table)}")
            return
    facts = [
        {name: value for name, value in each.summary.items() if name not in MACHINE_FACTS}
        for each in (one, other)
    ]
    for name, value in facts[0].items():
        if value != facts[1][name]:
            yield Violation(rule, f"summary: {name} {value}, then {facts[1][name]}")
            return


def _agree(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Tell whether two tables of series have the same value wherever both have one."""
    key = [name for name in one.columns if name != "value"]
    both = one.join(other, on=key, how="inner", nulls_equal=True)
    return both.filter(both["value"] != both["value_right"]).is_empty()


def _first_difference(one: Record, other: Record, table: str) -> str:
    rows, others = one.rows(table), other.rows(table)
    for number, (row, changed) in enumerate(zip(rows, others, strict=False)):
        if row != changed:
            values = {name: (row[name], changed[name]) for name in row if row[name] != changed[name]}
            return f"row {number}: {values}"
    return f"{len(rows)} rows, then {len(others)}"


def _changed(planned: PlannedTrial, spec: Mapping[str, Any]) -> PlannedTrial:
    # A cached JSON text belongs to the old specification; `replace` makes a trial without it.
    return replace(planned, run_spec=cast("RunSpec", spec))


def _unobserved(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Sampling is to change nothing but the samples."""
    observe = record.spec["observe"]
    points = 100 if observe["series_points"] == 0 else 0
    other = run_trial(_changed(planned, {**record.spec, "observe": {**observe, "series_points": points}}))
    yield from _different("sampling changes nothing but series", record, other, frozenset({"series"}))


def _counted(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Fewer rows of chunks are to change no result, and no other table."""
    rule = "results do not depend on which chunks have a row"
    for observed in (
        {"chunks": "summary"},
        {"chunks": "sample", "chunk_rows": record.chunks.height // 3 + 1},
    ):
        observe = {**record.spec["observe"], **observed}
        other = run_trial(_changed(planned, {**record.spec, "observe": observe}))
        yield from _different(rule, record, other, _OF_CHUNKS)
        for row, changed in zip(record.results, other.results, strict=True):
            for name in row.keys() - {"id"} - OF_ALL_ROWS:
                if row[name] != changed[name]:
                    yield Violation(rule, f"trials: {name} {row[name]}, with {observed} {changed[name]}")
        is_summary = observed["chunks"] == "summary"
        if not _is_part(other.chunks, record.chunks) or (is_summary and other.chunks.height):
            yield Violation(rule, f"chunks: {other.chunks.height} rows with {observed}")


def _is_part(rows: pl.DataFrame, of_all: pl.DataFrame) -> bool:
    return rows.join(of_all, on=rows.columns, how="semi", nulls_equal=True).height == rows.height


def _faster(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Doubled rates of everything are to make no job slower, where nothing but rates decides."""
    if not _is_paced_by_rates(record):
        return
    other = run_trial(_changed(planned, doubled(planned.run_spec)))
    if not _is_paced_by_rates(other):
        return
    for name, job in record.jobs.items():
        before, after = job.outcome["end_ps"], other.jobs[name].outcome["end_ps"]
        if after is None or after > before * SLOWER:
            found = f"summary: {name}: end_ps {before}, with doubled rates {after}"
            yield Violation("doubled rates make nothing slower", found)


def _is_paced_by_rates(record: Record) -> bool:
    """Tell whether a faster fabric has to be faster: nothing but rates decides.

    Left out are losses, timeouts and retransmissions (a faster sender loses more), PFC and credits
    (thresholds are bytes), ECN, TCP, paths that depend on timing, failures (at given times), open-loop
    traffic and storage that last a given time, and several jobs at once: who comes first at a shared port
    may change, and a list of tasks may take longer with faster machines (Graham, 1969).
    """
    spec = record.spec
    fabric, jobs = spec["fabric"], spec["jobs"]
    switch = fabric["switch"]
    return (
        record.is_complete
        and record.is_lossless
        and record.link_layer == "ethernet"
        and not (switch["pfc"] or switch["ecn"] or spec["tcp"] or fabric["failures"])
        and record.takes_one_path
        and len(jobs) == 1
        and jobs[0]["arrivals"] is None
        and jobs[0]["storage"] is None
        and not int(record.chunks["retransmits"].sum())
        and not int(record.chunks["timeouts"].sum())
    )


def doubled(value: Any) -> Any:
    """Return a RunSpec with every rate doubled."""
    if isinstance(value, dict):
        return {
            name: 2 * each if name.endswith("_bps") and isinstance(each, int) else doubled(each)
            for name, each in value.items()
        }
    return [doubled(each) for each in value] if isinstance(value, list) else value
