"""Draws jobs run among others against the same jobs alone: bandwidth, completion times, ratios over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.cumulative_distribution import MAX_POINTS, cdf_points
from fabricbench.figures.figure import TENANTS, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.results.completion_times import MAX_JOBS, TenantSample
from fabricbench.figures.scales import TimeScale, time_scale
from fabricbench.results.isolation_by_seed import KeptRow


def tenant_bars(samples: Sequence[TenantSample]) -> Plot | None:
    """Draw two bars for each job: bus bandwidth among others and alone."""
    shown = samples[:MAX_JOBS]
    if not shown:
        return None
    jobs = [sample.job for sample in shown]
    colours = [theme.category(index) for index in range(len(shown))]
    figure = go.Figure(
        [
            _bars("contended", jobs, [sample.shared_gb_per_s for sample in shown], colours, ""),
            _bars("alone", jobs, [sample.alone_gb_per_s for sample in shown], colours, "/"),
        ]
    )
    figure.update_layout(
        theme.layout(
            height=380,
            barmode="group",
            bargap=0.35,
            showlegend=False,
            xaxis=theme.axis("job: contended (filled), alone (hatched)", type="category"),
            yaxis=theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"),
        )
    )
    return Plot(figure, f"Bus bandwidth of each job contended and alone ({shown[0].trial}).")


def _bars(
    name: str, jobs: Sequence[str], values: Sequence[float | None], colours: Sequence[str], shape: str
) -> go.Bar:
    return go.Bar(
        x=jobs,
        y=values,
        name=name,
        marker={
            "color": colours,
            "line": {"color": colours, "width": 1.2},
            "pattern": {"shape": shape, "fillmode": "replace", "solidity": 0.25, "size": 7},
        },
        text=["–" if value is None else f"{value:.2f}" for value in values],
        textposition="outside",
        cliponaxis=False,
        hovertemplate=f"%{{x}}, {name}: %{{y:.3f}} GB/s<extra></extra>",
    )


def tenant_fct(samples: Sequence[TenantSample]) -> Plot | None:
    """Draw for each job the distribution of flow completion times among others and alone (dashed)."""
    shown = [
        sample for sample in samples[:MAX_JOBS] if sample.shared_fct_ps.len() and sample.alone_fct_ps.len()
    ]
    if not shown:
        return None
    edges = [float(str(edge)) for sample in shown for edge in _edges(sample)]
    scale = time_scale(max(edges))
    figure = go.Figure()
    reduced = False
    for index, sample in enumerate(shown):
        colour = theme.category(index)
        reduced |= _curve(figure, f"{sample.job}, contended", sample.shared_fct_ps, scale, (colour, "solid"))
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
    text = f"Flow completion times of each job contended and alone (dashed), {shown[0].trial}."
    if reduced:
        text += f" Reduced: {MAX_POINTS:,} points a curve, its ends exactly."
    return Plot(figure, text, reduced)


def _edges(sample: TenantSample) -> list[object]:
    series = (sample.shared_fct_ps, sample.alone_fct_ps)
    return [edge for fct_ps in series for edge in (fct_ps.min(), fct_ps.max())]


def _curve(figure: go.Figure, name: str, fct_ps: pl.Series, scale: TimeScale, style: tuple[str, str]) -> bool:
    values, shares, reduced = cdf_points(fct_ps)
    figure.add_trace(
        go.Scatter(
            x=[round(value / scale.ps, 9) for value in values],
            y=[round(share, 3) for share in shares],
            name=name,
            mode="lines",
            line={"shape": "hv", "width": 1.8, "color": style[0], "dash": style[1]},
            hovertemplate=f"{name}<br>%{{y:.4g}} % within %{{x:.6g}} {scale.unit}<extra></extra>",
        )
    )
    return reduced


def kept_plot(shares: Sequence[KeptRow]) -> Plot | None:
    """Draw each job's ratio to itself alone per iteration, with quartiles; None for a single iteration."""
    jobs = list(dict.fromkeys(share.name for share in shares))[:MAX_JOBS]
    if not jobs:
        return None
    figure = go.Figure()
    for index, job in enumerate(jobs):
        job_shares = [share for share in shares if share.name == job]
        figure.add_trace(
            go.Box(
                x=[share.kept_percent for share in job_shares],
                text=[share.label for share in job_shares],
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
            xaxis=theme.axis("busbw retained when contended (% of alone)"),
            yaxis=theme.axis("", autorange="reversed"),
        )
    )
    return Plot(
        figure,
        "Each point is an iteration, which has a seed of its own. Boxes are quartiles, interpolated.",
    )


SHARED_FIGURES: Final = (
    Figure(
        name="tenant-busbw",
        title="Bus bandwidth contended and alone",
        shows="Bus bandwidth of each job contended and alone.",
        section=TENANTS,
        plot=lambda subject: tenant_bars(subject.tenants),
        tables=("chunks",),
        draws_chunks=True,
        result=lambda row: row.alone is not None,
        of_run=True,
    ),
    Figure(
        name="tenant-fct",
        title="Flow completion times contended and alone",
        shows="Distribution of the flow completion times of each job contended and alone.",
        section=TENANTS,
        plot=lambda subject: tenant_fct(subject.tenants),
        tables=("chunks",),
        draws_chunks=True,
        result=lambda row: row.alone is not None,
        of_run=True,
        is_certain=False,
    ),
)
KEPT_FIGURE: Final = Figure(
    name="kept-share",
    title="Bus bandwidth retained when contended",
    shows="Bus bandwidth of each job relative to alone, over the iterations.",
    section=TENANTS,
    plot=lambda subject: kept_plot(subject.kept),
    result=lambda row: row.alone is not None,
    missing="no job was run alone as well in several iterations",
    of_run=True,
    is_certain=False,
)
