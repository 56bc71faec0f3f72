"""Data classes that declare a figure (texts, required tables, drawing function) and a report's sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabricbench.figures.event_marks import marked
from fabricbench.figures.plot import Plot
from fabricbench.results.result_rows import ResultRow

if TYPE_CHECKING:
    from fabricbench.figures.trial_data import Subject


@dataclass(frozen=True)
class Section:
    """A section of the report, and part of a view of the web application.

    Attributes:
        key: Its anchor.
        title: Its title.
        missing: Why it may be empty.
    """

    key: str
    title: str
    missing: str


RESULTS: Final = Section("results", "Results of the run", "nothing differs between the trials of this run")
VARIANTS: Final = Section(
    "variants", "Variants", "the plan has no variants, or none of them has a ratio to the reference"
)
SWEEP: Final = Section("sweep", "Sweep", "the plan sweeps no field with several values")
TENANTS: Final = Section("tenants", "Contended and alone", "no job of this run was run alone as well")
BANDWIDTH: Final = Section(
    "bandwidth", "Bandwidth", "no trial of this run is complete, so there is no bandwidth to draw"
)
TWIN: Final = Section("twin", "Prediction beside measurement", "no trial was both measured and predicted")
FCT: Final = Section(
    "fct", "Flow completion times", "no chunk of this run completed, or observe.chunks is summary"
)
UPLINKS: Final = Section("uplinks", "Uplinks", "no switch has several uplinks")
TIMELINE: Final = Section("timeline", "Chunk transfers", "no chunk was started, or observe.chunks is summary")
CHANNELS: Final = Section("channels", "NCCL channels", "NCCL runs no job of this plan")
LINKS: Final = Section("links", "Link use", "the fabric has no links")
SERIES: Final = Section(
    "series",
    "Over time",
    "nothing was sampled: the plan's observe.series_points is 0, or the run was too short",
)
LATENCY: Final = Section("latency", "Frame latency", "no frame was accepted, or observe.chunks is summary")
ORDER: Final = Section("order", "Order of arrival", "every frame came in order")


SAMPLE_NOTE: Final = "Drawn of the chunks that `observe.chunks: sample` kept, not of all."
"""Appended to the caption of a figure that shows a sample."""


@dataclass(frozen=True)
class Figure:
    """A figure that trials may have.

    Attributes:
        name: Name by which it is requested.
        title: Its title.
        shows: Its content, in a sentence.
        section: Its section.
        plot: Draws it; returns `None` if there is nothing to draw.
        tables: The tables that a record must have.
        metric: The sampled quantity that it draws, if any.
        result: Condition that one of the results must satisfy, if any.
        missing: Why there may be nothing to draw, if not for the reason of its section.
        of_run: Whether it uses the results of the whole run, not only of the trial.
        has_twins: Whether it also shows the trials of the same run specs by other backends.
        zooms: Whether a window of it shows more detail.
        is_certain: Whether there is something to draw whenever its requirements are met.
        draws_chunks: Whether it draws rows of the table `chunks`, which may be a sample.
    """

    name: str
    title: str
    shows: str
    section: Section
    plot: Callable[[Subject], Plot | None]
    tables: tuple[str, ...] = ()
    metric: str | None = None
    result: Callable[[ResultRow], bool] | None = None
    missing: str = ""
    of_run: bool = False
    has_twins: bool = False
    zooms: bool = False
    is_certain: bool = True
    draws_chunks: bool = False

    @property
    def over_time(self) -> bool:
        """Whether its horizontal axis is the time of the run."""
        return self.section in {TIMELINE, CHANNELS, SERIES}

    def draw(self, subject: Subject) -> Plot | None:
        """Draw the figure.

        Figures over the time of the run have the same time axis, with lines for failures, repairs and
        convergences.

        Raises:
            StoreError: A table cannot be read.
        """
        if self.draws_chunks and subject.chunks_observed == "summary":
            return None
        plot = self.plot(subject) if subject.trial.has(*self.tables) else None
        if plot and self.draws_chunks and subject.chunks_observed == "sample":
            plot = replace(plot, caption=f"{plot.caption} {SAMPLE_NOTE}", reduced=True)
        if plot is None or plot.time_scale is None:
            return plot
        plot.figure.update_xaxes(range=subject.time_range)
        return marked(plot, subject.marks)

    def is_there(self, subject: Subject) -> bool:
        """Return whether there may be something to draw; draw it only if nothing else decides.

        Raises:
            StoreError: A table cannot be read.
        """
        return (
            all(map(subject.has_rows, self.tables))
            and not (self.draws_chunks and subject.chunks_observed == "summary")
            and (self.metric is None or self.metric in subject.sampled)
            and (self.result is None or any(map(self.result, subject.rows)))
            and (self.is_certain or self.plot(subject) is not None)
        )
