"""Summaries and comparisons as polars frames, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.results import COLUMNS
from fabricbench.report.formats import (
    COMPARISON_COLUMNS,
    change_row,
    comparison_rows,
    flat_columns,
    flat_row,
)

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.report.comparison import Comparison, JobPair
    from fabricbench.report.twins import TwinGroup
    from fabricbench.results.jobs import JobReport

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
    """Return one row for each job of each trial: the columns of `run --format csv`, always the same."""
    import polars as pl

    types = {"str": pl.String, "str | None": pl.String, "int": pl.Int64, "int | None": pl.Int64}
    types |= {"float | None": pl.Float64}
    declared = {name: types[declared] for name, declared in COLUMNS.items()}
    declared |= dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_INTEGERS, pl.Int64)
    schema = {
        name: declared.get(name) or declared.get(name.removeprefix("alone_"), pl.Float64)
        for name in flat_columns()
    }
    rows = [flat_row(job) for job in jobs]
    return pl.DataFrame(
        [{name: row.get(name) for name in schema} for row in rows], schema=schema, strict=False
    )


def variants_frame(found: Comparison) -> pl.DataFrame:
    """Return one row for each job, variant and metric: the columns of `compare --by variant --format csv`."""
    import polars as pl

    numbers = dict.fromkeys(("first", "second", "ratio"), pl.Float64)
    integers = dict.fromkeys(("data_size_bytes", "iteration"), pl.Int64)
    schema = {name: (numbers | integers).get(name, pl.String) for name in COMPARISON_COLUMNS}
    return pl.DataFrame(comparison_rows(found), schema=schema, strict=False)


def twins_frame(groups: Sequence[TwinGroup]) -> pl.DataFrame:
    """Return one row for each measured job and size: the columns of `compare --by twin --format csv`."""
    import polars as pl

    from fabricbench.report.twins import METRICS, TWIN_COLUMNS, twin_rows

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
