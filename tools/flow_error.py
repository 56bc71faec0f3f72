"""Write how far the flow model is from packets into docs/validation.md.

Both engines run every shipped plan, at the largest size whose packets take seconds, and random scenarios of
`tools/swarm`, from seed 1 on until so many were taken by both. The error of a job is that of its completion
time, without sign. Congestion is what the packets met: see `congestion_of`. What one of the engines does not
carry out is counted by reason. `make flow-error` runs it; the same engines give the same page.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.swarm.generate import plan_of

from fabricbench import units
from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.registry import get_backend
from fabricbench.plan import engine
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.errors import PlanError
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.runner import loading
from fabricbench.words import axes_text

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress
    from fabricbench.plan.expand import PlannedTrial

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation.md"
BEGIN, END = "<!-- begin of tools/flow_error.py -->\n", "<!-- end of tools/flow_error.py -->\n"
SCENARIOS = 500
HOPS_MAX = 10_000_000
"""Packet-hops of a trial of a shipped plan: seconds."""
QUEUE_FRAMES = 25
"""A deeper egress queue of a switch is congestion."""
EVEN = 0.9
"""Links that carry on average so much of what the busiest of them does share the load evenly."""
FRAME_OVERHEAD_BYTES = 82
_LOST = re.compile(r"(dropped|lost|fcs)\w*_frames")

NONE, COLLISIONS, OVERSUBSCRIBED, INCAST = "none", "ECMP collisions", "oversubscribed", "incast"
RESENT = "lost or sent again"
CLASSES = (NONE, COLLISIONS, OVERSUBSCRIBED, INCAST, RESENT)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A trial to be run on both engines.

    Attributes:
        name: What the page calls it.
        planned: The trial.
        is_shipped: It is of a shipped plan, not of a random scenario.
    """

    name: str
    planned: PlannedTrial
    is_shipped: bool


@dataclass(frozen=True)
class Compared:
    """A job that both engines carried out: `error` is a fraction of its completion time in packets."""

    name: str
    traffic: str
    congestion: str
    error: float


@dataclass
class Comparison:
    """What came of all cases: jobs of both engines, and trials left out by reason and origin."""

    jobs: list[Compared] = field(default_factory=list)
    left_out: Counter[tuple[str, bool]] = field(default_factory=Counter)
    trials: int = 0
    scenarios: int = 0

    def add(self, case: Case) -> None:
        """Run a case on both engines, or note why not."""
        refusals = engine.check(case.planned.spec_json, engine.FLOW)
        if refusals:
            self.left_out[f"refused: {reason_of(refusals[0])}", case.is_shipped] += 1
            return
        simulated, counters = run(case.planned, "sim")
        if simulated["status"] != "complete":
            self.left_out["packets did not complete", case.is_shipped] += 1
            return
        try:
            flows, _ = run(case.planned, engine.FLOW)
        except RefusedError as error:
            self.left_out[f"given up: {reason_of(error)}", case.is_shipped] += 1
            return
        self.trials += case.is_shipped
        self.scenarios += not case.is_shipped
        self.jobs += compared(case, simulated, flows, congestion_of(case.planned, counters))


@dataclass
class Counters:
    """Observes a run for its counters alone: those of ports and links, and frames sent more than once."""

    ports: list[Row] = field(default_factory=list)
    links: list[Row] = field(default_factory=list)
    retransmits: int = 0

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Keep what counts."""
        if table == "ports":
            self.ports += batch.to_pylist()
        elif table == "links":
            self.links += batch.to_pylist()
        elif table == "chunks":
            self.retransmits += sum(number or 0 for number in batch.column("retransmits").to_pylist())

    def progressed(self, progress: Progress) -> None:
        """Do nothing."""


def run(planned: PlannedTrial, backend: str) -> tuple[Mapping[str, Any], Counters]:
    """Return the summary of a trial on a backend, and its counters."""
    counters = Counters()
    result = get_backend(backend).run(planned, counters, threads=1)
    return result.summary, counters


def compared(
    case: Case, simulated: Mapping[str, Any], flows: Mapping[str, Any], congestion: str
) -> Iterator[Compared]:
    """Yield the jobs of a trial with their errors."""
    jobs = case.planned.run_spec["jobs"]
    for job, packets, flow in zip(jobs, simulated["jobs"], flows["jobs"], strict=True):
        took = packets["end_ps"] - job["start_ps"]
        error = abs(flow["end_ps"] - packets["end_ps"]) / took
        name = case.name if len(jobs) == 1 else f"{case.name}, {job['name']}"
        traffic = "open loop" if job["arrivals"] else f"{job['collective']} {job['algorithm']}"
        yield Compared(name, traffic, congestion, error)


def congestion_of(planned: PlannedTrial, counters: Counters) -> str:
    """Tell what the packets of a trial met.

    Whether a frame was lost or sent again comes first. None is where no frame was marked, nothing paused, and
    no egress queue of a switch was deeper than `QUEUE_FRAMES`. Otherwise the deepest queue decides: incast
    where it was at the port of a host; between switches oversubscription where the links beside it, out of
    the same switch or into the next one down, carried as much, and collisions of the hash where they did not.
    """
    ports = counters.ports
    lost = sum(row[name] for row in ports for name in row if _LOST.fullmatch(name))
    if lost or counters.retransmits:
        return RESENT
    tiers = {row["node"]: row["tier"] for row in ports}
    deepest = max((row for row in ports if row["tier"]), key=lambda row: row["queue_max_bytes"], default=None)
    if deepest is None:
        return NONE
    limit = QUEUE_FRAMES * (planned.run_spec["transport"]["mtu_bytes"] + FRAME_OVERHEAD_BYTES)
    is_signalled = any(row["ecn_marked"] or row["pfc_tx"] for row in ports)
    if not is_signalled and deepest["queue_max_bytes"] <= limit:
        return NONE
    if tiers.get(deepest["peer"], 0) == 0:
        return INCAST
    return OVERSUBSCRIBED if is_even(deepest, tiers, counters.links) else COLLISIONS


def is_even(port: Row, tiers: Mapping[str, int], links: Iterable[Row]) -> bool:
    """Tell whether the links beside that of a port carry what the busiest of them does."""
    node, peer = port["node"], port["peer"]
    is_up = tiers[peer] > tiers[node]
    beside = [
        row["busy_ps"]
        for row in links
        if (row["from"] == node and tiers[row["to"]] > tiers[node] if is_up else row["to"] == peer)
        and tiers[row["from"]] > 0
    ]
    return not beside or sum(beside) >= EVEN * max(beside) * len(beside)


def reason_of(refusal: engine.SpecError | RefusedError) -> str:
    """Return the field and what was found there, the same for each job and without details."""
    field_name = re.sub(r"\[\d+\]", "", refusal.field)
    return f"`{field_name}`, {refusal.found.partition(',')[0]}"


def shipped_cases() -> Iterator[Case]:
    """Yield trials of each shipped plan: of each variant and combination the largest size of few packets."""
    for name in shipped_plans():
        for trial in list(fitting(name, quick=False)) or fitting(name, quick=True):
            parts = [] if trial.variant == BASE_VARIANT else [trial.variant]
            parts += [axes_text(trial.case.axes)] if trial.case.axes else []
            text = " ".join([*parts, units.human_size(trial.data_size_bytes)])
            yield Case(f"`{name}` {text}", trial, is_shipped=True)


def fitting(name: str, *, quick: bool) -> Iterator[PlannedTrial]:
    """Yield the first iteration of the largest size of each variant and combination that is small enough."""
    loaded = loading.load(name, quick=quick)
    firsts = [trial for trial in loaded.trials if trial.iteration == 0 and not trial.is_solo]
    ordered = sorted(firsts, key=lambda trial: (*place(trial), trial.data_size_bytes))
    for _, trials in groupby(ordered, key=place):
        yield from [trial for trial in trials if is_small(trial)][-1:]


def place(trial: PlannedTrial) -> tuple[int, str]:
    """Return the combination and the variant of a trial."""
    return trial.case.number, trial.variant


def is_small(trial: PlannedTrial) -> bool:
    """Tell whether the packets of a trial are few."""
    estimate = engine.estimate(trial.spec_json)
    return estimate is not None and estimate["packet_hops"] <= HOPS_MAX


def scenario_cases(seed: int) -> Iterator[Case]:
    """Yield the first trial of the scenario of a seed; none if the plan is refused."""
    try:
        loaded = loading.load_fields(plan_of(seed))
    except PlanError:
        return
    yield Case(f"swarm seed {seed}", loaded.trials[0], is_shipped=False)


def compare(scenarios: int) -> Comparison:
    """Run everything."""
    comparison = Comparison()
    for case in shipped_cases():
        print(case.name, file=sys.stderr, flush=True)
        comparison.add(case)
    seed = 0
    while comparison.scenarios < scenarios:
        seed += 1
        for case in scenario_cases(seed):
            comparison.add(case)
    return comparison


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of sorted values."""
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def cells(jobs: Iterable[Compared]) -> str:
    """Write count, median, 95th percentile and worst of some jobs."""
    ordered = sorted(jobs, key=lambda job: (job.error, job.name))
    values = [job.error for job in ordered]
    shown = " | ".join(f"{100 * percentile(values, percent):.2f} %" for percent in (50, 95, 100))
    return f"{len(values)} | {shown} | {ordered[-1].name}"


def section(comparison: Comparison) -> str:
    """Write the tables."""
    jobs = comparison.jobs
    head = "| jobs | median | P95 | worst | which |\n"
    parts = [
        f"{comparison.trials} trials of shipped plans and {comparison.scenarios} random scenarios, "
        f"{len(jobs)} jobs:\n\n",
        "| congestion ",
        head,
        "| --- | --- | --- | --- | --- | --- |\n",
    ]
    for name in CLASSES:
        own = [job for job in jobs if job.congestion == name]
        parts += [f"| {name} | {cells(own)} |\n"] if own else []
    parts += ["\n| traffic | congestion ", head, "| --- | --- | --- | --- | --- | --- | --- |\n"]
    kinds = sorted({(job.traffic, CLASSES.index(job.congestion)) for job in jobs})
    for traffic, place in kinds:
        own = [job for job in jobs if (job.traffic, job.congestion) == (traffic, CLASSES[place])]
        parts.append(f"| {traffic} | {CLASSES[place]} | {cells(own)} |\n")
    parts += ["\nLeft out:\n\n| reason | shipped plans | scenarios |\n| --- | --- | --- |\n"]
    reasons = sorted({reason for reason, _ in comparison.left_out})
    for reason in sorted(reasons, key=lambda each: (-comparison.left_out[each, False], each)):
        counts = [comparison.left_out[reason, is_shipped] for is_shipped in (True, False)]
        parts.append(f"| {reason} | {counts[0]} | {counts[1]} |\n")
    return "".join(parts)


def main() -> int:
    """Write the section of the page, or print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=SCENARIOS, help=f"scenarios [{SCENARIOS}]")
    parser.add_argument("--print", action="store_true", help="print it and leave the page alone")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"error: {PAGE} has no place between {BEGIN.strip()} and {END.strip()}")
    text = section(compare(given.scenarios))
    if given.print:
        print(text, end="")
    else:
        PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
