"""The command `run`: runs a plan in the simulator, on hosts or in a lab, and writes its results."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricbench.backend.protocol import Backend
from fabricbench.cli.errors import NOT_MET
from fabricbench.cli.options import (
    AuthorityOption,
    FailIncompleteOption,
    ForceOption,
    FormatOption,
    JUnitOption,
    OverridesOption,
    PlanArgument,
    QuickOption,
    QuietOption,
    ResumeOption,
    TimeLimitOption,
    VariantsOption,
    VerboseOption,
    WorkspaceOption,
    authority_folder,
    verbosity_of,
)
from fabricbench.cli.output import Format, has_colour, note, remark, warn, write
from fabricbench.cli.progress import LONG_MS, display
from fabricbench.plan.errors import named_as_written
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.criteria import verdict_line
from fabricbench.report.documents.search import search_table
from fabricbench.report.output.atomic_files import atomic_file, check_writable_target
from fabricbench.report.output.junit import junit_xml
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.text_table import render as table_text
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.runner import loading
from fabricbench.runner.limits import JOBS_MAX, THREADS_MAX
from fabricbench.runner.loading import TIME_LIMIT_MIN
from fabricbench.runner.session import Session
from fabricbench.runner.trials import Outcome
from fabricbench.searched import Searched
from fabricbench.store import Workspace
from fabricbench.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricbench.cli.testbed.lab_run import LabPlan


class EnginePath(StrEnum):
    """Code path of the engine for packets in a switch; the results are the same."""

    AUTO = "auto"
    EXACT = "exact"


def run_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plan: PlanArgument,
    overrides: OverridesOption = None,
    variants: VariantsOption = None,
    workspace: WorkspaceOption = None,
    output: FormatOption = Format.TABLE,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What carries the plan out; the plan's `backend` by default."),
    ] = None,
    quick: QuickOption = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of every random draw; the plan's by default.")
    ] = None,
    scale: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Divide every rate by N, as for a lab with slower links; the plan's `scale` by default.",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="PROFILE.yaml",
            help="Host profile that `calibrate` wrote; what the plan writes itself wins.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=THREADS_MAX,
            help="Worker threads; as many as help by default. The results do not depend on it.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=JOBS_MAX,
            metavar="N",
            help="Trials at once; as many as cores and memory allow by default, one on hosts. The results do "
            "not depend on it.",
        ),
    ] = None,
    tag: Annotated[str | None, typer.Option(help="A label to find the trials again.")] = None,
    resume: ResumeOption = False,
    twin: Annotated[
        bool,
        typer.Option(
            "--twin", help="Also predict each trial by the simulator, and set both beside each other."
        ),
    ] = False,
    path: Annotated[
        EnginePath, typer.Option(help="`exact` keeps to the slower reference path.")
    ] = EnginePath.AUTO,
    fast_forward: Annotated[
        bool,
        typer.Option(help="Skip what repeats, on one thread; the results do not depend on it."),
    ] = True,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts",
            metavar="HOSTS.yaml",
            help="File of the hosts that backend `hosts` runs on.",
        ),
    ] = None,
    authority: AuthorityOption = None,
    in_lab: Annotated[
        bool,
        typer.Option(
            "--lab",
            help="Build the plan's fabric out of network namespaces on this machine, and run on its hosts; "
            "one lab after the other where variants have fabrics of their own. `--scale` is 1000 by default, "
            "or as many times that as this machine needs to keep up.",
        ),
    ] = False,
    driver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What moves the data in the lab: `roce` (RoCEv2 over UDP sockets) by default, or `tcp`.",
        ),
    ] = None,
    junit: JUnitOption = None,
    fail_incomplete: FailIncompleteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
) -> None:
    """Run a plan and print what it measured.

    With `--twin` the simulator first predicts each trial, unless its prediction is in the workspace; then the
    backend carries it out, and both are printed size by size with the likely causes of the difference.

    Exit status: 0 when every trial ran and met the plan's criteria, an incomplete one included where there
    are none, since that is a result; 2 for an error in the plan or the workspace, or a trial that is beyond
    this machine; 3 when every trial ran and a criterion is not met, or a trial is incomplete with
    --fail-incomplete; 130 when stopped by Ctrl-C; 143 by
    SIGTERM. Finished trials stay in any case. The last line of standard error is the verdict: how many
    criteria are met, or which trial is not complete. Where that is no terminal, a long run writes its
    estimate first and how far it is each 30 seconds.
    """
    verbosity = verbosity_of(quiet=quiet, verbose=verbose)
    if junit is not None:
        check_writable_target(junit)
    _check_driver(driver, in_lab=in_lab)
    if in_lab:
        _check_lab(backend, hosts)
        backend = "hosts"
    limits = None if force else loading.machine_limits(time_limit)

    def load(scale: int | None) -> LoadedPlan:
        profile_path = str(profile.absolute()) if profile else None
        option_overrides = _as_overrides(
            tag=tag, backend=backend, seed=seed, scale=scale, profile=profile_path
        )
        with named_as_written(option_overrides):
            all_overrides = [*(overrides or ()), *option_overrides.values()]
            return loading.load(plan, all_overrides, limits, variants or (), quick=quick)

    loaded = load(scale or (_lab_scale(load(1)) if in_lab else None))
    warn(loaded)
    settings = _settings(path, fast_forward=fast_forward)
    authorities = {"hosts_authority": str(authority_folder(workspace, authority))}

    def carrier_of(one: LoadedPlan, host_settings: Mapping[str, Any]) -> Backend:
        backend_settings: dict[str, Any] = {**host_settings, **authorities} if host_settings else {}
        # With a twin, settings of the engine apply to the prediction only.
        carrier = loading.backend_of(one, backend_settings if twin else settings | backend_settings)
        for sentence in loading.notes_of(one, carrier):
            remark(f"note: {sentence}")
        return carrier

    hosts_setting = {} if hosts is None else {"hosts": str(hosts)}
    lab = _lab_plan(loaded, driver) if in_lab else None
    carrier = None if lab else carrier_of(loaded, hosts_setting)
    predicted = loading.twin_of(loaded, limits, variants or ()) if twin else None
    if predicted and lab:
        predicted = lab.lab_prediction(predicted)
    predictor = loading.backend_of(predicted, settings) if predicted else None
    store = Workspace.open(workspace, create=True)
    with display(verbosity) as listener:
        session = Session(store, listener, threads, jobs)

        def measure(one: LoadedPlan, host_settings: Mapping[str, Any], suite: str | None = None) -> Outcome:
            chosen_backend = carrier or carrier_of(one, host_settings)
            return session.run(one, chosen_backend, resume=resume, suite=suite)

        _note_cost(loaded)
        outcome = session.run(predicted, predictor, resume=True) if predicted and predictor else None
        if outcome is None or outcome.stopped_by is None:
            outcome = lab.measure(measure) if lab else measure(loaded, hosts_setting)
    if junit is not None:
        write_junit(junit, loaded.plan.name, outcome, fail_incomplete=fail_incomplete)
    _write_outcome(store, loaded.plan.name, outcome, output, twin=twin, fail_incomplete=fail_incomplete)


def _lab_scale(loaded: LoadedPlan) -> int:
    """Return the scale at which a plan fits into a lab on this machine."""
    from fabricbench.cli.testbed.lab_run import fitting_scale

    return fitting_scale(loaded)


def _lab_plan(loaded: LoadedPlan, driver: str | None) -> LabPlan:
    """Return the labs of a plan."""
    from fabricbench.cli.testbed.lab_run import lab_plan

    return lab_plan(loaded, driver)


def _note_cost(loaded: LoadedPlan) -> None:
    """Write the estimate of a long run where no terminal shows its progress."""
    if not sys.stderr.isatty() and sum(bound["time_ms"] for bound in loaded.bounds) >= LONG_MS:
        remark(loaded.cost)


def _write_outcome(
    store: Workspace, plan: str, outcome: Outcome, output: Format, *, twin: bool, fail_incomplete: bool
) -> None:
    """Write the results of a run, and exit with its status."""
    suite = store.suite(outcome.trials[-1]) if outcome.trials else []
    reports = reports_of_run(outcome.trials, suite)
    searches = outcome.search_results
    if twin and outcome.stopped_by is None:
        write(_twins(store, outcome, output))
    elif searches and output is Format.TABLE:
        write(table_text(search_table(plan, searches, len(outcome.trials)), colour=has_colour()))
    elif reports or output is not Format.TABLE:
        write(render(reports, output, searches))
    if outcome.stopped_by is not None:
        at_most = "at most " if searches else ""
        finished_text = (
            f"{len(outcome.trials)} of {at_most}{counted(outcome.count, 'trial')} finished and stay in "
        )
        finished_text += str(store.root)
        note(f"interrupted: {finished_text}\nhint: the same command with --resume runs the rest")
        raise typer.Exit(128 + outcome.stopped_by)
    if searches:  # a search is expected to try values that do not hold
        _end_search(searches)
    else:
        if verdict := verdict_line(reports):
            note(verdict)
        is_incomplete = not all(job.is_complete for job in reports)
        if any(job.is_rejected for job in reports) or (fail_incomplete and is_incomplete):
            raise typer.Exit(NOT_MET)


def write_junit(path: Path, plan: str, outcome: Outcome, *, fail_incomplete: bool) -> None:
    """Write the verdicts of a run as JUnit XML."""
    searches = {plan: outcome.search_results} if outcome.search_results else {}
    jobs = [] if searches else reports_of_run(outcome.trials)
    with atomic_file(path) as stream:
        stream.write(junit_xml(jobs, searches=searches, fail_incomplete=fail_incomplete).encode())


def _end_search(searches: Sequence[Searched]) -> None:
    without_value = [search for search in searches if search.holds is None]
    worst = (without_value or searches)[0]
    label_text = f" ({worst.label})" if worst.label else ""
    count = len(searches) - len(without_value)
    note(f"{worst.field} found in {count} of {counted(len(searches), 'case')}: {worst.text}{label_text}")
    if without_value:
        raise typer.Exit(NOT_MET)


def _check_lab(backend: str | None, hosts: Path | None) -> None:
    """Refuse options that contradict `--lab`."""
    if backend not in (None, "hosts") or hosts is not None:
        other = f"--backend {backend}" if hosts is None else f"--hosts {hosts}"
        raise typer.BadParameter(f"found {other} beside --lab, which has hosts of its own; leave one out")


def _check_driver(driver: str | None, *, in_lab: bool) -> None:
    """Refuse a driver that does not exist or cannot be used here, before anything is built."""
    if driver is None:
        return
    if not in_lab:
        raise typer.BadParameter(
            f"found --driver {driver} without --lab; a file of hosts names its driver: `driver: {driver}`"
        )
    from fabricbench.hosts.agent.data_plane import CoreDataPlane

    drivers = CoreDataPlane().drivers()
    if driver not in drivers:
        raise typer.BadParameter(f"found --driver {driver}; allowed: {', '.join(sorted(drivers))}")
    if obstacle := drivers[driver]:
        raise typer.BadParameter(f"driver {driver} cannot be used here: {obstacle}")


def _twins(store: Workspace, outcome: Outcome, output: Format) -> str:
    """Return the comparison of measured trials with their predictions, in a format."""
    from fabricbench.cli.results.compare import twins_written
    from fabricbench.report.documents.twins import twins_of

    return twins_written(twins_of(outcome.trials, store.twins(outcome.trials)), output)


def _settings(path: EnginePath, *, fast_forward: bool) -> dict[str, Any]:
    """Return the settings that differ from their defaults; a backend may not support them."""
    settings: dict[str, Any] = {} if path is EnginePath.AUTO else {"path": path.value}
    return settings if fast_forward else settings | {"fast_forward": False}


def _as_overrides(**options: str | int | None) -> dict[str, str]:
    """Return options that are fields of a plan as overrides, with texts quoted so that they stay texts."""
    import json

    json_values = {name: json.dumps(value) for name, value in options.items() if value is not None}
    return {f"--{name}": f"{name}={value}" for name, value in json_values.items()}


def render(jobs: list[JobReport], output: Format, searches: Sequence[Searched] = ()) -> str:
    """Return jobs in a format, in JSON with the results of their plan's search."""
    if output is Format.TABLE:
        return run_table(jobs, colour=has_colour())
    from fabricbench.report.output import json_csv

    return json_csv.trials_json(jobs, searches) if output is Format.JSON else json_csv.trials_csv(jobs)
