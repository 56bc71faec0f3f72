"""Compares the speed of two commits by ratio: their benchmarks run alternately on the same machine.

Absolute figures of a shared machine vary by tens of percent; the ratio of alternating runs does not. Builds
each commit in its own git worktree. Needs Rust, git and, for ``--instructions``, valgrind.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ("bench", "--quiet", "--locked", "-p", "fabricbench-sim", "--bench", "fabric", "--no-run")


def main() -> int:
    """Print the ratio of the second commit's speed to the first's, workload by workload."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("head", nargs="?", default="HEAD", help="commit to judge [HEAD]")
    parser.add_argument("-w", "--workload", action="append", default=[], help="B1 to B8, repeatable [all]")
    parser.add_argument("-n", "--rounds", type=int, default=5, help="times each commit runs, in turn [5]")
    parser.add_argument("--threads", type=int, default=1, help="threads of each run [1]")
    parser.add_argument("--fast-forward", action="store_true", help="skip what repeats, as runs of users do")
    parser.add_argument("--instructions", action="store_true", help="count instructions, slowly")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fabricbench-compare-"))
    try:
        base, head = build(arguments.base, folder / "base"), build(arguments.head, folder / "head")
        compare([base, head], arguments)
    finally:
        for name in ("base", "head"):
            remove = ["git", "worktree", "remove", "--force", str(folder / name)]
            subprocess.run(remove, check=False, cwd=ROOT, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder)
    return 0


def build(commit: str, folder: Path) -> Path:
    """Build the benchmark of ``commit`` in ``folder``; returns the program."""
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, commit], cwd=ROOT, check=True)
    print(f"building {commit}", file=sys.stderr)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(["cargo", *BENCH], cwd=folder, env=environment, check=True)
    files = (folder / "target/release/deps").glob("fabric-*")
    return next(path for path in files if path.suffix == "" and os.access(path, os.X_OK))


def compare(programs: list[Path], arguments: argparse.Namespace) -> None:
    """Run both programs alternately and print a line for each workload."""
    figure = "instructions" if arguments.instructions else "cpu_s" if arguments.threads == 1 else "wall_s"
    rounds = 1 if arguments.instructions else arguments.rounds
    print(f"{'':4}{'base':>14}{'head':>14}{'base/head':>11}  {figure}, best of {rounds}")
    for name in arguments.workload or [f"B{number}" for number in range(1, 9)]:
        best = [float("inf"), float("inf")]
        for _ in range(rounds):
            for index, program in enumerate(programs):
                best[index] = min(best[index], measure(program, name, figure, arguments))
        print(f"{name:4}{best[0]:>14.6g}{best[1]:>14.6g}{best[0] / best[1]:>11.3f}", flush=True)


def measure(program: Path, name: str, figure: str, arguments: argparse.Namespace) -> float:
    """Return the figure of one run of workload ``name``."""
    command = [str(program), name, "--lines", "--runs", "1", "--threads", str(arguments.threads)]
    if arguments.fast_forward:
        command.append("--fast-forward")
    if arguments.instructions:
        command.append("--instructions")
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = dict(pair.split("=") for pair in line.split())
    if arguments.fast_forward and "skipped_percent" not in figures:
        sys.exit(f"{program}: the benchmark of this commit ignores --fast-forward and simulates every packet")
    return float(figures[figure])


if __name__ == "__main__":
    sys.exit(main())
