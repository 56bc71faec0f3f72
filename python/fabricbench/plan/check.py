"""Checks a plan whose fields are each valid: calls the checks of its sections, and checks its criteria.

Each problem names the field to change. `plan_warnings` yields valid settings that are hardly intended.
"""

from collections.abc import Iterator

from fabricbench.metrics import ALONE_RATIOS, BY_NAME, IDEAL_SHARE, OF_ALL_ROWS
from fabricbench.plan.criteria import Criterion
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, FieldProblem, Problem
from fabricbench.plan.fabric.check import check_fabric, check_topology, server_warnings
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.jobs.check import check_jobs, check_ranks, check_solo, check_tcp
from fabricbench.plan.jobs.check_library import check_library, library_warnings
from fabricbench.plan.jobs.nccl_run import chunks_observed, qp_mode
from fabricbench.plan.model import Plan
from fabricbench.plan.rate_scale import scale_warnings
from fabricbench.plan.sweep.check import check_shares, check_sizes, check_variants, size_warnings
from fabricbench.plan.sweep.fields import check_fields
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.plan.sweep.search_range import check_search
from fabricbench.plan.sweep.variants import reference_variant
from fabricbench.plan.transport.check import check_transport
from fabricbench.words import close_match_hint


def _check_ratio(criterion: Criterion, plan: "Plan", path: FieldPath) -> Iterator[FieldProblem]:
    """Check that there is a reference, and that the variant is another one."""
    reference = reference_variant(plan.variants)
    if reference is None:
        actual = f"{criterion.metric} in a plan without variants"
        yield FieldProblem((*path, "metric"), actual, "a metric of one trial, or `variants` to compare")
    elif criterion.variant == reference:
        actual = f"`{reference}`, which is the reference itself"
        allowed = ", ".join(variant.name for variant in plan.variants if variant.name != reference)
        yield FieldProblem((*path, "variant"), actual, allowed or "nothing, there is no other variant")


def _has_scale_up(plan: "Plan") -> bool:
    """Whether the plan or a variant of it has links within servers."""
    changes = (f"{field} {value}" for variant in plan.variants for field, value in variant.changes.items())
    return getattr(plan.fabric.topology, "scale_up_link", None) is not None or any(
        "scale_up_link" in change for change in changes
    )


def _check_alone(criterion: Criterion, plan: "Plan", path: FieldPath) -> Iterator[FieldProblem]:
    """Check that jobs also run alone if the metric is a ratio to that."""
    if criterion.metric in ALONE_RATIOS and not (plan.solo and len(plan.jobs) > 1):
        actual = f"{criterion.metric} in a plan whose jobs do not run alone"
        allowed = "a metric of one trial, or several jobs and `solo: true`"
        yield FieldProblem((*path, "metric"), actual, allowed)


def _check_reach(criterion: Criterion, plan: "Plan", path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the metric can have a value within the limits; ratios are 0 or more.

    The ideal is a host port that transports only full packets: only traffic that bypasses it, on links within
    servers, can make a job faster.
    """
    low, high = criterion.minimum, criterion.maximum
    metric = BY_NAME.get(criterion.metric)
    least, most = (metric.least, metric.most) if metric else (0, None)
    if metric is IDEAL_SHARE and _has_scale_up(plan):
        most = None  # traffic within a server bypasses the ports of the fabric
    valid_range = f"{least:g} or more" if most is None else f"{least:g} to {most:g}"
    if low is not None and most is not None and low > most:
        yield FieldProblem((*path, "min"), f"{low:.10g}, which {criterion.metric} never reaches", valid_range)
    if high is not None and high < least:
        yield FieldProblem(
            (*path, "max"), f"{high:.10g}, which {criterion.metric} is always above", valid_range
        )


def _check_limits(criterion: Criterion, path: FieldPath) -> Iterator[FieldProblem]:
    low, high = criterion.minimum, criterion.maximum
    if low is None and high is None:
        yield FieldProblem(path, "neither min nor max", "at least one of them")
    elif low is not None and high is not None and low > high:
        yield FieldProblem((*path, "min"), f"{low:.10g}, above the max", f"{high:.10g} or less")


def _check_variant(
    criterion: Criterion, plan: "Plan", path: FieldPath, document: Document
) -> Iterator[FieldProblem]:
    """Check that the variant exists; `-s variants=[]` removes all variants for a run."""
    names = [variant.name for variant in plan.variants]
    if document.value(("variants",)) == []:
        return
    if criterion.is_ratio:
        yield from _check_ratio(criterion, plan, path)
    if criterion.variant is None or criterion.variant in names:
        return
    allowed = ", ".join(names) or "nothing, the plan has no variants"
    hint = close_match_hint(criterion.variant, names)
    yield FieldProblem((*path, "variant"), f'"{criterion.variant}"', allowed, hint)


def check_criteria(plan: "Plan", document: Document, variant: str = BASE_VARIANT) -> Iterator[FieldProblem]:
    """Check that each criterion has reachable limits, and a variant and a job that the plan has."""
    names = [job.name for job in plan.jobs]
    for index, criterion in enumerate(plan.criteria):
        path: FieldPath = ("criteria", index)
        if variant == BASE_VARIANT:
            yield from _check_limits(criterion, path)
            yield from _check_reach(criterion, plan, path)
            yield from _check_alone(criterion, plan, path)
            yield from _check_variant(criterion, plan, path, document)
        is_judged = criterion.concerns(variant, reference_variant(plan.variants))
        chunks = chunks_observed(plan)
        if is_judged and criterion.metric in OF_ALL_ROWS and chunks != "all":
            actual = f"{criterion.metric} with `observe.chunks: {chunks}`, which does not measure it"
            yield FieldProblem((*path, "metric"), actual, "`observe.chunks: all`, or another metric")
        if criterion.job is not None and is_judged and criterion.job not in names:
            hint = close_match_hint(criterion.job, names)
            yield FieldProblem((*path, "job"), f'"{criterion.job}"', ", ".join(names), hint)


def check_plan(plan: Plan, document: Document, variant: str = BASE_VARIANT) -> list[Problem]:
    """Return the problems of a plan whose fields are each valid, or of a variant of one."""
    field_problems = list(check_topology(plan, document))
    if plan.fabric.topology.host_count > HOSTS_MAX:  # too many for the other checks
        return document.problems(field_problems)
    if not field_problems:
        field_problems += check_ranks(plan, document)
    if not field_problems:
        field_problems += check_library(plan)
    for check in (check_transport, check_fabric, check_jobs, check_tcp, check_solo, check_sizes):
        field_problems += check(plan)
    field_problems += check_criteria(plan, document, variant)
    if variant == BASE_VARIANT:
        field_problems += check_variants(plan)
    problems = document.problems(field_problems)
    if variant == BASE_VARIANT:
        problems += check_fields(plan, document)
        problems += check_search(plan, document)
    # Shares can be checked only if the ranks, the collectives and the sizes are valid.
    return problems or document.problems(check_shares(plan))


def plan_warnings(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the settings that are valid but hardly intended."""
    yield from scale_warnings(plan)
    yield from server_warnings(plan)
    yield from library_warnings(plan)
    yield from size_warnings(plan)
    for index, job in enumerate(plan.jobs):
        if job.algorithm == "double-binary-tree" and qp_mode(plan) == "per_chunk":
            actual = "a pipeline of chunks with queue pairs of their own, which arrive late and together"
            hint = "set `transport.qp_mode: per_pair`"
            yield FieldProblem(("jobs", index, "algorithm"), actual, hint=hint)
