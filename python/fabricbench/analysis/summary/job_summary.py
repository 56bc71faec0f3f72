"""Data class of a job's parameters, outcome and metrics; converts it to and from rows of table `trials`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.metrics import BY_NAME, METRICS, JobKind, of_kind
from fabricbench.work import job_kind

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class JobFacts:
    """Parameters and outcome of a job.

    Attributes:
        job: Name of the job.
        collective: Operation of its ranks.
        algorithm: Algorithm of the collective; none for a measured job that does not report it.
        ranks: Number of ranks.
        data_size_bytes: Data size S of the collective; one of the sizes if rounds have several.
        status: `complete`; `incomplete` if a chunk never completed; `stalled` if that was because the run
            made no further progress. Only a complete job has times, rates and FCT. A job that runs until
            others end is complete unless a chunk failed.
        reason: Why it is not complete, with the chunks concerned and the stalled nodes; empty otherwise.
        rounds: Complete rounds, without warm-up; for a measured job its measurements, none if not reported.
        chunks: Data chunks of all rounds, times the queue pairs that each is split over; for a job that runs
            until others end, those posted. None for a measured job, as are all counters of frames.
        chunks_complete: Chunks that completed.
        chunks_failed: Chunks whose queue pair ran out of retries.
    """

    job: str
    collective: str
    algorithm: str | None
    ranks: int
    data_size_bytes: int
    status: str
    reason: str
    rounds: int | None
    chunks: int | None
    chunks_complete: int | None
    chunks_failed: int | None


STALLED = "stalled"


COMPLETE = "complete"


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


@dataclass(frozen=True)
class Summary(JobFacts):
    """Results of a trial for one job.

    Attributes:
        kind: Its kind.
        metrics: Each metric that jobs of the kind have, by its name in the order of output; none where it
            could not be measured.
    """

    kind: JobKind
    metrics: Mapping[str, float | int | None]

    @classmethod
    def of(cls, kind: JobKind, facts: Mapping[str, Any], measured: Mapping[str, Any]) -> Summary:
        """Return the summary of a job.

        Args:
            kind: Its kind.
            facts: The fields of `JobFacts`.
            measured: Metrics that were measured; missing ones could not be.

        Raises:
            AssertionError: A metric was measured that jobs of the kind do not have.
        """
        metrics = {metric.name: measured.get(metric.name) for metric in of_kind(kind)}
        if not measured.keys() <= metrics.keys():
            raise AssertionError(f"{kind} jobs have no {', '.join(measured.keys() - metrics.keys())}")
        return cls(**facts, kind=kind, metrics=metrics)

    @property
    def key(self) -> tuple[str, int]:
        """Key of the summary within the trial: the job and its data size [bytes]."""
        return self.job, self.data_size_bytes

    def value(self, name: str) -> float | int | None:
        """Return a metric or `rounds`; none where it could not be measured or the job has no such metric."""
        return self.metrics.get(name) if name in BY_NAME else getattr(self, name)
