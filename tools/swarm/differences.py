"""Repeats a run with options that must not change its tables, with doubled rates, and in the flow model."""

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

_VARIANTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("2 threads", {"threads": 2}),
    ("the exact path", {"path": "exact"}),
    ("no fast-forward", {"fast_forward": False}),
)
_THREADS = (3, 6, 8, 12)
"""Each trial runs on one of these numbers of threads as well."""
_OF_CHUNKS = frozenset({"chunks", "chunk_steps", "chunk_times"})
SLOWER = 1.05
"""Limit of the time of a run with doubled rates, as a multiple of the original time."""

IDLE_FRAMES = 4
"""Largest queue of an idle fabric [frames]."""
FLOW_RATIO = 2
"""Limit of the ratio of flow times to packet times on an idle fabric, and of its inverse."""

_TIME = re.compile(r"^(\d+)(us|ns)$")
_SMALLER = {"us": "ns", "ns": "ps"}


def plan_violations(
    plan: Mapping[str, Any], trials: Sequence[PlannedTrial], records: Sequence[Record]
) -> Iterator[Violation]:
    """Yield tables that a workspace stores differently, and times that change with their unit."""
    rewritten = loading.load_fields(_in_smaller_units(plan))
    if [trial.spec_json for trial in rewritten.trials] != [trial.spec_json for trial in trials]:
        yield Violation("a time is the same in other units", "plan: other trials with times in ns and ps")
    with tempfile.TemporaryDirectory(prefix="swarm-") as folder:
        stored = fb.run(fb.load(plan), workspace=folder, threads=1, force=True)
        for stored_trial, record in zip(stored, records, strict=True):
            yield from _stored_differently(stored_trial, record)


def _stored_differently(stored: fb.Trial, record: Record) -> Iterator[Violation]:
    for table, rows in record.arrow.items():
        if not stored.arrow(table).equals(rows):
            yield Violation("a workspace keeps the tables as they are", f"{table} of {stored!r}")
    names = ("id", "plan")
    results = [{name: value for name, value in row.items() if name not in names} for row in record.results]
    stored_results = [{name: row[name] for name in results[0]} for row in stored.arrow("trials").to_pylist()]
    if stored_results != results:
        yield Violation("a workspace keeps the tables as they are", f"trials of {stored!r}")


def _in_smaller_units(value: Any) -> Any:
    """Return a plan with its times in the next smaller unit."""
    if isinstance(value, dict):
        return {name: _in_smaller_units(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_in_smaller_units(item) for item in value]
    match = _TIME.match(value) if isinstance(value, str) else None
    return f"{int(match[1]) * 1000}{_SMALLER[match[2]]}" if match else value


def violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield the options and changes with which a trial gives a different record."""
    threads = _THREADS[crc32(planned.spec_json.encode()) % len(_THREADS)]
    for name, options in (*_VARIANTS, (f"{threads} threads", {"threads": threads})):
        repeated, rule = run_trial(planned, **options), f"{name} give the same tables"
        if "threads" in options:
            yield from _differences(rule, record, repeated)
            continue
        # A node that is woken without an event, such as for the end of a postponed pause, makes a sample due.
        # The code path determines which of these samples there are.
        yield from _differences(rule, record, repeated, frozenset({"series"}))
        if not _agree(record.frame("series"), repeated.frame("series")):
            yield Violation(rule, "series: another value at a time that both have")
    yield from _sampling_violations(planned, record)
    yield from _chunk_row_violations(planned, record)
    yield from _rate_violations(planned, record)
    yield from flow_violations(planned, record)


def flow_violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield jobs whose flows take a multiple of the time of their packets, though no queue was long."""
    if not _is_idle(record):
        return
    try:
        flows = get_backend("flow", {}).run(planned, _NullObserver(), threads=1).summary
    except RefusedError:
        return
    for job, flow_job in zip(record.summary["jobs"], flows["jobs"], strict=True):
        packet_ps, flow_ps = (
            outcome["end_ps"] and outcome["end_ps"] - outcome["start_ps"] for outcome in (job, flow_job)
        )
        if packet_ps and flow_ps and not 1 / FLOW_RATIO < flow_ps / packet_ps < FLOW_RATIO:
            rule = "flows take about as long as packets on an idle fabric"
            yield Violation(rule, f"{job['name']}: packets {packet_ps} ps, flows {flow_ps} ps")


def _is_idle(record: Record) -> bool:
    """Return whether everything was delivered without retransmission and no queue was deep."""
    resent = any(row["retransmits"] for row in record.results)
    frame_bytes = record.spec["transport"]["mtu_bytes"] + FRAME_OVERHEAD_BYTES
    deepest = max((port["queue_max_bytes"] for port in record.ports), default=0)
    is_short = deepest <= IDLE_FRAMES * frame_bytes
    return record.is_complete and record.is_lossless and not resent and is_short


class _NullObserver:
    """Observer of a run that ignores all rows and progress."""

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Do nothing."""

    def progressed(self, progress: Progress) -> None:
        """Do nothing."""


def _differences(
    rule: str, record: Record, other_record: Record, excluded: frozenset[str] = frozenset()
) -> Iterator[Violation]:
    for table, rows in record.arrow.items():
        if table not in excluded and not rows.equals(other_record.arrow[table]):
            yield Violation(rule, f"{table}: {_first_difference(record, other_record, table)}")
            return
    facts = [
        {name: value for name, value in run.summary.items() if name not in MACHINE_FACTS}
        for run in (record, other_record)
    ]
    for name, value in facts[0].items():
        if value != facts[1][name]:
            yield Violation(rule, f"summary: {name} {value}, then {facts[1][name]}")
            return


def _agree(series: pl.DataFrame, other_series: pl.DataFrame) -> bool:
    """Return whether two tables of series have the same value wherever both have one."""
    key = [name for name in series.columns if name != "value"]
    common_points = series.join(other_series, on=key, how="inner", nulls_equal=True)
    return common_points.filter(common_points["value"] != common_points["value_right"]).is_empty()


def _first_difference(record: Record, other_record: Record, table: str) -> str:
    rows, others = record.rows(table), other_record.rows(table)
    for number, (row, changed) in enumerate(zip(rows, others, strict=False)):
        if row != changed:
            values = {name: (row[name], changed[name]) for name in row if row[name] != changed[name]}
            return f"row {number}: {values}"
    return f"{len(rows)} rows, then {len(others)}"


def _changed(planned: PlannedTrial, spec: Mapping[str, Any]) -> PlannedTrial:
    # A cached JSON text belongs to the old specification; `replace` makes a trial without it.
    return replace(planned, run_spec=cast("RunSpec", spec))


def _sampling_violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield tables other than `series` that change with sampling."""
    observe = record.spec["observe"]
    points = 100 if observe["series_points"] == 0 else 0
    sampled = run_trial(_changed(planned, {**record.spec, "observe": {**observe, "series_points": points}}))
    yield from _differences("sampling changes nothing but series", record, sampled, frozenset({"series"}))


def _chunk_row_violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield results, and tables other than those of chunks, that change with fewer rows of chunks."""
    rule = "results do not depend on which chunks have a row"
    for observed in (
        {"chunks": "summary"},
        {"chunks": "sample", "chunk_rows": record.chunks.height // 3 + 1},
    ):
        observe = {**record.spec["observe"], **observed}
        reduced = run_trial(_changed(planned, {**record.spec, "observe": observe}))
        yield from _differences(rule, record, reduced, _OF_CHUNKS)
        for row, changed in zip(record.results, reduced.results, strict=True):
            for name in row.keys() - {"id"} - OF_ALL_ROWS:
                if row[name] != changed[name]:
                    yield Violation(rule, f"trials: {name} {row[name]}, with {observed} {changed[name]}")
        is_summary = observed["chunks"] == "summary"
        if not _is_part(reduced.chunks, record.chunks) or (is_summary and reduced.chunks.height):
            yield Violation(rule, f"chunks: {reduced.chunks.height} rows with {observed}")


def _is_part(rows: pl.DataFrame, of_all: pl.DataFrame) -> bool:
    return rows.join(of_all, on=rows.columns, how="semi", nulls_equal=True).height == rows.height


def _rate_violations(planned: PlannedTrial, record: Record) -> Iterator[Violation]:
    """Yield jobs that doubled rates make slower, in runs whose times depend on rates alone."""
    if not _is_paced_by_rates(record):
        return
    faster = run_trial(_changed(planned, doubled(planned.run_spec)))
    if not _is_paced_by_rates(faster):
        return
    for name, job in record.jobs.items():
        end_ps, faster_end_ps = job.outcome["end_ps"], faster.jobs[name].outcome["end_ps"]
        if faster_end_ps is None or faster_end_ps > end_ps * SLOWER:
            figures = f"summary: {name}: end_ps {end_ps}, with doubled rates {faster_end_ps}"
            yield Violation("doubled rates make nothing slower", figures)


def _is_paced_by_rates(record: Record) -> bool:
    """Return whether the times of a run depend on rates alone, so that a faster fabric must be faster.

    Excluded are losses, timeouts and retransmissions (a faster sender loses more), PFC and credits
    (thresholds are bytes), ECN, TCP, paths that depend on timing, failures (at given times), open-loop
    traffic and storage that last a given time, and several jobs at once: the order of arrival at a shared
    port may change, and a list of tasks may take longer with faster machines (Graham, 1969).
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
        and jobs[0]["work"]["kind"] == "collective"
        and not int(record.chunks["retransmits"].sum())
        and not int(record.chunks["timeouts"].sum())
    )


def doubled(value: Any) -> Any:
    """Return a RunSpec with every rate doubled."""
    if isinstance(value, dict):
        return {
            name: 2 * item if name.endswith("_bps") and isinstance(item, int) else doubled(item)
            for name, item in value.items()
        }
    return [doubled(item) for item in value] if isinstance(value, list) else value
