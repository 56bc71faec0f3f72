"""`degrade`: what jobs lose by a degraded adapter, link or switch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.api.plan import Plan, load
from fabricbench.plan.degradation import State
from fabricbench.report.html.degradation_page import write_degradation_page
from fabricbench.report.studies.degradation import Degradation, degradation_of, degradation_text, rows_of
from fabricbench.runner import loading
from fabricbench.runner.degraded_trials import degradable, run_degraded, with_collectives

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


class Degraded:
    """What jobs of a plan lose by a degraded adapter, link or switch; `degrade` returns one.

    Example:
        >>> print(degraded)
        jct-alltoall: change of the bandwidth by one degraded element
        ...
    """

    def __init__(self, degradation: Degradation) -> None:
        """Take the results; `degrade` returns one."""
        self._degradation = degradation

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each group of elements, state and job, the largest loss first.

        `change_worst` and `change_least` are changes of the bandwidth as fractions, -1 if the job stops;
        `elements` is the number of elements, `such_as` one that was run, `backend` what ran it: none if the
        job is unaffected. `timeout_waits` is how often the job waits for the transport's timeout, on average,
        which is not in the changes.

        Example:
            >>> worst = degraded.frame.row(0, named=True)
            >>> worst["kind"], worst["elements"], worst["state"], worst["stops"]
            ('adapter', 8, 'down', True)
        """
        import polars as pl

        return pl.DataFrame(rows_of(self._degradation), infer_schema_length=None)

    @property
    def elements(self) -> dict[tuple[str, str, str], float | None]:
        """Worst change of the bandwidth by element, state and job; none if it could not be run.

        Example:
            >>> round(degraded.elements["host3-leaf0", "half rate", "test"], 2)
            -0.44
        """
        return {
            (name, row.state, effect.job): effect.worst
            for row in self._degradation.rows
            for name in row.elements
            for effect in row.effects
        }

    def write_report(self, path: str | Path) -> None:
        """Write a page with maps of the fabric, as one HTML file that opens offline.

        Raises:
            OutputFileError: The file cannot be written.

        Example:
            >>> degraded.write_report(workspace / "degraded.html")
        """
        write_degradation_page(self._degradation, Path(path))

    def __repr__(self) -> str:
        return degradation_text(self._degradation, colour=False)


def degrade(
    plan: Plan | str | Path, *, collectives: Sequence[str] = (), states: Sequence[str] = ()
) -> Degraded:
    """Return what jobs lose by one adapter, link or switch at half rate, with 1e-4 loss, or down.

    Of a plan with several variants or sizes it takes the first variant and its largest size. No trial is
    stored.

    Args:
        plan: The plan, or an argument of `load`.
        collectives: Collectives instead of those of the jobs.
        states: `half rate`, `1e-4 loss` or `down`; all of them by default.

    Raises:
        ValueError: There is no such state.
        PlanError: The plan has failures, or jobs other than collectives of one round.
        RefusedError: The flow model does not cover the plan.
        KeyboardInterrupt: The user stopped it.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_({"sweep.data_size": "1MB"})
        >>> fb.degrade(plan, states=["down"]).frame["stops"].any()
        True
    """
    loaded = (plan if isinstance(plan, Plan) else load(plan)).loaded
    loading.check_no_search(loaded, "degrade")
    plans = with_collectives(loaded, collectives)
    trials = [degradable(each) for each in plans.values()]
    results = run_degraded(trials, [State(state) for state in states] or list(State))
    specs = [trial.run_spec for trial in trials]
    return Degraded(degradation_of(loaded.plan.name, results, list(plans), specs))
