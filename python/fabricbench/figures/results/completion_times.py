"""Reads flow completion times of the chunks (transfers) of jobs, and of the same jobs run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fabricbench.analysis.record.tables import Tables
from fabricbench.metrics import BUS_BANDWIDTH
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.solo_trials import Alone
from fabricbench.work import collective_of

if TYPE_CHECKING:
    import polars as pl


MAX_JOBS = 16


@dataclass(frozen=True)
class TenantSample:
    """One job among others and alone.

    Attributes:
        job: Its name.
        trial: Label of the trial in which it runs among others.
        shared_gb_per_s: Bus bandwidth among others [GB/s]; `None` if incomplete.
        alone_gb_per_s: The same alone.
        shared_fct_ps: Flow completion time of each complete chunk among others [ps].
        alone_fct_ps: The same alone.
    """

    job: str
    trial: str
    shared_gb_per_s: float | None
    alone_gb_per_s: float | None
    shared_fct_ps: pl.Series
    alone_fct_ps: pl.Series


def fct_ps_of(
    tables: Tables, parts: Mapping[tuple[str, int], Mapping[str, Any]]
) -> dict[tuple[str, int], pl.Series]:
    """Return the flow completion time of each chunk of some jobs [ps]; null if it never completed.

    Args:
        tables: The record of a trial.
        parts: The RunSpec of each job, by its name and data size; for a job whose rounds have several data
            sizes, only the rounds of that size count.

    Raises:
        StoreError: The table cannot be read.
    """
    import polars as pl

    series_by_job: dict[tuple[str, int], list[pl.Series]] = {key: [] for key in parts}
    has_sizes = any(collective_of(spec).get("round_bytes") for spec in parts.values())
    for batch in tables.batches("chunks", ["job", *(["round"] if has_sizes else []), "fct_ps"]):
        frame = pl.DataFrame(batch)
        for key, series in series_by_job.items():
            job_chunks = frame.filter(pl.col("job") == key[0])
            cycle = collective_of(parts[key]).get("round_bytes")
            if cycle:
                rounds = [index for index, size in enumerate(cycle) if size == key[1]]
                job_chunks = job_chunks.filter((pl.col("round") % len(cycle)).is_in(rounds))
            series.append(job_chunks["fct_ps"])
    empty = pl.Series("fct_ps", dtype=pl.Int64)
    return {key: pl.concat(series) if series else empty for key, series in series_by_job.items()}


def tenant_samples(rows: Sequence[ResultRow]) -> list[TenantSample]:
    """Return the jobs of one trial that were also run alone; the focused trial if it has any.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    shared_rows = [row for row in rows if row.alone]
    focus = [row for row in shared_rows if row.is_focus] or [
        row for row in shared_rows if row.trial is shared_rows[0].trial
    ]
    if not focus:
        return []
    shown = focus[:MAX_JOBS]
    fct_ps = fct_ps_of(shown[0].trial.tables, {row.summary.key: row.job_spec for row in shown})
    return [_sample(row, row.alone, fct_ps[row.summary.key]) for row in shown if row.alone]


def _sample(row: ResultRow, alone: Alone, fct_ps: pl.Series) -> TenantSample:
    key, spec = row.summary.key, alone.trial.facts.run_spec["jobs"][0]
    return TenantSample(
        row.report.job_name,
        ", ".join(part for part in (row.size, row.axes, row.of_trial) if part),
        row.summary.value(BUS_BANDWIDTH.name),
        alone.summary.value(BUS_BANDWIDTH.name),
        fct_ps.drop_nulls(),
        fct_ps_of(alone.trial.tables, {key: spec})[key].drop_nulls(),
    )
