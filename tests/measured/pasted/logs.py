"""NCCL's logs and outputs of tools next to a table."""

from __future__ import annotations

from tests.measured.pasted.forms import GUESSES, IB, IBSTAT, SIZES, Pasted, channels, using
from tests.measured.printed import flat, nccl, perftest


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
