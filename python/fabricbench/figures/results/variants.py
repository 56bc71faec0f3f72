"""Draws ratios of a plan's variants to the reference variant: bars that start at 1, by size or by job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.figure import VARIANTS, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.trial_data import Subject
from fabricbench.results.sizes import size_title
from fabricbench.results.variants import VariantResult, VersusRow, versus_rows

_LABELS_MAX = 40
"""Maximum bars of one plot with printed values; more would overlap."""


@dataclass(frozen=True)
class RatioBar:
    """A bar of a variant.

    Attributes:
        variant: Its name.
        place: Category on the axis: a data size, or a job.
        ratio: Median ratio to the reference, or `None`.
        least: Smallest ratio over the iterations.
        largest: Largest ratio over the iterations.
    """

    variant: str
    place: str
    ratio: float | None
    least: float | None = None
    largest: float | None = None


@dataclass(frozen=True)
class RatioGroup:
    """Data of one plot: the sizes of a job, or all jobs of one size with the same metric.

    Attributes:
        rows: Its jobs and sizes, at least one.
        axis: Title of the category axis.
        job: The job, if the categories are its sizes; empty if they are jobs.
    """

    rows: Sequence[VersusRow]
    axis: str
    job: str

    @property
    def bars(self) -> list[RatioBar]:
        """The bars in drawing order; the reference is drawn as a line."""
        return [
            _bar(result, row.size if self.job else row.job) for row in self.rows for result in row.results
        ]

    def has(self, job: str) -> bool:
        """Return whether the group has a job."""
        return any(row.job == job for row in self.rows)


def ratio_groups(rows: Sequence[VersusRow]) -> list[RatioGroup]:
    """Return one group per job, or one per metric if there is only one size."""
    has_one_size = len({(row.job, row.size) for row in rows}) == len({row.job for row in rows})
    groups: dict[tuple[str, str], list[VersusRow]] = {}
    for row in rows:
        groups.setdefault((row.ratio, "" if has_one_size else row.job), []).append(row)
    axis = "job" if has_one_size else f"{versus_title(rows)} (1 MB = 2^20 bytes)"
    return [RatioGroup(group_rows, axis, job) for (_, job), group_rows in groups.items()]


def versus_title(rows: Sequence[VersusRow]) -> str:
    """Return the axis title for the sizes of the jobs."""
    return size_title([job.trial for row in rows for result in row.results for job in result.jobs])


def _bar(result: VariantResult, category: str) -> RatioBar:
    if result.ratios is None:
        return RatioBar(result.variant, category, None)
    return RatioBar(result.variant, category, result.value, result.ratios.least, result.ratios.largest)


def ratio_plot(group: RatioGroup) -> Plot | None:
    """Draw the ratios of every variant except the reference, or return None if none has a ratio."""
    bars, first = group.bars, group.rows[0]
    quantity, reference = first.metric.phrase, first.reference
    names = list(dict.fromkeys(bar.variant for bar in bars))
    drawn = [bar for bar in bars if bar.variant != reference and bar.ratio is not None]
    if not drawn:
        return None
    figure = go.Figure()
    for index, name in enumerate(names):
        variant_bars = [bar for bar in drawn if bar.variant == name]
        if variant_bars:
            figure.add_trace(
                _bars(name, variant_bars, theme.curve(index), labelled=len(drawn) <= _LABELS_MAX)
            )
    figure.add_hline(y=1, line={"color": theme.IDEAL, "width": 1.5, "dash": "dash"})
    places = list(dict.fromkeys(bar.place for bar in bars))
    figure.update_layout(
        theme.layout(
            height=360,
            margin=theme.margin(t=58, b=64),
            barmode="group",
            bargap=0.3,
            showlegend=True,
            xaxis=theme.axis(group.axis, type="category", categoryorder="array", categoryarray=places),
            yaxis=theme.axis(f"{quantity}, ratio to {reference}"),
        )
    )
    missing = sum(1 for bar in bars if bar.ratio is None)
    about = f"Job {group.job}. " if group.job else ""
    return Plot(figure, about + _caption(reference, bars, missing))


def _bars(name: str, bars: Sequence[RatioBar], colour: str, *, labelled: bool) -> go.Bar:
    ratios = [bar.ratio or 0.0 for bar in bars]
    spreads = [(bar.least or ratio, bar.largest or ratio) for bar, ratio in zip(bars, ratios, strict=True)]
    has_spread = any(low != high for low, high in spreads)
    return go.Bar(
        x=[bar.place for bar in bars],
        y=[ratio - 1 for ratio in ratios],
        base=1,
        name=name,
        marker={"color": colour},
        text=[f"{ratio:.3f}" for ratio in ratios] if labelled else None,
        textposition="outside",
        cliponaxis=False,
        customdata=[[ratio, low, high] for ratio, (low, high) in zip(ratios, spreads, strict=True)],
        hovertemplate=(
            f"{name}, %{{x}}: %{{customdata[0]:.4f}}<br>%{{customdata[1]:.4f}} to %{{customdata[2]:.4f}}"
            "<extra></extra>"
        ),
        error_y={
            "visible": has_spread,
            "symmetric": False,
            "array": [high - ratio for ratio, (_, high) in zip(ratios, spreads, strict=True)],
            "arrayminus": [ratio - low for ratio, (low, _) in zip(ratios, spreads, strict=True)],
            "color": theme.INK,
            "thickness": 1,
            "width": 3,
        },
    )


def _caption(reference: str, bars: Sequence[RatioBar], missing: int) -> str:
    text = f"Bars begin at 1, which is {reference}."
    if any(bar.least != bar.largest for bar in bars):
        text += " Medians over the iterations, with the least and the largest."
    if missing:
        text += f" {missing} without a ratio, such as incomplete ones, are not drawn."
    return text


def _plot(subject: Subject) -> Plot | None:
    """Draw the group of the requested job, or the first one with a ratio."""
    job = subject.window.job if subject.window else None
    groups = ratio_groups(versus_rows([row.report for row in subject.rows]))
    chosen_groups = [group for group in groups if job is None or group.has(job)]
    return next(filter(None, map(ratio_plot, chosen_groups)), None)


RATIO_FIGURE: Final = Figure(
    name="ratio",
    title="Ratios of the variants to the reference",
    shows="Ratio of each variant to the reference, of one job by size, or of all jobs of one size.",
    section=VARIANTS,
    plot=_plot,
    result=lambda row: row.report.against is not None,
    of_run=True,
    is_certain=False,
)
