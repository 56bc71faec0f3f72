"""Rules for measurements without another cause: as expected, above the network's rate, or unexplained.

Rules: `as_expected`, `faster_than_network`, `host_software`. `has_reached` is whether the target (the
expected bandwidth) is reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricbench.measured.causes.curves import is_half_slow, is_uneven, repeated, scattered
from fabricbench.measured.causes.evidence import (
    AS_EXPECTED,
    CERTAIN,
    LIKELY,
    POSSIBLE,
    Suspect,
    fallen,
    is_mpi,
    reached,
)
from fabricbench.measured.causes.hosts import mtu_limit
from fabricbench.measured.rule_input import GOOD, RuleInput

_MPI_TEST = (
    "`ib_write_bw` between the same hosts: line rate there means MPI (`ucx_info -d`, UCX_LOG_LEVEL=info, "
    "`fi_info` say which transport), less means port, PCIe or fabric; two hosts on one leaf against two on "
    "different leaves"
)


def has_reached(case: RuleInput) -> bool:
    """Return whether the large results reach the target: with a model the judged one, otherwise all."""
    if case.ratio is None or case.ratio < GOOD:
        return False
    is_modelled = case.best is not None and case.best.size_bytes in case.expected
    if not is_modelled and is_half_slow(case):
        return False
    return is_modelled or not (fallen(case) or is_uneven(repeated(case).values) or scattered(case))


def faster_than_network(case: RuleInput) -> Iterator[Suspect]:
    """Bandwidth above the rate of the adapters, or above the model."""
    if not case.is_above or case.plateau is None or case.target is None:
        return
    is_reduction = case.best is not None and case.best.kind == "all_reduce"
    why = "more than the network carries: ranks share hosts, or adapters are more or faster than said"
    if is_reduction and case.nodes == 2:
        why = (
            "a tree of two hosts may print up to twice the network's rate, as busbw counts what a ring moves"
        )
    elif is_reduction:
        why += ", or switches reduce (SHARP), which takes half of what a ring sends"
    yield Suspect(
        "above-line-rate",
        why,
        LIKELY,
        reached(case),
        "NCCL_ALGO=RING prints what the adapters carry; tx bytes of the ports over the time",
    )


def as_expected(case: RuleInput) -> Iterator[Suspect]:
    """Bandwidth at its target, also for the faster placement or at a small MTU."""
    if case.ratio is None or case.ratio < GOOD or case.is_above or any(point.wrong for point in case.points):
        return
    if case.facts.failed or case.facts.errors or case.facts.completions:
        return
    if is_half_slow(case):
        yield Suspect(
            AS_EXPECTED,
            "the faster placement is what such a network gives: the slower one is no matter of the network",
            POSSIBLE,
            reached(case),
            "`fabricbench expect` gives limits to accept",
        )
    elif has_reached(case) and (limit := mtu_limit(case)):
        yield Suspect(
            AS_EXPECTED,
            f"it is what such a network gives at a path MTU of {limit} B",
            POSSIBLE,
            reached(case),
            "the path MTU, which can be raised; `fabricbench expect` gives limits to accept",
        )
    elif has_reached(case):
        yield Suspect(
            AS_EXPECTED,
            "it is what such a network gives",
            CERTAIN,
            reached(case),
            "nothing to tell apart; `fabricbench expect` gives limits to accept",
        )


def host_software(case: RuleInput) -> Iterator[Suspect]:
    """Missing bandwidth without evidence for a cause in the file."""
    if case.ratio is None or case.ratio >= GOOD or case.is_perftest:
        return
    yield Suspect(
        "unexplained",
        "the file holds nothing that says why: fabric (collisions, pauses) or host (channels, cost of each "
        "step)",
        POSSIBLE,
        reached(case),
        _MPI_TEST
        if is_mpi(case)
        else "NCCL_DEBUG=INFO in the same file; `ib_write_bw -q 4` by adapter: line rate there means NCCL's "
        "channels, buffers "
        "(NCCL_BUFFSIZE, NCCL_MIN_NCHANNELS) or collisions, less means port, PCIe or fabric; two hosts on "
        "one leaf against two "
        "on different leaves",
    )
