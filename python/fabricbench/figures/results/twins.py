"""Draws measured values of a run and the simulator's predictions against data size, with deviations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.figure import TWIN, Figure
from fabricbench.figures.plot import Plot
from fabricbench.metrics import BUS_BANDWIDTH
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.sizes import shown_bytes, size_title
from fabricbench.words import data_size

_TIME: Final = "completion_time_ms"
_SPLIT: Final = (0.3, 0.42)
"""Top of the deviations and bottom of the values, as fractions of the plot's height."""
_BAR: Final = 0.35
"""Total width of the bars at a size, as a fraction of the size: the axis is logarithmic."""
_MARGIN_DECADES: Final = 0.3
"""Margin of the axis beyond the smallest and the largest size."""


@dataclass(frozen=True)
class _Pair:
    """A measured job and its prediction, both with a completion time."""

    measured: ResultRow
    predicted: ResultRow

    @property
    def size_bytes(self) -> int:
        return shown_bytes(self.measured.trial, self.measured.summary)

    @property
    def deviation_percent(self) -> float:
        return 100 * (_value(self.measured, _TIME) / _value(self.predicted, _TIME) - 1)

    @property
    def curve(self) -> str:
        """Label that distinguishes it from the other jobs of the run."""
        variant = self.measured.trial.facts.variant
        parts = ("" if variant == "base" else variant, self.measured.axes, self.measured.summary.job)
        return ", ".join(part for part in parts if part)


def _value(row: ResultRow, metric: str) -> float:
    return float(row.summary.value(metric) or 0.0)


def twin_plot(rows: Sequence[ResultRow]) -> Plot | None:
    """Draw the results that were both measured and predicted, or return `None` if there are none."""
    pairs = list(_pairs(rows))
    if not pairs:
        return None
    has_bandwidth = all(_value(pair.predicted, BUS_BANDWIDTH.name) for pair in pairs)
    metric = BUS_BANDWIDTH.name if has_bandwidth else _TIME
    title = "busbw (GB/s; 1 GB = 10^9 bytes)" if has_bandwidth else "completion time (ms)"
    figure = go.Figure()
    curves = list(dict.fromkeys(pair.curve for pair in pairs))
    for index, curve in enumerate(curves):
        curve_pairs = sorted(
            (pair for pair in pairs if pair.curve == curve), key=lambda pair: pair.size_bytes
        )
        name = f"{curve}, " if len(curves) > 1 else ""
        figure.add_traces(_lines(curve_pairs, metric, name, theme.curve(index)))
        figure.add_trace(_bars(curve_pairs, name, theme.curve(index), (index, len(curves))))
    sizes = sorted({pair.size_bytes for pair in pairs})
    edges = [log10(max(1, sizes[0])) - _MARGIN_DECADES, log10(max(1, sizes[-1])) + _MARGIN_DECADES]
    title_x = size_title([pair.measured.trial for pair in pairs])
    size_axis = theme.size_axis(title_x, sizes, range=edges)
    low, high = _SPLIT
    figure.update_layout(
        theme.layout(
            height=460,
            margin=theme.margin(t=58, b=64),
            xaxis=size_axis | {"anchor": "y2"},
            yaxis=theme.axis(title, rangemode="tozero", domain=[high, 1]),
            yaxis2=theme.axis("deviation (%)", domain=[0, low], zeroline=True),
        )
    )
    text = (
        "Measured values and what the simulator predicts of the same run spec; below, by how much the "
        "measured completion time is longer than the predicted one."
    )
    return Plot(figure, text)


def _pairs(rows: Sequence[ResultRow]) -> Iterator[_Pair]:
    """Yield each measured result with its prediction, the first of several."""
    timed = [row for row in rows if not row.trial.is_printed and _value(row, _TIME)]
    predictions: dict[tuple[str, str], ResultRow] = {}
    for row in timed:
        if row.trial.is_predicted:
            predictions.setdefault(_key(row), row)
    paired_keys = set()
    for row in timed:
        key = _key(row)
        if not row.trial.is_predicted and key in predictions and key not in paired_keys:
            paired_keys.add(key)
            yield _Pair(row, predictions[key])


def _key(row: ResultRow) -> tuple[str, str]:
    return json.dumps(row.trial.facts.run_spec, sort_keys=True), row.summary.job


def _marks(pairs: Sequence[_Pair]) -> Mapping[str, Any]:
    sizes = [pair.size_bytes for pair in pairs]
    return {"x": sizes, "text": [data_size(size) for size in sizes]}


def _lines(pairs: Sequence[_Pair], metric: str, name: str, colour: str) -> list[Any]:
    marks = _marks(pairs)
    hover = "%{text}<br>%{y:.4g}<extra>%{fullData.name}</extra>"
    return [
        go.Scatter(
            **marks,
            y=[_value(pair.measured, metric) for pair in pairs],
            name=f"{name}measured",
            mode="lines+markers",
            line={"width": 2, "color": colour},
            marker={"size": 8, "color": colour},
            hovertemplate=hover,
        ),
        go.Scatter(
            **marks,
            y=[_value(pair.predicted, metric) for pair in pairs],
            name=f"{name}predicted",
            mode="lines+markers",
            line={"width": 1.5, "color": colour, "dash": "dash"},
            marker={"size": 8, "color": colour, "symbol": "circle-open"},
            hovertemplate=hover,
        ),
    ]


def _bars(pairs: Sequence[_Pair], name: str, colour: str, slot: tuple[int, int]) -> Any:
    """Return the deviations of a curve as bars, offset by its index among the curves."""
    index, count = slot
    return go.Bar(
        **_marks(pairs),
        y=[pair.deviation_percent for pair in pairs],
        width=[_BAR * pair.size_bytes / count for pair in pairs],
        offset=[_BAR * pair.size_bytes * (index / count - 0.5) for pair in pairs],
        name=f"{name}deviation",
        yaxis="y2",
        marker={"color": colour},
        showlegend=False,
        texttemplate="%{y:+.3g} %",
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{text}<br>%{y:+.2f} %<extra>%{fullData.name}</extra>",
    )


TWIN_FIGURE: Final = Figure(
    name="twin",
    title="Measured and predicted",
    shows="Measured and predicted bus bandwidth against data size, and the deviation of the time.",
    section=TWIN,
    plot=lambda subject: twin_plot(subject.rows),
    of_run=True,
    has_twins=True,
    is_certain=False,
)
