"""The plots of the report, one by one; none where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fabricbench.figures.results.bandwidth import bandwidth_plots
from fabricbench.figures.results.fct import fct_plot
from fabricbench.report.html.detail import TrialDetail
from fabricbench.report.html.rows import rows_of
from fabricbench.report.html.summary import bandwidth_point, chosen_rows, fct_sample
from fabricbench.report.sizes import size_title
from fabricbench.report.trials import Beside

if TYPE_CHECKING:
    from fabricbench.figures.plot import Plot
    from fabricbench.store import Trial


def drawn(trial: Trial, draw: Callable[[TrialDetail], Plot | None], *tables: str) -> Plot | None:
    """Draw a plot of a trial whose record holds the tables that it needs; none of any other.

    Raises:
        StoreError: A table cannot be read.
    """
    return draw(TrialDetail(trial)) if trial.has(*tables) else None


def cdf(trials: Sequence[Trial], focus: Trial) -> Plot | None:
    """Draw the distribution of flow completion times of each trial.

    Raises:
        StoreError: A table `chunks` cannot be read.
    """
    rows = [row for row in rows_of(trials, focus, Beside(trials)) if row.trial.has("chunks")]
    return fct_plot([fct_sample(row) for row in chosen_rows(rows)]) if rows else None


def bandwidth(trials: Sequence[Trial], focus: Trial, *, of_ideal: bool) -> Plot | None:
    """Draw bus bandwidth, or its share of the ideal, against data size."""
    points = [bandwidth_point(row) for row in rows_of(trials, focus, Beside(trials))]
    plots = bandwidth_plots(points, size_title(trials))
    return plots[of_ideal] if len(plots) > of_ideal else None


def timeline(trial: Trial) -> Plot | None:
    """Draw the chunk transfers of a trial."""
    return drawn(trial, TrialDetail.timeline, "chunks")


def links(trial: Trial) -> Plot | None:
    """Draw the use of each link as a matrix."""
    return drawn(trial, TrialDetail.link_matrix, "links", "ports")


def topology(trial: Trial) -> Plot | None:
    """Draw the use of each link on a map of the fabric."""
    return drawn(trial, TrialDetail.link_map, "links", "ports")


def queues(trial: Trial) -> Plot | None:
    """Draw the sampled queues."""
    return drawn(trial, TrialDetail.queues, "series")


def link_use(trial: Trial) -> Plot | None:
    """Draw the sampled use of links."""
    return drawn(trial, TrialDetail.link_use, "series")


def latency(trial: Trial) -> Plot | None:
    """Draw the latency of frames."""
    return drawn(trial, TrialDetail.latency, "chunks")
