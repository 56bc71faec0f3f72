"""Arranges the variants of a run side by side: results by size and job, ratios to the reference variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fabricbench.analysis.comparison.isolation import Spread, is_solo, spread
from fabricbench.analysis.comparison.ratios import ratio_verdict
from fabricbench.metrics import HEADLINES, RATIOS, Metric
from fabricbench.results.job_reports import JobReport

TOLERANCE = 0.01
"""Largest difference of a ratio from 1 that is shown without a colour."""


@dataclass(frozen=True)
class VariantResult:
    """A job under one variant, over the iterations.

    Attributes:
        variant: Name of the variant.
        jobs: The job in each iteration.
        ratios: Distribution of its ratio over the iterations that have one; none if none has.
    """

    variant: str
    jobs: Sequence[JobReport]
    ratios: Spread | None

    @property
    def value(self) -> float | None:
        """Median ratio to the reference."""
        return self.ratios.median if self.ratios else None

    @property
    def is_incomplete(self) -> bool:
        """Whether an iteration is not complete."""
        return any(job.summary.status != "complete" for job in self.jobs)


@dataclass(frozen=True)
class VersusRow:
    """A job at one size, and one combination of swept values, under all variants.

    Attributes:
        size: Data size or message size of the job, whichever the plan sweeps, with swept values.
        job: Its name.
        ratio: Name of the ratio that is shown.
        reference: Name of the reference variant.
        results: Every variant, in the order of the plan.
    """

    size: str
    job: str
    ratio: str
    reference: str
    results: Sequence[VariantResult]

    @property
    def metric(self) -> Metric:
        """The metric of the ratio."""
        return RATIOS[self.ratio]

    def verdict(self, result: VariantResult) -> str:
        """Return `better`, `worse` or `same` for a variant against the reference; empty without ratio."""
        return ratio_verdict(self.metric, result.value, TOLERANCE)


def is_compared(job: JobReport) -> bool:
    """Return whether a job is of a variant that is compared with others, and not alone."""
    return job.trial.facts.reference is not None and not is_solo(job.trial.facts.variant)


def versus_rows(jobs: Sequence[JobReport]) -> list[VersusRow]:
    """Return the variants of one run side by side, by data size and then by job, in the order of the plan."""
    ordered = sorted(filter(is_compared, jobs), key=lambda job: job.trial.facts.position)
    names = list(dict.fromkeys(job.summary.job for job in ordered))
    axes = {text: index for index, text in enumerate(dict.fromkeys(job.axes for job in ordered))}

    several = {job.summary.job for job in ordered if job.has_sizes}

    def sort_key(job: JobReport) -> tuple[int, int, int, int]:
        name = job.summary.job
        own_bytes = job.summary.data_size_bytes if name in several else 0
        return axes[job.axes], job.trial.facts.data_size_bytes, names.index(name), own_bytes

    groups = (list(group) for _, group in groupby(sorted(ordered, key=sort_key), key=sort_key))
    # If rounds have several sizes, the reference may not have them.
    return [_row(group) for group in groups if not several or any(job.against for job in group)]


def _row(jobs: Sequence[JobReport]) -> VersusRow:
    ratio = headline(jobs)
    variants = dict.fromkeys(job.trial.facts.variant for job in jobs)
    results = [
        _result(name, [job for job in jobs if job.trial.facts.variant == name], ratio) for name in variants
    ]
    first = jobs[0]
    reference = first.trial.facts.reference or ""
    size = ", ".join(part for part in (first.size, first.axes) if part)
    return VersusRow(size, first.summary.job, ratio, reference, results)


def _result(variant: str, jobs: Sequence[JobReport], ratio: str) -> VariantResult:
    ratios = [job.against.ratios[ratio] for job in jobs if job.against]
    return VariantResult(variant, jobs, spread([value for value in ratios if value is not None]))


def headline(jobs: Sequence[JobReport]) -> str:
    """Return the headline ratio of jobs of this kind."""
    return HEADLINES[jobs[0].summary.kind].ratio
