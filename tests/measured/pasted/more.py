"""Further outputs, with lines that rule a cause out."""

from __future__ import annotations

from tests.measured.pasted.forms import (
    GUESSES,
    IB,
    IBSTAT,
    MPIRUN,
    SIZES,
    Pasted,
    both,
    channels,
    counts,
    rank,
    ras,
)
from tests.measured.printed import flat, nccl, osu, perftest

SPEC = IB.format(1000, 0)


STORAGE = IBSTAT.replace("mlx5_1'", "mlx5_9'")


PATHS = SPEC + (
    "GPU/4000 :GPU/4000 (0/5000.000000/LOC) GPU/5000 (1/80.000000/NVL) CPU/0 "
    "(2/24.000000/PHB) NET/0 (3/12.000000/PIX) NET/1 (6/12.000000/SYS)"
)


STATUS = (
    "$ ibstatus\nInfiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t "
    "fe80::1\n\tbase lid:\t 0x1\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: "
    "LinkUp\n\trate:\t\t 100 Gb/sec (4X EDR)\n\tlink_layer:\t InfiniBand\n\n"
)


TWO = (
    "$ lspci -s 17:00.0 -vv | grep Lnk\n\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, "
    "ASPM not supported\n\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x16\n"
)


MORE = {
    "a storage port that NCCL does not use": Pasted(
        nccl(flat(48.5, SIZES), before=STORAGE, log=channels(2)),
        2,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "a storage port, slow for another reason": Pasted(
        nccl(flat(30.0, SIZES), before=STORAGE, log=channels(2)),
        2,
        200.0,
        ["acs", "unexplained"],
        (),
        ["slower-port"],
    ),
    "path of 12 GB/s": Pasted(nccl(flat(11.3, SIZES), ranks=4, log=PATHS), 1, 200.0, ["pcie-slot"]),
    "ibstatus": Pasted(
        perftest([(1 << 20, 97.0)], queue_pairs=4, before=STATUS, link="IB"), None, 200.0, ["slower-port"]
    ),
    "lspci without a name": Pasted(
        perftest([(1 << 20, 218.0)], queue_pairs=4, before=TWO), None, 400.0, ["pcie-slot"]
    ),
    "lspci as it should be": Pasted(
        perftest([(1 << 20, 97.0)], queue_pairs=4, before=TWO),
        None,
        200.0,
        ["slower-port"],
        (),
        ["pcie-slot"],
    ),
    "P2P disabled": Pasted(
        nccl(
            flat(20.0, SIZES),
            log=SPEC
            + (
                "P2P is disabled between connected GPUs 1 and 0. You can repress this message with "
                "NCCL_IGNORE_DISABLED_P2P=1.\n"
            )
            + channels(4),
        ),
        4,
        200.0,
        ["peer-to-peer-off"],
    ),
    "crossed on one rank, unnamed groups": Pasted(
        ras(*counts("AllGather", (30, 5), (2, 4)), *counts("AllReduce", (30, 900), (2, 901))),
        None,
        None,
        ["ranks-differ"],
    ),
    "not crossed, other ranks": Pasted(
        ras(
            *counts("AllGather", (30, 5), (2, 4)),
            rank(3, 1),
            rank(4, 1),
            *counts("AllReduce", (31, 900), (1, 899)),
            rank(9, 2),
        ),
        None,
        None,
        ["as-expected", "ranks-behind"],
        (),
        ["ranks-differ"],
    ),
    "far behind": Pasted(
        ras(*counts("AllReduce", (31, 90000), (1, 80000)), rank(9, 2)),
        None,
        None,
        ["ranks-behind"],
        (),
        ["as-expected", "ranks-differ"],
    ),
    "in-place half": Pasted(
        nccl([(s, 190.0, 95.0) for s in SIZES]), 8, 200.0, ["placement"], ["as-expected"], GUESSES
    ),
    "one odd size in place": Pasted(
        nccl([(s, 190.0, 189.0) for s in SIZES[:-1]] + [(SIZES[-1], 191.0, 150.0)]),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "mtu nccl runs": Pasted(
        both(92.3, 97.5, "-x A=1", "-x A=2"), 4, 200.0, ["as-expected"], certain=["as-expected"]
    ),
    "send queue depth osu": Pasted(
        osu([(1 << e, 11000.0) for e in range(16, 23)], before="$ mpirun -np 2 osu_bw -W 1")
        + osu([(1 << e, 24000.0) for e in range(16, 23)], before="$ mpirun -np 2 osu_bw -W 64"),
        None,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "same command, twice, other days": Pasted(
        "# Date: 2025-03-01 10:00:00\n"
        + nccl(flat(190.0, SIZES))
        + "# Date: 2025-03-02 10:00:00\n"
        + nccl(flat(100.0, SIZES)),
        8,
        200.0,
        [
            "collisions",
            "few-adapters",
            "acs",
            "slower-port",
            "different-settings",
            "unexplained",
            "pcie-slot",
        ],
    ),
    "gid values alone": Pasted(
        perftest([(65536, 97.0)], queue_pairs=4, gids=("0:1", "0:2"), before="$ ib_write_bw -q 4")
        + perftest(
            [(65536, 60.0)],
            queue_pairs=4,
            gids=("0:3", "0:4"),
            addresses=("0x1", "0x2"),
            before="$ ib_write_bw -q 4",
        ),
        None,
        100.0,
        ["collisions", "different-settings", "unexplained", "congestion", "pcie-slot"],
    ),
    "gid index, perftest": Pasted(
        perftest([(65536, 97.0)], queue_pairs=4, before="$ ib_write_bw -q 4 -x 3").replace(
            " Link type", " GID index       : 3\n Link type"
        )
        + perftest([(65536, 60.0)], queue_pairs=4, before="$ ib_write_bw -q 4 -x 1").replace(
            " Link type", " GID index       : 1\n Link type"
        ),
        None,
        100.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "service level": Pasted(
        perftest([(65536, 97.0)], queue_pairs=4, before="$ ib_write_bw -q 4 --tclass=106")
        + perftest([(65536, 60.0)], queue_pairs=4, before="$ ib_write_bw -q 4 --tclass=0"),
        None,
        100.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "qps and cm": Pasted(
        perftest([(65536, 97.0)], queue_pairs=4, before="$ ib_write_bw -q 4")
        + perftest([(65536, 40.0)], queue_pairs=1, before="$ ib_write_bw -R").replace(
            "rdma_cm QPs\t : OFF", "rdma_cm QPs\t : ON"
        ),
        None,
        100.0,
        ["different-settings", "rdma-cm", "one-queue-pair"],
        ["rdma-cm", "one-queue-pair"],
    ),
    "numa pinning": Pasted(
        perftest([(65536, 97.0)], queue_pairs=4, before="$ numactl -N 0 ib_write_bw -q 4")
        + perftest([(65536, 60.0)], queue_pairs=4, before="$ numactl -N 1 ib_write_bw -q 4"),
        None,
        100.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
}


LAST = {
    "watchdog": Pasted(
        (
            "[rank3]:[E1103 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught "
            "collective operation timeout: WorkNCCL(SeqNum=4051, OpType=ALLREDUCE, NumelIn=1, "
            "NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
        ),
        None,
        None,
        ["run-failed"],
        certain=["run-failed"],
    ),
    "create cq": Pasted(
        "node-a:1:9 [0] misc/ibvwrap.cc:160 NCCL WARN Call to ibv_create_cq failed\n",
        None,
        None,
        ["run-failed"],
        certain=["run-failed"],
    ),
    "oom": Pasted(
        nccl(flat(190.0, SIZES[:2])) + "node-a: Test CUDA failure common.cu:894 'out of memory'\n",
        8,
        200.0,
        ["run-failed"],
        certain=["run-failed"],
    ),
    "one qp alone": Pasted(
        perftest([(1 << e, 214.0) for e in range(16, 24)], before="$ ib_write_bw -d mlx5_0 -a"),
        None,
        400.0,
        ["one-queue-pair", "pcie-slot", "slower-port"],
        ["one-queue-pair"],
    ),
    "cm alone": Pasted(
        perftest([(1 << e, 7.4) for e in range(16, 24)], before="$ ib_write_bw -R -d mlx5_0 -a").replace(
            "rdma_cm QPs\t : OFF", "rdma_cm QPs\t : ON"
        ),
        None,
        100.0,
        ["rdma-cm", "one-queue-pair"],
        ["rdma-cm"],
    ),
    "healthy with variables": Pasted(
        nccl(
            flat(192.0, SIZES),
            before=MPIRUN.format(
                "-x NCCL_IB_DISABLE=0 -x NCCL_PROTO=Simple -x NCCL_ALGO=Ring -x NCCL_P2P_DISABLE=0 -x "
                "NCCL_CROSS_NIC=0"
            ),
        ),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "efa": Pasted(
        nccl(
            flat(46.0, SIZES),
            log=IB.format(1, 0)
            + "NET/OFI Selected Provider is efa (found 4 nics)\n"
            + IB.format(1, 0)
            + "Using network AWS Libfabric\n"
            + IB.format(1, 0)
            + "NET/Plugin: Failed to find ncclCollNetPlugin_v4 symbol.",
        ),
        4,
        100.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "plugin missing": Pasted(
        nccl(
            flat(60.0, SIZES),
            log=IB.format(1, 0)
            + "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n"
            + channels(4),
        ),
        4,
        200.0,
        ["acs", "unexplained"],
        (),
        ["sockets", "few-adapters"],
    ),
    "IB 1024": Pasted(
        perftest([(1 << e, 96.9) for e in range(14, 24)], mtu=1024, link="IB", queue_pairs=4),
        None,
        100.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "level": Pasted(
        nccl(flat(20.0, SIZES), before=MPIRUN.format("-x NCCL_P2P_LEVEL=LOC")), 8, 200.0, ["peer-to-peer-off"]
    ),
    "ring of hosts sendrecv": Pasted(
        nccl(flat(24.0, SIZES), benchmark="sendrecv_perf"), 8, 200.0, ["as-expected"], certain=["as-expected"]
    ),
    "88 percent": Pasted(
        nccl(flat(350.0, SIZES)), 8, 400.0, ["unexplained", "few-adapters", "collisions", "as-expected"]
    ),
}
PHB = SPEC + "Pattern 4, crossNic 0, nChannels 2, bw 12.000000/12.000000, type NVL/PHB, sameChannels 1\n"
ONE_GPU = """$ nvidia-smi topo -m
\tGPU0\tmlx5_0\tmlx5_1\tCPU Affinity
GPU0\t X \tSYS\tNODE\t0-13
mlx5_0\tSYS\t X \tSYS
mlx5_1\tNODE\tSYS\t X
"""
PATHS_OF_GPUS = {
    "PHB as GPU Direct is off": Pasted(
        nccl(flat(43.0, SIZES), log=PHB + channels(4, "", "")),
        4,
        200.0,
        ["gpu-direct-off"],
        ["far-adapter"],
    ),
    "PHB with GPU Direct": Pasted(
        nccl(flat(43.0, SIZES), log=PHB + channels(4)), 4, 200.0, ["far-adapter"], (), ["gpu-direct-off"]
    ),
    "one GPU, far from each adapter": Pasted(
        nccl(flat(11.0, SIZES), ranks=2, before=ONE_GPU), 1, 200.0, ["far-adapter"]
    ),
}
