"""Answers what a run was made for: verdict, best and worst result, results over what differs, first cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.analysis.causes.finding import Finding
from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.verdict import Judgement
from fabricbench.metrics import BUS_BANDWIDTH, HEADLINES, IDEAL_SHARE, Direction, Metric
from fabricbench.report.documents.criteria import missed_text, trial_label, verdict_line
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.documents.table_cells import value_text
from fabricbench.results.job_ranking import by_concern, leading_text
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.results.studies.sweep import JobGrid, Sweep
from fabricbench.results.variants import versus_rows
from fabricbench.store import Trial
from fabricbench.words import counted

_JOBS_MAX = 4
"""Number of jobs up to which each has a sentence of its ratios."""


@dataclass(frozen=True)
class LabelledResult:
    """A result of a run with its label.

    Attributes:
        report: The job of a trial.
        label: Size, variant, swept values and iteration, as far as there are several.
        value: Its most important metric with unit; its status if it is not complete.
        why: Why it is the best or the worst; empty for a complete job without an ideal.
    """

    report: JobReport
    label: str
    value: str
    why: str


@dataclass(frozen=True)
class RunResults:
    """Results of a run, without trials of single jobs.

    Attributes:
        question: Title of the plan, or its name and what differs between its trials.
        headline: The verdict in one line: criteria, or whether all results are complete.
        sentences: Further answers: results of criteria, ratios of variants.
        best: The complete result with the largest share of its ideal; none without one, or if all
            have the same.
        worst: The result that failed, or has the least share of its ideal.
        findings: Likely causes of the worst result, the strongest first.
        metric: Metric of the maps.
        maps: Results over the first two dimensions.
        dimensions: Title of each dimension.
        results: Every job of every trial, failed ones first, then by the share of the ideal.
        values: Its value of each dimension, by the position of the result.
    """

    question: str
    headline: str
    sentences: Sequence[str]
    best: LabelledResult | None
    worst: LabelledResult
    findings: Sequence[Finding]
    metric: Metric
    maps: Sequence[JobGrid]
    dimensions: Sequence[str]
    results: Sequence[JobReport]
    values: Sequence[Sequence[str]]


def run_results(trials: Sequence[Trial], others: Sequence[Trial] = ()) -> RunResults | None:
    """Return the results of a run; `None` if no trial has one.

    Args:
        trials: The finished trials of the run.
        others: Trials of other runs in which a job ran alone.

    Raises:
        StoreError: A table of the trial with the worst result cannot be read.
    """
    shared = [trial for trial in trials if not is_solo(trial.facts.variant)] or list(trials)
    solos = [trial for trial in [*trials, *others] if trial not in shared]
    reports = reports_of_run(shared, solos)
    if not reports:
        return None
    ordered = by_concern(reports)
    sweep = Sweep(reports)
    places = {id(job): number for number, job in enumerate(sweep.jobs)}
    metric = _map_metric(reports)
    best = _best(ordered, metric, reports)
    return RunResults(
        question=_question(sweep, shared[0]),
        headline=verdict_line(reports) or _range_text(ordered, best, reports),
        sentences=[*_criteria_sentences(reports), *_variant_sentences(reports)],
        best=best,
        worst=_labelled(ordered[0], reports),
        findings=_findings(ordered[0]),
        metric=metric,
        maps=sweep.maps(),
        dimensions=[dimension.title for dimension in sweep.dimensions],
        results=ordered,
        values=[[dimension.places[places[id(job)]] for dimension in sweep.dimensions] for job in ordered],
    )


def _question(sweep: Sweep, trial: Trial) -> str:
    titles = [dimension.title for dimension in sweep.dimensions]
    return trial.facts.title or ": ".join([trial.facts.plan, *([", ".join(titles)] if titles else [])])


def _range_text(
    ordered: Sequence[JobReport], best: LabelledResult | None, reports: Sequence[JobReport]
) -> str:
    """Return the values of the worst and the best result: `bus bandwidth of 24 results: 6.9 to 36 GB/s`."""
    worst = _labelled(ordered[0], reports).value
    ends = worst if best is None else f"{worst} to {best.value}"
    return f"{_shown_metric(ordered[0]).title} of {counted(len(reports), 'result')}: {ends}; no criteria"


def _criteria_sentences(reports: Sequence[JobReport]) -> list[str]:
    """Return a sentence for each criterion of each job that several trials do not meet."""
    judged: dict[tuple[str, str, float | None, float | None], list[tuple[JobReport, Judgement]]] = {}
    for job in reports:
        for judgement in job.judgements:
            key = (job.summary.job, judgement.metric, judgement.min, judgement.max)
            judged.setdefault(key, []).append((job, judgement))
    return [
        sentence
        for outcomes in judged.values()
        if len(outcomes) > 1 and (sentence := _criterion_sentence(outcomes, reports))
    ]


def _criterion_sentence(outcomes: Sequence[tuple[JobReport, Judgement]], reports: Sequence[JobReport]) -> str:
    failed = [(job, judgement) for job, judgement in outcomes if not judgement.passed]
    measured = [(job, judgement) for job, judgement in failed if judgement.value is not None]
    if not measured:
        return ""
    is_floor = measured[0][1].min is not None
    job, closest = sorted(measured, key=lambda pair: pair[1].value or 0.0, reverse=is_floor)[0]
    count = f"{len(failed)} of {counted(len(outcomes), 'trial')}"
    return f"Not met in {count}, closest: {missed_text(job, closest)} ({trial_label(job, reports)})."


def _variant_sentences(reports: Sequence[JobReport]) -> list[str]:
    """Return for each job, or for many jobs together, the range of each variant's ratio to the reference."""
    rows = versus_rows(reports)
    jobs = list(dict.fromkeys(row.job for row in rows))
    groups = [jobs] if len(jobs) > _JOBS_MAX else [[job] for job in jobs]
    sentences = []
    for group in groups:
        own = [row for row in rows if row.job in group]
        first, parts = own[0], []
        for variant in dict.fromkeys(result.variant for row in own for result in row.results):
            ratios = [
                result.value
                for row in own
                for result in row.results
                if result.variant == variant and result.value is not None
            ]
            if variant != first.reference and ratios:
                ends = dict.fromkeys(f"{ratio:.2f}" for ratio in (min(ratios), max(ratios)))
                parts.append(f"{variant} {' to '.join(ends)}")
        if parts:
            title = f"{first.metric.title} of {_group_text(group)}"
            sentences.append(f"{title}, ratio to {first.reference}: {', '.join(parts)}.")
    return sentences


def _group_text(jobs: Sequence[str]) -> str:
    return jobs[0] if len(jobs) == 1 else f"{len(jobs)} jobs"


def _best(
    ordered: Sequence[JobReport], metric: Metric, reports: Sequence[JobReport]
) -> LabelledResult | None:
    measured = [job for job in ordered if job.is_complete and job.summary.value(metric.name) is not None]
    if not measured:
        return None
    sign = -1 if metric.direction is Direction.LOWER else 1
    best = max(measured, key=lambda job: sign * (job.summary.value(metric.name) or 0.0))
    is_better = best.summary.value(metric.name) != ordered[0].summary.value(metric.name)
    return _labelled(best, reports) if is_better else None


def _labelled(job: JobReport, reports: Sequence[JobReport]) -> LabelledResult:
    names = {each.summary.job for each in reports}
    parts = [*([job.summary.job] if len(names) > 1 else []), trial_label(job, reports)]
    shown, value = _shown_metric(job), job.summary.status
    if job.is_complete and job.summary.value(shown.name) is not None:
        value = f"{value_text(job.trial, job.summary, shown)} {shown.unit}".strip()
    missed = [judgement for judgement in job.judgements if not judgement.passed] if job.is_complete else []
    has_ideal = job.summary.value(IDEAL_SHARE.name) is not None
    why = missed_text(job, missed[0]) if missed else ""
    if not why and (has_ideal or not job.is_complete):
        why = job.summary.reason or leading_text(job, [job])
    return LabelledResult(job, ", ".join(parts), value, why)


def _shown_metric(job: JobReport) -> Metric:
    return HEADLINES[job.summary.kind] if job.summary.value(BUS_BANDWIDTH.name) is None else BUS_BANDWIDTH


def _findings(job: JobReport) -> Sequence[Finding]:
    insight = insight_of(job.trial)
    return () if insight is None else insight.of_job(job.summary.job)


def _map_metric(reports: Sequence[JobReport]) -> Metric:
    """Return the share of the ideal, or the headline metric where no job has an ideal."""
    has_ideal = any(job.summary.value(IDEAL_SHARE.name) is not None for job in reports)
    return IDEAL_SHARE if has_ideal else HEADLINES[reports[0].summary.kind]
