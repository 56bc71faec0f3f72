"""`campaign`: runs the trials of a campaign file, and returns its results."""

from __future__ import annotations

import warnings
from pathlib import Path

from fabricbench.api.argument_errors import python_arguments
from fabricbench.api.campaigns import Campaign
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.plan.estimates.cost import Limits
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.run import COUNTED_MAX, check_cost, run_campaign
from fabricbench.runner.campaign.trial_units import units_of
from fabricbench.runner.loading import TIME_LIMIT_MIN


def campaign(
    file: str | Path,
    *,
    job: str | None = None,
    relative: bool = False,
    on: str = "local",
    workspace: Workspace | str | Path | None = None,
    force: bool = False,
) -> Campaign:
    """Run the trials of a campaign that have no record yet, and return its results.

    `Workspace.campaign` returns the results without running any. Failed trials are warnings.

    Args:
        file: The file of the campaign.
        job: The job whose metrics count, in place of the worst one.
        relative: Whether effects and settings use values relative to the mean of the same plan and size.
        on: Where trials run: "local", on the cores of this machine, or the address of a Ray cluster, such as
            "ray://head:10001".
        workspace: Workspace for the trials: an open one or its folder, which is created if missing; by
            default as for `run`.
        force: Run it however many trials it has and however long it takes.

    Raises:
        PlanError: The file, or a plan of it, cannot be run, or it takes more than a day of one core.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; the same call continues it.

    Example:
        >>> import fabricbench as fb
        >>> file = workspace / "mtu.yaml"
        >>> plan = "{plan: jct-alltoall, seeds: 1, sweep: {data_size: 1MB, transport.mtu: [1024, 4096]}}"
        >>> _ = file.write_text(f"{{campaign: 1, name: mtu, plans: [{plan}]}}")
        >>> fb.campaign(file, workspace=workspace)
        <Campaign mtu: 2 of 2 trials have a record>
    """
    path = Path(file)
    target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
    with python_arguments():
        limits = Limits(None, None if force else TIME_LIMIT_MIN * 60_000)
        loaded = load_campaign(path, limits, None if force else COUNTED_MAX)
        units = units_of(loaded)
        if not force:
            check_cost(loaded, units, path)
        progress = run_campaign(target.store, loaded, path, units, on, lambda _progress: None)
    for facts, error in progress.failed:
        warnings.warn(f"{facts.id}, {facts.plan}: {error}", stacklevel=2)
    return target.campaign(path, job=job, relative=relative)
