"""Formats a trial's KPIs and their values at each observation point, as text, JSON and rows.

Observation points are the boundary of the fabric, the counters of devices, and the endpoints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.analysis.record.series_facts import COLUMNS as SAMPLE_COLUMNS, SampleFacts
from fabricbench.analysis.summary.convergence import Convergence, convergence
from fabricbench.analysis.summary.observation_points import PointRow, observation_points
from fabricbench.metrics import ALONE_RATIOS, View, in_views
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.results.job_reports import JobReport
from fabricbench.store import Trial

VALUES: Final = ("fabric", "device", "endpoint", "device_less_fabric", "endpoint_less_fabric")
"""Values of each row, in the order of output."""
POINT_COLUMNS: Final = ("kpi", "unit", *VALUES)
"""Columns of rows as CSV."""
_HEADS: Final = (
    ("", "fabric"), ("", "device"), ("", "endpoint"), ("device", "- fabric"), ("endpoint", "- fabric"),
)  # fmt: skip
_DIGITS: Final = 6
_PS_PER_US: Final = 1e6
_BITS_PER_GBIT: Final = 1e9


@dataclass(frozen=True)
class Points:
    """Values of a trial at each observation point.

    Attributes:
        rows: Each KPI at each point.
        convergence: Convergence time of congestion control, or why it is unknown.
    """

    rows: Sequence[PointRow]
    convergence: Convergence


def points_of(trial: Trial) -> Points | None:
    """Return the values at each point for a finished trial, or `None` for an imported one without a record.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    if trial.is_printed:
        return None
    spec, summary, tables = trial.facts.run_spec, trial.summary or {}, trial.tables
    samples = SampleFacts(tables.batches("series", SAMPLE_COLUMNS))
    return Points(
        observation_points(spec, summary, tables, trial.facts.observed),
        convergence(spec, summary, tables, samples),
    )


def points_tables(jobs: Sequence[JobReport], points: Points) -> list[Table]:
    """Return the KPIs of a trial, and the values at each point.

    Args:
        jobs: The jobs of the trial.
        points: Observation points from its record.
    """
    kpis = dataclasses.replace(_kpi_table(jobs), notes=[_convergence_line(points.convergence)])
    return [kpis, points_table(points)]


def points_table(points: Points) -> Table:
    """Return the values at each observation point, a line for each KPI."""
    columns = [Column("KPI", is_text=True), Column("unit", is_text=True)]
    columns += [Column(" ".join(filter(None, head)), head=head) for head in _HEADS]
    rows = [
        Row([row.title, row.unit, *(point_text(getattr(row, name)) for name in VALUES)])
        for row in points.rows
    ]
    return Table(columns, rows, title="what each observation point tells of the run")


def _kpi_table(jobs: Sequence[JobReport]) -> Table:
    """Return each KPI of the jobs, with one column of values per job."""
    heads = [
        Column("KPI", is_text=True),
        Column("unit", is_text=True),
        Column("seen at", is_text=True),
    ]
    rows = []
    for metric in in_views(View.BMWG):
        if any(metric.concerns(job.summary.kind) for job in jobs):
            values = [metric_text(metric, job.summary.value(metric.name)) for job in jobs]
            rows.append(Row([metric.title, metric.unit, str(metric.point), *values]))
    for name, metric in ALONE_RATIOS.items():
        ratios = [job.alone.ratios[name] if job.alone else None for job in jobs]
        if any(ratio is not None for ratio in ratios):
            title = f"{metric.title} over that alone"
            rows.append(Row([title, "", str(metric.point), *(number(ratio, 4) for ratio in ratios)]))
    facts = jobs[0].trial.facts
    columns = [*heads, *(Column(job.job_name) for job in jobs)]
    return Table(columns, rows, title=f"trial {facts.id}, {facts.plan}: KPIs of the BMWG drafts")


def point_text(value: float | int | None) -> str:
    """Format a value at an observation point; `-` if it was not observed."""
    if isinstance(value, float) and value < 0:
        return f"-{number(-value, _DIGITS)}"
    return f"{value:,}" if isinstance(value, int) else number(value, _DIGITS)


def _convergence_line(convergence: Convergence) -> str:
    if convergence.us is None:
        return f"congestion control convergence: not told, {convergence.reason}"
    share = (convergence.fair_share_bps or 0) / _BITS_PER_GBIT
    return (
        f"congestion control convergence: {number(convergence.us, _DIGITS)} us "
        f"until {convergence.flows} queue pairs "
        f"stay within 10 % of {number(share, _DIGITS)} Gb/s, sampled every "
        f"{number((convergence.interval_ps or 0) / _PS_PER_US, _DIGITS)} us"
    )


def points_object(jobs: Sequence[JobReport], points: Points) -> dict[str, Any]:
    """Return KPIs and points of a trial as its JSON object.

    Args:
        jobs: The jobs of the trial.
        points: Observation points from its record.

    Returns:
        `trial`, `plan`, `jobs` with the KPIs of each by name, `points` by KPI, and `convergence`.
    """
    facts = jobs[0].trial.facts
    rows = {
        row.name: {"title": row.title, "unit": row.unit} | {name: getattr(row, name) for name in VALUES}
        for row in points.rows
    }
    return {
        "trial": facts.id,
        "plan": facts.plan,
        "jobs": {job.job_name: _kpis(job) for job in jobs},
        "points": rows,
        "convergence": dataclasses.asdict(points.convergence),
    }


def _kpis(job: JobReport) -> dict[str, float | int | None]:
    own = {metric.name: job.summary.value(metric.name) for metric in in_views(View.BMWG)}
    return own | (dict(job.alone.ratios) if job.alone else dict.fromkeys(ALONE_RATIOS))


def point_rows(points: Points) -> list[dict[str, Any]]:
    """Return the rows with `POINT_COLUMNS`."""
    return [
        {"kpi": row.name, "unit": row.unit} | {name: getattr(row, name) for name in VALUES}
        for row in points.rows
    ]
