"""Draws parallel coordinates of a campaign: a line per setting, through its factor values to its metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.results.axes import short_names
from fabricbench.results.studies.factor_effects import Response, Setting

LINES_MAX: Final = 2_000
_COLOURS: Final = 12
_LABELS_MAX: Final = 14
"""Maximum number of labels on one axis."""
_TICKS: Final = 5
_HEIGHT_PX: Final = 420
_WIDE: Final = 10
"""Ratio of largest to smallest value from which the metric's axis is logarithmic."""
_BAND: Final = 0.8
"""Fraction of a value's band over which its lines are spread."""


def parallel_plot(response: Response) -> Plot | None:
    """Draw the settings of a campaign, or return `None` if they do not differ or lack the metric."""
    ranked = response.ranked()
    if not response.names or len(ranked) < 2:
        return None
    shown = thinned(ranked, LINES_MAX)
    scale = _Scale([setting.mean for setting in ranked])
    figure = go.Figure(_lines(response, shown, scale))
    short = short_names(response.names)
    for index, name in enumerate(response.names):
        _draw_axis(figure, index, short[name], _level_ticks(response.levels[name]))
    unit = f" ({response.unit})" if response.unit else ""
    _draw_axis(
        figure, len(response.names), f"{response.metric.label or response.metric.name}{unit}", scale.ticks
    )
    hidden = {"visible": False, "fixedrange": True}
    figure.update_layout(
        theme.layout(height=_HEIGHT_PX, margin=theme.margin(l=96, r=40, t=48, b=16), showlegend=False),
        xaxis={**hidden, "range": [-0.15, len(response.names) + 0.2]},
        yaxis={**hidden, "range": [-0.04, 1.04]},
    )
    return Plot(figure, _caption(len(shown), len(ranked)), reduced=len(shown) < len(ranked))


def thinned(settings: Sequence[Setting], most: int) -> list[Setting]:
    """Return at most `most` settings, evenly by rank, including the first and the last."""
    if len(settings) <= most:
        return list(settings)
    return [settings[index * (len(settings) - 1) // (most - 1)] for index in range(most)]


class _Scale:
    """Position of a metric value on its axis, from 0 to 1."""

    def __init__(self, values: Sequence[float]) -> None:
        self._low, self._high = min(values), max(values)
        self._is_log = self._low > 0 and self._high >= _WIDE * self._low

    def place(self, value: float) -> float:
        low, high, value = (self._along(number) for number in (self._low, self._high, value))
        return (value - low) / (high - low) if high > low else 0.5

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions and labels of the ticks."""
        shares = [index / (_TICKS - 1) for index in range(_TICKS)] if self._high > self._low else [0.5]
        return [(share, f"{self._value(share):.4g}") for share in shares]

    def _along(self, value: float) -> float:
        return math.log(value) if self._is_log else value

    def _value(self, share: float) -> float:
        if self._is_log:
            return math.exp(math.log(self._low) + share * math.log(self._high / self._low))
        return self._low + share * (self._high - self._low)


def _lines(response: Response, shown: Sequence[Setting], scale: _Scale) -> list[go.Scatter]:
    """Return the lines, one trace per colour; the smallest values are drawn last."""
    ranked = sorted(shown, key=lambda setting: setting.mean)
    columns = [
        _axis_positions(response.levels[name], [setting.values[index] for setting in ranked])
        for index, name in enumerate(response.names)
    ]
    columns.append([scale.place(setting.mean) for setting in ranked])
    groups: dict[int, list[tuple[float, ...]]] = {}
    for line in reversed(list(zip(*columns, strict=True))):
        groups.setdefault(min(_COLOURS - 1, int(line[-1] * _COLOURS)), []).append(line)
    return [
        go.Scatter(
            x=[index for line in lines for index in (*range(len(line)), None)],
            y=[None if value is None else round(value, 4) for line in lines for value in (*line, None)],
            mode="lines",
            line={"width": 1.3, "color": theme.colour_at(theme.ORDER_SCALE, colour / (_COLOURS - 1))},
            opacity=0.6,
            hoverinfo="skip",
        )
        for colour, lines in groups.items()
    ]


def _axis_positions(levels: Sequence[str], values: Sequence[str]) -> list[float]:
    """Return the position of each line on a factor's axis: in the band of its value, by rank."""
    numbers = {level: number for number, level in enumerate(levels)}
    counts = dict.fromkeys(levels, 0)
    ranks = []
    for value in values:
        ranks.append(counts[value])
        counts[value] += 1
    return [
        (numbers[value] + 0.5 + _BAND * ((rank + 0.5) / counts[value] - 0.5)) / len(levels)
        for value, rank in zip(values, ranks, strict=True)
    ]


def _level_ticks(levels: Sequence[str]) -> list[tuple[float, str]]:
    step = -(-len(levels) // _LABELS_MAX)
    return [((number + 0.5) / len(levels), levels[number]) for number in range(0, len(levels), step)]


def _draw_axis(figure: go.Figure, index: int, title: str, ticks: Sequence[tuple[float, str]]) -> None:
    figure.add_shape(type="line", x0=index, x1=index, y0=0, y1=1, line={"color": theme.LINE, "width": 1})
    ground: dict[str, Any] = {"showarrow": False, "bgcolor": "rgba(255,255,255,0.8)"}
    short = title if len(title) <= 24 else f"…{title[-23:]}"
    font = {"size": 12, "color": theme.MUTED}
    figure.add_annotation(x=index, y=1.03, text=f"<b>{short}</b>", yanchor="bottom", font=font, **ground)
    for share, text in ticks:
        label = text if len(text) <= 18 else f"{text[:17]}…"
        font = {"size": 11, "color": theme.INK}
        figure.add_annotation(x=index, y=share, text=label, xanchor="right", xshift=-3, font=font, **ground)


def _caption(shown: int, count: int) -> str:
    text = (
        "A line for each setting, through its value of each factor to the mean of its trials, which gives "
        "its colour. Within a value lines stand by that mean."
    )
    if shown < count:
        text += f" Drawn: {shown:,} of {count:,} settings, evenly by their rank."
    return text
