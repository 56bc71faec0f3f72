"""Laws about collectives as NCCL runs them over servers: bytes between servers, their adapters, PXN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl
from tools.swarm.record import JobRecord, Record, Violation
from tools.swarm.record_laws.chunks import INFINIBAND_BYTES, RETH_BYTES, ROCE_BYTES, first_bad
from tools.swarm.record_laws.network import CONTROL_BYTES, GRANT_BYTES, is_plain

_WIRE: Mapping[str, tuple[Fraction, int]] = {
    "simple": (Fraction(1), 0),
    "ll": (Fraction(2), 8),
    "ll128": (Fraction(16, 15), 128),
}
"""Bytes on the wire for each byte of data, and the most by which a message is longer, by protocol."""
_CYCLES = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}
"""How often the blocks of a collective go round a ring."""

CLEARANCE_BYTES = 64
"""Payload of a message that clears a buffer."""

Edges = dict[tuple[int, int], tuple[int, int]]
"""Bytes and messages by server and next server."""


def _of_servers(record: Record) -> Iterator[tuple[JobRecord, Mapping[str, Any]]]:
    """Yield the complete jobs that NCCL runs, whose rounds all have one size."""
    for job in record.jobs.values():
        is_whole = job.is_complete and not job.is_open_ended and "round_bytes" not in job.collective
        if job.is_collective and job.nccl and is_whole:
            yield job, job.nccl


def between_servers_laws(record: Record) -> Iterator[Violation]:
    """Yield servers that send more or fewer bytes than the closed form of NCCL's schedule."""
    for job, nccl in _of_servers(record):
        is_one = nccl["kind"] == "one-server"
        place = "of one server" if is_one else "between servers"
        rule = f"bytes {place} = closed form of NCCL's {nccl['algorithm' if is_one else 'kind']}"
        for number in range(job.rounds_planned):
            crosses = pl.col("src_host") != pl.col("dst_host")
            chunks = job.chunks.filter((pl.col("round") == number) & (crosses | pl.lit(is_one)))
            problem = _problem(job, nccl, chunks)
            if problem:
                yield Violation(rule, f"chunks of {job.name}, round {number}: {problem}")
                break


def _edges(chunks: pl.DataFrame) -> Edges:
    sums = chunks.group_by("src_host", "dst_host").agg(pl.col("payload_bytes").sum(), pl.len())
    return {(src, dst): (bytes_, count) for src, dst, bytes_, count in sums.iter_rows()}


def _problem(job: JobRecord, nccl: Mapping[str, Any], chunks: pl.DataFrame) -> str:
    """Return what is wrong with the bytes of a round; empty if nothing is."""
    collective, data = job.pattern["collective"], job.pattern["data_bytes"]
    servers = list(dict.fromkeys(job.spec["hosts"]))
    if nccl["kind"] == "peers":
        return _of_peers(job, nccl, chunks) if collective in ("all-to-all", "send-receive") else ""
    if nccl["kind"] == "one-server":
        return _of_one_server(job, nccl, chunks)
    if nccl["kind"] == "tree":
        return _of_tree(nccl, chunks, data, len(servers))
    pairs = list(zip(servers, servers[1:] + servers[:1], strict=True))
    expected = Fraction(data)
    if collective in _CYCLES:
        expected *= Fraction(_CYCLES[collective] * (job.ranks - 1), job.ranks)
    else:
        root = servers.index(job.spec["hosts"][job.pattern["root"]])
        end = root if collective == "broadcast" else root + 1
        pairs.remove((servers[end - 1], servers[end % len(servers)]))
    return _differences(nccl, _edges(chunks), dict.fromkeys(pairs, expected), loose=collective in _CYCLES)


def _of_one_server(job: JobRecord, nccl: Mapping[str, Any], chunks: pl.DataFrame) -> str:
    """Compare what the GPUs of a server send: blocks of rings, data of chains, data and sums of NVLS."""
    collective, data = job.pattern["collective"], job.pattern["data_bytes"]
    others = job.ranks - 1
    times = {
        "ring": _CYCLES.get(collective, 1) * others,
        "tree": 2 * others,
        "nvls": job.ranks + (collective == "all-reduce"),
    }[nccl["algorithm"]]
    server = job.spec["hosts"][0]
    expected = {(server, server): Fraction(data * times)}
    return _differences(nccl, _edges(chunks), expected, loose=False)


def _of_tree(nccl: Mapping[str, Any], chunks: pl.DataFrame, data: int, servers: int) -> str:
    """Compare the edges of the tree of each channel: its data go up and down each of them."""
    count = len(nccl["channels"])
    for channel in range(count):
        expected = Fraction(data // count + (channel < data % count))
        edges = _edges(chunks.filter(pl.col("channel") == channel))
        joined = {min(edge) for edge in edges} | {max(edge) for edge in edges}
        if expected and (len(edges) != 2 * (servers - 1) or len(joined) != servers):
            return f"channel {channel}: {len(edges)} edges between {len(joined)} of {servers} servers"
        if {(dst, src) for src, dst in edges} != set(edges):
            return f"channel {channel}: edges {sorted(edges)}"
        if problem := _differences(nccl, edges, dict.fromkeys(edges, expected), loose=False):
            return f"channel {channel}: {problem}"
    return ""


def _of_peers(job: JobRecord, nccl: Mapping[str, Any], chunks: pl.DataFrame) -> str:
    """Compare what each server sends to each other one: a part for each pair of ranks."""
    hosts, data = job.spec["hosts"], job.pattern["data_bytes"]
    ranks = range(job.ranks)
    if job.pattern["collective"] == "all-to-all":
        pairs, part = [(src, dst) for src in ranks for dst in ranks], Fraction(data // job.ranks)
    else:
        pairs, part = [(rank, rank ^ 1) for rank in ranks], Fraction(data)
    expected: dict[tuple[int, int], Fraction] = {}
    for src, dst in pairs:
        if hosts[src] != hosts[dst]:
            edge = hosts[src], hosts[dst]
            expected[edge] = expected.get(edge, Fraction(0)) + part
    return _differences(nccl, _edges(chunks), expected, loose=False)


def _differences(
    nccl: Mapping[str, Any], edges: Edges, expected: Mapping[tuple[int, int], Fraction], *, loose: bool
) -> str:
    """Return the first edge with other bytes; `loose` for blocks that differ by a byte."""
    factor, padding = _WIRE[nccl["protocol"]]
    for edge in sorted(expected.keys() | edges.keys()):
        bytes_, messages = edges.get(edge, (0, 0))
        exact = factor * expected.get(edge, Fraction(0))
        rounding = factor * messages if loose else 0
        if not exact - rounding <= bytes_ <= exact + rounding + padding * messages:
            found = f"{bytes_} bytes in {messages} messages from server {edge[0]} to {edge[1]}"
            return f"{found}, not {float(exact):.1f}"
    return ""


@dataclass
class _Sent:
    """What an adapter sends besides acknowledgements: frames and bytes of data, and clearances."""

    frames: int = 0
    bytes_: int = 0
    clearances: int = 0


def adapter_laws(record: Record) -> Iterator[Violation]:
    """Yield adapters that send other data than those of their channels or GPUs."""
    if not record.spec["fabric"].get("server") or not is_plain(record):
        return
    if record.spec["fabric"]["switch"]["pfc"] is not None or not _has_known_adapters(record):
        return
    sent = _sent(record)
    has_clearances = any(job.has_clearances for job in record.jobs.values())
    for port in record.ports:
        if port["tier"] > 0:
            continue
        own = sent[int(port["node"].removeprefix("host")), port["port"]]
        granted = port["flow_control_tx"] or 0
        frames = port["tx_frames"] - own.frames - granted
        bytes_ = port["tx_bytes"] - own.bytes_ - GRANT_BYTES * granted
        # Clearances that are sent again have no row: there may be more of them.
        size = CONTROL_BYTES[record.link_layer]
        cleared, rest = divmod(bytes_ - size * frames, _clearance_bytes(record) - size)
        is_known = own.clearances <= cleared <= frames if has_clearances else cleared == 0 <= frames
        if rest or not is_known:
            figures = f"ports: {port['node']} port {port['port']}: {frames} frames of {bytes_} bytes"
            yield Violation("an adapter sends the data of its channels", f"{figures} besides data")


def _channels(job: JobRecord) -> list[Mapping[str, Any]] | None:
    """Return the channels of a job that has adapters of its own for each; none of any other."""
    nccl = job.nccl if job.is_collective else None
    return None if nccl is None or nccl["kind"] in ("peers", "one-server") else nccl["channels"]


def _has_known_adapters(record: Record) -> bool:
    """Return whether the plan determines the adapter of each chunk and each clearance.

    A clearance has a part on each queue pair.
    """
    is_sole = all(len(near) == 1 for near in record.spec["fabric"]["server"]["adapters_of_gpu"])
    has_parts = record.spec["transport"]["qps_per_rank_pair"] > 1
    return all(
        (is_sole or _channels(job) is not None) and not (has_parts and job.has_clearances)
        for job in record.jobs.values()
    )


def _sent(record: Record) -> dict[tuple[int, int], _Sent]:
    """Return what each adapter of each server sends."""
    near = record.spec["fabric"]["server"]["adapters_of_gpu"]
    sent: dict[tuple[int, int], _Sent] = defaultdict(_Sent)
    keys = ("src_host", "src_rank", "channel")
    for job in record.jobs.values():
        channels = _channels(job)
        rows = job.chunks.filter(pl.col("src_host") != pl.col("dst_host"))
        sums = rows.group_by(keys).agg(pl.col("tx_frames").sum(), pl.col("tx_bytes").sum())
        for host, rank, channel, frames, bytes_ in sums.iter_rows():
            adapter = near[job.spec["gpus"][rank]][0] if channels is None else channels[channel]["send_nic"]
            sent[host, adapter].frames += frames
            sent[host, adapter].bytes_ += bytes_
        if job.nccl and job.has_clearances:
            for adapter_of_host, count in _clearances(job.nccl, rows).items():
                sent[adapter_of_host].clearances += count
    return sent


def _clearances(nccl: Mapping[str, Any], rows: pl.DataFrame) -> dict[tuple[int, int], int]:
    """Return the messages that clear buffers, by server and adapter: one for each beyond the buffers."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    sums = rows.group_by("round", "src_host", "dst_host", "channel").agg(pl.len())
    for _, _, host, channel, messages in sums.iter_rows():
        adapter = nccl["channels"][channel]["receive_nic"]
        counts[host, adapter] += max(0, messages - nccl["window_messages"])
    return counts


def _clearance_bytes(record: Record) -> int:
    """Return the bytes of the only packet of a clearance."""
    headers = INFINIBAND_BYTES if record.link_layer == "infiniband" else ROCE_BYTES
    return headers + RETH_BYTES + CLEARANCE_BYTES


def pxn_laws(record: Record) -> Iterator[Violation]:
    """Yield data of peers that leave their rail though GPUs of the server pass them to the right one."""
    for job in record.jobs.values():
        if job.is_collective and job.nccl and job.nccl["kind"] == "peers" and job.nccl["pxn"]:
            gpus = dict(enumerate(job.spec["gpus"]))
            ends = [
                pl.col(f"{end}_rank").replace_strict(gpus, default=-1, return_dtype=pl.Int64)
                for end in ("src", "dst")
            ]
            bad = (pl.col("src_host") != pl.col("dst_host")) & (ends[0] != ends[1])
            columns = ("src_rank", "dst_rank")
            yield from first_bad("with PXN data stay on their rail", "chunks", job.chunks, bad, columns)


def forwarding_laws(record: Record) -> Iterator[Violation]:
    """Yield servers that pass a block on before its first slice has arrived and passed the GPUs."""
    for job in record.jobs.values():
        nccl = job.nccl if job.is_collective else None
        if nccl is None or nccl["kind"] != "ring" or job.pattern["collective"] not in _CYCLES:
            continue
        gpus = job.ranks // len(set(job.spec["hosts"]))
        keys = ["round", "channel", "step", "block", "rank"]
        arrived = job.chunks.with_columns(pl.col("step") + gpus, rank=pl.col("dst_rank"))
        needed = arrived.group_by(keys).agg(needed=pl.col("delivered_ps").min())
        passed_on = job.chunks.with_columns(rank=pl.col("src_rank")).join(needed, on=keys)
        latency_ps = nccl["scale_up"]["hops"] * nccl["scale_up"]["latency_ps"]
        bad = pl.col("start_ps").is_not_null() & (
            pl.col("needed").is_null() | (pl.col("start_ps") < pl.col("needed") + latency_ps)
        )
        rule = "a server passes a block on when it has arrived and passed the GPUs"
        yield from first_bad(rule, "chunks", passed_on, bad, ("start_ps", "needed"))


LAWS = (between_servers_laws, adapter_laws, pxn_laws, forwarding_laws)
