"""Campaigns in Python: settings, effects of factors, variance and Pareto fronts as frames; figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.figures.campaign.plots import plots_of
from fabricbench.inputs import read_input_text
from fabricbench.metrics import BY_NAME
from fabricbench.report.studies.campaign import CampaignReport, effect_rows, setting_rows, shares
from fabricbench.results.studies.campaign_table import campaign_table, main_metric
from fabricbench.results.studies.factor_effects import Response, front_of
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.trial_table import members_of
from fabricbench.store import Workspace as Store
from fabricbench.store.queries.listing import check_metric

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl


class Campaign:
    """A campaign with its trials in a workspace: settings, and effects of its factors on a metric.

    Attributes:
        name: Its name.
        metric: Default metric: the main one for the kind of the campaign's jobs.

    Example:
        >>> campaign
        <Campaign sizes: 2 of 3 trials have a record>
    """

    def __init__(self, store: Store, file: Path, job: str | None = None, *, relative: bool = False) -> None:
        """Load a campaign file and read its trials; `Workspace.campaign` calls this."""
        loaded = load_campaign(file)
        members = members_of(loaded)
        self.name = loaded.name
        self.metric = main_metric(members.jobs).name
        table = campaign_table(store, members.frame, members.factors, None, job)
        text = read_input_text(file)
        self._report = CampaignReport(loaded.name, loaded.title, text, table, (), alone=members.alone)
        self._relative = relative
        self._responses: dict[str, Response] = {}

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row for each pair of trial and plan: factors, status, every metric.

        Metrics are those of the job with the worst value, unless a job was named.

        Example:
            >>> campaign.frame.select("data_size", "status").rows()
            [('16 MB', 'complete'), ('32 MB', 'complete'), ('64 MB', 'not run')]
        """
        return self._report.table.typed

    def effects(self, metric: str | None = None) -> pl.DataFrame:
        """Return the effect of each value of each factor; docs/campaign.md has the formulas.

        Args:
            metric: Name of a metric.

        Returns:
            `factor`, `value`, `mean`, `effect` (in the unit of the metric), `percent` of the mean of all
            settings, and `margin_percent`, half of the interval of 95 % confidence over the seeds.

        Raises:
            ThresholdError: There is no such metric; a `ValueError`.

        Example:
            >>> [round(each) for each in campaign.effects()["percent"]]
            [-33, 33]
        """
        texts = ("factor", "value")
        numbers = ("mean", "effect", "percent", "margin_percent")
        return _frame(effect_rows(self._response(metric)), texts, numbers)

    def variance(self, metric: str | None = None) -> pl.DataFrame:
        """Return the share of the variance that each factor, each pair of them and the seeds explain.

        Raises:
            ThresholdError: There is no such metric; a `ValueError`.

        Example:
            >>> campaign.variance()["source"].to_list()
            ['data_size']
        """
        rows = [{"source": source, "share": share} for source, share in shares(self._response(metric))]
        return _frame(rows, ("source",), ("share",))

    def settings(self, metric: str | None = None) -> pl.DataFrame:
        """Return every setting of the factors, the best first: `mean`, `margin` of 95 % confidence, `seeds`.

        Raises:
            ThresholdError: There is no such metric; a `ValueError`.

        Example:
            >>> campaign.settings()["data_size"].to_list()
            ['16 MB', '32 MB']
        """
        response = self._response(metric)
        return _frame(setting_rows(response), response.names, ("mean", "margin"), ("seeds",))

    def pareto(self, first: str, second: str) -> pl.DataFrame:
        """Return the Pareto front of two metrics: settings that no other beats in both, ordered by the first.

        Args:
            first: Name of a metric.
            second: Name of another.

        Raises:
            ThresholdError: There is no such metric; a `ValueError`.

        Example:
            >>> campaign.pareto("completion_time_ms", "ideal_percent")["data_size"].to_list()
            ['16 MB', '32 MB']
        """
        front = front_of(self._response(first), self._response(second))
        return _frame(front.rows(), front.names, (first, second))

    def figures(self, metric: str | None = None) -> dict[str, go.Figure]:
        """Return the figures of the campaign report: `effects`, `parallel`, `pair-0` and so on.

        Raises:
            ThresholdError: There is no such metric; a `ValueError`.

        Example:
            >>> list(campaign.figures())
            ['effects', 'parallel']
        """
        return {name: plot.figure for name, plot in plots_of(self._response(metric)).items()}

    def _response(self, metric: str | None) -> Response:
        name = metric or self.metric
        check_metric(name)
        if name not in self._responses:
            self._responses[name] = self._report.table.response(BY_NAME[name], relative=self._relative)
        return self._responses[name]

    def __repr__(self) -> str:
        return f"<Campaign {self.name}: {self._report.extent}>"


def _frame(
    rows: Sequence[dict[str, Any]],
    texts: Sequence[str],
    numbers: Sequence[str],
    counts: Sequence[str] = (),
) -> pl.DataFrame:
    import polars as pl

    schema = {
        **dict.fromkeys(texts, pl.String),
        **dict.fromkeys(numbers, pl.Float64),
        **dict.fromkeys(counts, pl.Int64),
    }
    return pl.DataFrame(rows, schema)
