"""Response models of figures, and the JSON of a plot."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field

from fabricbench.figures.plot import Plot


class PlotlyFigure(BaseModel):
    """A figure for Plotly."""

    data: list[dict[str, Any]] = Field(description="Its traces.")
    layout: dict[str, Any]
    caption: str


class ReducedFigure(PlotlyFigure):
    """A figure thinned for browsers, with the unit of its horizontal axis of time."""

    reduced: bool = Field(description="Whether something was left out.")
    unit: str | None = Field(description="Unit of a horizontal axis of time; null for any other axis.")
    unit_ps: int | None = Field(description="Picoseconds of that unit.")


class MetricFigure(ReducedFigure):
    """A metric against data size."""

    title: str
    metric: str = Field(description="The metric that is drawn.")
    metrics: list[str] = Field(description="Those that can be.")


def plot_json(plot: Plot, **about: Any) -> bytes:
    """Return a plot as JSON: fields `about`, caption and unit of the plot, then `data` and `layout`."""
    about |= {
        "caption": plot.caption,
        "reduced": plot.reduced,
        "unit": plot.time_scale.unit if plot.time_scale else None,
        "unit_ps": plot.time_scale.ps if plot.time_scale else None,
    }
    figure: str = plot.figure.to_json(validate=False)
    return f"{json.dumps(about)[:-1]}, {figure[1:]}".encode()
