"""Further outputs: collectives and pairs, healthy and slow."""

from __future__ import annotations

from tests.measured.pasted.forms import GUESSES, IB, MPIRUN, SIZES, Pasted, both, using
from tests.measured.pasted.logs import rates
from tests.measured.printed import flat, nccl, osu, perftest

OTHERS = {
    "runs of one command": Pasted(
        "".join(nccl(flat(r, SIZES[-1:]), before=MPIRUN.format("")) for r in (190.0, 98.0, 188.0, 97.0)),
        8,
        200.0,
        ["collisions"],
    ),
    "reduce_scatter healthy": Pasted(
        nccl(flat(191.0, SIZES), benchmark="reduce_scatter_perf"),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "all_gather two rails": Pasted(
        nccl(
            flat(48.0, SIZES),
            benchmark="all_gather_perf",
            log=using(8)
            + "\n"
            + "\n".join(
                IB.format(1000 + r, r)
                + f"Channel {r:02}/0 : {r}[{r}] -> {r + 8}[{r}] [send] via NET/IB/{r % 2}/GDRDMA"
                for r in range(8)
            ),
        ),
        8,
        200.0,
        ["few-adapters"],
        certain=[],
    ),
    "qps per connection nccl": Pasted(
        both(150.0, 190.0, "-x NCCL_IB_QPS_PER_CONNECTION=1", "-x NCCL_IB_QPS_PER_CONNECTION=8"),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "third run": Pasted(
        both(150.0, 190.0, "-x NCCL_IB_QPS_PER_CONNECTION=1", "-x NCCL_IB_QPS_PER_CONNECTION=4")
        + nccl(flat(191.0, SIZES), before=MPIRUN.format("-x NCCL_IB_QPS_PER_CONNECTION=8")),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "ib_read vs write": Pasted(
        perftest([(1 << 20, 97.0)], queue_pairs=4, before="$ ib_write_bw -q 4")
        + perftest([(1 << 20, 55.0)], queue_pairs=4, title="RDMA_Read BW Test", before="$ ib_read_bw -q 4"),
        None,
        100.0,
        ["different-settings", "pcie-slot", "slower-port", "unexplained"],
    ),
    "cuda -> mlx on other": Pasted(
        perftest(
            [(1 << e, 100.0) for e in range(16, 24)],
            queue_pairs=4,
            before="$ ib_write_bw -q 4 --use_cuda_dmabuf --use_cuda=0\nallocated GPU buffer address",
        ),
        None,
        400.0,
        ["gpu-memory"],
    ),
    "mtu 1024 nccl log and bond": Pasted(
        nccl(
            flat(46.0, SIZES),
            log=IB.format(1, 0)
            + "NET/IB : Using "
            + " ".join(f"[{n}]mlx5_bond_{n}:1/RoCE" for n in range(4))
            + " [RO]; OOB e0:1.1.1.1<0>\n"
            + IB.format(1, 0)
            + "NET/IB: IbDev 0 Port 1 qpn 1234 mtu 3 GID 3 (0/6F12)",
        ),
        4,
        200.0,
        ["bond-one-port"],
        ["small-mtu"],
    ),
    "p2p SHM only PCIe box": Pasted(
        nccl(
            flat(9.0, SIZES),
            ranks=4,
            log=using(1)
            + "\n"
            + IB.format(1, 0)
            + "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
            + IB.format(1, 0)
            + "Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA",
        ),
        1,
        200.0,
        ["peer-to-peer-off"],
    ),
    "NVLS above": Pasted(
        nccl(
            flat(474.0, SIZES),
            log=IB.format(1, 0)
            + "NVLS multicast support is available on dev 0\n"
            + IB.format(1, 0)
            + (
                "16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p "
                "channels per peer"
            ),
        ),
        8,
        400.0,
        ["above-line-rate"],
    ),
    "reorder by adaptive env + counters none": Pasted(
        nccl(
            [(1 << 26, 60.0, 110.0), (1 << 28, 120.0, 50.0), (1 << 30, 150.0, 80.0), (1 << 32, 100.0, 185.0)],
            before=MPIRUN.format("-x NCCL_IB_ADAPTIVE_ROUTING=1"),
        ),
        8,
        200.0,
        ["reordering", "collisions"],
    ),
    "mixed: ethernet bond among IB": Pasted(
        nccl(
            flat(45.0, SIZES),
            log=IB.format(1, 0)
            + (
                "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB "
                "[4]mlx5_bond_0:1/RoCE [RO]; OOB b0:1.1.1.1<0>"
            ),
        ),
        4,
        200.0,
        ["mixed-adapters"],
    ),
    "two slow hosts": Pasted(
        nccl(flat(47.0, SIZES), log=rates(*[200000] * 4) + "\n" + rates(*[100000] * 4, host="node-b")),
        4,
        200.0,
        ["slower-port"],
        ["slower-port"],
    ),
    "osu bidir slow": Pasted(
        osu([(1 << e, 12200.0) for e in range(16, 23)], before="$ srun osu_bibw").replace(
            "Bandwidth Test", "Bi-Directional Bandwidth Test"
        ),
        None,
        100.0,
        ["pcie-slot", "slower-port", "unexplained", "one-queue-pair"],
    ),
}
