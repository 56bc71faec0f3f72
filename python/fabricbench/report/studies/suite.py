"""Collects the results of a suite: metrics of its tests, anomalies, repeatability; as text, JSON and CSV.

A suite runs the tests of a document, such as an IETF BMWG draft.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from fabricbench.analysis.comparison.repeatability import Repeated
from fabricbench.metrics import ALONE_RATIOS, BY_NAME, RATIOS, Metric
from fabricbench.report.documents.criteria import judgement_text
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.studies.missing_values import absences
from fabricbench.report.terminal.text_table import joined
from fabricbench.results.studies.suite_metrics import KpiRow, kpi_rows
from fabricbench.searched import Searched
from fabricbench.store import Trial
from fabricbench.words import counted

_RATIOS: Final[Mapping[str, Metric]] = {**RATIOS, **ALONE_RATIOS}
_SHOWN: Final = 5
"""Maximum named cases of one anomaly."""


@dataclass(frozen=True)
class KpiName:
    """A metric with its name in the suite's document.

    Attributes:
        metric: Its name in the registry of metrics, or that of a ratio.
        name: Its name in the document; that of the registry if empty.
        reference: An indicative value of the document, as text; empty if there is none.
    """

    metric: str
    name: str
    reference: str = ""

    @property
    def declared(self) -> Metric:
        """The metric, or the metric of which it is a ratio."""
        return BY_NAME.get(self.metric) or _RATIOS[self.metric]

    @property
    def title(self) -> str:
        """Its title."""
        if self.name or self.metric not in _RATIOS:
            return self.name or self.declared.title
        return f"{self.declared.title}, {'alone' if self.metric in ALONE_RATIOS else 'reference'} = 1"

    @property
    def unit(self) -> str:
        """Its unit; empty for a pure number."""
        return "" if self.metric in _RATIOS else self.declared.unit

    @property
    def formula(self) -> str:
        """Its formula from fields of the record, or that of the ratio."""
        if self.metric in ALONE_RATIOS:
            return f"{self.declared.name} of the job beside others / the same of the job alone"
        if self.metric in RATIOS:
            return f"{self.declared.name} / the same of the reference variant"
        return self.declared.formula

    @property
    def seen(self) -> str:
        """Its unit, if any, and its observation point."""
        return ", ".join(part for part in (self.unit, f"at {self.declared.point}") if part)

    @property
    def full_title(self) -> str:
        """Its title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def text(self, value: float | None) -> str:
        """Format a value."""
        if value is None:
            return "–"
        if self.metric in _RATIOS:
            return f"{value:.4g}"
        return metric_text(self.declared, round(value) if self.declared.is_count else value)


@dataclass(frozen=True)
class TestReport:
    """Results of a test.

    Attributes:
        category: Title of its category.
        title: Its title.
        plan: Name of its plan.
        description: Description from the plan.
        primary: The metric for repeatability.
        kpis: All metrics of its table.
        figures: Names of its figures.
        deviations: Differences from the document's procedure.
        trials: Its finished trials.
        planned: Number of trials of its plan.
        error: Why it failed; empty if it did not.
        search_results: Results of its plan's search; `trials` are then those at the values that pass.
        tried: Number of trials that the search ran.
    """

    category: str
    title: str
    plan: str
    description: str
    primary: KpiName
    kpis: Sequence[KpiName]
    figures: Sequence[str]
    deviations: Sequence[str]
    trials: Sequence[Trial]
    planned: int
    error: str = ""
    search_results: Sequence[Searched] = ()
    tried: int = 0

    @property
    def anchor(self) -> str:
        """Anchor of its section in the page."""
        return f"test-{self.plan}"

    @cached_property
    def rows(self) -> list[KpiRow]:
        """Its cases."""
        return kpi_rows(self.trials, [kpi.metric for kpi in self.kpis])

    @cached_property
    def absent(self) -> list[Mapping[str, str]]:
        """Reasons for missing values of each case, by metric name."""
        return absences(self.rows)

    @property
    def shown(self) -> list[KpiName]:
        """The metrics with a value in at least one case."""
        return [kpi for kpi in self.kpis if any(row.values[kpi.metric] for row in self.rows)]

    @property
    def incomplete(self) -> int:
        """Number of jobs that are not complete."""
        return sum(row.incomplete for row in self.rows)

    @property
    def rejected(self) -> list[tuple[KpiRow, str]]:
        """Each criterion of the plan that is not met, with its case."""
        return [
            (row, judgement_text(judgement))
            for row in self.rows
            for job in row.jobs
            for judgement in job.judgements
            if not judgement.passed
        ]

    @property
    def state(self) -> str:
        """Its status, in a word or two."""
        if self.error:
            return "failed"
        if any(case.holds is None for case in self.search_results):
            return "no value holds"
        if len(self.trials) < self.planned:
            return f"{len(self.trials)} of {self.planned} trials"
        if self.rejected:
            return "criteria not met"
        return f"{counted(self.incomplete, 'job')} incomplete" if self.incomplete else "complete"

    def repeated(self) -> list[tuple[KpiRow, Repeated]]:
        """Return the primary metric of each case that has it."""
        cases = [(row, row.values.get(self.primary.metric)) for row in self.rows]
        return [(row, value) for row, value in cases if value is not None]

    @property
    def iterations(self) -> int:
        """Largest number of iterations of a case."""
        return max((len(row.jobs) for row in self.rows), default=0)

    @property
    def cv_percent(self) -> float | None:
        """The largest coefficient of variation of the primary metric [%], or `None` without repetitions."""
        percentages = [value.cv_percent for _, value in self.repeated() if value.cv_percent is not None]
        return max(percentages, default=None)


@dataclass(frozen=True)
class OmittedTest:
    """A test of the document that was not run."""

    category: str
    title: str
    reason: str


@dataclass(frozen=True)
class SuiteReport:
    """Results of a suite.

    Attributes:
        name: Its name.
        title: Its title.
        document: The document that defines the tests.
        tests: The started tests.
        planned: Number of tests to run.
        omitted: Tests that it does not run.
        notes: Additional notes, such as that plans were run in their quick form.
        source: The file of the suite.
    """

    name: str
    title: str
    document: str
    tests: Sequence[TestReport]
    planned: int
    omitted: Sequence[OmittedTest] = ()
    notes: Sequence[str] = ()
    source: str = field(default="", repr=False)

    @property
    def trials(self) -> list[Trial]:
        """All finished trials, in the order of the tests."""
        return [trial for test in self.tests for trial in test.trials]

    @property
    def trials_run(self) -> int:
        """Number of trials that were run, including those of searches."""
        return sum(test.tried or len(test.trials) for test in self.tests)

    @property
    def extent(self) -> str:
        """Summary of the number of tests and trials."""
        ran = f"{len(self.tests)} of {counted(self.planned, 'test')}"
        failed = sum(bool(test.error) for test in self.tests)
        rejected = sum(bool(test.rejected) for test in self.tests)
        parts = [f"{counted(self.planned, 'test') if len(self.tests) == self.planned else ran}"]
        parts.append(counted(self.trials_run, "trial"))
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{rejected} with criteria not met"] if rejected else []
        return ", ".join(parts)

    def anomalies(self) -> Iterator[tuple[TestReport, str]]:
        """Yield the anomalies of each test: failures, incomplete jobs, losses, criteria."""
        for test in self.tests:
            if test.error:
                yield test, f"failed: {test.error}"
            elif len(test.trials) < test.planned:
                yield test, f"{test.planned - len(test.trials)} of {test.planned} trials did not run"
            yield from (
                (test, f"{case.label}: {case.text}") for case in test.search_results if case.holds is None
            )
            yield from ((test, text) for text in _incomplete(test))
            yield from ((test, text) for text in _lost(test))
            for row, text in test.rejected[:_SHOWN]:
                yield test, f"criterion of the plan, {row.label}: {text}"
            if len(test.rejected) > _SHOWN:
                yield test, f"and {len(test.rejected) - _SHOWN} more criteria that are not met"


def _incomplete(test: TestReport) -> Iterator[str]:
    broken = [row for row in test.rows if row.incomplete]
    for row in broken[:_SHOWN]:
        job = next(job for job in row.jobs if job.summary.status != "complete")
        of = f"{row.incomplete} of {len(row.jobs)} iterations " if len(row.jobs) > 1 else ""
        yield f"{row.label}: {of}{job.summary.status}: {job.summary.reason}"
    if len(broken) > _SHOWN:
        yield f"and {len(broken) - _SHOWN} more cases with jobs that are not complete"


def _lost(test: TestReport) -> Iterator[str]:
    """Yield the lost frames by cause; losses are counted per trial, for all its jobs."""
    causes: dict[str, int] = {}
    for trial in test.trials:
        for cause, count in (trial.summary or {}).get("frames_lost", {}).items():
            causes[cause] = causes.get(cause, 0) + count
    loss_texts = [f"{count:,} by {cause.replace('_', ' ')}" for cause, count in causes.items() if count]
    if loss_texts:
        trials = sum(any((trial.summary or {}).get("frames_lost", {}).values()) for trial in test.trials)
        yield f"frames lost in {trials} of {counted(len(test.trials), 'trial')}: {', '.join(loss_texts)}"


def results_table(report: SuiteReport) -> Table:
    """Return one line for each test: the range of its primary metric, and its repeatability."""
    columns = [
        Column("test", is_text=True),
        Column("plan", is_text=True),
        Column("trials"),
        Column("primary KPI", is_text=True),
        Column("least"),
        Column("most"),
        Column("CV", "%"),
        Column("ended", is_text=True),
    ]
    caption = (
        "Least and most over the cases of a test. CV is the largest coefficient of variation of the primary "
        "KPI. Indicative values are the document's own, as context: they judge nothing."
    )
    return Table(columns, [_line(test) for test in report.tests], caption)


def _line(test: TestReport) -> Row:
    means = [value.mean for _, value in test.repeated()]
    kpi = test.primary
    ends = [kpi.text(mean) for mean in (min(means), max(means))] if means else ["-", "-"]
    cells: list[Cell | str] = [
        _test_cell(test, [test.category]),
        Cell(test.plan, tone="muted"),
        str(test.tried or len(test.trials)),
        Cell(kpi.full_title, [f"indicative: {kpi.reference}"] if kpi.reference else []),
        *ends,
        fixed(test.cv_percent, 2),
        test.state,
    ]
    return Row(cells, "bad" if test.error or test.rejected else "")


def anomalies_table(report: SuiteReport) -> Table | None:
    """Return the anomalies of each test, or `None` without any."""
    anomalies = list(report.anomalies())
    if not anomalies:
        return None
    caption = "Failures, jobs that are not complete, frames lost, criteria of plans that are not met."
    return table_of_texts(anomalies, "what", caption, f"anomalies: {len(anomalies)}")


def table_of_texts(
    texts: Sequence[tuple[TestReport, str]], column: str, caption: str = "", title: str = ""
) -> Table:
    """Return a table of texts about tests."""
    columns = [Column(name, is_text=True) for name in ("test", "plan", column)]
    rows = [Row([_test_cell(test), Cell(test.plan, tone="muted"), text]) for test, text in texts]
    return Table(columns, rows, caption, title)


def _test_cell(test: TestReport, below: Sequence[str] = ()) -> Cell:
    return Cell(test.title, below, href=f"#{test.anchor}")


def suite_text(report: SuiteReport, *, colour: bool) -> str:
    """Format the results of the tests, and the anomalies."""
    head = f"{report.title}: {report.extent}\n"
    return head + joined([results_table(report), anomalies_table(report)], colour=colour)


def suite_json(report: SuiteReport) -> str:
    """Return all results of a suite as JSON."""
    tests = [
        {
            "category": test.category,
            "title": test.title,
            "plan": test.plan,
            "state": test.state,
            "error": test.error or None,
            "primary": test.primary.metric,
            "iterations": test.iterations,
            "cv_percent": test.cv_percent,
            "deviations": list(test.deviations),
            "search": [case.content for case in test.search_results],
            "kpis": [
                {
                    "metric": kpi.metric,
                    "name": kpi.title,
                    "unit": kpi.unit,
                    "point": str(kpi.declared.point),
                    "formula": kpi.formula,
                    "reference": kpi.reference or None,
                }
                for kpi in test.kpis
            ],
            "results": [
                _case(row)
                | {
                    "kpis": {
                        name: vars(repeated) if repeated else None for name, repeated in row.values.items()
                    },
                    "absent": absent,
                }
                for row, absent in zip(test.rows, test.absent, strict=True)
            ],
        }
        for test in report.tests
    ]
    content: dict[str, Any] = {
        "suite": report.name,
        "title": report.title,
        "document": report.document,
        "planned": report.planned,
        "tests": tests,
        "omitted": [vars(omitted_test) for omitted_test in report.omitted],
        "anomalies": [{"plan": test.plan, "text": text} for test, text in report.anomalies()],
        "notes": list(report.notes),
    }
    return json.dumps(content, indent=2)


def _case(row: KpiRow) -> dict[str, Any]:
    facts, summary = row.trial.facts, row.first.summary
    return {
        "variant": facts.variant,
        "job": summary.job,
        "data_size_bytes": summary.data_size_bytes,
        "axes": dict(facts.axes),
        "trials": [job.trial.id for job in row.jobs],
        "incomplete": row.incomplete,
    }


def suite_csv(report: SuiteReport) -> str:
    """Return a CSV row for each metric of each case."""
    rows = [
        {
            "category": test.category,
            "test": test.title,
            "plan": test.plan,
            "variant": row.trial.facts.variant,
            "job": row.first.summary.job,
            "data_size_bytes": row.first.summary.data_size_bytes,
            "axes": row.first.axes,
            "metric": kpi.metric,
            "name": kpi.title,
            "unit": kpi.unit,
            "iterations": repeated.count if repeated else 0,
            **{name: getattr(repeated, name, None) for name in ("mean", "least", "most", "cv_percent")},
            "is_primary": kpi == test.primary,
            "absent": absent.get(kpi.metric, ""),
        }
        for test in report.tests
        for row, absent in zip(test.rows, test.absent, strict=True)
        for kpi in test.kpis
        for repeated in [row.values[kpi.metric]]
    ]
    return rows_csv(_CSV, rows)


_CSV: Final = (
    "category",
    "test",
    "plan",
    "variant",
    "job",
    "data_size_bytes",
    "axes",
    "metric",
    "name",
    "unit",
    "iterations",
    "mean",
    "least",
    "most",
    "cv_percent",
    "is_primary",
    "absent",
)
