"""Mutation tests: changes the code at one random location at a time, and counts the changes that tests catch.

Crates are changed by cargo-mutants, Python by Cosmic Ray (mutmut forks a process with threads of polars and
pyarrow, which they do not survive, and skips code outside functions); neither draws samples by a seed, so
that is done here. tools/known_survivors.md explains why no test catches a known survivor. Exit status 1 if
less than 90 % are caught.
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
"""Parts of the tree that the tests need."""
UNTRIED = re.compile(
    # `|` is used in annotations, which nothing evaluates.
    r"BinaryOperator_BitOr_"
    # Of eleven replacements of each operator, only the most likely slip; most others raise an error at once.
    r"|BinaryOperator_(?!Add_Sub|Sub_Add|Mul_Div|Div_Mul|Div_FloorDiv|FloorDiv_Div|Pow_Mul|Mod_Div)"
    # `is` instead of a comparison by equality or order, and the reverse, test other properties of values.
    r"|ComparisonOperator_(?!Is)\w+_Is(Not)?$|ComparisonOperator_Is(Not)?_(?!Is)"
)
"""Operators of Cosmic Ray that are not tried, as their mutants show little about the tests."""


@dataclass(frozen=True)
class Area:
    """Code that is changed, and the tests that should catch the changes.

    Attributes:
        files: Globs of the files.
        package: The crate; None for Python.
        stages: Arguments of `cargo test` or pytest, quick tests first; a later stage tries only the mutants
            that the earlier ones missed.
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
    # Buffer, PFC and marking, with those tests of whole runs that depend on them most.
    "switch": Area(
        tuple(
            f"crates/sim/src/switch/{name}.rs"
            for name in (
                "admission/buffer",
                "admission/pfc",
                "marking/ecn",
                "marking/ecn_control",
                "marking/ecn_law",
            )
        ),
        "fabricbench-sim",
        (("--lib",), ("--test", "sim", "--", "congestion::", "fast_forward::", "properties::")),
    ),
    "analysis": Area(
        ("python/fabricbench/analysis",),
        None,
        # No tests of run times: on a loaded machine they would catch every mutant.
        (("-k", "not million", "tests/analysis", "tests/report/test_rates.py"),),
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A change of the code, with its outcome.

    Attributes:
        place: Its location, as `file:line`.
        change: Its description, or the changed line.
        outcome: `caught`, `missed`, or `unviable` if it does not compile.
    """

    place: str
    change: str
    outcome: str

    def reason(self, survivors: Sequence[str]) -> str | None:
        """Return the explanation in tools/known_survivors.md; None if there is none."""
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
        status |= print_result(name, (crate_mutants if area.package else python_mutants)(area, count, seed))
    return status


def print_result(area: str, mutants: Sequence[Mutant]) -> int:
    """Print the missed mutants and the number of caught ones; 1 if these are too few."""
    survivors = known_survivors()
    for mutant in mutants:
        if mutant.outcome == "missed":
            print(f"missed: {mutant.place}: {mutant.change}")
            print(f"    {mutant.reason(survivors) or 'not in tools/known_survivors.md'}")
    counts = Counter(mutant.outcome for mutant in mutants)
    viable = counts["caught"] + counts["missed"]
    caught = counts["caught"] / viable if viable else 1.0
    print(
        f"{area}: {counts['caught']} of {viable} caught, {100 * caught:.1f} %; {counts['unviable']} unviable"
    )
    return int(caught < CAUGHT_AT_LEAST)


def sampled(mutants: Sequence[Any], count: int | None, seed: int) -> list[Any]:
    """Draw `count` mutants, or all if it is None; a larger sample of a seed begins with the smaller one."""
    sample = list(mutants)
    random.Random(seed).shuffle(sample)
    del sample[len(sample) if count is None else count :]
    print(f"{len(sample)} of {len(mutants)} mutants", flush=True)
    return sample


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
    mutants_by_name: dict[str, Mutant] = {}
    for tests in area.stages:
        mutants_by_name |= crate_stage(command, names, tests)
        names = [name for name in names if mutants_by_name[name].outcome == "missed"]
        if not names:
            break
    return list(mutants_by_name.values())


def crate_stage(command: Sequence[str], names: Sequence[str], tests: Sequence[str]) -> dict[str, Mutant]:
    """Try the mutants of these names with some tests."""
    filters = [part for name in names for part in ("--re", f"^{re.escape(name)}$")]
    # The copy always has the same path, so that all areas share the builds of other crates: cargo
    # distinguishes builds of two copies only by the times of files, which are new here.
    tree = TARGET / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    copy_parts(tree, COPIED_OF_CRATES)
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET / "build")}
    # Arguments of every call of cargo: the build would not see arguments after `--`, and build all tests.
    cargo_arguments = [f"--cargo-arg={argument}" for argument in tests]
    run = [*command, "--in-place", *filters, "--output", str(TARGET), *cargo_arguments]
    # Its exit status only shows that some mutant survived or failed; the outcomes list them.
    subprocess.run(run, cwd=tree, check=False, env=environment)
    outcomes = json.loads((TARGET / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    # cargo-mutants 27.1 also deletes struct fields, whatever its filters are.
    tried = [outcome for outcome in outcomes if outcome["scenario"] != "Baseline"]
    mutants = {outcome["scenario"]["Mutant"]["name"]: crate_mutant(outcome) for outcome in tried}
    if not mutants.keys() >= set(names):
        raise SystemExit(f"error: cargo-mutants gave up after {len(mutants)} of {len(names)} mutants")
    return {name: mutants[name] for name in names}


def crate_mutant(outcome: Mapping[str, Any]) -> Mutant:
    """Return a mutant from its outcome in the output of cargo-mutants."""
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
    """Run the tests on the unchanged code; return their time [s]."""
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
    """Return the new text of a changed line, or the removed line."""
    lines = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    added, removed = ([line[1:].strip() for line in lines if line[0] == sign] for sign in "+-")
    return " ".join(added or ["without", *removed])


if __name__ == "__main__":
    sys.exit(main())
