"""Trials as text for people: the table of a run, one trial in full, a list of trials, a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fabricbench.analysis.compare import Change, Deviation
from fabricbench.analysis.metrics import METRICS, Metric
from fabricbench.report.text_table import Column, Row, Style, count, data_size, fixed, number, render, styled

if TYPE_CHECKING:
    from fabricbench.report.trials import JobPair, JobReport
    from fabricbench.store import Trial

_ONCE = {"kind": "rounds", "rounds": 1}
_TIME_DIGITS = 5
_RATE_DIGITS = 4


@dataclass(frozen=True)
class _MetricColumn:
    """A metric in the table of a run."""

    metric: str
    head: tuple[str, ...]


_METRIC_COLUMNS = (
    _MetricColumn("completion_time_ms", ("time", "ms")),
    _MetricColumn("algbw_gb_per_s", ("algbw", "GB/s")),
    _MetricColumn("busbw_gb_per_s", ("busbw", "GB/s")),
    _MetricColumn("ideal_percent", ("ideal", "%")),
    _MetricColumn("fct_ms_min", ("FCT min", "ms")),
    _MetricColumn("fct_ms_p50", ("P50", "ms")),
    _MetricColumn("fct_ms_p95", ("P95", "ms")),
    _MetricColumn("fct_ms_max", ("max", "ms")),
    _MetricColumn("pfc_rx", ("PFC", "rx")),
    _MetricColumn("ecn_ce_rx", ("ECN-CE", "rx")),
    _MetricColumn("cnp_tx", ("CNP", "tx")),
    _MetricColumn("retransmits", ("retx", "")),
    _MetricColumn("frames_lost", ("lost", "")),
)
_ROUND_COLUMNS = (
    _MetricColumn("rounds", ("rounds", "")),
    _MetricColumn("round_ms_min", ("shortest", "ms")),
    _MetricColumn("round_ms_max", ("longest", "ms")),
)
"""Columns of jobs that repeat, after the first: the mean."""
_TRAFFIC_COLUMNS = (
    _MetricColumn("offered_gb_per_s", ("offered", "GB/s")),
    _MetricColumn("delivered_gb_per_s", ("delivered", "GB/s")),
    _MetricColumn("slowdown_p50", ("slowdown", "P50")),
    _MetricColumn("slowdown_p99", ("slowdown", "P99")),
)
"""Columns of open-loop traffic, in place of bandwidths and share of the ideal."""
_TENANT_METRICS = (
    *_METRIC_COLUMNS[:1],
    *_METRIC_COLUMNS[2:4],
    *_METRIC_COLUMNS[4:7],
    _MetricColumn("fct_ms_p99", ("P99", "ms")),
    *_METRIC_COLUMNS[7:],
)
"""What a job beside others and alone are compared by."""


def run_table(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return the table of a run: one line for each job of each trial, published values and deviations below.

    Args:
        jobs: Jobs of the trials, in order. Those of one plan, variant and job stand together.
        colour: Use the styles of a terminal.
    """
    beside = [job for job in jobs if job.alone]
    known = {job.alone.trial.attempt for job in beside if job.alone}
    shown = sorted((job for job in jobs if job.trial.attempt not in known), key=_order)
    tables = [_group_table(list(group), colour=colour) for _, group in groupby(shown, key=_group)]
    tables += [
        tenants_table(list(group), colour=colour)
        for _, group in groupby(sorted(beside, key=_plan_order), key=_run)
    ]
    tables += [seeds_text(jobs, colour=colour)] if beside else []
    return "\n\n".join(table for table in tables if table)


def _group(job: JobReport) -> tuple[str, str, str, str]:
    facts = job.trial.facts
    return facts.plan, facts.tag, facts.variant, job.summary.job


def _order(job: JobReport) -> tuple[object, ...]:
    return (*_group(job), job.trial.facts.position)


def _run(job: JobReport) -> tuple[str, str, str]:
    facts = job.trial.facts
    return facts.plan, facts.tag, facts.variant


def _plan_order(job: JobReport) -> tuple[object, ...]:
    return (*_run(job), job.trial.facts.position)


_TENANT_COLUMNS = [
    Column(("data", "size"), is_text=True),
    Column(("job",), is_text=True),
    Column(("beside",), is_text=True),
    *(Column(column.head) for column in _TENANT_METRICS[:3]),
    Column(("kept", "%")),
    *(Column(column.head) for column in _TENANT_METRICS[3:]),
]


def tenants_table(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return a line for each job beside the others and one for the same job alone.

    Args:
        jobs: Jobs of one run that know how they did alone.
        colour: Use the styles of a terminal.
    """
    repeats = any(job.trial.facts.iteration for job in jobs)
    rows = [row for job in jobs for row in _tenant_rows(job, with_iteration=repeats)]
    facts = jobs[0].trial.facts
    tag = f" [{facts.tag}]" if facts.tag else ""
    title = styled(f"{facts.plan}{tag}, each job beside the others and alone", Style.BOLD, colour=colour)
    return "\n".join([title, render(_TENANT_COLUMNS, rows, colour=colour)])


_SPREAD_COLUMNS = [
    Column(("job",), is_text=True),
    *(Column((head,)) for head in ("seeds", "least", "P25", "median", "P75", "largest")),
]
_PLACEMENT_COLUMNS = [
    Column(("job",), is_text=True),
    Column(("#",)),
    Column(("kept", "%")),
    Column(("PFC", "rx")),
    Column(("others", "beside")),
    Column(("queue pairs of others on the link of each of its own",), is_text=True),
]


def seeds_text(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return how what each job keeps spreads over the seeds, and its placement in each; empty for one seed.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    from fabricbench.report.seeds import kept_rows, kept_spreads

    kept = kept_rows((job.trial, job.summary, job.alone) for job in jobs)
    if not kept:
        return ""
    spreads = [
        Row([name, str(each.count), *(fixed(value, 1) for value in each.quartiles)])
        for name, each in kept_spreads(kept).items()
    ]
    placed = sorted((row for row in kept if row.placement), key=lambda row: (row.name, row.kept_percent))
    placements = [
        Row(
            [
                row.name,
                str(row.iteration),
                fixed(row.kept_percent, 1),
                count(row.pfc_rx),
                fixed(row.mean_beside, 2),
                row.placement,
            ]
        )
        for row in placed
    ]
    lines = [
        styled("busbw kept beside the others, in % of alone, over the seeds", Style.BOLD, colour=colour),
        render(_SPREAD_COLUMNS, spreads, colour=colour),
    ]
    if placements:
        title = styled("which placement keeps how much", Style.BOLD, colour=colour)
        lines += ["", title, render(_PLACEMENT_COLUMNS, placements, colour=colour)]
    return "\n".join(lines)


def _tenant_rows(job: JobReport, *, with_iteration: bool) -> Iterator[Row]:
    if job.alone is None:
        return
    for summary, beside, kept in (
        (job.summary, "others", fixed(job.alone.kept_percent, 1)),
        (job.alone.summary, "nobody", ""),
    ):
        values = [metric_text(column.metric, summary.value(column.metric)) for column in _TENANT_METRICS]
        is_first = summary is job.summary
        label = [_label(job, with_iteration=with_iteration), job.summary.job] if is_first else ["", ""]
        style = Style.PLAIN if summary.status == "complete" else Style.RED
        yield Row([*label, beside, *values[:3], kept, *values[3:]], style)


def _group_table(jobs: Sequence[JobReport], *, colour: bool) -> str:
    repeats = any(job.trial.facts.iteration for job in jobs)
    metrics = _metric_columns(jobs)
    rows = [row for job in jobs for row in _rows(job, metrics, with_iteration=repeats)]
    columns = [Column(("data", "size"), is_text=True), *(Column(column.head) for column in metrics)]
    lines = [styled(_heading(jobs[0]), Style.BOLD, colour=colour), render(columns, rows, colour=colour)]
    for job in jobs:
        if job.summary.status != "complete":
            text = f"{_label(job, with_iteration=repeats)} is {job.summary.status}: {job.summary.reason}"
            lines.append(styled(text, Style.RED, colour=colour))
    rows_beside = [job.trial.facts.published for job in jobs if job.deviations]
    lines += [f"published: {name}" for name in sorted({row["table"] for row in rows_beside if row})]
    lines += [
        f"note: {note}" for note in dict.fromkeys(row.get("note", "") for row in rows_beside if row) if note
    ]
    return "\n".join(lines)


def _metric_columns(jobs: Sequence[JobReport]) -> tuple[_MetricColumn, ...]:
    """Return the columns of the jobs of a table; jobs that ran once have none for their rounds."""
    if all(_job_spec(job).get("arrivals") for job in jobs):
        return (_METRIC_COLUMNS[0], *_TRAFFIC_COLUMNS, *_METRIC_COLUMNS[4:])
    if all(_job_spec(job).get("repeat", _ONCE) == _ONCE for job in jobs):
        return _METRIC_COLUMNS
    return (_METRIC_COLUMNS[0], *_ROUND_COLUMNS, *_METRIC_COLUMNS[1:])


def _job_spec(job: JobReport) -> dict[str, object]:
    specs = job.trial.facts.run_spec["jobs"]
    return next(spec for spec in specs if spec["name"] == job.summary.job)


def _heading(job: JobReport) -> str:
    facts, summary = job.trial.facts, job.summary
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = "" if facts.variant in ("", "base") else f"{facts.variant}, "
    what = f"{variant}job {summary.job}: {summary.collective} {summary.algorithm}, {summary.ranks} ranks"
    return f"{facts.plan}{tag}, {what}"


def _label(job: JobReport, *, with_iteration: bool) -> str:
    size = data_size(job.summary.data_size_bytes)
    return f"{size} #{job.trial.facts.iteration}" if with_iteration else size


def _rows(job: JobReport, metrics: Sequence[_MetricColumn], *, with_iteration: bool) -> Iterator[Row]:
    style = Style.PLAIN if job.summary.status == "complete" else Style.RED
    values = [metric_text(column.metric, job.summary.value(column.metric)) for column in metrics]
    yield Row([_label(job, with_iteration=with_iteration), *values], style)
    if job.deviations:
        known = {deviation.metric: deviation for deviation in job.deviations}
        found = [known.get(column.metric) for column in metrics]
        yield Row(
            ["published", *("" if each is None else f"{each.published:.10g}" for each in found)], Style.DIM
        )
        yield Row(["deviation", *(_deviation_text(each) for each in found)], Style.DIM)


def _deviation_text(deviation: Deviation | None) -> str:
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


def trial_text(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return one trial in full: what was run, by what, and every metric of each job."""
    trial = jobs[0].trial
    facts = render([Column((), is_text=True)] * 2, [Row(pair) for pair in _trial_facts(trial)], colour=False)
    beside = [job for job in jobs if job.alone]
    tenants = [tenants_table(beside, colour=colour)] if beside else []
    return "\n\n".join([facts, *(_job_text(job, colour=colour) for job in jobs), *tenants])


def _trial_facts(trial: Trial) -> list[tuple[str, str]]:
    facts, engine, machine = trial.facts, trial.engine, trial.machine
    return [
        ("trial", facts.id),
        ("plan", f"{facts.plan}: {facts.title}" if facts.title else facts.plan),
        ("tag", facts.tag or "-"),
        ("variant, iteration", f"{facts.variant}, {facts.iteration}"),
        ("seed", str(facts.run_spec["seed"])),
        ("status", trial.status),
        ("engine", f"{facts.backend} {facts.engine_version}"),
        ("started", trial.started_at),
        ("took", f"{engine['wall_s']:.3g} s on {machine['host']}, threads: {engine['threads']}"),
        ("packet-hops", f"{engine['packet_hops']:,}"),
        ("memory", f"{engine['peak_rss_bytes'] / 2**20:.0f} MiB"),
    ]


def _job_text(job: JobReport, *, colour: bool) -> str:
    summary = job.summary
    size, chunks = (
        data_size(summary.data_size_bytes),
        f"{summary.chunks_complete} of {summary.chunks} chunks complete",
    )
    lines = [styled(f"{_heading(job)}, data size {size}, {chunks}", Style.BOLD, colour=colour)]
    if summary.reason:
        lines.append(styled(f"{summary.status}: {summary.reason}", Style.RED, colour=colour))
    known = {deviation.metric: deviation for deviation in job.deviations}
    rows = [_metric_row(job, metric, known.get(metric.name)) for metric in METRICS]
    heads = [Column((name,), is_text=name in ("metric", "unit")) for name in ("metric", "value", "unit")]
    if known:
        heads += [Column(("published",)), Column(("deviation",))]
    else:
        rows = [Row(row.cells[:3]) for row in rows]
    return "\n".join([*lines, render(heads, rows, colour=colour)])


def _metric_row(job: JobReport, metric: Metric, deviation: Deviation | None) -> Row:
    value = job.summary.value(metric.name)
    text = str(value) if isinstance(value, int) else metric_text(metric.name, value)
    published = "" if deviation is None else f"{deviation.published:.10g}"
    return Row([metric.title, text, metric.unit, published, _deviation_text(deviation)])


_LIST_COLUMNS = [
    Column(("trial",), is_text=True),
    Column(("plan",), is_text=True),
    Column(("job",), is_text=True),
    Column(("data", "size")),
    Column(("#",)),
    Column(("tag",), is_text=True),
    Column(("status",), is_text=True),
    Column(("time", "ms")),
    Column(("busbw", "GB/s")),
    Column(("ideal", "%")),
    Column(("started", "(UTC)"), is_text=True),
]


def trial_list(trials: Sequence[Trial], jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return a list of trials, unfinished ones included: one line for each job.

    Args:
        trials: The trials.
        jobs: The jobs of those that have finished.
        colour: Use the styles of a terminal.
    """
    jobs_of = {attempt: list(group) for attempt, group in groupby(jobs, key=lambda job: job.trial.attempt)}
    rows: list[Row] = []
    for trial in trials:
        finished = jobs_of.get(trial.attempt, [])
        rows += [_list_row(trial, job) for job in finished] or [_list_row(trial, None)]
    return render(_LIST_COLUMNS, rows, colour=colour)


def _list_row(trial: Trial, job: JobReport | None) -> Row:
    facts = trial.facts
    values = [
        metric_text(name, job.summary.value(name)) if job else "-"
        for name in ("completion_time_ms", "busbw_gb_per_s", "ideal_percent")
    ]
    started = trial.started_at[:16].replace("T", " ")
    size = data_size(job.summary.data_size_bytes if job else facts.data_size_bytes)
    status = job.summary.status if job else trial.status
    plan = facts.plan if facts.variant in ("", "base") else f"{facts.plan} ({facts.variant})"
    cells = [
        facts.id,
        plan,
        job.summary.job if job else "-",
        size,
        str(facts.iteration),
        facts.tag or "-",
        status,
    ]
    return Row([*cells, *values, started], Style.PLAIN if status == "complete" else Style.RED)


def comparison(pair: JobPair, *, colour: bool = False) -> str:
    """Return the metrics of two jobs side by side, with their ratio and which is the better one."""
    jobs = (pair.first, pair.second)
    heads = ["metric", "unit", pair.first.trial.id, pair.second.trial.id, "ratio", "second is"]
    columns = [Column((head,), is_text=head in ("metric", "unit", "second is")) for head in heads]
    rows = [_change_row(change) for change in pair.changes]
    titles = [
        f"{job.trial.id}  {_heading(job)}, data size {data_size(job.summary.data_size_bytes)}" for job in jobs
    ]
    return "\n".join([*titles, render(columns, rows, colour=colour)])


def _change_row(change: Change) -> Row:
    name = change.metric.name
    values = [metric_text(name, change.first), metric_text(name, change.second), fixed(change.ratio, 4)]
    style = Style.RED if change.verdict == "worse" else Style.PLAIN
    return Row([change.metric.title, change.metric.unit, *values, change.verdict or "-"], style)
