"""Adds labelled vertical lines to plots over time, at failures, repairs and convergence of routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricbench.analysis.faults.recovery import Step
from fabricbench.figures import theme
from fabricbench.figures.plot import Plot

MAX_MARKS = 12
_LABEL_MAX = 34
_CAPTION = "Lines across: failures (solid), repairs and the convergence of routes (dashed)."


@dataclass(frozen=True)
class Mark:
    """A line in plots over time.

    Attributes:
        time_ps: Its time [ps].
        label: Its label.
        bad: Whether it is a failure; else a repair or a convergence.
    """

    time_ps: int
    label: str
    bad: bool


def marks_of(steps: Sequence[Step]) -> list[Mark]:
    """Return the first `MAX_MARKS` lines of failures, repairs and convergences."""
    marks = []
    for step in steps:
        first = step.what[0].partition(",")[0]
        more = f" +{len(step.what) - 1}" if len(step.what) > 1 else ""
        label = (first if len(first) <= _LABEL_MAX else f"{first[: _LABEL_MAX - 1]}…") + more
        is_repair = all(_is_repair(change) for change in step.what)
        marks.append(Mark(step.at_ps, label, bad=not is_repair))
        if step.converged_ps is not None:
            marks.append(Mark(step.converged_ps, "routes converged", bad=False))
    return sorted(marks, key=lambda mark: mark.time_ps)[:MAX_MARKS]


def _is_repair(change: str) -> bool:
    return (
        " up:" in change
        or ", 100 % of line rate" in change
        or " rate of 0 from" in change
        or ": 0 frames of" in change
    )


def marked(plot: Plot, marks: Sequence[Mark]) -> Plot:
    """Add the lines to a plot over time; return any other plot unchanged.

    Labels run vertically along their lines, so that close ones stay readable.
    """
    scale, figure = plot.time_scale, plot.figure
    if scale is None or not marks:
        return plot
    for mark in marks:
        colour = theme.FAILED if mark.bad else theme.MUTED
        figure.add_shape(
            type="line",
            x0=mark.time_ps / scale.ps,
            x1=mark.time_ps / scale.ps,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": colour, "width": 1.4, "dash": "solid" if mark.bad else "dash"},
        )
        figure.add_annotation(
            x=mark.time_ps / scale.ps,
            y=0.99,
            yref="paper",
            text=mark.label,
            textangle=90,
            showarrow=False,
            xanchor="left",
            yanchor="top",
            font={"size": 11, "color": colour},
            bgcolor="rgba(255,255,255,0.75)",
        )
    return replace(plot, caption=f"{plot.caption} {_CAPTION}")
