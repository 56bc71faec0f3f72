"""Laws about the table `trials`: its figures must equal those recomputed from the other tables.

The formulas are those of docs/metrics.md; no code of the analysis is used.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import polars as pl
from tools.swarm.record import JobRecord, Record, Violation
from tools.swarm.record_laws.chunks import complete, first_bad

_TOLERANCE = 1e-6
_SHARES = {"p50": (50, 100), "p95": (95, 100), "p99": (99, 100), "p999": (999, 1000)}
_PS = 10**12

Figures = dict[str, float | int | None]


def status_laws(record: Record) -> Iterator[Violation]:
    """Yield jobs whose status is not that of their chunks, and a run whose status is not that of its jobs."""
    statuses = {job.outcome["status"] for job in record.jobs.values()}
    expected = "complete" if statuses <= {"complete"} else "not complete"
    status = record.summary["status"]
    tcp_cut = any(row["is_complete"] == 0 for row in record.rows("connections"))
    if (status == "complete") != (expected == "complete") and not tcp_cut:
        yield Violation("a run is complete if its jobs are", f"summary: {status}; jobs: {sorted(statuses)}")
    for job in record.parts:
        yield from _job_status(job)


def _job_status(job: JobRecord) -> Iterator[Violation]:
    counts = Counter(job.chunks["status"].to_list())
    statuses = f"trials: {job.name} is {job.outcome['status']}; chunks: {dict(counts)}"
    # Chunks of a job that repeats until all others end may be cut off by the end of the run.
    allowed = {"complete", "unfinished"} if job.is_open_ended else {"complete"}
    if job.is_complete and not set(counts) <= allowed:
        yield Violation("a job is complete if its chunks are", statuses)
    if not job.is_complete and not job.is_open_ended and set(counts) <= {"complete"} and _has_all_rounds(job):
        yield Violation("a job is complete if its chunks are", statuses)
    # Rounds that no rank started have no rows.
    rows = job.chunks.height if job.is_complete or _has_all_rounds(job) else job.results["chunks"]
    for name, count in (
        ("chunks", rows),
        ("chunks_complete", counts["complete"]),
        ("chunks_failed", counts["failed"]),
    ):
        if job.results[name] != count:
            yield Violation("a job has its chunks", f"{statuses}; trials: {name} {job.results[name]}")
    if job.is_complete == bool(job.results["reason"]):
        yield Violation("a job says why it is not complete", f"{statuses}; reason {job.results['reason']!r}")


def _has_all_rounds(job: JobRecord) -> bool:
    """Return whether each round of a job has rows."""
    return bool(job.chunks["round"].n_unique() == job.rounds_planned)


def figure_laws(record: Record) -> Iterator[Violation]:
    """Yield figures that differ from those computed from the other tables."""
    run = _run_figures(record)
    for job in record.parts:
        expected = run | _counters(record, job) | _completion(record, job) | _flows(job) | _latency(job)
        if job.is_storage:
            expected |= _operations(job)
        elif not job.is_collective:
            expected |= _traffic(job)
        for name, value in expected.items():
            if not _is_close(value, job.results[name]):
                figures = f"trials: {job.name}: {name} {job.results[name]}; from the tables: {value}"
                yield Violation("a figure is that of the tables", figures)


def _is_close(value: float | None, recorded: float | None) -> bool:
    if value is None or recorded is None:
        return value is recorded
    return math.isclose(value, recorded, rel_tol=_TOLERANCE, abs_tol=1e-8)


def _run_figures(record: Record) -> Figures:
    queues = [port["queue_max_bytes"] for port in record.ports if port["tier"] > 0]
    hosts = {port["node"] for port in record.ports if port["tier"] == 0}
    ratios = []
    switch_links = [link for link in record.links if link["from"] not in hosts and link["to"] not in hosts]
    for tier in {link["tier"] for link in switch_links}:
        busy_ps = [link["busy_ps"] for link in switch_links if link["tier"] == tier]
        ratios += [max(busy_ps) * len(busy_ps) / sum(busy_ps)] if any(busy_ps) else []
    return {
        "frames_lost": sum(record.summary["frames_lost"].values()),
        "queue_max_bytes": max(queues, default=None),
        "link_load_max_to_mean": max(ratios, default=None),
    }


def _counters(record: Record, job: JobRecord) -> Figures:
    sums = job.chunks.select(pl.col("ecn_ce_rx", "cnp_tx", "retransmits", "out_of_order", "rx_frames").sum())
    counts = dict(zip(sums.columns, sums.row(0), strict=True))
    out_of_order, arrived = counts.pop("out_of_order"), counts.pop("rx_frames")
    counts |= {name: counts[name] + job.late[name] for name in ("ecn_ce_rx", "cnp_tx")}
    names = {f"host{host}" for host in job.spec["hosts"]}
    paused = [port["pfc_rx"] for port in record.ports if port["node"] in names]
    return counts | {
        "out_of_order_percent": 100 * out_of_order / arrived if arrived else None,
        "pfc_rx": None if record.link_layer == "infiniband" else sum(paused),
    }


def nearest_rank(values: Sequence[float], part: int, whole: int) -> float:
    """Return the nearest-rank quantile `part` / `whole` of sorted values."""
    return values[max(1, -(-part * len(values) // whole)) - 1]


def _flows(job: JobRecord) -> Figures:
    names = [
        "fct_ms_min",
        *(f"fct_ms_{name}" for name in _SHARES),
        "fct_ms_max",
        "fct_mean_ms",
        "jain_fairness",
        *(f"chunk_busbw_gb_per_s_{name}" for name in ("min", "mean", "max")),
    ]
    complete_chunks = job.measured.filter(complete())
    if not job.is_complete or not complete_chunks.height:
        return dict.fromkeys(names)
    times = sorted(complete_chunks["fct_ps"].to_list())
    ranked = [times[0], *(nearest_rank(times, *share) for share in _SHARES.values()), times[-1]]
    figures: Figures = {name: value / 1e9 for name, value in zip(names, ranked, strict=False)}
    figures["fct_mean_ms"] = sum(times) / len(times) / 1e9
    sizes = Counter(complete_chunks["payload_bytes"].to_list())
    size = max((count, size) for size, count in sizes.items())[1]
    rates = [1 / fct for fct in complete_chunks.filter(pl.col("payload_bytes") == size)["fct_ps"].to_list()]
    figures["jain_fairness"] = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
    if min(times):
        busbw = [
            1e3 * bytes_ / fct
            for bytes_, fct in complete_chunks.select("payload_bytes", "fct_ps").iter_rows()
        ]
        bandwidths = (min(busbw), math.fsum(busbw) / len(busbw), max(busbw))
        figures |= dict(zip(names[-3:], bandwidths, strict=True))
    else:
        figures |= dict.fromkeys(names[-3:])
    return figures


def _latency(job: JobRecord) -> Figures:
    with_latency = job.chunks.filter(pl.col("latency_mean_ps").is_not_null() & (pl.col("rx_frames") > 0))
    if not with_latency.height:
        return dict.fromkeys(("latency_us_min", "latency_us_mean", "latency_us_max"))
    frames = int(with_latency["rx_frames"].sum())
    weighted = math.fsum(
        mean * count for mean, count in with_latency.select("latency_mean_ps", "rx_frames").iter_rows()
    )
    return {
        "latency_us_min": min(with_latency["latency_min_ps"].to_list()) / 1e6,
        "latency_us_mean": weighted / frames / 1e6,
        "latency_us_max": max(with_latency["latency_max_ps"].to_list()) / 1e6,
    }


_FACTORS: dict[str, Callable[[int], float]] = {
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "all-gather": lambda n: (n - 1) / n,
    "reduce-scatter": lambda n: (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "ping-pong": lambda _: 2.0,
    "incast": lambda n: n - 1,
}


def _completion(record: Record, job: JobRecord) -> Figures:
    """Return the figures based on the completion time, and this time itself where it is end minus start."""
    names = ("completion_time_ms", "algbw_gb_per_s", "busbw_gb_per_s", "ideal_percent")
    if not job.is_complete or not job.outcome["rounds"]:
        return dict.fromkeys(names)
    figures: Figures = {}
    if "round_bytes" in job.collective:
        times = {size_times["data_bytes"]: size_times for size_times in job.outcome["size_times"]}[
            job.pattern["data_bytes"]
        ]
        figures["completion_time_ms"] = times["sum_ps"] / times["rounds"] / 1e9
    elif not (
        job.collective.get("warm_up_rounds")
        or job.collective.get("barrier")
        or job.is_open_ended
        or (
            job.nccl and job.nccl["kind"] in ("ring", "tree")
        )  # ends when data have passed the GPUs of each server
    ):
        last_ps = job.chunks["completed_ps"].max()
        assert isinstance(last_ps, int)
        figures["completion_time_ms"] = (last_ps - job.outcome["start_ps"]) / job.outcome["rounds"] / 1e9
    time_ms = job.results["completion_time_ms"]
    if not job.is_collective or not time_ms:
        return figures | dict.fromkeys(names[1:])
    algbw = job.pattern["data_bytes"] / (time_ms * 1e-3) / 1e9
    factor = _FACTORS.get(job.pattern["collective"])
    busbw = algbw * factor(job.ranks) if factor else algbw
    limit = _busbw_limit(record, job)
    ideal = None if limit is None else 100 * busbw / limit
    figures |= {"algbw_gb_per_s": algbw, "busbw_gb_per_s": busbw, "ideal_percent": ideal}
    for name, bound in (("busbw_gb_per_s_min", "round_ms_max"), ("busbw_gb_per_s_max", "round_ms_min")):
        figures[name] = busbw * time_ms / job.results[bound]
    return figures


def _busbw_limit(record: Record, job: JobRecord) -> float | None:
    """Return the highest bus bandwidth [GB/s]; none if there is no single one."""
    work = job.collective
    moves = work["root_shift"] and job.spec["repeat"].get("rounds") != 1
    if (moves or work["warm_up_rounds"]) and not work["barrier"]:
        return None
    if record.spec["fabric"].get("server"):
        return _busbw_limit_of_servers(record, job)
    return _goodput(record) if _has_own_ports(record, job) else None


def _busbw_limit_of_servers(record: Record, job: JobRecord) -> float | None:
    """Return the highest bus bandwidth of a job on servers, all with as many of its GPUs [GB/s]."""
    near = record.spec["fabric"]["server"]["adapters_of_gpu"]
    members: dict[int, list[int]] = defaultdict(list)
    for host, gpu in zip(job.spec["hosts"], job.spec["gpus"], strict=True):
        members[host].append(gpu)
    counts = {(len(gpus), len({nic for gpu in gpus for nic in near[gpu]})) for gpus in members.values()}
    if len(counts) > 1:
        return None
    ((gpus, adapters),), servers, ranks = counts, len(members), job.ranks
    outside = adapters * _goodput(record)
    inside = float(record.spec["fabric"]["shared_memory"]["rate_bps"]) / 8e9
    collective = job.pattern["collective"]
    if gpus == 1:
        return outside
    if collective in ("all-reduce", "all-gather", "reduce-scatter"):
        if collective == "all-reduce" and job.pattern["algorithm"] in ("nvls", "nvls-tree"):
            inside *= 2 * (ranks - 1) / ranks * gpus / (gpus + 1)
        elif servers > 1:
            inside *= gpus / (gpus - 1)
        between = outside * (ranks - 1) / ranks * servers / max(servers - 1, 1)
    elif collective in ("broadcast", "reduce"):
        between = outside
    elif collective in ("all-to-all", "gather", "scatter"):
        inside *= (ranks - 1) / (gpus - 1)
        between = outside / gpus * (ranks - 1) / max(ranks - gpus, 1)
    elif collective == "send-receive":
        hosts = job.spec["hosts"]
        crossing = Counter(hosts[rank] for rank in range(ranks) if hosts[rank] != hosts[rank ^ 1])
        return outside / max(crossing.values()) if crossing else inside
    else:
        return None
    return inside if servers == 1 else min(between, inside)


def _has_own_ports(record: Record, job: JobRecord) -> bool:
    """Return whether each rank has its own host port."""
    topology, hosts = record.spec["fabric"]["topology"], job.spec["hosts"]
    nodes = hosts
    if topology.get("scale_up_link"):
        nodes = [host // topology["rails"] for host in hosts]
    return len(set(nodes)) == len(hosts)


def _goodput(record: Record) -> float:
    """Return the payload of a host's ports, or of a server's adapter behind its PCIe [GB/s]."""
    fabric = record.spec["fabric"]
    topology, server = fabric["topology"], fabric.get("server") or {}
    rate = topology["host_link"]["rate_bps"] * topology.get("planes", 1)
    rate = min(rate, server.get("bus_rate_bps", rate))
    mtu = record.spec["transport"]["mtu_bytes"]
    overhead = 28 if record.link_layer == "infiniband" else 82
    return float(rate / 8e9 * mtu / (mtu + overhead))


def _traffic(job: JobRecord) -> Figures:
    duration_ps = job.work["duration_ps"]
    end_ps, seconds = job.spec["start_ps"] + duration_ps, duration_ps / _PS
    payload = pl.col("payload_bytes")
    figures: Figures = {
        "offered_gb_per_s": job.chunks["payload_bytes"].sum() / seconds / 1e9,
        "delivered_gb_per_s": job.chunks.filter(pl.col("delivered_ps") <= end_ps).select(payload.sum()).item()
        / seconds
        / 1e9,
    }
    names = ("slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99", "slowdown_max")
    complete_chunks = job.chunks.filter(complete() & (pl.col("unloaded_ps") > 0))
    if not job.is_complete or not complete_chunks.height:
        return figures | dict.fromkeys(names)
    values = sorted(fct / idle for fct, idle in complete_chunks.select("fct_ps", "unloaded_ps").iter_rows())
    ranks = (nearest_rank(values, *_SHARES[name]) for name in ("p50", "p95", "p99"))
    return figures | dict(zip(names, (math.fsum(values) / len(values), *ranks, values[-1]), strict=True))


def _operations(job: JobRecord) -> Figures:
    complete_operations = job.chunks.filter(complete())
    timed = job.work["length"]["kind"] == "duration" and not job.is_open_ended
    begin, end = _measured_time(job)
    in_time = (pl.col("completed_ps") >= begin) & ((pl.col("completed_ps") < end) if timed else True)
    counted = complete_operations.filter(in_time)
    if not counted.height:
        return dict.fromkeys(("iops", "storage_gb_per_s"))
    seconds = (end - begin) / _PS
    figures: Figures = {
        "iops": counted.height / seconds,
        "storage_gb_per_s": int(counted["payload_bytes"].sum()) / seconds / 1e9,
    }
    if not job.is_complete:
        return figures
    times = sorted(_weighted_times(job, begin, end))
    outstanding = _outstanding_ps(job, begin, end)
    weight = math.fsum(weight for _, weight in times)
    names = [*(f"operation_us_{name}" for name in _SHARES), "operation_us_max"]
    ended = [time for time, _, is_cut in _operation_rows(job, begin, end) if not is_cut]
    shares = [*(part / whole for part, whole in _SHARES.values()), 1.0]
    figures |= {
        name: _weighted_rank(times, share * weight) / 1e6 for name, share in zip(names, shares, strict=True)
    }
    figures["operation_us_min"] = min(ended) / 1e6
    figures["operation_us_mean"] = outstanding / weight / 1e6
    figures["operations_outstanding"] = outstanding / (end - begin)
    return figures


def _operation_rows(job: JobRecord, begin: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield time and measured part of each storage operation [ps], and whether the run cut it off."""
    rows = job.chunks.select("status", "start_ps", "completed_ps").iter_rows()
    for status, start, completed in rows:
        if status == "failed" or start is None:
            continue
        part = min(end, end if completed is None else completed) - max(begin, start)
        if part > 0:
            yield part if completed is None else completed - start, part, completed is None


def _weighted_times(job: JobRecord, begin: int, end: int) -> Iterator[tuple[int, float]]:
    for time, part, _ in _operation_rows(job, begin, end):
        yield time, part / time


def _outstanding_ps(job: JobRecord, begin: int, end: int) -> int:
    return sum(part for _, part, _ in _operation_rows(job, begin, end))


def _weighted_rank(times: Sequence[tuple[int, float]], limit: float) -> int:
    """Return the least of sorted values at which the cumulative weight reaches the limit, within rounding."""
    weight_sum = 0.0
    for time, weight in times:
        weight_sum += weight
        if weight_sum >= limit * (1 - 1e-12):
            return time
    return times[-1][0]


def little_laws(record: Record) -> Iterator[Violation]:
    """Yield storage jobs that break Little's law: outstanding operations are throughput times mean latency.

    While clients issue, each has `depth` operations outstanding at every instant. An operation that completes
    in the measured time counts fully in the throughput, and with a weight in the mean. Operations form
    depth * clients sequences. In each sequence only the first and the last have a weight below 1; the first
    counts too much and the last not at all, so weights and completions differ by less than 1 in total.
    """
    for job in record.jobs.values():
        storage = job.work
        if not job.is_storage or not job.is_complete or job.results["operations_outstanding"] is None:
            continue
        depth = storage["clients"] * storage["depth"]
        outstanding = job.results["operations_outstanding"]
        if storage["length"]["kind"] == "duration" or job.is_open_ended:
            holds = math.isclose(outstanding, depth, rel_tol=1e-9)
        else:
            holds = outstanding <= depth * (1 + 1e-9)
        if not holds:
            yield Violation(
                "clients keep their depth outstanding", f"{job.name}: {outstanding} outstanding of {depth}"
            )
        mean_ps = job.results["operation_us_mean"] * 1e6
        product = job.results["iops"] * mean_ps / _PS
        slack = depth * mean_ps / _measured_ps(job)
        if abs(product - outstanding) > slack * (1 + 1e-9):
            yield Violation(
                "operations outstanding are throughput times mean latency",
                f"{job.name}: {product} by Little's law, {outstanding} outstanding, at most {slack} apart",
            )


def _measured_ps(job: JobRecord) -> int:
    begin, end = _measured_time(job)
    return end - begin


def _measured_time(job: JobRecord) -> tuple[int, int]:
    """Return begin and end of the measured time of a storage job [ps]."""
    storage = job.work
    begin: int = job.spec["start_ps"] + storage["warm_up_ps"]
    if storage["length"]["kind"] == "duration" and job.spec["repeat"]["kind"] == "rounds":
        return begin, job.spec["start_ps"] + storage["length"]["duration_ps"]
    done = job.chunks.filter(complete())
    return begin, max(done["completed_ps"].to_list(), default=0)


def idle_laws(record: Record) -> Iterator[Violation]:
    """Yield messages that were faster than on an idle fabric, along the first of equal paths."""
    fabric = record.spec["fabric"]
    if fabric["topology"]["kind"] == "custom" or fabric["extra_delays"] or not record.takes_one_path:
        return  # equal paths may differ in length and rate, and several together are faster than one
    bad = pl.col("fct_ps") < pl.col("unloaded_ps")
    columns = ("fct_ps", "unloaded_ps", "start_ps", "tx_frames")
    messages = record.chunks.filter(
        ~pl.col("job").is_in([job.name for job in record.jobs.values() if job.is_storage])
    )
    yield from first_bad("no message is faster than on an idle fabric", "chunks", messages, bad, columns)


LAWS = (status_laws, figure_laws, little_laws, idle_laws)
