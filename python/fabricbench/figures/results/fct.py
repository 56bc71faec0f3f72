"""Draws cumulative distributions of flow completion times, one for each job and trial of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.cumulative_distribution import EXACT_TAIL, MAX_POINTS, cdf_points
from fabricbench.figures.figure import FCT, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.results.completion_times import fct_ps_of
from fabricbench.figures.scales import TimeScale, time_scale
from fabricbench.figures.trial_data import Subject
from fabricbench.results.result_rows import ResultRow

MAX_CURVES = 24
_PS_PER_MS = 10**9
_PUBLISHED = {"fct_ms_min": 0.0, "fct_ms_p50": 50.0}


@dataclass(frozen=True)
class FctSample:
    """Flow completion times under one label.

    Attributes:
        label: Shown in the legend, such as `16 MB`.
        fct_ps: Times of all chunks [ps], any order; null for a chunk that never completed.
        published_ps: Published percentiles: percentage -> time [ps].
    """

    label: str
    fct_ps: pl.Series
    published_ps: dict[float, float]

    @property
    def completed_share(self) -> float:
        """Fraction of all chunks that completed, at which the curve ends."""
        return 1 - self.fct_ps.null_count() / len(self.fct_ps)


def fct_plot(samples: Sequence[FctSample]) -> Plot | None:
    """Draw the cumulative distribution of each sample; None when there is no completed chunk at all."""
    drawn = [sample for sample in samples if sample.fct_ps.drop_nulls().len() > 0]
    if not drawn:
        return None
    shortest_ps, longest_ps = _extremes_ps(drawn)
    scale = time_scale(longest_ps)
    figure = go.Figure()
    reduced = 0
    for sample, colour in zip(drawn, theme.order_colours(len(drawn)), strict=True):
        reduced += _add_sample(figure, sample, scale, colour)
    if any(sample.published_ps for sample in drawn):
        figure.add_trace(_published(drawn, scale))
    figure.update_layout(_layout(scale, shortest_ps, longest_ps))
    return Plot(figure, _caption(drawn, reduced))


def _extremes_ps(samples: Sequence[FctSample]) -> tuple[float, float]:
    """Return the shortest and the longest drawn time, including published ones."""
    times = [time for sample in samples for time in sample.published_ps.values()]
    times += [float(str(edge)) for s in samples for edge in (s.fct_ps.min(), s.fct_ps.max())]
    return min(times), max(times)


def _add_sample(figure: go.Figure, sample: FctSample, scale: TimeScale, colour: str) -> bool:
    values, of_completed, reduced = cdf_points(sample.fct_ps)
    shares = [share * sample.completed_share for share in of_completed]
    hover = f"{sample.label}<br>%{{y:.4g}} % of chunks within %{{x:.6g}} {scale.unit}<extra></extra>"
    figure.add_trace(
        go.Scatter(
            x=[round(value / scale.ps, 9) for value in values],
            y=[round(share, 3) for share in shares],
            name=sample.label,
            mode="lines+markers" if len(values) <= 60 else "lines",
            marker={"size": 4},
            line={"shape": "hv", "width": 1.8, "color": colour},
            hovertemplate=hover,
        )
    )
    return reduced


def _published(samples: Sequence[FctSample], scale: TimeScale) -> go.Scatter:
    points = [
        (time_ps / scale.ps, percent, sample.label)
        for sample in samples
        for percent, time_ps in sample.published_ps.items()
    ]
    return go.Scatter(
        x=[point[0] for point in points],
        y=[point[1] for point in points],
        text=[point[2] for point in points],
        name="published (min, P50)",
        mode="markers",
        marker={"symbol": "x-thin", "size": 8, "line": {"width": 1.6, "color": theme.CATEGORIES[1]}},
        hovertemplate=f"%{{text}}, published: %{{x:.6g}} {scale.unit} (P%{{y:.0f}})<extra></extra>",
    )


def _layout(scale: TimeScale, shortest_ps: float, longest_ps: float) -> dict[str, object]:
    return theme.layout(
        height=440,
        margin=theme.margin(t=58),
        xaxis=theme.spread_axis(
            f"flow completion time ({scale.unit})", shortest_ps / scale.ps, longest_ps / scale.ps
        ),
        yaxis=theme.axis("chunks complete (%)", range=[-2, 103]),
    )


def _caption(samples: Sequence[FctSample], reduced: int) -> str:
    text = (
        "Share of data chunks whose FCT (first byte offered to last byte acknowledged) is at most the time "
        "on the axis, for each trial of the run."
    )
    if any(sample.completed_share < 1 for sample in samples):
        text += " A curve that ends below 100 % leaves the chunks that never completed."
    if any(sample.published_ps for sample in samples):
        text += " Crosses are the published minimum and P50."
    if reduced:
        text += (
            f" Reduced: curves with more chunks show {MAX_POINTS:,} points, the lowest and highest "
            f"{EXACT_TAIL} values exactly and the rest evenly by rank."
        )
    return text


def chosen_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Select at most `MAX_CURVES` rows evenly, always including the focus."""
    if len(rows) <= MAX_CURVES:
        return list(rows)
    indices = {round(index * (len(rows) - 1) / (MAX_CURVES - 2)) for index in range(MAX_CURVES - 1)}
    indices |= {next((index for index, row in enumerate(rows) if row.is_focus), 0)}
    return [rows[index] for index in sorted(indices)]


def _sample(row: ResultRow) -> FctSample:
    key = row.summary.key
    published_ps = {
        percent: row.published[name].published * _PS_PER_MS
        for name, percent in _PUBLISHED.items()
        if name in row.published
    }
    return FctSample(row.label, fct_ps_of(row.trial.tables, {key: row.job_spec})[key], published_ps)


def _plot(subject: Subject) -> Plot | None:
    rows = [row for row in subject.rows if row.trial.has("chunks")]
    return fct_plot([_sample(row) for row in chosen_rows(rows)])


def _figure(name: str, subject: str, *, of_run: bool) -> Figure:
    return Figure(
        name=name,
        title=f"Flow completion times of {subject}",
        shows=f"Distribution of the flow completion times of {subject}, a curve for each job.",
        section=FCT,
        draws_chunks=True,
        plot=_plot,
        result=lambda row: bool(row.summary.chunks_complete),
        of_run=of_run,
    )


FCT_FIGURES: Final = (
    _figure("cdf", "this trial", of_run=False),
    _figure("cdf-run", "the run", of_run=True),
)
