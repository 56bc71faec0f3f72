"""Formats the expected curves of a cluster: text, JSON, CSV, acceptance criteria, calls of nccl-tests."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from fabricbench.metrics import BUS_BANDWIDTH
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.studies.expected import NCCL_MARGIN, constant_ratio, nccl_size, rounded_down
from fabricbench.report.terminal.text_table import Column, Row, Style, number, render, styled
from fabricbench.results.studies.cluster_curve import Curve, Point
from fabricbench.results.studies.expected import Range
from fabricbench.words import counted, data_size

ALLOWANCE_PERCENT: Final = 10.0
"""What limits are below the expectation by default [%]: hosts of the model are ideal."""
_ACCEPTED_FROM_BYTES: Final = 1 << 20
"""Smallest size for acceptance: below, hosts decide, which the model has none of."""
_GAIN_MAX: Final = 10.0
"""Largest gain written out."""
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

    def limit_of(self, point: Point) -> float:
        """Return the least bus bandwidth to accept at a size [GB/s]."""
        return min(point.busbw_gb_per_s) * (1 - self.allowance)


def cluster_text(expectation: ClusterExpectation, *, colour: bool) -> str:
    """Format a table for each collective, and what its columns mean."""
    head = (
        f"{expectation.servers} x {expectation.server}, {expectation.topology}, NCCL {expectation.nccl}: "
        f"expected of {counted(expectation.seeds, 'seed')}, flow model"
    )
    parts = [styled(head, Style.BOLD, colour=colour)]
    for curve in expectation.curves:
        title = styled(f"{curve.collective}, {curve.ranks} ranks", Style.BOLD, colour=colour)
        parts.append(f"{title}\n{_table(curve, has_range=expectation.seeds > 1, colour=colour)}")
    parts.append("\n".join(_legend(expectation)))
    return "\n\n".join(parts)


def _table(curve: Curve, *, has_range: bool, colour: bool) -> str:
    names = [name for name in _RANGE if has_range or name == "median"]
    columns = [
        Column(("size",)),
        *(Column((name,), is_text=True) for name in ("algorithm", "protocol")),
        Column(("channels",)),
        Column(("time us",)),
        *(Column(("busbw GB/s",) if not has_range else ("busbw", name)) for name in names),
        Column(("ideal %",)),
        Column(("bound",), is_text=True),
        Column(("gain",)),
    ]
    rows = []
    for point in curve.points:
        algorithm, protocol, channels = point.choice
        mark = "" if point.is_computed else "~"
        rows.append(
            Row(
                [
                    data_size(point.data_size_bytes),
                    algorithm or "-",
                    protocol,
                    str(channels),
                    mark + number(Range.of(point.times_us).median, 4),
                    *(mark + number(getattr(Range.of(point.busbw_gb_per_s), name), 4) for name in names),
                    number(point.ideal_percent, 3),
                    _bound(point),
                    _gain(point.gain),
                ]
            )
        )
    return render(columns, rows, colour=colour)


def _bound(point: Point) -> str:
    if point.bound is None:
        return "none alone"
    return point.bound if point.is_certain else f"{point.bound} (possible)"


def _gain(gain: float) -> str:
    if gain > _GAIN_MAX:
        return f">{100 * _GAIN_MAX:.0f} %"
    return f"{100 * max(gain, 0.0):.0f} %"


def _legend(expectation: ClusterExpectation) -> Iterator[str]:
    points = [point for curve in expectation.curves for point in curve.points]
    if any(not point.is_computed for point in points):
        yield "~: on the line through the nearest sizes that ran with the same choice of NCCL"
    yield "bound: gains most bandwidth if lifted: adapters, or the scale-up domain, twice as fast; a"
    yield "tenth of the latency; links between switches 8 times as fast (ECMP collisions, oversubscription)"
    yield "hosts are ideal unless -s sets their costs: a few per cent of large sizes, and most of small ones"


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
            **{f"busbw_gb_per_s_{name}": value for name, value in _range(point).items()},
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


def _range(point: Point) -> dict[str, float]:
    return asdict(Range.of(point.busbw_gb_per_s))


def cluster_json(expectation: ClusterExpectation, benchmarks: Mapping[str, str]) -> str:
    """Return everything as one JSON object."""
    names = ("server", "servers", "topology", "switch", "nccl", "variables", "seeds", "allowance")
    content = {name: getattr(expectation, name) for name in names} | {
        "expected": rows_of(expectation),
        "nccl_tests": [_command(expectation, curve, benchmarks) for curve in expectation.curves],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def cluster_csv(expectation: ClusterExpectation) -> str:
    """Return a row for each collective and size as CSV."""
    rows = rows_of(expectation)
    return rows_csv(list(dict.fromkeys(name for row in rows for name in row)), rows).rstrip("\n")


def cluster_criteria(expectation: ClusterExpectation) -> str:
    """Return the criterion of each collective at its largest size as YAML for its plan."""
    lines = [
        f"# busbw at least {100 * (1 - expectation.allowance):g} % of the expectation, each for a plan of "
        "its collective and size"
    ]
    for curve in expectation.curves:
        point = curve.points[-1]
        limit = rounded_down(expectation.limit_of(point), 4)
        lines += [
            f"# {curve.collective}, {curve.ranks} ranks, {data_size(point.data_size_bytes)}: expected "
            f"{number(min(point.busbw_gb_per_s), 4)} GB/s",
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
    return "\n".join([*lines, *(_command(expectation, curve, benchmarks) for curve in expectation.curves)])


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
