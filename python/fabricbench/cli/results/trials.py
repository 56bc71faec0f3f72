"""The commands `trials` (lists trials), `views` (lists saved lists of trials) and `views delete`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.options import FormatOption, WorkspaceOption
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.terminal.text_table import render
from fabricbench.report.terminal.trial import trial_list
from fabricbench.results.job_reports import ComparisonTrials, stored_reports
from fabricbench.store import StoreError, Workspace
from fabricbench.store.queries.listing import comparable_trials, filter_values, ordered
from fabricbench.store.queries.tags import tags_of
from fabricbench.store.queries.views import (
    delete_view,
    merged_parameters,
    query_of,
    save_view as keep,
    saved_views,
)
from fabricbench.words import close_match_hint


def trials_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
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
    descending: Annotated[
        bool | None, typer.Option("--descending/--ascending", help="The largest, or the smallest, first.")
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The job that --where and --sort look at; by default the worst."),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.views,
            help="The trials of a saved view; other options add to it, or change it for this once.",
        ),
    ] = None,
    save_view: Annotated[
        str | None, typer.Option(metavar="NAME", help="Keep this list as a view, for here and the web.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the trials of a workspace, oldest first, unfinished ones included.

    A plan that is neither shipped nor in the workspace is an error. Of several jobs --where and --sort take
    the one that fares worst by each metric; trials without a value come last, and no --where finds them.
    """
    store = Workspace.open(workspace)
    options = {"plan": plan, "tag": tag, "job": job, "sort": sort, "where": where}
    query = merged_parameters(store, view, options, descending=descending)
    trials = ordered(store, query_of(query))
    if plan is not None and not trials:
        _check_plan_name(store, plan)
    if save_view is not None:
        keep(store, save_view, query)
    finished = [trial for trial in trials if trial.is_finished]
    comparable = ComparisonTrials(comparable_trials(store, finished))
    jobs = [job for trial in finished for job in stored_reports(trial, comparable)]
    if output is not Format.TABLE:
        from fabricbench.report.output import json_csv

        is_json = output is Format.JSON
        write(
            json_csv.list_json(trials, jobs, tags_of(store, trials))
            if is_json
            else json_csv.list_csv(trials, jobs)
        )
    elif trials:
        write(trial_list(trials, jobs, tags_of(store, trials), colour=has_colour()))
    if not trials:
        note(f"no such trials in {store.root}" if query else f"no trials in {store.root}")
    _note_unreadable_rows(store)


def _note_unreadable_rows(store: Workspace) -> None:
    """Note the rows of the catalog that no list contains, since they are invalid."""
    rows = store.unreadable()
    for row in rows:
        note(f"set aside: {row.found}")
    if rows:
        note("hint: `fabricbench workspace repair` takes such rows out of the catalog; all others count")


def views_command(
    context: typer.Context, workspace: WorkspaceOption = None, output: FormatOption = Format.TABLE
) -> None:
    """List the saved views of a workspace: lists of trials under a name, made by `trials --save-view NAME`.

    `trials --view NAME` lists the trials of one; the web has the same views.
    """
    if context.invoked_subcommand is not None:
        return

    store = Workspace.open(workspace)
    views = saved_views(store)
    if output is Format.JSON:
        write(json.dumps([vars(view) for view in views], indent=2))
    elif output is Format.CSV:
        from fabricbench.report.output.json_csv import rows_csv

        rows = [{"name": view.name, "asked": str(view), "saved_at": view.saved_at} for view in views]
        write(rows_csv(["name", "asked", "saved_at"], rows))
    elif views:
        columns = [Column("view", is_text=True), Column("trials", is_text=True)]
        write(render(Table(columns, [Row([view.name, str(view)]) for view in views]), colour=has_colour()))
    else:
        note(f"no views in {store.root}\nhint: `fabricbench trials --save-view NAME` keeps a list")


def delete_view_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=completion.views, help="Name of the view.")
    ],
    workspace: WorkspaceOption = None,
) -> None:
    """Forget a saved view; its trials stay."""
    delete_view(Workspace.open(workspace), name)


def _check_plan_name(store: Workspace, plan: str) -> None:
    """Check that a plan is shipped or has trials in the workspace.

    Raises:
        StoreError: It is neither.
    """
    from fabricbench.plan.document.shipped import shipped_plans

    plan_names = dict.fromkeys([*filter_values(store)["plan"], *shipped_plans()])
    if plan not in plan_names:
        hint = close_match_hint(plan, plan_names) or "`fabricbench trials` lists all trials with their plans"
        raise StoreError(store.root, f'no trial of a plan "{plan}"', hint)
