"""Outputs of benchmarks as they print them, made from bandwidths: nccl-tests, OSU and perftest."""

from __future__ import annotations

from collections.abc import Sequence

_FACTORS = {"all_reduce_perf": 2.0, "broadcast_perf": 0.0, "reduce_perf": 0.0, "sendrecv_perf": 0.0}
HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"


def nccl(  # noqa: PLR0913, PLR0917 -- one parameter for each part of the output
    rows: Sequence[tuple[int, float, float]],
    ranks: int = 16,
    hosts: Sequence[str] = ("node-a", "node-b"),
    before: str = "",
    log: str = "",
    benchmark: str = "all_reduce_perf",
    options: str = "graph: 0",
    first_device: int = 0,
    version: str = "2.18.3 nccl-headers=23003 nccl-library=23003",
    kind: str = "float sum -1",
    after: str = "",
) -> str:
    """Return a run of nccl-tests.

    Args:
        rows: Size and bus bandwidth out-of-place and in-place [GB/s].
        ranks: Ranks, equally many on each host.
        hosts: Names of the hosts.
        before: Lines before the run, such as its command.
        log: Lines of NCCL's log before the table.
        benchmark: The program.
        options: Settings at the end of the line with nThread.
        first_device: Device of the first rank of a host.
        version: Version of the benchmark and its library.
        kind: Type, operation and root of each row.
        after: Lines after the table.
    """
    lines = [before] if before else []
    lines += [f"# nccl-tests version {version}", f"# Collective test starting: {benchmark}"]
    lines.append(
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
        f"validation: 1 {options}"
    )
    local = ranks // len(hosts)
    for rank in range(ranks):
        device = first_device + rank % local
        lines.append(
            f"#  Rank {rank:2} Group  0 Pid {1000 + rank} on {hosts[rank // local]} device  {device} "
            f"[0000:{device + 6:02x}:00] GPU"
        )
    lines += [log] if log else []
    lines.append(HEAD)
    factor = _FACTORS.get(benchmark, 1.0) * (ranks - 1) / ranks or 1.0
    shares = 1 if benchmark in _FACTORS else ranks
    for size, *rates in rows:
        cells = []
        for rate in rates:
            time = float(f"{size * factor / rate / 1e3:.2f}")
            algbw = size / time / 1e3
            cells.append(f"{time:.2f} {algbw:.2f} {algbw * factor:.2f} 0")
        lines.append(f"{size} {size // 4 // shares} {kind} {' '.join(cells)}")
    lines.append("# Out of bounds values : 0 OK")
    return "\n".join([*lines, *([after] if after else [])]) + "\n"


def flat(bus: float, sizes: Sequence[int] = (1 << 28, 1 << 29, 1 << 30)) -> list[tuple[int, float, float]]:
    """Return rows of one bandwidth."""
    return [(size, bus, bus) for size in sizes]


def perftest(  # noqa: PLR0913, PLR0917 -- likewise
    rows: Sequence[tuple[int, float]],
    device: str = "mlx5_0",
    title: str = "RDMA_Write BW Test",
    mtu: int = 4096,
    queue_pairs: int = 1,
    link: str = "Ethernet",
    before: str = "",
    addresses: tuple[str, str] = ("0x0118", "0x0119"),
    gids: tuple[str, str] | None = None,
) -> str:
    """Return a test of perftest from size and Gb/s."""
    lines = [before] if before else []
    lines += ["-" * 80, f"                    {title}"]
    lines += [
        f" Dual-port       : OFF\t\tDevice         : {device}",
        f" Number of qps   : {queue_pairs}\t\tTransport type : IB",
        " Connection type : RC\t\tUsing SRQ      : OFF",
        f" Mtu             : {mtu}[B]",
        f" Link type       : {link}",
        " rdma_cm QPs\t : OFF",
        "-" * 80,
    ]
    for place, side in enumerate(("local", "remote")):
        lines.append(
            f" {side} address: LID 0000 QPN {addresses[place]} PSN 0x85dc1{place} RKey 0x0 VAddr 0x7"
        )
        lines += [f" GID: {gids[place]}"] if gids else []
    lines += ["-" * 80]
    lines.append(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
    lines += [f" {size}  5000  {gbps:.2f}  {gbps:.2f}  {gbps / 8 / size * 1e3:.6f}" for size, gbps in rows]
    return "\n".join([*lines, "-" * 80]) + "\n"


def osu(
    rows: Sequence[tuple[int, float]],
    before: str = "$ srun -N2 -n2 osu_bw",
    title: str = "MPI",
    below: str = "",
) -> str:
    """Return a test of osu_bw from size and MB/s."""
    lines = [before, f"# OSU {title} Bandwidth Test v6.2", *([below] if below else [])]
    lines.append("# Size      Bandwidth (MB/s)")
    return "\n".join([*lines, *(f"{size:<20} {rate:10.2f}" for size, rate in rows)]) + "\n"
