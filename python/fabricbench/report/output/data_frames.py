"""Converts summaries, search results, comparisons and predictions to polars frames, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.summary.job_summary import COLUMNS
from fabricbench.report.documents.comparison import Comparison, JobPair
from fabricbench.report.documents.twins import METRICS, TWIN_COLUMNS, TwinGroup, twin_rows
from fabricbench.report.output.json_csv import (
    change_row,
    comparison_columns,
    comparison_rows,
    flat_columns,
    flat_row,
)
from fabricbench.results.axes import axis_names
from fabricbench.results.job_reports import JobReport
from fabricbench.searched import Searched
from fabricbench.store import Trial

if TYPE_CHECKING:
    import polars as pl


_TEXTS = (
    "id",
    "tag",
    "plan",
    "variant",
    "backend",
    "backend_version",
    "alone_trial",
    "reference_trial",
    "verdict",
)
_INTEGERS = ("iteration", "message_size_bytes")


def summary_frame(jobs: Sequence[JobReport]) -> pl.DataFrame:
    """Return one row for each job of each trial: the columns of `run --format csv` that have a value.

    One for each swept field follows, by its dotted path: numeric if all values are, otherwise text. Without
    any row all columns remain.
    """
    import polars as pl

    types = {"str": pl.String, "str | None": pl.String, "int": pl.Int64, "int | None": pl.Int64}
    types |= {"float | None": pl.Float64}
    declared = {name: types[declared] for name, declared in COLUMNS.items()}
    declared |= dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_INTEGERS, pl.Int64)
    rows = [flat_row(job) for job in jobs]
    declared |= _axis_types([job.trial for job in jobs], rows)
    schema = {
        name: declared.get(name) or declared.get(name.removeprefix("alone_"), pl.Float64)
        for name in flat_columns(jobs)
    }
    frame = pl.DataFrame(
        [{name: row.get(name) for name in schema} for row in rows], schema=schema, strict=False
    )
    has_rows = frame.height > 0
    return frame.select(column for column in frame if not has_rows or column.null_count() < frame.height)


def _axis_types(trials: Sequence[Trial], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the column type of each swept field, and convert rows to numbers if all values are numeric."""
    import polars as pl

    types: dict[str, Any] = {}
    for name in axis_names(trials):
        kinds = {type(value) for trial in trials for axis, value in trial.facts.axes if axis == name}
        number = int if kinds == {int} else float
        types[name] = (pl.Int64 if kinds == {int} else pl.Float64) if kinds <= {int, float} else pl.String
        for row in rows if kinds <= {int, float} else ():
            if row.get(name) is not None:
                row[name] = number(row[name])
    return types


_SEARCHED = {
    "field": "String",
    "find": "String",
    "variant": "String",
    "data_size_bytes": "Int64",
    "holds": "String",
    "fails": "String",
    "tried": "Int64",
}
"""Columns of search results, with their types."""


def search_frame(search_results: Sequence[Searched]) -> pl.DataFrame:
    """Return one row for each case of a search, with a column for each swept field at the end."""
    import polars as pl

    rows = [{**case.content, **case.content["axes"]} for case in search_results]
    axes = dict.fromkeys(name for case in search_results for name, _ in case.axes)
    schema = {name: getattr(pl, kind) for name, kind in _SEARCHED.items()} | dict.fromkeys(axes, pl.String)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def variants_frame(comparison: Comparison) -> pl.DataFrame:
    """Return one row for each job, variant and metric: the columns of `compare --by variant --format csv`."""
    import polars as pl

    numbers = dict.fromkeys(("first", "second", "ratio"), pl.Float64)
    integers = dict.fromkeys(("data_size_bytes", "iteration"), pl.Int64)
    rows = comparison_rows(comparison)
    axes = _axis_types([pair.second.trial for pair in comparison.pairs], rows)
    types = numbers | integers | axes
    schema = {name: types.get(name, pl.String) for name in comparison_columns(comparison)}
    return pl.DataFrame(rows, schema=schema, strict=False)


def twins_frame(groups: Sequence[TwinGroup]) -> pl.DataFrame:
    """Return one row for each measured job and size: the columns of `compare --by twin --format csv`."""
    import polars as pl

    numbers = [f"{side}_{name}" for side in ("measured", "predicted") for name in METRICS]
    types: dict[str, Any] = dict.fromkeys([*numbers, "deviation_percent"], pl.Float64)
    types |= dict.fromkeys(("data_size_bytes", "iteration"), pl.Int64)
    schema = {name: types.get(name, pl.String) for name in TWIN_COLUMNS}
    return pl.DataFrame(twin_rows(groups), schema=schema, strict=False)


def comparison_frame(pairs: Sequence[JobPair]) -> pl.DataFrame:
    """Return one row for each job and metric of pairs of trials.

    The columns are those of `compare --format csv`, after the data size and the iteration of the first trial.
    """
    import polars as pl

    schema = {
        "data_size_bytes": pl.Int64,
        "iteration": pl.Int64,
        "job": pl.String,
        "metric": pl.String,
        "unit": pl.String,
        "first": pl.Float64,
        "second": pl.Float64,
        "ratio": pl.Float64,
        "verdict": pl.String,
    }
    rows: list[dict[str, Any]] = [
        {
            "data_size_bytes": pair.first.summary.data_size_bytes,
            "iteration": pair.first.trial.facts.iteration,
        }
        | change_row(pair.first.summary.job, change)
        for pair in pairs
        for change in pair.changes
    ]
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema, strict=False)
