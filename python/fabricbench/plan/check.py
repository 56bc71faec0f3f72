"""Checks of the whole plan. Each problem names the field to change."""

from collections.abc import Iterator

from fabricbench.plan.criteria import check_criteria
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldProblem, Problem
from fabricbench.plan.fabric.check import check_fabric, check_topology
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.jobs.check import check_jobs, check_ranks, check_solo
from fabricbench.plan.jobs.tcp import check_tcp
from fabricbench.plan.model import Plan
from fabricbench.plan.scale import scale_warnings
from fabricbench.plan.search import check_search
from fabricbench.plan.sweep.check import check_shares, check_sizes, size_warnings
from fabricbench.plan.sweep.fields import check_fields
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.plan.sweep.variants import check_variants
from fabricbench.plan.transport.check import check_transport


def check_plan(plan: Plan, document: Document, variant: str = BASE_VARIANT) -> list[Problem]:
    """Return the problems of a plan whose fields are each valid, or of a variant of one."""
    field_problems = list(check_topology(plan, document))
    if plan.fabric.topology.host_count > HOSTS_MAX:  # too many for the other checks
        return document.problems(field_problems)
    if not field_problems:
        field_problems += check_ranks(plan, document)
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
    yield from size_warnings(plan)
    for index, job in enumerate(plan.jobs):
        if job.algorithm == "double-binary-tree" and plan.transport.qp_mode == "per_chunk":
            actual = "a pipeline of chunks with queue pairs of their own, which arrive late and together"
            hint = "set `transport.qp_mode: per_pair`"
            yield FieldProblem(("jobs", index, "algorithm"), actual, hint=hint)
