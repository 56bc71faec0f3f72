"""Names the likely causes of a measurement, each with its evidence, and orders them.

A cause is named only with its evidence: a line of the file, or a ratio of what was measured to a rate that
the file, the user or a plan gives. Each names the test or counter that tells it apart from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fabricbench.measured.causes import adapters, curves, expected, hosts, libraries, runs
from fabricbench.measured.examined import AS_EXPECTED, CERTAIN, LIKELY, Examined, Suspect
from fabricbench.measured.host_causes import lost_packets, not_ready, slow_receiver
from fabricbench.measured.ras_causes import communicator_errors, lost_processes, ranks_behind, ranks_differ
from fabricbench.measured.switch_causes import LOSSLESS_DROPS, link_errors, lossless_drops

_AT_THE_TARGET: Final = (AS_EXPECTED, "above-line-rate")
_ONLY_WITHOUT_OTHERS: Final = ("unexplained",)
_SPOILING: Final = (
    *("run-failed", "separate-processes", "one-rank", "wrong-values", "inside-a-host", "sockets"),
    AS_EXPECTED,
)
"""Certain causes by which a measurement says nothing of RDMA over the network, or nothing is missing."""
_LITTLE: Final = 0.5
"""Part of what is missing that a cause explains, from which on it comes before those that explain less."""
_RULES: Final[Sequence[Callable[[Examined], Iterator[Suspect]]]] = (
    lost_processes,
    communicator_errors,
    ranks_behind,
    ranks_differ,
    runs.failed,
    runs.separate_processes,
    runs.wrong_values,
    expected.as_expected,
    lossless_drops,
    libraries.sockets,
    libraries.no_peer_to_peer,
    adapters.mixed_adapters,
    adapters.few_adapters,
    libraries.no_gpu_direct,
    adapters.bonded,
    hosts.small_mtu,
    hosts.gpu_memory,
    hosts.path_to_adapter,
    libraries.hidden_topology,
    libraries.cross_rail,
    libraries.forced_choice,
    slow_receiver,
    lost_packets,
    not_ready,
    curves.too_small,
    adapters.slower_port,
    hosts.slot,
    hosts.access_control,
    curves.different_settings,
    curves.reordered,
    curves.uneven,
    expected.faster_than_network,
    hosts.one_queue_pair,
    link_errors,
    curves.congested,
    curves.placements,
    runs.inside_a_host,
    expected.host_software,
)
"""In the order of equally likely causes: what spoils a measurement, then the host outwards."""


def suspects(case: Examined) -> list[Suspect]:
    """Return the causes that the evidence allows.

    What is certain is first, then causes that explain most of what is missing, or of which that is not known,
    then those that explain little; of these the likeliest first, and equal ones in the order of the rules.
    That no cause is known comes last.
    """
    found = [each for rule in _RULES for each in rule(case)]
    if expected.has_reached(case):
        found = [each for each in found if each.confidence == CERTAIN or each.cause in _AT_THE_TARGET]
    certain = any(each.confidence >= LIKELY and not _explains_little(each) for each in found)
    kept = [each for each in found if not (certain and each.cause in _ONLY_WITHOUT_OTHERS)]
    return sorted(kept, key=_order)


def _order(each: Suspect) -> tuple[bool, int, bool, bool, int]:
    """Return the order of a cause: drops of a lossless queue after those that spoil the measurement alone."""
    is_last = each.cause in _ONLY_WITHOUT_OTHERS
    spoils = each.cause in _SPOILING and each.confidence == CERTAIN
    is_lossless = each.cause == LOSSLESS_DROPS and each.confidence == LIKELY
    rank = 0 if spoils else 1 if is_lossless else 2
    return is_last, rank, each.confidence < CERTAIN, _explains_little(each), -each.confidence


def _explains_little(each: Suspect) -> bool:
    return each.explains is not None and each.explains < _LITTLE
