"""Suites: loads and runs plans for the tests that a document, such as an IETF draft, defines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from fabricbench.metrics import ALONE_RATIOS, BY_NAME, RATIOS
from fabricbench.plan.document.document import read_file
from fabricbench.plan.document.shipped import find_suite
from fabricbench.plan.document.validate import read_model
from fabricbench.plan.errors import FieldPath, FieldProblem, Place, PlanError, Problem
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Name, OneLine
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner.loading import entry_plan, entry_problems, load
from fabricbench.runner.trials import Outcome
from fabricbench.store import StoreError
from fabricbench.words import close_match_hint

TESTS_MAX = 1_000
_METRICS: Final = (*BY_NAME, *RATIOS, *ALONE_RATIOS)


class Kpi(PlanModel):
    """Name of a metric in the suite's document, and its reference value there."""

    metric: str = Field(min_length=1, max_length=100, description="A metric, by its name in docs/metrics.md.")
    name: OneLine = Field(max_length=100, description="Its name in the document.")
    reference: OneLine = Field(
        default="",
        max_length=200,
        description="An indicative value, in words: it stands beside the results and judges nothing.",
    )


class Category(PlanModel):
    """A category of tests."""

    name: Name = Field(description="Its name, as `--only` takes it.")
    title: OneLine = Field(max_length=200, description="Its title.")


class Test(PlanModel):
    """A test: a plan and the metrics and figures that are reported."""

    plan: str = Field(
        min_length=1, max_length=1_000, description="A shipped plan's name, or a file beside this one."
    )
    category: str = Field(description="The name of its category.")
    title: OneLine = Field(max_length=200, description="Its title, as the document has it.")
    primary: str = Field(description="The metric that the statement of repeatability is about.")
    kpis: list[str] = Field(default=[], description="Other metrics of the table, in their order.")
    names: dict[str, OneLine] = Field(
        default={}, description="What the document calls some of these metrics here, other than in `kpis`."
    )
    figures: list[str] = Field(default=[], description="Figures of the report, by name, such as `goodput`.")
    deviations: list[OneLine] = Field(
        default=[], description="How it differs from what the document asks for, each in a sentence."
    )
    changes: dict[str, Any] = Field(
        default={}, alias="set", description="Fields of the plan and what they are here."
    )

    @property
    def metrics(self) -> list[str]:
        """All metrics of its table, the primary one first."""
        return list(dict.fromkeys([self.primary, *self.kpis]))


class Omitted(PlanModel):
    """A test of the document that the suite does not run."""

    category: str = Field(description="The name of its category.")
    title: OneLine = Field(max_length=200, description="Its title, as the document has it.")
    reason: OneLine = Field(max_length=1_000, description="Why it is left out.")


class SuiteFile(PlanModel):
    """The tests of a document as plans, in the order in which they run and are reported."""

    suite: Literal[1] = Field(description="Version of the format: 1.")
    name: Name = Field(description="Name of the suite.")
    title: OneLine = Field(max_length=200, description="Title of the report.")
    document: OneLine = Field(default="", max_length=400, description="The document whose tests these are.")
    changes: dict[str, Any] = Field(
        default={},
        alias="set",
        description="Fields and what they are in every plan; a test's own come after.",
    )
    kpis: list[Kpi] = Field(default=[], description="What the document calls metrics.")
    categories: list[Category] = Field(min_length=1, max_length=100, description="The categories.")
    tests: list[Test] = Field(min_length=1, max_length=TESTS_MAX, description="The tests.")
    omitted: list[Omitted] = Field(default=[], description="What is not carried out, and why.")


@dataclass(frozen=True)
class SuiteTest:
    """A test that can run: its entry in the file, and its plan."""

    test: Test
    loaded: LoadedPlan


@dataclass(frozen=True)
class Suite:
    """A suite that can run.

    Attributes:
        file: The parsed file.
        tests: The chosen tests, in the order of the file.
        source: The text of the file.
    """

    file: SuiteFile
    tests: Sequence[SuiteTest]
    source: str


@dataclass(frozen=True)
class TestEnd:
    """Result of a test.

    Attributes:
        part: The test.
        outcome: Its trials; None if it failed.
        error: Its error, if it failed.
    """

    part: SuiteTest
    outcome: Outcome | None
    error: Exception | None = None


def load_suite(
    name: str,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    only: Sequence[str] = (),
    figures: Sequence[str] = (),
    *,
    quick: bool = False,
) -> Suite:
    """Load a suite with the plans of the chosen categories.

    Args:
        name: A shipped suite's name, or a file; paths of plans are relative to its folder.
        overrides: Changes to every plan, each FIELD=VALUE.
        limits: Limits on the cost of each trial; None for no limits.
        only: Names of the categories or plans to run; empty for all.
        figures: Names of the available figures.
        quick: Apply the `quick` changes of each plan first.

    Raises:
        PlanError: It cannot be read, or one of its plans cannot run within the limits.
    """
    path, source = find_suite(name)
    document = read_file(path, source)
    suite_file = read_model(document, SuiteFile)
    problems = document.problems(_check_names(suite_file, figures)) or list(_check_only(suite_file, only))
    if problems:
        raise PlanError(problems)
    tests: list[SuiteTest] = []
    for index, test in enumerate(suite_file.tests):
        if only and test.category not in only and test.plan not in only:
            continue
        fields = {**suite_file.changes, **test.changes}
        changes = [*(f"{field}={json.dumps(value)}" for field, value in fields.items()), *overrides]
        try:
            tests.append(SuiteTest(test, load(entry_plan(test.plan, path), changes, limits, quick=quick)))
        except PlanError as error:
            problems += entry_problems(error, document, ("tests", index, "plan"))
    if problems:
        raise PlanError(problems)
    return Suite(suite_file, tests, document.text)


def run_suite(suite: Suite, run: Callable[[SuiteTest, int], Outcome]) -> Iterator[TestEnd]:
    """Run the tests in sequence; a failed test does not end the suite, a stopped one does.

    Args:
        suite: The suite.
        run: Runs a test; its second argument is the number of the test, from 1.

    Yields:
        The result of each test when it has ended.

    Raises:
        StoreError: The workspace cannot be written.
    """
    for number, part in enumerate(suite.tests, 1):
        try:
            outcome = run(part, number)
        except (StoreError, OSError, MemoryError):
            raise  # the next test would fail in the same way
        except Exception as error:  # noqa: BLE001 -- reported as an anomaly, and by the exit status
            yield TestEnd(part, None, error)
            continue
        yield TestEnd(part, outcome)
        if outcome.stopped_by is not None:
            return


def _check_names(suite_file: SuiteFile, figures: Sequence[str]) -> Iterator[FieldProblem]:
    """Check that categories, metrics and figures exist, and that no plan is repeated."""
    names = [category.name for category in suite_file.categories]
    categories = [(("tests", index), test.category) for index, test in enumerate(suite_file.tests)]
    categories += [(("omitted", index), test.category) for index, test in enumerate(suite_file.omitted)]
    for path_to_entry, category in categories:
        if category not in names:
            yield _unknown_name((*path_to_entry, "category"), category, names)
    yield from (
        _unknown_name(("kpis", index, "metric"), kpi.metric, _METRICS)
        for index, kpi in enumerate(suite_file.kpis)
        if kpi.metric not in _METRICS
    )
    plans: set[str] = set()
    for index, test in enumerate(suite_file.tests):
        if test.plan in plans:
            hint = "a plan with variants, or a copy of it under another name, runs what differs"
            yield FieldProblem(("tests", index, "plan"), f'"{test.plan}" again', "each plan once", hint)
        plans.add(test.plan)
        named: list[tuple[FieldPath, str]] = [
            (("primary",), test.primary),
            *((("kpis", kpi_index), name) for kpi_index, name in enumerate(test.kpis)),
        ]
        for metric in test.names.keys() - set(test.metrics):
            yield _unknown_name(("tests", index, "names", metric), metric, test.metrics)
        for path, metric in named:
            if metric not in _METRICS:
                yield _unknown_name(("tests", index, *path), metric, _METRICS)
        for figure_index, figure in enumerate(test.figures):
            if figures and figure not in figures:
                yield _unknown_name(("tests", index, "figures", figure_index), figure, figures)


def _check_only(suite_file: SuiteFile, only: Sequence[str]) -> Iterator[Problem]:
    names = [
        *(category.name for category in suite_file.categories),
        *(test.plan for test in suite_file.tests),
    ]
    for choice in only:
        if choice not in names:
            allowed = ", ".join(category.name for category in suite_file.categories)
            hint = close_match_hint(choice, names)
            yield Problem(Place(f"--only {choice}"), "", "no such category", f"{allowed}, or a plan", hint)


def _unknown_name(path: FieldPath, name: str, names: Sequence[str]) -> FieldProblem:
    hint = close_match_hint(name, names)
    return FieldProblem(path, f'"{name}"', ", ".join(names), hint)
