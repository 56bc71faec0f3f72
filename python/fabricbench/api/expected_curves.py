"""`expect(cluster=...)`: the curves that NCCL's collectives should have on a cluster, without a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.api.argument_errors import python_arguments
from fabricbench.figures.results.expected_curve import expected_plot
from fabricbench.importing import PROGRAMS
from fabricbench.plan.cluster import Cluster, collectives_named
from fabricbench.report.html.expected_page import write_expected_page
from fabricbench.report.studies.cluster_curves import (
    ClusterExpectation,
    cluster_commands,
    cluster_criteria,
    cluster_expectation,
    cluster_text,
    cluster_yaml,
    curve_series,
    rows_of,
)
from fabricbench.runner.cluster_trials import run_cluster

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl


class ExpectedCurves:
    """Expected curves of a cluster: NCCL's choice, bus bandwidth, bound and limit at each size.

    Example:
        >>> import fabricbench as fb
        >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1KB,1GB")
        >>> curves.frame.select("data_size_bytes", "algorithm", "bound").rows()
        [(1024, 'Ring', 'latency'), (1073741824, 'Ring', 'adapter')]
    """

    def __init__(self, expectation: ClusterExpectation) -> None:
        """Take the expectation of a cluster; `expect` returns one."""
        self._expectation = expectation

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each collective and size: choice, time, busbw, bound, gain of each bound, limit.

        `busbw_gb_per_s_least` to `_most` are the range over the seeds; `gain_adapter` and the others are
        gains of the bandwidth as fractions, if that bound were lifted.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1GB")
            >>> curves.frame["busbw_gb_per_s_median"].round(0).to_list()
            [392.0]
        """
        import polars as pl

        return pl.DataFrame(rows_of(self._expectation), infer_schema_length=None)

    @property
    def criteria(self) -> list[dict[str, Any]]:
        """A criterion for each collective at its largest size, for a plan with a job of its name.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1GB")
            >>> [(each["metric"], each["job"]) for each in curves.criteria]
            [('busbw_gb_per_s', 'all-gather')]
        """
        return cluster_criteria(self._expectation)

    @property
    def criteria_yaml(self) -> str:
        """The criteria as YAML, each for a plan of its collective and size.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1GB")
            >>> curves.criteria_yaml.splitlines()[2]
            'criteria:'
        """
        return cluster_yaml(self._expectation)

    @property
    def nccl_tests(self) -> list[str]:
        """Command lines of nccl-tests, one for each collective, that fail below the limit.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1GB")
            >>> curves.nccl_tests[0].split()[1:]
            ['all_gather_perf', '-b', '1G', '-e', '1G', '-f', '2', '-g', '1', '-c', '1']
        """
        return cluster_commands(self._expectation, PROGRAMS)

    def figure(self, collective: str | None = None) -> go.Figure:
        """Return the curve of a collective with band, bounds, limit and ideal, or all curves in one figure.

        Args:
            collective: Name of the collective; all of them by default.

        Raises:
            ValueError: There is no curve of it.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1KB,1GB")
            >>> curves.figure("all-gather").layout.yaxis.title.text
            'busbw (GB/s; 1 GB = 10^9 bytes)'
        """
        curves = {curve.collective: curve for curve in self._expectation.curves}
        if collective is not None and collective not in curves:
            raise ValueError(f"collective: found {collective!r}; allowed: {', '.join(curves)}")
        shown = curves.values() if collective is None else [curves[collective]]
        return expected_plot([curve_series(self._expectation, curve) for curve in shown]).figure

    def write_report(self, path: str | Path) -> None:
        """Write the page of `expect --cluster ... -o`: one HTML file that opens offline.

        Args:
            path: The file; replaced if it exists.

        Raises:
            OutputFileError: The file cannot be written.

        Example:
            >>> import fabricbench as fb
            >>> curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"], sizes="1GB")
            >>> curves.write_report(workspace / "curves.html")
            >>> (workspace / "curves.html").read_text().startswith("<!doctype html>")
            True
        """
        write_expected_page(self._expectation, PROGRAMS, Path(path))

    def __repr__(self) -> str:
        return cluster_text(self._expectation, colour=False)


def expected_curves(
    cluster: Cluster,
    collectives: Sequence[str],
    sizes: str,
    fields: Mapping[str, Any],
    seeds: int,
    allowance: float,
) -> ExpectedCurves:
    """Run the trials of a cluster and return its curves.

    Args:
        cluster: The cluster.
        collectives: Names of collectives; all of them if empty.
        sizes: Data sizes.
        fields: Changes of the plan by dotted path.
        seeds: Trials of each size.
        allowance: What limits are below the expectation by, as a fraction.

    Raises:
        PlanError: An argument is not allowed.
    """
    with python_arguments():
        cluster.check()
        names = collectives_named(collectives)
        overrides = [f"{name}={json.dumps(value)}" for name, value in fields.items()]
        times = run_cluster(cluster, names, sizes, seeds, overrides)
    return ExpectedCurves(cluster_expectation(cluster, times, allowance))
