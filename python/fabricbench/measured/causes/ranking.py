"""`suspects` returns the likely causes of low bandwidth in a measurement, in order, each with its evidence.

A cause is listed only with evidence: a line of the file, or the ratio of a measured value to a rate that the
file, the user or a plan gives. Each names a test or counter that separates it from other causes. `_RULES` is
the list of the functions that detect causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fabricbench.measured.causes import (
    adapters,
    curves,
    expected,
    host_pairs,
    hosts,
    libraries,
    runs,
    settings,
    shared_adapters,
)
from fabricbench.measured.causes.evidence import AS_EXPECTED, CERTAIN, LIKELY, POSSIBLE, Suspect
from fabricbench.measured.causes.host_counters import (
    lost_packets,
    not_ready,
    reordered as reordered_by_counters,
    slow_receiver,
)
from fabricbench.measured.causes.ras_reports import (
    communicator_errors,
    lost_processes,
    ranks_behind,
    ranks_differ,
    usual_difference,
)
from fabricbench.measured.causes.switch_counters import (
    CONGESTION,
    LOSSLESS_DROPS,
    link_errors,
    lossless_drops,
)
from fabricbench.measured.rule_input import RuleInput

_AT_THE_TARGET: Final = (AS_EXPECTED, "above-line-rate", "small-mtu")
"""Causes that are listed even if the measurement has reached its target."""
_ONLY_WITHOUT_OTHERS: Final = ("unexplained",)
_VAGUE: Final = ("acs",)
"""Guesses for which half of the rate is enough: left out next to a likely cause."""
_SPOILING: Final = (
    *("run-failed", "separate-processes", "one-rank", "wrong-values", "inside-a-host", "sockets"),
    AS_EXPECTED,
)
"""Certain causes by which a measurement is no evidence about RDMA over the network, or lacks nothing."""
_MINOR_PART: Final = 0.5
"""Fraction of the missing bandwidth below which a cause is ordered after those that explain more."""
_RULES: Final[Sequence[Callable[[RuleInput], Iterator[Suspect]]]] = (
    lost_processes,
    communicator_errors,
    ranks_differ,
    usual_difference,
    ranks_behind,
    runs.failed,
    runs.separate_processes,
    runs.wrong_values,
    expected.as_expected,
    lossless_drops,
    libraries.sockets,
    libraries.hidden_topology,
    libraries.no_peer_to_peer,
    adapters.stated_slower_port,
    adapters.mixed_adapters,
    adapters.few_adapters,
    host_pairs.gpu_memory,
    hosts.path_to_adapter,
    libraries.no_gpu_direct,
    adapters.bonded,
    hosts.small_mtu,
    libraries.cross_rail,
    libraries.forced_choice,
    host_pairs.rdma_cm,
    host_pairs.compared_queue_pairs,
    settings.hosts_differ,
    settings.different_settings,
    slow_receiver,
    link_errors,
    reordered_by_counters,
    lost_packets,
    not_ready,
    curves.too_small,
    adapters.slower_port,
    hosts.slot,
    hosts.access_control,
    curves.reordered,
    curves.uneven,
    expected.faster_than_network,
    host_pairs.one_queue_pair,
    curves.congested,
    curves.placements,
    runs.inside_a_host,
    shared_adapters.shared_adapters,
    expected.host_software,
)
"""Rules, in the order of equally likely causes: invalid measurements, then from the host outwards, each root
before its consequences (unreadable PCIe before the adapters and paths that NCCL then takes, a link in error
before the packets that it loses)."""


def suspects(case: RuleInput) -> list[Suspect]:
    """Return the causes that the evidence allows.

    Certain causes are first, then causes that explain most of the missing bandwidth or an unknown fraction of
    it, then those that explain little. Within each group the likeliest are first, and equal ones are in the
    order of the rules. `unexplained` is last. Guesses by a ratio only are left out if a certain cause
    explains the measurement.
    """
    causes = [suspect for rule in _RULES for suspect in rule(case)]
    if expected.has_reached(case):
        causes = [
            suspect for suspect in causes if suspect.confidence == CERTAIN or suspect.cause in _AT_THE_TARGET
        ]
    likely = [
        suspect for suspect in causes if suspect.confidence >= LIKELY and not _explains_minor_part(suspect)
    ]
    omitted_causes = (*_ONLY_WITHOUT_OTHERS, *_VAGUE) if likely else ()
    is_certain = any(suspect.confidence == CERTAIN for suspect in likely)
    listed_causes = [
        suspect
        for suspect in causes
        if not (suspect.cause in omitted_causes and suspect.confidence == POSSIBLE)
        and not (is_certain and suspect.is_guess)
    ]
    return _with_additions(_drops_before_congestion(sorted(listed_causes, key=_order)))


def _drops_before_congestion(causes: Sequence[Suspect]) -> list[Suspect]:
    """Return the causes with drops of a possibly lossless queue before congestion, which they make likely."""
    ordered, cause_names = list(causes), [suspect.cause for suspect in causes]
    if {LOSSLESS_DROPS, CONGESTION} <= {*cause_names}:
        drops, congestion = cause_names.index(LOSSLESS_DROPS), cause_names.index(CONGESTION)
        if congestion < drops:
            ordered.insert(congestion, ordered.pop(drops))
    return ordered


def _with_additions(causes: Sequence[Suspect]) -> list[Suspect]:
    """Return the causes with each that adds to another directly after that one."""
    cause_names = [suspect.cause for suspect in causes]
    ordered = list(causes)
    for suspect in causes:
        base = next((cause for cause in cause_names if cause in suspect.adds_to), None)
        if base is not None:
            ordered.remove(suspect)
            base_index = next(index for index, other in enumerate(ordered) if other.cause == base)
            ordered.insert(base_index + 1, suspect)
    return ordered


def _order(suspect: Suspect) -> tuple[bool, int, bool, bool, int, bool]:
    """Return the sort key of a cause: only invalid measurements are before drops of a lossless queue."""
    is_last = suspect.cause in _ONLY_WITHOUT_OTHERS
    spoils = suspect.cause in _SPOILING and suspect.confidence == CERTAIN
    is_lossless = suspect.cause == LOSSLESS_DROPS and suspect.confidence == LIKELY
    rank = 0 if spoils else 1 if is_lossless else 2
    little = _explains_minor_part(suspect)
    return is_last, rank, suspect.confidence < CERTAIN, little, -suspect.confidence, suspect.is_guess


def _explains_minor_part(suspect: Suspect) -> bool:
    return suspect.explains is not None and suspect.explains < _MINOR_PART
