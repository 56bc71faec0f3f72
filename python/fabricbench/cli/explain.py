"""The command `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import ForceOption, FormatOption, TimeLimitOption, TrialArgument, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.runner.loading import TIME_LIMIT_MIN

if TYPE_CHECKING:
    from fabricbench.plan.cost import Limits
    from fabricbench.plan.loaded import LoadedPlan
    from fabricbench.report.explanation import Explanation, Tried
    from fabricbench.results.jobs import JobReport
    from fabricbench.runner.trials import Listener
    from fabricbench.store import Trial, Workspace


def explain_command(
    trial: TrialArgument = "latest",
    tries: Annotated[
        bool,
        typer.Option("--try", help="Run the most promising remedies, three at most, and show their gain."),
    ] = False,
    workspace: WorkspaceOption = None,
    time_limit: TimeLimitOption = TIME_LIMIT_MIN,
    force: ForceOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Explain why a trial is slow: the root causes with their share of the lost time, and what to do.

    With `--try` the remedies run in the simulator as trials of the same plan, size and seed, and are printed
    with their gain, the best first. They stay in the workspace, where `compare` finds them.

    Exit status: 0, 130 when stopped by Ctrl-C, 143 by SIGTERM; what finished before is printed.
    """
    from fabricbench.report.explanation import Explanation, explanation_json, explanation_text
    from fabricbench.report.insight import insight_of
    from fabricbench.results.jobs import Beside, current_reports
    from fabricbench.store import Workspace

    if output is Format.CSV:
        raise typer.BadParameter("found --format csv; allowed: table, json", param_hint="--format")
    store = Workspace.open(workspace)
    found = store.find(trial)
    if tries:
        _check_simulated(store, found)
    told = Explanation(found, current_reports(found, Beside()), insight_of(found))
    stopped_by: int | None = None
    if tries:
        told, stopped_by = _tried(store, told, None if force else time_limit)
    write(explanation_json(told) if output is Format.JSON else explanation_text(told, colour=has_colour()))
    if stopped_by is not None:
        note("interrupted\nhint: the same command goes on with the rest")
        raise typer.Exit(128 + stopped_by)


def _check_simulated(store: Workspace, trial: Trial) -> None:
    """Refuse to try remedies on what was measured: a gain over it would be that of the simulator as well."""
    from fabricbench.plan.engine import SIMULATOR

    if trial.facts.backend == SIMULATOR:
        return
    twins = [each.id for each in store.twins([trial]) if each.facts.backend == SIMULATOR]
    if trial.is_printed:
        how = "`run PLAN` of the same fabric, and explain that"
    elif twins:
        how = f"`explain {twins[0]} --try` does so with its prediction"
    else:
        how = "`run PLAN --backend NAME --twin` predicts it, and `explain` takes the prediction"
    made = "was measured elsewhere" if trial.is_printed else f"was made by backend {trial.facts.backend}"
    raise typer.BadParameter(
        f"trial {trial.id} {made}, and remedies are tried in the simulator, whose times do not compare with "
        f"it; {how}"
    )


def _tried(store: Workspace, told: Explanation, time_limit: int | None) -> tuple[Explanation, int | None]:
    """Run the most promising remedies; also return the signal that ended it early."""
    from fabricbench.cli.progress import display
    from fabricbench.report.explanation import best_first
    from fabricbench.runner import loading

    limits = None if time_limit is None else loading.machine_limits(time_limit)
    tried: list[Tried] = []
    stopped_by: int | None = None
    with display() as listener:
        for one, loaded in _loaded(told, limits):
            if loaded is None:
                tried.append(one)
                continue
            jobs, stopped_by = _run(store, loaded, listener)
            tried += [replace(one, jobs=jobs)] if jobs else []
            if stopped_by is not None:
                break
    return replace(told, tried=best_first(tried, told.unhealthy)), stopped_by


def _loaded(told: Explanation, limits: Limits | None) -> Iterator[tuple[Tried, LoadedPlan | None]]:
    """Yield each remedy to try with the plan that it makes; none where that cannot be run."""
    from fabricbench.plan.errors import PlanError
    from fabricbench.report.insight import record_of

    plan = record_of(told.trial).plan
    if plan is None:
        return
    for one in told.to_try():
        try:
            yield one, plan.load(one.remedy.changes, limits)
        except PlanError as error:
            problem = error.problems[0]
            yield replace(one, refused=f"{problem.found}; allowed: {problem.allowed}"), None


def _run(store: Workspace, loaded: LoadedPlan, listener: Listener) -> tuple[list[JobReport], int | None]:
    """Run a plan; return the jobs of its trial if it finished, and the signal that stopped it if one did."""
    from fabricbench.results.jobs import reports_of_run, result_rows
    from fabricbench.runner import loading
    from fabricbench.runner.trials import Runner

    backend = loading.backend_of(loaded)
    outcome = Runner(store, backend, result_rows, listener, resume=True).run(loaded)
    return reports_of_run(outcome.trials), outcome.stopped_by
