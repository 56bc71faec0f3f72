"""Summaries as flat rows: the table `trials`, its columns, and the summary in a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.kinds import job_kind
from fabricbench.analysis.summary import JobFacts, Summary
from fabricbench.metrics import METRICS, JobKind, of_kind

if TYPE_CHECKING:
    import pyarrow as pa


_FACTS = {field.name: str(field.type) for field in dataclasses.fields(JobFacts)}
COLUMNS: Mapping[str, str] = _FACTS | {
    metric.name: "int | None" if metric.is_count else "float | None" for metric in METRICS
}
"""The type of each column of a job's summary as a flat row, for every kind of job."""


def result_row(summary: Summary) -> dict[str, Any]:
    """Return a summary as a flat row of scalars; metrics that its kind of job does not have are none."""
    return {name: summary.value(name) for name in COLUMNS}


def result_table(identity: dict[str, Any], summaries: Sequence[Summary]) -> pa.Table:
    """Return one row for each job, with the same columns for every trial.

    Args:
        identity: First columns, which identify the trial: texts and integers.
        summaries: One for each job.
    """
    import pyarrow as pa

    text, integer, number = pa.string(), pa.int64(), pa.float64()
    fields = [
        pa.field(name, text if isinstance(value, str) else integer, nullable=False)
        for name, value in identity.items()
    ]
    types = {"str": text, "str | None": text, "int": integer, "int | None": integer}
    fields += [
        pa.field(name, types.get(declared, number), nullable="None" in declared)
        for name, declared in COLUMNS.items()
    ]
    rows = [identity | result_row(summary) for summary in summaries]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def summary_of(row: Mapping[str, Any], run_spec: Mapping[str, Any]) -> Summary:
    """Return the summary in a flat row of a trial; missing columns are none."""
    kind = next((job_kind(job) for job in run_spec["jobs"] if job["name"] == row["job"]), JobKind.COLLECTIVE)
    metrics = {metric.name: row.get(metric.name) for metric in of_kind(kind)}
    return Summary.of(kind, {name: row.get(name) for name in _FACTS}, metrics)
