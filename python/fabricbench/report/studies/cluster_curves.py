"""Formats the expected curves of a cluster: text, JSON, CSV, acceptance criteria, calls of nccl-tests."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NotRequired, Protocol, get_type_hints

from typing_extensions import TypedDict

from fabricbench.metrics import BUS_BANDWIDTH
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.studies.expected import (
    NCCL_MARGIN,
    bound_text,
    constant_ratio,
    gain_text,
    nccl_size,
    rounded_down,
)
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.studies.cluster_curve import CollectiveTimes, Curve, Point, curve_of
from fabricbench.results.studies.expected import Range
from fabricbench.results.studies.expected_curve import ExpectedPoint, ExpectedSeries
from fabricbench.words import counted, data_size

ALLOWANCE_PERCENT: Final = 10.0
"""What limits are below the expectation by default [%]: hosts of the model are ideal."""
_ACCEPTED_FROM_BYTES: Final = 1 << 20
"""Smallest size for acceptance: below, hosts decide, which the model has none of."""
_WIDTH: Final = 100
"""Longest line of the legend."""
_RANGE: Final = ("least", "lower", "median", "upper", "most")


@dataclass(frozen=True)
class ClusterExpectation:
    """Expected curves of a cluster.

    Attributes:
        server: Name of the servers.
        servers: Number of servers.
        topology: Kind of the fabric.
        switch: File with the configuration of the switches; may be none.
        nccl: NCCL's version.
        variables: NCCL's environment variables.
        seeds: Trials of each size.
        allowance: What limits are below the least expected bandwidth by, as a fraction.
        curves: A curve for each collective.
    """

    server: str
    servers: int
    topology: str
    switch: str | None
    nccl: str
    variables: Mapping[str, str]
    seeds: int
    allowance: float
    curves: Sequence[Curve]

    @property
    def title(self) -> str:
        """The cluster in words."""
        return f"{self.servers} x {self.server}, {self.topology}, NCCL {self.nccl}"

    @property
    def source(self) -> str:
        """Number of seeds and model, in words."""
        return f"expected of {counted(self.seeds, 'seed')}, flow model"

    def limit_of(self, point: Point) -> float:
        """Return the least bus bandwidth to accept at a size [GB/s]."""
        return point.busbw.least * (1 - self.allowance)


class ClusterInputs(Protocol):
    """A cluster, as `fabricbench.plan.cluster.Cluster` has it."""

    @property
    def server(self) -> str:
        """Name of the servers."""

    @property
    def servers(self) -> int:
        """Number of servers."""

    @property
    def topology(self) -> str:
        """Kind of the fabric."""

    @property
    def switch(self) -> Path | None:
        """Configuration of the switches."""

    @property
    def version(self) -> str:
        """Version of NCCL."""

    @property
    def variables(self) -> Mapping[str, str] | None:
        """Variables of NCCL."""


def cluster_expectation(
    cluster: ClusterInputs, times: Sequence[CollectiveTimes], allowance: float
) -> ClusterExpectation:
    """Return the expectation of a cluster from the times of its collectives.

    Args:
        cluster: The cluster.
        times: Times of each collective.
        allowance: What limits are below the least expected bandwidth by, as a fraction.
    """
    return ClusterExpectation(
        cluster.server,
        cluster.servers,
        cluster.topology,
        None if cluster.switch is None else str(cluster.switch),
        cluster.version,
        dict(cluster.variables or {}),
        len(times[0].by_seed),
        allowance,
        [curve_of(of_collective) for of_collective in times],
    )


def cluster_text(expectation: ClusterExpectation, *, colour: bool) -> str:
    """Format a table for each collective, and what its columns mean."""
    parts = [styled(f"{expectation.title}: {expectation.source}", Style.BOLD, colour=colour)]
    for curve in expectation.curves:
        title = styled(curve_title(curve), Style.BOLD, colour=colour)
        parts.append(f"{title}\n{render(curve_table(expectation, curve), colour=colour)}")
    parts.append("\n".join(textwrap.fill(line, _WIDTH) for line in legend(expectation)))
    return "\n\n".join(parts)


def curve_title(curve: Curve) -> str:
    """Return the collective of a curve in words."""
    return f"{curve.collective}, {curve.ranks} ranks"


def curve_table(expectation: ClusterExpectation, curve: Curve) -> Table:
    """Return the table of a curve: NCCL's choice, results, bound and gain at each size."""
    names = [name for name in _RANGE if expectation.seeds > 1 or name == "median"]
    has_range = len(names) > 1
    columns = [
        Column("size"),
        *(Column(name, is_text=True) for name in ("algorithm", "protocol")),
        Column("channels"),
        Column("time us"),
        *(Column("busbw", name) if has_range else Column("busbw GB/s") for name in names),
        Column("ideal %"),
        Column("bound", is_text=True),
        Column("gain"),
    ]
    rows = []
    for point in curve.points:
        algorithm, protocol, channels = point.choice
        busbw = asdict(point.busbw)
        mark = "" if point.is_computed else "~"
        rows.append(
            Row(
                [
                    data_size(point.data_size_bytes),
                    algorithm or "-",
                    protocol,
                    str(channels),
                    mark + number(Range.of(point.times_us).median, 4),
                    *(mark + number(busbw[name], 4) for name in names),
                    number(point.ideal_percent, 3),
                    bound_text(point),
                    gain_text(point),
                ]
            )
        )
    return Table(columns, rows)


def choice_text(point: Point) -> str:
    """Return NCCL's choice in words."""
    algorithm, protocol, channels = point.choice
    return " ".join(part for part in (algorithm or "", protocol, str(channels)) if part)


def curve_series(expectation: ClusterExpectation, curve: Curve) -> ExpectedSeries:
    """Return a curve for the picture."""
    points = [
        ExpectedPoint(
            point.data_size_bytes,
            point.busbw,
            expectation.limit_of(point),
            point.ideal_gb_per_s,
            choice_text(point),
            point.bound or "none alone",
            gain_text(point),
        )
        for point in curve.points
    ]
    return ExpectedSeries(curve_title(curve), points)


def legend(expectation: ClusterExpectation) -> Iterator[str]:
    """Yield what the columns of the tables mean."""
    points = [point for curve in expectation.curves for point in curve.points]
    if any(not point.is_computed for point in points):
        yield "~: on the line through the nearest sizes that ran with the same choice of NCCL"
    yield (
        "bound: gains most bandwidth if lifted: adapters, their PCIe or the scale-up domain twice as fast; a "
        "tenth of the latency; links between switches 8 times as fast (ECMP collisions, oversubscription)"
    )
    yield "hosts are ideal unless -s sets their costs: a few per cent of large sizes, and most of small ones"


_BusBandwidthJson = TypedDict(  # type: ignore[misc]
    "_BusBandwidthJson",
    {f"busbw_gb_per_s_{name}": kind for name, kind in get_type_hints(Range).items()},
)


class ExpectedRowJson(_BusBandwidthJson):
    """Expected results of a collective at a data size.

    With `computed`, trials of the size have run; otherwise it is on a line through others. `gain_*` is the
    gain in bandwidth if a bound is lifted, as a fraction; missing where it was not computed.
    """

    collective: str
    ranks: int
    data_size_bytes: int
    algorithm: str | None
    protocol: str
    channels: int
    computed: bool
    time_us: float
    ideal_percent: float | None
    bound: str | None
    bound_certain: bool
    gain_adapter: NotRequired[float]
    gain_latency: NotRequired[float]
    gain_scale_up: NotRequired[float]
    gain_step_cost: NotRequired[float]
    gain_uplinks: NotRequired[float]
    accept_busbw_gb_per_s: float


class ClusterJson(TypedDict):
    """Expected curves of a cluster; `allowance` is the fraction by which limits are below the expectation."""

    server: str
    servers: int
    topology: str
    switch: str | None
    nccl: str
    variables: Mapping[str, str]
    seeds: int
    allowance: float
    expected: list[ExpectedRowJson]
    nccl_tests: list[str]


def rows_of(expectation: ClusterExpectation) -> list[dict[str, Any]]:
    """Return a row for each collective and size, for JSON and CSV."""
    return [
        {
            "collective": curve.collective,
            "ranks": curve.ranks,
            "data_size_bytes": point.data_size_bytes,
            "algorithm": point.choice[0],
            "protocol": point.choice[1],
            "channels": point.choice[2],
            "computed": point.is_computed,
            "time_us": Range.of(point.times_us).median,
            **{f"busbw_gb_per_s_{name}": value for name, value in asdict(point.busbw).items()},
            "ideal_percent": point.ideal_percent,
            "bound": point.bound,
            "bound_certain": point.is_certain,
            **{
                f"gain_{name.replace('-', '_').replace(' ', '_')}": gain for name, gain in point.gains.items()
            },
            "accept_busbw_gb_per_s": expectation.limit_of(point),
        }
        for curve in expectation.curves
        for point in curve.points
    ]


def cluster_json(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> str:
    """Return everything as the text of one JSON object."""
    return json.dumps(cluster_object(expectation, benchmarks), indent=2, allow_nan=False)


def cluster_object(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> dict[str, Any]:
    """Return everything as an object of JSON values."""
    names = ("server", "servers", "topology", "switch", "nccl", "variables", "seeds", "allowance")
    return {name: getattr(expectation, name) for name in names} | {
        "expected": rows_of(expectation),
        "nccl_tests": cluster_commands(expectation, benchmarks),
    }


def cluster_csv(expectation: ClusterExpectation) -> str:
    """Return a row for each collective and size as CSV."""
    rows = rows_of(expectation)
    return rows_csv(list(dict.fromkeys(name for row in rows for name in row)), rows).rstrip("\n")


def cluster_criteria(expectation: ClusterExpectation) -> list[dict[str, Any]]:
    """Return the criterion of each collective at its largest size, for a plan with a job of its name."""
    return [
        {
            "metric": BUS_BANDWIDTH.name,
            "min": float(rounded_down(expectation.limit_of(curve.points[-1]), 4)),
            "job": curve.collective,
        }
        for curve in expectation.curves
    ]


def cluster_yaml(expectation: ClusterExpectation) -> str:
    """Return the criterion of each collective at its largest size as YAML for its plan."""
    lines = [
        f"# busbw at least {100 * (1 - expectation.allowance):g} % of the expectation, each for a plan of "
        "its collective and size"
    ]
    for curve in expectation.curves:
        point = curve.points[-1]
        limit = rounded_down(expectation.limit_of(point), 4)
        lines += [
            f"# {curve_title(curve)}, {data_size(point.data_size_bytes)}: expected "
            f"{number(point.busbw.least, 4)} GB/s",
            "criteria:",
            f"  - {{metric: {BUS_BANDWIDTH.name}, min: {limit}}}",
        ]
    return "\n".join(lines)


def cluster_nccl(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> str:
    """Return a call of nccl-tests for each collective, which fails below the limit."""
    lines = [
        f"# nccl-tests fails where the average bus bandwidth is below {NCCL_MARGIN:g} of NCCL_TESTS_MIN_BW, "
        "which is set so",
        f"# that the limit is {100 * (1 - expectation.allowance):g} % of the expected average; start a "
        "process for each GPU",
    ]
    return "\n".join([*lines, *cluster_commands(expectation, benchmarks)])


def cluster_commands(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> list[str]:
    """Return the calls of nccl-tests, one for each collective."""
    return [_command(expectation, curve, benchmarks) for curve in expectation.curves]


def _command(expectation: ClusterExpectation, curve: Curve, benchmarks: Mapping[str, str]) -> str:
    """Return the call of nccl-tests over the sizes for acceptance, or the largest if they are irregular."""
    points = [point for point in curve.points if point.data_size_bytes >= _ACCEPTED_FROM_BYTES]
    factor = constant_ratio([point.data_size_bytes for point in points]) if points else None
    points = points if factor is not None else list(curve.points[-1:])
    mean = math.fsum(expectation.limit_of(point) for point in points) / len(points)
    least, most = (nccl_size(point.data_size_bytes) for point in (points[0], points[-1]))
    return (
        f"NCCL_TESTS_MIN_BW={rounded_down(mean / NCCL_MARGIN, 4)} {benchmarks[curve.collective]} "
        f"-b {least} -e {most} -f {factor or 2} -g 1 -c 1"
    )
