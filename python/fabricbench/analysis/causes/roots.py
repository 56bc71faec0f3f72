"""Grouping of findings: symptoms under their causes, with fractions of the lost time that do not overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fabricbench.analysis.causes.finding import ACROSS_RAILS, Finding

LOSSES = (
    "lossy-fabric",
    "link-failure",
    "bit-errors",
    "headroom-overrun",
    "wred-drops",
    "buffer-overrun",
    "host-overrun",
    "pfc-storm",
)
"""Causes that lose frames; `frames` of their evidence is the number."""
_REORDERING = "reordering-with-go-back-n"
_MANY_PLACES = ("hash-collision", "oversubscription", "straggling-nic", "pfc-head-of-line-blocking")
"""Causes that are reported once, with every location."""
_LOADS = ("hash-collision", "oversubscription", "incast", "straggling-nic")
"""Causes whose cost is the time of a port beyond the ideal. Ports work in parallel, so the largest counts."""
_OF_CROSSING = ("oversubscription", "hash-collision", "pfc-head-of-line-blocking", "ecn-too-eager")
"""Consequences of the load of uplinks if a job crosses rails."""
_RESIDUAL_SHARE = 0.02
"""Fraction of the lost time below which a cause that is measured as a remainder is not reported."""


def roots(found: Sequence[Finding]) -> list[Finding]:
    """Return the causes of one job, each with its consequences, and fractions whose sum is at most 1.

    The largest fraction is first; causes without one follow in the order in which they were found.
    """
    told = _parted(_with_symptoms(_under_crossing(_once(found))))
    return sorted(told, key=lambda each: (each.explained is None, -(each.explained or 0.0)))


def _once(found: Sequence[Finding]) -> list[Finding]:
    """Merge findings of the same cause at several locations: the worst, with the others under it."""
    groups: dict[str, list[Finding]] = {}
    for index, each in enumerate(found):
        groups.setdefault(each.cause if each.cause in _MANY_PLACES else f"{each.cause} {index}", []).append(
            each
        )
    return [_joined(max(group, key=_cost), group) for group in groups.values()]


def _joined(worst: Finding, group: Sequence[Finding]) -> Finding:
    others = [each for each in group if each is not worst]
    where = dict.fromkeys([*worst.where, *(place for each in others for place in each.where)])
    return replace(worst, where=tuple(where), under=(*worst.under, *others))


def _under_crossing(found: Sequence[Finding]) -> list[Finding]:
    """Put the load of uplinks under the order of ranks that makes data cross rails.

    It explains the largest of their fractions, as these overlap.
    """
    root = next((each for each in found if each.cause == ACROSS_RAILS), None)
    if root is None:
        return list(found)
    loads = [each for each in found if each.cause in _OF_CROSSING]
    explained = max((each.explained for each in loads if each.explained is not None), default=None)
    under = tuple(below for each in loads for below in (replace(each, under=()), *each.under))
    root = replace(root, explained=explained, where=loads[0].where if loads else (), under=under)
    return [root, *(each for each in found if each.cause not in (ACROSS_RAILS, *_OF_CROSSING))]


def _with_symptoms(found: Sequence[Finding]) -> list[Finding]:
    """Put retransmissions and timeouts under the loss, or the reordering, that caused them."""
    losses = [each for each in found if each.cause in LOSSES and each.evidence.get("frames")]
    loss = max(losses, key=lambda each: int(each.evidence["frames"]), default=None)
    reordering = next((each for each in found if each.cause == _REORDERING), None)
    waited_for = reordering if loss is None or (reordering and _is_proven(reordering)) else loss
    roots_of = {"loss-with-go-back-n": loss, "retransmission-timeout": waited_for}
    under = [(each, roots_of.get(each.cause)) for each in found]
    tops = [each for each, root in under if root is None]
    return [_above(each, [below for below, root in under if root is each]) for each in tops]


def _is_proven(reordering: Finding) -> bool:
    """Return whether most NAKs were for frames that were not lost."""
    return bool(2 * reordering.evidence["naks_without_loss"] > reordering.evidence["naks"])


def _above(root: Finding, symptoms: Sequence[Finding]) -> Finding:
    if not symptoms:
        return root
    known = [each.explained for each in (root, *symptoms) if each.explained is not None]
    explained = min(1.0, sum(known)) if known else None
    return replace(root, explained=explained, under=(*root.under, *symptoms))


def _parted(found: Sequence[Finding]) -> list[Finding]:
    """Assign to each cause its part of the lost time, out of what is left.

    Costs that are measured directly are first, the largest first; then those that are measured as a
    remainder, such as the time for which the bottleneck idled, which may contain others.
    """
    shares = _beyond_each_other(
        {index: each for index, each in enumerate(found) if each.explained is not None}
    )
    left, told = 1.0, dict(enumerate(found))
    for index in sorted(shares, key=lambda index: (_is_rest(found[index]), -shares[index])):
        share = min(shares[index], left)
        left -= share
        told[index] = replace(found[index], explained=share)
    return [each for each in told.values() if not _is_rest_of_nothing(each)]


def _is_rest_of_nothing(finding: Finding) -> bool:
    return finding.explained is not None and _is_rest(finding) and finding.explained < _RESIDUAL_SHARE


def _beyond_each_other(found: Mapping[int, Finding]) -> dict[int, float]:
    """Return the fraction of each cause; for loads only the cost beyond the next smaller one."""
    shares = {index: _cost(each) for index, each in found.items()}
    loads = [index for index, each in found.items() if each.cause in _LOADS and not _is_rest(each)]
    below = 0.0
    for index in sorted(loads, key=lambda index: shares[index]):
        shares[index], below = shares[index] - below, shares[index]
    return shares


def _is_rest(finding: Finding) -> bool:
    """Return whether the cost of a cause is a remainder: time in which something was not busy."""
    return finding.cause == "ecn-too-eager" or finding.evidence.get("direction") == "step"


def _cost(finding: Finding) -> float:
    return finding.explained or 0.0
