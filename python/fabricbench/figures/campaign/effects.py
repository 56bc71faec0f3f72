"""Draws the effect of each value of each factor of a campaign on a metric, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from fabricbench.analysis.factorial.effects import LevelEffect
from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.results.studies.factor_effects import Response
from fabricbench.words import counted

_ROWS_MAX: Final = 120
"""Maximum number of rows: factors and their values."""
_ROW_PX: Final = 22


def effects_plot(response: Response) -> Plot | None:
    """Draw the effects of a metric, strongest factor first, or return `None` without effects."""
    effects, factors = response.effects, response.factors
    if effects is None:
        return None
    order = [
        number
        for number in response.strongest(len(factors))
        if any(level.percent is not None for level in effects.levels[number])
    ]
    shown: list[int] = []
    free_rows = _ROWS_MAX
    for number in order:
        rows = len(factors[number].levels) + 1
        if rows <= free_rows:
            free_rows -= rows
            shown.append(number)
    if not shown:
        return None
    figure = go.Figure()
    names: list[str] = []
    for number in shown:
        names.append(f"<b>{factors[number].name}</b>")
        figure.add_trace(_points(effects.levels[number], len(names), factors[number].name, number))
        names += factors[number].levels
    upwards = theme.axis("", tickvals=list(range(len(names))), ticktext=names, showgrid=False)
    figure.update_layout(
        theme.layout(height=_ROW_PX * len(names) + 84, margin=theme.margin(t=12), showlegend=False),
        yaxis={**upwards, "range": [len(names) - 0.4, -0.6]},
        xaxis=theme.axis("against the mean of all settings (%)", zeroline=True, zerolinecolor=theme.LINE),
    )
    return Plot(figure, _caption(response, len(order) - len(shown)), reduced=len(order) > len(shown))


def _points(levels: Sequence[LevelEffect], first: int, name: str, number: int) -> go.Scatter:
    margins = [level.margin_percent for level in levels]
    return go.Scatter(
        x=[level.percent for level in levels],
        y=list(range(first, first + len(levels))),
        error_x={"array": [margin or 0 for margin in margins], "thickness": 1.6, "width": 4},
        mode="markers",
        marker={"size": 8, "color": theme.curve(number)},
        name=name,
        text=["" if margin is None else f" ± {margin:.2g}" for margin in margins],
        hovertemplate="%{x:+.4g}%{text} %<extra></extra>",
    )


def _caption(response: Response, omitted: int) -> str:
    text = (
        f"{response.title} with each value of each factor, the others being the same, against the "
        "mean of all settings."
    )
    if response.effects is not None and response.effects.has_repeats:
        text += " Bars: 95 % confidence over the seeds."
    return text + (f" Not drawn: {counted(omitted, 'more factor')}." if omitted else "")
