"""The commands about a whole workspace: `workspace check`, `repair`, `export`, `import` and `purge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli import completion
from fabricbench.cli.errors import USER_ERROR
from fabricbench.cli.options import WorkspaceOption
from fabricbench.cli.output import note, write
from fabricbench.report.output.atomic_files import atomic_file
from fabricbench.store import Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.catalog.schema import FINISHED
from fabricbench.store.inspection import damages, quarantine, take_out, without_digest
from fabricbench.store.trash import purge
from fabricbench.words import counted


def check_command(workspace: WorkspaceOption = None) -> None:
    """Read every record; list the damaged ones, and those of earlier versions without digests.

    Exit status: 0 when all can be read, 2 when something is damaged.
    """
    store = Workspace.open(workspace)
    rows, damaged = store.unreadable(), list(damages(store))
    for row in rows:
        write(row.found)
    for damage in damaged:
        write(f"{damage.trial_id}: {damage.found}")
    for trial_id in without_digest(store):
        write(f"{trial_id}: no digest, since an earlier version wrote it; only its pages could be checked")
    if damaged or rows:
        counts = [counted(len(damaged), "damaged record")] if damaged else []
        counts += [f"{counted(len(rows), 'row')} of the catalog that cannot be read"] if rows else []
        note(
            f"error: {store.root}: {' and '.join(counts)}\n"
            "hint: `fabricbench workspace repair` puts them aside; their plans run again with --resume"
        )
        raise typer.Exit(USER_ERROR)
    note(f"{counted(len(store.trials(states=FINISHED)), 'record')} in {store.root}, all can be read")


def repair_command(workspace: WorkspaceOption = None) -> None:
    """Put damaged records and rows aside, in the folder `damaged` of the workspace; nothing is removed."""
    store = Workspace.open(workspace)
    rows = store.unreadable()
    for row in rows:
        write(f"{row.found}; moved to {take_out(store, row)}")
    damaged = list(damages(store))
    for damage in damaged:
        new_path = quarantine(store, damage)
        outcome = f"moved to {new_path}" if new_path else "nothing was left of it"
        write(f"{damage.trial_id}: {damage.found}; {outcome}")
    counts = [f"{counted(len(damaged), 'record')} put aside"] if damaged else []
    counts += [f"{counted(len(rows), 'row')} taken out of the catalog"] if rows else []
    note(", ".join(counts) or "nothing is damaged")


def export_command(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE.tar", help="The file to write; replaced if it exists."),
    ],
    trial: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRIAL",
            autocompletion=completion.trials,
            help="Which trials; all by default.",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[str | None, typer.Option(metavar="NAME", help="Only trials of this plan.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only trials with this tag.")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write finished trials, with their records, into one file."""
    store = Workspace.open(workspace)
    trials = store.trials(plan=plan, tag=tag, states=FINISHED)
    if trial:
        trial_ids = {store.find(name).id for name in trial}
        trials = [stored for stored in trials if stored.id in trial_ids]
    if not trials:
        raise typer.BadParameter("no finished trial answers to that; `fabricbench trials` lists them")
    with atomic_file(out) as stream:
        size_bytes = write_archive(store, trials, stream, plan=plan)
    note(f"wrote {out}: {counted(len(trials), 'trial')}, {size_bytes / 1e6:.1f} MB")


def import_command(
    archive: Annotated[Path, typer.Argument(metavar="FILE.tar", help="A file that export wrote.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Take the trials of such a file into the workspace; those that are there already keep their records."""
    store = Workspace.open(workspace, create=True)
    imported, present = read_archive(store, archive)
    note(f"took {counted(len(imported), 'trial')} into {store.root}; {len(present)} were there already")


def purge_command(
    older_than: Annotated[
        int, typer.Option("--older-than", metavar="DAYS", min=0, help="Only what was deleted so long ago.")
    ] = 30,
    workspace: WorkspaceOption = None,
) -> None:
    """Remove trials for good that were deleted in the web application or over HTTP, with their records."""
    from datetime import UTC, datetime, timedelta

    store = Workspace.open(workspace)
    before = datetime.now(UTC) - timedelta(days=older_than)
    removed = purge(store, before.isoformat(timespec="microseconds"))
    note(f"removed {counted(len(removed), 'trial')} from {store.root}")
