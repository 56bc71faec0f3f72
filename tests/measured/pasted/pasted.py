"""Further outputs of all kinds."""

from __future__ import annotations

import json

from tests.measured.pasted.forms import GUESSES, IB, MPIRUN, SIZES, Pasted, both, channels, using
from tests.measured.printed import flat, nccl, osu, perftest

TOPO = """$ nvidia-smi topo -m
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV12\tSYS\t0-31\t0\t\tN/A
GPU1\tNV12\t X \tSYS\t0-31\t0\t\tN/A
NIC0\tSYS\tSYS\t X \t\t\t

Legend:
"""


IMBS = (
    "# Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n# Benchmarking Sendrecv\n# #processes = 2\n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
    + "".join(
        f" {s:10} 100 {2 * s / 23800:.2f} {2 * s / 23800:.2f} {2 * s / 23800:.2f} {23800.0:.2f}\n"
        for s in (1 << 20, 1 << 21, 1 << 22)
    )
)


PASTED = {
    "bibw": Pasted(
        osu([(1 << e, 23900.0) for e in range(16, 23)], before="$ srun -N2 -n2 osu_bibw").replace(
            "Bandwidth Test", "Bi-Directional Bandwidth Test"
        ),
        None,
        100.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "imb sendrecv": Pasted(IMBS, None, 100.0, ["as-expected"], certain=["as-expected"]),
    "gpu direct off for an adapter that is not used": Pasted(
        nccl(
            flat(60.0, SIZES),
            log=IB.format(1, 0) + "NET/IB : GPU Direct RDMA Disabled for HCA 4 'mlx5_bond_0'\n" + channels(4),
        ),
        4,
        200.0,
        ["acs", "unexplained"],
        (),
        ["gpu-direct-off"],
    ),
    "topo SYS": Pasted(nccl(flat(11.0, SIZES), ranks=4, before=TOPO), 1, 200.0, ["far-adapter"]),
    "topo SYS perftest": Pasted(
        perftest(
            [(1 << e, 80.0) for e in range(16, 24)],
            queue_pairs=4,
            before=TOPO + "$ ib_write_bw --use_cuda=0\nallocated GPU buffer address",
        ),
        None,
        200.0,
        ["gpu-memory", "far-adapter"],
        ["far-adapter", "gpu-memory"],
    ),
    "p2p": Pasted(
        both(22.0, 190.0, "-x NCCL_P2P_DISABLE=1", "-x NCCL_P2P_DISABLE=0"),
        8,
        200.0,
        ["peer-to-peer-off"],
        ["different-settings"],
    ),
    "nchannels": Pasted(
        both(40.0, 190.0, "-x NCCL_MAX_NCHANNELS=2", "-x NCCL_MAX_NCHANNELS=16"),
        8,
        200.0,
        ["forced-choice"],
        ["different-settings"],
    ),
    "nchannels not set": Pasted(
        both(40.0, 190.0, "-x NCCL_MAX_NCHANNELS=2", ""), 8, 200.0, ["forced-choice"], ["different-settings"]
    ),
    "buffsize": Pasted(
        nccl(flat(60.0, SIZES), before=MPIRUN.format("-x NCCL_BUFFSIZE=65536")), 8, 200.0, ["forced-choice"]
    ),
    "versions": Pasted(
        nccl(flat(100.0, SIZES), log="NCCL version 2.18.3+cuda12.2")
        + nccl(flat(190.0, SIZES), log="NCCL version 2.23.4+cuda12.6"),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "three qps": Pasted(
        perftest([(1 << 20, 60.0)], queue_pairs=1, before="$ ib_write_bw -q 1")
        + perftest([(1 << 20, 80.0)], queue_pairs=2, before="$ ib_write_bw -q 2")
        + perftest([(1 << 20, 97.0)], queue_pairs=8, before="$ ib_write_bw -q 8"),
        None,
        100.0,
        ["one-queue-pair"],
    ),
    "fall alltoall": Pasted(
        nccl(
            [(1 << 26, 41.0, 41.0), (1 << 28, 35.0, 35.0), (1 << 30, 22.0, 21.0), (1 << 32, 18.0, 18.0)],
            benchmark="alltoall_perf",
            ranks=64,
            hosts=[f"n{i}" for i in range(8)],
        ),
        8,
        400.0,
        ["congestion"],
    ),
    "collnet": Pasted(
        nccl(flat(300.0, SIZES), ranks=32, hosts=["a1", "a2", "a3", "a4"]), 8, 200.0, ["above-line-rate"]
    ),
    "ras error json": Pasted(
        json.dumps(
            {
                "nccl_version": "2.28.3",
                "communicators": [
                    {
                        "hash": "0x1f",
                        "size": 2,
                        "ranks": [
                            {
                                "rank": 0,
                                "host": "h",
                                "pid": 1,
                                "cuda_dev": 0,
                                "status": {"init_state": 0, "async_error": 6},
                                "collective_counts": {"AllReduce": 3},
                            },
                            {
                                "rank": 1,
                                "host": "h",
                                "pid": 2,
                                "cuda_dev": 1,
                                "status": {"init_state": 0, "async_error": 0},
                                "collective_counts": {"AllReduce": 3},
                            },
                        ],
                    }
                ],
            }
        ),
        None,
        None,
        ["communicator-error"],
    ),
    "one adapter listed": Pasted(nccl(flat(11.0, SIZES), log=using(1)), None, 100.0, ["few-adapters"]),
    "gdr loc": Pasted(
        nccl(flat(80.0, SIZES), before=MPIRUN.format("-x NCCL_NET_GDR_LEVEL=LOC")),
        8,
        200.0,
        ["gpu-direct-off"],
        certain=["gpu-direct-off"],
    ),
    "two gpus": Pasted(
        perftest(
            [(65536, 190.0)],
            queue_pairs=4,
            before="$ ib_write_bw -q 4 --use_cuda=0\nallocated GPU buffer address",
        )
        + perftest(
            [(65536, 70.0)],
            queue_pairs=4,
            before="$ ib_write_bw -q 4 --use_cuda=4\nallocated GPU buffer address",
        ),
        None,
        200.0,
        ["gpu-memory", "different-settings"],
        ["gpu-memory"],
    ),
    "adaptive": Pasted(
        both(100.0, 190.0, "-x NCCL_IB_ADAPTIVE_ROUTING=1", "-x NCCL_IB_ADAPTIVE_ROUTING=0"),
        8,
        200.0,
        ["different-settings", "reordering"],
    ),
    "tc": Pasted(
        both(100.0, 190.0, "-x NCCL_IB_TC=0", "-x NCCL_IB_TC=106"),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "mtu mib": Pasted(
        perftest([(1 << e, 92.56) for e in range(14, 24)], mtu=1024)
        .replace("Gb/sec", "MB/sec")
        .replace("  92.56  92.56 ", "  11034.00  11034.00 "),
        None,
        100.0,
        ["small-mtu"],
        ["as-expected"],
    ),
    "nccl bond": Pasted(
        nccl(
            flat(47.0, SIZES),
            log=IB.format(1, 0)
            + "NET/IB : Using "
            + " ".join(f"[{n}]mlx5_bond_{n}:1/RoCE" for n in range(4))
            + " [RO]; OOB e0:1.1.1.1<0>",
        ),
        4,
        200.0,
        ["bond-one-port"],
        (),
        (),
    ),
    "hca excl": Pasted(
        nccl(flat(194.0, SIZES), before=MPIRUN.format("-x NCCL_IB_HCA=^mlx5_4")),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "repeat": Pasted(
        "".join(nccl(flat(r, SIZES[-1:])) for r in (190.0, 98.0, 188.0, 97.0, 191.0, 120.0)),
        8,
        200.0,
        ["collisions"],
    ),
    "old no gdr": Pasted(
        nccl(flat(60.0, SIZES), log=channels(4, "", "").replace("Channel 00/0", "Ring 00")),
        4,
        200.0,
        ["gpu-direct-off"],
    ),
    "osu tcp/rc": Pasted(
        osu([(1 << e, 3000.0) for e in range(16, 23)], before="$ mpirun -np 2 -x UCX_TLS=tcp osu_bw")
        + osu([(1 << e, 12100.0) for e in range(16, 23)], before="$ mpirun -np 2 -x UCX_TLS=rc osu_bw"),
        None,
        100.0,
        ["sockets"],
        certain=["sockets"],
    ),
    "osu two rails": Pasted(
        osu(
            [(1 << e, 12100.0) for e in range(16, 23)], before="$ mpirun -np 2 -x UCX_MAX_RNDV_RAILS=1 osu_bw"
        )
        + osu(
            [(1 << e, 24100.0) for e in range(16, 23)], before="$ mpirun -np 2 -x UCX_MAX_RNDV_RAILS=2 osu_bw"
        ),
        None,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "retry text": Pasted(
        nccl(flat(190.0, SIZES[:2]))
        + (
            "node-b: Test NCCL failure all_reduce.cu:44 'remote process exited or there was a "
            "network error / '\nnode-a:1:2 [3] transport/net_ib.cc:1298 NCCL WARN NET/IB : Got "
            "completion from peer 10.0.0.2<41> with error 12, opcode 129, len 0, vendor err 129\n"
        ),
        8,
        200.0,
        ["run-failed"],
        certain=["run-failed"],
    ),
    "numa2": Pasted(
        nccl(
            flat(60.0, SIZES),
            log=IB.format(1, 0)
            + (
                "NUMA auto balancing enabled which can lead to variability in the RCCL performance! "
                'Disable by "sudo sysctl kernel.numa_balancing=0"'
            ),
        ),
        8,
        200.0,
        ["acs", "few-adapters", "slower-port", "unexplained", "pcie-slot"],
    ),
}
