"""Compares estimated with measured time and memory of runs: the basis of `crates/sim/src/estimate/cost.rs`.

With `--flow` the runs are those of the flow model: the basis of `crates/flow/src/estimate.rs`.

Each run is a separate process with one trial, without fast-forward. Memory is the largest resident size of
the whole program, with rows, tables and libraries; time is the processor time of the whole command, which
other load on the machine does not affect.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from fabricbench.runner import loading

PLAN = """
fabricbench: 1
name: measured
title: A run to measure
backend: {backend}
fabric:
  topology: {{kind: leaf-spine, leaves: {leaves}, hosts_per_leaf: {per_leaf}, spines: {per_leaf}, host_link: 400Gbps, fabric_link: 400Gbps}}
  load_balancing: {balancing}
  switch: {switch}
transport: {transport}
jobs:
  - {{name: test, ranks: "0-{last}", collective: {collective}}}
sweep: {{data_size: "{size}"}}
"""  # noqa: E501
DCQCN = "{rate_control: dcqcn}"
MARKED = "{pfc: on, ecn: alibaba}"
PAUSED = "{pfc: on}"

Row = tuple[str, int, int, str, str, str, str, str]
RUNS: tuple[Row, ...] = (
    ("8 hosts, all-to-all of 128 MB", 2, 4, "all-to-all", "128MB", "ecmp", "{}", "{}"),
    ("128 hosts, permutation of 16 MB, DCQCN", 8, 16, "permutation", "16MB", "ecmp", MARKED, DCQCN),
    ("1,024 hosts, permutation of 4 MB", 32, 32, "permutation", "4MB", "ecmp", "{}", "{}"),
    ("2,048 hosts, permutation of 64 KB", 64, 32, "permutation", "64KB", "ecmp", "{}", "{}"),
    ("8,192 hosts, permutation of 64 KB", 128, 64, "permutation", "64KB", "ecmp", "{}", "{}"),
    ("128:1 incast of 1 MB, PFC", 2, 64, "incast", "1MB", "ecmp", MARKED, "{}"),
    ("432 ranks, all-to-all of 16 KB", 24, 18, "all-to-all", "6912KB", "ecmp", "{}", "{}"),
    ("432 ranks, all-to-all of 16 KB, DCQCN", 24, 18, "all-to-all", "6912KB", "ecmp", MARKED, DCQCN),
    (
        "432 ranks, all-to-all of 16 KB, spray",
        24,
        18,
        "all-to-all",
        "6912KB",
        "spray-round-robin",
        "{}",
        "{recovery: selective}",
    ),
    ("1,024 ranks, all-to-all of 4 KB", 32, 32, "all-to-all", "4MB", "ecmp", "{}", "{}"),
    ("512 ranks, ring all-reduce", 16, 32, "all-reduce", "8MB", "ecmp", "{}", "{}"),
    (
        "512 ranks, ring all-reduce, per_pair",
        16,
        32,
        "all-reduce",
        "8MB",
        "ecmp",
        "{}",
        "{qp_mode: per_pair}",
    ),
)
FLOW_RUNS: tuple[Row, ...] = (
    ("8 hosts, all-to-all of 128 MB", 2, 4, "all-to-all", "128MB", "ecmp", PAUSED, "{}"),
    ("128 hosts, all-to-all of 128 MB", 8, 16, "all-to-all", "128MB", "ecmp", PAUSED, "{}"),
    ("432 hosts, all-to-all of 432 MB", 24, 18, "all-to-all", "432MB", "ecmp", PAUSED, "{}"),
    ("432 hosts, all-to-all of 432 MB, DCQCN", 24, 18, "all-to-all", "432MB", "ecmp", MARKED, DCQCN),
    ("432 hosts, all-to-all of 7 MB, DCQCN", 24, 18, "all-to-all", "6912KB", "ecmp", MARKED, DCQCN),
    ("1,024 hosts, all-to-all of 128 MB", 32, 32, "all-to-all", "128MB", "ecmp", PAUSED, "{}"),
    ("512 hosts, ring all-reduce", 16, 32, "all-reduce", "512MB", "ecmp", PAUSED, "{}"),
    ("2,048 hosts, permutation of 64 MB", 64, 32, "permutation", "64MB", "ecmp", PAUSED, "{}"),
    ("8,192 hosts, permutation of 64 MB", 128, 64, "permutation", "64MB", "ecmp", PAUSED, "{}"),
    ("128:1 incast of 1 MB", 2, 64, "incast", "1MB", "ecmp", PAUSED, "{}"),
)


def main() -> int:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("only", nargs="*", help="parts of the names of runs to measure [all]")
    parser.add_argument("--flow", action="store_true", help="with fluid flows")
    arguments = parser.parse_args()
    runs, backend = (FLOW_RUNS, "flow") if arguments.flow else (RUNS, "sim")
    print(f"{'':44}{'M hops':>16}{'MiB':>14}{'s':>16}")
    print(f"{'run':44}{'told':>8}{'found':>8}{'told':>7}{'found':>7}{'told':>8}{'found':>8}")
    for row in runs:
        if not arguments.only or any(part in row[0] for part in arguments.only):
            measure(row, backend)
    return 0


def measure(row: Row, backend: str) -> None:
    """Print the estimated and the measured cost of one run."""
    name, leaves, per_leaf, collective, size, balancing, switch, transport = row
    last_host = leaves * per_leaf - 1
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.yaml"
        fields = {"leaves": leaves, "per_leaf": per_leaf, "last": last_host, "collective": collective}
        models = {"balancing": balancing, "switch": switch, "transport": transport}
        plan.write_text(PLAN.format(**fields, **models, size=size, backend=backend))
        (estimate,) = loading.load(str(plan)).estimates
        processor_s, peak_bytes, facts = carried_out(plan, Path(folder), backend)
    if estimate is None:
        raise SystemExit(f"{name} cannot be run")
    print(
        f"{name:44}{estimate['packet_hops'] / 1e6:8.2f}{(facts['packet_hops'] or 0) / 1e6:8.2f}"
        f"{estimate['memory_bytes'] / 2**20:7.0f}{peak_bytes / 2**20:7.0f}"
        f"{estimate['time_ms'] / 1e3:8.2f}{processor_s:8.2f}",
        flush=True,
    )


def carried_out(plan: Path, folder: Path, backend: str) -> tuple[float, int, dict[str, float]]:
    """Run a plan; return its processor time [s], peak memory [bytes] and the facts of the engine."""
    output = folder / "result.json"
    program = Path(sys.executable).with_name("fabricbench")
    arguments = [program, "run", plan, "--workspace", folder / "w"]
    arguments += ["--no-fast-forward", "--threads", "1"] if backend == "sim" else []
    with output.open("wb") as file:
        actions = [(os.POSIX_SPAWN_DUP2, file.fileno(), 1)]
        command = [str(part) for part in (*arguments, "--format", "json")]
        process = os.posix_spawn(program, command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"the run of {plan} failed")
    facts = json.loads(output.read_text())["engine"]
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, facts


if __name__ == "__main__":
    sys.exit(main())
