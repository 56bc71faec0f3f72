"""`explain`: compares a benchmark's output or an NCCL log with the expected bandwidth, and names causes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench import importing
from fabricbench.api.argument_errors import python_arguments
from fabricbench.api.plan import Plan, load
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.explaining.files import FileExplanation, explanation_of
from fabricbench.explaining.options import FileOptions, check_uplinks, hardware_of
from fabricbench.explaining.page import explanation_plot, write_explanation
from fabricbench.explaining.text import explanation_object, explanation_text
from fabricbench.plan.cluster import Cluster, default_topology
from fabricbench.plan.devices.json_text import content_of
from fabricbench.plan.devices.nccl_graphs import graphs_of
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.runner import loading

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl


class Explained:
    """Measured results next to the expected ones, with the causes of a shortfall; `explain` returns one.

    Example:
        >>> print(explained)
        two.txt: nccl-tests; all_reduce_perf, 16 ranks; 2 hosts
        ...
    """

    def __init__(self, explanation: FileExplanation) -> None:
        """Take an explanation; `explain` returns one."""
        self._explanation = explanation

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each measured bandwidth: size, time, busbw, expected range, percentage of its least.

        Example:
            >>> explained.frame.select("data_size_bytes", "of_expected_percent", "bound").rows()
            [(1073741824, 36.4..., 'scale-up')]
        """
        import polars as pl

        expected, rows = self._explanation.expected, []
        for point in self._explanation.case.points:
            if not point.busbw:
                continue
            of_size = expected.get(point.size_bytes)
            least = None if of_size is None else of_size.busbw.least
            rows.append(
                {
                    "data_size_bytes": point.size_bytes,
                    "placement": point.placement,
                    "time_us": point.time_us,
                    "busbw_gb_per_s": point.busbw,
                    "expected_least_gb_per_s": least,
                    "expected_most_gb_per_s": None if of_size is None else of_size.busbw.most,
                    "of_expected_percent": None if least is None else 100 * point.busbw / least,
                    "bound": None if of_size is None else of_size.bound,
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def causes(self) -> pl.DataFrame:
        """Causes, the likeliest first: `cause`, `confidence`, `sentence`, `evidence` and the `test` of it.

        Example:
            >>> explained.causes["cause"][0]
            'few-adapters'
        """
        import polars as pl

        rows = [
            {
                "cause": suspect.cause,
                "confidence": importing.CONFIDENCE[suspect.confidence],
                "sentence": suspect.sentence,
                "evidence": list(suspect.evidence),
                "test": suspect.test,
            }
            for suspect in self._explanation.causes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def differences(self) -> list[str]:
        """Sentences on choices of NCCL in the log that are not the expected ones.

        Example:
            >>> explained.differences
            []
        """
        return self._explanation.differences

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricbench explain FILE --format json` writes.

        Example:
            >>> explained.to_dict()["hosts"]
            2
        """
        return explanation_object(self._explanation)

    def figure(self) -> go.Figure:
        """Return measured and expected bus bandwidth against data size.

        Raises:
            ValueError: The file has no bandwidth.

        Example:
            >>> explained.figure().layout.yaxis.title.text
            'busbw (GB/s; 1 GB = 10^9 bytes)'
        """
        plot = explanation_plot(self._explanation)
        if plot is None:
            raise ValueError("file: found no bandwidth; allowed: results of a benchmark with bandwidths")
        return plot.figure

    def write_report(self, path: str | Path) -> None:
        """Write the page of `explain FILE -o`: one HTML file that opens offline.

        Args:
            path: The file; replaced if it exists.

        Raises:
            OutputFileError: The file cannot be written.

        Example:
            >>> explained.write_report(workspace / "explained.html")
            >>> (workspace / "explained.html").read_text().startswith("<!doctype html>")
            True
        """
        write_explanation(self._explanation, Path(path))

    def __repr__(self) -> str:
        return explanation_text(self._explanation, colour=False)


def explain(  # noqa: PLR0913 -- each by its name
    file: str | Path,
    *,
    plan: Plan | str | Path | None = None,
    cluster: str | Path | None = None,
    servers: int | None = None,
    topology: str | None = None,
    version: str | None = None,
    adapters: int | None = None,
    rate: str | None = None,
    ranks: int | None = None,
    benchmark: str = "",
    counters: Sequence[str | Path] = (),
    before: Sequence[str | Path] = (),
    uplinks: Sequence[str] = (),
    graphs: str | Path | None = None,
    workspace: Workspace | str | Path | None = None,
) -> Explained:
    """Explain why a measurement is slow: expected bandwidth at each size, causes, and their tests.

    `Trial.diagnose` explains a trial.

    Args:
        file: Output of nccl-tests, perftest or NCCL Inspector, or a log of NCCL_DEBUG=INFO.
        plan: The plan of its fabric, or an argument of `load`; searched for in the workspace by default.
        cluster: In place of a plan, a shipped server such as "dgx-h100", or a file of one.
        servers: Number of servers of the cluster.
        topology: Fabric of the cluster: "rail-optimised" or "leaf-spine".
        version: Version of NCCL of the cluster; that of the log by default.
        adapters: Number of adapters of a host, if the file does not state it.
        rate: Rate of an adapter, such as "400Gbps".
        ranks: Number of ranks, if the file does not state it.
        benchmark: Name of the benchmark, if the file does not state it.
        counters: Files of counters of switches or hosts.
        before: Earlier files of the same counters; growth since then counts.
        uplinks: Ports of the counters towards the next tier, or patterns such as "Ethernet9?".
        graphs: NCCL's graphs of a host: a file of NCCL_GRAPH_DUMP_FILE.
        workspace: Workspace that may have trials of the fabric: an open one or its folder, which is created
            if missing; by default as for `run`.

    Raises:
        ValueError: There are both a plan and a cluster, or one of `cluster` and `servers` alone.
        MeasuredError: A file cannot be read; the text has the line, its content and the expected form.
        PlanError: The plan or the cluster is not allowed, or an uplink is none of the ports.
        StoreError: The workspace cannot be read.

    Example:
        >>> import fabricbench as fb
        >>> explained = fb.explain(workspace / "two.txt", cluster="dgx-h100", servers=2, workspace=workspace)
        >>> explained.causes["cause"][0]
        'few-adapters'
    """
    if plan is not None and cluster is not None:
        raise ValueError("found both; allowed: either `plan` or `cluster`")
    if (cluster is None) != (servers is None):
        raise ValueError("found one of them alone; allowed: both `cluster` and `servers`, or neither")
    loaded = None
    if plan is not None:
        loaded = (plan if isinstance(plan, Plan) else load(plan)).loaded
        loading.check_no_search(loaded, "measured results")
    with python_arguments():
        switches = importing.switch_counters(
            [Path(name) for name in counters], [Path(name) for name in before]
        )
        check_uplinks(switches, uplinks)
        described = None
        if cluster is not None and servers is not None:
            fabric = topology or default_topology(str(cluster), servers)
            described = Cluster(str(cluster), servers, fabric, None, version or NCCL_VERSION, {})
        options = FileOptions(
            loaded,
            described,
            version is not None,
            importing.UserFacts(ranks, benchmark),
            hardware_of(adapters, rate),
            switches,
            uplinks,
            () if graphs is None else graphs_of(content_of(Path(graphs), str(graphs)), str(graphs)),
        )
        target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
        return Explained(explanation_of(importing.Source.of(Path(file)), options, target.store))
