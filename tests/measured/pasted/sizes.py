"""Sizes, path MTUs and placements."""

from __future__ import annotations

from tests.measured.pasted.forms import GUESSES, SIZES, Pasted
from tests.measured.printed import nccl, osu, perftest

RISING = [(1 << e, 10000.0 * 2 ** (e - 17)) for e in range(8, 17)]


IMB = (
    "# Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n# IMB-MPI1 -msglog 0:15 Uniband\n# "
    "Benchmarking Uniband\n# #processes = 2\n"
    "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    + "".join(
        f" {1 << e:10} 1000 {8000.0 * 2 ** (e - 15):12.2f} {8000.0 * 2 ** (e - 15) / (1 << e) * 1e6:12.0f}\n"
        for e in range(8, 16)
    )
)


SIZED = {
    "OSU up to 64 KiB": Pasted(
        osu(RISING, before="$ srun -N2 osu_bw -m 65536"), None, 200.0, ["sizes-too-small"], (), GUESSES
    ),
    "IMB up to 32 KiB": Pasted(IMB, None, 200.0, ["sizes-too-small"], (), GUESSES),
    "perftest of 4 KiB": Pasted(
        perftest([(4096, 30.0)], queue_pairs=4, before="$ ib_send_bw -s 4096 -q 4"),
        None,
        200.0,
        ["sizes-too-small"],
    ),
    "MTU of 1024 at all sizes": Pasted(
        perftest([(1 << e, 185.0) for e in range(14, 24)], mtu=1024, queue_pairs=4),
        None,
        200.0,
        ["small-mtu"],
        ["as-expected"],
    ),
    "MTU of 4096": Pasted(
        perftest([(1 << e, 196.0) for e in range(14, 24)], queue_pairs=4),
        None,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "MTU of 2048": Pasted(
        perftest([(1 << e, 191.0) for e in range(14, 24)], mtu=2048, queue_pairs=4),
        None,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
    ),
    "bond and MTU": Pasted(
        perftest([(1 << 20, 92.4)], "mlx5_bond_0", mtu=1024, queue_pairs=4),
        None,
        200.0,
        ["bond-one-port"],
        ["small-mtu"],
    ),
    "slower port and MTU": Pasted(
        perftest([(1 << 20, 92.4)], mtu=1024, queue_pairs=4), None, 400.0, ["slower-port"], ["small-mtu"]
    ),
    "slow out-of-place": Pasted(
        nccl([(size, 120.0, 190.0) for size in SIZES]), 8, 200.0, ["placement"], ["as-expected"], GUESSES
    ),
    "both placements slow": Pasted(
        nccl([(size, 60.0, 90.0) for size in SIZES]),
        8,
        200.0,
        ["acs", "few-adapters", "pcie-slot", "slower-port", "unexplained"],
        (),
        ["as-expected"],
    ),
}
