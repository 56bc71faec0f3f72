"""The commands about trials that have run: `trials` and `show`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import FormatOption, TrialArgument, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, note, write

if TYPE_CHECKING:
    from fabricbench.store import Trial, Workspace
    from fabricbench.store.listing import TrialQuery


def trials_command(
    workspace: WorkspaceOption = None,
    plan: Annotated[str | None, typer.Option(metavar="NAME", help="Only trials of this plan.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only trials with this tag.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC<NUMBER", help="Only such trials; also <=, > and >=; may be given again."
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Order by a metric or column, the smallest first.")
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="The largest first.")] = False,
    job: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The job that --where and --sort look at; by default the worst."),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the trials of a workspace, oldest first, unfinished ones included.

    A plan that is neither shipped nor in the workspace is an error. Of several jobs --where and --sort take
    the one that fares worst by each metric; trials without a value come last, and no --where finds them.
    """
    from fabricbench.results.jobs import Beside, stored_reports
    from fabricbench.store import Workspace
    from fabricbench.store.listing import TrialQuery, beside
    from fabricbench.store.tags import tags_of

    store = Workspace.open(workspace)
    found = _found(store, TrialQuery(plan=plan, tag=tag, job=job, descending=descending), where, sort)
    if plan is not None and not found:
        _check_plan_name(store, plan)
    finished = [trial for trial in found if trial.is_finished]
    others = Beside(beside(store, finished))
    jobs = [job for trial in finished for job in stored_reports(trial, others)]
    if output is not Format.TABLE:
        from fabricbench.report import formats

        is_json = output is Format.JSON
        write(
            formats.list_json(found, jobs, tags_of(store, found))
            if is_json
            else formats.list_csv(found, jobs)
        )
    elif found:
        from fabricbench.report import terminal

        write(terminal.trial_list(found, jobs, tags_of(store, found), colour=has_colour()))
    if not found:
        note(f"no such trials in {store.root}" if plan or tag or where else f"no trials in {store.root}")
    _tell_set_aside(store)


def _found(store: Workspace, query: TrialQuery, where: list[str] | None, sort: str | None) -> list[Trial]:
    """Return the trials of a list: in the order of their attempts unless another is wanted.

    Raises:
        ThresholdError: A threshold cannot be read, or nothing has that name.
    """
    from fabricbench.store.listing import Threshold, ordered

    limits = [Threshold.read(text) for text in where or ()]
    return ordered(store, replace(query, where=limits, sort=sort or "attempt"))


def _tell_set_aside(store: Workspace) -> None:
    """Name the rows of the catalog that are left out of every list, since they cannot be what they say."""
    rows = store.unreadable()
    for row in rows:
        note(f"set aside: {row.found}")
    if rows:
        note("hint: `fabricbench workspace repair` takes such rows out of the catalog; all others count")


def _check_plan_name(store: Workspace, plan: str) -> None:
    """Check that a plan is one that is shipped or of which there are trials.

    Raises:
        StoreError: It is neither.
    """
    from fabricbench.plan.document.shipped import shipped_plans
    from fabricbench.store import StoreError
    from fabricbench.store.listing import choices
    from fabricbench.words import close_match_hint

    known = dict.fromkeys([*choices(store)["plan"], *shipped_plans()])
    if plan not in known:
        hint = close_match_hint(plan, known) or "`fabricbench trials` lists all trials with their plans"
        raise StoreError(store.root, f'no trial of a plan "{plan}"', hint)


def show_command(
    trial: TrialArgument = "latest", workspace: WorkspaceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show every metric of a trial, and why it is slow if it is, computed from its record."""
    from fabricbench.report import formats, terminal
    from fabricbench.report.insight import insight_of
    from fabricbench.report.insight_text import insight_text
    from fabricbench.results.jobs import Beside, current_reports, reports_of_run
    from fabricbench.store import Workspace
    from fabricbench.store.tags import tags_of

    store = Workspace.open(workspace)
    found = store.find(trial)
    tags = tags_of(store, [found])[found.id]
    family = store.family(found)
    jobs = current_reports(found, Beside(family))
    if output is Format.CSV:
        write(formats.trials_csv(jobs))
        return
    known = insight_of(found)
    if output is Format.JSON:
        write(formats.shown_json(jobs, known, tags))
    elif known is None:
        write(terminal.trial_text(jobs, tags, colour=has_colour()))
    else:
        told = insight_text(known, colour=has_colour())
        seeds = terminal.seeds_text(reports_of_run(family), colour=has_colour())
        parts = (terminal.trial_text(jobs, tags, colour=has_colour()), seeds, told)
        write("\n\n".join(part for part in parts if part))
