"""Groups findings: symptoms under their causes, with fractions of the lost time that do not overlap.

The lost time is the time of a job beyond its ideal time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fabricbench.analysis.causes.finding import ACROSS_RAILS, UNRECOVERED, Finding

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
_MERGED_CAUSES = ("hash-collision", "oversubscription", "straggling-nic", "pfc-head-of-line-blocking")
"""Causes that are reported once, with every location."""
_LOADS = ("hash-collision", "oversubscription", "incast", "straggling-nic", "shared-hosts")
"""Causes whose cost is the time of a port beyond the ideal. Ports work in parallel, so the largest counts."""
_OF_CROSSING = ("oversubscription", "hash-collision", "pfc-head-of-line-blocking", "ecn-too-eager")
"""Consequences of the load of uplinks if a job crosses rails."""
_REMAINDER_FRACTION = 0.02
"""Fraction of the lost time below which a cause that is measured as a remainder is not reported."""


def roots(findings: Sequence[Finding]) -> list[Finding]:
    """Return the causes of one job, each with its consequences, and fractions whose sum is at most 1.

    The largest fraction is first; causes without one follow in the order of `findings`.
    """
    causes = _with_disjoint_fractions(_with_symptoms(_under_crossing(_one_per_cause(findings))))
    return sorted(causes, key=lambda cause: (cause.explained is None, -(cause.explained or 0.0)))


def _one_per_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Merge findings of the same cause at several locations: the worst, with the others under it."""
    groups: dict[str, list[Finding]] = {}
    for index, finding in enumerate(findings):
        groups.setdefault(
            finding.cause if finding.cause in _MERGED_CAUSES else f"{finding.cause} {index}", []
        ).append(finding)
    return [_merged(max(group, key=_cost), group) for group in groups.values()]


def _merged(worst: Finding, group: Sequence[Finding]) -> Finding:
    others = [finding for finding in group if finding is not worst]
    where = dict.fromkeys([*worst.where, *(location for finding in others for location in finding.where)])
    return replace(worst, where=tuple(where), under=(*worst.under, *others))


def _under_crossing(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the load of uplinks as a consequence of an order of ranks that crosses rails.

    It explains the largest of their fractions, as these overlap.
    """
    root = next((finding for finding in findings if finding.cause == ACROSS_RAILS), None)
    if root is None:
        return list(findings)
    loads = [finding for finding in findings if finding.cause in _OF_CROSSING]
    explained = max((finding.explained for finding in loads if finding.explained is not None), default=None)
    under = tuple(
        consequence for finding in loads for consequence in (replace(finding, under=()), *finding.under)
    )
    root = replace(root, explained=explained, where=loads[0].where if loads else (), under=under)
    return [root, *(finding for finding in findings if finding.cause not in (ACROSS_RAILS, *_OF_CROSSING))]


def _with_symptoms(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with retransmissions and timeouts as consequences of the loss or reordering."""
    losses = [finding for finding in findings if finding.cause in LOSSES and finding.evidence.get("frames")]
    loss = max(losses, key=lambda finding: int(finding.evidence["frames"]), default=None)
    reordering = next((finding for finding in findings if finding.cause == _REORDERING), None)
    waited_for = reordering if loss is None or (reordering and _is_proven(reordering)) else loss
    roots_of = {"loss-with-go-back-n": loss, UNRECOVERED: loss, "retransmission-timeout": waited_for}
    findings_with_roots = [(finding, roots_of.get(finding.cause)) for finding in findings]
    tops = [finding for finding, root in findings_with_roots if root is None]
    return [
        _with_consequences(finding, [symptom for symptom, root in findings_with_roots if root is finding])
        for finding in tops
    ]


def _is_proven(reordering: Finding) -> bool:
    """Return whether most NAKs were for frames that were not lost."""
    return bool(2 * reordering.evidence["naks_without_loss"] > reordering.evidence["naks"])


def _with_consequences(root: Finding, symptoms: Sequence[Finding]) -> Finding:
    if not symptoms:
        return root
    fractions = [finding.explained for finding in (root, *symptoms) if finding.explained is not None]
    explained = min(1.0, sum(fractions)) if fractions else None
    return replace(root, explained=explained, under=(*root.under, *symptoms))


def _with_disjoint_fractions(findings: Sequence[Finding]) -> list[Finding]:
    """Return the causes with disjoint fractions of the lost time: each at most the part not yet assigned.

    Costs that are measured directly are first, the largest first; then those that are measured as a
    remainder, such as the time for which the bottleneck idled, which may contain others.
    """
    fractions = _marginal_fractions(
        {index: finding for index, finding in enumerate(findings) if finding.explained is not None}
    )
    unassigned, causes = 1.0, dict(enumerate(findings))
    for index in sorted(fractions, key=lambda index: (_is_remainder(findings[index]), -fractions[index])):
        fraction = min(fractions[index], unassigned)
        unassigned -= fraction
        causes[index] = replace(findings[index], explained=fraction)
    return [finding for finding in causes.values() if not _is_negligible_remainder(finding)]


def _is_negligible_remainder(finding: Finding) -> bool:
    return (
        finding.explained is not None and _is_remainder(finding) and finding.explained < _REMAINDER_FRACTION
    )


def _marginal_fractions(findings: Mapping[int, Finding]) -> dict[int, float]:
    """Return the fraction of each cause; for loads only the cost beyond the next smaller one."""
    fractions = {index: _cost(finding) for index, finding in findings.items()}
    loads = [
        index for index, finding in findings.items() if finding.cause in _LOADS and not _is_remainder(finding)
    ]
    smaller = 0.0
    for index in sorted(loads, key=lambda index: fractions[index]):
        fractions[index], smaller = fractions[index] - smaller, fractions[index]
    return fractions


def _is_remainder(finding: Finding) -> bool:
    """Return whether the cost of a cause is a remainder: time in which something was not busy."""
    return finding.cause == "ecn-too-eager" or finding.evidence.get("direction") == "step"


def _cost(finding: Finding) -> float:
    return finding.explained or 0.0
