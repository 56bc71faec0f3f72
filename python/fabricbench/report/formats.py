"""Trials as JSON and CSV, for programs."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.compare import PUBLISHED_COLUMNS
from fabricbench.analysis.summary import Summary

if TYPE_CHECKING:
    from fabricbench.report.trials import JobReport
    from fabricbench.store import Trial

_IDENTITY = ("id", "tag", "plan", "variant", "iteration")
_NESTED = ("fct_ms", "latency_us")
"""Metrics that JSON groups: `fct_ms_p50` is `{"fct_ms": {"p50": ...}}`."""


def trials_json(jobs: Sequence[JobReport]) -> str:
    """Return one JSON object: `trials`, one for each job of each trial, and `engine`, the totals over all trials."""
    trials = list({job.trial.attempt: job.trial for job in jobs}.values())
    content = {"trials": [trial_object(job) for job in jobs], "engine": engine_totals(trials)}
    return json.dumps(content, indent=2, allow_nan=False)


def trial_object(job: JobReport) -> dict[str, Any]:
    """Return a job of a trial as its JSON object."""
    content: dict[str, Any] = _identity(job.trial)
    for name, value in dataclasses.asdict(job.summary).items():
        group = next((group for group in _NESTED if name.startswith(f"{group}_")), None)
        if group:
            content.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        else:
            content[name] = value
    content["published"] = {
        deviation.metric: {"value": deviation.published, "deviation_percent": deviation.deviation_percent}
        for deviation in job.deviations
    } or None
    return content


def _identity(trial: Trial) -> dict[str, Any]:
    return {name: getattr(trial.facts, name) for name in _IDENTITY}


def engine_totals(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return what the trials cost together: sums, but the largest memory and thread count.

    Seed and version are those of the first trial.
    """

    def values(name: str) -> list[Any]:
        return [trial.engine[name] for trial in trials]

    totals: dict[str, Any] = {
        name: sum(values(name))
        for name in ("packet_hops", "events", "fast_windows", "exact_windows", "wall_s", "cpu_s")
    }
    totals |= {name: max(values(name), default=0) for name in ("peak_rss_bytes", "threads")}
    first = trials[0].facts if trials else None
    totals["seed"] = first.run_spec["seed"] if first else None
    totals["version"] = first.engine_version if first else None
    totals["backend"] = first.backend if first else None
    return totals


def trials_csv(jobs: Sequence[JobReport]) -> str:
    """Return one line for each job of each trial; the columns are always the same."""
    names = [*_IDENTITY, *(field.name for field in dataclasses.fields(Summary))]
    for metric in PUBLISHED_COLUMNS:
        names += [f"published_{metric}", f"deviation_percent_{metric}"]
    return rows_csv(names, [_flat(job) for job in jobs])


def _flat(job: JobReport) -> dict[str, Any]:
    row = _identity(job.trial) | dataclasses.asdict(job.summary)
    for deviation in job.deviations:
        row[f"published_{deviation.metric}"] = deviation.published
        row[f"deviation_percent_{deviation.metric}"] = deviation.deviation_percent
    return row


def rows_csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; missing values are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
