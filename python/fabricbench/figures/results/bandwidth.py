"""Draws bus bandwidth, and its percentage of the ideal, against data size, with published values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.record.run_spec import has_fabric
from fabricbench.analysis.summary.bandwidth import busbw_limit, ideal_goodput_gb_per_s
from fabricbench.figures import theme
from fabricbench.figures.figure import BANDWIDTH, Figure
from fabricbench.figures.plot import Plot
from fabricbench.metrics import BUS_BANDWIDTH, IDEAL_SHARE
from fabricbench.results.result_rows import ResultRow
from fabricbench.results.sizes import shown_bytes, size_title
from fabricbench.words import counted, data_size

_CURVES_MAX = 14
"""Maximum curves of one plot: more would have no distinct colours."""


@dataclass(frozen=True)
class _Quantity:
    """A drawn quantity: its metric, axis and texts."""

    metric: str
    hover: str
    axis: dict[str, Any]
    caption: str


_BUSBW = _Quantity(
    BUS_BANDWIDTH.name,
    "busbw %{y:.4f} GB/s",
    theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"),
    "Bus bandwidth of each trial.",
)
_IDEAL_PERCENT = _Quantity(
    IDEAL_SHARE.name,
    "%{y:.3f} % of ideal",
    theme.axis("busbw / ideal goodput (%; not from 0)"),
    "The same as a share of the ideal goodput of a port: line rate less the headers of full frames.",
)


def _plot(rows: Sequence[ResultRow], quantity: _Quantity) -> Plot | None:
    """Draw a quantity against data size, or return `None` if no trial has a bandwidth."""
    measured = [row for row in rows if row.summary.value(BUS_BANDWIDTH.name) is not None]
    shown = [row for row in measured if row.summary.value(quantity.metric) is not None]
    # Jobs run alone have a separate figure, which compares them with the same job among others.
    shown = [row for row in shown if not is_solo(row.trial.facts.variant)] or shown
    if not shown:
        return None
    figure = go.Figure()
    series_names = list(dict.fromkeys(row.series for row in shown))
    of_focus = next((row.series for row in shown if row.is_focus), series_names[0])
    names = [name for index, name in enumerate(series_names) if index < _CURVES_MAX or name == of_focus]
    colours = _job_colours(shown)
    for index, name in enumerate(names):
        series_rows = sorted((row for row in shown if row.series == name), key=_size_bytes)
        figure.add_trace(_measured(quantity, name, series_rows, colours.get(name) or theme.curve(index)))
    published = [row for row in shown if quantity.metric in row.published]
    if published:
        figure.add_trace(_published(quantity, published))
    ideal = _ideal(quantity, shown)
    if ideal is not None:
        figure.add_trace(ideal)
    title = f"{size_title([row.trial for row in rows])} (logarithmic; 1 MB = 2^20 bytes)"
    size_axis = theme.size_axis(title, map(_size_bytes, shown))
    figure.update_layout(
        theme.layout(height=380, margin=theme.margin(t=58, b=64), xaxis=size_axis, yaxis=quantity.axis)
    )
    caption = _caption(quantity, bool(published), len(rows) - len(measured))
    focus = next((row.trial.id for row in shown if row.is_focus), None)
    caption += f" The outlined point is trial {focus}." if focus and len(shown) > 1 else ""
    omitted = len(series_names) - len(names)
    caption += f" Not drawn: {counted(omitted, 'more curve')}." if omitted else ""
    return Plot(figure, caption, reduced=omitted > 0)


def _job_colours(rows: Sequence[ResultRow]) -> dict[str, str]:
    """Return the job colours of all figures, if each curve is a different one of several jobs."""
    jobs = {row.series: row.summary.job for row in rows}
    of_plan = [job["name"] for job in rows[0].trial.facts.run_spec.get("jobs", ())]
    if len(of_plan) < 2 or len(set(jobs.values())) < len(jobs):
        return {}
    colours = theme.job_colours(of_plan)
    return {series: colours[job] for series, job in jobs.items() if job in colours}


def _size_bytes(row: ResultRow) -> int:
    return shown_bytes(row.trial, row.summary)


def _measured(quantity: _Quantity, name: str, rows: Sequence[ResultRow], colour: str) -> go.Scatter:
    sizes = [_size_bytes(row) for row in rows]
    edge = [2.5 if row.is_focus else 0 for row in rows]
    return go.Scatter(
        x=sizes,
        y=[row.summary.value(quantity.metric) for row in rows],
        text=[f"{name}, {data_size(size)}" for size in sizes],
        name=name,
        mode="lines+markers" if len(set(sizes)) == len(sizes) else "markers",
        line={"width": 2, "color": colour},
        marker={"size": 8, "color": colour, "line": {"width": edge, "color": theme.INK}},
        hovertemplate=f"%{{text}}<br>{quantity.hover}<extra></extra>",
    )


def _published(quantity: _Quantity, rows: Sequence[ResultRow]) -> go.Scatter:
    return go.Scatter(
        x=[_size_bytes(row) for row in rows],
        y=[row.published[quantity.metric].published for row in rows],
        text=[data_size(_size_bytes(row)) for row in rows],
        name="published",
        mode="markers",
        marker=theme.PUBLISHED_MARK,
        hovertemplate=f"%{{text}}<br>{quantity.hover}<extra>published</extra>",
    )


def _ideal(quantity: _Quantity, rows: Sequence[ResultRow]) -> go.Scatter | None:
    """Draw the maximum goodput of a host port, or of all of a server, or nothing if the fabric is unknown."""
    ideals = {
        _size_bytes(row): ideal
        for row in rows
        if has_fabric(row.trial.facts.run_spec) and (ideal := _ideal_of(row)) is not None
    }
    if not ideals:
        return None
    sizes = sorted(ideals)
    return go.Scatter(
        x=sizes,
        y=[ideals[size] if quantity is _BUSBW else 100.0 for size in sizes],
        name="ideal goodput",
        mode="lines" if len(sizes) > 1 else "markers",
        marker={"symbol": "line-ew", "size": 40, "line": {"width": 1.5, "color": theme.IDEAL}},
        line={"dash": "dash", "width": 1.5, "color": theme.IDEAL},
        hovertemplate="ideal %{y:.4f}<extra></extra>",
    )


def _ideal_of(row: ResultRow) -> float | None:
    """Return the ideal bus bandwidth of a job; none on servers where there is no single one."""
    share = row.summary.value(IDEAL_SHARE.name)
    if row.trial.is_printed and share:
        return 100 * (row.summary.value(BUS_BANDWIDTH.name) or 0.0) / share
    run_spec = row.trial.facts.run_spec
    goodput = ideal_goodput_gb_per_s(run_spec)
    if not run_spec["fabric"].get("server"):
        return goodput
    job = next(job for job in run_spec["jobs"] if job["name"] == row.summary.job)
    return busbw_limit(run_spec, job, goodput)


def _caption(quantity: _Quantity, published: bool, incomplete: int) -> str:
    text = quantity.caption
    if published:
        text += " Crosses are published measurements."
    if incomplete:
        text += f" Not drawn: {incomplete} results without a bandwidth, incomplete or of no bytes."
    return text


BANDWIDTH_FIGURES: Final = (
    Figure(
        name="bandwidth",
        title="Bus bandwidth against data size",
        shows="Bus bandwidth against data size, with ideal and published values.",
        section=BANDWIDTH,
        plot=lambda subject: _plot(subject.rows, _BUSBW),
        result=lambda row: row.summary.value(BUS_BANDWIDTH.name) is not None,
        of_run=True,
    ),
    Figure(
        name="ideal-share",
        title="Bus bandwidth as a share of the ideal",
        shows="Bus bandwidth as a share of the ideal goodput of a port, against data size.",
        section=BANDWIDTH,
        plot=lambda subject: _plot(subject.rows, _IDEAL_PERCENT),
        result=lambda row: row.summary.value(IDEAL_SHARE.name) is not None,
        of_run=True,
    ),
)
