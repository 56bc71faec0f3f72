"""Draws sampled depths of egress queues and virtual output queues, and link utilisation, over time."""

from __future__ import annotations

from typing import Any, Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.analysis.links.utilisation import sampled_use
from fabricbench.figures import theme
from fabricbench.figures.figure import SERIES, Figure
from fabricbench.figures.links.layout import natural_key
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, byte_count_text, percent

MAX_QUEUE_LINES = 8
MAX_USE_ROWS = 96
_MAX_TIMES = 400
_MAX_QUEUE_POINTS = 200
_ROWS_WITH_GAPS = 40
_BYTE_UNITS = (("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9))


def queue_plot(series: pl.DataFrame, scale: TimeScale) -> Plot | None:
    """Draw the egress queues that grew longest.

    Args:
        series: Table `series` of a trial.
        scale: The unit of time.

    Returns:
        The plot, or None when no queue was sampled.
    """
    queues = series.filter(pl.col("metric") == "queue_bytes")
    if queues.is_empty():
        return None
    deepest = series.filter(pl.col("metric") == "queue_max_bytes")
    figure, ports, drawn = _queue_figure(queues, "egress queue", scale, deepest)
    return Plot(figure, _queue_caption(ports, drawn), time_scale=scale)


def voq_plot(series: pl.DataFrame, scale: TimeScale) -> Plot | None:
    """Draw the length of virtual output queues, by ingress port.

    Args:
        series: Table `series` of a trial.
        scale: The unit of time.

    Returns:
        The plot, or None when there were no such queues.
    """
    queues = series.filter(pl.col("metric") == "voq_bytes")
    if queues.is_empty():
        return None
    p95 = queues["value"].quantile(0.95, "nearest") or 0
    figure, ports, drawn = _queue_figure(queues, "in virtual output queues", scale)
    text = (
        "Bytes in the virtual output queues of scheduled leaves at each sample, by the port they came in "
        f"by. Over the samples of {ports:,} ports the 95th percentile is {byte_count_text(int(p95))}, "
        f"the largest {byte_count_text(int(str(queues['value'].max())))}."
    )
    if drawn < ports:
        text += f" Reduced: the {drawn} ports that had the most."
    return Plot(figure, text, time_scale=scale)


def _queue_figure(
    queues: pl.DataFrame, title: str, scale: TimeScale, deepest: pl.DataFrame | None = None
) -> tuple[go.Figure, int, int]:
    """Draw the longest queues; also return the numbers of all and of drawn queues.

    `deepest` is the deepest queue of all ports, including those that are not sampled; it is drawn if it is
    deeper than the sampled ones.
    """
    peaks = queues.group_by("node", "port").agg(pl.col("value").max().alias("peak"))
    longest = peaks.sort(["peak", "node", "port"], descending=[True, False, False]).head(MAX_QUEUE_LINES)
    sampled_top = int(str(peaks["peak"].max()))
    deepest_peak = 0 if deepest is None or deepest.is_empty() else int(str(deepest["value"].max()))
    top = max(sampled_top, deepest_peak)
    unit, size = max((entry for entry in _BYTE_UNITS if entry[1] <= max(1, top)), key=lambda entry: entry[1])
    figure = go.Figure()
    for index, (node, port, peak) in enumerate(longest.iter_rows()):
        samples = queues.filter((pl.col("node") == node) & (pl.col("port") == port)).sort("time_ps")
        name = f"{node} port {port} (peak {byte_count_text(peak)})"
        figure.add_trace(_queue_line(_thinned(samples), name, scale, (unit, size), index))
    if deepest is not None and deepest_peak > sampled_top:
        name = f"deepest of all ports (peak {byte_count_text(deepest_peak)})"
        line = _queue_line(_thinned(deepest.sort("time_ps")), name, scale, (unit, size), 0)
        figure.add_trace(line.update(line={"color": theme.MUTED, "dash": "dot"}))
    figure.update_layout(
        theme.layout(
            height=400,
            margin=theme.margin(t=80),
            xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
            yaxis=theme.axis(f"{title} ({unit}, decimal)", rangemode="tozero"),
        )
    )
    return figure, peaks.height, longest.height


def _queue_line(
    samples: pl.DataFrame, name: str, scale: TimeScale, unit: tuple[str, int], index: int
) -> go.Scatter:
    return go.Scatter(
        x=[round(time_ps / scale.ps, 7) for time_ps in samples["time_ps"]],
        y=[round(value / unit[1], 4) for value in samples["value"]],
        name=name,
        mode="lines",
        line={"width": 1.6, "color": theme.category(index)},
        hovertemplate=f"{name}<br>%{{y:.4g}} {unit[0]} at %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def _thinned(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the largest sample of each of `_MAX_QUEUE_POINTS` time bins, so that no peak is lost."""
    step = -(-samples.height // _MAX_QUEUE_POINTS)
    if step <= 1:
        return samples
    stretch = (pl.int_range(pl.len()) // step).alias("stretch")
    return (
        samples.group_by(stretch, maintain_order=True).agg(pl.all().sort_by("value").last()).drop("stretch")
    )


def _queue_caption(ports: int, drawn: int) -> str:
    text = (
        "Bytes in the egress queue at each sample, of the frame in transmission what is not read out; where "
        f"a port has more than {_MAX_QUEUE_POINTS} samples, the largest of each of {_MAX_QUEUE_POINTS} "
        "stretches of time."
    )
    if drawn < ports:
        text += f" Reduced: the {drawn} of {ports:,} sampled ports whose queue grew longest."
    return (
        text
        + " What happens between two samples is not seen; the largest queue of each port stands in the table."
    )


def use_plot(use: pl.DataFrame, scale: TimeScale) -> Plot | None:
    """Draw the use of each sampled egress port over time.

    Args:
        use: Columns `node`, `port`, `time_ps` (end of an interval between samples), `use_percent`.
        scale: The unit of time.

    Returns:
        The plot, or None when nothing was sampled.
    """
    if use.is_empty():
        return None
    totals = use.group_by("node", "port").agg(pl.col("use_percent").mean().alias("mean"))
    busiest = totals.sort(["mean", "node", "port"], descending=[True, False, False]).head(MAX_USE_ROWS)
    ports = sorted(busiest.select("node", "port").iter_rows(), key=lambda row: (natural_key(row[0]), row[1]))
    use = _merged_intervals(use)
    times = use["time_ps"].unique().sort().to_list()
    figure = go.Figure(_use_heatmap(use, ports, times, scale))
    figure.update_layout(
        theme.layout(
            height=max(260, 110 + len(ports) * (14 if len(ports) <= _ROWS_WITH_GAPS else 7)),
            xaxis=theme.time_axis(scale.unit, showgrid=False),
            yaxis=theme.axis("", type="category", autorange="reversed", showgrid=False, nticks=40),
        )
    )
    return Plot(figure, _use_caption(totals.height, len(ports)), time_scale=scale)


def _merged_intervals(use: pl.DataFrame) -> pl.DataFrame:
    """Merge intervals until at most `_MAX_TIMES` are left; being equally long, their mean is their use."""
    times = use["time_ps"].unique().sort()
    step = -(-len(times) // _MAX_TIMES)
    if step == 1:
        return use
    stretch = pl.int_range(pl.len()) // step
    ends = times.to_frame().with_columns(pl.col("time_ps").last().over(stretch).alias("end_ps"))
    joined = use.join(ends, on="time_ps").group_by("node", "port", "end_ps", maintain_order=True)
    return joined.agg(pl.col("use_percent").mean()).rename({"end_ps": "time_ps"})


def _use_heatmap(
    use: pl.DataFrame, ports: list[tuple[Any, ...]], times: list[int], scale: TimeScale
) -> go.Heatmap:
    rows: dict[tuple[Any, ...], dict[int, float | None]] = {port: dict.fromkeys(times) for port in ports}
    for node, port, time_ps, value in use.select("node", "port", "time_ps", "use_percent").iter_rows():
        if (node, port) in rows:
            rows[node, port][time_ps] = percent(value / 100)
    start_ps = max(0, 2 * times[0] - times[1]) if len(times) > 1 else 0
    return go.Heatmap(
        x=[round(time_ps / scale.ps, 7) for time_ps in (start_ps, *times)],
        y=[f"{node} port {port}" for node, port in ports],
        z=[list(row.values()) for row in rows.values()],
        ygap=1 if len(ports) <= _ROWS_WITH_GAPS else 0,
        zmin=0,
        zmax=100,
        colorscale=theme.plotly_scale(theme.USE_SCALE),
        colorbar=theme.colour_bar("link<br>use (%)"),
        hovertemplate=f"%{{y}}<br>%{{z:.1f}} % around %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def _use_caption(ports: int, drawn: int) -> str:
    text = (
        "Use of each sampled egress port between one sample and the next: frame bytes sent, preamble and gap "
        "not counted, over the line rate."
    )
    if drawn < ports:
        text += f" Reduced: the {drawn} busiest of {ports:,} sampled ports."
    return text


LINK_USE_FIGURE: Final = Figure(
    name="link-use",
    title="Link use over time",
    shows="Use of the busiest of the sampled links.",
    section=SERIES,
    plot=lambda subject: use_plot(sampled_use(subject.series, subject.links), subject.time_scale),
    tables=("links", "series"),
    metric="tx_bytes",
)
QUEUES_FIGURE: Final = Figure(
    name="queues",
    title="Egress queues over time",
    shows="The sampled egress queues that grew longest, and the deepest queue of all ports.",
    section=SERIES,
    plot=lambda subject: queue_plot(subject.series, subject.time_scale),
    tables=("series",),
    metric="queue_bytes",
)
VOQS_FIGURE: Final = Figure(
    name="voqs",
    title="Virtual output queues over time",
    shows="What waited in the virtual output queues of scheduled leaves, by the port it came in by.",
    section=SERIES,
    plot=lambda subject: voq_plot(subject.series, subject.time_scale),
    tables=("series",),
    metric="voq_bytes",
)
