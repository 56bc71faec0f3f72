"""Reads the trials of a campaign with their metrics from the catalog (database of trials); main metric.

A campaign runs plans over combinations of factor values (settings).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fabricbench.metrics import BY_NAME, HEADLINES, Direction, JobKind, Metric
from fabricbench.results.studies.factor_effects import STATUS, CampaignTable
from fabricbench.store import Workspace
from fabricbench.store.queries.measured_values import measured_values
from fabricbench.work import job_kind

if TYPE_CHECKING:
    import polars as pl


NOT_RUN: Final = "not run"


def campaign_table(
    workspace: Workspace,
    members: pl.DataFrame,
    factors: Mapping[str, Sequence[str]],
    metrics: Container[str] | None = None,
    job: str | None = None,
) -> CampaignTable:
    """Return the table of a campaign.

    Args:
        workspace: Workspace of its records.
        members: Its trials; see `fabricbench.runner.campaign.trial_table`.
        factors: The levels of each of its factors.
        metrics: Names of metrics; by default all that a trial has.
        job: The job whose metrics are used, instead of the worst one.

    Raises:
        StoreError: The catalog cannot be read.
    """
    import polars as pl

    names = [name for name in BY_NAME if metrics is None or name in metrics]
    ids = members["trial"].unique(maintain_order=True).to_list()
    measured = measured_values(workspace, ids, names)
    values = pl.DataFrame(
        measured.values,
        {"trial": pl.String, "metric": pl.String, "job": pl.String, "value": pl.Float64},
        orient="row",
    )
    if metrics is None:
        present = set(values["metric"].unique())
        names = [name for name in names if name in present]
    if job is not None:
        values = values.filter(pl.col("job") == job)
    states = pl.DataFrame(
        list(measured.states.items()), {"trial": pl.String, STATUS: pl.String}, orient="row"
    )
    frame = members.join(states, on="trial", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col(STATUS).fill_null(NOT_RUN))
    for name in names:
        value = pl.col("value")
        worst = value.max() if BY_NAME[name].direction is Direction.LOWER else value.min()
        own = values.filter(pl.col("metric") == name).group_by("trial").agg(worst.alias(name))
        frame = frame.join(own, on="trial", how="left", maintain_order="left")
    return CampaignTable(frame, factors, measured.notes)


def main_metric(jobs: Iterable[Mapping[str, Any]]) -> Metric:
    """Return the headline metric of the most frequent kind of some jobs, by their run specs."""
    kinds = Counter(map(job_kind, jobs))
    return HEADLINES[max(JobKind, key=lambda kind: kinds[kind])]
