"""Finds causes of low bandwidth in a test of two hosts: memory of GPUs, rdma_cm, number of queue pairs.

Rules: `gpu_memory`, `rdma_cm`, `compared_queue_pairs`, `one_queue_pair`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricbench.measured.causes.evidence import LIKELY, POSSIBLE, Suspect, reached
from fabricbench.measured.causes.settings import MEMORY, QUEUE_PAIRS, RDMA_CM, comparison
from fabricbench.measured.rule_input import GOOD, RuleInput

_GPU_OPTION = re.compile(r"--use_(?:cuda|rocm|hl|mlu)\S*(?: \d+)?")


def gpu_memory(case: RuleInput) -> Iterator[Suspect]:
    """A pair of hosts that moves data of GPUs: the link between GPU and adapter is part of the path."""
    memory = case.perftest_setting("memory") or case.perftest_setting("buffers")
    options = case.best.settings.get("options", "") if case.best else ""
    by_option = _GPU_OPTION.search(options)
    is_device = memory.startswith("GPU") or "DEVICE" in memory or by_option
    if not case.is_pair or not is_device or case.ratio is None or case.ratio >= GOOD:
        return
    best = max((point.busbw or 0.0 for point in case.of_run), default=0.0)
    sizes = [point.size_bytes for point in case.of_run if (point.busbw or 0.0) >= 0.95 * best]
    lines = [f"buffers: {memory}"] if memory else [f"option {by_option[0].strip()}" if by_option else ""]
    compared = comparison(case)
    is_compared = compared is not None and compared.is_by(*MEMORY)
    lines += compared.evidence if compared is not None and is_compared else []
    if len(sizes) > 1:
        lines.append(f"{8 * best:.4g} Gb/s from {min(sizes)} B on: a limit that no size lifts")
    yield Suspect(
        "gpu-memory",
        "the way between GPU and adapter is the limit, not the network: a PCIe root complex, ACS or IOMMU, a "
        "link between processors",
        LIKELY if len(sizes) > 1 or is_compared else POSSIBLE,
        [*lines, *reached(case)],
        "the same test from host memory (without --use_cuda or --use_rocm): the line rate there means this "
        "way; `nvidia-smi topo -m` should say PIX or PXB; `lspci -vvv | grep ACSCtl`",
    )


def rdma_cm(case: RuleInput) -> Iterator[Suspect]:
    """Perftest with connections by rdma_cm."""
    if not case.is_perftest or case.ratio is None or case.ratio >= GOOD:
        return
    if not case.perftest_setting(RDMA_CM).startswith("ON"):
        return
    compared = comparison(case)
    is_compared = compared is not None and compared.is_by(RDMA_CM)
    yield Suspect(
        "rdma-cm",
        "connected by rdma_cm, which takes another GID, MTU, service level or traffic class than the default",
        LIKELY if is_compared else POSSIBLE,
        [
            "perftest: rdma_cm QPs ON",
            *(compared.evidence if compared is not None and is_compared else []),
            *reached(case),
        ],
        "the same without -R, and with -x GID and -m 4096; compare `Mtu`, `GID index` and the DSCP of both",
        is_guess=not is_compared,
    )


def compared_queue_pairs(case: RuleInput) -> Iterator[Suspect]:
    """Perftest with fewer queue pairs than a better run of the file, all else equal."""
    compared = comparison(case)
    if case.is_perftest and compared is not None and compared.is_by(QUEUE_PAIRS):
        yield from _few_queue_pairs(case, LIKELY, compared.evidence)


def one_queue_pair(case: RuleInput) -> Iterator[Suspect]:
    """Perftest with one queue pair; not if a better run of the file had as many."""
    compared = comparison(case)
    if compared is None or (QUEUE_PAIRS in compared.names and len(compared.names) > 1):
        yield from _few_queue_pairs(case, POSSIBLE, [])


def _few_queue_pairs(case: RuleInput, confidence: int, compared: Sequence[str]) -> Iterator[Suspect]:
    if not case.is_perftest or case.ratio is None or case.ratio >= GOOD:
        return
    count = case.perftest_setting("queue pairs") or "1"
    if count == "1" or compared:
        yield Suspect(
            "one-queue-pair",
            "one queue pair: one path through the fabric, one engine of the adapter"
            if count == "1"
            else f"{count} queue pairs: as many paths through the fabric, engines of the adapter",
            confidence,
            [f"perftest: Number of qps {count}", *compared, *reached(case)],
            "`-q 4`: more by much means collisions or a limit of one queue pair; the same means the port, "
            "PCIe or MTU",
            is_guess=not compared,
        )
