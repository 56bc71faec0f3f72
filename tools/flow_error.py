"""Measures the error of the flow model against packets; writes the validation page and the file of results.

Both engines run every shipped plan, at the largest size whose packets take seconds, and random scenarios,
from seed 1 on until so many were taken by both: of `tools.swarm.generate`, as many of long transfers
(`tools.swarm.long`), and a fifth of that of long transfers while links fail (`tools.swarm.failing`). The
error of a job is that of its completion time, without sign. Its kind is what the plan says beforehand
(`fabricbench.plan.kinds`); congestion is what the packets met: see `congestion_of`. What one of the engines
does not carry out is counted by reason. `make flow-error` runs it; the same engines give the same page.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.swarm.failing import failing_plan_of
from tools.swarm.generate import plan_of
from tools.swarm.long import long_plan_of
from tools.swarm.record import FRAME_OVERHEAD_BYTES

from fabricbench import units
from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.registry import get_backend
from fabricbench.plan import engine
from fabricbench.plan.choice import FILE, is_lossless
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.errors import PlanError
from fabricbench.plan.kinds import (
    ALL_TO_ALL,
    CROWDED,
    KINDS,
    OPEN_LOOP,
    ROOTED,
    SPRAYED,
    STEPS,
    kinds_of,
    pattern,
)
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.runner import loading
from fabricbench.words import axes_text

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Progress
    from fabricbench.plan.expand import PlannedTrial

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "validation.md"
BEGIN, END = "<!-- begin of tools/flow_error.py -->\n", "<!-- end of tools/flow_error.py -->\n"
SCENARIOS = 500
FAILING_PART = 5
"""One scenario of failures for so many of each other sort."""
HOPS_MAX = 10_000_000
"""Packet-hops of a trial of a shipped plan: seconds."""
QUEUE_FRAMES = 25
"""A deeper egress queue of a switch is congestion."""
EVEN = 0.9
"""Links that carry on average so much of what the busiest of them does share the load evenly."""
_LOST = re.compile(r"(dropped|lost|fcs)\w*_frames")

NONE, COLLISIONS, OVERSUBSCRIBED, INCAST = "none", "ECMP collisions", "oversubscribed", "incast"
RESENT = "lost or sent again"
COVERED = (SPRAYED, CROWDED, ALL_TO_ALL, ROOTED, STEPS)
CONTROLS = ("line-rate", "dcqcn", "swift", "timely")
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
    """A job that both engines carried out.

    Attributes:
        name: What the page calls it.
        kind: What its plan says beforehand; one of `KINDS`.
        traffic: Who sends to whom.
        is_lossless: PFC keeps its data from being lost.
        congestion: What its packets met.
        control: How its senders react, as plans name it.
        error: Of its completion time, as a fraction of that in packets.
    """

    name: str
    kind: str
    traffic: str
    is_lossless: bool
    congestion: str
    control: str
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
        if flows["status"] != "complete":
            self.left_out["flows did not complete", case.is_shipped] += 1
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
    spec = case.planned.run_spec
    jobs, control = spec["jobs"], spec["transport"]["rate_control"]["kind"]
    ended = zip(simulated["jobs"], flows["jobs"], strict=True)
    for job, kind, (packets, flow) in zip(jobs, kinds_of(spec), ended, strict=True):
        took = packets["end_ps"] - job["start_ps"]
        error = abs(flow["end_ps"] - packets["end_ps"]) / took
        name = case.name if len(jobs) == 1 else f"{case.name}, {job['name']}"
        traffic = OPEN_LOOP if job["arrivals"] else pattern(job)
        yield Compared(name, kind, traffic, is_lossless(spec), congestion, control, error)


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
    return f"{field_name}, {refusal.found.partition(',')[0]}"


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


def scenario_cases(name: str, fields: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the first trial of a scenario; none if the plan is refused."""
    try:
        loaded = loading.load_fields(fields)
    except PlanError:
        return
    yield Case(name, loaded.trials[0], is_shipped=False)


def compare(scenarios: int) -> Comparison:
    """Run everything."""
    comparison = Comparison()
    for case in shipped_cases():
        print(case.name, file=sys.stderr, flush=True)
        comparison.add(case)
    streams = (
        (plan_of, scenarios, "swarm"),
        (long_plan_of, scenarios, "long"),
        (failing_plan_of, scenarios // FAILING_PART, "failing"),
    )
    for plan_of_seed, count, name in streams:
        seed, until = 0, comparison.scenarios + count
        while comparison.scenarios < until:
            seed += 1
            for case in scenario_cases(f"{name} seed {seed}", plan_of_seed(seed)):
                comparison.add(case)
    return comparison


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of sorted values."""
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def errors_percent(jobs: Iterable[Compared]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the worst of the errors of some jobs [%]."""
    values = sorted(job.error for job in jobs)
    median, p95, worst = (round(100 * percentile(values, percent), 2) for percent in (50, 95, 100))
    return median, p95, worst


def table(jobs: Sequence[Compared], heads: Sequence[str], key: Callable[[Compared], tuple[Any, ...]]) -> str:
    """Write the errors of jobs, a line for each value of the key; a number in it is a place in an order."""
    lines = [
        f"| {' | '.join(heads)} | jobs | median | P95 | worst | which |\n",
        "| --- " * (len(heads) + 5) + "|\n",
    ]
    for value in sorted({key(job) for job in jobs}):
        own = [job for job in jobs if key(job) == value]
        worst = min(own, key=lambda job: (-job.error, job.name))
        shown = " | ".join(f"{each:.2f} %" for each in errors_percent(own))
        names = " | ".join(part for part in value if isinstance(part, str))
        lines.append(f"| {names} | {len(own)} | {shown} | {worst.name} |\n")
    return "".join(lines)


def section(comparison: Comparison) -> str:
    """Write the tables."""
    jobs, kinds = comparison.jobs, list(KINDS)
    pfc = {True: "on", False: "off"}
    covered = [job for job in jobs if job.kind in COVERED]
    parts = [
        f"{comparison.trials} trials of shipped plans and {comparison.scenarios} random scenarios, "
        f"{len(jobs)} jobs, by the congestion that their packets met:\n\n",
        table(jobs, ["congestion"], lambda job: (CLASSES.index(job.congestion), job.congestion)),
        "\nOf these the jobs that the model is for, with long transfers of senders at the line rate: "
        f"{', '.join(COVERED)}:\n\n",
        table(covered, ["congestion"], lambda job: (CLASSES.index(job.congestion), job.congestion)),
        "\nBy how senders react, whatever the kind:\n\n",
        table(
            jobs,
            ["rate control", "congestion"],
            lambda job: (
                *(CONTROLS.index(job.control), job.control),
                *(CLASSES.index(job.congestion), job.congestion),
            ),
        ),
        "\nBy what the plan says beforehand, which is what results state:\n\n",
        "".join(f"- **{kind}**: {what}\n" for kind, what in KINDS.items()),
        "\n",
        table(jobs, ["kind"], lambda job: (kinds.index(job.kind), job.kind)),
        "\n",
        table(jobs, ["kind", "PFC"], lambda job: (kinds.index(job.kind), job.kind, pfc[job.is_lossless])),
        "\nBy all of it:\n\n",
        table(
            jobs,
            ["kind", "traffic", "congestion"],
            lambda job: (
                *(kinds.index(job.kind), job.kind),
                *(kinds.index(job.traffic), job.traffic),
                *(CLASSES.index(job.congestion), job.congestion),
            ),
        ),
        "\nLeft out:\n\n| reason | shipped plans | scenarios |\n| --- | --- | --- |\n",
    ]
    reasons = sorted({reason for reason, _ in comparison.left_out})
    for reason in sorted(reasons, key=lambda each: (-comparison.left_out[each, False], each)):
        counts = [comparison.left_out[reason, is_shipped] for is_shipped in (True, False)]
        parts.append(f"| {reason} | {counts[0]} | {counts[1]} |\n")
    return "".join(parts)


def data_of(comparison: Comparison) -> dict[str, Any]:
    """Return what the product is to know: the errors of each kind of which there are jobs."""
    names = ("median_percent", "p95_percent", "worst_percent")
    kinds: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        if own := [job for job in comparison.jobs if job.kind == kind]:
            kinds[kind] = {"jobs": len(own)} | dict(zip(names, errors_percent(own), strict=True))
    return {
        "results": get_backend(engine.FLOW).version,
        "trials": comparison.trials,
        "scenarios": comparison.scenarios,
        "kinds": kinds,
    }


def main() -> int:
    """Write the section of the page and the file, or print the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=SCENARIOS, help=f"scenarios [{SCENARIOS}]")
    parser.add_argument("--print", action="store_true", help="print it and leave page and file alone")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"error: {PAGE} has no place between {BEGIN.strip()} and {END.strip()}")
    comparison = compare(given.scenarios)
    text = section(comparison)
    if given.print:
        print(text, end="")
    else:
        PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
        FILE.write_text(json.dumps(data_of(comparison), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
