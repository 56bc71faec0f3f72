"""Flow completion times of the chunks of some jobs, read in batches to save memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.summary import Tables

if TYPE_CHECKING:
    import polars as pl


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
    has_sizes = any(spec.get("round_bytes") for spec in parts.values())
    for batch in tables.batches("chunks", ["job", *(["round"] if has_sizes else []), "fct_ps"]):
        frame = pl.DataFrame(batch)
        for key, series in series_by_job.items():
            job_chunks = frame.filter(pl.col("job") == key[0])
            cycle = parts[key].get("round_bytes")
            if cycle:
                rounds = [index for index, size in enumerate(cycle) if size == key[1]]
                job_chunks = job_chunks.filter((pl.col("round") % len(cycle)).is_in(rounds))
            series.append(job_chunks["fct_ps"])
    empty = pl.Series("fct_ps", dtype=pl.Int64)
    return {key: pl.concat(series) if series else empty for key, series in series_by_job.items()}
