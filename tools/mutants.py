"""Change the code in one place at a time, at random, and count how often a test notices.

Crates are changed by cargo-mutants, Python by Cosmic Ray (mutmut forks a process with threads of polars and
pyarrow, which they do not survive, and skips code outside functions); neither draws samples by a seed, so
that is done here. What survives is looked up in tools/known_survivors.md, which says of each known survivor
why no test notices it; exit status 1 if less than 90 % are caught.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.commands import init
from cosmic_ray.modules import find_modules
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import use_db

ROOT = Path(__file__).parents[1]
SURVIVORS = ROOT / "tools" / "known_survivors.md"
CAUGHT_AT_LEAST = 0.9
SAMPLE = 200
TARGET = ROOT / "target" / "mutants"
COPIED_OF_CRATES = (".cargo", "Cargo.lock", "Cargo.toml", "crates")
COPIED_OF_PYTHON = ("CHANGELOG.md", "docs", "plans", "pyproject.toml", "python", "tests")
"""What the tests need of the tree."""
UNTRIED = re.compile(
    # `|` stands in annotations, which nothing evaluates.
    r"BinaryOperator_BitOr_"
    # Of eleven operators for each, the one that a slip would put there; most others raise an error at once.
    r"|BinaryOperator_(?!Add_Sub|Sub_Add|Mul_Div|Div_Mul|Div_FloorDiv|FloorDiv_Div|Pow_Mul|Mod_Div)"
    # Identity in place of equality or order is another value's question.
    r"|ComparisonOperator_(?!Is)\w+_Is(Not)?$|ComparisonOperator_Is(Not)?_(?!Is)"
)
"""Operators of Cosmic Ray that say little."""


@dataclass(frozen=True)
class Area:
    """Code that is changed, and the tests that are to notice.

    Attributes:
        files: Globs of the files.
        package: The crate; none of Python.
        stages: What `cargo test` or pytest is told to run, the quick tests first; those of a later stage try
            what those before let pass.
    """

    files: tuple[str, ...]
    package: str | None
    stages: tuple[tuple[str, ...], ...]


AREAS: Mapping[str, Area] = {
    "topology": Area(("crates/topology/src/**/*.rs",), "fabricbench-topology", (("--lib",),)),
    "workload": Area(("crates/workload/src/**/*.rs",), "fabricbench-workload", (("--tests",),)),
    "transport": Area(
        ("crates/transport/src/**/*.rs",),
        "fabricbench-transport",
        (("--lib", "--test", "pair", "--test", "queue_pair"), ("--test", "tcp", "--test", "verbs")),
    ),
    # Buffer, PFC and marking; of the whole runs those that depend on them most.
    "switch": Area(
        tuple(
            f"crates/sim/src/switch/{name}.rs" for name in ("buffer", "pfc", "ecn", "ecn_control", "ecn_law")
        ),
        "fabricbench-sim",
        (("--lib",), ("--test", "congestion", "--test", "fast_forward", "--test", "properties")),
    ),
    "analysis": Area(
        ("python/fabricbench/analysis",),
        None,
        # Time is no witness: a loaded machine would call any mutant caught.
        (("-k", "not million", "tests/analysis", "tests/report/test_rates.py"),),
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A change and what became of it.

    Attributes:
        place: Where it is, as `file:line`.
        change: What it does, in words or as the changed line.
        outcome: `caught`, `missed` or, of what does not compile, `unviable`.
    """

    place: str
    change: str
    outcome: str

    def reason(self, survivors: Sequence[str]) -> str | None:
        """Return what is known of it, of the items of tools/known_survivors.md; none if it is new."""
        begin = f"`{self.place.partition(':')[0]}`: `{self.change}`: "
        return next((item.removeprefix(begin) for item in survivors if item.startswith(begin)), None)


def known_survivors() -> list[str]:
    """Return the items of the list in tools/known_survivors.md, each in one line."""
    items = SURVIVORS.read_text().split("\n- ")
    return [" ".join(item.split()) for item in items[1:]]


def main() -> int:
    """Try mutants of each area; 1 if less than 90 % of those of one are caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("areas", nargs="*", metavar="area", help=f"of {', '.join(AREAS)} [all]")
    parser.add_argument("--mutants", default=str(SAMPLE), help=f"how many of each area, or all [{SAMPLE}]")
    parser.add_argument("--seed", type=int, help="of the samples [a new one, printed]")
    arguments = parser.parse_args()
    if unknown := set(arguments.areas) - AREAS.keys():
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(AREAS)}")
    if arguments.mutants != "all" and not arguments.mutants.isdecimal():
        parser.error(f"--mutants is {arguments.mutants}; it must be a number or all")
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    count = None if arguments.mutants == "all" else int(arguments.mutants)
    status = 0
    for name in arguments.areas or AREAS:
        print(f"{name}: {arguments.mutants} mutants, seed {seed}", flush=True)
        area = AREAS[name]
        status |= tell(name, (crate_mutants if area.package else python_mutants)(area, count, seed))
    return status


def tell(area: str, mutants: Sequence[Mutant]) -> int:
    """Print what survived and how many were caught; 1 if they are too few."""
    survivors = known_survivors()
    for mutant in mutants:
        if mutant.outcome == "missed":
            print(f"missed: {mutant.place}: {mutant.change}")
            print(f"    {mutant.reason(survivors) or 'not in tools/known_survivors.md'}")
    counts = Counter(mutant.outcome for mutant in mutants)
    viable = counts["caught"] + counts["missed"]
    share = counts["caught"] / viable if viable else 1.0
    print(
        f"{area}: {counts['caught']} of {viable} caught, {100 * share:.1f} %; {counts['unviable']} unviable"
    )
    return int(share < CAUGHT_AT_LEAST)


def sampled(mutants: Sequence[Any], count: int | None, seed: int) -> list[Any]:
    """Draw so many, all without a number; of one seed, a larger sample begins with the smaller one."""
    drawn = list(mutants)
    random.Random(seed).shuffle(drawn)
    del drawn[len(drawn) if count is None else count :]
    print(f"{len(drawn)} of {len(mutants)} mutants", flush=True)
    return drawn


def copy_parts(tree: Path, parts: Sequence[str]) -> None:
    """Copy parts of the tree; the copies count as changed now."""
    tree.mkdir(parents=True, exist_ok=True)
    for part in parts:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, copy_function=shutil.copy)
        else:
            shutil.copy(ROOT / part, tree / part)


def crate_mutants(area: Area, count: int | None, seed: int) -> list[Mutant]:
    """Try mutants with cargo-mutants, in a copy of the tree."""
    files = [part for file in area.files for part in ("--file", file)]
    command = ["cargo", "mutants", "--package", str(area.package), *files]
    listed = subprocess.run([*command, "--list", "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    names = [mutant["name"] for mutant in sampled(json.loads(listed.stdout), count, seed)]
    found: dict[str, Mutant] = {}
    for tests in area.stages:
        found |= crate_stage(command, names, tests)
        names = [name for name in names if found[name].outcome == "missed"]
        if not names:
            break
    return list(found.values())


def crate_stage(command: Sequence[str], names: Sequence[str], tests: Sequence[str]) -> dict[str, Mutant]:
    """Try the mutants of these names with some tests."""
    chosen = [part for name in names for part in ("--re", f"^{re.escape(name)}$")]
    # The copy is always at one place, so that what is built of other crates serves all areas: cargo tells
    # builds of two copies apart by nothing but the times of files, which are new here.
    tree = TARGET / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    copy_parts(tree, COPIED_OF_CRATES)
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET / "build")}
    # As arguments of every call of cargo: of those behind `--` the build would not know, and build all tests.
    told = [f"--cargo-arg={argument}" for argument in tests]
    run = [*command, "--in-place", *chosen, "--output", str(TARGET), *told]
    # Its exit status says that something survived or failed; the outcomes say what.
    subprocess.run(run, cwd=tree, check=False, env=environment)
    outcomes = json.loads((TARGET / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    # Struct fields that cargo-mutants deletes come along whatever it is told to try (27.1).
    tried = [outcome for outcome in outcomes if outcome["scenario"] != "Baseline"]
    mutants = {outcome["scenario"]["Mutant"]["name"]: crate_mutant(outcome) for outcome in tried}
    if not mutants.keys() >= set(names):
        raise SystemExit(f"error: cargo-mutants gave up after {len(mutants)} of {len(names)} mutants")
    return {name: mutants[name] for name in names}


def crate_mutant(outcome: Mapping[str, Any]) -> Mutant:
    """Return what cargo-mutants says of a mutant."""
    mutant = outcome["scenario"]["Mutant"]
    file, line, _, change = mutant["name"].split(":", 3)
    words = {"CaughtMutant": "caught", "Timeout": "caught", "MissedMutant": "missed", "Unviable": "unviable"}
    return Mutant(f"{file}:{line}", change.strip(), words[outcome["summary"]])


def python_mutants(area: Area, count: int | None, seed: int) -> list[Mutant]:
    """Try mutants with Cosmic Ray, which changes files in place, in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        copy_parts(Path(folder), COPIED_OF_PYTHON)
        seconds = timed_tests(area)
        with use_db("mutants.sqlite") as session:
            init(sorted(find_modules([Path(file) for file in area.files])), session, {})
            mutants = [item.mutations[0] for item in session.work_items]
        tried = [mutant for mutant in mutants if not UNTRIED.search(mutant.operator_name)]
        tried.sort(key=lambda mutant: (str(mutant.module_path), mutant.operator_name, mutant.occurrence))
        return [python_mutant(mutant, area, 3 * seconds + 10) for mutant in sampled(tried, count, seed)]


def python_tests(area: Area) -> list[str]:
    """Return the command that runs the tests; they stop at the first that fails."""
    pytest = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    return ["env", "PYTHONPATH=python", *pytest, *(part for stage in area.stages for part in stage)]


def timed_tests(area: Area) -> float:
    """Run the tests on what is not changed; return their seconds."""
    started = time.monotonic()
    subprocess.run(python_tests(area), check=True, stdout=sys.stderr)
    return time.monotonic() - started


def python_mutant(mutation: Any, area: Area, timeout_s: float) -> Mutant:
    """Try one mutant of Cosmic Ray."""
    result = mutate_and_test([mutation], shlex.join(python_tests(area)), timeout_s)
    words = {"killed": "caught", "survived": "missed"}
    outcome = words.get(result.test_outcome or "", "unviable")
    mutant = Mutant(f"{mutation.module_path}:{mutation.start_pos[0]}", changed(result.diff or ""), outcome)
    print(f"{mutant.outcome}: {mutant.place}: {mutant.change}", flush=True)
    return mutant


def changed(diff: str) -> str:
    """Return what a line became, or which one is gone."""
    lines = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    new, gone = ([line[1:].strip() for line in lines if line[0] == sign] for sign in "+-")
    return " ".join(new or ["without", *gone])


if __name__ == "__main__":
    sys.exit(main())
