"""Formats trials, their diagnosis, lists of trials and comparisons as JSON and CSV, for programs."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fabricbench.analysis.comparison.ratios import PUBLISHED, Change
from fabricbench.analysis.faults.recovery import recovery_object
from fabricbench.analysis.faults.unreached_failures import unreached
from fabricbench.analysis.summary.bandwidth import message_size
from fabricbench.analysis.summary.job_summary import COLUMNS, Summary, result_row
from fabricbench.analysis.summary.reordering import reordering_object
from fabricbench.metrics import ALONE_RATIOS, METRICS, RATIOS, Scope
from fabricbench.report.documents.columns import shares_fabric
from fabricbench.report.documents.comparison import Comparison, JobPair
from fabricbench.report.documents.diagnosis import (
    FabricJson,
    Insight,
    distribution_object,
    finding_object,
)
from fabricbench.report.documents.fabric_metrics import OF_FABRIC
from fabricbench.report.documents.measured import measured_object
from fabricbench.report.documents.tcp import results_of
from fabricbench.report.output import csv_escaping
from fabricbench.report.output.json_types import (
    ENGINE_MAXIMA,
    ENGINE_SUMS,
    ComparedMetricJson,
    ComparedTrialJson,
    ComparisonJson,
    IdentityJson,
    UnreachedFailureJson,
    nested,
)
from fabricbench.results.axes import axis_names
from fabricbench.results.job_reports import JobReport
from fabricbench.results.reference_trials import Against
from fabricbench.results.solo_trials import Alone
from fabricbench.searched import Searched
from fabricbench.store import Trial
from fabricbench.words import plan_value

_FABRIC = {f"fabric_{metric.name}": metric.name for metric in OF_FABRIC}
"""Columns of CSV for the whole fabric, each with its metric."""
_ALONE = tuple(metric.name for metric in METRICS if metric.scope is Scope.JOB)
"""Metrics of a job run alone that CSV has in addition to those of the job among others."""


def trials_json(jobs: Sequence[JobReport], search_results: Sequence[Searched] = ()) -> str:
    """Return one JSON object: `trials`, one for each job of each trial, and `engine`, their totals.

    Args:
        jobs: The jobs.
        search_results: Results of the plan's search, for `search`.
    """
    searched = {"search": [case.content for case in search_results]} if search_results else {}
    return json.dumps(_trials_content(jobs) | searched, indent=2, allow_nan=False)


def shown_json(jobs: Sequence[JobReport], insight: Insight | None, tags: Sequence[str]) -> str:
    """Return the jobs of one trial like `trials_json`, with the insight from its counters.

    Args:
        jobs: The jobs.
        insight: Insight from the counters of the fabric; `None` if the record has no data of it.
        tags: All tags of the trial, including that of its plan.
    """
    content = _trials_content(jobs)
    content["trials"] = [shown | {"tags": list(tags)} for shown in content["trials"]]
    if insight is None:
        absent = dict.fromkeys(("reordering", "recoveries", "diagnosis"))
        measured = measured_object(jobs[0].trial) if jobs[0].trial.is_printed else None
        content["trials"] = [shown | absent | {"measured": measured} for shown in content["trials"]]
        return json.dumps(content | {"fabric": None}, indent=2, allow_nan=False)
    orders = {order.job: reordering_object(order) for order in insight.orders}
    for shown in content["trials"]:
        shown["reordering"] = orders.get(shown["job"])
        job_recoveries = (recovery for recovery in insight.recoveries if recovery.job == shown["job"])
        shown["recoveries"] = [recovery_object(recovery) for recovery in job_recoveries]
        shown["diagnosis"] = [finding_object(finding) for finding in insight.of_job(shown["job"])]
    fabric: FabricJson = {
        "uplinks": [distribution_object(distribution) for distribution in insight.distributions],
        "frames_lost": insight.losses,
        "paused_ports": list(insight.paused),
        "pfc_by_priority": list(insight.priorities),
    }
    return json.dumps(content | {"fabric": fabric}, indent=2, allow_nan=False, default=dataclasses.asdict)


def _trials_content(jobs: Sequence[JobReport]) -> dict[str, Any]:
    trials = list({job.trial.attempt: job.trial for job in jobs}.values())
    content = {"trials": [trial_object(job) for job in jobs], "engine": engine_totals(trials)}
    tcp = [_identity(trial) | dataclasses.asdict(result) for trial in trials for result in results_of(trial)]
    return content | ({"tcp": tcp} if tcp else {})


def trial_object(job: JobReport) -> dict[str, Any]:
    """Return a job of a trial as its JSON object."""
    content = _identity(job.trial) | {"axes": dict(job.trial.facts.axes)}
    content |= nested(_own_row(job)) | _sizes(job.summary)
    content["fabric_metrics"] = {metric.name: job.summary.value(metric.name) for metric in OF_FABRIC}
    content["published"] = {
        deviation.metric: {"value": deviation.published, "deviation_percent": deviation.deviation_percent}
        for deviation in job.deviations
    } or None
    content["alone"] = _alone_object(job.alone) if job.alone else None
    content["reference"] = _reference_object(job.against) if job.against else None
    content["criteria"] = [dataclasses.asdict(judgement) for judgement in job.judgements]
    content["verdict"] = job.verdict
    content["unreached_failures"] = _unreached_objects(job.trial)
    content["notes"] = list(job.trial.notes)
    return content


def _unreached_objects(trial: Trial) -> list[UnreachedFailureJson]:
    """Return the failures of the plan that were scheduled after the end of the trial."""
    end_ps = (trial.summary or {}).get("end_ps", 0)
    return [
        {"failure": failure.description, "at_ps": failure.at_ps}
        for failure in unreached(trial.facts.run_spec, end_ps)
    ]


def _alone_object(alone: Alone) -> dict[str, Any]:
    """Return the results of a job run alone, and the ratio of its results among others to them."""
    content = {"trial": alone.trial.id, "kept_percent": alone.kept_percent} | dict(alone.ratios)
    return content | nested(result_row(alone.summary))


def _reference_object(against: Against) -> dict[str, Any]:
    """Return the trial of the reference variant, and the ratios to it."""
    return {"variant": against.trial.facts.variant, "trial": against.trial.id, "ratios": dict(against.ratios)}


def _own_row(job: JobReport) -> dict[str, Any]:
    """Return the summary of a job as a flat row, without metrics of a fabric that it shares."""
    row = result_row(job.summary)
    return row | dict.fromkeys(metric.name for metric in OF_FABRIC) if shares_fabric(job.trial) else row


def _sizes(summary: Summary) -> dict[str, int]:
    """Return the data size of a job and its message size: the bytes per peer, or the input of a rank."""
    size = message_size(summary.collective, summary.ranks, summary.data_size_bytes)
    return {"data_size_bytes": summary.data_size_bytes, "message_size_bytes": size}


def _identity(trial: Trial) -> IdentityJson:
    facts = trial.facts
    return {
        "id": facts.id,
        "tag": facts.tag,
        "plan": facts.plan,
        "variant": facts.variant,
        "iteration": facts.iteration,
        "backend": facts.backend,
        "backend_version": facts.backend_version,
    }


def engine_totals(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the total cost of the trials: sums, but the maximum of memory and threads.

    Values that no trial reports are None: engines report different facts, and measured trials none. Seed and
    version are those of the first trial that has any.
    """

    def total(name: str, aggregate: Callable[[list[Any]], Any]) -> Any:
        values = [trial.engine[name] for trial in trials if name in trial.engine]
        return aggregate(values) if values else None if trials else 0

    totals: dict[str, Any] = {name: total(name, sum) for name in ENGINE_SUMS}
    totals |= {name: total(name, max) for name in ENGINE_MAXIMA}
    first = next((trial.facts for trial in trials if trial.engine), trials[0].facts if trials else None)
    totals["seed"] = first.run_spec.get("seed") if first else None
    totals["version"] = first.engine_version if first else None
    totals["backend"] = first.backend if first else None
    return totals


def trials_csv(jobs: Sequence[JobReport]) -> str:
    """Return one line for each job of each trial; columns are constant, followed by one for each axis."""
    return rows_csv(flat_columns(jobs), [flat_row(job) for job in jobs])


def flat_columns(jobs: Sequence[JobReport]) -> list[str]:
    """Return the columns of jobs as flat rows, in order; swept fields are last."""
    names = [*IdentityJson.__annotations__, *COLUMNS]
    for metric in PUBLISHED:
        names += [f"published_{metric.name}", f"deviation_percent_{metric.name}"]
    names += ["alone_trial", "kept_percent", *ALONE_RATIOS, *(f"alone_{name}" for name in _ALONE), "verdict"]
    names += ["message_size_bytes", "reference_trial", *RATIOS, *_FABRIC]
    return [*names, *axis_names([job.trial for job in jobs])]


def _axes(trial: Trial) -> dict[str, str]:
    """Return the values of swept fields as text."""
    return {name: plan_value(value) for name, value in trial.facts.axes}


def flat_row(job: JobReport) -> dict[str, Any]:
    """Return a job of a trial as one flat row; columns without a value are left out."""
    row = _identity(job.trial) | _own_row(job) | _sizes(job.summary)
    row |= {name: job.summary.value(metric) for name, metric in _FABRIC.items()}
    row["verdict"] = job.verdict
    for deviation in job.deviations:
        row[f"published_{deviation.metric}"] = deviation.published
        row[f"deviation_percent_{deviation.metric}"] = deviation.deviation_percent
    if job.alone:
        row |= {"alone_trial": job.alone.trial.id, "kept_percent": job.alone.kept_percent}
        row |= dict(job.alone.ratios)
        row |= {f"alone_{name}": job.alone.summary.value(name) for name in _ALONE}
    if job.against:
        row |= {"reference_trial": job.against.trial.id} | dict(job.against.ratios)
    return row | _axes(job.trial)


def list_json(trials: Sequence[Trial], jobs: Sequence[JobReport], tags: Mapping[str, Sequence[str]]) -> str:
    """Return a list of trials, including unfinished ones, each with all its tags and its jobs."""
    jobs_of: dict[int, list[JobReport]] = {}
    for job in jobs:
        jobs_of.setdefault(job.trial.attempt, []).append(job)
    content = [
        _state(trial)
        | {"axes": dict(trial.facts.axes)}
        | {"tags": list(tags.get(trial.id, ()))}
        | {"jobs": [trial_object(job) for job in jobs_of.get(trial.attempt, [])]}
        for trial in trials
    ]
    return json.dumps({"trials": content}, indent=2, allow_nan=False)


def list_csv(trials: Sequence[Trial], jobs: Sequence[JobReport]) -> str:
    """Return a list of trials: one line for each job of a finished trial, one for each other trial."""
    rows = [flat_row(job) | _state(job.trial) | _sizes(job.summary) for job in jobs]
    rows += [_state(trial) | _axes(trial) for trial in trials if not trial.is_finished]
    names = [*_STATE, *(name for name in COLUMNS if name not in _STATE)]
    names += ["verdict", "message_size_bytes", *axis_names(trials)]
    return rows_csv(names, [{name: row.get(name) for name in names} for row in rows])


_STATE = (*IdentityJson.__annotations__, "data_size_bytes", "status", "message", "started_at", "ended_at")


def _state(trial: Trial) -> dict[str, Any]:
    return _identity(trial) | {
        f"{trial.facts.size_kind}_size_bytes": trial.facts.data_size_bytes,
        "status": trial.status,
        "message": trial.message,
        "started_at": trial.started_at,
        "ended_at": trial.ended_at,
    }


def comparison_json(comparison: Comparison) -> str:
    """Return one JSON object: labels, differing parameters, and every metric of each pair."""
    content: ComparisonJson = {
        "compared": list(comparison.labels),
        "parameters": [
            {"field": parameter.field, "values": dict(zip(comparison.labels, parameter.values, strict=True))}
            for parameter in comparison.parameters
        ],
        **({"note": comparison.note} if comparison.note else {}),  # type: ignore[typeddict-item]
        "jobs": [
            {
                "first": _paired(pair.first),
                "second": _paired(pair.second),
                "metrics": {change.metric.name: _change(change) for change in pair.changes},
            }
            for pair in comparison.pairs
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _paired(job: JobReport) -> ComparedTrialJson:
    facts = job.trial.facts
    return {
        **_identity(job.trial),
        "axes": dict(facts.axes),
        "job": job.summary.job,
        "data_size_bytes": job.summary.data_size_bytes,
    }


COMPARISON_COLUMNS = (
    *("job", "metric", "unit", "first", "second", "ratio", "verdict"),
    *("data_size_bytes", "iteration"),
    *("first_trial", "second_trial", "first_variant", "second_variant"),
    *("first_backend", "second_backend", "direction"),
)
"""Columns of a comparison."""


def comparison_csv(comparison: Comparison) -> str:
    """Return one line for each pair of jobs and metric."""
    return rows_csv(comparison_columns(comparison), comparison_rows(comparison))


def comparison_columns(comparison: Comparison) -> list[str]:
    """Return `COMPARISON_COLUMNS`, and one for each swept field, with the values of the second trial."""
    return [*COMPARISON_COLUMNS, *axis_names([pair.second.trial for pair in comparison.pairs])]


def comparison_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a flat row for each pair of jobs and metric, with `comparison_columns`."""
    rows = [
        change_row(pair.first.summary.job, change) | _pair_row(pair) | _axes(pair.second.trial)
        for pair in comparison.pairs
        for change in pair.changes
    ]
    names = comparison_columns(comparison)
    return [{name: row.get(name) for name in names} for row in rows]


def _pair_row(pair: JobPair) -> dict[str, Any]:
    first, second = pair.first.trial, pair.second.trial
    return {
        "data_size_bytes": pair.second.summary.data_size_bytes,
        "iteration": second.facts.iteration,
        "first_trial": first.id,
        "second_trial": second.id,
        "first_variant": first.facts.variant,
        "second_variant": second.facts.variant,
        "first_backend": first.facts.backend,
        "second_backend": second.facts.backend,
    }


def change_row(job: str, change: Change) -> dict[str, Any]:
    """Return a metric of two trials as one flat row."""
    return {"job": job, "metric": change.metric.name} | _change(change)


def _change(change: Change) -> ComparedMetricJson:
    return {
        "unit": change.metric.unit,
        "direction": change.metric.direction,
        "first": change.first,
        "second": change.second,
        "ratio": change.ratio,
        "verdict": change.verdict or None,
    }


def rows_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; missing values are empty, and text is safe for spreadsheets."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    quoting = csv.DictWriter(text, names, restval="", lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    for row in rows:
        cells = {name: csv_escaping.cell(value) for name, value in row.items()}
        # Before Python 3.13, a single carriage return is written unquoted and read as the end of a row.
        has_return = any("\r" in cell for cell in cells.values() if isinstance(cell, str))
        (quoting if has_return else writer).writerow(cells)
    return text.getvalue()
