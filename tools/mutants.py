"""Change the code in one place at a time, at random, and count how often a test notices.

Crates are changed by cargo-mutants, Python by Cosmic Ray; neither draws samples by a seed, so that is done
here. What survives is looked up in docs/mutants.md, which says of each known survivor why no test tells it
apart; exit status 1 if less than 90 % are caught.
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
SURVIVORS = ROOT / "docs" / "mutants.md"
CAUGHT_AT_LEAST = 0.9
SAMPLE = 200
COPIED = ("CHANGELOG.md", "docs", "plans", "pyproject.toml", "python", "tests")
"""What the tests of Python code need of the tree."""
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
        tests: What `cargo test` or pytest is told to run.
    """

    files: tuple[str, ...]
    package: str | None
    tests: tuple[str, ...]


AREAS: Mapping[str, Area] = {
    "topology": Area(("crates/topology/src/**/*.rs",), "fabricbench-topology", ("--tests",)),
    "workload": Area(("crates/workload/src/**/*.rs",), "fabricbench-workload", ("--tests",)),
    "transport": Area(("crates/transport/src/**/*.rs",), "fabricbench-transport", ("--tests",)),
    # Buffer, PFC and marking; of the whole runs those that depend on them and take seconds.
    "switch": Area(
        tuple(
            f"crates/sim/src/switch/{name}.rs" for name in ("buffer", "pfc", "ecn", "ecn_control", "ecn_law")
        ),
        "fabricbench-sim",
        ("--lib", "--test", "congestion", "--test", "fast_forward", "--test", "properties"),
    ),
    "analysis": Area(
        ("python/fabricbench/analysis",),
        None,
        # Time is no witness: a loaded machine would call any mutant caught.
        ("-k", "not million", "tests/analysis", "tests/report/test_rates.py"),
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
        """Return what is known of it, of the lines of docs/mutants.md; none if it is new."""
        file = self.place.partition(":")[0]
        marks = (f"`{file}`", f"`{self.change}`")
        return next((line.strip() for line in survivors if all(mark in line for mark in marks)), None)


def main() -> int:
    """Try mutants of each area; 1 if less than 90 % of those of one are caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("areas", nargs="*", help=f"of {', '.join(AREAS)} [all]")
    parser.add_argument("--mutants", default=str(SAMPLE), help=f"how many of each area, or all [{SAMPLE}]")
    parser.add_argument("--seed", type=int, help="of the samples [a new one, printed]")
    arguments = parser.parse_args()
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
    survivors = SURVIVORS.read_text().splitlines()
    for mutant in mutants:
        if mutant.outcome == "missed":
            print(f"missed: {mutant.place}: {mutant.change}")
            print(f"    {mutant.reason(survivors) or 'not in docs/mutants.md'}")
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


def crate_mutants(area: Area, count: int | None, seed: int) -> list[Mutant]:
    """Try mutants with cargo-mutants, in a copy of the tree."""
    files = [part for file in area.files for part in ("--file", file)]
    command = ["cargo", "mutants", "--package", str(area.package), *files]
    listed = subprocess.run([*command, "--list", "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    drawn = sampled(json.loads(listed.stdout), count, seed)
    chosen = [part for mutant in drawn for part in ("--re", f"^{re.escape(mutant['name'])}$")]
    with tempfile.TemporaryDirectory() as folder:
        command += [*chosen, "--output", folder, "--", *area.tests]
        # A copy of the tree has the artifacts' names of the tree, so it needs a place of its own for them.
        environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" / "mutants")}
        # Its exit status says that something survived or failed; the outcomes say what.
        subprocess.run(command, cwd=ROOT, check=False, env=environment)
        outcomes = json.loads((Path(folder) / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    # Struct fields that cargo-mutants deletes come along whatever it is told to try (27.1).
    names = {mutant["name"] for mutant in drawn}
    tried = [outcome for outcome in outcomes if outcome["scenario"] != "Baseline"]
    return [crate_mutant(each) for each in tried if each["scenario"]["Mutant"]["name"] in names]


def crate_mutant(outcome: Mapping[str, Any]) -> Mutant:
    """Return what cargo-mutants says of a mutant."""
    mutant = outcome["scenario"]["Mutant"]
    file, line, _, change = mutant["name"].split(":", 3)
    words = {"CaughtMutant": "caught", "Timeout": "caught", "MissedMutant": "missed", "Unviable": "unviable"}
    return Mutant(f"{file}:{line}", change.strip(), words[outcome["summary"]])


def python_mutants(area: Area, count: int | None, seed: int) -> list[Mutant]:
    """Try mutants with Cosmic Ray, which changes files in place, in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, Path(folder) / part)
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
    return ["env", "PYTHONPATH=python", *pytest, *area.tests]


def timed_tests(area: Area) -> float:
    """Run the tests on what is not changed; return their seconds."""
    started = time.monotonic()
    subprocess.run(python_tests(area), check=True, stdout=sys.stderr)
    return time.monotonic() - started


def python_mutant(mutation: Any, area: Area, timeout_s: float) -> Mutant:
    """Try one mutant of Cosmic Ray."""
    result = mutate_and_test([mutation], shlex.join(python_tests(area)), timeout_s)
    lines = (result.diff or "").splitlines()
    changed = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
    words = {"killed": "caught", "survived": "missed"}
    outcome = words.get(result.test_outcome or "", "unviable")
    print(f"{outcome}: {mutation.module_path}:{mutation.start_pos[0]}: {' '.join(changed)}", flush=True)
    return Mutant(f"{mutation.module_path}:{mutation.start_pos[0]}", " ".join(changed), outcome)


if __name__ == "__main__":
    sys.exit(main())
