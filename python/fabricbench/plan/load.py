"""Loads a plan: file, overrides, fields, and what only the whole shows. Every error is a `PlanError`."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypedDict

from pydantic import ValidationError

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.balancing import Pinned
from fabricbench.plan.check import check_plan, plan_warnings
from fabricbench.plan.document import Document, read_file
from fabricbench.plan.errors import FieldPath, PlanError, Problem
from fabricbench.plan.expand import PlannedTrial, expand, first_spec
from fabricbench.plan.limits import Limits, estimate_text, memory_problem, problems_beyond
from fabricbench.plan.model import PLAN_VERSION, Plan
from fabricbench.plan.nodes import kind_name
from fabricbench.plan.overrides import apply_overrides
from fabricbench.plan.pins import pin_problems
from fabricbench.plan.published import PublishedTable, read_published
from fabricbench.plan.shipped import find_plan, find_published, published_tables
from fabricbench.plan.validate import close_match_hint, problems_of

_NAMES_IN_SPEC: Final = {"hosts": "ranks"}
_UNIT_SUFFIX: Final = re.compile(r"_(ps|bytes|bps|packets)$")


class PlanSummary(TypedDict):
    """What a list says about a plan. `ranks` counts those of all jobs, `hosts` those of the fabric."""

    name: str
    title: str
    file: str
    trials: int
    ranks: int
    hosts: int
    data_size_min_bytes: int
    data_size_max_bytes: int
    published: str | None


@dataclass(frozen=True)
class LoadedPlan:
    """A plan that can be carried out.

    Attributes:
        plan: The plan.
        path: The file it came from.
        text: The text of that file, as written.
        overrides: The overrides applied to it.
        published: The published results that stand beside ours, if the plan names any.
        trials: Its trials.
        warnings: What can be carried out, but is hardly meant.
    """

    plan: Plan
    path: Path
    text: str
    overrides: tuple[str, ...]
    published: PublishedTable | None
    trials: list[PlannedTrial]
    warnings: tuple[Problem, ...] = ()

    @property
    def summary(self) -> PlanSummary:
        """What a list says about the plan."""
        sizes = [trial.data_size_bytes for trial in self.trials]
        return {
            "name": self.plan.name,
            "title": self.plan.title,
            "file": str(self.path),
            "trials": len(self.trials),
            "ranks": sum(len(job["hosts"]) for job in self.trials[-1].run_spec["jobs"]),
            "hosts": self.plan.fabric.topology.host_count,
            "data_size_min_bytes": min(sizes),
            "data_size_max_bytes": max(sizes),
            "published": self.plan.published,
        }

    @cached_property
    def estimates(self) -> list["engine.Estimate | None"]:
        """What each trial is estimated to cost."""
        return [engine.estimate(trial.spec_json) for trial in self.trials]

    @property
    def cost(self) -> str:
        """What all trials are estimated to cost, in words."""
        return estimate_text([estimate for estimate in self.estimates if estimate is not None])

    @property
    def extent(self) -> str:
        """How much there is to run, in words."""
        summary = self.summary
        trials = "1 trial" if summary["trials"] == 1 else f"{summary['trials']} trials"
        smallest = units.human_size(summary["data_size_min_bytes"])
        largest = units.human_size(summary["data_size_max_bytes"])
        sizes = smallest if smallest == largest else f"{smallest} to {largest}"
        return f"{trials}, {summary['ranks']} ranks on {summary['hosts']} hosts, data size {sizes}"


def load_plan(name: str, overrides: Iterable[str] = (), limits: Limits | None = None) -> LoadedPlan:
    """Load a plan and check everything that can be checked before it runs.

    Args:
        name: A shipped plan's name, or a file.
        overrides: Changes for this run, each FIELD=VALUE.
        limits: What a trial may be estimated to cost; anything by default.

    Raises:
        PlanError: With everything that is wrong with it, or with the first trial beyond a limit.
    """
    path, source = find_plan(name)
    overrides = tuple(overrides)
    document = apply_overrides(read_file(path, source), overrides)
    plan = validate(document)
    published = _published(plan, path, document)
    if limits is not None and limits.memory_bytes is not None:
        _check_memory(plan, document, limits.memory_bytes)
    _check_with_engine(plan, document)
    trials = expand(plan)
    warnings = tuple(_in_order(plan_warnings(plan, document)))
    loaded = LoadedPlan(plan, path, document.text, overrides, published, trials, warnings)
    beyond = [] if limits is None else list(problems_beyond(trials, loaded.estimates, limits, document))
    if beyond:
        raise PlanError(beyond)
    return loaded


def validate(document: Document) -> Plan:
    """Return the plan that a document describes.

    Raises:
        PlanError: With everything that is wrong with it, in the order of the file.
    """
    _check_version(document)
    try:
        plan = Plan.model_validate(document.data)
    except ValidationError as error:
        raise PlanError(_in_order(problems_of(error, document))) from error
    problems = _in_order(check_plan(plan, document))
    if problems:
        raise PlanError(problems)
    return plan


def _check_version(document: Document) -> None:
    """Check the version before anything else: of another version no other field is known."""
    found = document.value(("fabricbench",))
    if type(found) is int and found == PLAN_VERSION:
        return
    if "fabricbench" not in document.data:
        hint = f"begin the file with `fabricbench: {PLAN_VERSION}`"
        raise PlanError([document.problem(("fabricbench",), "nothing", f"{PLAN_VERSION}", hint)])
    shown = str(found) if isinstance(found, int | float | str) else kind_name(found)
    hint = "a newer fabricbench may know it" if type(found) is int and found > PLAN_VERSION else ""
    raise PlanError([document.problem(("fabricbench",), f"version {shown[:40]}", f"{PLAN_VERSION}", hint)])


def _published(plan: Plan, path: Path, document: Document) -> PublishedTable | None:
    """Read the published table that a plan names."""
    if plan.published is None:
        return None
    found = find_published(plan.published, path)
    if found is None:
        names = published_tables()
        allowed = f"a file next to the plan, or a shipped one: {', '.join(names)}"
        hint = close_match_hint(plan.published, names)
        raise PlanError([document.problem(("published",), f'no file "{plan.published}"', allowed, hint)])
    return read_published(found)


def _check_memory(plan: Plan, document: Document, memory_bytes: int) -> None:
    """Look at the first trial before the engine does, which makes its chunks to check them."""
    estimate = engine.estimate(json.dumps(first_spec(plan)))
    if estimate is not None and estimate["memory_bytes"] > memory_bytes:
        raise PlanError([memory_problem("a trial", estimate, memory_bytes, document)])


def _check_with_engine(plan: Plan, document: Document) -> None:
    """Let the engine check the first trial, so that what only it knows is also reported with its line."""
    spec_json = json.dumps(first_spec(plan))
    refusal = engine.check(spec_json)
    if refusal is not None:
        path = plan_path(refusal.field)
        raise PlanError([document.problem(path, refusal.found, refusal.allowed)])
    balancing = plan.fabric.load_balancing
    if isinstance(balancing, Pinned):
        problems = _in_order(pin_problems(balancing.pins, engine.describe(spec_json), document))
        if problems:
            raise PlanError(problems)


def plan_path(spec_field: str) -> FieldPath:
    """Return the plan's field for a field of the run spec, such as `jobs[0].hosts[3]`."""
    parts: list[str | int] = []
    for part in re.findall(r"\w+", spec_field):
        name = _UNIT_SUFFIX.sub("", part)
        parts.append(int(part) if part.isdecimal() else _NAMES_IN_SPEC.get(name, name))
    # A cable's delay and a message's size have other names in a plan.
    renamed = {"cable": "length", "message": "message_size", "data": "data_size"}
    path = tuple(renamed.get(part, part) if isinstance(part, str) else part for part in parts)
    return path[:-1] if path[-1:] == ("delay",) else path


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by line; those of overrides come last."""

    def key(problem: Problem) -> tuple[bool, int, int]:
        place = problem.place
        return (place.line is None, place.line or 0, place.column or 0)

    return sorted(problems, key=key)
