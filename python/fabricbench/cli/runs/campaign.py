"""The command `campaign`: runs families of plans as independent trials, here or on a Ray cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from fabricbench.cli.errors import USER_ERROR
from fabricbench.cli.options import DryRunOption, TimeLimitOption, WorkspaceOption
from fabricbench.cli.output import Format, note, write
from fabricbench.cli.progress import bar
from fabricbench.plan.estimates.cost import Limits, duration
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.runner.campaign.campaign_file import campaign_name, load_campaign
from fabricbench.runner.campaign.progress import Progress
from fabricbench.runner.campaign.published_progress import state_of
from fabricbench.runner.campaign.run import COUNTED_MAX, check_cost, cost_ms, cost_text, run_campaign
from fabricbench.runner.campaign.trial_units import units_of
from fabricbench.runner.loading import notes_of_trials
from fabricbench.store import Workspace
from fabricbench.store.campaigns import CampaignState, campaigns
from fabricbench.store.catalog.schema import RUNNING

_SHOWN: Final = 5


def campaign_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of the campaign.")],
    on: Annotated[
        str,
        typer.Option(
            metavar="local|ray://HOST:PORT|HOST:PORT",
            help="Where trials run: on the cores of this machine, or on a Ray cluster.",
        ),
    ] = "local",
    dry_run: DryRunOption = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how far it is, while another process runs it.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run it however many trials it has and however long it takes.")
    ] = False,
    time_limit: TimeLimitOption = 60,
    workspace: WorkspaceOption = None,
    output: Annotated[Format, typer.Option("--format", help="How to write what came of it.")] = Format.TABLE,
) -> None:
    """Run every trial of a campaign: plans x sweeps x seeds, as many at once as cores and memory allow.

    Trials that have their record already are left out, so that the same command continues it. A
    trial that fails stops no other. Exit status: 0 if all have a record, else 2.
    """
    if status:
        _write_status(file, workspace, output)
        return
    limits = Limits(None, None if force else time_limit * 60_000)
    campaign = load_campaign(file, limits, None if force or dry_run else COUNTED_MAX)
    units = units_of(campaign)
    cost = cost_text(campaign, units)
    if dry_run:
        counts = {"name": campaign.name, "trials": len(units), "plans": len(campaign.plans)}
        _write_values(counts | {"cost_ms": cost_ms(units)}, f"{campaign.name}: {cost}", output)
        return
    if not force:
        check_cost(campaign, units, file)
    store = Workspace.open(workspace, create=True)
    note(f"{campaign.name}: {cost}")
    for sentence in notes_of_trials([(unit.planned, unit.backend) for unit in units]):
        note(f"note: {sentence}")
    with _display(campaign.name) as shown:
        progress = run_campaign(store, campaign, file, units, on, shown)
    _write_result(progress, campaign.name, output)
    if progress.failed:
        raise typer.Exit(USER_ERROR)


def _write_status(file: Path, workspace: Path | None, output: Format) -> None:
    name = campaign_name(file)
    states = [state for state in campaigns(Workspace.open(workspace).root) if state.name == name]
    if not states:
        note(
            f"error: campaign {name} has not run in this workspace\n"
            f"hint: `fabricbench campaign {file}` runs it"
        )
        raise typer.Exit(USER_ERROR)
    _write_values(asdict(states[0]), f"{name}: {states[0].state}, {_line(states[0])}", output)


def _write_values(values: dict[str, Any], text: str, output: Format) -> None:
    if output is Format.JSON:
        write(json.dumps(values, indent=2))
    else:
        write(_row(values) if output is Format.CSV else text)


def _write_result(progress: Progress, name: str, output: Format) -> None:
    """Write the result of a campaign; reasons of failed trials are data in JSON, otherwise messages."""
    summary = {
        "name": name,
        "trials": progress.trials,
        "kept": progress.kept,
        "finished": progress.finished,
        "failed": [{"trial": facts.id, "why": str(error)} for facts, error in progress.failed],
        "elapsed_s": round(progress.elapsed_s, 3),
        "busy_percent": round(progress.busy_percent, 1),
        "nodes": dict(sorted(progress.nodes.items())),
    }
    if output is Format.JSON:
        write(json.dumps(summary, indent=2))
        return
    for facts, error in progress.failed[:_SHOWN]:
        note(f"failed: {facts.id}, {facts.plan}: {type(error).__name__}: {error}")
    if len(progress.failed) > _SHOWN:
        note(f"and {len(progress.failed) - _SHOWN} more: `fabricbench trials` has them all")
    if output is Format.CSV:
        write(_row(summary | {"failed": len(progress.failed), "nodes": len(progress.nodes)}))
        return
    kept = f", {progress.kept} had their record" if progress.kept else ""
    failed = f", {len(progress.failed)} failed" if progress.failed else ""
    busy = f"; {progress.cores} cores worked on trials {progress.busy_percent:.0f} % of the time"
    write(
        f"{name}: {progress.finished} of {progress.trials} trials in "
        f"{progress.elapsed_s:.1f} s{kept}{failed}" + (busy if progress.busy_s else "")
    )


def _row(values: dict[str, Any]) -> str:
    return rows_csv(list(values), [values])


class _Waits:
    """Progress listener without a terminal: notes each new reason for waiting once."""

    def __init__(self) -> None:
        self._noted_reason = ""

    def __call__(self, progress: Progress) -> None:
        if progress.waits != self._noted_reason:
            self._noted_reason = progress.waits
            if progress.waits:
                note(f"waiting: {progress.waits}")


@contextmanager
def _display(name: str) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a campaign until the block ends, while standard error is a terminal."""
    if not sys.stderr.isatty():
        yield _Waits()
        return
    with bar() as shown:
        task = shown.add_task(name, total=1, detail="")
        yield lambda progress: shown.update(
            task, completed=progress.share, detail=_line(state_of(name, RUNNING, progress))
        )


def _line(campaign: CampaignState) -> str:
    """Return the progress of a campaign in one line."""
    done = campaign.kept + campaign.finished + campaign.failed
    parts = [f"{done:,} of {campaign.trials:,} trials", f"{campaign.percent:.0f} % of the estimated work"]
    if campaign.failed:
        parts.append(f"{campaign.failed:,} failed")
    if campaign.left_s is not None:
        parts.append(f"{duration(round(1000 * campaign.left_s))} left")
    if campaign.waits:
        parts.append(f"waiting: {campaign.waits}")
    return ", ".join(parts)
