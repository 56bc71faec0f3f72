"""Proposes remedies for each cause: plan fields with values to set, each checked by loading the plan with it.

Also selects the remedies to try first, and combines two of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from fabricbench.analysis.causes import settings
from fabricbench.analysis.causes.finding import UNRECOVERED, Finding, Remedy
from fabricbench.plan.errors import PlanError
from fabricbench.plan.stored_plan import PlanOfTrial

_REMEDIES_MAX = 3
"""Largest number of remedies reported of a cause, and of remedies to try for a trial."""
_MORE_QUEUE_PAIRS = 4
_THRESHOLD_FACTOR = 4
"""Factor by which thresholds that mark too early are raised: the range of dynamic ECN."""
_LONG_TIMEOUT = 100
"""Ratio to the largest latency from which a timeout is long."""
_TIMEOUT_LATENCIES = 16
_USUAL_TIMEOUT_PS = 4_096_000 << 14
_USUAL_TIMEOUT = "67.108864ms"
"""4.096 us * 2^14 (IBTA 1.7, 9.7.6.1.3), the usual local ACK timeout 14."""
_USUAL_MESSAGE = "128KB"
_PFC = "fabric.switch.pfc"
_ECN = "fabric.switch.ecn"
_DCQCN = "transport.rate_control=dcqcn"
_SELECTIVE = "transport.recovery=selective"
_TIMEOUT = "retransmission-timeout"
_NO_SETTING = "no setting helps"


@dataclass(frozen=True)
class _Trial:
    """Spec and plan of a trial: remedies depend on them and on the finding."""

    spec: Mapping[str, Any]
    plan: PlanOfTrial

    @property
    def uses_go_back_n(self) -> bool:
        return settings.is_go_back_n(self.spec)


_Remedies = Callable[[Finding, _Trial], Iterator[Remedy]]


def with_remedies(
    findings: Sequence[Finding], run_spec: Mapping[str, Any], plan: PlanOfTrial | None
) -> list[Finding]:
    """Return findings with their remedies.

    A change of the plan is included only if the plan can be loaded with it and then runs something else.

    Args:
        findings: The causes.
        run_spec: The RunSpec of the trial.
        plan: Its plan; none if unknown, so that remedies have no changes of it.
    """
    finder = _RemedyFinder(run_spec, plan)
    return [replace(finding, remedies=finder.of(finding)) for finding in findings]


def promising(findings: Sequence[Finding]) -> list[Remedy]:
    """Return the remedies to try, three at most: the first of each cause before the second of any.

    If the first two are of two causes, their combination is the third.
    """
    settings_of = [[remedy for remedy in finding.remedies if remedy.changes] for finding in findings]
    distinct: dict[frozenset[str], Remedy] = {}
    for remedy in (remedy for rank in zip_longest(*settings_of) for remedy in rank if remedy is not None):
        distinct.setdefault(frozenset(remedy.changes), remedy)
    remedies = list(distinct.values())
    if len(remedies) > 1 and _are_of_two(remedies[0], remedies[1], settings_of):
        combined = _combined(remedies[0], remedies[1])
        return [*remedies[:2], combined] if combined else remedies[:_REMEDIES_MAX]
    return remedies[:_REMEDIES_MAX]


def _are_of_two(first: Remedy, second: Remedy, settings_of: Sequence[Sequence[Remedy]]) -> bool:
    """Return whether two remedies belong to different causes."""
    of_first = [index for index, remedies in enumerate(settings_of) if first in remedies]
    of_second = [index for index, remedies in enumerate(settings_of) if second in remedies]
    return any(one != other for one in of_first for other in of_second)


def _combined(first: Remedy, second: Remedy) -> Remedy | None:
    """Return two remedies as one; none if they set the same field, or a field and one inside it."""
    changes = [*first.changes, *(change for change in second.changes if change not in first.changes)]
    fields = [change.partition("=")[0] for change in changes]
    clash = any(one != other and f"{one}.".startswith(f"{other}.") for one in fields for other in fields)
    if clash or len(set(fields)) < len(fields) or len(changes) in (len(first.changes), len(second.changes)):
        return None
    return Remedy(f"{first.action}, and {second.action}", changes)


def plan_of(
    text: str,
    overrides: Sequence[str],
    variant: str,
    iteration: int,
    size: tuple[int, str],
    axes: Sequence[tuple[str, Any]],
) -> PlanOfTrial:
    """Return the plan of a trial from the fields stored in its workspace; see `PlanOfTrial`."""
    return PlanOfTrial(text, tuple(overrides), variant, iteration, *size, tuple(axes))


class _RemedyFinder:
    """Remedies of one trial. Each change of the plan is loaded once; whether it alters the run is stored."""

    def __init__(self, run_spec: Mapping[str, Any], plan: PlanOfTrial | None) -> None:
        self._spec, self._plan = run_spec, plan
        self._runs: dict[tuple[str, ...], bool] = {}

    def of(self, finding: Finding) -> list[Remedy]:
        """Return the remedies of a cause: at most `_REMEDIES_MAX` changes of the plan, then advice."""
        advice = finding.evidence.get("advice", _ADVICE.get(finding.cause))
        without_changes = [Remedy(advice)] if advice and not finding.evidence.get("inherent") else []
        without_changes += [Remedy(_INHERENT)] if finding.evidence.get("inherent") else []
        generators = [_OF_CAUSE[finding.cause]] if finding.cause in _OF_CAUSE else []
        waited = any(symptom.cause == _TIMEOUT for symptom in finding.under)
        generators += [_shorter_timeout] if waited and (generators or finding.cause in _ADVICE) else []
        if self._plan is None or not generators or not self._differs(()):
            return without_changes
        trial = _Trial(self._spec, self._plan)
        remedies = (remedy for generate in generators for remedy in generate(finding, trial))
        return [
            *[remedy for remedy in remedies if self._differs(tuple(remedy.changes))][:_REMEDIES_MAX],
            *without_changes,
        ]

    def _differs(self, changes: tuple[str, ...]) -> bool:
        """Return whether changes alter the run; without changes, whether the plan reproduces the run."""
        if changes not in self._runs:
            self._runs[changes] = self._loads(changes)
        return self._runs[changes]

    def _loads(self, changes: tuple[str, ...]) -> bool:
        assert self._plan is not None
        try:
            spec = self._plan.load(changes).trials[0].run_spec
        except PlanError:
            return False
        is_same = bool(json.loads(json.dumps(spec)) == self._spec)
        return is_same != bool(changes)


def _lossy_fabric(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    yield Remedy("make data lossless", [f"{_PFC}=on"])
    yield from _slow_down(trial)
    yield from _selective(trial)


def _slow_down(trial: _Trial) -> Iterator[Remedy]:
    """Let senders react to marks, unless they pace themselves already."""
    if settings.reacts_to_ecn(trial.spec) or settings.rate_control(trial.spec) != settings.LINE_RATE:
        return
    is_marked = trial.spec["fabric"]["switch"].get("ecn") is not None
    changes = [*([] if is_marked else [f"{_ECN}=on"]), _DCQCN]
    yield Remedy("slow senders down before buffers are full", changes)


def _selective(trial: _Trial) -> Iterator[Remedy]:
    if trial.uses_go_back_n:
        yield Remedy("send only what is missing again", [_SELECTIVE])


def _reordering(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    yield from _selective(trial)
    yield Remedy("keep each queue pair on one path", ["fabric.load_balancing=ecmp"])


def _hash_collision(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    kind = settings.load_balancing(trial.spec)
    if kind == "weighted":
        yield Remedy("the same weight for each uplink", ["fabric.load_balancing=ecmp"])
    if kind in ("ecmp", "flowlet"):
        qps = _MORE_QUEUE_PAIRS * int(trial.spec["transport"]["qps_per_rank_pair"])
        yield Remedy("more queue pairs for each rank pair", [f"transport.qps_per_rank_pair={qps}"])
    if kind != "adaptive":
        changes = ["fabric.load_balancing=adaptive", *([_SELECTIVE] if trial.uses_go_back_n else [])]
        yield Remedy("choose the uplink packet by packet, and take packets in any order", changes)
    if not settings.is_per_packet(trial.spec) and kind != "flowlet":
        yield Remedy("choose anew after each pause of a queue pair", ["fabric.load_balancing=flowlet"])


def _incast(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    if not finding.evidence["inherent"]:
        yield from _slow_down(trial)


def _headroom(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    yield Remedy("headroom for what arrives after a pause", trial.plan.within(_PFC, {"headroom": "auto"}))


def _host_overrun(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    if settings.is_lossy(trial.spec):
        yield Remedy("let NICs ask for pauses", [f"{_PFC}=on"])


def _blocking(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    """Let senders slow down before a switch pauses them, with thresholds below a fixed one of PFC."""
    xoff = trial.spec["fabric"]["switch"]["pfc"]["xoff"]
    if xoff["kind"] != "static":
        yield from _slow_down(trial)
    elif settings.rate_control(trial.spec) in (settings.LINE_RATE, "dcqcn"):
        thresholds = f"{{kmin: {xoff['bytes'] // 4}B, kmax: {xoff['bytes']}B, pmax: 20%}}"
        is_paced = settings.rate_control(trial.spec) == "dcqcn"
        changes = [f"{_ECN}={thresholds}", *([] if is_paced else [_DCQCN])]
        yield Remedy("slow senders down before a switch pauses them", changes)


def _eager(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    ecn = trial.spec["fabric"]["switch"]["ecn"]
    raised = {name: f"{_THRESHOLD_FACTOR * ecn[f'{name}_bytes']}B" for name in ("kmin", "kmax")}
    yield Remedy("mark deeper queues only", trial.plan.within(_ECN, raised, on="alibaba"))
    if not settings.is_lossy(trial.spec):
        yield Remedy("leave it to PFC", [f"transport.rate_control={settings.LINE_RATE}"])


def _window(finding: Finding, _trial: _Trial) -> Iterator[Remedy]:
    evidence = finding.evidence
    needed = 2 * evidence["round_trip_ps"] / evidence["frame_ps"] / evidence["queue_pairs"]
    packets = max(2 * int(evidence["window_packets"]), 1 << round(needed).bit_length())
    yield Remedy("a window of more than the way there and back", [f"transport.window={packets}"])


def _short_packets(_finding: Finding, _trial: _Trial) -> Iterator[Remedy]:
    yield Remedy("longer messages", [f"transport.message_size={_USUAL_MESSAGE}"])


def _too_short(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    if finding.evidence["timeout_ps"] < _USUAL_TIMEOUT_PS * trial.plan.scale:
        yield Remedy("the usual timeout", [f"transport.timeout={_USUAL_TIMEOUT}"])


def _shorter_timeout(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    """Shorten a timeout that is very long compared with the latency of frames, if senders waited for it.

    It remains above the ideal time of the job, for which a queue pair may wait for others at a port.
    """
    waits = [symptom for symptom in finding.under if symptom.cause == _TIMEOUT]
    for evidence in [symptom.evidence for symptom in waits[:1]]:
        latency_ps, timeout_ps = evidence["latency_max_ps"], evidence["timeout_ps"]
        needed_ps = max(_TIMEOUT_LATENCIES * (latency_ps or 0), evidence["ideal_ps"])
        if latency_ps and timeout_ps >= _LONG_TIMEOUT * latency_ps and timeout_ps >= 2 * needed_ps:
            microseconds = -(-needed_ps // 10**6 // trial.plan.scale)
            yield Remedy("wait less for what was lost", [f"transport.timeout={microseconds}us"])


def _bit_errors(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    yield from _repair(finding, trial)
    yield from _selective(trial)


def _recovering(_finding: Finding, _trial: _Trial) -> Iterator[Remedy]:
    yield Remedy("send again what is lost", ["transport.recovery=go_back_n"])


def _repair(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    if trial.spec["fabric"].get("failures"):
        yield Remedy(f"repair {finding.where[0] if finding.where else 'what failed'}", ["fabric.failures=[]"])


def _straggler(finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    if trial.spec["fabric"].get("nic", {}).get("impairments"):
        yield Remedy(f"repair {finding.where[0]}", ["fabric.nic.impairments=[]"])
    yield from _repair(finding, trial)


def _watchdog(_finding: Finding, trial: _Trial) -> Iterator[Remedy]:
    yield Remedy("a watchdog that ends it", trial.plan.within(_PFC, {"watchdog": "on"}))


_OF_CAUSE: Mapping[str, _Remedies] = {
    "pfc-deadlock": _watchdog,
    "pfc-stall": _watchdog,
    "link-failure": _repair,
    "bit-errors": _bit_errors,
    "fewer-uplinks": _repair,
    "straggling-nic": _straggler,
    "lossy-fabric": _lossy_fabric,
    "hash-collision": _hash_collision,
    "incast": _incast,
    "headroom-overrun": _headroom,
    "host-overrun": _host_overrun,
    "pfc-head-of-line-blocking": _blocking,
    "ecn-too-eager": _eager,
    "reordering-with-go-back-n": _reordering,
    "small-window": _window,
    "short-packets": _short_packets,
    "timeout-too-short": _too_short,
    UNRECOVERED: _recovering,
}
_INHERENT = f"{_NO_SETTING}: the pattern is an incast"
_ADVICE: Mapping[str, str] = {
    "shared-hosts": f"{_NO_SETTING}: hosts of its own, or a class of its own (`jobs.N.priority` with DWRR)",
    "oversubscription": f"{_NO_SETTING}: a limit of the fabric, for more or faster uplinks",
    "incast": f"{_NO_SETTING} that the senders share one port",
    "step-overhead": f"{_NO_SETTING} of the fabric: fewer steps, or less overhead of the software",
    "start-up-latency": f"{_NO_SETTING}: fewer steps or more data, a shorter path",
    "credit-deadlock": "routes without a circle",
    UNRECOVERED: "connections that send again what is lost, or a fabric that loses nothing",
}
"""Advice for causes that no setting of the plan removes, or not entirely."""
