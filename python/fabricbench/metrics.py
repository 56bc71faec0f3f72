"""Declarations of all metrics of a job: name, unit, formula, source, and the tables that show each.

The computed metrics, the metrics allowed in acceptance criteria, the columns of every output and the
reference page of metrics follow from `METRICS`, in its order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType


class Direction(StrEnum):
    """Which of two values is the better one."""

    LOWER = "lower"
    HIGHER = "higher"


class Scope(StrEnum):
    """What a metric is measured on."""

    JOB = "job"
    RUN = "run"


class Point(StrEnum):
    """Where a metric is seen: the three classes of observation point of the BMWG drafts.

    Attributes:
        FABRIC: At the boundary of the fabric, the Ethernet ports of the adapters: what a tap on the links of
            the hosts sees.
        DEVICE: What the counter of a switch or an adapter tells.
        ENDPOINT: From the post of a message to its completion, and what sender and receiver do about it.
    """

    FABRIC = "fabric"
    DEVICE = "device"
    ENDPOINT = "endpoint"


class JobKind(StrEnum):
    """What a job does, as far as its metrics depend on it."""

    COLLECTIVE = "collective"
    OPEN_LOOP = "open-loop"
    STORAGE = "storage"


class View(StrEnum):
    """A table that shows some of the metrics.

    Attributes:
        RUN: Jobs of a run, of whatever kind.
        REPEATS: The same and variants, where a collective repeats.
        ROUNDS: The times of its rounds, where there is room.
        RANKS: The same at single ranks, where barriers stand between rounds: what MPI benchmarks print.
        VARIANTS: Variants with their ratios, which leave less room.
        TENANTS: Jobs beside others and alone.
        SIZES: Two runs size by size, and results of benchmarks: what these measure.
        TRIALS: Trials in a list.
        TRIALS_PAGE: The same in the web application.
        TILES: What stands above all others of a trial there.
        ADAPTERS: What is of hosts as they are, where a plan has adapters or clocks of its own.
        SHARED: What is of a job where others use the fabric, too, in place of what is of the whole fabric.
        BMWG: The KPIs of the BMWG drafts on AI training fabrics, shown where somebody asks for them.
        FILES: Files and programs only.
    """

    RUN = "run"
    REPEATS = "repeats"
    ROUNDS = "rounds"
    RANKS = "ranks"
    VARIANTS = "variants"
    TENANTS = "tenants"
    SIZES = "sizes"
    TRIALS = "trials"
    TRIALS_PAGE = "trials-page"
    TILES = "tiles"
    ADAPTERS = "adapters"
    SHARED = "shared"
    BMWG = "bmwg"
    FILES = "files"


_ON_DEMAND = (View.BMWG,)
_IN_FILES = (View.FILES,)
_DECIMALS = {"GB/s": 2, "Gb/s": 3, "%": 2, "1/s": 0, "frames": 0, "messages": 0, "bytes": 0}
_DIGITS = {"ms": 5, "us": 5, "GB/s": 4, "Gb/s": 5, "ppm": 5, "": 4}


@dataclass(frozen=True)
class Metric:
    """A metric.

    Attributes:
        name: Its name in every output.
        title: Its name in words.
        unit: Unit of the value; empty for a pure number, `frames` and the like for a count.
        direction: Which of two values is the better one.
        formula: Its computation from the record.
        reference: Source of the definition.
        scope: `job` if each job has its own value, `run` if all jobs of a trial share it.
        point: Its observation point.
        kind: The kind of jobs that have it; none if all do.
        views: Tables that show it, in addition to those that show every metric.
        label: Its name at the head of a column.
        head: The same in a terminal, in lines; its label and unit unless there is a shorter one.
        group: Name of its group in JSON: `fct_ms_p50` is `{"fct_ms": {"p50": ...}}`.
        ratio: Name of its ratio to that of the reference variant; empty if the ratio is neither evaluated nor
            shown.
        alone_ratio: Name of its ratio to that of the job alone, without its neighbours; empty likewise.
        leads: The kind of jobs for which its ratio is the most important one.
        published: Its column in tables of published results; empty if they do not have it.
        least: The least value that it can have.
        most: The largest value; none if it has no bound.
        is_trouble: Whether any value but 0 indicates a fault.
        absent: Condition under which a complete job has none, in words after "none"; empty if it always has.
        scale: Factor from the value to the one shown: 1 but for a shorter unit.
    """

    name: str
    title: str
    unit: str
    direction: Direction
    formula: str
    reference: str
    scope: Scope = Scope.JOB
    point: Point = Point.ENDPOINT
    kind: JobKind | None = None
    views: Collection[View] = ()
    label: str = ""
    head: tuple[str, str] = ("", "")
    group: str = ""
    ratio: str = ""
    alone_ratio: str = ""
    leads: JobKind | None = None
    published: str = ""
    least: float = 0
    most: float | None = None
    is_trouble: bool = False
    absent: str = ""
    scale: float = 1

    def in_microseconds(self) -> Metric:
        """Return a time in ms as it is shown in us."""
        head = (self.head[0], "us") if any(self.head) else self.head
        return replace(self, unit="us", head=head, scale=1000)

    def concerns(self, kind: JobKind) -> bool:
        """Whether jobs of a kind have it, measured or not."""
        return self.kind in (None, kind)

    @property
    def is_count(self) -> bool:
        """Whether its values are whole numbers."""
        return self.unit in {"frames", "messages", "bytes"}

    @property
    def is_on_demand(self) -> bool:
        """Whether tables for people show it only on request; files and programs get all metrics."""
        return tuple(self.views) in (_ON_DEMAND, _IN_FILES)

    @property
    def decimals(self) -> int | None:
        """Decimals to show in a wide column; none if values differ too much for that."""
        return _DECIMALS.get(self.unit)

    @property
    def digits(self) -> int | None:
        """Significant digits to show in a narrow column; none if decimals are enough."""
        return _DIGITS.get(self.unit)

    @property
    def lines(self) -> tuple[str, str]:
        """The head of its column in a terminal."""
        return self.head if any(self.head) else (self.label, self.unit)

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
_BMWG = "draft-calabria-bmwg-ai-fabric-training-bench"


_RUNS = (View.RUN, View.VARIANTS)
_WITH_TENANTS = (*_RUNS, View.TENANTS)
_EVERYWHERE = (*_WITH_TENANTS, View.SIZES, View.TRIALS, View.TRIALS_PAGE, View.TILES)
_SHORT = {"minimum": "min", "maximum": "max"}


def _fct(
    suffix: str,
    title: str,
    share: str,
    views: Collection[View] = (),
    ratio: str = "",
    leads: JobKind | None = None,
    published: str = "",
) -> Metric:
    return Metric(
        f"fct_ms_{suffix}",
        f"FCT {title}",
        "ms",
        Direction.LOWER,
        f"{share} of fct_ps over the job's chunks / 1e9",
        f"{_FCT}; {_RANK}",
        views=views,
        label=f"FCT {_SHORT.get(title, title)}",
        group="fct_ms",
        ratio=ratio,
        leads=leads,
        published=published,
    )


def _rank_time(suffix: str, title: str, share: str, head: tuple[str, str]) -> Metric:
    return Metric(
        f"rank_ms_{suffix}",
        f"Round at a rank, {title}",
        "ms",
        Direction.LOWER,
        f"{share} of the mean time of a measured round at a rank / 1e9",
        _RANK_TIME,
        kind=JobKind.COLLECTIVE,
        views=[View.RANKS],
        label=f"rank {suffix}",
        head=head,
    )


def _slowdown(suffix: str, title: str, share: str, views: Collection[View] = ()) -> Metric:
    label = _SHORT.get(title, title)
    return Metric(
        f"slowdown_{suffix}",
        f"Slowdown {title}",
        "",
        Direction.LOWER,
        f"{share} of fct_ps / unloaded_ps over the job's chunks",
        "FCT from the offer of a message over that of the same message on an idle fabric; open loop only",
        kind=JobKind.OPEN_LOOP,
        views=views,
        label=label,
        head=("slowdown", label),
        group="slowdown",
    )


def _operation(suffix: str, title: str, value: str, views: Collection[View], ratio: str = "") -> Metric:
    is_mean = suffix == "mean"
    return Metric(
        f"operation_us_{suffix}",
        f"Operation {title}",
        "us",
        Direction.LOWER,
        f"{value} of fct_ps over the operations that were outstanding in the measured time, each weighted "
        "with the part of its fct_ps that lies in it, over its fct_ps / 1e6",
        _OPERATION,
        kind=JobKind.STORAGE,
        views=views,
        label="latency mean" if is_mean else _SHORT.get(title, title),
        head=("latency", "mean us") if is_mean else ("", ""),
        group="operation_us",
        ratio=ratio,
    )


def _chunk_busbw(name: str, title: str, value: str) -> Metric:
    return Metric(
        f"chunk_busbw_gb_per_s_{name}",
        f"busbw, {title}",
        "GB/s",
        Direction.HIGHER,
        f"{value} of payload_bytes / fct_ps * 1000 over the job's chunks",
        "bus factor 1, as of sendrecv in nccl-tests, doc/PERFORMANCE.md: a chunk is a message from one rank "
        "to another",
        label=f"chunk busbw {name}",
        group="chunk_busbw_gb_per_s",
    )


def _latency(suffix: str, title: str, formula: str, reference: str) -> Metric:
    name, title = f"latency_us_{suffix}", f"Frame latency, {title}"
    return Metric(
        name, title, "us", Direction.LOWER, formula, reference, point=Point.FABRIC, group="latency_us"
    )


def _share(suffix: str, title: str, share: str) -> Metric:
    return Metric(
        f"sender_share_percent_{suffix}",
        f"Share of a sender, {title}",
        "%",
        Direction.HIGHER if suffix == "min" else Direction.LOWER,
        f"100 * {share} rate of a sending rank / sum of them; the rate is the sum of payload_bytes over its "
        "delivered chunks / the time from its first start_ps to its last delivered_ps, of open-loop traffic "
        "the sum over its chunks with a delivered_ps within the duration",
        "how equally senders share what they meet; 100 / n is equal",
        views=[View.ADAPTERS],
        label=f"sender share {suffix}",
        head=("sender", suffix),
        group="sender_share_percent",
        most=100,
        absent="where not every chunk has a row",
    )


def _server_use(name: str, title: str, formula: str, reference: str, absent: str) -> tuple[Metric, ...]:
    """Return the least, median and largest use of a part of the servers of a job."""
    words = {"min": "least", "median": "median", "max": "largest"}
    return tuple(
        Metric(
            f"{name}_percent_{suffix}",
            f"{title}, {word}",
            "%",
            Direction.HIGHER,
            f"{word} of 100 * {formula}",
            reference,
            kind=JobKind.COLLECTIVE,
            views=_IN_FILES,
            label=f"{title[:1].lower()}{title[1:]} {suffix}",
            group=f"{name}_percent",
            absent=absent,
        )
        for suffix, word in words.items()
    )


def _frames(
    name: str,
    title: str,
    label: str,
    head: tuple[str, str],
    formula: str,
    reference: str,
    scope: Scope = Scope.JOB,
    *,
    is_trouble: bool = False,
) -> Metric:
    return Metric(
        name,
        title,
        "frames",
        Direction.LOWER,
        formula,
        reference,
        scope,
        Point.DEVICE if scope is Scope.RUN else Point.ENDPOINT,
        views=(*_WITH_TENANTS, View.TILES) if scope is Scope.RUN else _WITH_TENANTS,
        label=label,
        head=head,
        published=name,
        is_trouble=is_trouble,
    )


def _on_links(
    name: str, title: str, label: str, head: tuple[str, str], formula: str, reference: str
) -> Metric:
    """Return a count of frames that a tap on the links of hosts sees as well."""
    return replace(_frames(name, title, label, head, formula, reference), point=Point.FABRIC)


BUS_BANDWIDTH = Metric(
    "busbw_gb_per_s",
    "Bus bandwidth",
    "GB/s",
    Direction.HIGHER,
    "algbw_gb_per_s * bus factor of the collective",
    _NCCL,
    kind=JobKind.COLLECTIVE,
    views=_EVERYWHERE,
    label="busbw",
    ratio="busbw_ratio",
    published="busbw_gb_per_s",
)
IDEAL_SHARE = Metric(
    "ideal_percent",
    "Share of the ideal",
    "%",
    Direction.HIGHER,
    "100 * busbw_gb_per_s / (host line rate in bit/s / 8e9 * mtu / (mtu + 82))",
    "goodput of a port that carries nothing but full WRITE Middle packets: 62 bytes of headers and 20 of "
    "preamble and gap for each mtu bytes of payload (IBTA annex A17, IEEE 802.3)",
    kind=JobKind.COLLECTIVE,
    views=_EVERYWHERE,
    label="of ideal",
    head=("ideal", "%"),
    published="ideal_percent",
    most=100,
)
PAUSES = _on_links(
    "pfc_rx",
    "PFC received",
    "PFC",
    ("PFC", "rx"),
    "sum of pfc_rx over the ports of the job's hosts",
    "IEEE 802.1Q-2022, 36: pause frames with non-zero quanta that reached a NIC",
)
ROUNDS = Metric(
    "rounds",
    "Rounds",
    "",
    Direction.HIGHER,
    "complete rounds, without those to warm up",
    "",
    kind=JobKind.COLLECTIVE,
    views=[View.REPEATS],
    label="rounds",
)
"""Number of rounds over which the metrics of a job are computed: a column of the outputs, not a metric."""
_COLUMNS = (
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
        views=_EVERYWHERE,
        label="time",
        ratio="completion_time_ratio",
        alone_ratio="interference_factor",
        leads=JobKind.COLLECTIVE,
        published="completion_time_ms",
    ),
    ROUNDS,
    Metric(
        "round_ms_min",
        "Shortest round",
        "ms",
        Direction.LOWER,
        "smallest time of a round / 1e9",
        _ROUND,
        kind=JobKind.COLLECTIVE,
        views=[View.ROUNDS],
        label="shortest",
    ),
    Metric(
        "round_ms_max",
        "Longest round",
        "ms",
        Direction.LOWER,
        "largest time of a round / 1e9",
        _ROUND,
        kind=JobKind.COLLECTIVE,
        views=[View.ROUNDS],
        label="longest",
    ),
    _rank_time("min", "least (t_min)", "smallest value over the ranks", ("at a rank", "min ms")),
    _rank_time("mean", "mean (t_avg)", "mean over the ranks", ("mean", "ms")),
    _rank_time("max", "most (t_max)", "largest value over the ranks", ("max", "ms")),
    Metric(
        "algbw_gb_per_s",
        "Algorithm bandwidth",
        "GB/s",
        Direction.HIGHER,
        "data_size_bytes / completion time without compute time in s / 1e9",
        _NCCL,
        kind=JobKind.COLLECTIVE,
        views=[View.RUN, View.SIZES],
        label="algbw",
        published="algbw_gb_per_s",
    ),
    BUS_BANDWIDTH,
    Metric(
        "busbw_gb_per_s_min",
        "Bus bandwidth of the longest round",
        "GB/s",
        Direction.HIGHER,
        "busbw_gb_per_s * completion_time_ms / round_ms_max, both without compute time",
        _NCCL,
        kind=JobKind.COLLECTIVE,
    ),
    Metric(
        "busbw_gb_per_s_max",
        "Bus bandwidth of the shortest round",
        "GB/s",
        Direction.HIGHER,
        "busbw_gb_per_s * completion_time_ms / round_ms_min, both without compute time",
        _NCCL,
        kind=JobKind.COLLECTIVE,
    ),
    IDEAL_SHARE,
    Metric(
        "offered_gb_per_s",
        "Offered",
        "GB/s",
        Direction.HIGHER,
        "sum of payload_bytes over the job's chunks / duration of its arrivals in s / 1e9",
        _OPEN_LOOP,
        kind=JobKind.OPEN_LOOP,
        views=_RUNS,
        label="offered",
    ),
    Metric(
        "delivered_gb_per_s",
        "Delivered",
        "GB/s",
        Direction.HIGHER,
        "sum of payload_bytes over the chunks with a delivered_ps within the duration of the arrivals / "
        "that in s / 1e9",
        _OPEN_LOOP,
        kind=JobKind.OPEN_LOOP,
        views=(*_RUNS, View.TILES),
        label="delivered",
        ratio="delivered_ratio",
    ),
    Metric(
        "out_of_service_us",
        "Out-of-service time",
        "us",
        Direction.LOWER,
        "largest over the sending ranks of 8e6 * sum of payload_bytes over its chunks without a delivered_ps "
        "/ rate_bps of its arrivals; of `process: constant` alone",
        "RFC 6412, loss-derived method: frames lost of a stream over its rate",
        kind=JobKind.OPEN_LOOP,
        views=_RUNS,
        label="out of service",
        head=("out of", "service us"),
        absent="where not every chunk has a row",
    ),
    Metric(
        "delivered_percent",
        "Delivered of what was offered",
        "%",
        Direction.HIGHER,
        "100 * delivered_gb_per_s / offered_gb_per_s",
        "what is on its way at the end of the duration is not delivered; less than that is a backlog",
        kind=JobKind.OPEN_LOOP,
        label="delivered",
        head=("delivered", "%"),
        most=100,
    ),
    Metric(
        "goodput_gbps",
        "Goodput",
        "Gb/s",
        Direction.HIGHER,
        "sum of payload_bytes over the complete chunks of measured rounds / the time of these in s, without "
        "compute time, * 8 / 1e9; of open-loop traffic 8 * delivered_gb_per_s, of storage 8 * "
        "storage_gb_per_s",
        "what the application gets; RFC 2647, 3.17",
        published="goodput_gbps",
        views=[View.ADAPTERS],
        label="goodput",
        head=("goodput", "Gb/s"),
    ),
    Metric(
        "wire_gbps",
        "Wire rate",
        "Gb/s",
        Direction.HIGHER,
        "sum over the job's chunks of rx_bytes and what the link adds to each of rx_frames (Ethernet: 20 "
        "bytes of preamble and gap) * 8 / the time from the first start_ps to the last delivered_ps in s / "
        "1e9",
        "what data occupies of the links of the receiving hosts, duplicates and frames beyond a gap included",
        point=Point.FABRIC,
        views=[View.ADAPTERS],
        label="wire",
        head=("wire", "Gb/s"),
    ),
    Metric(
        "loss_percent",
        "Loss",
        "%",
        Direction.LOWER,
        "100 * (sum of tx_frames - sum of rx_frames) / sum of tx_frames over the job's chunks, with frames "
        "that came after their chunk had been delivered",
        "data frames that were sent and never reached a receiver, by whatever cause",
        point=Point.FABRIC,
        views=[View.ADAPTERS],
        label="loss",
        head=("loss", "%"),
        most=100,
    ),
    _share("min", "least", "least"),
    _share("max", "largest", "largest"),
    _slowdown("mean", "mean", "mean"),
    _slowdown("p50", "P50", "50 % rank", _RUNS),
    _slowdown("p95", "P95", "95 % rank"),
    _slowdown("p99", "P99", "99 % rank", _RUNS),
    _slowdown("max", "maximum", "largest value"),
    Metric(
        "iops",
        "Operations per second",
        "1/s",
        Direction.HIGHER,
        "operations with a completed_ps in the measured time / that time in s",
        _MEASURED,
        kind=JobKind.STORAGE,
        views=(*_RUNS, View.TILES),
        label="IOPS",
        ratio="iops_ratio",
        leads=JobKind.STORAGE,
    ),
    Metric(
        "storage_gb_per_s",
        "Storage throughput",
        "GB/s",
        Direction.HIGHER,
        "sum of payload_bytes over the operations with a completed_ps in the measured time / that time in "
        "s / 1e9",
        _MEASURED,
        kind=JobKind.STORAGE,
        views=_RUNS,
        label="throughput",
    ),
    _operation("min", "minimum", "smallest value", ()),
    _operation("p50", "P50", "50 % rank", _RUNS),
    _operation("p95", "P95", "95 % rank", _RUNS),
    _operation("p99", "P99", "99 % rank", _RUNS, "operation_p99_ratio"),
    _operation("p999", "P99.9", "99.9 % rank", _RUNS),
    _operation("max", "maximum", "largest value", _RUNS),
    _operation("mean", "mean", "mean", _RUNS, "operation_mean_ratio"),
    Metric(
        "operations_outstanding",
        "Operations outstanding",
        "",
        Direction.LOWER,
        "sum over the operations of the part of fct_ps that lies in the measured time / that time",
        "Little, A Proof for the Queuing Formula L = lambda W, Operations Research 9(3), 1961: iops * "
        "operation_us_mean / 1e6, but for what the ends of the measured time cut; depth times clients while "
        "all of them issue",
        kind=JobKind.STORAGE,
        label="outstanding",
    ),
    _fct("min", "minimum", "smallest value", [View.RUN, View.TENANTS], published="min_fct_ms"),
    _fct("p50", "P50", "50 % rank", (*_WITH_TENANTS, View.TILES), published="p50_fct_ms"),
    _fct("p95", "P95", "95 % rank", [View.RUN, View.TENANTS], published="p95_fct_ms"),
    _fct(
        "p99",
        "P99",
        "99 % rank",
        [View.VARIANTS, View.TENANTS, View.TRIALS_PAGE, View.TILES],
        ratio="fct_p99_ratio",
        leads=JobKind.OPEN_LOOP,
    ),
    _fct("p999", "P99.9", "99.9 % rank"),
    _fct("max", "maximum", "largest value", _WITH_TENANTS, published="max_fct_ms"),
    Metric(
        "fct_mean_ms",
        "FCT mean",
        "ms",
        Direction.LOWER,
        "sum of fct_ps over the job's chunks / number of chunks / 1e9",
        _FCT,
    ),
    _chunk_busbw("min", "slowest chunk", "least"),
    _chunk_busbw("mean", "mean of the chunks", "mean"),
    _chunk_busbw("max", "fastest chunk", "largest"),
    Metric(
        "jain_fairness",
        "Jain's fairness index",
        "",
        Direction.HIGHER,
        "(sum r)^2 / (n * sum r^2) over the rates r = payload_bytes / fct_ps of the n chunks of the job's "
        "most frequent chunk size",
        "Jain, Chiu, Hawe, DEC-TR-301, 1984; 1 is fair, 1/n is one chunk taking all",
        most=1,
    ),
    _latency(
        "min",
        "minimum",
        "smallest latency_min_ps over the job's chunks / 1e6",
        "first bit on the first link to last bit off the last link of a data frame; NICs excluded",
    ),
    _latency(
        "mean",
        "mean",
        "sum of latency_mean_ps * rx_frames / sum of rx_frames over the job's chunks / 1e6",
        "as the minimum; weighted with the frames that arrived",
    ),
    _latency(
        "max",
        "maximum",
        "largest latency_max_ps over the job's chunks / 1e6",
        "as the minimum",
    ),
    PAUSES,
    _on_links(
        "ecn_ce_rx",
        "ECN-CE received",
        "ECN-CE",
        ("ECN-CE", "rx"),
        "sum of ecn_ce_rx over the job's chunks, with late frames",
        "RFC 3168",
    ),
    _frames(
        "cnp_tx",
        "CNP sent",
        "CNP",
        ("CNP", "tx"),
        "sum of cnp_tx over the job's chunks, with those for late frames",
        "IBTA annex A17 (RoCEv2), congestion notification packet",
    ),
    _frames(
        "retransmits",
        "Retransmits",
        "retrans.",
        ("retx", ""),
        "sum of retransmits over the job's chunks",
        _RDMA,
        is_trouble=True,
    ),
    _frames(
        "frames_lost",
        "Frames lost",
        "lost",
        ("lost", ""),
        "sum of frames_lost over its causes in the run's summary",
        _RDMA,
        scope=Scope.RUN,
        is_trouble=True,
    ),
    replace(
        _frames(
            "data_frames_lost",
            "Data frames lost",
            "lost",
            ("lost", ""),
            "sum of tx_frames - sum of rx_frames over the job's chunks, less frames that came after their "
            "chunk had been delivered; 0 at least, frames_lost at most",
            "loss_percent as a count, without what was on its way as a job was cut off; frames_lost has "
            "answers and the frames of other jobs as well",
            is_trouble=True,
        ),
        views=[View.SHARED],
        published="",
        point=Point.FABRIC,
    ),
    Metric(
        "messages_lost",
        "Messages lost",
        "messages",
        Direction.LOWER,
        "messages sent completely - messages that arrived completely, on unreliable connections",
        "IBTA vol. 1, 9.8: a responder of UC drops a message with a gap",
        views=_IN_FILES,
        label="lost messages",
        is_trouble=True,
        absent="on reliable connections",
    ),
    Metric(
        "out_of_order_percent",
        "Out of order, ahead of turn",
        "%",
        Direction.LOWER,
        "100 * sum of out_of_order / sum of rx_frames over the job's chunks",
        "share of arrivals ahead of their turn, as NICs count frames out of sequence; those behind the "
        "newest (RFC 4737) are a table of their own",
        point=Point.FABRIC,
        most=100,
    ),
    *_server_use(
        "adapter_use",
        "Use of adapters",
        "sum of network_bytes of an adapter in `channels` / (payload rate of the host link * time of the "
        "job)",
        "adapters near the GPUs of a job, from its start to its end; the payload rate is that of "
        "`ideal_percent`",
        "without NCCL or on one server",
    ),
    *_server_use(
        "scale_up_use",
        "Use of scale-up domains",
        "sum of scale_up_bytes of a server in `channels` / (rate of its GPUs of the job * time of the job)",
        "servers of a job, from its start to its end; the rate is that of the data sheet, at which NCCL's "
        "kernels do not drive it",
        "without NCCL",
    ),
    Metric(
        "link_load_max_to_mean",
        "Link load, max to mean",
        "",
        Direction.LOWER,
        "largest busy_ps / mean busy_ps over the links between switches, both directions; the worst tier",
        "imbalance of load balancing; 1 is even",
        scope=Scope.RUN,
        point=Point.DEVICE,
        label="link load",
        head=("link load", "max/mean"),
        least=1,
        absent="without links between switches or traffic on them",
    ),
    Metric(
        "queue_max_bytes",
        "Deepest queue",
        "bytes",
        Direction.LOWER,
        "largest queue_max_bytes over the ports of switches",
        "of the frame in transmission what is not read out",
        scope=Scope.RUN,
        point=Point.DEVICE,
        views=[View.ADAPTERS],
        label="deepest queue",
        head=("queue", "max B"),
        absent="without switches",
    ),
    Metric(
        "jct_ratio",
        "JCT ratio",
        "",
        Direction.LOWER,
        "completion time / (compute time + 8 * data_size_bytes * bus factor / line rate of a rank's NICs in "
        "bit/s), both in s",
        f"{_BMWG}: measured over roofline",
        kind=JobKind.COLLECTIVE,
        views=_ON_DEMAND,
        label="JCT ratio",
        absent="where ranks share a port or rounds overlap",
    ),
    Metric(
        "busbw_percent",
        "Bus bandwidth, share of the line rate",
        "%",
        Direction.HIGHER,
        "100 * busbw_gb_per_s / (line rate of a rank's NICs in bit/s / 8e9)",
        f"{_BMWG}: BusBW efficiency, over the line rate with all headers",
        kind=JobKind.COLLECTIVE,
        views=_ON_DEMAND,
        label="busbw of line",
        absent="where ranks share a port or rounds overlap",
    ),
    Metric(
        "ecmp_mmr",
        "ECMP imbalance, MMR",
        "",
        Direction.LOWER,
        "largest / mean of egress_qps over the uplinks of a switch; the worst switch",
        f"{_BMWG}: max-mean ratio of flows",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="MMR",
        least=1,
        absent="without a path for each queue pair or a second uplink",
    ),
    Metric(
        "ecmp_jain",
        "ECMP fairness, Jain",
        "",
        Direction.HIGHER,
        "(sum x)^2 / (n * sum x^2) over egress_qps of the n uplinks of a switch; the worst switch",
        f"{_BMWG}: Jain's index, of flows; 1 is even",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="JFI",
        most=1,
        absent="without a path for each queue pair or a second uplink",
    ),
    Metric(
        "link_tx_mmr",
        "Uplink traffic, MMR",
        "",
        Direction.LOWER,
        "largest / mean of tx_bytes over the uplinks of a switch; the worst switch",
        f"{_BMWG}: max-mean ratio of traffic, which sprayed packets have as well",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="MMR of bytes",
        least=1,
    ),
    Metric(
        "link_tx_jain",
        "Uplink traffic, Jain",
        "",
        Direction.HIGHER,
        "(sum x)^2 / (n * sum x^2) over tx_bytes of the n uplinks of a switch; the worst switch",
        f"{_BMWG}: JFI over LinkTx; 1 is even",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="JFI of bytes",
        most=1,
    ),
    Metric(
        "pfc_pause_count",
        "PFC pauses sent by switches",
        "frames",
        Direction.LOWER,
        "sum of pfc_tx over the ports of switches",
        f"{_BMWG}: PFC pause events, those with non-zero quanta; of the whole run, not by the second",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="pauses",
    ),
    Metric(
        "pfc_pause_us",
        "Time paused by PFC",
        "us",
        Direction.LOWER,
        "sum of paused_ps over the ports of switches and NICs / 1e6",
        f"{_BMWG}: cumulative time in the paused state; every port and priority adds its own",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="paused",
    ),
    Metric(
        "ecn_marking_percent",
        "ECN marking ratio",
        "%",
        Direction.LOWER,
        "100 * sum of ecn_ce_rx / sum of rx_frames over the job's chunks, both with late frames",
        f"{_BMWG}: share of the data frames that leave the fabric marked",
        point=Point.FABRIC,
        views=_ON_DEMAND,
        label="CE",
        most=100,
    ),
    Metric(
        "drop_ppm",
        "Frames dropped in the fabric",
        "ppm",
        Direction.LOWER,
        "1e6 * sum of frames_lost but host_overrun / frames_sent, in the run's summary",
        f"{_BMWG}: of all frames that NICs sent; one that is sent again counts again",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="dropped",
        most=1e6,
    ),
    Metric(
        "retransmission_percent",
        "Data frames sent again",
        "%",
        Direction.LOWER,
        "100 * sum of retransmits / sum of tx_frames over the job's chunks",
        f"{_BMWG}: RDMA retransmissions, as a share of data frames and not by the second",
        views=_ON_DEMAND,
        label="resent",
        most=100,
    ),
    Metric(
        "queue_p95_bytes",
        "Queue depth P95, sampled",
        "bytes",
        Direction.LOWER,
        "95 % rank of the samples of queue_bytes in series, at the switch port where it is largest",
        f"{_BMWG}: egress queue of a port",
        Scope.RUN,
        Point.DEVICE,
        views=_ON_DEMAND,
        label="queue P95",
        absent="where a port of a switch has fewer than 20 samples",
    ),
    Metric(
        "convergence_us",
        "Congestion control convergence",
        "us",
        Direction.LOWER,
        "from the start of the last job that joins others to the first sample from which on rate_bps of "
        "every queue pair, the mean of ten samples, stays within 10 % of its max-min fair share until one "
        "ends",
        f"{_BMWG}: M flows, then 2M",
        Scope.RUN,
        views=_ON_DEMAND,
        label="convergence",
        absent="without a common bottleneck, or where samples do not tell",
    ),
)

METRICS = tuple(column for column in _COLUMNS if column is not ROUNDS)
"""Every metric, in the order of output."""

BY_NAME: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in METRICS})
"""Each metric by its name, in the order of output."""

RATIOS: Mapping[str, Metric] = MappingProxyType({metric.ratio: metric for metric in METRICS if metric.ratio})
"""The metric of each ratio to the reference variant, by its name; 1 is equal to the reference."""

ALONE_RATIOS: Mapping[str, Metric] = MappingProxyType(
    {metric.alone_ratio: metric for metric in METRICS if metric.alone_ratio}
)
"""The metric of each ratio to the job alone, by its name; 1 is equal to the job without neighbours."""

HEADLINES: Mapping[JobKind, Metric] = MappingProxyType(
    {metric.leads: metric for metric in METRICS if metric.leads is not None}
)
"""The metric with the most important ratio, by kind of job.

A slowdown is relative to an idle fabric of its own, which differs between variants, so open-loop traffic is
compared by its FCT.
"""


def of_kind(kind: JobKind) -> list[Metric]:
    """Return the metrics that jobs of a kind have, in the order of output."""
    return [metric for metric in METRICS if metric.concerns(kind)]


def in_views(*views: View, besides: Collection[str] = ()) -> list[Metric]:
    """Return the metrics of some views, in the order of output, but with the mean of a group first.

    Args:
        views: The views.
        besides: Names of metrics that are shown in addition.
    """
    shown = [
        metric for metric in _COLUMNS if not set(views).isdisjoint(metric.views) or metric.name in besides
    ]
    first_index = {metric.group: place for place, metric in reversed(list(enumerate(shown)))}

    def place(metric: Metric) -> tuple[int, bool]:
        is_mean = metric.name == f"{metric.group}_mean"
        return first_index[metric.group] if metric.group else shown.index(metric), not is_mean

    return sorted(shown, key=place)


OF_ALL_ROWS = frozenset(
    {"sender_share_percent_min", "sender_share_percent_max", "convergence_us", "out_of_service_us"}
)
"""Metrics that are measured only if every chunk has a row (`observe.chunks: all`)."""
