"""What the tables have in common: columns, headings, labels, and how values are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.report.sizes import shown_size
from fabricbench.report.text_table import count, fixed, number

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


def heading(job: JobReport) -> str:
    """Write what a table of one job is about."""
    facts, summary = job.trial.facts, job.summary
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = "" if facts.variant in ("", "base") else f"{facts.variant}, "
    what = f"{variant}job {summary.job}: {summary.collective} {summary.algorithm}, {summary.ranks} ranks"
    return f"{facts.plan}{tag}, {what}"


def label(job: JobReport, *, with_iteration: bool) -> str:
    """Write the size of a job, and its iteration where there are several."""
    size = shown_size(job.trial, job.summary)
    return f"{size} #{job.trial.facts.iteration}" if with_iteration else size


def deviation_text(deviation: Deviation | None) -> str:
    """Write how far a value is from the published one."""
    if deviation is None:
        return ""
    return "-" if deviation.deviation_percent is None else f"{deviation.deviation_percent:+.2f}%"


def metric_text(name: str, value: float | int | None) -> str:
    """Write a metric's value as tables show it, without its unit; `-` where it could not be measured."""
    if name.endswith("_percent"):
        return fixed(value, 2)
    if name.endswith("_ms") or name.startswith(("fct_", "latency_", "round_")):
        return number(value, _TIME_DIGITS)
    if isinstance(value, int):
        return count(value)
    return number(value, _RATE_DIGITS)
