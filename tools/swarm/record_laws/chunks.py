"""Laws about the table `chunks`: order of times, counters, speed, dependencies, payload.

Also has the function that other laws use to report the first bad row of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from tools.swarm.closed_forms import payload_bytes
from tools.swarm.record import PS_BITS, JobRecord, Record, Row, Violation

_SHOWN = (
    "job",
    "transfer",
    "part",
    "round",
    "qp",
    "src_rank",
    "dst_rank",
    "step",
    "block",
    "status",
    "payload_bytes",
)
ROCE_BYTES, INFINIBAND_BYTES, RETH_BYTES = 62, 26, 16
"""Headers of a packet in the middle of a message, and the additional header of the first packet."""
GAP_BYTES, PREAMBLE_BYTES = 12, 8
VLAN_TAG_BYTES = 4


def complete() -> pl.Expr:
    """Return whether a chunk completed."""
    return pl.col("status") == "complete"


def _on_network() -> pl.Expr:
    return pl.col("src_host") != pl.col("dst_host")


def shown(row: Row, names: Sequence[str]) -> str:
    """Return some columns of a row as text."""
    return ", ".join(f"{name} {row[name]}" for name in names)


def first_bad(
    rule: str, table: str, frame: pl.DataFrame, bad: pl.Expr, columns: Sequence[str]
) -> Iterator[Violation]:
    """Yield a violation that shows the first bad row of a table and counts the others."""
    rows = frame.filter(bad)
    if rows.height:
        names = [
            name for name in _SHOWN if table == "chunks" and name in frame.columns and name not in columns
        ]
        yield Violation(
            rule, f"{table}: {shown(rows.row(0, named=True), [*names, *columns])} ({rows.height} rows)"
        )


def row_laws(record: Record) -> Iterator[Violation]:
    """Yield rows that break a law about single rows."""
    frame = record.chunks.with_columns(
        job_start=pl.col("job").replace_strict(_job_times(record, "start_ps"), return_dtype=pl.Int64),
        job_end=_job_end(record),
        packets=_packets(record.spec),
    )
    if not frame.height:
        return
    laws = _row_laws(record)
    is_bad = frame.select(
        bad.fill_null(value=False).any().alias(name) for name, (bad, _) in laws.items()
    ).row(0, named=True)
    for name in (name for name, bad in is_bad.items() if bad):
        bad, columns = laws[name]
        yield from first_bad(name, "chunks", frame, bad, columns)


def _job_end(record: Record) -> pl.Expr:
    """Return the end of a chunk's job [ps]; if it repeats until others end, that of its complete rounds.

    Chunks of a round that is cut off may complete until the end of the run.
    """
    job_end = pl.col("job").replace_strict(_job_times(record, "end_ps"), return_dtype=pl.Int64)
    rounds = {
        job.name: job.outcome["rounds"] + job.outcome["warm_up_rounds"] if job.is_open_ended else None
        for job in record.jobs.values()
    }
    complete_rounds = pl.col("job").replace_strict(rounds, return_dtype=pl.Int64)
    is_cut_off = (pl.col("round") >= complete_rounds).fill_null(value=False)
    return pl.when(is_cut_off).then(record.summary["end_ps"]).otherwise(job_end)


def _job_times(record: Record, name: str) -> dict[str, int | None]:
    return {job.name: job.outcome[name] for job in record.jobs.values()}


def _row_laws(record: Record) -> dict[str, tuple[pl.Expr, tuple[str, ...]]]:
    """Return for each law the condition of a violation, and the columns to show."""
    col = pl.col
    times = ("start_ps", "delivered_ps", "completed_ps")
    frames = ("tx_frames", "rx_frames", "retransmits")
    sent, bytes_ = ("tx_frames", "rx_frames"), ("tx_bytes", "rx_bytes")
    latencies = ("latency_min_ps", "latency_mean_ps", "latency_max_ps")
    is_done = complete() & _on_network()
    laws = {
        "a complete chunk has all its times": (
            complete() & pl.any_horizontal(col(name).is_null() for name in (*times, "fct_ps")),
            times,
        ),
        "only a complete chunk has a completion": (~complete() & col("completed_ps").is_not_null(), times),
        "posted <= delivered": (col("start_ps") > col("delivered_ps"), times),
        "delivered <= completed": (col("delivered_ps") > col("completed_ps"), times),
        "completed <= end of its job": (col("completed_ps") > col("job_end"), ("completed_ps", "job_end")),
        "posted >= start of its job": (col("start_ps") < col("job_start"), ("start_ps", "job_start")),
        "fct = completed - posted": (
            col("fct_ps") != col("completed_ps") - col("start_ps"),
            (*times, "fct_ps"),
        ),
        "frames received <= frames sent": (col("rx_frames") > col("tx_frames"), frames),
        "bytes received <= bytes sent": (col("rx_bytes") > col("tx_bytes"), bytes_),
        "frames_delta = sent - received": (
            col("frames_delta") != col("tx_frames") - col("rx_frames"),
            (*sent, "frames_delta"),
        ),
        "resent <= sent": (col("retransmits") > col("tx_frames"), frames),
        "out of order <= received": (col("out_of_order") > col("rx_frames"), (*sent, "out_of_order")),
        "CE received <= received": (col("ecn_ce_rx") > col("rx_frames"), (*sent, "ecn_ce_rx")),
        "latency min <= mean <= max": (
            (col("latency_min_ps") > col("latency_mean_ps") + 1)
            | (col("latency_mean_ps") > col("latency_max_ps") + 1),
            latencies,
        ),
        "a chunk between ranks of one host has no frames": (~_on_network() & (col("tx_frames") > 0), sent),
        "a complete chunk on the network has a latency": (
            is_done & col("latency_min_ps").is_null(),
            latencies,
        ),
        "delivered - posted >= least frame latency": (
            col("delivered_ps") - col("start_ps") < col("latency_min_ps"),
            (*times, "latency_min_ps"),
        ),
        "a status is complete, failed or unfinished": (
            ~col("status").is_in(["complete", "failed", "unfinished"]),
            (),
        ),
        "without loss what is not resent arrives as often as it is sent": (
            is_done
            & (col("retransmits") == 0)
            & pl.lit(value=_loses_no_data(record))
            & (col("tx_frames") != col("rx_frames")),
            frames,
        ),
        "bytes sent and received agree where the frames do": (
            is_done
            & (col("retransmits") == 0)
            & (col("tx_frames") == col("rx_frames"))
            & (col("tx_bytes") != col("rx_bytes")),
            (*sent, *bytes_),
        ),
    }
    return laws | _packet_laws(record, is_done & _is_written(record))


def _packet_laws(record: Record, is_written: pl.Expr) -> dict[str, tuple[pl.Expr, tuple[str, ...]]]:
    col = pl.col
    columns = ("packets", "tx_frames", "rx_frames", "retransmits")
    return {
        "frames sent = packets + resent": (
            is_written & (col("tx_frames") != col("packets") + col("retransmits")),
            columns,
        ),
        "each packet of a complete chunk has arrived": (
            is_written & (col("rx_frames") < col("packets")),
            columns,
        ),
        "bytes sent = payload + headers": (
            is_written & (col("retransmits") == 0) & (col("tx_bytes") != _frame_bytes(record)),
            ("packets", "tx_frames", "tx_bytes"),
        ),
        "no chunk is faster than its bytes at line rate": (
            is_written & (col("delivered_ps") - col("start_ps") < _least_time(record)),
            ("start_ps", "delivered_ps", "tx_bytes"),
        ),
    }


def _loses_no_data(record: Record) -> bool:
    return record.is_lossless and bool(record.summary["frames_in_flight"] == 0)


def _is_written(record: Record) -> pl.Expr:
    """Return whether the data of a chunk are sent by RDMA WRITE, in messages of the transport."""
    storage = [job.name for job in record.jobs.values() if job.is_storage]
    return ~pl.col("job").is_in(storage)


def _packets(spec: Any) -> pl.Expr:
    """Return the packets of a chunk; one without payload is one packet."""
    message, mtu = spec["transport"]["message_bytes"], spec["transport"]["mtu_bytes"]
    payload = pl.col("payload_bytes")
    full_message_packets = payload // message * -(-message // mtu)
    last_message_packets = (payload % message + mtu - 1) // mtu
    return pl.max_horizontal(full_message_packets + last_message_packets, pl.lit(1)).alias("packets")


def _frame_bytes(record: Record) -> pl.Expr:
    """Return the bytes of the frames of a chunk by closed form."""
    transport = record.spec["transport"]
    messages = pl.max_horizontal(-(-pl.col("payload_bytes") // transport["message_bytes"]), pl.lit(1))
    packets_with_reth = pl.col("packets") if transport["recovery"] == "selective" else messages
    headers = INFINIBAND_BYTES if record.link_layer == "infiniband" else ROCE_BYTES
    return _padded(record.spec) + headers * pl.col("packets") + RETH_BYTES * packets_with_reth


def _padded(spec: Any) -> pl.Expr:
    """Return the payload of a chunk, each message padded to words of 4 bytes (IBTA 1.7, 9.2.4)."""
    message, payload = int(spec["transport"]["message_bytes"]), pl.col("payload_bytes")
    return payload // message * (-(-message // 4) * 4) + (payload % message + 3) // 4 * 4


def _least_time(record: Record) -> pl.Expr:
    """Return the time for which the frames of a chunk occupy the faster of the ports at its ends [ps]."""
    rates: dict[str, int] = {}
    for link in record.links:
        for node in (link["from"], link["to"]):
            rates[node] = max(rates.get(node, 0), link["rate_bps"])
    hosts = {int(name[4:]): rate for name, rate in rates.items() if name.startswith("host")}
    rate = pl.min_horizontal(
        pl.col(name).replace_strict(hosts, default=max(hosts.values(), default=1), return_dtype=pl.Int64)
        for name in ("src_host", "dst_host")
    )
    wire = _frame_bytes(record)
    if record.link_layer != "infiniband":
        wire = wire + (PREAMBLE_BYTES + GAP_BYTES) * pl.col("packets") - GAP_BYTES
    # The last packet is rounded down, hence the picosecond for each.
    return (wire * PS_BITS / rate).floor() - pl.col("packets")


def round_laws(record: Record) -> Iterator[Violation]:
    """Yield ranks that start a round before the previous one has ended at this rank."""
    for job in record.jobs.values():
        # Rows of failed chunks are incomplete, see `step_laws`.
        has_failed = "failed" in job.chunks["status"]
        if job.is_collective and job.chunks.height and job.chunks["round"].n_unique() > 1 and not has_failed:
            yield from _early_rounds(job)


def _early_rounds(job: JobRecord) -> Iterator[Violation]:
    chunk_ends = job.chunks.select(
        "round",
        src=pl.col("src_rank"),
        dst=pl.col("dst_rank"),
        sent=pl.col("completed_ps"),
        arrived=pl.col("delivered_ps"),
    )
    ends = [chunk_ends.select("round", rank="dst", end="arrived")]
    if not job.has_overlapping_rounds:
        ends.append(chunk_ends.select("round", rank="src", end="sent"))
    rank_ends = (
        pl.concat(ends)
        .group_by("round", "rank")
        .agg(pl.col("end").max(), over=pl.col("end").is_not_null().all())
    )
    rank_starts = job.chunks.group_by("round", pl.col("src_rank").alias("rank")).agg(pl.col("start_ps").min())
    starts_and_ends = rank_starts.join(
        rank_ends.with_columns(pl.col("round") + 1), on=["round", "rank"]
    ).sort("round", "rank")
    bad = pl.col("start_ps").is_not_null() & (~pl.col("over") | (pl.col("start_ps") < pl.col("end")))
    rule = "a rank begins a round when it is done with the one before"
    yield from first_bad(
        rule, f"chunks of {job.name}", starts_and_ends, bad, ("round", "rank", "start_ps", "end", "over")
    )


def row_count_laws(record: Record) -> Iterator[Violation]:
    """Yield started rounds with missing or excess rows of chunks, except of jobs that others end."""
    for job in record.parts:
        if not job.is_collective or job.is_open_ended:
            continue
        rounds = job.rounds_planned
        counts = job.chunks.group_by("round").len(name="rows").sort("round")
        rule = "each chunk of a round that began has a row"
        bad = pl.col("rows") * rounds != job.results["chunks"]
        yield from first_bad(rule, f"chunks of {job.name}", counts, bad, ("round", "rows"))


def step_laws(record: Record) -> Iterator[Violation]:
    """Yield chunks that a rank forwards before they have arrived."""
    for job in record.jobs.values():
        algorithm = job.pattern["algorithm"]
        if job.nccl:
            continue
        if algorithm in ("ring", "ring-bidirectional") and job.is_collective:
            keys = ["round", "channel", "step", "block", "rank"]
            arrived = job.chunks.with_columns(pl.col("step") + 1, rank=pl.col("dst_rank"))
        elif (job.pattern["collective"], algorithm) == ("broadcast", "tree"):
            keys = ["round", "channel", "rank"]
            arrived = job.chunks.with_columns(rank=pl.col("dst_rank"))
        else:
            continue
        yield from _early_steps(job, arrived, keys)


def _early_steps(job: JobRecord, arrived: pl.DataFrame, keys: list[str]) -> Iterator[Violation]:
    """Compare each chunk with all parts of the chunk that it waits for."""
    predecessors = arrived.group_by(keys).agg(
        needed=pl.col("delivered_ps").max(),
        all_there=pl.col("delivered_ps").is_not_null().all(),
        has_failed=(pl.col("status") == "failed").any(),
    )
    chunks_with_predecessors = (
        job.chunks.with_columns(rank=pl.col("src_rank")).join(predecessors, on=keys).sort("transfer", "part")
    )
    has_started, columns = pl.col("start_ps").is_not_null(), ("start_ps", "needed", "all_there")
    is_early = (
        has_started & ~pl.col("has_failed") & (~pl.col("all_there") | (pl.col("start_ps") < pl.col("needed")))
    )
    yield from first_bad(
        "a rank passes a chunk on when it has arrived", "chunks", chunks_with_predecessors, is_early, columns
    )
    is_missing = has_started & pl.col("has_failed") & ~pl.col("all_there")
    yield from first_bad(
        "what arrived of a failed chunk is in its row",
        "chunks",
        chunks_with_predecessors,
        is_missing,
        columns,
    )


def payload_laws(record: Record) -> Iterator[Violation]:
    """Yield rounds whose payload is not that of the closed form, and rows at hosts of other ranks."""
    for job in record.parts:
        hosts = job.spec["hosts"]
        host_by_rank = dict(enumerate(hosts))
        for end in ("src", "dst"):
            expected = pl.col(f"{end}_rank").replace_strict(host_by_rank, default=-1, return_dtype=pl.Int64)
            rule = "a rank is on its host"
            yield from first_bad(
                rule, "chunks", job.chunks, expected != pl.col(f"{end}_host"), (f"{end}_host",)
            )
        if not job.is_collective or not job.is_complete or job.spec["repeat"]["kind"] != "rounds" or job.nccl:
            continue
        expected_bytes = payload_bytes(
            job.pattern["collective"], job.pattern["algorithm"], job.ranks, job.pattern["data_bytes"]
        )
        if expected_bytes is None:
            continue
        sums = job.chunks.group_by("round").agg(pl.col("payload_bytes").sum()).sort("round")
        rounds = job.rounds_planned
        rule = "payload of a round = closed form of the collective"
        if sums.height != rounds:
            yield Violation(rule, f"chunks of {job.name}: {sums.height} rounds, not {rounds}")
        for number, payload in sums.iter_rows():
            if payload != expected_bytes:
                yield Violation(
                    rule, f"chunks of {job.name}, round {number}: {payload} bytes, not {expected_bytes}"
                )
                break


def path_speed_laws(record: Record) -> Iterator[Violation]:
    """Yield chunks that were faster than the slowest link on the only path of their queue pair."""
    paths = record.frame("paths")
    if not paths.height or record.spec["fabric"]["failures"]:
        return
    rates = record.frame("links").select(node="from", port="from_port", rate="rate_bps")
    slowest = paths.join(rates, on=["node", "port"]).group_by("qp").agg(pl.col("rate").min())
    chunks_with_rates = record.chunks.with_columns(packets=_packets(record.spec)).join(slowest, on="qp")
    least_ps = (_frame_bytes(record) * PS_BITS / pl.col("rate")).floor() - pl.col("packets")
    bad = complete() & _is_written(record) & (pl.col("delivered_ps") - pl.col("start_ps") < least_ps)
    rule = "no chunk is faster than the slowest link of its path"
    yield from first_bad(rule, "chunks", chunks_with_rates, bad, ("start_ps", "delivered_ps", "rate"))


LAWS = (row_laws, row_count_laws, round_laws, step_laws, payload_laws, path_speed_laws)
