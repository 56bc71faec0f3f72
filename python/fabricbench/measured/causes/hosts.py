"""Causes between memory and adapter of a host: paths, PCIe, MTU, GPU memory, queue pairs of a pair test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricbench.measured.causes.evidence import each_adapter, each_adapter_at_most, fallen, reached, tool
from fabricbench.measured.examined import (
    ETHERNET_HEADERS,
    GOOD,
    LIKELY,
    PCIE,
    POSSIBLE,
    Examined,
    Suspect,
)

_LARGE_PACKETS = 1.13
"""What writes of 256 B carry more than those of 128 B."""
_GPU_OPTION = re.compile(r"--use_(?:cuda|rocm|hl|mlu)\S*(?: \d+)?")


def path_to_adapter(case: Examined) -> Iterator[Suspect]:
    """An adapter that is far from its GPU."""
    far = [kind for kind in ("SYS", "NODE", "PHB") if kind in case.facts.paths and case.crosses]
    if not far or (case.ratio is not None and case.ratio >= GOOD):
        return
    kind = far[0]
    ways = {
        "SYS": "the link between processors",
        "NODE": "the host bridges of a NUMA node",
        "PHB": "a host bridge",
    }
    rate = case.facts.paths[kind]
    evidence = [f"{case.facts.where[f'path {kind}']} (GPU to adapter: {kind})"]
    is_close = case.carried is not None and case.carried <= 1.1 * rate * (case.adapters or 1)
    evidence += (
        [f"NCCL's graph search counts on {rate:g} GB/s there, {case.plateau:.4g} were reached"]
        if case.plateau
        else []
    )
    yield Suspect(
        "far-adapter",
        f"data between GPU and adapter cross {ways[kind]}",
        LIKELY if kind == "SYS" or is_close else POSSIBLE,
        [*evidence, *reached(case)],
        "`nvidia-smi topo -m`: GPU and adapter should be PIX or PXB; ranks on the other NUMA node, "
        "`numactl`, BIOS NPS, "
        "relaxed ordering; `ib_write_bw --use_cuda` by GPU and adapter shows the pair that is slow",
    )


def access_control(case: Examined) -> Iterator[Suspect]:
    """PCIe Access Control Services send peer traffic by the root complex."""
    facts = case.facts
    if facts.acs:
        yield Suspect(
            "acs",
            "PCIe ACS is on: traffic between GPU and adapter goes up to the root complex and back",
            LIKELY,
            [str(facts.acs[0]), f"{len(facts.acs)} bridges with it", *reached(case)],
            "`setpci` or BIOS turns it off; `lspci -vvv | grep ACSCtl` must show SrcValid- ReqRedir- for "
            "all bridges",
        )
    elif (
        case.ratio is not None
        and 0.25 <= case.ratio <= 0.65
        and not case.is_pair
        and not fallen(case)
        and not facts.ways["NET/Socket"]
        and not facts.networks["Socket"]
    ):
        yield Suspect(
            "acs",
            "about half of the rate of each adapter: peer traffic may take the PCIe root complex (ACS or "
            "IOMMU on)",
            POSSIBLE,
            reached(case),
            "`sudo lspci -vvv | grep ACSCtl`: SrcValid+ on a bridge above a GPU or adapter is it; "
            "NCCL_NET_GDR_LEVEL=0 "
            "that is not slower speaks for it",
        )


def slot(case: Examined) -> Iterator[Suspect]:
    """A PCIe slot that is narrower or older than the port; none that carries less than was measured."""
    each, most, rate = each_adapter(case), each_adapter_at_most(case), case.hardware.rate_gbps
    if each is None or most is None or case.ratio is None or case.ratio >= GOOD or fallen(case):
        return
    fitting = [
        (name, limit)
        for name, limit in PCIE
        if 0.82 * limit <= each and most <= _LARGE_PACKETS * limit and limit < 0.98 * (rate or 0) / 8
    ]
    if fitting:
        name, limit = fitting[0]
        yield Suspect(
            "pcie-slot",
            f"an adapter carries what a slot of PCIe {name} carries",
            POSSIBLE,
            [
                f"{each:.4g} GB/s for each adapter; {name} carries {limit:.3g} GB/s, with large packets "
                f"{_LARGE_PACKETS * limit:.3g}",
                *reached(case),
            ],
            "`lspci -vv -s ADAPTER | grep LnkSta`: speed and width of the adapter, the GPU and the bridges "
            "between; "
            "`ib_write_bw` from host memory has the same limit",
        )


def small_mtu(case: Examined) -> Iterator[Suspect]:
    """A path MTU of 1024 or less."""
    facts = case.facts
    mtu = case.mtu_bytes
    if not mtu or mtu > 1024:
        return
    said = case.says("mtu").split("[")[0]
    evidence = [f"{tool(case)}: Mtu {said}"] if said.isdecimal() else [str(facts.where["mtu"])]
    share = mtu / (mtu + ETHERNET_HEADERS)
    evidence.append(
        f"headers of {ETHERNET_HEADERS} B for each packet leave {100 * share:.1f} % of the line rate; 4096 "
        "leaves 98 %"
    )
    explains = case.explained_by(case.target * share / 0.98 if case.target else None)
    yield Suspect(
        "small-mtu",
        f"the path MTU is {mtu} B: an interface with an MTU of 1500 gives RoCE no more",
        LIKELY if case.ratio is None or (explains or 0.0) >= 0.5 else POSSIBLE,
        [*evidence, *reached(case)],
        "`ip link set dev IFACE mtu 9000` on hosts and switches, then `ibv_devinfo` says active_mtu 4096; "
        "it also "
        "quarters the packets that the adapter has to handle",
        explains,
    )


def gpu_memory(case: Examined) -> Iterator[Suspect]:
    """A pair of hosts that moves data of GPUs: the way between GPU and adapter is part of the path."""
    memory = case.says("memory") or case.says("buffers")
    options = case.best.settings.get("options", "") if case.best else ""
    by_option = _GPU_OPTION.search(options)
    is_device = memory.startswith("GPU") or "DEVICE" in memory or by_option
    if not case.is_pair or not is_device or case.ratio is None or case.ratio >= GOOD:
        return
    best = max((point.busbw or 0.0 for point in case.of_run), default=0.0)
    sizes = [point.size_bytes for point in case.of_run if (point.busbw or 0.0) >= 0.95 * best]
    lines = [f"buffers: {memory}"] if memory else [f"option {by_option[0].strip()}" if by_option else ""]
    if len(sizes) > 1:
        lines.append(f"{8 * best:.4g} Gb/s from {min(sizes)} B on: a limit that no size lifts")
    yield Suspect(
        "gpu-memory",
        "the way between GPU and adapter is the limit, not the network: a PCIe root complex, ACS or IOMMU, a "
        "link between processors",
        LIKELY if len(sizes) > 1 else POSSIBLE,
        [*lines, *reached(case)],
        "the same test from host memory (without --use_cuda or --use_rocm): the line rate there means this "
        "way; `nvidia-smi topo -m` should say PIX or PXB; `lspci -vvv | grep ACSCtl`",
    )


def one_queue_pair(case: Examined) -> Iterator[Suspect]:
    """Perftest with one queue pair or small messages."""
    if not case.is_perftest or case.ratio is None or case.ratio >= GOOD:
        return
    if case.says("rdma_cm").startswith("ON"):
        yield Suspect(
            "rdma-cm",
            "connected by rdma_cm, which takes another GID, MTU or service level than the default",
            POSSIBLE,
            ["perftest: rdma_cm QPs ON", *reached(case)],
            "the same without -R, and with -x GID and -m 4096; compare `Mtu`, `GID index` and the DSCP of "
            "both",
        )
    if (case.says("queue pairs") or "1") == "1":
        yield Suspect(
            "one-queue-pair",
            "one queue pair: one path through the fabric, one engine of the adapter",
            POSSIBLE,
            ["perftest: Number of qps 1", *reached(case)],
            "`-q 4`: more by much means collisions or a limit of one queue pair; the same means the port, "
            "PCIe or MTU",
        )
