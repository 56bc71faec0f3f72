"""`import_results`: measured results of a file as trials of a workspace."""

from __future__ import annotations

import warnings
from pathlib import Path

from fabricbench import importing
from fabricbench.api.plan import Plan, load
from fabricbench.api.trial import Trial
from fabricbench.api.trials import Trials
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.runner import loading


def import_results(
    *files: str | Path,
    format: str | None = None,  # noqa: A002 -- the name of the command line's option
    name: str = "",
    tag: str = "",
    ranks: int | None = None,
    benchmark: str = "",
    plan: Plan | str | Path | None = None,
    workspace: Workspace | str | Path | None = None,
) -> Trials:
    """Import measured results: outputs of nccl-tests, perftest, OSU, Intel MPI Benchmarks or NCCL Inspector.

    Each result becomes a trial of backend `imported`. Values that a benchmark does not measure are null, and
    `chunks`, `ports` and the other tables have no rows. Lines left out and odd values are warnings.

    Args:
        *files: The outputs, text or JSON. Each is imported whole or not at all.
        format: `nccl-tests`, `perftest`, `osu`, `imb` or `nccl-inspector`; detected by default.
        name: Name of the trials, in place of the benchmark's name.
        tag: A label for the trials.
        ranks: Number of ranks, if the output does not state it or its bandwidths contradict it.
        benchmark: Name of the benchmark, if the output does not state it.
        plan: The plan that simulates it, or an argument of `load`; the trials then have its name, and
            `ideal_percent` is computed.
        workspace: Workspace for the trials: an open one or its folder, which is created if missing; by
            default as for `run`.

    Returns:
        The trials, in the order of the files and their rows.

    Raises:
        MeasuredError: A file cannot be read; the text has the line, its content and the expected form.
        PlanError: The plan cannot be run, or has a search.
        StoreError: The workspace cannot be written, or the disk is full.

    Example:
        >>> import fabricbench as fb
        >>> _ = (workspace / "osu.txt").write_text('''
        ... $ mpirun -np 8 ./osu_alltoall
        ... # OSU MPI All-to-All Personalized Exchange Latency Test v7.3
        ... # Size       Avg Latency(us)
        ... 1048576                 170.00
        ... ''')
        >>> measured = fb.import_results(workspace / "osu.txt", plan="jct-alltoall", workspace=workspace)
        >>> measured.summary.select("data_size_bytes", "busbw_gb_per_s").rows()
        [(8388608, 43.17...)]
        >>> simulated = fb.run(fb.load("jct-alltoall").with_(data_size="8MB"), workspace=workspace)
        >>> changes = fb.compare(measured, simulated)
        >>> changes.filter(metric="busbw_gb_per_s")["verdict"][0]
        'better'
    """
    loaded = None
    if plan is not None:
        loaded = (plan if isinstance(plan, Plan) else load(plan)).loaded
        loading.check_no_search(loaded, "measured results")
    options = importing.Options(format, name, tag, importing.UserFacts(ranks, benchmark), loaded)
    sources = [importing.Source.of(Path(path)) for path in files]
    target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
    imports = [importing.import_results(target.store, source, options) for source in sources]
    for warning in (warning for imported in imports for warning in imported.warnings):
        warnings.warn(warning, stacklevel=2)
    return Trials([Trial(trial, target.store) for imported in imports for trial in imported.trials])
