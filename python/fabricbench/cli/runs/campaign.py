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
from fabricbench.inputs import read_input_text
from fabricbench.plan.estimates.cost import Limits, duration
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.results.studies.campaign_table import main_metric
from fabricbench.runner.campaign.campaign_file import Campaign, campaign_name, load_campaign
from fabricbench.runner.campaign.execution import drive
from fabricbench.runner.campaign.progress import Progress
from fabricbench.runner.campaign.published_progress import announced, state_of
from fabricbench.runner.campaign.trial_table import members_of
from fabricbench.runner.campaign.trial_units import units_of
from fabricbench.runner.loading import notes_of_trials
from fabricbench.store import Workspace
from fabricbench.store.campaigns import CampaignState, CampaignTrials, campaigns, keep_trials
from fabricbench.store.catalog.schema import RUNNING
from fabricbench.words import counted

_TRIALS_MAX: Final = 10_000
_HOURS_MAX: Final = 24
"""Limits without `--force`: more trials, or more estimated hours of one core, are probably a mistake."""
_COUNTED_MAX: Final = 5 * _TRIALS_MAX
"""Number of trials, before removal of duplicates, from which on further plans are not counted."""
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
    is_free = force or dry_run
    limits = Limits(None, None if force else time_limit * 60_000)
    campaign = load_campaign(file, limits, None if is_free else _COUNTED_MAX)
    units = units_of(campaign)
    cost_ms = sum(unit.cost_ms for unit in units)
    trials, plans = counted(len(units), "trial"), counted(len(campaign.plans), "plan")
    cost = f"{trials} of {plans}, up to {duration(cost_ms)} of one core"
    if dry_run:
        counts = {"name": campaign.name, "trials": len(units), "plans": len(campaign.plans)}
        _write_values(counts | {"cost_ms": cost_ms}, f"{campaign.name}: {cost}", output)
        return
    if campaign.uncounted:
        cost = f"{cost}, and {counted(campaign.uncounted, 'more plan')} that are not counted"
    if not force and (campaign.uncounted or len(units) > _TRIALS_MAX or cost_ms > _HOURS_MAX * 3_600_000):
        note(
            f"error: {file}: {cost}; allowed: {_TRIALS_MAX:,} trials and {_HOURS_MAX} hours\n"
            "hint: --force runs it all the same, --dry-run tells the cost of all of it"
        )
        raise typer.Exit(USER_ERROR)
    store = Workspace.open(workspace, create=True)
    note(f"{campaign.name}: {cost}")
    for sentence in notes_of_trials([(unit.planned, unit.backend) for unit in units]):
        note(f"note: {sentence}")
    with announced(store, campaign.name, len(units)) as noted, _display(campaign.name) as shown:
        store_campaign_trials(store, campaign, file)

        def on_progress(state: Progress) -> None:
            noted(state)
            shown(state)

        progress = drive(store, units, on, on_progress)
    _write_result(progress, campaign.name, output)
    if progress.failed:
        raise typer.Exit(USER_ERROR)


def store_campaign_trials(store: Workspace, campaign: Campaign, file: Path) -> None:
    """Store the trials of the campaign in the workspace, for the results in the web application."""
    members = members_of(campaign)
    campaign_trials = CampaignTrials(
        title=campaign.title,
        source=read_input_text(file),
        factors=members.factors,
        metric=main_metric(members.jobs).name,
        jobs=members.job_names,
        alone=members.alone,
        members=members.frame.to_arrow(),
    )
    keep_trials(store.root, campaign.name, campaign_trials)


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
