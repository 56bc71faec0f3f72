"""Flow completion times of the chunks of some jobs, read in batches: nothing else of them is kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.analysis.summary import Tables


def fct_ps_of(tables: Tables, jobs: Collection[str]) -> dict[str, pl.Series]:
    """Return the flow completion time of each chunk of each of some jobs [ps]; null where it never completed.

    Raises:
        StoreError: The table cannot be read.
    """
    import polars as pl

    parts: dict[str, list[pl.Series]] = {job: [] for job in jobs}
    for batch in tables.batches("chunks", ["job", "fct_ps"]):
        frame = pl.DataFrame(batch)
        for job, found in parts.items():
            found.append(frame.filter(pl.col("job") == job)["fct_ps"])
    empty = pl.Series("fct_ps", dtype=pl.Int64)
    return {job: pl.concat(found) if found else empty for job, found in parts.items()}
