"""The command `suite`: runs the tests that a document (such as an IETF draft) defines; reports by section."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.errors import NOT_MET, OUR_BUG, SIGNALLED, USER_ERROR, user_text
from fabricbench.cli.options import (
    DryRunOption,
    FailIncompleteOption,
    ForceOption,
    FormatOption,
    JobsOption,
    JUnitOption,
    OverridesOption,
    QuietOption,
    ResumeOption,
    TimeLimitOption,
    VerboseOption,
    WorkspaceOption,
    verbosity_of,
)
from fabricbench.cli.output import Format, Verbosity, has_colour, note, remark, write
from fabricbench.cli.progress import display
from fabricbench.plan.estimates.cost import duration
from fabricbench.report.output.atomic_files import atomic_file, check_page_name, check_writable_target
from fabricbench.report.output.junit import junit_xml
from fabricbench.runner import loading
from fabricbench.runner.loading import TIME_LIMIT_MIN
from fabricbench.runner.session import Session
from fabricbench.runner.suite import Suite, SuiteTest, TestEnd, load_suite, run_suite
from fabricbench.runner.trials import Outcome
from fabricbench.store import Workspace
from fabricbench.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricbench.report.studies.suite import KpiName, SuiteReport, TestReport


def suite_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A shipped suite's name (bmwg), or a file.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.html", help="Write the report; replaced if it exists."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CATEGORY", help="Only this category, or plan; may be given again."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Change each plan as its `quick` says, for a look within a minute."),
    ] = False,
    overrides: OverridesOption = None,
    resume: ResumeOption = False,
    dry_run: DryRunOption = False,
    jobs: JobsOption = None,
    workspace: WorkspaceOption = None,
    output: FormatOption = Format.TABLE,
    junit: JUnitOption = None,
    fail_incomplete: FailIncompleteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
) -> None:
    """Run the tests of a suite one after the other, and report them in the sections of its document.

    A suite is a file: tests with their plans, in the order of the document. A test that fails does not end
    the suite; the report has it among the anomalies.

    Exit status: 0 when every trial ran and met the criteria of its plan; 1 or 2 when a test failed, by our
    fault or by one that can be mended; 3 when a criterion is not met, or a
    trial is incomplete with --fail-incomplete; 130 when stopped by Ctrl-C; 143 by
    SIGTERM. Finished trials stay in any case, and --resume continues it.
    """
    from fabricbench.report.html.suite_page import FIGURE_NAMES

    verbosity = verbosity_of(quiet=quiet, verbose=verbose)
    if out is not None:
        check_page_name(out)
        check_writable_target(out)
    if junit is not None:
        check_writable_target(junit)
    limits = None if force else loading.machine_limits(time_limit)
    loaded = load_suite(suite, overrides or (), limits, only or (), FIGURE_NAMES, quick=quick)
    remark(f"{loaded.file.name}: {_extent(loaded)}")
    if dry_run:
        write(
            "\n".join(
                f"{suite_test.loaded.plan.name}: {suite_test.loaded.extent}" for suite_test in loaded.tests
            )
        )
        return
    store = Workspace.open(workspace, create=True)

    def run(part: SuiteTest, number: int) -> Outcome:
        remark(f"{number} of {len(loaded.tests)}: {part.test.title} ({part.loaded.plan.name})")
        return _run(store, part, jobs, verbosity, resume=resume)

    test_ends = []
    for end in run_suite(loaded, run):
        test_ends.append(end)
        if end.error is not None:
            note(f"failed: {end.part.loaded.plan.name}: {_error_text(end.error)}")
    stopped = next(
        (end.outcome.stopped_by for end in test_ends if end.outcome and end.outcome.stopped_by), None
    )
    report = _report(loaded, test_ends, quick=quick)
    write(_render(report, output))
    if out is not None:
        _write_report(report, out)
    if junit is not None:
        _write_junit(report, junit, fail_incomplete=fail_incomplete)
    if stopped is not None:
        note(
            f"interrupted: {counted(len(report.trials), 'trial')} finished and stay in {store.root}\n"
            "hint: the same command with --resume runs the rest"
        )
        raise typer.Exit(SIGNALLED + stopped)
    _exit(test_ends, report, fail_incomplete=fail_incomplete)


def _extent(suite: Suite) -> str:
    """Return the number of tests and trials, and their estimated time."""
    trials = sum(suite_test.loaded.trials_max for suite_test in suite.tests)
    cost_ms = sum(bounds["time_ms"] for suite_test in suite.tests for bounds in suite_test.loaded.bounds)
    tests = counted(len(suite.tests), "test")
    at_most = "up to " if any(suite_test.loaded.plan.search for suite_test in suite.tests) else ""
    return f"{tests}, {at_most}{counted(trials, 'trial')}, up to {duration(round(cost_ms))} of one core"


def _run(
    store: Workspace, part: SuiteTest, jobs: int | None, verbosity: Verbosity, *, resume: bool
) -> Outcome:
    with display(verbosity) as listener:
        return Session(store, listener, jobs=jobs).run(part.loaded, resume=resume)


def _error_text(error: Exception) -> str:
    """Return the error of a failed test in one line."""
    text = user_text(error) or f"{type(error).__name__}: {error}"
    return " ".join(text.removeprefix("error: ").split())


def _write_junit(report: SuiteReport, path: Path, *, fail_incomplete: bool) -> None:
    """Write the verdicts of the tests as JUnit XML."""
    searched = {test.plan for test in report.tests if test.search_results}
    judged = [test for test in report.tests if test.plan not in searched]
    jobs = [job for test in judged for row in test.rows for job in row.jobs]
    searches = {test.plan: test.search_results for test in report.tests if test.plan in searched}
    errors = {test.plan: test.error for test in report.tests if test.error}
    text = junit_xml(jobs, searches=searches, errors=errors, fail_incomplete=fail_incomplete)
    with atomic_file(path) as stream:
        stream.write(text.encode())


def _exit(ends: Sequence[TestEnd], report: SuiteReport, *, fail_incomplete: bool) -> None:
    errors = [end.error for end in ends if end.error is not None]
    if errors:
        raise typer.Exit(USER_ERROR if all(user_text(error) for error in errors) else OUR_BUG)
    nothing_holds = any(search.holds is None for test in report.tests for search in test.search_results)
    is_incomplete = fail_incomplete and any(test.incomplete for test in report.tests)
    if nothing_holds or is_incomplete or any(test.rejected for test in report.tests):
        raise typer.Exit(NOT_MET)


def _report(suite: Suite, ends: Sequence[TestEnd], *, quick: bool) -> SuiteReport:
    """Return the report of a suite, with the titles and names of its file."""
    from fabricbench.report.studies.suite import KpiName, OmittedTest, SuiteReport

    file = suite.file
    titles = {category.name: category.title for category in file.categories}
    names = {kpi.metric: KpiName(kpi.metric, kpi.name, kpi.reference) for kpi in file.kpis}
    notes = (
        ["plans were run in their quick form, a look in seconds: its figures are none of the suite"]
        if quick
        else []
    )
    return SuiteReport(
        name=file.name,
        title=file.title,
        document=file.document,
        tests=[_test_report(end, titles, names) for end in ends],
        planned=len(suite.tests),
        omitted=[OmittedTest(titles[test.category], test.title, test.reason) for test in file.omitted],
        notes=notes,
        source=suite.source,
    )


def _test_report(end: TestEnd, titles: dict[str, str], names: dict[str, KpiName]) -> TestReport:
    from fabricbench.report.studies.suite import KpiName, TestReport

    test, plan, outcome = end.part.test, end.part.loaded.plan, end.outcome
    trials = list(outcome.trials) if outcome else []
    searches = outcome.search_results if outcome else ()
    # Only the values that hold are results of a search; its other trials are in the workspace.
    result_trials = [trial for search in searches for trial in search.trials] if searches else trials
    kpis = {name: names.get(name) or KpiName(name, "") for name in test.metrics}
    kpis |= {name: replace(kpis[name], name=own_name) for name, own_name in test.names.items()}
    return TestReport(
        category=titles[test.category],
        title=test.title,
        plan=plan.name,
        description=plan.description,
        primary=kpis[test.primary],
        kpis=list(kpis.values()),
        figures=test.figures,
        deviations=test.deviations,
        trials=result_trials,
        planned=len(result_trials) if searches else len(end.part.loaded.trials),
        error=_error_text(end.error) if end.error else "",
        search_results=searches,
        tried=len(trials) if searches else 0,
    )


def _render(report: SuiteReport, output: Format) -> str:
    from fabricbench.report.studies.suite import suite_csv, suite_json, suite_text

    if output is Format.TABLE:
        return suite_text(report, colour=has_colour())
    return suite_json(report) if output is Format.JSON else suite_csv(report)


def _write_report(report: SuiteReport, out: Path) -> None:
    from fabricbench.report.html.suite_page import write_suite_report

    size_bytes = write_suite_report(report, out)
    note(f"wrote {out}: {counted(len(report.tests), 'test')}, {size_bytes / 1e6:.1f} MB")
