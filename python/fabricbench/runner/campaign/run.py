"""Runs a campaign: stores its list of trials in the workspace, publishes its progress, runs the trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fabricbench.inputs import read_input_text
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.estimates.cost import duration
from fabricbench.results.studies.campaign_table import main_metric
from fabricbench.runner.campaign.campaign_file import Campaign
from fabricbench.runner.campaign.execution import drive
from fabricbench.runner.campaign.progress import Progress
from fabricbench.runner.campaign.published_progress import announced
from fabricbench.runner.campaign.trial_table import members_of
from fabricbench.runner.campaign.trial_units import Unit
from fabricbench.store import Workspace
from fabricbench.store.campaigns import CampaignTrials, keep_trials
from fabricbench.words import counted

TRIALS_MAX: Final = 10_000
HOURS_MAX: Final = 24
"""Limits of `check_cost`: more trials, or more estimated hours of one core, are probably a mistake."""
COUNTED_MAX: Final = 5 * TRIALS_MAX
"""Number of trials, before removal of duplicates, from which on further plans are not counted."""


def cost_ms(units: Sequence[Unit]) -> int:
    """Return the estimated time of trials, for one core [ms]."""
    return sum(unit.cost_ms for unit in units)


def cost_text(campaign: Campaign, units: Sequence[Unit]) -> str:
    """Return numbers of trials and plans, and the estimated time, in words."""
    trials, plans = counted(len(units), "trial"), counted(len(campaign.plans), "plan")
    text = f"{trials} of {plans}, up to {duration(cost_ms(units))} of one core"
    if campaign.uncounted:
        text = f"{text}, and {counted(campaign.uncounted, 'more plan')} that are not counted"
    return text


def check_cost(campaign: Campaign, units: Sequence[Unit], file: Path) -> None:
    """Check that a campaign has no more trials, and takes no more time, than is usual.

    Raises:
        PlanError: It has or does.
    """
    hours = cost_ms(units) / 3_600_000
    if campaign.uncounted or len(units) > TRIALS_MAX or hours > HOURS_MAX:
        allowed = f"{TRIALS_MAX:,} trials and {HOURS_MAX} hours"
        hint = "--force runs it all the same, --dry-run prints its whole cost"
        raise PlanError([Problem(Place(str(file)), "", cost_text(campaign, units), allowed, hint)])


def run_campaign(
    store: Workspace,
    campaign: Campaign,
    file: Path,
    units: Sequence[Unit],
    on: str,
    report: Callable[[Progress], None],
) -> Progress:
    """Run the trials of a campaign that have no record yet.

    Args:
        store: Workspace that receives the records.
        campaign: The campaign.
        file: Its file.
        units: Its trials.
        on: `local` for processes of this machine, or the address of a Ray cluster.
        report: Called with the progress a few times a second.

    Raises:
        ClusterError: Ray is not installed, there is no such cluster, or the campaign runs already.
        StoreError: The workspace cannot be written, or the disk is full; finished trials remain stored.
        KeyboardInterrupt: The user stopped it; finished trials remain stored.
    """
    with announced(store, campaign.name, len(units)) as publish:
        store_campaign_trials(store, campaign, file)

        def on_progress(progress: Progress) -> None:
            publish(progress)
            report(progress)

        return drive(store, units, on, on_progress)


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
