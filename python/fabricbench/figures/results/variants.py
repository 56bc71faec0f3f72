"""Ratios of variants to the reference: bars that start at 1, by data size or by job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot

_LABELS_MAX = 40
"""Bars of one plot that have their value beside them; more would cover each other."""


@dataclass(frozen=True)
class RatioBar:
    """A variant at one place of the axis.

    Attributes:
        variant: Its name.
        place: What the bars beside each other have in common: a data size, or a job.
        ratio: Median ratio to the reference; none where there is none.
        least: Smallest ratio over the iterations.
        largest: Largest ratio over the iterations.
    """

    variant: str
    place: str
    ratio: float | None
    least: float | None = None
    largest: float | None = None


def ratio_plot(key: str, bars: Sequence[RatioBar], axis: str, quantity: str, reference: str) -> Plot | None:
    """Draw the ratios of every variant but the reference; None where none has a ratio.

    Args:
        key: Name of the plot.
        bars: The bars, in the order in which they stand; those of the reference are its line.
        axis: What the places are.
        quantity: What the ratio is of.
        reference: Name of the reference variant.
    """
    names = list(dict.fromkeys(bar.variant for bar in bars))
    drawn = [bar for bar in bars if bar.variant != reference and bar.ratio is not None]
    if not drawn:
        return None
    figure = go.Figure()
    for index, name in enumerate(names):
        own = [bar for bar in drawn if bar.variant == name]
        if own:
            figure.add_trace(_bars(name, own, theme.curve(index), labelled=len(drawn) <= _LABELS_MAX))
    figure.add_hline(y=1, line={"color": theme.IDEAL, "width": 1.5, "dash": "dash"})
    places = list(dict.fromkeys(bar.place for bar in bars))
    figure.update_layout(
        theme.layout(
            height=360,
            margin=theme.margin(t=58, b=64),
            barmode="group",
            bargap=0.3,
            showlegend=True,
            xaxis=theme.axis(axis, type="category", categoryorder="array", categoryarray=places),
            yaxis=theme.axis(f"{quantity}, ratio to {reference}"),
        )
    )
    missing = sum(1 for bar in bars if bar.ratio is None)
    return Plot(key, figure, _caption(reference, bars, missing))


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
