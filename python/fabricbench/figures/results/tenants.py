"""Jobs beside others and alone: bandwidth, flow completion times, and what is kept over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.distribution import MAX_POINTS, cdf_points
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, time_scale

MAX_JOBS = 16
_ALONE_SHADE = 0.45


@dataclass(frozen=True)
class TenantSample:
    """One job beside the others and alone.

    Attributes:
        job: Its name.
        beside_gb_per_s: Bus bandwidth beside the others [GB/s]; none when incomplete.
        alone_gb_per_s: The same alone.
        beside_fct_ps: Flow completion time of each complete chunk beside the others [ps].
        alone_fct_ps: The same alone.
    """

    job: str
    beside_gb_per_s: float | None
    alone_gb_per_s: float | None
    beside_fct_ps: pl.Series
    alone_fct_ps: pl.Series


def tenant_bars(samples: Sequence[TenantSample]) -> Plot | None:
    """Draw two bars for each job: bus bandwidth beside the others and alone."""
    shown = samples[:MAX_JOBS]
    if not shown:
        return None
    jobs = [sample.job for sample in shown]
    colours = [theme.category(index) for index in range(len(shown))]
    figure = go.Figure(
        [
            _bars("beside the others", jobs, [sample.beside_gb_per_s for sample in shown], colours, 1.0),
            _bars("alone", jobs, [sample.alone_gb_per_s for sample in shown], colours, _ALONE_SHADE),
        ]
    )
    figure.update_layout(
        theme.layout(
            height=380,
            barmode="group",
            bargap=0.35,
            showlegend=False,
            xaxis=theme.axis("job: beside the others (dark), alone (light)", type="category"),
            yaxis=theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"),
        )
    )
    return Plot("tenant-busbw", figure, "Bus bandwidth of each job beside the others and alone.")


def _bars(
    name: str, jobs: Sequence[str], values: Sequence[float | None], colours: Sequence[str], opacity: float
) -> go.Bar:
    return go.Bar(
        x=jobs,
        y=values,
        name=name,
        marker={"color": colours, "opacity": opacity},
        text=["–" if value is None else f"{value:.2f}" for value in values],
        textposition="auto",
        hovertemplate=f"%{{x}}, {name}: %{{y:.3f}} GB/s<extra></extra>",
    )


def tenant_fct(samples: Sequence[TenantSample]) -> Plot | None:
    """Draw for each job the distribution of flow completion times beside the others and alone (dashed)."""
    shown = [
        sample for sample in samples[:MAX_JOBS] if sample.beside_fct_ps.len() and sample.alone_fct_ps.len()
    ]
    if not shown:
        return None
    edges = [float(str(edge)) for each in shown for edge in _edges(each)]
    scale = time_scale(max(edges))
    figure = go.Figure()
    reduced = False
    for index, sample in enumerate(shown):
        colour = theme.category(index)
        reduced |= _curve(figure, f"{sample.job}, beside", sample.beside_fct_ps, scale, (colour, "solid"))
        reduced |= _curve(figure, f"{sample.job}, alone", sample.alone_fct_ps, scale, (colour, "dash"))
    figure.update_layout(
        theme.layout(
            height=380,
            margin=theme.margin(t=76),
            xaxis=theme.spread_axis(
                f"flow completion time ({scale.unit})", min(edges) / scale.ps, max(edges) / scale.ps
            ),
            yaxis=theme.axis("chunks complete (%)", range=[-2, 103]),
        )
    )
    text = "Flow completion times of each job beside the others and alone (dashed)."
    if reduced:
        text += f" Reduced: {MAX_POINTS:,} points a curve, its ends exactly."
    return Plot("tenant-fct", figure, text, reduced)


def _edges(sample: TenantSample) -> list[object]:
    series = (sample.beside_fct_ps, sample.alone_fct_ps)
    return [edge for each in series for edge in (each.min(), each.max())]


def _curve(figure: go.Figure, name: str, fct_ps: pl.Series, scale: TimeScale, look: tuple[str, str]) -> bool:
    values, shares, reduced = cdf_points(fct_ps)
    figure.add_trace(
        go.Scatter(
            x=[round(value / scale.ps, 9) for value in values],
            y=[round(share, 5) for share in shares],
            name=name,
            mode="lines",
            line={"shape": "hv", "width": 1.8, "color": look[0], "dash": look[1]},
            hovertemplate=f"{name}<br>%{{y:.4g}} % within %{{x:.6g}} {scale.unit}<extra></extra>",
        )
    )
    return reduced


@dataclass(frozen=True)
class KeptShare:
    """What a job kept in one iteration.

    Attributes:
        job: Its name, with the data size where there are several.
        kept_percent: Share of its bus bandwidth alone [%].
        label: Which iteration, and how its paths lie.
    """

    job: str
    kept_percent: float
    label: str


def kept_plot(shares: Sequence[KeptShare]) -> Plot | None:
    """Draw what each job kept in each iteration, with the quartiles; None without several iterations."""
    jobs = list(dict.fromkeys(share.job for share in shares))[:MAX_JOBS]
    if not jobs:
        return None
    figure = go.Figure()
    for index, job in enumerate(jobs):
        own = [share for share in shares if share.job == job]
        figure.add_trace(
            go.Box(
                x=[share.kept_percent for share in own],
                text=[share.label for share in own],
                name=job,
                boxpoints="all",
                jitter=0.6,
                pointpos=0,
                marker={"size": 6, "color": theme.category(index), "opacity": 0.75},
                line={"width": 1.2, "color": theme.category(index)},
                fillcolor="rgba(0,0,0,0.04)",
                hovertemplate=f"{job}<br>%{{x:.2f}} %<br>%{{text}}<extra></extra>",
            )
        )
    figure.update_layout(
        theme.layout(
            height=130 + 70 * len(jobs),
            showlegend=False,
            xaxis=theme.axis("busbw kept beside the others (% of alone)"),
            yaxis=theme.axis("", autorange="reversed"),
        )
    )
    return Plot(
        "kept-share",
        figure,
        "Each point is an iteration, which has a seed of its own. Boxes are quartiles, interpolated.",
    )
