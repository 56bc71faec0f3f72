"""Tables of runs that never happened: plausible rows of any size, made in a moment, always the same."""

from __future__ import annotations

import polars as pl

from fabricbench.store.record.schema import schema_of

RATE_BPS = 400_000_000_000
PS_PER_BYTE = 20
_FRAME = 4096 + 62


def _with_chunk_columns(chunks: pl.DataFrame, chunk_bytes: int) -> pl.DataFrame:
    frames = -(-chunk_bytes // 4096)
    late = pl.col("dst_rank") * 7919 % 1009
    return chunks.with_columns(
        job=pl.lit("test"),
        transfer=pl.int_range(pl.len()),
        part=pl.lit(0),
        round=pl.lit(0),
        unloaded_ps=pl.lit(None, dtype=pl.Int64),
        udp_source_port=pl.lit(50_000) + pl.col("qp") % 15_000,
        src_host=pl.col("src_rank"),
        dst_host=pl.col("dst_rank"),
        channel=pl.lit(0),
        status=pl.lit("complete"),
        payload_bytes=pl.lit(chunk_bytes),
        delivered_ps=pl.col("completed_ps") - 2_000_000,
        fct_ps=pl.col("completed_ps") - pl.col("start_ps"),
        busbw_gb_per_s=1000 * chunk_bytes / (pl.col("completed_ps") - pl.col("start_ps")),
        tx_frames=pl.lit(frames),
        tx_bytes=pl.lit(frames * _FRAME),
        rx_frames=pl.lit(frames),
        rx_bytes=pl.lit(frames * _FRAME),
        frames_delta=pl.lit(0),
        retransmits=pl.lit(0),
        naks=pl.lit(0),
        timeouts=pl.lit(0),
        out_of_order=pl.lit(0),
        latency_min_ps=2_100_000 + late * 10,
        latency_mean_ps=(4_000_000 + late * 9_000).cast(pl.Float64),
        latency_max_ps=9_000_000 + late * 40_000,
        ecn_ce_rx=pl.lit(0),
        cnp_tx=pl.lit(0),
        cnp_rx=pl.lit(0),
    )


def all_to_all_chunks(ranks: int, data_bytes: int) -> pl.DataFrame:
    """All chunks of a rank start at once and share its port: `ranks` x (`ranks` - 1) rows."""
    chunk_bytes = data_bytes // ranks
    whole = (ranks - 1) * chunk_bytes * PS_PER_BYTE * 82 // 80
    pairs = (
        pl.int_range(ranks, eager=True)
        .alias("src_rank")
        .to_frame()
        .join(pl.int_range(ranks, eager=True).alias("dst_rank").to_frame(), how="cross")
        .filter(pl.col("src_rank") != pl.col("dst_rank"))
    )
    spread = (pl.col("src_rank") * 104_729 + pl.col("dst_rank") * 1299_709) % 1000
    chunks = pairs.with_columns(
        qp=pl.int_range(pl.len()),
        step=pl.lit(0),
        block=pl.col("dst_rank"),
        start_ps=pl.lit(0),
        completed_ps=whole * (960 + spread * 40 // 1000) // 1000 + 4_000_000 + pl.col("src_rank") * 1000,
    )
    return _with_chunk_columns(chunks, chunk_bytes).sort("completed_ps")


def ring_chunks(ranks: int, data_bytes: int) -> pl.DataFrame:
    """Ring all-reduce: 2 (n - 1) steps, in each of which every rank sends one chunk to the next rank."""
    chunk_bytes = data_bytes // ranks
    step_ps = chunk_bytes * PS_PER_BYTE * 82 // 80 + 6_000_000
    chunks = (
        pl.int_range(2 * (ranks - 1), eager=True)
        .alias("step")
        .to_frame()
        .join(pl.int_range(ranks, eager=True).alias("src_rank").to_frame(), how="cross")
        .with_columns(
            dst_rank=(pl.col("src_rank") + 1) % ranks,
            qp=pl.col("src_rank"),
            block=(pl.col("src_rank") - pl.col("step")) % ranks,
            start_ps=pl.col("step") * step_ps + pl.col("src_rank") * 977,
        )
        .with_columns(completed_ps=pl.col("start_ps") + step_ps - 500_000)
    )
    return _with_chunk_columns(chunks, chunk_bytes).sort("completed_ps")


def leaf_spine_links(leaves: int, hosts_per_leaf: int, spines: int, run_ps: int) -> pl.DataFrame:
    """Both directions of every cable; uplinks are used unevenly, as ECMP would."""
    cables = [
        (f"host{leaf * hosts_per_leaf + host}", 0, f"leaf{leaf}", host, 1, 950)
        for leaf in range(leaves)
        for host in range(hosts_per_leaf)
    ]
    cables += [
        (f"leaf{leaf}", hosts_per_leaf + spine, f"spine{spine}", leaf, 2, (leaf * 3 + spine * 5) * 131 % 1000)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    rows = []
    for a, a_port, b, b_port, tier, use in cables:
        rows.append((a, a_port, b, b_port, tier, run_ps * use // 1000))
        rows.append((b, b_port, a, a_port, tier, run_ps * (use * 7 // 10) // 1000))
    return pl.DataFrame(
        [
            {
                "from": sender,
                "from_port": port,
                "to": receiver,
                "to_port": to_port,
                "tier": tier,
                "rate_bps": RATE_BPS,
                "frames": busy_ps // ((_FRAME + 20) * PS_PER_BYTE),
                "bytes": busy_ps // PS_PER_BYTE * _FRAME // (_FRAME + 20),
                "busy_ps": busy_ps,
            }
            for sender, port, receiver, to_port, tier, busy_ps in rows
        ]
    )


def ports_of(links: pl.DataFrame) -> pl.DataFrame:
    """Counters of the ports at the sending ends of `links`."""
    rows = []
    for index, link in enumerate(links.iter_rows(named=True)):
        node = str(link["from"])
        tier = 0 if node.startswith("host") else 1 if node.startswith("leaf") else 2
        rows.append(
            dict.fromkeys(schema_of("ports").names, 0)
            | dict.fromkeys(("flow_control_tx", "flow_control_rx", "credit_wait_ps"))
            | {
                "node": node,
                "tier": tier,
                "port": link["from_port"],
                "peer": link["to"],
                "tx_frames": link["frames"],
                "tx_bytes": link["bytes"],
                "rx_frames": link["frames"] * 7 // 10,
                "rx_bytes": link["bytes"] * 7 // 10,
                "queue_max_bytes": index * 7919 % 1_500_000 if tier else 0,
                "egress_qps": index % 57,
            }
        )
    return pl.DataFrame(rows)


def series_of(links: pl.DataFrame, run_ps: int, points: int, ports: int) -> pl.DataFrame:
    """Samples of the first `ports` switch ports: a queue that swells and drains, and frame bytes sent."""
    switches = links.filter(~pl.col("from").str.starts_with("host")).head(ports)
    rows = []
    for index, link in enumerate(switches.iter_rows(named=True)):
        for point in range(points + 1):
            time_ps = run_ps * point // points
            queue = max(0, (point * (points - point) * 4 // points) * (index * 37 % 50) * 300 - 20_000)
            sent = int(link["bytes"]) * point // points
            for metric, value in (("queue_bytes", queue), ("tx_bytes", sent)):
                rows.append(
                    (metric, str(link["from"]), int(link["from_port"]), None, None, None, time_ps, value)
                )
    names = ["metric", "node", "port", "priority", "qp", "job", "time_ps", "value"]
    schema = {name: pl.String if name in ("metric", "node", "job") else pl.Int64 for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def no_events() -> pl.DataFrame:
    return pl.DataFrame(
        schema={"time_ps": pl.Int64, "kind": pl.String, "node": pl.String, "detail": pl.String}
    )
