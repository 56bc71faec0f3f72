"""`expect`: ranges of a plan's results over seeds and placements; criteria; check by packet simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.api.plan import Plan, load
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.importing import PROGRAMS
from fabricbench.report.studies.expected import (
    Expectation,
    Settings,
    checked_rows,
    criteria,
    criteria_yaml,
    expectation,
    expectation_text,
    nccl_tests,
    rows_of,
)
from fabricbench.runner import loading
from fabricbench.runner.expect_trials import PLACEMENTS_MAX, SEEDS_MAX, run_expect
from fabricbench.runner.session import Session

if TYPE_CHECKING:
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

    def __repr__(self) -> str:
        return expectation_text(self._expectation, colour=False)


def expect(  # noqa: PLR0913 -- each by its name
    plan: Plan | str | Path,
    *,
    seeds: int = 50,
    placements: int = 0,
    false_alarm: float = 0.05,
    allowance: float = 0.0,
    as_one: bool = False,
    check: bool = False,
    workspace: Workspace | str | Path | None = None,
    jobs: int | None = None,
    force: bool = False,
) -> Expected:
    """Return the expected results of a plan: ranges over seeds and placements, causes, acceptance limits.

    It runs the plan like `run` with `iterations` set to the seeds; trials that are in the workspace are not
    run again.

    Args:
        plan: The plan, or an argument of `load`; its backend runs it.
        seeds: Number of trials of each size and variant, each with its own seed.
        placements: Number of random placements of the jobs, each with every seed; 0 for the plan's own.
        false_alarm: Probability at which a limit may fail a fabric that matches the plan, up to 0.5.
        allowance: Fraction by which limits are relaxed, for the overhead of hosts.
        as_one: All jobs are one operation of nccl-tests, as rings on rails are.
        check: Also simulate packets, for the first seed of each size and variant: `Expected.checked`.
        workspace: Workspace for the trials; by default as for `run`.
        jobs: Maximum number of concurrent trials; by default as for `run`.
        force: Run though a trial is estimated to be beyond this machine.

    Raises:
        ValueError: A number is out of its range.
        PlanError: The plan cannot be run, has a search, or allows no random placements.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; finished trials stay in the workspace.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_({"backend": "flow", "sweep.data_size": "1MB"})
        >>> fb.expect(plan, seeds=3, false_alarm=0.25, workspace=workspace).frame["trials"].to_list()
        [3, 3, 3, 3]
    """
    for name, value, minimum, maximum in (
        ("seeds", seeds, 1, SEEDS_MAX),
        ("placements", placements, 0, PLACEMENTS_MAX),
        ("false_alarm", false_alarm, 1e-4, 0.5),
        ("allowance", allowance, 0, 0.99),
    ):
        if not minimum <= value <= maximum:
            raise ValueError(f"{name}: found {value}; allowed: {minimum} to {maximum}")
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
    return Expected(expectation(loaded.plan.name, carrier.name, settings, trials.draws, trials.packets))
