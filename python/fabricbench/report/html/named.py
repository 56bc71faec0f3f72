"""The plots of the report by name, for those who ask for one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabricbench.analysis.failures import steps
from fabricbench.analysis.reordering import reorderings
from fabricbench.figures.chunks.reordering import reordering_plot
from fabricbench.figures.chunks.timeline import Window
from fabricbench.figures.marks import marked, marks_of
from fabricbench.report.html import figures
from fabricbench.report.html.detail import TrialDetail
from fabricbench.report.insight import record_of

if TYPE_CHECKING:
    from fabricbench.figures.plot import Plot
    from fabricbench.store import Trial

_Drawing = Callable[["Trial", Sequence["Trial"]], "Plot | None"]


@dataclass(frozen=True)
class Figure:
    """A plot that trials may have.

    Attributes:
        title: What it shows, in words.
        draw: Draws it for a trial and its run; none where there is nothing to draw.
        metric: The sampled quantity that it needs, if it draws samples.
        of_run: Whether it shows the whole run of the trial.
    """

    title: str
    draw: _Drawing
    metric: str | None = None
    of_run: bool = False


def _of_detail(draw: Callable[[TrialDetail], Plot | None], *tables: str) -> _Drawing:
    return lambda trial, _run: figures.drawn(trial, draw, *tables)


def _over_time(draw: Callable[[TrialDetail], Plot | None], table: str = "series") -> _Drawing:
    """Draw failures, repairs and convergences into a plot over time, as the report does."""

    def drawing(trial: Trial, _run: Sequence[Trial]) -> Plot | None:
        plot = figures.drawn(trial, draw, table)
        return plot and marked(plot, marks_of(steps(record_of(trial))))

    return drawing


def _order(trial: Trial, _run: Sequence[Trial]) -> Plot | None:
    return reordering_plot(reorderings(record_of(trial))) if trial.has("reordering") else None


FIGURES: Final[dict[str, Figure]] = {
    "bandwidth": Figure(
        "Bus bandwidth against data size",
        lambda trial, run: figures.bandwidth(run, trial, of_ideal=False),
        of_run=True,
    ),
    "ideal-share": Figure(
        "Bus bandwidth as a share of the ideal",
        lambda trial, run: figures.bandwidth(run, trial, of_ideal=True),
        of_run=True,
    ),
    "cdf": Figure("Flow completion times of this trial", lambda trial, _run: figures.cdf([trial], trial)),
    "cdf-run": Figure(
        "Flow completion times of the run", lambda trial, run: figures.cdf(run, trial), of_run=True
    ),
    "timeline": Figure("Chunk transfers", _over_time(TrialDetail.timeline, "chunks")),
    "progress": Figure("Share of chunks complete", _over_time(TrialDetail.progress, "chunks")),
    "topology": Figure("Link use on a map of the fabric", _of_detail(TrialDetail.link_map, "links", "ports")),
    "links": Figure("Link use as a matrix", _of_detail(TrialDetail.link_matrix, "links", "ports")),
    "latency": Figure("Frame latency", _of_detail(TrialDetail.latency, "chunks")),
    "order": Figure("How late frames came that were overtaken", _order),
    "goodput": Figure("Goodput over time", _over_time(TrialDetail.goodput), "delivered_bytes"),
    "link-use": Figure("Link use over time", _over_time(TrialDetail.link_use), "tx_bytes"),
    "queues": Figure("Egress queues over time", _over_time(TrialDetail.queues), "queue_bytes"),
    "voqs": Figure("Virtual output queues over time", _over_time(TrialDetail.voqs), "voq_bytes"),
    "thresholds": Figure("ECN thresholds over time", _over_time(TrialDetail.thresholds), "ecn_kmin_bytes"),
    "pauses": Figure("Pauses over time", _over_time(TrialDetail.pauses), "paused_ps"),
    "rates": Figure("Sending rates over time", _over_time(TrialDetail.rates), "rate_bps"),
}
"""Every plot that can be asked for."""


def timeline_of(trial: Trial, window: Window) -> Plot | None:
    """Draw a part of the timeline of a trial.

    Raises:
        StoreError: A table cannot be read.
    """
    plot = figures.drawn(trial, lambda detail: detail.timeline(window), "chunks")
    return plot and marked(plot, marks_of(steps(record_of(trial))))


_OF_RESULTS: Final[Mapping[str, str]] = {
    "bandwidth": "busbw_gb_per_s",
    "ideal-share": "ideal_percent",
    "cdf": "chunks_complete",
    "cdf-run": "chunks_complete",
}
"""What a job has to have for a plot of results: storage has no bus bandwidth, nor has what is incomplete."""


_OF_CHANGES: Final = ("thresholds", "rates")
"""Plots of what was sampled that show only what moved."""


def has_figure(
    name: str, trial: Trial, run: Sequence[Trial], sampled: set[str], rows: Mapping[str, int]
) -> bool:
    """Tell whether there may be something to draw; only drawing it tells for sure.

    Args:
        name: Which figure.
        trial: The trial.
        run: The trials of its run.
        sampled: What `sampled_metrics` returns.
        rows: How many rows the tables have.
    """
    figure = FIGURES[name]
    if not trial.has("chunks"):
        return figure.of_run and figure.draw(trial, [trial]) is not None
    if figure.metric:
        if figure.metric not in sampled:
            return False
        return name not in _OF_CHANGES or figure.draw(trial, run) is not None
    if name in _OF_RESULTS:
        trials = run if figure.of_run else [trial]
        return any(row.get(_OF_RESULTS[name]) for each in trials for row in each.results)
    if name == "order":
        return rows["reordering"] > 0
    if name in ("topology", "links"):
        return figure.draw(trial, [trial]) is not None
    return rows["chunks"] > 0


def sampled_metrics(trial: Trial) -> set[str]:
    """Return the quantities that were sampled in a trial.

    Raises:
        StoreError: The table cannot be read.
    """
    metrics: set[str] = set()
    for batch in trial.tables.batches("series", ["metric"]):
        metrics |= set(batch.column(0).unique().to_pylist())
    return metrics
