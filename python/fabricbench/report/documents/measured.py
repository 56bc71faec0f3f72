"""Formats imported benchmark results: benchmark and origin, printed values; names the data they lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from fabricbench.analysis.record.run_spec import MEASURED
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.store import Trial

NO_CHUNKS = (
    "Measured results carry no per-chunk data: there are no flow completion times, no counters of frames, "
    "queues or pauses, and nothing to draw over time."
)
MEASURED_AND_SIMULATED = (
    "One was measured and the other simulated: parameters are compared as far as a benchmark prints them."
)


class PrintedJson(TypedDict):
    """Values that a benchmark printed; those of its own columns are in `values`."""

    time_us: float | None
    time_us_min: float | None
    time_us_max: float | None
    rank_us_min: float | None
    rank_us_max: float | None
    gb_per_s: float | None
    iterations: int | None
    wrong: int | None
    values: dict[str, str | int | float | bool | None]


class MeasuredJson(TypedDict):
    """Origin of a measured trial and the values that its benchmark printed."""

    format: str
    benchmark: str
    version: str
    command: str
    file: str
    sha256: str
    line: int
    placement: str
    facts: dict[str, str | int | float | bool | None]
    printed: PrintedJson


def measured_facts(trial: Trial) -> list[tuple[str, str]]:
    """Return the facts of a measured trial, for `show` and the report."""
    facts, measured = trial.facts, trial.facts.run_spec[MEASURED]
    is_json = facts.plan_source.lstrip().startswith("{")
    location = f"{measured['file']}, {'result' if is_json else 'line'} {measured['line']}"
    pairs = [
        ("trial", facts.id),
        ("measured", facts.title),
        ("plan", facts.plan),
        ("tag", facts.tag or "-"),
        ("backend", facts.backend),
        ("status", trial.status),
        ("source", f"{facts.engine_version}: {location}"),
        ("command", measured["command"]),
        *((name, str(value)) for name, value in measured["facts"].items()),
        ("placement", measured["placement"]),
        ("imported", f"{trial.started_at[:19].replace('T', ' ')} UTC"),
    ]
    return [(name, value) for name, value in pairs if value]


def printed_table(trial: Trial) -> Table | None:
    """Return the other printed columns of its benchmark, or `None` without any."""
    rows = [Row(values) for values in _printed_values(trial)]
    return Table([Column("printed", is_text=True), Column("value")], rows) if rows else None


def _printed_values(trial: Trial) -> list[tuple[str, str]]:
    result = (trial.summary or {})["result"]
    wrong_values = [] if result["wrong"] is None else [("wrong values", f"{result['wrong']:,}")]
    return [
        *(
            (name, f"{value:g}" if isinstance(value, float) else str(value))
            for name, value in _values(result)
        ),
        *wrong_values,
    ]


def _values(result: Mapping[str, Any]) -> list[tuple[str, Any]]:
    times = [(name, result[name]) for name in ("time_us", "time_us_min", "time_us_max") if result[name]]
    return [*times, *result["values"].items()]


def measured_object(trial: Trial) -> dict[str, Any]:
    """Return the origin of a measured trial and its printed values, as its JSON object."""
    return {**trial.facts.run_spec[MEASURED], "printed": (trial.summary or {})["result"]}


def measured_parameters(trial: Trial) -> dict[str, Any]:
    """Return the parameters in which two measured trials can differ."""
    measured = trial.facts.run_spec[MEASURED]
    named = {name: measured[name] for name in ("benchmark", "version", "command", "placement")}
    settings = {name: value for name, value in named.items() if value}
    return {**job_parameters(trial), **settings, **measured["facts"]}


def job_parameters(trial: Trial) -> dict[str, Any]:
    """Return the parameters of a trial's first job, which a benchmark prints as well."""
    row = trial.results[0]
    return {"collective": row["collective"], "ranks": row["ranks"], "data_bytes": row["data_size_bytes"]}
