"""Formats the results to expect of a plan: text, JSON, CSV, acceptance criteria, calls of nccl-tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.metrics import BUS_BANDWIDTH, BY_NAME, IDEAL_SHARE
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.studies.bounds import Bounded
from fabricbench.results.studies.expected import (
    SLOWEST,
    TIME,
    TOGETHER,
    Checked,
    Draw,
    Expected,
    checked,
    expectations,
    limit_of,
    mean_bandwidths,
    trials_needed,
)
from fabricbench.results.studies.expected_curve import ExpectedPoint, ExpectedSeries
from fabricbench.store import Trial
from fabricbench.words import axes_text, counted, data_size
from fabricbench.work import NCCL_HEAD

FAR_PERCENT: Final = 5.0
"""A model with a larger deviation from the packet simulator is not used for limits."""
NCCL_MARGIN: Final = 0.9
"""nccl-tests fails below this share of NCCL_TESTS_MIN_BW (`check_avg_bw * 0.9` in src/common.cu)."""
_GAIN_MAX: Final = 10.0
"""Largest gain written out."""
_SUFFIXES: Final = ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))


@dataclass(frozen=True)
class Expectation:
    """The expected results of a plan.

    Attributes:
        plan: Its name.
        backend: Backend of the trials.
        seeds: Trials of each size, variant and placement.
        placements: Number of drawn placements; 0 for the plan's own.
        false_alarm: Requested probability of a false alarm.
        allowance: Fraction by which limits are looser than the order statistic.
        expected: Expected results of each job at each size.
        checked: Trials of the first seed compared with those of the packet simulator, if requested.
    """

    plan: str
    backend: str
    seeds: int
    placements: int
    false_alarm: float
    allowance: float
    expected: Sequence[Expected]
    checked: Sequence[Checked] = ()

    @property
    def main(self) -> list[Expected]:
        """Rows for a table: the slowest of several jobs, or all together."""
        has_several = {result.variant for result in self.expected if not result.is_of_one_job}
        return [
            result for result in self.expected if not (result.variant in has_several and result.is_of_one_job)
        ]


@dataclass(frozen=True)
class Settings:
    """Parameters of an expectation.

    Attributes:
        seeds: Trials of each size, variant and placement.
        placements: Number of placements to draw; 0 for the plan's own.
        false_alarm: Allowed probability of a false alarm of a limit.
        allowance: Fraction by which limits are looser than the order statistic.
        as_one: Whether all jobs are one operation.
    """

    seeds: int
    placements: int
    false_alarm: float
    allowance: float
    as_one: bool


def expectation(
    plan: str,
    backend: str,
    settings: Settings,
    draws: Sequence[Draw],
    packets: Sequence[Trial] = (),
    gains: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> Expectation:
    """Return the expectation of a plan.

    Args:
        plan: Its name.
        backend: Backend of the trials.
        settings: Parameters.
        draws: Finished trials.
        packets: Trials of the packet simulator that check them.
        gains: Gains by lifted bounds of some trials, by their id.
    """
    results = expectations(
        draws,
        false_alarm=settings.false_alarm,
        allowance=settings.allowance,
        as_one=settings.as_one,
        causes=_leading_causes,
        gains=gains,
    )
    parameters = (settings.seeds, settings.placements, settings.false_alarm, settings.allowance)
    return Expectation(plan, backend, *parameters, results, checked(draws, packets))


def _leading_causes(trial: Trial) -> list[str]:
    """Return the cause that explains most of each job's lost time; empty without counters."""
    if (insight := insight_of(trial)) is None:
        return []
    leading = {finding.job: finding for finding in reversed(insight.findings) if finding.explained}
    return sorted({CAUSES[finding.cause] for finding in leading.values()})


def expectation_text(expectation: Expectation, *, colour: bool) -> str:
    """Format the ranges, their causes and the limits."""
    head = f"{expectation.plan}: {source_text(expectation)}"
    table = render(range_table(expectation), colour=colour)
    sections = [
        "\n".join([styled(title, Style.BOLD, colour=colour), *(f"- {line}" for line in lines)])
        for title, lines in notes(expectation)
    ]
    return "\n\n".join([styled(head, Style.BOLD, colour=colour), table, *sections])


def source_text(expectation: Expectation) -> str:
    """Return the number of draws and the backend, in words."""
    draws = counted(expectation.seeds, "seed")
    draws += f" x {counted(expectation.placements, 'placement')}" if expectation.placements else ""
    return f"expected of {draws}, backend {expectation.backend}"


def notes(expectation: Expectation) -> Iterator[tuple[str, list[str]]]:
    """Yield titles with sentences: what decides the times, how far packets differ, how limits are made."""
    parts = {
        "what decides it": _deciding(expectation),
        "checked with packets, first seed, slowest job": _checked(expectation),
        "limits for acceptance": _about_limits(expectation),
    }
    yield from ((title, lines) for title, lines in parts.items() if lines)


def range_table(expectation: Expectation) -> Table:
    """Return the table of ranges and limits of each size, variant, job and metric."""
    has_choice = any(result.choice for result in expectation.main)
    columns = [Column(name, is_text=True) for name in ("size", "variant", "job")]
    columns += [Column(*NCCL_HEAD, is_text=True)] if has_choice else []
    columns.append(Column("metric", is_text=True))
    columns += [Column(name) for name in ("least", "lower 4th", "median", "upper 4th", "most")]
    columns += [Column("spread", "%"), Column("accept", is_text=True)]
    has_bounds = any(result.gains for result in expectation.main)
    columns += [Column("bound", is_text=True), Column("gain if", "lifted")] if has_bounds else []
    rows: list[Row] = []
    for result in expectation.main:
        limits = {limit.metric: limit for limit in result.limits}
        heads = [data_size(result.data_size_bytes), result.variant, _job(result)]
        heads += [result.choice] if has_choice else []
        for number, (name, values) in enumerate(result.ranges.items()):
            metric, limit = BY_NAME[name], limits.get(name)
            cells = heads if number == 0 else [""] * len(heads)
            numbers = [
                _number(getattr(values, part)) for part in ("least", "lower", "median", "upper", "most")
            ]
            accept = "" if limit is None else _accept(limit.minimum, limit.maximum)
            unit = f" ({metric.unit})" if metric.unit else ""
            rows.append(
                Row(
                    [
                        *cells,
                        f"{metric.label or metric.title}{unit}",
                        *numbers,
                        f"{values.spread_percent:.1f}",
                        accept,
                        *(_bound_cells(result, number) if has_bounds else []),
                    ]
                )
            )
        if not result.ranges:
            rows.append(Row([*heads, "incomplete", *[""] * (9 if has_bounds else 7)], "bad"))
    return Table(columns, rows)


def _bound_cells(result: Expected, row: int) -> list[str]:
    """Return bound and gain for the first row of a result."""
    return ["", ""] if row or not result.gains else [bound_text(result), gain_text(result)]


def bound_text(result: Bounded) -> str:
    """Return the bound of a result in words."""
    if result.bound is None:
        return "none alone"
    return result.bound if result.is_certain else f"{result.bound} (possible)"


def gain_text(result: Bounded) -> str:
    """Return the gain of the bandwidth if the bound of a result were lifted."""
    if result.gain > _GAIN_MAX:
        return f">{100 * _GAIN_MAX:.0f} %"
    return f"{100 * max(result.gain, 0.0):.0f} %"


def _number(value: float) -> str:
    return f"{value:.5g}"


def _accept(minimum: float | None, maximum: float | None) -> str:
    return f">= {_number(minimum)}" if minimum is not None else f"<= {_number(maximum or 0.0)}"


def _job(result: Expected) -> str:
    name = {SLOWEST: "slowest job", TOGETHER: "all as one"}.get(result.job, result.job)
    return f"{name}, {result.collective}, {result.ranks} ranks"


def _deciding(expectation: Expectation) -> list[str]:
    return [
        f"{data_size(result.data_size_bytes)}, {result.variant}: {sentence}"
        for result in expectation.main
        for sentence in (*result.decides, *_fixed_part(expectation, result))
    ]


def _fixed_part(expectation: Expectation, result: Expected) -> list[str]:
    """Format the part of the median time that is equal at every size, by linear fit of two sizes."""
    same_job = [
        other
        for other in expectation.main
        if (other.variant, other.job, other.axes) == (result.variant, result.job, result.axes)
        and TIME.name in other.ranges
    ]
    same_job.sort(key=lambda other: other.data_size_bytes)
    if len(same_job) < 2 or same_job[0] is not result:
        return []
    first, last = same_job[0], same_job[-1]
    rise = last.ranges[TIME.name].median - first.ranges[TIME.name].median
    if rise <= 0:
        return []
    per_byte = rise / (last.data_size_bytes - first.data_size_bytes)
    fixed = first.ranges[TIME.name].median - per_byte * first.data_size_bytes
    if fixed < 0.01 * first.ranges[TIME.name].median:
        return []
    share = 100 * fixed / first.ranges[TIME.name].median
    return [
        f"{fixed:.4g} ms, {share:.0f} % here, do not grow with the size (line through the medians of "
        f"{data_size(first.data_size_bytes)} and {data_size(last.data_size_bytes)}): latency of its steps"
    ]


def _about_limits(expectation: Expectation) -> list[str]:
    limits = [limit for result in expectation.main for limit in result.limits]
    if not limits:
        return []
    worst = max(limit.false_alarm for limit in limits)
    lines = [
        f"`accept` is value {max(limit.order for limit in limits)} of "
        f"{max(limit.trials for limit in limits)} "
        "from the worst: a fabric that is as the plan says fails one with a probability of "
        f"{100 * worst:.2g} % at "
        "most, whatever the distribution (order statistics)",
    ]
    if worst > expectation.false_alarm:
        lines.append(
            f"{100 * expectation.false_alarm:.2g} % needs more trials: --seeds {needed_seeds(expectation)}"
        )
    if expectation.allowance:
        lines.append(f"each is {100 * expectation.allowance:g} % looser than that, as --allowance says")
    return [*lines, "the plan's hosts are ideal unless it says otherwise: --allowance for what yours add"]


def _checked(expectation: Expectation) -> list[str]:
    """Return the deviation of the trials from packets, and whether limits can be derived from them."""
    return [
        f"{data_size(check.data_size_bytes)}, {check.variant}: {check.time_ms:.5g} ms, by packets "
        f"{check.packets_ms:.5g} ms: {check.deviation_percent:+.1f} %"
        for check in expectation.checked
    ]


def plan_series(expectation: Expectation) -> list[ExpectedSeries]:
    """Return the curves of the picture: bus bandwidth of the slowest job, or of all together, by size."""
    curves: dict[str, list[ExpectedPoint]] = {}
    has_variants = len({result.variant for result in expectation.main}) > 1
    for result in sorted(expectation.main, key=lambda result: result.data_size_bytes):
        if busbw := result.ranges.get(BUS_BANDWIDTH.name):
            variant = result.variant if has_variants else ""
            name = ", ".join(filter(None, (variant, axes_text(result.axes), _job(result))))
            limit = next((limit for limit in result.limits if limit.metric == BUS_BANDWIDTH.name), None)
            share = result.ranges.get(IDEAL_SHARE.name)
            point = ExpectedPoint(
                result.data_size_bytes,
                busbw,
                limit.minimum if limit else None,
                100 * busbw.median / share.median if share and share.median else None,
                result.choice,
                (result.bound or "none alone") if result.gains else "",
                gain_text(result) if result.gains else "",
            )
            curves.setdefault(name, []).append(point)
    return [ExpectedSeries(name, points) for name, points in curves.items()]


def far_text(expectation: Expectation) -> str:
    """List where the model deviates too far from packets for limits; empty if nowhere."""
    far = [check for check in expectation.checked if abs(check.deviation_percent) > FAR_PERCENT]
    texts = [
        f"{data_size(check.data_size_bytes)} {check.variant} by {check.deviation_percent:+.0f} %"
        for check in far
    ]
    return (
        f"backend {expectation.backend} is more than {FAR_PERCENT:g} % off packets at {', '.join(texts)}: "
        "make no limits of that, `--backend sim` gives them"
        if far
        else ""
    )


def needed_seeds(expectation: Expectation) -> int:
    """Return the number of seeds needed for the requested probability of a false alarm."""
    return -(-trials_needed(expectation.false_alarm) // max(1, expectation.placements))


def expectation_json(expectation: Expectation, benchmarks: Mapping[str, str]) -> str:
    """Return everything as one JSON object; `expected` has single jobs as well as their combinations."""
    content = {
        "plan": expectation.plan,
        "backend": expectation.backend,
        "seeds": expectation.seeds,
        "placements": expectation.placements,
        "false_alarm": expectation.false_alarm,
        "allowance": expectation.allowance,
        "expected": [_object(result) for result in expectation.expected],
        "checked": checked_rows(expectation),
        "criteria": criteria(expectation),
        "nccl_tests": [asdict(test) for test in nccl_tests(expectation, benchmarks)],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _object(result: Expected) -> dict[str, Any]:
    return {
        "variant": result.variant,
        "job": result.job if result.is_of_one_job else None,
        "of": "job" if result.is_of_one_job else result.job,
        "collective": result.collective,
        "ranks": result.ranks,
        "data_size_bytes": result.data_size_bytes,
        "nccl": result.choice or None,
        "axes": dict(result.axes),
        "trials": result.trials,
        "incomplete": result.incomplete,
        "ranges": {name: asdict(values) for name, values in result.ranges.items()},
        "limits": [
            {
                "metric": limit.metric,
                "min": limit.minimum,
                "max": limit.maximum,
                "false_alarm": limit.false_alarm,
            }
            for limit in result.limits
        ],
        "gains": dict(result.gains),
        "decides": list(result.decides),
    }


def checked_rows(expectation: Expectation) -> list[dict[str, Any]]:
    """Return trials compared with those of packets."""
    return [asdict(check) | {"deviation_percent": check.deviation_percent} for check in expectation.checked]


def rows_of(expectation: Expectation) -> list[dict[str, Any]]:
    """Return a row for each variant, size, job and metric."""
    return [
        {
            "variant": result.variant,
            "job": result.job,
            "collective": result.collective,
            "ranks": result.ranks,
            "data_size_bytes": result.data_size_bytes,
            "trials": result.trials,
            "metric": name,
            **asdict(values),
            "min": limit.minimum if limit else None,
            "max": limit.maximum if limit else None,
            "false_alarm": limit.false_alarm if limit else None,
        }
        for result in expectation.expected
        for name, values in result.ranges.items()
        for limit in [next((limit for limit in result.limits if limit.metric == name), None)]
    ]


def expectation_csv(expectation: Expectation) -> str:
    """Return the same rows as CSV."""
    rows = rows_of(expectation)
    return rows_csv(list(rows[0]) if rows else ["variant"], rows).rstrip("\n")


def criteria(expectation: Expectation) -> list[dict[str, Any]]:
    """Return criteria in the form of a plan: one applies at every size, so it has the loosest limit."""
    loosest: dict[tuple[str, str, str], dict[str, Any]] = {}
    multi_job_variants = {result.variant for result in expectation.expected if not result.is_of_one_job}
    variants = {result.variant for result in expectation.expected}
    for result in expectation.expected:
        for limit in result.limits:
            if not result.is_of_one_job or limit.metric not in (BUS_BANDWIDTH.name, IDEAL_SHARE.name):
                continue
            key = (result.variant, result.job, limit.metric)
            low = min(limit.minimum or 0.0, loosest.get(key, {}).get("min", float("inf")))
            criterion: dict[str, Any] = {"metric": limit.metric, "min": low}
            if result.variant in multi_job_variants:
                criterion["job"] = result.job
            if len(variants) > 1 or result.variant != "base":
                criterion["variant"] = result.variant
            loosest[key] = criterion
    return list(loosest.values())


def criteria_yaml(expectation: Expectation) -> str:
    """Return the criteria as YAML for the plan."""
    limits = [limit for result in expectation.expected for limit in result.limits]
    probability = max((limit.false_alarm for limit in limits), default=0.0)
    lines = [
        f"# {expectation.plan}, {counted(expectation.seeds, 'seed')}, backend {expectation.backend}; "
        "each fails a fabric that is as the "
        f"plan says with a probability of {100 * probability:.2g} % at most.",
        "# A criterion holds at every size: of several it has the loosest limit; `expect --format json` "
        "has each.",
        "criteria:",
    ]
    for criterion in criteria(expectation):
        values = {
            name: rounded_down(value, 6) if isinstance(value, float) else value
            for name, value in criterion.items()
        }
        lines.append(f"  - {{{', '.join(f'{name}: {value}' for name, value in values.items())}}}")
    return "\n".join(lines) if len(lines) > 3 else "\n".join([*lines[:2], "criteria: []"])


@dataclass(frozen=True)
class NcclTest:
    """A call of nccl-tests that fails if bandwidth is too low.

    Attributes:
        variant: The variant.
        job: The job, or `together`.
        ranks: Number of GPUs.
        command: The environment and the command line.
        min_average_busbw_gb_per_s: Limit of the average that nccl-tests prints, over sizes and placements.
        false_alarm: Its probability of a false alarm.
    """

    variant: str
    job: str
    ranks: int
    command: str
    min_average_busbw_gb_per_s: float
    false_alarm: float


def nccl_tests(expectation: Expectation, benchmarks: Mapping[str, str]) -> list[NcclTest]:
    """Return a call for each variant and job with a collective of nccl-tests; one per size if irregular.

    Args:
        expectation: The expectation.
        benchmarks: Name of the program of each collective.
    """
    groups: dict[tuple[str, str, str], list[Expected]] = {}
    as_one = {result.variant for result in expectation.expected if result.job == TOGETHER}
    for result in expectation.expected:
        if result.job != SLOWEST and result.collective in benchmarks and BUS_BANDWIDTH.name in result.ranges:
            if result.variant in as_one and result.job != TOGETHER:
                continue
            groups.setdefault((result.variant, result.job, str(result.axes)), []).append(result)
    return [test for group in groups.values() for test in _tests(expectation, group, benchmarks)]


def _tests(
    expectation: Expectation, group: Sequence[Expected], benchmarks: Mapping[str, str]
) -> list[NcclTest]:
    ordered = sorted(group, key=lambda result: result.data_size_bytes)
    factor = constant_ratio([result.data_size_bytes for result in ordered])
    parts = [ordered] if factor else [[result] for result in ordered]
    return [_test(expectation, part, factor or 2, benchmarks) for part in parts if mean_bandwidths(part)]


def rounded_down(value: float, digits: int) -> str:
    """Format a limit with `digits` significant digits, rounded down."""
    exact = Decimal(value)
    return f"{Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(exact):f}"


def constant_ratio(sizes: Sequence[int]) -> int | None:
    """Return the constant integer ratio of consecutive sizes, or `None` if there is none."""
    ratios = {after / before for before, after in pairwise(sizes)}
    if not ratios:
        return 2
    ratio = ratios.pop()
    return int(ratio) if not ratios and ratio == int(ratio) and ratio > 1 else None


def _test(
    expectation: Expectation, part: Sequence[Expected], factor: int, benchmarks: Mapping[str, str]
) -> NcclTest:
    limit = limit_of(
        BUS_BANDWIDTH.name, mean_bandwidths(part), expectation.false_alarm, expectation.allowance
    )
    least = limit.minimum or 0.0
    sizes = [nccl_size(result.data_size_bytes) for result in (part[0], part[-1])]
    command = (
        f"NCCL_TESTS_MIN_BW={rounded_down(least / NCCL_MARGIN, 4)} {benchmarks[part[0].collective]} "
        f"-b {sizes[0]} -e {sizes[1]} -f {factor} -g 1 -c 1"
    )
    return NcclTest(part[0].variant, part[0].job, part[0].ranks, command, least, limit.false_alarm)


def nccl_size(size: int) -> str:
    """Format a data size as nccl-tests takes it."""
    for unit, suffix in _SUFFIXES:
        if size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def nccl_text(expectation: Expectation, benchmarks: Mapping[str, str]) -> str:
    """Return the calls of nccl-tests, each with an explanation."""
    lines = [
        f"# nccl-tests fails where the average bus bandwidth is below {NCCL_MARGIN:g} of "
        "NCCL_TESTS_MIN_BW, which is set",
        "# so that the limit is the one named; start as many processes as there are ranks, one for each GPU",
    ]
    tests = nccl_tests(expectation, benchmarks)
    for test in tests:
        lines.append(
            f"# {test.variant}, {test.job}, {test.ranks} ranks: average of "
            f"{test.min_average_busbw_gb_per_s:.4g} "
            f"GB/s, false alarm {100 * test.false_alarm:.2g} %"
        )
        lines.append(test.command)
    if not tests:
        lines.append("# no job of the plan does what nccl-tests has")
    return "\n".join(lines)
