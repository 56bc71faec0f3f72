"""Runs random scenarios up to a time or number of seeds, and reduces each failing one to a small plan.

python -m tools.swarm --seed 1 --count 2000
python -m tools.swarm --seconds 600 --progress swarm.jsonl
python -m tools.swarm --plan swarm-failures/seed-17.yaml
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

from ruamel.yaml import YAML
from tools.swarm.fabrics import Fields
from tools.swarm.generate import plan_of
from tools.swarm.scenario import Outcome
from tools.swarm.shrink import shrink
from tools.swarm.workers import Task, Worker


@dataclass
class Tally:
    """Counts of the scenarios so far, with the laws broken and the reasons of refusals."""

    done: int = 0
    accepted: int = 0
    trials: int = 0
    packet_hops: int = 0
    failing: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count a scenario."""
        self.done += 1
        self.accepted += outcome.is_accepted
        self.trials += outcome.trials
        self.packet_hops += outcome.packet_hops
        self.failing += bool(outcome.violations)
        self.rules.update({violation.rule for violation in outcome.violations})
        if outcome.refusal:
            self.refusals[_refused_field(outcome.refusal)] += 1

    def __str__(self) -> str:
        accepted_percent = 100 * self.accepted / max(1, self.done)
        return (
            f"{self.done} scenarios, {accepted_percent:.0f} % accepted, {self.trials} trials, "
            f"{self.packet_hops:,} packet-hops, {self.failing} break a law"
        )


def _refused_field(refusal: str) -> str:
    """Return the first line of a refusal without its figures, to count equal ones."""
    line = refusal.splitlines()[0]
    return "".join("#" if letter.isdigit() else letter for letter in line)[:100]


def main() -> int:
    """Run one plan or many scenarios; 1 if a law is broken."""
    arguments = _parser().parse_args()
    if arguments.plan is not None:
        return _run_plan(YAML(typ="safe").load(arguments.plan.read_text()), arguments)
    return _run_scenarios(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seed", type=int, help="first seed [that of the progress file, or one from the clock]"
    )
    parser.add_argument("--count", type=int, help="scenarios to run [as many as there is time for]")
    parser.add_argument("--seconds", type=float, help="when to stop [after COUNT, or 120]")
    parser.add_argument("--plan", type=Path, help="run this plan instead, and say which laws it breaks")
    parser.add_argument("--progress", type=Path, help="file of the seeds that are done, to resume from")
    parser.add_argument(
        "--failures", type=Path, default=Path("swarm-failures"), help="folder of small failing plans"
    )
    parser.add_argument("--limit", type=float, default=20.0, help="CPU seconds of a scenario [20]")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes [2]")
    parser.add_argument("--compare-every", type=int, default=4, help="every so many also on other paths [4]")
    parser.add_argument(
        "--shrink", type=float, default=60.0, help="seconds to make a failing plan small [60]"
    )
    parser.add_argument("--max-failures", type=int, default=10, help="failing plans to make small [10]")
    return parser


def _run_plan(plan: Fields, arguments: argparse.Namespace) -> int:
    worker = Worker(arguments.limit)
    outcome = worker.examine(Task(plan, compares=True))
    worker.close()
    if outcome.refusal:
        print(outcome.refusal, file=sys.stderr)
    for violation in outcome.violations:
        print(f"{violation.rule}: {violation.found}")
    return int(bool(outcome.violations))


def _seeds(arguments: argparse.Namespace) -> Iterator[int]:
    """Return the seeds still to run, from `--seed`, the first of the run to resume, or a new one."""
    done = _finished_seeds(arguments.progress)
    resumed_or_new = min(done) if done else time.time_ns() // 1_000_000
    first_seed = resumed_or_new if arguments.seed is None else arguments.seed
    print(f"seeds from {first_seed}, {len(done)} done before", file=sys.stderr, flush=True)
    count = arguments.count if arguments.count is not None else sys.maxsize
    return (seed for seed in range(first_seed, first_seed + count) if seed not in done)


def _finished_seeds(progress: Path | None) -> set[int]:
    if progress is None or not progress.exists():
        return set()
    lines = progress.read_text().splitlines()
    return {int(json.loads(line)["seed"]) for line in lines if line.endswith("}")}


def _run_scenarios(arguments: argparse.Namespace) -> int:
    """Run scenarios in several processes; print the first of each broken law and write its small plan."""
    tally, broken_rules = Tally(), set[str]()
    workers = [Worker(arguments.limit) for _ in range(arguments.workers)]
    for seed, outcome in _outcomes(_seeds(arguments), workers, arguments):
        tally.add(outcome)
        _log_outcome(arguments.progress, seed, outcome)
        new_rules = {violation.rule for violation in outcome.violations} - broken_rules
        if new_rules and len(broken_rules) < arguments.max_failures:
            broken_rules |= new_rules
            _report(seed, outcome, min(new_rules), arguments)
        if tally.done % 500 == 0:
            print(tally, file=sys.stderr, flush=True)
    for worker in workers:
        worker.close()
    print(tally)
    for rule, count in tally.rules.most_common():
        print(f"  {count:6} x {rule}")
    for refusal, count in tally.refusals.most_common(8):
        print(f"  {count:6} refused: {refusal}", file=sys.stderr)
    return int(tally.failing > 0)


def _outcomes(
    seeds: Iterator[int], workers: list[Worker], arguments: argparse.Namespace
) -> Iterator[tuple[int, Outcome]]:
    """Yield each seed with its outcome, in the order of completion."""
    default = None if arguments.count is not None else 120.0
    seconds = arguments.seconds if arguments.seconds is not None else default
    end_s = time.monotonic() + seconds if seconds is not None else float("inf")
    seed_by_worker: dict[int, int] = {}

    def feed(index: int) -> None:
        seed = next(seeds, None) if time.monotonic() < end_s else None
        if seed is not None:
            compares = seed % arguments.compare_every == 0
            workers[index].begin(Task(plan_of(seed), compares=compares))
            seed_by_worker[index] = seed

    for index in range(len(workers)):
        feed(index)
    while seed_by_worker:
        wait([workers[index].pipe for index in seed_by_worker], 0.2)
        for index in list(seed_by_worker):
            outcome = workers[index].poll()
            if outcome is not None:
                yield seed_by_worker.pop(index), outcome
                feed(index)


def _log_outcome(progress: Path | None, seed: int, outcome: Outcome) -> None:
    if progress is not None:
        rules = sorted({violation.rule for violation in outcome.violations})
        with progress.open("a") as file:
            file.write(json.dumps({"seed": seed, "accepted": outcome.is_accepted, "broken": rules}) + "\n")


def _report(seed: int, outcome: Outcome, rule: str, arguments: argparse.Namespace) -> None:
    """Print the laws that a scenario breaks, and the command that repeats this with a small plan."""
    for violation in outcome.violations:
        print(f"seed {seed}: {violation.rule}\n    {violation.found}")
    worker = Worker(min(arguments.limit, 10.0))
    compares = seed % arguments.compare_every == 0

    def fails(plan: Fields) -> bool:
        violations = worker.examine(Task(plan, compares=compares)).violations
        return any(violation.rule == rule for violation in violations)

    small = shrink(plan_of(seed), fails, arguments.shrink)
    rule_violations = [
        broken for broken in worker.examine(Task(small, compares=compares)).violations if broken.rule == rule
    ]
    worker.close()
    path = write_plan(
        small,
        arguments.failures,
        f"seed-{seed}",
        [rule, *(broken.found for broken in rule_violations)],
    )
    print(f"    small plan: {path}\n    again: python -m tools.swarm --plan {path}", flush=True)


def write_plan(plan: Fields, folder: Path, name: str, comments: list[str]) -> Path:
    """Write a plan with comments above it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    with path.open("w") as file:
        file.writelines(f"# {line}\n" for text in comments for line in text.splitlines())
        yaml.dump(plan, file)
    return path


if __name__ == "__main__":
    sys.exit(main())
