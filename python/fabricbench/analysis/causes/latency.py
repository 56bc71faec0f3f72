"""Finds fixed costs of each step of a collective as causes: latency of the path, software overhead."""

from __future__ import annotations

from collections.abc import Iterator

from fabricbench.analysis.causes.evidence import Case
from fabricbench.analysis.causes.finding import Finding, percent, time_words
from fabricbench.analysis.record.run_spec import rounds_of
from fabricbench.words import counted
from fabricbench.work import collective_of

_MATERIAL = 0.1
"""Fraction of the lost time below which a fixed cost is not reported."""


def startup_latency(case: Case) -> Iterator[Finding]:
    """Find a path latency that is a large part of the lost time.

    Each step waits for a frame to cross the fabric and both NICs: steps * (latency_min + 2 * NIC latency);
    the last acknowledgement takes as long. It is a lower bound, as it uses the shortest path of the job.
    """
    latency_min_ps = case.chunks.latency_min_ps
    if latency_min_ps is None:
        return
    nic_ps = int(case.record.run_spec["fabric"].get("nic", {}).get("latency_ps", 0))
    steps, crossing_ps = case.chunks.steps, latency_min_ps + 2 * nic_ps
    cost_ps = rounds_of(case.outcome) * (steps + 1) * crossing_ps
    explained = case.explained(cost_ps)
    if explained is None or explained < _MATERIAL:
        return
    sentence = (
        f"the fixed latency of the path is {percent(cost_ps / case.duration_ps)} of the completion time: "
        f"{counted(steps, 'step')} and the last acknowledgement, {time_words(crossing_ps)} each"
    )
    evidence = {"steps": steps, "crossing_ps": crossing_ps, "latency_ps": cost_ps}
    yield Finding("start-up-latency", case.job["name"], explained, sentence, evidence)


def step_overhead(case: Case) -> Iterator[Finding]:
    """Find a software overhead for each step that is a large part of the lost time."""
    overhead_ps = int(collective_of(case.job).get("step_overhead_ps", 0))
    cost_ps = rounds_of(case.outcome) * case.chunks.steps * overhead_ps
    explained = case.explained(cost_ps)
    if explained is None or explained < _MATERIAL:
        return
    sentence = (
        f"the software overhead is {percent(cost_ps / case.duration_ps)} of the completion time: "
        f"{counted(case.chunks.steps, 'step')} of {time_words(overhead_ps)}"
    )
    evidence = {"steps": case.chunks.steps, "step_overhead_ps": overhead_ps, "overhead_ps": cost_ps}
    yield Finding("step-overhead", case.job["name"], explained, sentence, evidence)
