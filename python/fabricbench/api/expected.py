"""`expect`: ranges of a plan's results over seeds and placements; criteria; check by packet simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fabricbench.api.expected_curves import ExpectedCurves, expected_curves
from fabricbench.api.plan import Plan, load
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.figures.results.expected_curve import expected_plot
from fabricbench.importing import PROGRAMS
from fabricbench.plan.cluster import SIZES, Cluster
from fabricbench.plan.cluster_fabric import TOPOLOGIES
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.report.html.expected_page import write_expected_page
from fabricbench.report.studies.cluster_curves import ALLOWANCE_PERCENT
from fabricbench.report.studies.expected import (
    Expectation,
    Settings,
    checked_rows,
    criteria,
    criteria_yaml,
    expectation,
    expectation_text,
    nccl_tests,
    plan_series,
    rows_of,
)
from fabricbench.runner import loading
from fabricbench.runner.expect_trials import PLACEMENTS_MAX, SEEDS_MAX, run_expect
from fabricbench.runner.session import Session

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl


class Expected:
    """Expected results of a plan: ranges of metrics, causes of their spread, limits for acceptance.

    Example:
        >>> print(expected)
        jct-alltoall: expected of 3 seeds, backend flow
        ...
    """

    def __init__(self, expectation: Expectation) -> None:
        """Take an expectation; `expect` returns one."""
        self._expectation = expectation

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each variant, job, size and metric: `least`, `lower`, `median`, `upper`, `most`, limits.

        `job` is `slowest` for the slowest of several jobs in each trial, and `together` for all of them as
        one operation. `min` or `max` is the limit, in the metric's unit, and `false_alarm` an upper bound on
        the probability that it fails a fabric that matches the plan.

        Example:
            >>> expected.frame.filter(metric="busbw_gb_per_s").select("trials", "false_alarm").rows()
            [(3, 0.25)]
        """
        import polars as pl

        return pl.DataFrame(rows_of(self._expectation), infer_schema_length=None)

    @property
    def decides(self) -> list[tuple[str, str, int, str]]:
        """Causes that decide the times: variant, job, data size [bytes] and a sentence with its evidence.

        Example:
            >>> expected.decides
            [('base', 'test', 1048576, 'nothing that is drawn: all 3 trials take the same time')]
        """
        return [
            (case.variant, case.job, case.data_size_bytes, sentence)
            for case in self._expectation.expected
            for sentence in case.decides
        ]

    @property
    def criteria(self) -> list[dict[str, Any]]:
        """Acceptance criteria in the form of a plan's `criteria`.

        Example:
            >>> [each["metric"] for each in expected.criteria]
            ['busbw_gb_per_s', 'ideal_percent']
        """
        return criteria(self._expectation)

    @property
    def criteria_yaml(self) -> str:
        """The criteria as YAML, to be pasted into the plan.

        Example:
            >>> expected.criteria_yaml.splitlines()[2]
            'criteria:'
        """
        return criteria_yaml(self._expectation)

    @property
    def nccl_tests(self) -> list[str]:
        """Command lines of nccl-tests that fail if the bandwidth is below the limit.

        Example:
            >>> expected.nccl_tests
            ['NCCL_TESTS_MIN_BW=41.72 alltoall_perf -b 1M -e 1M -f 2 -g 1 -c 1']
        """
        return [program.command for program in nccl_tests(self._expectation, PROGRAMS)]

    @property
    def checked(self) -> list[dict[str, Any]]:
        """Trials of the first seed compared with the packet simulator; empty unless `check` was set.

        Each has `variant`, `data_size_bytes`, `time_ms`, `packets_ms` and `deviation_percent`.

        Example:
            >>> expected.checked
            []
        """
        return checked_rows(self._expectation)

    def figure(self) -> go.Figure:
        """Return bus bandwidth against data size: ranges over the seeds, limits, ideal.

        Of several jobs it is that of the slowest, or of all together with `as_one`.

        Example:
            >>> expected.figure().layout.yaxis.title.text
            'busbw (GB/s; 1 GB = 10^9 bytes)'
        """
        return expected_plot(plan_series(self._expectation)).figure

    def write_report(self, path: str | Path) -> None:
        """Write the page of `expect PLAN -o`: one HTML file that opens offline.

        Args:
            path: The file; replaced if it exists.

        Raises:
            OutputFileError: The file cannot be written.

        Example:
            >>> expected.write_report(workspace / "expected.html")
            >>> (workspace / "expected.html").read_text().startswith("<!doctype html>")
            True
        """
        write_expected_page(self._expectation, PROGRAMS, Path(path))

    def __repr__(self) -> str:
        return expectation_text(self._expectation, colour=False)


@overload
def expect(
    plan: Plan | str | Path,
    *,
    seeds: int | None = None,
    placements: int = 0,
    false_alarm: float = 0.05,
    allowance: float | None = None,
    as_one: bool = False,
    check: bool = False,
    workspace: Workspace | str | Path | None = None,
    jobs: int | None = None,
    force: bool = False,
) -> Expected: ...


@overload
def expect(
    *,
    cluster: str | Path,
    servers: int,
    topology: str = TOPOLOGIES[0],
    switch: str | Path | None = None,
    version: str = NCCL_VERSION,
    variables: Mapping[str, str] | None = None,
    collectives: Sequence[str] = (),
    sizes: str = SIZES,
    fields: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    allowance: float | None = None,
) -> ExpectedCurves: ...


def expect(  # noqa: PLR0913 -- each by its name
    plan: Plan | str | Path | None = None,
    *,
    cluster: str | Path | None = None,
    servers: int | None = None,
    topology: str = TOPOLOGIES[0],
    switch: str | Path | None = None,
    version: str = NCCL_VERSION,
    variables: Mapping[str, str] | None = None,
    collectives: Sequence[str] = (),
    sizes: str = SIZES,
    fields: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    placements: int = 0,
    false_alarm: float = 0.05,
    allowance: float | None = None,
    as_one: bool = False,
    check: bool = False,
    workspace: Workspace | str | Path | None = None,
    jobs: int | None = None,
    force: bool = False,
) -> Expected | ExpectedCurves:
    """Return the expected results of a plan, or the expected curves of a cluster without a plan.

    It runs the plan like `run` with `iterations` set to the seeds; trials that are in the workspace are not
    run again. With `cluster` and `servers`, NCCL's collectives run on such servers and a fabric that blocks
    nothing, by the flow model and without a record; `switch` to `fields` describe it.

    Args:
        plan: The plan, or an argument of `load`; its backend runs it.
        cluster: Instead of a plan: a shipped server, such as "dgx-h100", or a file of one.
        servers: Number of servers of the cluster, 1 to 1,024.
        topology: `rail-optimised`, `leaf-spine`, `single-switch` or `full-mesh`.
        switch: File with the SONiC configuration of the cluster's switches.
        version: Version of NCCL, from 2.18 to 2.31.
        variables: Environment variables of NCCL, such as {"NCCL_ALGO": "ring"}.
        collectives: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `send-receive`; all by
            default.
        sizes: Data sizes: "1MB", "1MB,16MB", or "8B:16GB", which doubles; 8 B to 16 GB by powers of 4 by
            default.
        fields: Changes of the cluster's plan by dotted path, such as {"jobs.0.step_overhead": "10us"}.
        seeds: Number of trials of each size and variant, each with its own seed; 50 by default, 1 of a
            cluster.
        placements: Number of random placements of the jobs, each with every seed; 0 for the plan's own.
        false_alarm: Probability at which a limit may fail a fabric that matches the plan, up to 0.5.
        allowance: Fraction by which limits are relaxed, for the overhead of hosts; 0 by default, 0.1 of a
            cluster.
        as_one: All jobs are one operation of nccl-tests, as rings on rails are.
        check: Also simulate packets, for the first seed of each size and variant: `Expected.checked`.
        workspace: Workspace for the trials; by default as for `run`.
        jobs: Maximum number of concurrent trials; by default as for `run`.
        force: Run though a trial is estimated to be beyond this machine.

    Raises:
        ValueError: A number is out of its range, or there are both a plan and a cluster, or neither.
        PlanError: The plan or the cluster cannot be run, has a search, or allows no random placements.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; finished trials stay in the workspace.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_({"backend": "flow", "sweep.data_size": "1MB"})
        >>> fb.expect(plan, seeds=3, false_alarm=0.25, workspace=workspace).frame["trials"].to_list()
        [3, 3, 3, 3]
        >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="4GB")
        >>> curves.frame.select("channels", "bound").rows()
        [(16, 'adapter')]
    """
    is_cluster = plan is None
    if (cluster is not None, servers is not None) != (is_cluster, is_cluster):
        raise ValueError("found neither or both; allowed: a plan, or `cluster` with `servers`")
    seeds = (1 if is_cluster else 50) if seeds is None else seeds
    allowance = (ALLOWANCE_PERCENT / 100 if is_cluster else 0.0) if allowance is None else allowance
    for name, value, minimum, maximum in (
        ("seeds", seeds, 1, SEEDS_MAX),
        ("placements", placements, 0, PLACEMENTS_MAX),
        ("false_alarm", false_alarm, 1e-4, 0.5),
        ("allowance", allowance, 0, 0.99),
    ):
        if not minimum <= value <= maximum:
            raise ValueError(f"{name}: found {value}; allowed: {minimum} to {maximum}")
    if cluster is not None and servers is not None:
        switches = None if switch is None else Path(switch)
        parts = Cluster(str(cluster), servers, topology, switches, version, variables)
        return expected_curves(parts, collectives, sizes, fields or {}, seeds, allowance)
    assert plan is not None, "checked above"
    requested_plan = plan if isinstance(plan, Plan) else load(plan)
    limits = None if force else loading.machine_limits()
    loading.check_no_search(requested_plan.loaded, "expect")
    loaded = loading.reload(requested_plan.loaded, [f"iterations={seeds}"], limits)
    target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
    carrier = loading.backend_of(loaded)
    trials = run_expect(Session(target.store, jobs=jobs), loaded, carrier, placements, check=check)
    if trials.stopped_by is not None:
        raise KeyboardInterrupt
    settings = Settings(seeds, placements, false_alarm, allowance, as_one=as_one)
    return Expected(
        expectation(loaded.plan.name, carrier.name, settings, trials.draws, trials.packets, trials.gains)
    )
