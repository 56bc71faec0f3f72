"""Builds the page of a suite, with the sections of a BMWG benchmark report.

A suite runs the tests of a document, such as an IETF BMWG draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fabricbench import __version__
from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.repeatability import Repeated
from fabricbench.figures.registry import FIGURES
from fabricbench.figures.scales import time_text
from fabricbench.figures.trial_data import subject_of
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.observation_points import points_of, points_table
from fabricbench.report.documents.search import search_table
from fabricbench.report.documents.table import Cell, Column, Note, Row, Table, Tone
from fabricbench.report.documents.table_cells import axis_columns, size_column
from fabricbench.report.html.page_parts import Answer, Page, Part, PlotPart, Section, TextPart
from fabricbench.report.html.rendering import write_page
from fabricbench.report.output.atomic_files import check_writable_target
from fabricbench.report.studies.suite import (
    KpiName,
    SuiteReport,
    TestReport,
    anomalies_table,
    results_table,
    table_of_texts,
)
from fabricbench.report.studies.tested_fabric import (
    CONFIGURATION,
    buffer_text,
    each_once,
    link_facts,
    rate_control_text,
    topology_text,
    transport_text,
)
from fabricbench.results.axes import axis_names, axis_values
from fabricbench.results.studies.suite_metrics import KpiRow
from fabricbench.store import Trial
from fabricbench.words import counted
from fabricbench.work import pattern_of

_ROWS_MAX: Final = 500
_SETTINGS_MAX: Final = 4
_NOT_SIMULATED: Final = "none: the device under test is a model"
_TOPOLOGY: Final = "topology"
FIGURE_NAMES: Final = tuple(FIGURES)
"""The figures that a suite may request."""


def write_suite_report(report: SuiteReport, path: Path) -> int:
    """Write the report of a suite as one HTML file that opens offline.

    Args:
        report: The suite.
        path: The file; replaced if it exists, unchanged if anything fails.

    Returns:
        Size of the file [bytes].

    Raises:
        OutputFileError: The file cannot be written.
        StoreError: A table of a trial cannot be read.
    """
    check_writable_target(path)
    return write_page(suite_page(report), path)


def suite_page(report: SuiteReport) -> Page:
    """Build the page."""
    trials = report.trials
    return Page(
        name=report.name,
        title=report.title,
        verdict=f"{report.extent}. {report.document}".strip(),
        tone=_tone(report),
        focus=report.title,
        answers=_answers(report),
        sections=[
            Section("dut", "1 DUT identification", _dut(trials)),
            Section("topology", "2 Test topology", list(_topology(trials))),
            Section("configuration", "3 Test configuration", _configuration(report)),
            Section("hosts", "4 Host configuration", _hosts(report)),
            Section("results", "5 Test results", _results(report)),
            *_tests(report),
            Section("anomalies", "6 Anomalies", _anomalies(report)),
            Section("repeatability", "7 Repeatability statement", _repeatability(report)),
            Section(
                "suite", "The suite", [TextPart(report.source.rstrip(), "File of the suite", folded=True)]
            ),
        ],
        footer=f"fabricbench {__version__}",
    )


def _tone(report: SuiteReport) -> Tone:
    return "bad" if any(test.error or test.rejected for test in report.tests) else ""


def _answers(report: SuiteReport) -> list[Answer]:
    """Return the answers: number of tests and trials, anomalies, repeatability."""
    anomalies = list(report.anomalies())
    variations = [(test.cv_percent, test) for test in report.tests if test.cv_percent is not None]
    largest = max(variations, key=lambda variation: variation[0], default=None)
    categories = list(dict.fromkeys(test.category for test in report.tests))
    answers = [
        Answer("Tests", f"{len(report.tests)} of {report.planned}", ", ".join(categories), "", "results"),
        Answer("Trials", f"{report.trials_run:,}", f"by {_makers(report.trials)}", "", "hosts"),
        Answer(
            "Anomalies",
            str(len(anomalies)),
            f"in {counted(len({test.plan for test, _ in anomalies}), 'test')}"
            if anomalies
            else "nothing lost, nothing left",
            "",
            "anomalies",
        ),
    ]
    if largest is not None:
        about = f"largest coefficient of variation of a primary metric: {largest[1].title}"
        answers.append(Answer("Repeats within", f"{fixed(largest[0], 2)} %", about, "", "repeatability"))
    return answers


def _makers(trials: Sequence[Trial]) -> str:
    return ", ".join(
        dict.fromkeys(f"{trial.facts.backend}, results {trial.facts.backend_version}" for trial in trials)
    )


def _dut(trials: Sequence[Trial]) -> list[Part]:
    """Return the identity of the device under test; for a model, the modelled device."""
    if not trials:
        return [Note("No trial has finished.")]
    spec = trials[0].facts.run_spec
    fabric = spec["fabric"]
    switch = fabric["switch"]
    facts = [
        ("Switch vendor, model", _NOT_SIMULATED),
        ("Switch ASIC", _NOT_SIMULATED),
        ("NOS version", "none: there is no control plane"),
        ("Model", f"{_makers(trials)}, fabricbench {trials[0].facts.engine_version}"),
        ("Fabric", topology_text(fabric)),
        *((f"Port speed and cable delay, {name}", text) for name, text in link_facts(fabric)),
        ("Buffer architecture", buffer_text(spec)),
        ("Forwarding", f"{switch['forwarding']}, pipeline {time_text(switch['pipeline_latency_ps'])}"),
        ("Optics, cables", "delay alone; no transceivers and, unless a plan says so, no bit errors"),
        ("NIC vendor, model, firmware", _NOT_SIMULATED),
    ]
    note = "Of the first test; what other tests have in another way stands under Test configuration."
    return [_facts(facts), Note(note)]


def _facts(facts: Sequence[tuple[str, str]]) -> Table:
    columns = [Column("parameter", is_text=True), Column("value", is_text=True)]
    return Table(columns, [Row([Cell(name), Cell(value)]) for name, value in facts])


def _topology(trials: Sequence[Trial]) -> Iterator[Part]:
    """Return the map of each tested fabric, from the first trial that has it, and its description."""
    shown: dict[str, Trial] = {}
    for trial in trials:
        if not is_solo(trial.facts.variant):
            shown.setdefault(topology_text(trial.facts.run_spec["fabric"]), trial)
    for number, trial in enumerate(shown.values()):
        plot = FIGURES[_TOPOLOGY].draw(subject_of(trial, [trial]))
        if plot is not None:
            yield PlotPart(f"{_TOPOLOGY}-{number}", plot, half=number > 0)
    for text, trial in shown.items():
        links = "; ".join(f"{name} {value}" for name, value in link_facts(trial.facts.run_spec["fabric"]))
        yield Note(
            f"{text}{f'; {links}' if links else ''}. Shown: plan {trial.facts.plan}, trial {trial.id}."
        )


def _configuration(report: SuiteReport) -> list[Part]:
    """Return the switch settings of each test."""
    columns = [Column("test", is_text=True), *(Column(title, is_text=True) for title, _ in CONFIGURATION)]
    rows = []
    for test in report.tests:
        specs = [trial.facts.run_spec for trial in test.trials]
        settings = [each_once(specs, text) for _, text in CONFIGURATION]
        cells = [_settings_cell(texts) for texts in settings]
        rows.append(Row([Cell(test.title, href=f"#{test.anchor}"), *cells]))
    caption = "Where the variants or the swept values of a test differ, each configuration has a line."
    return [Table(columns, rows, caption)]


def _settings_cell(texts: Sequence[str]) -> Cell:
    """Format the different settings of a test, one per line, cut after the first `_SETTINGS_MAX`."""
    omitted = len(texts) - _SETTINGS_MAX
    omission = [f"and {counted(omitted, 'more way')}"] if omitted > 0 else []
    return Cell(texts[0], [*texts[1:_SETTINGS_MAX], *omission]) if texts else Cell("–")


def _hosts(report: SuiteReport) -> list[Part]:
    trials = report.trials
    if not trials:
        return [Note("No trial has finished.")]
    specs = [trial.facts.run_spec for trial in trials]
    first = specs[0]
    nic = first["fabric"]["nic"]
    seeds = sorted({trial.facts.run_spec["seed"] for trial in trials if trial.facts.iteration == 0})
    patterns = [pattern_of(job) for spec in specs for job in spec["jobs"]]
    algorithms = list(
        dict.fromkeys(f"{each['collective']} {each['algorithm']}" for each in patterns if each["algorithm"])
    )
    facts = [
        ("NIC", f"a model: latency {time_text(nic['latency_ps'])} on each side"),
        (
            "Rate control",
            "; ".join(dict.fromkeys(rate_control_text(spec).partition(":")[0] for spec in specs)),
        ),
        ("Collective library", "none: the plans give the schedules"),
        ("Algorithms, as run", ", ".join(algorithms)),
        ("Driver, operating system, BIOS", "none"),
        ("Traffic by", f"fabricbench {trials[0].facts.engine_version}, backend {_makers(trials)}"),
        ("Seed of the first iterations", ", ".join(map(str, seeds))),
        (
            "Machine that ran it",
            ", ".join(dict.fromkeys(str(trial.machine.get("system", "–")) for trial in trials)),
        ),
        *((f"Note {number}", text) for number, text in enumerate(report.notes, 1)),
    ]
    rows = [
        Row([test.title, transport_text([trial.facts.run_spec for trial in test.trials])])
        for test in report.tests
        if test.trials
    ]
    table = Table([Column("test", is_text=True), Column("transport", is_text=True)], rows)
    return [_facts(facts), table]


def _results(report: SuiteReport) -> list[Part]:
    """Return the list of tests with the range of their primary metrics and the indicative values."""
    return [results_table(report), _formulas(report)]


def _formulas(report: SuiteReport) -> Table:
    """Return each KPI of the tests by its name in the document, with its formula."""
    titles = ("KPI", "unit", "seen at", "metric", "formula")
    kpis = dict.fromkeys(kpi for test in report.tests for kpi in test.kpis)
    rows = [
        Row(
            [
                *map(Cell, (kpi.title, kpi.unit, str(kpi.declared.point))),
                Cell(kpi.metric, tone="muted"),
                kpi.formula,
            ]
        )
        for kpi in kpis
    ]
    caption = "The KPIs of the tests and their formulas, from the columns of the record."
    return Table([Column(title, is_text=True) for title in titles], rows, caption)


def _tests(report: SuiteReport) -> Iterator[Section]:
    for number, test in enumerate(report.tests, 1):
        parts: list[Part] = [*_plots(test)]
        parts += [Note(test.description)] if test.description else []
        parts += [Note(f"Failed: {test.error}")] if test.error else []
        parts += [search_table(test.plan, test.search_results, test.tried)] if test.search_results else []
        parts += _kpi_table(test) if test.rows else []
        parts += _points(test) if test.rows else []
        parts += [Note(f"Deviation from the procedure: {deviation}") for deviation in test.deviations]
        yield Section(
            test.anchor,
            f"5.{number} {test.title}",
            parts,
            f"{test.category} · {test.plan}",
            in_contents=False,
        )


def _plots(test: TestReport) -> Iterator[PlotPart]:
    """Draw the figures of a test: of its run, or of its last case in the first iteration."""
    if not test.rows:
        return
    last_trial = test.rows[-1].trial
    run = [trial for trial in test.trials if trial.facts.iteration == 0]
    half = len(test.figures) > 1
    for name in test.figures:
        figure = FIGURES[name]
        plot = figure.draw(subject_of(last_trial, run if figure.of_run else [last_trial]))
        if plot is not None:
            yield PlotPart(f"{test.plan}-{name}", plot, half)


def _points(test: TestReport) -> list[Part]:
    """Return the values from each class of observation point for one trial, side by side."""
    row = test.rows[-1]
    points = points_of(row.trial)
    if points is None:
        return [Note("Observation points are not known of what was measured elsewhere.")]
    return [points_table(points), Note(f"Of one trial: {row.label}, trial {row.trial.id}.")]


def _kpi_table(test: TestReport) -> list[Part]:
    """Return a row for each case: its parameters, and its metrics by their names in the document.

    A missing metric is shown as the number of its reason, which follows the table.
    """
    rows, kpis = test.rows[:_ROWS_MAX], test.shown
    reasons = _Reasons(test)
    trials = [row.trial for row in rows]
    names = axis_names(trials)
    has_variants = any(trial.facts.reference for trial in trials)
    has_jobs = len({row.first.summary.job for row in rows}) > 1
    columns = [Column("variant", is_text=True)] if has_variants else []
    columns += [Column("job", is_text=True)] if has_jobs else []
    columns += axis_columns(names)
    columns.append(size_column(trials))
    columns += [Column(kpi.title, kpi.seen) for kpi in kpis]
    case_columns = len(columns) - len(kpis)
    cells = []
    if any(kpi.reference for kpi in kpis):
        indicative: list[Cell | str] = [Cell("indicative", tone="muted"), *[""] * (case_columns - 1)]
        cells.append(Row([*indicative, *(Cell(kpi.reference, tone="muted") for kpi in kpis)]))
    for row, absent in zip(rows, test.absent, strict=False):
        case_cells = [Cell(row.trial.facts.variant)] if has_variants else []
        case_cells += [Cell(row.first.summary.job)] if has_jobs else []
        case_cells += [*map(Cell, axis_values(row.trial, names)), Cell(row.first.size)]
        cells.append(Row([*case_cells, *(_kpi_cell(row, kpi, reasons.mark(kpi, absent)) for kpi in kpis)]))
    notes = [Note(text) for text in reasons.texts()]
    return [Table(columns, cells, _caption(test)), *notes]


class _Reasons:
    """Numbered reasons why cases of a test have no value of a metric."""

    def __init__(self, test: TestReport) -> None:
        self._hidden = [kpi for kpi in test.kpis if kpi not in test.shown]
        self._why_hidden = test.absent[0]
        self._numbers: dict[tuple[str, str], int] = {}

    def mark(self, kpi: KpiName, absent: Mapping[str, str]) -> str:
        """Return the mark of the reason why a case lacks a metric; empty if it has it."""
        reason = absent.get(kpi.metric)
        if reason is None:
            return ""
        return f"[{self._numbers.setdefault((kpi.title, reason), len(self._numbers) + 1)}]"

    def texts(self) -> Iterator[str]:
        """Yield the reason of each mark, and why metrics without a column are missing."""
        for (title, reason), number in self._numbers.items():
            yield f"[{number}] No {title}: {reason}."
        for kpi in self._hidden:
            yield f"Not measured here: {kpi.title}: {self._why_hidden[kpi.metric]}."


def _kpi_cell(row: KpiRow, kpi: KpiName, mark: str) -> Cell:
    value = row.values[kpi.metric]
    if value is None:
        return Cell(f"– {mark}", tone="muted")
    tone: Tone = "bad" if value.mean and kpi.declared.is_trouble else "muted" if not value.mean else ""
    return Cell(kpi.text(value.mean), _span(value, kpi, len(row.jobs)), tone)


def _span(value: Repeated, kpi: KpiName, iterations: int) -> list[str]:
    """Format the range over several iterations, if they differ, and the number of values if incomplete."""
    ends = [kpi.text(end) for end in (value.least, value.most)]
    span = [f"{ends[0]} – {ends[1]}"] if ends[0] != ends[1] else []
    return [*span, *([f"{value.count} of {iterations} iterations"] if value.count < iterations else [])]


def _caption(test: TestReport) -> str:
    text = f"Means over {counted(test.iterations, 'iteration')}" if test.iterations > 1 else "One iteration"
    text += ", with the least and the most where they differ." if test.iterations > 1 else "."
    if len(test.rows) > _ROWS_MAX:
        text += f" Reduced: the first {_ROWS_MAX:,} of {len(test.rows):,} cases."
    return text


def _anomalies(report: SuiteReport) -> list[Part]:
    """Return anomalies, deviations from the procedures, and tests that were not run."""
    clean = Note("No test failed, every job is complete, nothing was lost.")
    parts: list[Part] = [anomalies_table(report) or clean]
    deviations = [(test, deviation) for test in report.tests for deviation in test.deviations]
    if deviations:
        caption = "Deviations from the procedures of the document."
        parts.append(table_of_texts(deviations, "deviation", caption))
    if report.omitted:
        titles = ("category", "test", "why")
        rows = [Row([omitted.category, omitted.title, omitted.reason]) for omitted in report.omitted]
        parts.append(Table([Column(title, is_text=True) for title in titles], rows, "Not carried out."))
    return parts


def _repeatability(report: SuiteReport) -> list[Part]:
    """Return iterations and coefficients of variation of primary metrics, with each test's worst case."""
    titles = ("test", "primary KPI", "worst case")
    columns = [Column(titles[0], is_text=True), Column(titles[1], is_text=True), Column("iterations")]
    columns += [
        Column("cases"),
        Column("median CV", "%"),
        Column("largest CV", "%"),
        Column(titles[2], is_text=True),
    ]
    rows = []
    for test in report.tests:
        variations = [
            (value.cv_percent, row) for row, value in test.repeated() if value.cv_percent is not None
        ]
        variations.sort(key=lambda variation: variation[0])
        median = variations[(len(variations) - 1) // 2][0] if variations else None
        worst = variations[-1] if variations else None
        rows.append(
            Row(
                [
                    Cell(test.title, href=f"#{test.anchor}"),
                    test.primary.title,
                    str(test.iterations),
                    str(len(test.rows)),
                    fixed(median, 2),
                    fixed(worst[0], 2) if worst else "-",
                    worst[1].label if worst else "",
                ]
            )
        )
    note = (
        "Iterations differ in their seed alone: in what the hash makes of their queue pairs, and in what is "
        "drawn at random. The same seed gives the same result to the bit. CV is the sample standard "
        "deviation over the mean; 5 % is what the document gives as typical of runs in a laboratory, and "
        "judges nothing."
    )
    return [Table(columns, rows), Note(note)]
