"""The commands about trials that have run: `trials`, `show` and `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import FormatOption, TrialArgument, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, note, write

if TYPE_CHECKING:
    from fabricbench.report.trials import JobReport
    from fabricbench.store import Trial


def trials_command(
    workspace: WorkspaceOption = None,
    plan: Annotated[str | None, typer.Option(metavar="NAME", help="Only trials of this plan.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only trials with this tag.")] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the trials of a workspace, oldest first, unfinished ones included."""
    from fabricbench.report import formats, terminal
    from fabricbench.report.trials import stored_reports
    from fabricbench.store import Workspace

    store = Workspace.open(workspace)
    found = store.trials(plan=plan, tag=tag)
    jobs = [job for trial in found if trial.is_finished for job in stored_reports(trial)]
    if output is Format.JSON:
        write(formats.list_json(found, jobs))
    elif output is Format.CSV:
        write(formats.list_csv(found, jobs))
    elif found:
        write(terminal.trial_list(found, jobs, colour=has_colour()))
    else:
        note(f"no such trials in {store.root}" if plan or tag else f"no trials in {store.root}")


def show_command(
    trial: TrialArgument = "latest", workspace: WorkspaceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show every metric of a trial, and why it is slow if it is, computed from its record."""
    from fabricbench.report import formats, terminal
    from fabricbench.report.insight import insight
    from fabricbench.report.insight_text import insight_text
    from fabricbench.report.tenants import Solos
    from fabricbench.report.trials import measured_reports, reports_of_run
    from fabricbench.store import Workspace

    store = Workspace.open(workspace)
    found = store.find(trial)
    family = store.family(found)
    jobs = measured_reports(found, Solos(family))
    if output is Format.CSV:
        write(formats.trials_csv(jobs))
    elif output is Format.JSON:
        write(formats.shown_json(jobs, insight(found)))
    else:
        told = insight_text(insight(found), colour=has_colour())
        seeds = terminal.seeds_text(reports_of_run(family), colour=has_colour())
        parts = (terminal.trial_text(jobs, colour=has_colour()), seeds, told)
        write("\n\n".join(part for part in parts if part))


def compare_command(
    first: TrialArgument,
    second: TrialArgument,
    workspace: WorkspaceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare two trials, metric by metric: the ratio, and whether the second is better or worse."""
    from fabricbench.report import formats, terminal
    from fabricbench.report.trials import compared

    pairs = compared(*(_measured(trial) for trial in workspace_trials(workspace, first, second)))
    if not pairs:
        raise typer.BadParameter("the trials have no job in common")
    if output is Format.JSON:
        write(formats.comparison_json(pairs))
    elif output is Format.CSV:
        write(formats.comparison_csv(pairs))
    else:
        write("\n\n".join(terminal.comparison(pair, colour=has_colour()) for pair in pairs))


def workspace_trials(workspace: WorkspaceOption, *names: str) -> list[Trial]:
    """Return finished trials by name."""
    from fabricbench.store import Workspace

    store = Workspace.open(workspace)
    return [store.find(name) for name in names]


def _measured(trial: Trial) -> list[JobReport]:
    from fabricbench.report.trials import measured_reports

    return measured_reports(trial)
