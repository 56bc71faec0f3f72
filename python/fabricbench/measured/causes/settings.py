"""Finds settings that may cause low bandwidth: runs of a file, or hosts of a run, differ in them.

Rules: `different_settings`, `hosts_differ`. `comparison` returns the two runs with the largest ratio of
bandwidths, and the settings that separate them, as `Comparison`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fabricbench.measured.causes.evidence import FALL_MIN, LIKELY, POSSIBLE, RATE_MIN, UNEVEN, Suspect
from fabricbench.measured.rule_input import RuleInput
from fabricbench.measured.runs import COMPUTED, described

QUEUE_PAIRS, RDMA_CM, MTU = "queue pairs", "rdma_cm qps", "mtu"
MEMORY: Final = ("memory", "buffers")
_WITHOUT_EFFECT: Final = (
    *(*COMPUTED, "date", "end", "local gid", "remote gid", "local lid", "remote lid", "local", "remote"),
    *("test", "gpus", "iters", "validation", "cuda device 0", "cuda device 1"),
)
"""Settings that leave the bandwidth as it is: addresses, dates, checks."""
_FOLLOWS: Final[Mapping[str, Sequence[str]]] = {
    "data ex. method": (RDMA_CM,),
    "cq moderation": (QUEUE_PAIRS, "tx depth", "options"),
    "max inline data": ("connection type", "tx depth"),
    "link type": ("nic",),
    "gid index": ("nic", RDMA_CM),
    "transport type": ("connection type",),
    "NCCL_IB_SPLIT_DATA_ON_QPS": ("NCCL_IB_QPS_PER_CONNECTION",),
    "NCCL_IB_OOO_RQ": ("NCCL_IB_ADAPTIVE_ROUTING",),
    "NCCL_MIN_NCHANNELS": ("NCCL_MAX_NCHANNELS",),
    "NCCL_MIN_CTAS": ("NCCL_MAX_CTAS",),
    "network": ("NCCL_NET", "NCCL_IB_DISABLE", "NCCL_NET_PLUGIN"),
    "device": ("host",),
}
"""Settings that follow from others: they are no second difference if one of these differs too."""


@dataclass(frozen=True)
class Comparison:
    """Two runs of a file, of one size and placement.

    Attributes:
        where: The size and placement.
        low: The lower bandwidth [GB/s], and the settings of its run.
        high: The higher one, likewise.
        names: Settings that differ between both and may have an effect.
        explains: Fraction of the missing bandwidth that the better run reaches.
    """

    where: str
    low: tuple[float, Mapping[str, str]]
    high: tuple[float, Mapping[str, str]]
    names: Sequence[str]
    explains: float | None

    @property
    def evidence(self) -> list[str]:
        """Both bandwidths with the settings of their runs."""
        return [
            f"{self.where}: {rate:.4g} GB/s with "
            + described({name: run.get(name, "") for name in self.names} or run)
            for rate, run in (self.low, self.high)
        ]

    def is_by(self, *names: str) -> bool:
        """Return whether only one setting separates the runs, and it is one of these."""
        return len(self.names) == 1 and self.names[0] in names


def comparison(case: RuleInput) -> Comparison | None:
    """Return the two runs that differ most in bandwidth, by a fifth or more; none where no run does."""
    by_key: dict[tuple[int, str], list[tuple[float, str]]] = {}
    runs, differs = _runs(case)
    for name, values in runs.items():
        for key, value in values.items():
            by_key.setdefault(key, []).append((value, name))
    ends = {key: (min(values), max(values)) for key, values in by_key.items()}
    ratios = {key: high[0] / low[0] for key, (low, high) in ends.items() if high[0] > UNEVEN * low[0]}
    if not ratios:
        return None
    size, placement = max(ratios, key=lambda key: ratios[key])
    (low, low_name), (high, high_name) = ends[size, placement]
    rate_of_fast_run = max(
        (runs[high_name].get((point.size_bytes, point.placement), 0.0) for point in case.large), default=0.0
    )
    explains = None
    if case.target and case.plateau and case.target > case.plateau:
        explains = min(1.0, max(0.0, (rate_of_fast_run - case.plateau) / (case.target - case.plateau)))
    slow, fast = differs[low_name], differs[high_name]
    size_and_placement = f"{size} B{f', {placement}' if placement else ''}"
    return Comparison(size_and_placement, (low, slow), (high, fast), _separating(slow, fast), explains)


def _separating(slow: Mapping[str, str], fast: Mapping[str, str]) -> list[str]:
    """Return the settings that differ between two runs, without those that follow from others."""
    differing = [
        name
        for name in dict.fromkeys([*slow, *fast])
        if slow.get(name, "") != fast.get(name, "") and name not in _WITHOUT_EFFECT
    ]
    independent = [name for name in differing if not set(_FOLLOWS.get(name, ())) & set(differing)]
    named_settings = [name for name in independent if name != "options"]
    return named_settings or independent or differing


def _runs(
    case: RuleInput,
) -> tuple[dict[str, dict[tuple[int, str], float]], dict[str, Mapping[str, str]]]:
    """Return bandwidth by size and placement of the judged runs that differ in more than their date."""
    least = RATE_MIN if case.is_pair else FALL_MIN
    runs: dict[str, dict[tuple[int, str], list[float]]] = {}
    settings: dict[str, Mapping[str, str]] = {}
    for point in case.judged:
        same_run = case.best and (point.benchmark, point.ranks) == (case.best.benchmark, case.best.ranks)
        differs = {name: value for name, value in point.differs.items() if name not in (*COMPUTED, "date")}
        if same_run and differs and point.busbw and point.size_bytes >= least:
            settings[described(differs)] = differs
            sizes = runs.setdefault(described(differs), {})
            sizes.setdefault((point.size_bytes, point.placement), []).append(point.busbw)
    return {
        name: {key: median(values) for key, values in sizes.items()} for name, sizes in runs.items()
    }, settings


_WITH_OWN_CAUSE: Final = (QUEUE_PAIRS, RDMA_CM, MTU, *MEMORY)
"""Settings with a cause of their own, named by the rules of a pair of hosts."""


def different_settings(case: RuleInput) -> Iterator[Suspect]:
    """Runs of a file that differ in a setting and in bandwidth."""
    pair = comparison(case)
    if pair is None:
        return
    is_one = len(pair.names) == 1 and not pair.is_by(*_WITH_OWN_CAUSE)
    yield Suspect(
        "different-settings",
        f"runs of this file differ in {pair.names[0]} alone, and so does their bandwidth"
        if len(pair.names) == 1
        else "runs of this file differ in a setting, and so does their bandwidth: they are no repetitions",
        LIKELY if is_one else POSSIBLE,
        pair.evidence,
        "the same run again, with only one of these settings changed at a time",
        pair.explains,
    )


_VARIABLES_MAX: Final = 4


def hosts_differ(case: RuleInput) -> Iterator[Suspect]:
    """Hosts of one run with other variables than the rest."""
    differing = list(case.facts.by_host.differing())
    if not differing:
        return
    name, hosts, _ = differing[0]
    more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
    who = f"{', '.join(hosts[:3])}{' and others' if len(hosts) > 3 else ''}"
    yield Suspect(
        "different-settings",
        f"{who} ran with another {name}{more} than the other hosts: a collective waits for its slowest host",
        LIKELY,
        [evidence for *_, evidence in differing[:_VARIABLES_MAX]],
        "the same run with the same variables on all hosts (`mpirun -x NAME`, `srun --export`; `env | grep "
        "NCCL_`, /etc/nccl.conf and ~/.nccl.conf of each host)",
    )
