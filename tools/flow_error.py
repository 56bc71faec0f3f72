"""Measures the error of the flow model against the packet simulator; writes a page and a file of results.

Both engines run every shipped plan, at the largest size whose packets take seconds, and random scenarios,
from seed 1 on until both have completed `--scenarios` of them: of `tools.swarm.generate`, and as many of
long transfers (`tools.swarm.long_transfers`). The error of a job is that of its completion time, without
sign. Its kind follows from the plan alone (`fabricbench.plan.estimates.traffic_kinds`), its congestion from
the packets: see `congestion_of`. Trials that one of the engines does not run are counted by reason. `make
flow-error` runs it; the same engines give the same page.
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

from tools.swarm.generate import plan_of
from tools.swarm.long_transfers import long_plan_of
from tools.swarm.record import FRAME_OVERHEAD_BYTES

from fabricbench import units
from fabricbench.backend.protocol import RefusedError
from fabricbench.backend.registry import get_backend
from fabricbench.plan import engine
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.flow_error import FILE, is_lossless
from fabricbench.plan.estimates.traffic_kinds import (
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
HOPS_MAX = 10_000_000
"""Packet-hops of a trial of a shipped plan: seconds."""
QUEUE_FRAMES = 25
"""A deeper egress queue of a switch is congestion."""
EVEN = 0.9
"""Least mean busy time of parallel links, as a fraction of the busiest one's, at which the load is even."""
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
        name: Its name on the page.
        planned: The trial.
        is_shipped: Whether it is of a shipped plan, not of a random scenario.
    """

    name: str
    planned: PlannedTrial
    is_shipped: bool


@dataclass(frozen=True)
class Compared:
    """A job that both engines completed.

    Attributes:
        name: Its name on the page.
        kind: Its kind by the plan alone; one of `KINDS`.
        traffic: Its traffic pattern.
        is_lossless: Whether PFC prevents loss of its data.
        congestion: Congestion of its packets; one of `CLASSES`.
        control: Rate control of its senders, as named in plans.
        error: Error of its completion time, as a fraction of that in packets.
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
    """Results of all cases: jobs of both engines, and numbers of trials left out by reason and origin."""

    jobs: list[Compared] = field(default_factory=list)
    left_out: Counter[tuple[str, bool]] = field(default_factory=Counter)
    trials: int = 0
    scenarios: int = 0

    def add(self, case: Case) -> None:
        """Run a case on both engines, or count the reason why it is left out."""
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
    """Counters of a run: rows of ports and links, and the number of frames sent more than once."""

    ports: list[Row] = field(default_factory=list)
    links: list[Row] = field(default_factory=list)
    retransmits: int = 0

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Store the rows of ports and links, and add up retransmissions."""
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
    outcomes = zip(simulated["jobs"], flows["jobs"], strict=True)
    for job, kind, (packets, flow) in zip(jobs, kinds_of(spec), outcomes, strict=True):
        time_ps = packets["end_ps"] - job["start_ps"]
        error = abs(flow["end_ps"] - packets["end_ps"]) / time_ps
        name = case.name if len(jobs) == 1 else f"{case.name}, {job['name']}"
        traffic = OPEN_LOOP if job["work"]["kind"] == "open-loop" else pattern(job)
        yield Compared(name, kind, traffic, is_lossless(spec), congestion, control, error)


def congestion_of(planned: PlannedTrial, counters: Counters) -> str:
    """Return the congestion that the packets of a trial met; one of `CLASSES`.

    `RESENT` if a frame was lost or sent again. `NONE` if no frame was marked, nothing paused, and no egress
    queue of a switch was deeper than `QUEUE_FRAMES`. Otherwise the deepest queue decides: `INCAST` if it was
    at the port of a host; between switches `OVERSUBSCRIBED` if the parallel links, up from the same switch or
    down into the next one, were as busy, and `COLLISIONS` of the hash if they were not.
    """
    ports = counters.ports
    frames_lost = sum(row[name] for row in ports for name in row if _LOST.fullmatch(name))
    if frames_lost or counters.retransmits:
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
    """Return whether the links parallel to that of a port are all about as busy as the busiest of them."""
    node, peer = port["node"], port["peer"]
    is_up = tiers[peer] > tiers[node]
    busy_ps = [
        row["busy_ps"]
        for row in links
        if (row["from"] == node and tiers[row["to"]] > tiers[node] if is_up else row["to"] == peer)
        and tiers[row["from"]] > 0
    ]
    return not busy_ps or sum(busy_ps) >= EVEN * max(busy_ps) * len(busy_ps)


def reason_of(refusal: engine.SpecError | RefusedError) -> str:
    """Return the field and the problem of a refusal, the same for each job and without details."""
    field_name = re.sub(r"\[\d+\]", "", refusal.field)
    return f"{field_name}, {refusal.found.partition(',')[0]}"


def shipped_cases() -> Iterator[Case]:
    """Yield trials of each shipped plan: for each variant and combination the largest size of few packets."""
    for name in shipped_plans():
        for trial in list(fitting(name, quick=False)) or fitting(name, quick=True):
            parts = [] if trial.variant == BASE_VARIANT else [trial.variant]
            parts += [axes_text(trial.case.axes)] if trial.case.axes else []
            text = " ".join([*parts, units.human_size(trial.data_size_bytes)])
            yield Case(f"`{name}` {text}", trial, is_shipped=True)


def fitting(name: str, *, quick: bool) -> Iterator[PlannedTrial]:
    """Yield for each variant and combination the first iteration of the largest size that is small enough."""
    loaded = loading.load(name, quick=quick)
    firsts = [trial for trial in loaded.trials if trial.iteration == 0 and not trial.is_solo]
    ordered = sorted(firsts, key=lambda trial: (*place(trial), trial.data_size_bytes))
    for _, trials in groupby(ordered, key=place):
        yield from [trial for trial in trials if is_small(trial)][-1:]


def place(trial: PlannedTrial) -> tuple[int, str]:
    """Return the combination and the variant of a trial."""
    return trial.case.number, trial.variant


def is_small(trial: PlannedTrial) -> bool:
    """Return whether a trial has at most `HOPS_MAX` packet-hops."""
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
    """Run the shipped plans, and both kinds of random scenarios."""
    comparison = Comparison()
    for case in shipped_cases():
        print(case.name, file=sys.stderr, flush=True)
        comparison.add(case)
    streams = (
        (plan_of, scenarios, "swarm"),
        (long_plan_of, scenarios, "long"),
    )
    for plan_of_seed, count, name in streams:
        seed, scenarios_needed = 0, comparison.scenarios + count
        while comparison.scenarios < scenarios_needed:
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
    """Return the errors of jobs as a table: a line for each value of the key, whose numbers only sort."""
    lines = [
        f"| {' | '.join(heads)} | jobs | median | P95 | worst | which |\n",
        "| --- " * (len(heads) + 5) + "|\n",
    ]
    for value in sorted({key(job) for job in jobs}):
        jobs_of_value = [job for job in jobs if key(job) == value]
        worst = min(jobs_of_value, key=lambda job: (-job.error, job.name))
        errors = " | ".join(f"{percent:.2f} %" for percent in errors_percent(jobs_of_value))
        names = " | ".join(part for part in value if isinstance(part, str))
        lines.append(f"| {names} | {len(jobs_of_value)} | {errors} | {worst.name} |\n")
    return "".join(lines)


def section(comparison: Comparison) -> str:
    """Return the section of the page: all tables."""
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
        "".join(f"- **{kind}**: {description}\n" for kind, description in KINDS.items()),
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
    for reason in sorted(reasons, key=lambda reason: (-comparison.left_out[reason, False], reason)):
        counts = [comparison.left_out[reason, is_shipped] for is_shipped in (True, False)]
        parts.append(f"| {reason} | {counts[0]} | {counts[1]} |\n")
    return "".join(parts)


def data_of(comparison: Comparison) -> dict[str, Any]:
    """Return the content of the file of results: the errors of each kind that has jobs."""
    names = ("median_percent", "p95_percent", "worst_percent")
    kinds: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        if jobs := [job for job in comparison.jobs if job.kind == kind]:
            kinds[kind] = {"jobs": len(jobs)} | dict(zip(names, errors_percent(jobs), strict=True))
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
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, begin, from_section = page.partition(BEGIN)
    _, end, after = from_section.partition(END)
    if not (begin and end):
        raise SystemExit(f"error: {PAGE} has no place between {BEGIN.strip()} and {END.strip()}")
    comparison = compare(arguments.scenarios)
    text = section(comparison)
    if arguments.print:
        print(text, end="")
    else:
        PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
        FILE.write_text(json.dumps(data_of(comparison), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
