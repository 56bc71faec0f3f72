"""Files with two runs that differ in a setting."""

from __future__ import annotations

from tests.measured.pasted.forms import GUESSES, MPIRUN, SIZES, Pasted, both
from tests.measured.printed import flat, nccl, osu, perftest

SETTINGS = {
    "adapters": Pasted(
        both(
            97.0,
            194.0,
            "-x NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3",
            "-x NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7",
        ),
        8,
        200.0,
        ["few-adapters"],
        certain=["few-adapters"],
    ),
    "GPU Direct": Pasted(
        both(90.0, 194.0, "-x NCCL_NET_GDR_LEVEL=0", "-x NCCL_NET_GDR_LEVEL=5"),
        8,
        200.0,
        ["gpu-direct-off"],
        ["different-settings"],
        GUESSES,
        ["gpu-direct-off"],
    ),
    "protocol": Pasted(
        both(70.0, 194.0, "-x NCCL_PROTO=LL", "-x NCCL_PROTO=Simple"),
        8,
        200.0,
        ["forced-choice"],
        ["different-settings"],
    ),
    "GID index": Pasted(
        both(97.0, 194.0, "-x NCCL_IB_GID_INDEX=1", "-x NCCL_IB_GID_INDEX=3"),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "algorithm": Pasted(
        both(110.0, 190.0, "-x NCCL_ALGO=Tree", "-x NCCL_ALGO=Ring"),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "traffic class and queue pairs": Pasted(
        both(
            110.0,
            190.0,
            "-x NCCL_IB_TC=0 -x NCCL_IB_QPS_PER_CONNECTION=1",
            "-x NCCL_IB_TC=106 -x NCCL_IB_QPS_PER_CONNECTION=4",
        ),
        8,
        200.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "no RDMA": Pasted(
        both(5.0, 194.0, "-x NCCL_IB_DISABLE=1", "-x NCCL_IB_DISABLE=0"),
        8,
        200.0,
        ["sockets"],
        ["different-settings"],
        GUESSES,
        ["sockets"],
    ),
    "other hosts": Pasted(
        nccl(flat(190.0, SIZES), before=MPIRUN.format(""))
        + nccl(
            flat(96.0, SIZES),
            hosts=("node-a", "node-c"),
            before=MPIRUN.format("").replace("node-b", "node-c"),
        ),
        8,
        200.0,
        ["different-settings"],
    ),
    "queue pairs, all sizes": Pasted(
        perftest(
            [(1 << e, 210.0) for e in range(16, 24)], queue_pairs=1, before="$ ib_write_bw -d mlx5_0 -a -q 1"
        )
        + perftest(
            [(1 << e, 390.0) for e in range(16, 24)], queue_pairs=4, before="$ ib_write_bw -d mlx5_0 -a -q 4"
        ),
        None,
        400.0,
        ["one-queue-pair"],
        ["different-settings"],
        GUESSES,
    ),
    "MTU": Pasted(
        perftest([(65536, 176.0)], mtu=512, queue_pairs=4, before="$ ib_write_bw -d mlx5_0 -m 512")
        + perftest([(65536, 196.0)], mtu=4096, queue_pairs=4, before="$ ib_write_bw -d mlx5_0 -m 4096"),
        None,
        200.0,
        ["small-mtu"],
    ),
    "rdma_cm first": Pasted(
        perftest([(65536, 8.0)], before="$ ib_write_bw -d mlx5_0 -R").replace(
            "rdma_cm QPs\t : OFF", "rdma_cm QPs\t : ON"
        )
        + perftest([(65536, 97.5)], before="$ ib_write_bw -d mlx5_0"),
        None,
        100.0,
        ["rdma-cm"],
        ["different-settings"],
        [*GUESSES, "one-queue-pair"],
    ),
    "memory of ROCm": Pasted(
        perftest(
            [(65536, 98.0)], queue_pairs=4, before="$ ib_read_bw -d mlx5_0 -q 4", title="RDMA_Read BW Test"
        )
        + perftest(
            [(65536, 40.0)],
            queue_pairs=4,
            before=(
                "$ ib_read_bw -d mlx5_0 -q 4 --use_rocm=0\nUsing ROCm Device with ID: 0\nallocated "
                "GPU buffer address"
            ),
            title="RDMA_Read BW Test",
        ),
        None,
        100.0,
        ["gpu-memory"],
        (),
        GUESSES,
    ),
    "depth of the send queue": Pasted(
        perftest([(65536, 60.0)], queue_pairs=2, before="$ ib_write_bw -d mlx5_0 -q 2 -t 1")
        .replace("CQ Mod", "TX depth        : 1\n CQ Mod")
        .replace(
            " Connection type : RC\t\tUsing SRQ      : OFF\n",
            " Connection type : RC\t\tUsing SRQ      : OFF\n TX depth        : 1\n",
        )
        + perftest([(65536, 97.5)], queue_pairs=2, before="$ ib_write_bw -d mlx5_0 -q 2 -t 128").replace(
            " Connection type : RC\t\tUsing SRQ      : OFF\n",
            " Connection type : RC\t\tUsing SRQ      : OFF\n TX depth        : 128\n",
        ),
        None,
        100.0,
        ["different-settings"],
        (),
        GUESSES,
    ),
    "another adapter": Pasted(
        perftest([(65536, 97.5)], queue_pairs=4, before="$ ib_write_bw -d mlx5_0 -q 4")
        + perftest([(65536, 48.7)], "mlx5_1", queue_pairs=4, before="$ ib_write_bw -d mlx5_1 -q 4"),
        None,
        100.0,
        ["different-settings", "slower-port"],
        ["different-settings"],
    ),
    "buffers of GPUs, OSU": Pasted(
        osu([(1 << e, 24000.0) for e in range(18, 23)], before="$ mpirun -np 2 osu_bw H H")
        + osu(
            [(1 << e, 9000.0) for e in range(18, 23)],
            before="$ mpirun -np 2 osu_bw D D",
            title="MPI-CUDA",
            below="# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)",
        ),
        None,
        200.0,
        ["gpu-memory"],
        (),
        ["few-adapters", "acs"],
    ),
}
