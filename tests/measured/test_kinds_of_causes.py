"""Outputs as users paste them, of the kinds of `independent` in other forms; causes were fixed first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from tests.measured.printed import flat, nccl, osu, perftest

from fabricbench.importing import Given, Hardware, Source, Suspect, fabric_of, look_into, suspects
from fabricbench.measured.switches.model import compared
from fabricbench.measured.switches.ports import expanded
from fabricbench.measured.switches.reading import read


@dataclass(frozen=True)
class Pasted:
    """A text that a user pastes, with the causes that are expected.

    Attributes:
        text: The text.
        adapters: Adapters of a host.
        gbps: Rate of an adapter [Gb/s].
        first: Causes of which one is first.
        in_three: Causes that are all among the first three.
        absent: Causes that the text rules out.
        certain: Causes that may be certain; all others never are.
        counters: Counters after and before the run.
        benchmark: The benchmark, where the text does not say it.
    """

    text: str
    adapters: int | None
    gbps: float | None
    first: Sequence[str]
    in_three: Sequence[str] = ()
    absent: Sequence[str] = ()
    certain: Sequence[str] = ()
    counters: tuple[str, str] = ("", "")
    benchmark: str = ""

    def causes(self) -> list[Suspect]:
        """Return the causes that are named."""
        after, before = self.counters
        switches = [compared(read("after", after.encode()), read("before", before.encode()))] if after else []
        look = look_into(Source("file", self.text.encode()), given=Given(None, self.benchmark))
        fabric = fabric_of(look, Hardware(self.adapters, self.gbps, "the test"), None, None)
        return suspects(look.examined(fabric.hardware, fabric.ranges, switches))


SIZES = tuple(1 << exponent for exponent in range(26, 34))
HEAD = (
    "=== RAS ===\nNCCL version 2.28.3 compiled with CUDA 12.9\n\nJob "
    "summary\n===========\n\nWarnings\n========\n\n"
)
GROUP = "#0-0 (b2d9017ce4f83a60) MISMATCH\n"


def ras(*counts: str) -> str:
    return HEAD + GROUP + "".join(f"  {each}\n" for each in counts)


def rank(number: int, host: int, launched: int | None = None) -> str:
    has = "" if launched is None else f" has launched up to operation {launched}"
    return f"Rank {number}{has} -- GPU {number % 8} managed by process {500 + number} on node 10.0.0.{host}"


def counts(operation: str, *groups: tuple[int, int]) -> list[str]:
    head = f"Communicator ranks have different {operation} operation counts"
    return [head, *(f"{many} ranks have launched up to operation {launched}" for many, launched in groups)]


LATE = [rank(number, 3) for number in range(16, 24)]
SPREAD = [rank(3, 1), rank(9, 2), rank(22, 3)]
JSON_RANKS = [
    {
        "rank": number,
        "host": f"10.0.0.{1 + number // 8}",
        "pid": 500 + number,
        "cuda_dev": number % 8,
        "collective_counts": {
            "AllReduce": 4050 + (number == 5),
            "Broadcast": 77 - (number == 5),
            "AllGather": 12,
        },
    }
    for number in range(16)
]
RAS_JSON = json.dumps(
    {"nccl_version": "2.28.3", "communicators": [{"hash": "0x1f", "size": 16, "ranks": JSON_RANKS}]}
)

RAS = {
    "JSON, crossed": Pasted(RAS_JSON, None, None, ["ranks-differ"]),
    "each rank by itself, crossed": Pasted(
        ras(
            *counts("Broadcast", (15, 90)),
            rank(5, 1, 91),
            *counts("AllReduce", (15, 700)),
            rank(5, 1, 698),
        ),
        None,
        None,
        ["ranks-differ"],
    ),
    "late in both": Pasted(
        ras(
            *counts("AllGather", (24, 812), (8, 790)),
            *LATE,
            *counts("AllReduce", (24, 4050), (8, 3990)),
            *LATE,
        ),
        None,
        None,
        ["ranks-behind"],
        (),
        ["ranks-differ", "as-expected"],
    ),
    "one node by one": Pasted(
        ras(*counts("AllReduce", (24, 812), (8, 811)), *LATE),
        None,
        None,
        ["ranks-behind"],
        (),
        ["ranks-differ"],
    ),
    "several nodes by one": Pasted(
        ras(*counts("AllReduce", (29, 812), (3, 811)), *SPREAD), None, None, ["as-expected"], ["ranks-behind"]
    ),
    "several nodes by one, twice the same": Pasted(
        ras(*counts("AllReduce", (29, 812), (3, 811)), *SPREAD) * 2,
        None,
        None,
        ["ranks-behind"],
        (),
        ["as-expected"],
    ),
    "a silent process": Pasted(
        HEAD + "Missing communicator data from 1 job process\n  Process 71 on node 10.0.0.4 managing GPU 2\n",
        None,
        None,
        ["process-lost"],
    ),
}

IB = "node-a:{0}:{0} [{1}] NCCL INFO "
OF_B = "node-b:{0}:{0} [{1}] NCCL INFO "


def using(count: int, kind: str = "IB") -> str:
    ports = " ".join(f"[{n}]mlx5_{n}:1/{kind}" for n in range(count))
    return IB.format(1000, 0) + f"NET/IB : Using {ports} [RO]; OOB eth0:198.18.0.1<0>"


def channels(count: int, sends: str = "/GDRDMA", receives: str = "/GDRDMA", shift: int = 0) -> str:
    lines = [using(count)]
    for number in range(count):
        to = (number + shift) % count
        pair = f"Channel {number:02}/0 : {number}[{number}] -> {8 + to}[{to}]"
        lines.append(IB.format(1000 + number, number) + f"{pair} [send] via NET/IB/{number}{sends}")
        lines.append(OF_B.format(2000 + to, to) + f"{pair} [receive] via NET/IB/{to}{receives}")
    return "\n".join(lines)


def rates(*speeds: int, host: str = "node-a") -> str:
    return "\n".join(
        f"{host}:1000:1000 [0] NCCL INFO NET/IB: [{n}] mlx5_{n}:uverbs{n}:1/IB provider=Mlx5 speed={speed} "
        f"context=0x55d1 pciPath=/sys/devices/pci0000:15/0000:15:01.0 ar=1"
        for n, speed in enumerate(speeds)
    )


def nodes(*pairs: tuple[float, float]) -> str:
    lines = ["=== System : maxBw 24.0 totalBw 24.0 ===", "CPU/0 (1/2/-1)"]
    for number, (pci, net) in enumerate(pairs):
        lines += ["+ PCI[24.0] - GPU/4000 (0)", f"+ PCI[{pci}] - NIC/{number}6000"]
        lines += [f"              + NET[{net}] - NET/{number} (0e3f2c0003a1b846/1/{net:.6f})"]
    return "\n".join(IB.format(1000, 0) + line for line in lines)


IBSTAT = """$ ibstat
CA 'mlx5_0'
\tCA type: MT4123
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
CA 'mlx5_1'
\tCA type: MT4123
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 100
"""
LSPCI = """$ sudo lspci -vv | grep -E 'controller|LnkCap|LnkSta'
17:00.0 3D controller: NVIDIA Corporation Device 20b5 (rev a1)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)
ca:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x8 (downgraded)
"""
DMESG = (
    "[    9.1] mlx5_core 0000:ca:00.0: 126.016 Gb/s available PCIe bandwidth, limited by "
    "8.0 GT/s PCIe x16 link "
    "at 0000:c9:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
)
XML = """<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:17:00.0" class="0x030200" vendor="0x10de" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
    </pci>
    <pci busid="0000:ca:00.0" class="0x020700" vendor="0x15b3" link_speed="8.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
"""
ETHTOOL = "$ ethtool ens6f0np0\nSettings for ens6f0np0:\n\tSpeed: 50000Mb/s\n\tDuplex: Full\n"
DEVINFO = (
    "$ ibv_devinfo -v\nhca_id:\tmlx5_0\n\ttransport:\t\tInfiniBand "
    "(0)\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
    "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n\t\t\tactive_width:\t\t4X (2)\n"
    "\t\t\tactive_speed:\t\t25.0 Gbps (32)\n"
)
VIRTUAL = "\n".join(
    IB.format(1000, 0) + line
    for line in (
        "KV Convert to int : could not find value of '' in dictionary, falling back to 60",
        "CPU/FFFFFFFFFFFFFFFF (1/1/2)",
        "Pattern 4, crossNic 0, nChannels 1, bw 9.000000/9.000000, type PHB/PHB, sameChannels 1",
        "GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 6 > 4)",
        "Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0",
        "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct",
    )
)
FAR = "\n".join(
    IB.format(1000, 0) + line
    for line in (
        "GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 7 > 4)",
        "Pattern 4, crossNic 0, nChannels 1, bw 12.000000/12.000000, type SYS/SYS, sameChannels 1",
        "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0",
        "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    )
)
MPIRUN = "$ mpirun -np 16 -H node-a:8,node-b:8 {} ./build/all_reduce_perf -b 64M -e 8G -f 2 -g 1"


def both(slow: float, fast: float, first: str, second: str) -> str:
    """Return two runs of nccl-tests with the options of each."""
    return nccl(flat(slow, SIZES), before=MPIRUN.format(first)) + nccl(
        flat(fast, SIZES), before=MPIRUN.format(second)
    )


GUESSES = ("few-adapters", "slower-port", "pcie-slot", "acs")
LOGS = {
    "rates in the log, of one host": Pasted(
        nccl(
            flat(48.0, SIZES),
            log=rates(*[200000] * 4) + "\n" + rates(200000, 200000, 100000, 200000, host="node-b"),
        ),
        4,
        200.0,
        ["slower-port"],
        ["mixed-adapters"],
    ),
    "all ports at half": Pasted(
        nccl(flat(97.0, SIZES), log=channels(4) + "\n" + rates(*[200000] * 4)),
        4,
        400.0,
        ["slower-port"],
        (),
        GUESSES[:1],
    ),
    "virtual devices": Pasted(
        nccl(
            flat(48.0, SIZES),
            log="\n".join(
                IB.format(1000, 0) + f"NET/IB : Made virtual device [{n}] name=mlx5_{n} speed={speed} ndevs=1"
                for n, speed in enumerate((200000, 200000, 100000, 200000))
            ),
        ),
        4,
        200.0,
        ["slower-port", "mixed-adapters"],
    ),
    "rate of a network node": Pasted(
        nccl(flat(47.0, SIZES), log=nodes((24.0, 25.0), (24.0, 25.0), (24.0, 12.5), (24.0, 25.0))),
        4,
        200.0,
        ["slower-port", "mixed-adapters"],
    ),
    "ibstat": Pasted(nccl(flat(23.8, SIZES), ranks=4, before=IBSTAT), 2, 200.0, ["slower-port"]),
    "ethtool": Pasted(perftest([(65536, 46.0)], queue_pairs=4, before=ETHTOOL), None, 100.0, ["slower-port"]),
    "lspci": Pasted(
        nccl(flat(13.0, SIZES), ranks=2, before=LSPCI), 1, 200.0, ["pcie-slot"], (), ["slower-port"]
    ),
    "kernel": Pasted(perftest([(1 << 20, 108.0)], queue_pairs=4, before=DMESG), None, 200.0, ["pcie-slot"]),
    "topology as XML": Pasted(nccl(flat(11.8, SIZES), ranks=2, before=XML), 1, 200.0, ["pcie-slot"]),
    "topology, two links of four": Pasted(
        nccl(flat(47.0, SIZES), log=nodes((24.0, 25.0), (12.0, 25.0), (12.0, 25.0), (24.0, 25.0))),
        4,
        200.0,
        ["pcie-slot"],
        (),
        ["slower-port"],
    ),
    "topology as it should be": Pasted(
        nccl(
            flat(60.0, SIZES),
            log=channels(4) + "\n" + nodes(*[(24.0, 25.0)] * 4) + "\n" + rates(*[200000] * 4),
        ),
        4,
        200.0,
        ["acs", "unexplained"],
        (),
        GUESSES[:3],
    ),
    "virtual machine": Pasted(
        nccl(flat(7.4, SIZES), ranks=8, log=using(2) + "\n" + VIRTUAL), 2, 200.0, ["hidden-topology"]
    ),
    "far adapter, so no GPU Direct": Pasted(
        nccl(flat(8.0, SIZES), ranks=4, log=using(1) + "\n" + FAR),
        1,
        200.0,
        ["far-adapter", "gpu-direct-off"],
        ["far-adapter", "gpu-direct-off"],
    ),
    "active MTU": Pasted(nccl(flat(11.5, SIZES), ranks=2, before=DEVINFO), 1, 100.0, ["small-mtu"]),
    "MTU in the log": Pasted(
        nccl(
            flat(92.3, SIZES),
            log=IB.format(1000, 0)
            + "NET/IB: IbDev 0 Port 1 qpn 1234 mtu 3 GID 3 (0/6F12)\n"
            + using(4, "RoCE"),
        ),
        4,
        200.0,
        ["small-mtu"],
        ["as-expected"],
    ),
    "reads without GPU Direct": Pasted(
        nccl(flat(60.0, SIZES), log=channels(4, sends="")),
        4,
        200.0,
        ["acs", "unexplained", "gpu-direct-off"],
        (),
        ["few-adapters"],
    ),
    "rails that change by the log": Pasted(
        nccl(flat(205.0, SIZES), log=channels(8, shift=1)), 8, 400.0, ["cross-rail"], (), ["few-adapters"]
    ),
    "a link that goes down": Pasted(
        nccl(flat(150.0, SIZES), log=IB.format(1, 3) + "NET/IB : mlx5_3:1 Got async event : port error"),
        8,
        200.0,
        ["link-errors"],
    ),
    "queue pair without route": Pasted(
        "node-a:1:9 [0] misc/ibvwrap.cc:252 NCCL WARN Call to ibv_modify_qp failed with error "
        "Connection timed out\n"
        "node-a: Test NCCL failure common.cu:1279 'unhandled system error'\n",
        8,
        200.0,
        ["run-failed"],
        certain=["run-failed"],
    ),
    "RCCL without a device": Pasted(
        nccl(
            flat(3.0, SIZES),
            log=IB.format(1, 0) + "NET/IB : No device found.\n" + IB.format(1, 0) + "Using network Socket",
        ),
        8,
        400.0,
        ["sockets"],
        (),
        GUESSES,
        ["sockets"],
    ),
}
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

COUNTER = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{}:{}\n"


def counted(**values: int) -> str:
    names = (
        "out_of_sequence",
        "packet_seq_err",
        "local_ack_timeout_err",
        "out_of_buffer",
        "rx_write_requests",
    )
    return "$ hostname\nr1\n" + "".join(COUNTER.format(name, values.get(name, 0)) for name in names)


COUNTED = {
    "order": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["reordering"],
        ["packet-loss"],
        counters=(counted(out_of_sequence=3_000_000, packet_seq_err=2_000_000), counted()),
    ),
    "loss": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["packet-loss"],
        counters=(
            counted(out_of_sequence=30_000, packet_seq_err=20_000, local_ack_timeout_err=900),
            counted(),
        ),
    ),
    "a few packets": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["packet-loss"],
        (),
        ["reordering"],
        counters=(counted(out_of_sequence=40), counted()),
    ),
    "not ready": Pasted(
        perftest([(65536, 12.0)], title="Send BW Test"),
        None,
        100.0,
        ["receiver-not-ready"],
        counters=(counted(out_of_buffer=700_000), counted()),
    ),
    "before the run": Pasted(
        nccl(flat(194.0, SIZES)),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
        counters=(
            counted(out_of_sequence=9_000_000, local_ack_timeout_err=5),
            counted(out_of_sequence=9_000_000, local_ack_timeout_err=5),
        ),
    ),
}
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


ALL = RAS | LOGS | SETTINGS | SIZED | COUNTED | PASTED | MORE


@pytest.mark.parametrize("name", ALL)
def test_the_true_cause_of_a_kind_is_first(name: str) -> None:
    case = ALL[name]
    found = case.causes()
    names = [each.cause for each in found]
    assert names, name
    assert names[0] in case.first
    assert set(case.in_three) <= set(names[:3])
    assert not set(case.absent) & set(names)
    assert {each.cause for each in found if each.confidence == 3} <= set(case.certain)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("Ethernet0", ["Ethernet0"]),
        ("Ethernet9?", ["Ethernet9?"]),
        ("Ethernet0,Ethernet8", ["Ethernet0", "Ethernet8"]),
        ("Ethernet0, Ethernet8", ["Ethernet0", "Ethernet8"]),
        ("Ethernet{256,264}", ["Ethernet256", "Ethernet264"]),
        ("Ethernet(256|264)", ["Ethernet256", "Ethernet264"]),
        ("Ethernet{0..16..8}", ["Ethernet0", "Ethernet8", "Ethernet16"]),
        ("Eth{1,2}/{1,2}", ["Eth1/1", "Eth1/2", "Eth2/1", "Eth2/2"]),
        ("Ethernet[0-3]", ["Ethernet[0-3]"]),
        ("et-0/0/(30|31):[0-1]", ["et-0/0/30:[0-1]", "et-0/0/31:[0-1]"]),
    ],
)
def test_patterns_of_ports_may_be_lists_and_ranges(pattern: str, names: Sequence[str]) -> None:
    assert expanded(pattern) == names


def test_a_range_without_end_has_an_end() -> None:
    assert len(expanded("Ethernet{0..999999}")) == 4096
