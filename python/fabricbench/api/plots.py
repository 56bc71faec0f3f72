"""Plotly figures of trials, as in the report, one method each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fabricbench.figures.chunks.timeline_lanes import Window
from fabricbench.figures.registry import FIGURES, drawn
from fabricbench.store import Trial as StoredTrial

if TYPE_CHECKING:
    import plotly.graph_objects as go


class NothingToDrawError(ValueError):
    """A figure without data in the record, such as the bandwidth of trials that did not complete."""


class Plots:
    """Figures of some trials: Plotly figures that a notebook shows and `write_image` saves.

    `cdf` and `bandwidth` show all of the trials; the others show one.

    Example:
        >>> type(run.plot.cdf()).__name__
        'Figure'
    """

    def __init__(
        self,
        trials: Sequence[StoredTrial],
        focus: StoredTrial,
        twins: Callable[[], Sequence[StoredTrial]] = tuple,
    ) -> None:
        """Take trials, the one shown in figures of one trial, and a function that returns their twins."""
        self._trials = trials
        self._focus = focus
        self._twins = twins

    def figure(self, name: str, job: str | None = None) -> go.Figure:
        """Return a figure by its name, as `GET /api/v1/trials/ID/figures` lists them.

        Args:
            name: Its name.
            job: Name of the job in `timeline` and `ratio`; by default all jobs, or the first.

        Raises:
            ValueError: There is no such figure, or the record has nothing to draw in it.
            StoreError: A table is missing or cannot be read.

        Example:
            >>> run[0].plot.figure("goodput").layout.yaxis.title.text
            'delivered (GB/s)'
        """
        figure = FIGURES.get(name)
        if figure is None:
            raise ValueError(f"found {name!r}; allowed: {', '.join(FIGURES)}")
        twins = self._twins() if figure.has_twins else ()
        window = None if job is None else Window(job=job)
        plot = drawn(name, self._focus, [*self._trials, *twins], window)
        if plot is None:
            raise NothingToDrawError(f"nothing to draw: {figure.missing or figure.section.missing}")
        return plot.figure

    def cdf(self) -> go.Figure:
        """Return the cumulative distribution of flow completion times, one curve for each trial and job.

        Example:
            >>> [curve.name for curve in run.plot.cdf().data][:2]
            ['16 MB', '32 MB']
        """
        return self.figure("cdf-run")

    def bandwidth(self, *, of_ideal: bool = False) -> go.Figure:
        """Return bus bandwidth against data size.

        Args:
            of_ideal: Return it as a percentage of the ideal goodput instead [%].

        Example:
            >>> run.plot.bandwidth(of_ideal=True).layout.yaxis.title.text
            'busbw / ideal goodput (%; not from 0)'
        """
        return self.figure("ideal-share" if of_ideal else "bandwidth")

    def twin(self) -> go.Figure:
        """Return measured and predicted bus bandwidth against data size, and their deviation.

        Raises:
            ValueError: No trial has both.

        Example:
            >>> run.plot.twin()
            Traceback (most recent call last):
            ...
            fabricbench.api.plots.NothingToDrawError: ...
        """
        return self.figure("twin")

    def timeline(self) -> go.Figure:
        """Return the chunk transfers of one trial as bars over time, by sending rank.

        Example:
            >>> run[0].plot.timeline().data[0].type
            'bar'
        """
        return self.figure("timeline")

    def links(self) -> go.Figure:
        """Return the utilisation of each link of one trial, as a matrix of the nodes at its ends.

        Example:
            >>> run[0].plot.links().data[0].type
            'heatmap'
        """
        return self.figure("links")

    def topology(self) -> go.Figure:
        """Return the fabric of one trial as a map, its links coloured by utilisation.

        Example:
            >>> len(run[0].plot.topology().data) > 1
            True
        """
        return self.figure("topology")

    def queues(self) -> go.Figure:
        """Return the sampled egress queues of one trial over time.

        Example:
            >>> run[0].plot.queues().data[0].type
            'scatter'
        """
        return self.figure("queues")

    def link_use(self) -> go.Figure:
        """Return the sampled utilisation of links of one trial over time.

        Example:
            >>> run[0].plot.link_use().data[0].type
            'heatmap'
        """
        return self.figure("link-use")

    def latency(self) -> go.Figure:
        """Return the latency of frames of one trial.

        Example:
            >>> len(run[0].plot.latency().data)
            3
        """
        return self.figure("latency")
