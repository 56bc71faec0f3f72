"""Finds causes in bandwidth by size and repetition: latency, collisions, reordering, congestion, placement.

Rules: `too_small`, `uneven`, `reordered`, `congested`, `placements`. `repeated` returns the repetitions of a
size (`Repetition`), `is_uneven` compares them; `scattered` and `is_half_slow` compare in-place and
out-of-place results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fabricbench.measured.causes.evidence import (
    FALL_MIN,
    LIKELY,
    POSSIBLE,
    UNEVEN,
    Suspect,
    curve,
    fallen,
    measure_larger,
    reached,
    tool,
)
from fabricbench.measured.causes.switch_counters import (
    CONGESTION,
    READS_THEM,
    congestion_denied,
    congestion_evidence,
    uplink_spread,
)
from fabricbench.measured.rule_input import GOOD, LARGE_BYTES, Point, RuleInput
from fabricbench.measured.runs import described

_SCATTERED, _SCATTERED_MOST = 1.3, 1.5
"""Ratios of both placements above which they scatter: at two sizes or more, and at one of these."""
_PLACED = 1.15
_MOST = 0.5
"""Fraction of the slower placement's missing bandwidth that the faster reaches if placement is the cause."""
_BEST = 0.95
_TIME = re.compile(r"[T ]?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?")
_PLACEMENTS = ("out-of-place", "in-place")


@dataclass(frozen=True)
class Repetition:
    """Bandwidths of one size, measured several times.

    Attributes:
        values: The bandwidths [GB/s].
        dates: Dates of the measurements that the file has.
    """

    values: Sequence[float] = ()
    dates: Sequence[str] = ()


def repeated(case: RuleInput) -> Repetition:
    """Return the repetitions that differ most: one size of one run, or of equal runs of one day."""
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in case.large:
        settings = {name: value for name, value in point.differs.items() if name != "date"}
        day = " ".join(_TIME.sub(" ", point.differs.get("date", "")).split())
        key = (point.benchmark, point.ranks, described(settings), day, point.size_bytes, point.placement)
        groups.setdefault(key, []).append(point)
    repetitions = [
        Repetition(
            [point.busbw or 0.0 for point in points],
            [date for point in points if (date := point.differs.get("date", ""))],
        )
        for points in groups.values()
    ]
    return max(
        repetitions,
        key=lambda repetition: max(repetition.values) / min(repetition.values),
        default=Repetition(),
    )


def is_uneven(values: Sequence[float]) -> bool:
    """Return whether repetitions differ by more than noise."""
    return len(values) > 1 and max(values) > UNEVEN * min(values)


def scattered(case: RuleInput) -> list[str]:
    """Return lines on the sizes at which placements differ most, if neither is always faster; else none."""
    large_rates = [item for item in _placed(case).items() if item[0] >= FALL_MIN]
    ratios = {size: rates["in-place"] / rates["out-of-place"] for size, rates in large_rates}
    scatter_ratios = {size: ratio for size, ratio in ratios.items() if max(ratio, 1 / ratio) > _SCATTERED}
    signs = {ratio > 1 for ratio in ratios.values() if max(ratio, 1 / ratio) > 1.1}
    most = max((max(ratio, 1 / ratio) for ratio in scatter_ratios.values()), default=0.0)
    if len(scatter_ratios) < 2 or len(signs) < 2 or most < _SCATTERED_MOST:
        return []
    worst = sorted(scatter_ratios, key=lambda size: -max(scatter_ratios[size], 1 / scatter_ratios[size]))[:3]
    placed = _placed(case)
    return [
        f"{size} B: {', '.join(f'{name} {placed[size][name]:.4g}' for name in _PLACEMENTS)} GB/s"
        for size in sorted(worst)
    ]


def _placed(case: RuleInput) -> Mapping[int, Mapping[str, float]]:
    """Return the bandwidths of both placements by size, of the judged run."""
    sizes: dict[int, dict[str, list[float]]] = {}
    for point in case.of_run:
        sizes.setdefault(point.size_bytes, {}).setdefault(point.placement, []).append(point.busbw or 0.0)
    return {
        size: {name: median(values) for name, values in rates.items()}
        for size, rates in sizes.items()
        if set(_PLACEMENTS) <= rates.keys()
    }


def _scatter_explains(case: RuleInput) -> float | None:
    """Return 0 if both placements agree at the judged size, where scatter explains nothing; else none."""
    rates = _placed(case).get(case.best.size_bytes) if case.best else None
    agree = rates is not None and max(rates.values()) < _PLACED * min(rates.values())
    return 0.0 if agree else None


def reordered(case: RuleInput) -> Iterator[Suspect]:
    """Packets out of order by adaptive routing or spraying, which go-back-N retransmits."""
    spray = case.setting("NCCL_IB_ADAPTIVE_ROUTING")
    out_of_order = case.setting("NCCL_IB_OOO_RQ")
    scatter = scattered(case)
    if not scatter or not spray or spray[1] == "0" or (out_of_order and out_of_order[1] == "1"):
        return
    evidence = [str(spray[2]), *([str(out_of_order[2])] if out_of_order else [])]
    yield Suspect(
        "reordering",
        "packets arrive out of order, as paths change within a message, and go-back-N sends windows again; "
        "or flows collide",
        LIKELY if out_of_order else POSSIBLE,
        [*dict.fromkeys(evidence), *scatter],
        "out_of_sequence, packet_seq_err and roce_adp_retrans of hosts during the run; "
        "NCCL_IB_ADAPTIVE_ROUTING=0 against 1 with NCCL_IB_OOO_RQ=1, if the adapter receives out of order",
        _scatter_explains(case),
    )


def uneven(case: RuleInput) -> Iterator[Suspect]:
    """Repetitions of one size that differ, or uplinks with unequal load."""
    worst = repeated(case)
    evidence, confidence = uplink_spread(case)
    explains = None
    if is_uneven(worst.values):
        span = f"{min(worst.values):.4g} to {max(worst.values):.4g} GB/s"
        when = f", at {', '.join(dict.fromkeys(worst.dates))}" if worst.dates else ""
        evidence = [f"{len(worst.values)} runs of one size: {span}{when}", *evidence]
        is_strong = len(worst.values) > 3 and not worst.dates
        confidence = max(confidence, LIKELY if is_strong else POSSIBLE)
    elif (scatter := scattered(case)) and not case.setting("NCCL_IB_ADAPTIVE_ROUTING"):
        evidence, confidence = [*scatter, *evidence], max(confidence, POSSIBLE)
        explains = _scatter_explains(case)
    if confidence:
        yield Suspect(
            "collisions",
            "queue pairs share an uplink while others idle (ECMP): the same size is fast and slow in turn, "
            "or neighbours load some uplinks",
            confidence,
            [*evidence, *reached(case)] if case.switches else evidence,
            "bytes and queue pairs of each uplink of the leaves during a slow and a fast run (`--counters` "
            "with `--uplinks`); NCCL_IB_QPS_PER_CONNECTION=4; adaptive routing; `fabricbench expect PLAN` "
            "gives the range that hashing makes",
            explains,
        )


def congested(case: RuleInput) -> Iterator[Suspect]:
    """Bandwidth that falls above a size, or drops, pauses and marks in counters of switches."""
    evidence, confidence = congestion_evidence(case)
    fall = fallen(case)
    if fall:
        evidence = [fall, *evidence, *congestion_denied(case)]
    if not evidence:
        return
    yield Suspect(
        CONGESTION,
        "buffers fill, pauses spread, or marks cut rates for long: bandwidth falls beyond a size"
        if fall
        else "switches dropped, paused or marked: buffers fill, pauses spread, or marks cut rates for long",
        max(confidence, POSSIBLE),
        [*evidence, *reached(case)] if case.switches else evidence,
        "rx_prio3_pause and tx_prio3_pause, np_cnp_sent, out_of_sequence, rx_discards_phy of hosts, "
        f"pause and drop counters of switches, before and after one large run: {READS_THEM}",
    )


_PAIR_RISES = 4 << 20
"""Size of a message above which its fixed cost is negligible [B]: 4 MiB are 84 us at 400 Gb/s."""
_RISES = 1.15


def _still_rising(sizes: Sequence[tuple[int, float]]) -> str:
    """Return a line about bandwidth that still rises at the largest size; empty if it does not."""
    if len(sizes) < 2:
        return ""
    (before, slower), (last, faster) = sizes[-2:]
    is_best = faster >= max(value for _, value in sizes)
    if last <= 4 * before and is_best and faster > _RISES * slower:
        return f"{slower:.4g} GB/s at {before} B, {faster:.4g} GB/s at {last} B"
    return ""


def too_small(case: RuleInput) -> Iterator[Suspect]:
    """Sizes so small that latency limits the bandwidth."""
    sizes = curve(case)
    if (
        not sizes
        or case.plateau is None
        or case.is_latency
        or (case.ratio is not None and case.ratio >= GOOD)
    ):
        return
    if case.is_pair:
        if (rising := _still_rising(sizes)) and case.ratio is not None and sizes[-1][0] < _PAIR_RISES:
            yield Suspect(
                "sizes-too-small",
                "bandwidth still rises at the largest size: the cost of each message decides, not the rate",
                LIKELY,
                [rising, *reached(case)],
                measure_larger(case),
            )
        elif sizes[-1][0] < 64 << 10 and case.ratio is not None:
            yield Suspect(
                "sizes-too-small",
                "small messages: the cost of each decides, not the rate",
                LIKELY,
                [
                    f"{sizes[-1][0]} B is the largest message, and 64 KiB are 1.3 us at 400 Gb/s",
                    *reached(case),
                ],
                measure_larger(case),
            )
        return
    if len(sizes) < 2:
        return
    (before, slower), (last, faster) = sizes[-2:]
    is_rising = faster > 1.1 * slower and last <= 4 * before
    if is_rising and faster >= _BEST * max(value for _, value in sizes):
        yield Suspect(
            "sizes-too-small",
            "bandwidth still rises at the largest size: latency decides, not the rate",
            LIKELY if last < LARGE_BYTES else POSSIBLE,
            [f"{slower:.4g} GB/s at {before} B, {faster:.4g} GB/s at {last} B"],
            measure_larger(case),
        )


def _halves(case: RuleInput) -> tuple[list[float], dict[str, float]] | None:
    """Return ratios of in-place to out-of-place at large sizes and both medians, if one is always faster."""
    large = {point.size_bytes for point in case.large}
    rates = [placed_rates for size, placed_rates in _placed(case).items() if size in large]
    ratios = [placed_rates["in-place"] / placed_rates["out-of-place"] for placed_rates in rates]
    steady_ratios = [ratio for ratio in ratios if max(ratio, 1 / ratio) > _PLACED]
    if (
        not steady_ratios
        or 2 * len(steady_ratios) < len(ratios)
        or len({ratio > 1 for ratio in steady_ratios}) > 1
    ):
        return None
    if scattered(case):
        return None
    return ratios, {name: median(placed_rates[name] for placed_rates in rates) for name in _PLACEMENTS}


def is_half_slow(case: RuleInput) -> bool:
    """Return whether one placement is steadily below the target."""
    halves = _halves(case)
    return halves is not None and bool(case.target) and min(halves[1].values()) < GOOD * (case.target or 0.0)


def placements(case: RuleInput) -> Iterator[Suspect]:
    """In-place and out-of-place that differ, with the same one faster at every large size."""
    halves = _halves(case)
    if halves is None:
        return
    ratios, medians = halves
    is_steady = len(ratios) > 2 and all(max(ratio, 1 / ratio) > _PLACED for ratio in ratios)
    is_at_target = case.ratio is not None and case.ratio >= GOOD
    gained_part = 0.0
    if case.target and min(medians.values()) < case.target:
        gained_part = (max(medians.values()) - min(medians.values())) / (case.target - min(medians.values()))
    explains_most = gained_part >= _MOST
    yield Suspect(
        "placement",
        "in-place and out-of-place differ: the treatment of buffers decides, not the network",
        LIKELY if is_steady and (is_at_target or explains_most) else POSSIBLE,
        [
            f"in-place {medians['in-place']:.4g} GB/s, out-of-place {medians['out-of-place']:.4g} GB/s",
            f"{len(ratios)} sizes, the same one faster at each" if is_steady else "not at all sizes",
        ],
        "`-w 20 -n 100`: if both agree then, registration and first touch of buffers were measured"
        if tool(case) == "nccl"
        else "more rounds to warm up: if both agree then, registration of buffers was measured",
        None if is_at_target else gained_part if is_steady and explains_most else 0.0,
    )
