"""Draws a metric of compared trials against data size, each trial with the other sizes of its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.metrics import Metric
from fabricbench.results.curves import Curve
from fabricbench.results.job_reports import JobReport
from fabricbench.results.sizes import shown_bytes, size_title
from fabricbench.words import counted, data_size

_CURVES_MAX: Final = 14
"""Maximum curves of one plot: more would have no distinct colours."""
_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "pentagon")


def compared_plot(curves: Sequence[Curve], metric: Metric) -> Plot | None:
    """Draw a metric of every curve, one line per job, or return `None` if no job has it."""
    shown = curves[:_CURVES_MAX]
    names = list(dict.fromkeys(job.summary.job for curve in shown for job in curve.jobs))
    has_several_jobs = any(len({job.summary.job for job in curve.jobs}) > 1 for curve in shown)
    figure = go.Figure()
    for index, curve in enumerate(shown):
        for job in names if has_several_jobs else [None]:
            curve_jobs = [job_report for job_report in curve.jobs if job in {None, job_report.summary.job}]
            line = _line(curve, curve_jobs, metric)
            if line is not None:
                name = curve.name if job is None else f"{curve.name}, {job}"
                kind = names.index(job) if job else 0
                figure.add_trace(line.update(name=name, **_line_style(theme.curve(index), kind)))
    if not figure.data:
        return None
    jobs = [job for curve in shown for job in curve.jobs]
    figure.update_layout(
        theme.layout(
            height=360,
            margin=theme.margin(t=58, b=64),
            showlegend=True,
            xaxis=_size_axis(figure, jobs),
            yaxis=metric_axis(metric, [value for trace in figure.data for value in trace.y]),
        )
    )
    omitted = len(curves) - len(shown)
    return Plot(figure, _caption(omitted, several=has_several_jobs), reduced=omitted > 0)


def _line(curve: Curve, jobs: Sequence[JobReport], metric: Metric) -> go.Scatter | None:
    """Return the line of a job by ascending size, or `None` if it lacks the metric."""
    measured_jobs = [job for job in jobs if job.summary.value(metric.name) is not None]
    measured_jobs.sort(key=_size_bytes)
    if not measured_jobs:
        return None
    return go.Scatter(
        x=[_size_bytes(job) for job in measured_jobs],
        y=[job.summary.value(metric.name) for job in measured_jobs],
        text=[f"{data_size(_size_bytes(job))}, trial {job.trial.id}" for job in measured_jobs],
        mode="lines+markers",
        marker={"line": {"width": [2.5 if job.trial.id in curve.chosen else 0 for job in measured_jobs]}},
        hovertemplate=f"%{{text}}<br>{value_text(metric)}<extra>%{{fullData.name}}</extra>",
    )


def _line_style(colour: str, kind: int) -> dict[str, object]:
    """Return colour, dash and symbol of a line; dash and symbol distinguish jobs of the same colour."""
    return {
        "line_width": 2,
        "line_color": colour,
        "line_dash": _DASHES[kind % len(_DASHES)],
        "marker_size": 8,
        "marker_color": colour,
        "marker_symbol": _SYMBOLS[kind % len(_SYMBOLS)],
        "marker_line_color": theme.INK,
    }


def _size_bytes(job: JobReport) -> int:
    """Return the position of a job on the axis; for one with a fixed size, that of the sweep."""
    return job.trial.facts.data_size_bytes if job.is_fixed else shown_bytes(job.trial, job.summary)


def _size_axis(figure: go.Figure, jobs: Sequence[JobReport]) -> dict[str, object]:
    title = f"{size_title([job.trial for job in jobs])} (logarithmic; 1 MB = 2^20 bytes)"
    return theme.size_axis(title, (size for trace in figure.data for size in trace.x))


def metric_axis(metric: Metric, values: Sequence[float | None]) -> dict[str, object]:
    """Return the axis of a metric: from 0, or logarithmic for times, which vary widely with size."""
    title = f"{metric.phrase} ({metric.unit})" if metric.unit else metric.phrase
    numbers = [value for value in values if value is not None]
    if metric.unit in {"ms", "us"} and min(numbers) > 0:
        return theme.spread_axis(title, min(numbers), max(numbers))
    return theme.axis(title, rangemode="tozero")


def value_text(metric: Metric) -> str:
    """Return the hover template of a value with its unit."""
    return f"%{{y:.5g}} {metric.unit}".rstrip()


def _caption(omitted: int, *, several: bool) -> str:
    text = "Each compared trial with the other sizes of its run; outlined points are the compared trials."
    if several:
        text += " One colour is one trial or variant, one dash and mark one job."
    return text + (f" Not drawn: {counted(omitted, 'more curve')}." if omitted else "")
