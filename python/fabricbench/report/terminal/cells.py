"""What the tables have in common: columns, headings, labels, and how values are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.figures.sizes import size_title
from fabricbench.report.held import held_metrics
from fabricbench.report.made_by import SIMULATED, made
from fabricbench.report.text_table import Row, Style, count, fixed, number
from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.analysis.compare import Deviation
    from fabricbench.report.trials import JobReport

_TIME_DIGITS = 5
_RATE_DIGITS = 4


@dataclass(frozen=True)
class MetricColumn:
    """A metric in the table of a run."""

    metric: str
    head: tuple[str, ...]


METRIC_COLUMNS = (
    MetricColumn("completion_time_ms", ("time", "ms")),
    MetricColumn("algbw_gb_per_s", ("algbw", "GB/s")),
    MetricColumn("busbw_gb_per_s", ("busbw", "GB/s")),
    MetricColumn("ideal_percent", ("ideal", "%")),
    MetricColumn("fct_ms_min", ("FCT min", "ms")),
    MetricColumn("fct_ms_p50", ("P50", "ms")),
    MetricColumn("fct_ms_p95", ("P95", "ms")),
    MetricColumn("fct_ms_max", ("max", "ms")),
    MetricColumn("pfc_rx", ("PFC", "rx")),
    MetricColumn("ecn_ce_rx", ("ECN-CE", "rx")),
    MetricColumn("cnp_tx", ("CNP", "tx")),
    MetricColumn("retransmits", ("retx", "")),
    MetricColumn("frames_lost", ("lost", "")),
)


def held_columns(columns: Sequence[MetricColumn], jobs: Sequence[JobReport]) -> tuple[MetricColumn, ...]:
    """Leave out the columns that hold nothing in any row."""
    held = held_metrics([column.metric for column in columns], jobs)
    return tuple(column for column in columns if column.metric in held)


def heading(job: JobReport, *, with_variant: bool = True) -> str:
    """Write what a table of one job is about, and what made it unless that is the simulator."""
    facts, summary = job.trial.facts, job.summary
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = f"{facts.variant}, " if with_variant and facts.variant not in ("", "base") else ""
    how = f" {summary.algorithm}" if summary.algorithm else ""
    what = f"{variant}job {summary.job}: {summary.collective}{how}, {summary.ranks} ranks"
    other = [made(job.trial)] if made(job.trial) != SIMULATED else []
    return ", ".join([f"{facts.plan}{tag}", what, *round_text(job), *other])


def job_spec(job: JobReport) -> dict[str, Any]:
    """Return the job of the RunSpec that a report is of."""
    specs: list[dict[str, Any]] = job.trial.facts.run_spec["jobs"]
    return next(spec for spec in specs if spec["name"] == job.summary.job)


def round_text(job: JobReport) -> list[str]:
    """Say what rounds a job has beside those that are measured, and how they differ from rounds in a row."""
    spec = job_spec(job)
    warm_up = spec.get("warm_up_rounds", 0)
    told = {
        f"{counted(warm_up, 'round')} to warm up": warm_up,
        "another root in each round": spec.get("root_shift"),
        "barriers between rounds": spec.get("barrier"),
    }
    return [text for text, applies in told.items() if applies]


def sized(job: JobReport) -> str:
    """Write what size a job has, and of which kind."""
    return f"{size_title([job.trial])} {job.size}"


def label(job: JobReport, *, with_iteration: bool) -> str:
    """Write the size of a job, and its iteration where there are several."""
    return f"{job.size} #{job.trial.facts.iteration}" if with_iteration else job.size


def full_label(job: JobReport, *, with_iteration: bool) -> str:
    """Write the label of a job with its variant where the plan has variants."""
    variant = f", {job.trial.facts.variant}" if job.trial.facts.reference else ""
    return label(job, with_iteration=with_iteration) + variant


def published_rows(job: JobReport, metrics: Sequence[MetricColumn]) -> Iterator[Row]:
    """Yield the published values of a job and the deviation of ours, if there are any."""
    if job.deviations:
        known = {deviation.metric: deviation for deviation in job.deviations}
        found = [known.get(column.metric) for column in metrics]
        values = ("" if each is None else f"{each.published:.10g}" for each in found)
        yield Row(["published", *values], Style.DIM)
        yield Row(["deviation", *(deviation_text(each) for each in found)], Style.DIM)


def deviation_text(deviation: Deviation | None) -> str:
    """Write how far a value is from the published one."""
    if deviation is None:
        return ""
    return "-" if deviation.deviation_percent is None else f"{deviation.deviation_percent:+.2f}%"


def metric_text(name: str, value: float | int | None) -> str:
    """Write a metric's value as tables show it, without its unit; `-` where it could not be measured."""
    if name.endswith("_percent"):
        return fixed(value, 2)
    if name == "iops" and value is not None:
        return count(round(value))
    if name.endswith("_ms") or name.startswith(("fct_", "latency_", "round_", "rank_", "operation_")):
        return number(value, _TIME_DIGITS)
    if isinstance(value, int):
        return count(value)
    return number(value, _RATE_DIGITS)
