"""Every metric of a job, declared once: name, unit, direction, formula, reference.

The names are those of `Summary`, of the JSON and CSV output and of the table `trials`. `docs/metrics.md`
repeats the formulas; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from fabricbench.analysis.kinds import JobKind


class Direction(StrEnum):
    """Which of two values is the better one."""

    LOWER = "lower"
    HIGHER = "higher"


class Scope(StrEnum):
    """What a metric is measured on."""

    JOB = "job"
    RUN = "run"


@dataclass(frozen=True)
class Metric:
    """A metric.

    Attributes:
        name: Its name in every output.
        title: Its name in words.
        unit: Unit of the value; empty for a pure number, `frames` and the like for a count.
        direction: Which of two values is the better one.
        formula: How it is computed from the record.
        reference: Where the definition comes from.
        scope: `job` if each job has its own value, `run` if all jobs of a trial share it.
        decimals: Decimals worth showing where a column has one unit; 0 for counts.
        ratio: Name of its ratio to that of the reference variant; empty if the ratio is not judged or shown
            beside it.
        kind: The kind of jobs that have it; none if all do.
    """

    name: str
    title: str
    unit: str
    direction: Direction
    formula: str
    reference: str
    scope: Scope = Scope.JOB
    decimals: int = 0
    ratio: str = ""
    kind: JobKind | None = None

    def concerns(self, kind: JobKind) -> bool:
        """Whether jobs of a kind have it, measured or not."""
        return self.kind in (None, kind)

    @property
    def phrase(self) -> str:
        """Its name within a sentence: in lower case, unless it begins with an abbreviation."""
        return self.title if self.title[:2].isupper() else f"{self.title[:1].lower()}{self.title[1:]}"


_NCCL = "nccl-tests, PERFORMANCE.md"
_ROUND = (
    "with barriers a round counts from the moment in which the first rank begins it to its last "
    "completed_ps, and the mean is the completion time; back to back it takes what it takes its slowest "
    "rank, and where rounds overlap the completion time is less than the mean. Rounds to warm up do not count"
)
_RANK_TIME = (
    "Intel MPI Benchmarks, IMB_output.c; from the moment in which the rank begins a round until all that it "
    "sends is acknowledged and all that it receives has arrived"
)
_OPEN_LOOP = "open-loop traffic of all ranks of the job; what was delivered later is a backlog"
_RANK = "nearest rank: the smallest value that is not exceeded by the given share of the chunks"
_FCT = "time from the first byte of a data chunk offered to the NIC to its last byte acknowledged"
_MEASURED = (
    "fio: completions of the measured time, which begins after the warm-up and ends with the duration, or "
    "with the "
    "last completion where there is none; storage jobs only"
)
_OPERATION = (
    "fio, clat: from the issue of a storage operation by its client to the arrival of its completion there"
)
_RDMA = "counters of RoCE test equipment and NICs"


def _fct(suffix: str, title: str, share: str, ratio: str = "") -> Metric:
    formula = f"{share} of fct_ps over the job's chunks / 1e9"
    reference = f"{_FCT}; {_RANK}"
    return Metric(
        f"fct_ms_{suffix}", f"FCT {title}", "ms", Direction.LOWER, formula, reference, decimals=4, ratio=ratio
    )


def _rank_time(suffix: str, title: str, share: str) -> Metric:
    formula = f"{share} of the mean time of a measured round at a rank / 1e9"
    name = f"rank_ms_{suffix}"
    title = f"Round at a rank, {title}"
    return Metric(
        name, title, "ms", Direction.LOWER, formula, _RANK_TIME, decimals=4, kind=JobKind.COLLECTIVE
    )


def _slowdown(suffix: str, title: str, share: str) -> Metric:
    formula = f"{share} of fct_ps / unloaded_ps over the job's chunks"
    reference = (
        "FCT from the offer of a message over that of the same message on an idle fabric; open loop only"
    )
    name, title = f"slowdown_{suffix}", f"Slowdown {title}"
    return Metric(name, title, "", Direction.LOWER, formula, reference, decimals=3, kind=JobKind.OPEN_LOOP)


def _operation(suffix: str, title: str, value: str, ratio: str = "") -> Metric:
    formula = f"{value} of fct_ps over the operations with a start_ps in the measured time / 1e6"
    name = f"operation_us_{suffix}"
    told = ("us", Direction.LOWER, formula, _OPERATION)
    return Metric(name, f"Operation {title}", *told, decimals=3, ratio=ratio, kind=JobKind.STORAGE)


def _count(
    name: str, title: str, unit: str, formula: str, reference: str, scope: Scope = Scope.JOB
) -> Metric:
    return Metric(name, title, unit, Direction.LOWER, formula, reference, scope)


METRICS: tuple[Metric, ...] = (
    Metric(
        "completion_time_ms",
        "Completion time",
        "ms",
        Direction.LOWER,
        "(end_ps - start_ps) of the job / rounds / 1e9; after rounds to warm up, time of the slowest rank "
        "for all rounds measured / rounds / 1e9; with barriers, sum of the times of the rounds / rounds / "
        "1e9",
        "job completion time: the job's start to the last acknowledgement of its last chunk; of a job that "
        "repeats, as in nccl-tests, the time of all rounds over their number",
        decimals=4,
        ratio="completion_time_ratio",
    ),
    Metric(
        "round_ms_min",
        "Shortest round",
        "ms",
        Direction.LOWER,
        "smallest time of a round / 1e9",
        _ROUND,
        decimals=4,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "round_ms_max",
        "Longest round",
        "ms",
        Direction.LOWER,
        "largest time of a round / 1e9",
        _ROUND,
        decimals=4,
        kind=JobKind.COLLECTIVE,
    ),
    _rank_time("min", "least (t_min)", "smallest value over the ranks"),
    _rank_time("mean", "mean (t_avg)", "mean over the ranks"),
    _rank_time("max", "most (t_max)", "largest value over the ranks"),
    Metric(
        "algbw_gb_per_s",
        "Algorithm bandwidth",
        "GB/s",
        Direction.HIGHER,
        "data_size_bytes / completion time in s / 1e9",
        _NCCL,
        decimals=3,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "busbw_gb_per_s",
        "Bus bandwidth",
        "GB/s",
        Direction.HIGHER,
        "algbw_gb_per_s * bus factor of the collective",
        _NCCL,
        decimals=3,
        ratio="busbw_ratio",
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "busbw_gb_per_s_min",
        "Bus bandwidth of the longest round",
        "GB/s",
        Direction.HIGHER,
        "busbw_gb_per_s * completion_time_ms / round_ms_max",
        _NCCL,
        decimals=3,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "busbw_gb_per_s_max",
        "Bus bandwidth of the shortest round",
        "GB/s",
        Direction.HIGHER,
        "busbw_gb_per_s * completion_time_ms / round_ms_min",
        _NCCL,
        decimals=3,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "ideal_percent",
        "Share of the ideal",
        "%",
        Direction.HIGHER,
        "100 * busbw_gb_per_s / (host line rate in bit/s / 8e9 * mtu / (mtu + 82))",
        "goodput of a port that carries nothing but full WRITE Middle packets: 62 bytes of headers and 20 of "
        "preamble and gap for each mtu bytes of payload (IBTA annex A17, IEEE 802.3)",
        decimals=2,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "offered_gb_per_s",
        "Offered",
        "GB/s",
        Direction.HIGHER,
        "sum of payload_bytes over the job's chunks / duration of its arrivals in s / 1e9",
        _OPEN_LOOP,
        decimals=3,
        kind=JobKind.OPEN_LOOP,
    ),
    Metric(
        "delivered_gb_per_s",
        "Delivered",
        "GB/s",
        Direction.HIGHER,
        "as offered, over the chunks with a delivered_ps within the duration",
        _OPEN_LOOP,
        decimals=3,
        ratio="delivered_ratio",
        kind=JobKind.OPEN_LOOP,
    ),
    _slowdown("mean", "mean", "mean"),
    _slowdown("p50", "P50", "50 % rank"),
    _slowdown("p95", "P95", "95 % rank"),
    _slowdown("p99", "P99", "99 % rank"),
    _slowdown("max", "maximum", "largest value"),
    Metric(
        "iops",
        "Operations per second",
        "1/s",
        Direction.HIGHER,
        "operations with a completed_ps in the measured time / that time in s",
        _MEASURED,
        ratio="iops_ratio",
        kind=JobKind.STORAGE,
    ),
    Metric(
        "storage_gb_per_s",
        "Storage throughput",
        "GB/s",
        Direction.HIGHER,
        "sum of payload_bytes over the operations with a completed_ps in the measured time / that time in "
        "s / 1e9",
        _MEASURED,
        decimals=3,
        kind=JobKind.STORAGE,
    ),
    _operation("min", "minimum", "smallest value"),
    _operation("p50", "P50", "50 % rank"),
    _operation("p95", "P95", "95 % rank"),
    _operation("p99", "P99", "99 % rank", "operation_p99_ratio"),
    _operation("p999", "P99.9", "99.9 % rank"),
    _operation("max", "maximum", "largest value"),
    _operation("mean", "mean", "mean", "operation_mean_ratio"),
    _fct("min", "minimum", "smallest value"),
    _fct("p50", "P50", "50 % rank"),
    _fct("p95", "P95", "95 % rank"),
    _fct("p99", "P99", "99 % rank", "fct_p99_ratio"),
    _fct("p999", "P99.9", "99.9 % rank"),
    _fct("max", "maximum", "largest value"),
    Metric(
        "fct_mean_ms",
        "FCT mean",
        "ms",
        Direction.LOWER,
        "sum of fct_ps over the job's chunks / number of chunks / 1e9",
        _FCT,
        decimals=4,
    ),
    Metric(
        "jain_fairness",
        "Jain's fairness index",
        "",
        Direction.HIGHER,
        "(sum r)^2 / (n * sum r^2) over the rates r = payload_bytes / fct_ps of the n chunks of the job's "
        "most frequent chunk size",
        "Jain, Chiu, Hawe, DEC-TR-301, 1984; 1 is fair, 1/n is one chunk taking all",
        decimals=4,
    ),
    Metric(
        "latency_us_min",
        "Frame latency, minimum",
        "us",
        Direction.LOWER,
        "smallest latency_min_ps over the job's chunks / 1e6",
        "first bit on the first link to last bit off the last link of a data frame; NICs excluded",
        decimals=3,
    ),
    Metric(
        "latency_us_mean",
        "Frame latency, mean",
        "us",
        Direction.LOWER,
        "sum of latency_mean_ps * rx_frames / sum of rx_frames over the job's chunks / 1e6",
        "as the minimum; weighted with the frames that arrived",
        decimals=3,
    ),
    Metric(
        "latency_us_max",
        "Frame latency, maximum",
        "us",
        Direction.LOWER,
        "largest latency_max_ps over the job's chunks / 1e6",
        "as the minimum",
        decimals=3,
    ),
    _count(
        "pfc_rx",
        "PFC received",
        "frames",
        "sum of pfc_rx over the ports of the job's hosts",
        "IEEE 802.1Q-2022, 36: pause frames with non-zero quanta that reached a NIC",
    ),
    _count("ecn_ce_rx", "ECN-CE received", "frames", "sum of ecn_ce_rx over the job's chunks", "RFC 3168"),
    _count(
        "cnp_tx",
        "CNP sent",
        "frames",
        "sum of cnp_tx over the job's chunks",
        "IBTA annex A17 (RoCEv2), congestion notification packet",
    ),
    _count("retransmits", "Retransmits", "frames", "sum of retransmits over the job's chunks", _RDMA),
    _count(
        "frames_lost",
        "Frames lost",
        "frames",
        "sum of frames_lost over its causes in the run's summary",
        _RDMA,
        Scope.RUN,
    ),
    Metric(
        "out_of_order_percent",
        "Out of order, ahead of turn",
        "%",
        Direction.LOWER,
        "100 * sum of out_of_order / sum of rx_frames over the job's chunks",
        "share of arrivals ahead of their turn, as NICs count frames out of sequence; those behind the "
        "newest (RFC 4737) are a table of their own",
        decimals=3,
    ),
    Metric(
        "link_load_max_to_mean",
        "Link load, max to mean",
        "",
        Direction.LOWER,
        "largest busy_ps / mean busy_ps over the links between switches, both directions; the worst tier",
        "imbalance of load balancing; 1 is even. None without links between switches or traffic on them",
        Scope.RUN,
        decimals=3,
    ),
    _count(
        "queue_max_bytes",
        "Deepest queue",
        "bytes",
        "largest queue_max_bytes over the ports of switches",
        "the frame in transmission excluded; None without switches",
        Scope.RUN,
    ),
)

BY_NAME: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in METRICS})
"""Each metric by its name, in the order of output."""

RATIOS: Mapping[str, Metric] = MappingProxyType({metric.ratio: metric for metric in METRICS if metric.ratio})
"""For the name of each ratio to the reference variant the metric that it is of; 1 is as the reference."""
HEADLINES: tuple[tuple[str, str], ...] = (
    ("iops", "iops_ratio"),
    ("slowdown_p99", "fct_p99_ratio"),
    ("completion_time_ms", "completion_time_ratio"),
)
"""The ratio that says most about a job: the first of a metric that the job has.

A slowdown is relative to an idle fabric of its own, which differs between variants, so open-loop traffic is
compared by its FCT.
"""
