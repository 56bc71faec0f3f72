"""Checks of schedules on which something fails."""

from collections.abc import Iterator

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import Problem
from fabricbench.plan.fabric.failures import Passing
from fabricbench.plan.model import Plan


def check_failures(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the schedule of each failure."""
    for index, failure in enumerate(plan.fabric.failures):
        if isinstance(failure, Passing):
            yield from _check_schedule(failure, index, document)


def _check_schedule(failure: Passing, index: int, document: Document) -> Iterator[Problem]:
    path = ("fabric", "failures", index)
    if failure.count > 1 and failure.every_ps is None:
        yield document.problem(
            (*path, "count"), f"{failure.count} times without `every`", "1, or with `every`"
        )
    if failure.every_ps is None:
        return
    every = units.format_time(failure.every_ps)
    if failure.count == 1:
        yield document.problem((*path, "every"), f"{every} for something that comes once", "with `count`")
    if failure.for_ps is None:
        hint = "it must end before it comes again"
        yield document.problem((*path, "every"), f"{every} without `for`", "with `for`", hint)
    elif failure.for_ps >= failure.every_ps:
        found = f"{units.format_time(failure.for_ps)} every {every}"
        yield document.problem((*path, "for"), found, f"less than {every}")
