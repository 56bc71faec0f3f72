"""Table of the trials of a campaign with their results, read from the catalog rather than from each trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from fabricbench.analysis.kinds import job_kind
from fabricbench.metrics import BY_NAME, HEADLINES, Direction, JobKind, Metric
from fabricbench.results.response import Response
from fabricbench.store import Workspace
from fabricbench.store.catalog.schema import FINISHED
from fabricbench.store.queries.measured_values import measured_values

if TYPE_CHECKING:
    import polars as pl


_STATUS: Final = "status"
NOT_RUN: Final = "not run"


class CampaignTable:
    """The trials of a campaign with their results.

    Attributes:
        frame: A row for each trial and plan that it is part of: `trial`, `iteration`, `seed`, `size_bytes`,
            each factor as text, `status`, and each metric, of the job with the worst value. A metric is null
            where no job has it, and where the trial has no record.
        factors: The levels of each factor, in their order.
        notes: Notes on results, such as the possible error of a model, with the number of trials concerned.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        factors: Mapping[str, Sequence[str]],
        notes: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Create the table from a frame, the levels of its factors in order, and notes with their counts."""
        self.frame = frame
        self.factors = {name: tuple(levels) for name, levels in factors.items()}
        trials = self.trials
        self.notes = [f"{count:,} of {trials:,} trials: {note}." for note, count in notes.items()]

    @property
    def typed(self) -> pl.DataFrame:
        """The frame with factors as numbers if all of their values are numbers."""
        return self.frame.with_columns(_number_or_text(self.frame[name]) for name in self.factors)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in the frame."""
        return [BY_NAME[name] for name in self.frame.columns if name in BY_NAME]

    @cached_property
    def missing(self) -> pl.DataFrame:
        """The trials that have no record, each once."""
        import polars as pl

        return self.frame.filter(~pl.col(_STATUS).is_in(FINISHED)).unique("trial", maintain_order=True)

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.frame["trial"].n_unique()

    def response(self, metric: Metric, *, relative: bool = False) -> Response:
        """Return the effects of the factors on a metric; see `Response`."""
        return Response(self, metric, relative=relative)


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
        list(measured.states.items()), {"trial": pl.String, _STATUS: pl.String}, orient="row"
    )
    frame = members.join(states, on="trial", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col(_STATUS).fill_null(NOT_RUN))
    for name in names:
        value = pl.col("value")
        worst = value.max() if BY_NAME[name].direction is Direction.LOWER else value.min()
        own = values.filter(pl.col("metric") == name).group_by("trial").agg(worst.alias(name))
        frame = frame.join(own, on="trial", how="left", maintain_order="left")
    return CampaignTable(frame, factors, measured.notes)


def _number_or_text(column: pl.Series) -> pl.Series:
    import polars as pl

    for kind in (pl.Int64, pl.Float64):
        with suppress(pl.exceptions.InvalidOperationError):
            return column.cast(kind)
    return column


def main_metric(jobs: Iterable[Mapping[str, Any]]) -> Metric:
    """Return the headline metric of the most frequent kind of some jobs, by their run specs."""
    kinds = Counter(map(job_kind, jobs))
    return HEADLINES[max(JobKind, key=lambda kind: kinds[kind])]
