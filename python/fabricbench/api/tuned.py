"""`tune`: searches for values of plan fields that make metrics best, and confirms the best point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.api.argument_errors import python_arguments
from fabricbench.api.plan import Plan, load
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.runner import loading
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.tuning.confirmation import SEEDS_MIN
from fabricbench.runner.tuning.definition import TuningDefinition
from fabricbench.runner.tuning.evaluation import Units
from fabricbench.runner.tuning.objectives import aims_of, limits_of
from fabricbench.runner.tuning.plan_fragment import changes
from fabricbench.runner.tuning.result import TuneResult, check_cost, cost_ms, run_tuning
from fabricbench.runner.tuning.space import space_of

if TYPE_CHECKING:
    import polars as pl

_COUNT_MAX: Final = 1_000
_TRIALS_MAX: Final = 100_000


class Tuned:
    """Result of a search: every point, the best one, and its comparison with the plans; `tune` returns one.

    Example:
        >>> tuned
        <Tuned: 4 points of transport.mtu; best 4096>
    """

    def __init__(self, result: TuneResult) -> None:
        """Take a result; `tune` returns one."""
        self._result = result

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each point: number, `ending`, `allowed`, the fields, ratios of metrics to the plans.

        `ending` is `complete`, `stopped` after smaller sizes, `invalid`, or `no-result`; `allowed` says
        whether every limit is met.

        Example:
            >>> sorted(tuned.frame.filter(ending="complete")["transport.mtu"].unique())
            ['1024', '4096']
        """
        import polars as pl

        return pl.DataFrame(self._result.rows, schema=self._result.columns, infer_schema_length=None)

    @property
    def best(self) -> dict[str, str] | None:
        """Values of the fields at the best point that meets every limit; none if no point does.

        Example:
            >>> tuned.best
            {'transport.mtu': '4096'}
        """
        return None if self._result.best is None else dict(self._result.best.point)

    @property
    def plans(self) -> list[Plan]:
        """The plans with the values of the best point; empty if there is none.

        Example:
            >>> tuned.plans
            [<Plan jct-alltoall: 1 trial, 8 ranks on 8 hosts, data size 1 MB>]
        """
        space, best = self._result.definition.space, self._result.best
        if best is None:
            return []
        return [
            Plan(loading.reload(plan, changes(space, best.point, number)))
            for number, plan in enumerate(space.plans)
        ]

    @property
    def front(self) -> pl.DataFrame:
        """The rows of `frame` that no other point beats in every metric, if there are several metrics.

        Example:
            >>> tuned.front["point"].len() >= 1
            True
        """
        import polars as pl

        numbers = [point.number for point in self._result.definition.front(self._result.tried)]
        return self.frame.filter(pl.col("point").is_in(numbers))

    @property
    def importances(self) -> list[dict[str, float]]:
        """For each metric the importance of each field by PED-ANOVA, 0 to 1; empty of too few points.

        Example:
            >>> tuned.importances
            [{'transport.mtu': 1.0}]
        """
        return [dict(importances) for importances in self._result.importances]

    @property
    def confirmed(self) -> pl.DataFrame:
        """Ratio of each metric at the best point to the plans over other seeds, with its 95 % interval.

        `is_shown` says whether the whole interval is better than 1. Empty with `confirm=0`.

        Example:
            >>> tuned.confirmed.is_empty()
            True
        """
        import polars as pl

        evidence = self._result.evidence
        confidences = evidence.confidences if evidence else ()
        rows = [entry.values | {"is_shown": entry.is_shown} for entry in confidences]
        return pl.DataFrame(rows, infer_schema_length=None)

    def __repr__(self) -> str:
        fields = ", ".join(field.field for field in self._result.definition.space.fields)
        points = len(self._result.tried)
        best = "none meets the limits" if self.best is None else f"best {', '.join(self.best.values())}"
        return f"<Tuned: {points} points of {fields}; {best}>"


def tune(  # noqa: PLR0913 -- each by its name
    plans: Plan | str | Path | Sequence[Plan | str | Path],
    search: Mapping[str, str | Sequence[Any]],
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    subject_to: Sequence[str] = (),
    trials: int = 100,
    seeds: int | None = None,
    confirm: int = 20,
    seed: int = 0,
    at_once: int = 4,
    pruning: bool = True,
    on: str = "local",
    workspace: Workspace | str | Path | None = None,
    force: bool = False,
) -> Tuned:
    """Search for the values of plan fields that make metrics best over plans, sizes and seeds.

    A metric counts as its ratio to that of the plans. The trials stay in the workspace, and the same call
    continues the search.

    Args:
        plans: A plan or several, or arguments of `load`.
        search: For each field a range such as "16KB..1MB" or "1..64:1", or a list of choices.
        minimize: A metric to make small, or several: then there is a Pareto front.
        maximize: A metric to make large, or several.
        subject_to: Limits that every trial has to meet, such as "frames_lost=0" or "fct_ms_p99<=20".
        trials: Number of points.
        seeds: Number of seeds of each plan at each point; the plan's own iterations by default.
        confirm: Number of other seeds with which the best point is compared with the plans: 5 or more, or 0.
        seed: Seed of the search.
        at_once: Number of points that are suggested and run together.
        pruning: Stop poor points after their smaller sizes, where there is one metric.
        on: "local", or the address of a Ray cluster, such as "ray://head:10001".
        workspace: Workspace for the trials: an open one or its folder, which is created if missing; by
            default as for `run`.
        force: Search though it is estimated to take more than a day, or a trial more than this machine.

    Raises:
        ValueError: A number is out of its range.
        PlanError: A plan, field, metric or limit is not allowed.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; the same call continues it.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_(data_size="1MB")
        >>> tuned = fb.tune(
        ...     plan,
        ...     {"transport.mtu": [1024, 4096]},
        ...     minimize="completion_time_ms",
        ...     trials=4,
        ...     confirm=0,
        ...     workspace=workspace,
        ... )
        >>> tuned.best
        {'transport.mtu': '4096'}
    """
    for name, value, least, most in (
        ("trials", trials, 1, _TRIALS_MAX),
        ("seeds", 1 if seeds is None else seeds, 1, _COUNT_MAX),
        ("confirm", confirm or SEEDS_MIN, SEEDS_MIN, _COUNT_MAX),
        ("at_once", at_once, 1, _COUNT_MAX),
    ):
        if not least <= value <= most:
            raise ValueError(f"{name}: found {value}; allowed: {least} to {most}")
    limits = None if force else loading.machine_limits()
    listed = [plans] if isinstance(plans, Plan | str | Path) else plans
    with python_arguments():
        aims = aims_of(_names(minimize), _names(maximize))
        metric_limits = limits_of(subject_to)
        overrides = [] if seeds is None else [f"iterations={seeds}"]
        loaded = [
            loading.reload((plan if isinstance(plan, Plan) else load(plan)).loaded, overrides, limits)
            for plan in listed
        ]
        for plan in loaded:
            loading.check_no_search(plan, "tune")
        searches = [f"{field}={_values(values)}" for field, values in search.items()]
        iterations = tuple(plan.plan.iterations for plan in loaded)
        space = space_of(loaded, searches, limits)
        definition = TuningDefinition(
            space, aims, metric_limits, iterations, seed, at_once, is_stopping=pruning
        )
        units = Units(loaded)
        if not force:
            check_cost(definition, trials, cost_ms(definition, units, trials, confirm))
    target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
    with Interrupts() as interrupts:
        result = run_tuning(
            definition, units, target.store, on, trials, confirm, lambda _tried, _count: None, interrupts
        )
    return Tuned(result)


def _names(metrics: str | Sequence[str]) -> Sequence[str]:
    return [metrics] if isinstance(metrics, str) else metrics


def _values(values: str | Sequence[Any]) -> str:
    return values if isinstance(values, str) else "|".join(map(str, values))
