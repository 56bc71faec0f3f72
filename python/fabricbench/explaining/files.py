"""Assembles the explanation of a measured file: results, expected curve, causes, NCCL's choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from fabricbench import importing
from fabricbench.explaining.choices import differences
from fabricbench.explaining.expected import (
    FileCurve,
    cluster_curve,
    judged_table,
    plan_curve,
    workspace_curve,
)
from fabricbench.explaining.options import FileOptions
from fabricbench.importing import (
    Fabric,
    FileFacts,
    Hardware,
    Point,
    RuleInput,
    Source,
    Suspect,
    Table,
)
from fabricbench.plan.cluster import Cluster, option_problem
from fabricbench.plan.devices.nccl_graphs import Graph
from fabricbench.results.studies.expected_curve import ExpectedPoint, MeasuredSeries
from fabricbench.store import Workspace

SHORT: Final = 0.9
"""Fraction of the least expected bandwidth below which a result falls short."""


@dataclass(frozen=True)
class FileExplanation:
    """The explanation of a file.

    Attributes:
        name: Name of the file.
        parsed: Its results and facts.
        case: Input of the rules.
        fabric: The fabric with which it is compared.
        causes: Causes, the likeliest first.
        curve: Expected curve; none without a plan or a cluster.
        text: Content of the file.
        omitted: Sentences on results that are left out.
        graphs: NCCL's graphs of a host.
    """

    name: str
    parsed: FileFacts
    case: RuleInput
    fabric: Fabric
    causes: Sequence[Suspect]
    curve: FileCurve | None
    text: str
    omitted: Sequence[str] = ()
    graphs: Sequence[Graph] = ()

    @cached_property
    def expected(self) -> dict[int, ExpectedPoint]:
        """Expected point of each data size."""
        return {point.data_size_bytes: point for point in self.curve.series.points} if self.curve else {}

    @cached_property
    def shortfalls(self) -> list[tuple[Point, float]]:
        """Results below the expectation with the factor, by size; the best of each size counts."""
        best: dict[int, Point] = {}
        for point in self.case.judged:
            former = best.get(point.size_bytes)
            if point.busbw and (former is None or point.busbw > (former.busbw or 0.0)):
                best[point.size_bytes] = point
        factors = [
            (best[size], self.expected[size].busbw.least / (best[size].busbw or 1.0))
            for size in sorted(best)
            if size in self.expected
        ]
        return [(point, factor) for point, factor in factors if factor * SHORT > 1]

    @cached_property
    def differences(self) -> list[str]:
        """Sentences on choices of NCCL in the log that differ from the expected ones."""
        return differences(self.parsed, self.case, self.curve, self.graphs) if self.curve else []

    @property
    def measured_series(self) -> list[MeasuredSeries]:
        """The judged results for the picture: a series for each run and placement."""
        series: dict[str, list[tuple[int, float]]] = {}
        for point in self.case.judged:
            if point.busbw:
                parts = ["measured", point.placement, importing.described(point.differs)]
                series.setdefault(", ".join(filter(None, parts)), []).append((point.size_bytes, point.busbw))
        return [MeasuredSeries(name, sorted(points)) for name, points in series.items()]


def explanation_of(
    source: Source, options: FileOptions, workspace: Workspace | None, parsed: FileFacts | None = None
) -> FileExplanation:
    """Return the explanation of a file.

    Args:
        source: The file.
        options: Options of the user.
        workspace: Trials of plans; may be none.
        parsed: Its results and facts, if they have been read.

    Raises:
        MeasuredError: The file cannot be read.
        PlanError: The plan or the cluster is not allowed.
        StoreError: The workspace cannot be read.
    """
    if parsed is None:
        parsed = importing.read_facts(source, user_facts=options.given)
    fabric = importing.fabric_of(parsed, options.hardware, options.plan, workspace)
    curve: FileCurve | None = None
    omitted: list[str] = []
    if options.cluster is not None:
        table = judged_table(parsed)
        if table is not None:
            others = [one for one in parsed.tables if not _is_like(one, table)]
            omitted = [f"left out, as {table.benchmark} is explained: {_names(others)}"] if others else []
            parsed = replace(parsed, tables=[one for one in parsed.tables if _is_like(one, table)])
        cluster = options.cluster if options.has_version else _with_logged_version(options.cluster, parsed)
        curve = cluster_curve(cluster, parsed)
        fabric = Fabric(hardware=_hardware(options.hardware, options.cluster))
    elif fabric.values and any(point.size_bytes in fabric.values for point in parsed.points):
        curve = workspace_curve(fabric, options.plan)
    elif options.plan is not None:
        curve = plan_curve(options.plan, parsed)
    ranges = {
        point.data_size_bytes: (point.busbw.least, point.busbw.most)
        for point in (curve.series.points if curve else ())
    }
    case = parsed.rule_input(fabric.hardware, ranges or fabric.ranges, options.switches, options.uplinks)
    causes = importing.suspects(case)
    text = source.data.decode("utf-8", "replace")
    if options.graphs and (curve is None or curve.answer is None):
        allowed = "them with --cluster, or a plan in which NCCL runs the measured operation as one job"
        raise option_problem("--graphs", "graphs without expected ones", allowed)
    name = Path(source.name).name
    return FileExplanation(name, parsed, case, fabric, causes, curve, text, omitted, options.graphs)


def _with_logged_version(cluster: Cluster, parsed: FileFacts) -> Cluster:
    """Return a cluster with the version of NCCL in a log, unless there are no rules of that."""
    if parsed.facts.rails.version is None:
        return cluster
    logged = replace(cluster, version=".".join(map(str, parsed.facts.rails.version)))
    return logged if logged.has_rules else cluster


def _names(tables: Sequence[Table]) -> str:
    return ", ".join(dict.fromkeys(f"{table.benchmark} of {table.ranks} ranks" for table in tables))


def _is_like(table: Table, judged: Table) -> bool:
    return (table.collective, table.ranks) == (judged.collective, judged.ranks)


def _hardware(stated: Hardware, cluster: Cluster) -> Hardware:
    return Hardware(
        stated.adapters or cluster.adapters,
        stated.rate_gbps or cluster.adapter_rate_bps / 1e9,
        stated.source or cluster.server,
    )
