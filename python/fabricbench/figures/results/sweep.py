"""Draws a run over the plan fields that it sweeps: heat maps of two fields, and lines in small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.figures import theme
from fabricbench.figures.figure import RESULTS, SWEEP, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.trial_data import Subject
from fabricbench.metrics import Direction, Metric
from fabricbench.results.job_reports import JobReport
from fabricbench.results.studies.sweep import MetricGrid, Panel, Point, Sweep, job_sweeps, sweeps
from fabricbench.words import counted

_PANELS_MAX = 12
_LINES_MAX = 14
"""Maximum lines of one panel; more would have no distinct colours."""
_CELLS_MAX = 400
"""Maximum cells of a map with printed values."""
_MAPS_ACROSS = 2
_PANELS_ACROSS = 3
_PANEL_PX = 190
_CELL_PX = 36
_BETWEEN_PX = 92
"""Space between panels, for the axis of one and the title of the next [px]."""
_ABOVE_PX = 66
_LEGEND_PX = 26
_BELOW_PX = 72
_LEAST_RANGE = 0.02
"""Minimum range of colours and axes, as a fraction of the smallest value, so that equal values look equal."""
_WHOLE_FROM = 10_000
_MEDIANS = " Medians over the iterations."


def map_plot(sweep: Sweep) -> Plot | None:
    """Draw the metric of a job over the first two dimensions, one map per value of the others."""
    grids = sweep.grids()
    shown = [grid for grid in grids if any(value is not None for value in grid.values.values())]
    shown = shown[:_PANELS_MAX]
    if not shown:
        return None
    figure = maps_figure(shown, sweep.metric)
    unit = f" ({sweep.metric.unit})" if sweep.metric.unit else ""
    text = (
        f"{sweep.metric.title}{unit} of job {sweep.job} at each combination. Colours go from the smallest "
        "value of each map, like its background, to its largest."
    )
    return Plot(figure, text + _omission_text(sweep, len(grids)), reduced=len(grids) > len(shown))


def maps_figure(grids: Sequence[MetricGrid], metric: Metric) -> go.Figure:
    """Draw a metric over two dimensions each; every map has at least one value."""
    height = _CELL_PX * len(grids[0].rows.values)
    panels = _Panels(len(grids), _MAPS_ACROSS, height, [grid.about for grid in grids])
    figure = panels.figure(horizontal_spacing=0.14)
    for grid, panel_position in zip(grids, panels.places, strict=True):
        figure.add_trace(_map(grid, metric), **panel_position)
        figure.update_xaxes(theme.axis(grid.columns.title, showgrid=False, type="category"), **panel_position)
        rows = theme.axis(grid.rows.title, showgrid=False, type="category", autorange="reversed")
        figure.update_yaxes(rows, **panel_position)
    return figure


def _map(grid: MetricGrid, metric: Metric) -> go.Heatmap:
    values = [[grid.values.get((row, column)) for column in grid.columns.values] for row in grid.rows.values]
    numbers = [value for row in values for value in row if value is not None]
    low, high = min(numbers), max(numbers)
    is_small = len(grid.rows.values) * len(grid.columns.values) <= _CELLS_MAX
    cell = f"{grid.rows.name} %{{y}}, {grid.columns.name} %{{x}}: %{{text}} {metric.unit}<extra></extra>"
    return go.Heatmap(
        x=list(grid.columns.values),
        y=list(grid.rows.values),
        z=values,
        zmin=low,
        zmax=max(high, low + _LEAST_RANGE * abs(low or 1)),
        text=[[_shown(value) for value in row] for row in values],
        texttemplate="%{text}" if is_small else None,
        hovertemplate=cell,
        colorscale=theme.plotly_scale(theme.USE_SCALE),
        showscale=False,
        xgap=1,
        ygap=1,
    )


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"


class _Panels:
    """Grid of panels, each with its title above and space for the axis below."""

    def __init__(self, count: int, across_max: int, height: int, titles: Sequence[str]) -> None:
        self._across = min(across_max, count)
        self._down = -(-count // self._across)
        self._titles = titles
        self._panel = height
        self.places = [
            {"row": index // self._across + 1, "col": index % self._across + 1} for index in range(count)
        ]

    def is_lowest(self, place: dict[str, int]) -> bool:
        """Return whether no panel is below this one."""
        return {**place, "row": place["row"] + 1} not in self.places

    @property
    def _inner(self) -> int:
        return self._panel * self._down + _BETWEEN_PX * (self._down - 1)

    def figure(self, **more: Any) -> go.Figure:
        """Return the figure with empty panels and a legend above them."""
        figure = make_subplots(
            rows=self._down,
            cols=self._across,
            subplot_titles=[title or " " for title in self._titles],
            vertical_spacing=_BETWEEN_PX / self._inner if self._down > 1 else 0,
            **more,
        )
        margin = theme.margin(t=_ABOVE_PX, b=_BELOW_PX)
        legend = {"orientation": "h", "yanchor": "bottom", "y": 1 + _LEGEND_PX / self._inner, "x": 0}
        height = self._inner + _ABOVE_PX + _BELOW_PX
        figure.update_layout(theme.layout(height=height, margin=margin, legend=legend))
        figure.update_annotations(font={"size": 12.5, "color": theme.INK})
        return figure


def lines_plot(swept: Sequence[Sweep], *, from_zero: bool = False) -> Plot | None:
    """Draw the metric of jobs against size or the last field, one line per value of another field.

    Jobs without the metric of the first one are left out.
    """
    if not swept:
        return None
    metric = swept[0].line_metric
    drawn = [sweep for sweep in swept if sweep.line_metric is metric]
    all_panels = [(sweep, panel) for sweep in drawn for panel in sweep.panels()]
    shown = all_panels[:_PANELS_MAX]
    points = [point for _, panel in shown for line in panel.lines.values() for point in line]
    numbers = [point.value for point in points if point.value is not None]
    if not numbers:
        return None
    titles = [_panel_title(sweep, panel, several=len(drawn) > 1) for sweep, panel in shown]
    across = 2 if len(shown) == 4 else _PANELS_ACROSS
    panels = _Panels(len(shown), across, _PANEL_PX, titles)
    figure = panels.figure(shared_yaxes=True, horizontal_spacing=0.04)
    names = list(dict.fromkeys(name for _, panel in shown for name in panel.lines))
    limits = {sweep.job: _limits(sweep) for sweep in drawn}
    numbers += [limit for sweep, _ in shown for limit, _ in limits[sweep.job]]
    upwards = _y_axis(metric, numbers, from_zero=from_zero)
    for (sweep, panel), panel_position in zip(shown, panels.places, strict=True):
        for trace in _lines(sweep, panel, names[:_LINES_MAX], is_first=panel is shown[0][1]):
            figure.add_trace(trace, **panel_position)
        for limit, text in limits[sweep.job]:
            figure.add_hline(
                limit,
                line={"color": theme.FAILED, "width": 1.5, "dash": "dash"},
                annotation={"text": text, "font": {"size": 11, "color": theme.FAILED}},
                **panel_position,
            )
        figure.update_xaxes(
            _x_axis(sweep, panel, has_title=panels.is_lowest(panel_position)), **panel_position
        )
        figure.update_yaxes(
            upwards if panel_position["col"] == 1 else {**upwards, "title": {"text": ""}}, **panel_position
        )
    figure.update_layout(showlegend=len(names) > 1)
    of_jobs = "each job" if len(drawn) > 1 else f"job {drawn[0].job}"
    text = f"{metric.title} of {of_jobs} against {drawn[0].across.title}."
    text += " Dashed: criteria of the plan." if any(limits.values()) else ""
    omitted = len(names) - _LINES_MAX
    text += f" Not drawn: {counted(omitted, 'more line')} of each." if omitted > 0 else ""
    left_out = len(swept) - len(drawn)
    text += f" Not drawn: {counted(left_out, 'job')} without {metric.phrase}." if left_out else ""
    return Plot(
        figure,
        text + _omission_text(drawn[0], len(all_panels)),
        reduced=omitted > 0 or len(all_panels) > len(shown) or left_out > 0,
    )


def _y_axis(metric: Metric, values: Sequence[float], *, from_zero: bool) -> dict[str, Any]:
    """Return the vertical axis: around the values, or from 0 for bandwidths if requested."""
    unit = f" ({metric.unit})" if metric.unit else ""
    low, high = min(values), max(values)
    if from_zero and metric.direction is Direction.HIGHER:
        return theme.axis(f"{metric.label}{unit}", range=[0, 1.06 * high or 1])
    margin = _LEAST_RANGE * low / 2 if high < (1 + _LEAST_RANGE) * low else 0
    return theme.spread_axis(f"{metric.label}{unit}", low - margin, high + margin)


def _panel_title(sweep: Sweep, panel: Panel, *, several: bool) -> str:
    return ", ".join(part for part in (sweep.name if several else "", panel.about) if part)


def _limits(sweep: Sweep) -> list[tuple[float, str]]:
    """Return the limits that criteria set for the metric of the lines of a job, each with its label."""
    limits: dict[tuple[float, str], None] = {}
    for job in sweep.jobs:
        for judgement in job.judgements:
            if judgement.metric == sweep.line_metric.name:
                limits |= (
                    {(judgement.min, f"min {judgement.min:g}"): None} if judgement.min is not None else {}
                )
                limits |= (
                    {(judgement.max, f"max {judgement.max:g}"): None} if judgement.max is not None else {}
                )
    return list(limits)


def _lines(sweep: Sweep, panel: Panel, names: Sequence[str], *, is_first: bool) -> list[go.Scatter]:
    return [
        go.Scatter(
            x=[_x_value(sweep, point) for point in panel.lines[name]],
            y=[point.value for point in panel.lines[name]],
            text=[point.place for point in panel.lines[name]],
            name=name,
            legendgroup=name,
            showlegend=is_first,
            mode="lines+markers",
            line={"width": 2, "color": theme.curve(index)},
            marker={"size": 7, "color": theme.curve(index)},
            hovertemplate=f"{name}, %{{text}}: %{{y:.4g}} {sweep.line_metric.unit}<extra></extra>",
        )
        for index, name in enumerate(names)
        if name in panel.lines
    ]


def _x_value(sweep: Sweep, point: Point) -> int | str:
    return point.size_bytes if sweep.across.is_size else point.place


def _x_axis(sweep: Sweep, panel: Panel, *, has_title: bool) -> dict[str, Any]:
    if not sweep.across.is_size:
        order = {"categoryorder": "array", "categoryarray": list(sweep.across.values)}
        return theme.axis(sweep.across.title if has_title else "", type="category", **order)
    sizes = sorted({point.size_bytes for points in panel.lines.values() for point in points})
    labels = theme.size_ticks(sizes)
    return theme.axis(f"{sweep.across.title} (logarithmic)" if has_title else "", type="log", **labels)


def _omission_text(sweep: Sweep, count: int) -> str:
    """Describe medians and omitted combinations."""
    has_several = any(job.trial.facts.iteration for job in sweep.jobs)
    omitted = count - _PANELS_MAX
    more = f" Not drawn: {counted(omitted, 'more combination')} of the other fields." if omitted > 0 else ""
    return (_MEDIANS if has_several else "") + more


def _curves(subject: Subject) -> Plot | None:
    """Draw the results of the whole run; a single job over sizes alone has its plot of bandwidth."""
    of_run = job_sweeps(_reports_of_run(subject))
    is_plain = len(of_run) == 1 and not of_run[0].fields and of_run[0].size is not None
    return None if is_plain else lines_plot(of_run, from_zero=True)


def _chosen(subject: Subject) -> list[Sweep]:
    """Return the sweeps of the trial's run, limited to the requested job, if any."""
    job = subject.window.job if subject.window else None
    return [sweep for sweep in sweeps(_reports_of_run(subject)) if job in (None, sweep.job)]


def _reports_of_run(subject: Subject) -> list[JobReport]:
    suite = subject.trial.facts.suite
    return [row.report for row in subject.rows if row.trial.facts.suite == suite]


CURVES_FIGURE: Final = Figure(
    name="curves",
    title="Results of the run",
    shows="Bandwidth or time of each job against size, or a swept field, with a line for each variant.",
    section=RESULTS,
    plot=_curves,
    of_run=True,
    is_certain=False,
)

SWEEP_FIGURES: Final = (
    Figure(
        name="sweep-map",
        title="Heat map of the sweep",
        shows="The metric that says most about a job over two swept fields, or a field and the sizes.",
        section=SWEEP,
        plot=lambda subject: next(filter(None, map(map_plot, _chosen(subject))), None),
        result=lambda row: bool(row.trial.facts.axes),
        missing="the plan sweeps one field at one size",
        of_run=True,
        is_certain=False,
    ),
    Figure(
        name="sweep-lines",
        title="Lines of the sweep",
        shows="Bandwidth or time against size, or a field: lines for a second field, panels for all others.",
        section=SWEEP,
        plot=lambda subject: lines_plot(_chosen(subject)[:1]),
        result=lambda row: bool(row.trial.facts.axes),
        of_run=True,
        is_certain=False,
    ),
)
