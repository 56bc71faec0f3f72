"""Runs one collective over the agents of a large lab, and checks limits for many hosts.

    python tools/scale_hosts.py [--leaves 8] [--ranks-per-host 4] [--data-size 1MB]

Makes a lab of 8 hosts for each leaf, which needs root, with an agent on each. One controller, in its own
process, runs an all-to-all with verified payload. Prints for each host the difference of its start from the
common start time, its stated clock error and its memory. The exit status is 1 if one of these checks fails:

- every chunk is complete;
- the start of each host is no farther from the common one than its stated clock error. All hosts of a lab
  have the clock of this machine, so the true offset is 0, and the measured offset is the error;
- no agent has ever used 100 MB of memory;
- no host sends its first packet later than 0.5 ms after the common start for each agent that shares a
  processor. This is no clock error, as times count from the common start, but the wait for the processor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench.lab import agents, endpoints, state
from fabricbench.lab.blueprint import Blueprint, blueprint
from fabricbench.lab.state import Lab
from fabricbench.plan import engine
from fabricbench.runner import loading
from fabricbench.store import Workspace

HOSTS_PER_LEAF: Final = 8
MEMORY_MAX_BYTES: Final = 100_000_000
# Time to wake up, and to forward a packet over all hops of the lab; 0.1 ms on an idle machine.
LATE_MAX_NS: Final = 500_000
PLAN: Final = "jct-alltoall"
PROGRAM: Final = (sys.executable, "-m", "fabricbench")
# Dozens of agents on few processors: a transport timeout must exceed the wait for a processor.
SETTINGS: Final = "{verify: true, timeout_min_ps: 2_000_000_000_000}"


@dataclass(frozen=True)
class Memory:
    """Memory of an agent [bytes].

    Attributes:
        peak: Largest resident size so far (VmHWM).
        resident: Resident size (Rss).
        share: Resident size with only its part of pages shared among processes (Pss).
    """

    peak: int
    resident: int
    share: int


def fabric(hosts: int) -> str:
    """Return the override that sets the number of hosts of a plan."""
    leaves = f"leaves: {hosts // HOSTS_PER_LEAF}, hosts_per_leaf: {HOSTS_PER_LEAF}, spines: 4"
    return f"fabric.topology={{kind: leaf-spine, {leaves}, host_link: 400Gbps, fabric_link: 400Gbps}}"


def planned(hosts: int) -> Blueprint:
    """Return the lab."""
    overrides = [fabric(hosts), f'jobs.0.ranks="0-{hosts - 1}"', "criteria=[]"]
    trial = loading.load(PLAN, overrides).trials[0]
    name = f"scale-{os.getpid()}"
    return blueprint(name, PLAN, trial.run_spec, engine.describe(trial.spec_json), 1_000)


def write_hosts(lab: Lab, ranks_per_host: int) -> Path:
    """Write the file of hosts; each host represents several hosts of the plan, one for each rank."""
    lines = ["version: 1", "defaults:", "  tls: false", f"  settings: {SETTINGS}", "hosts:"]
    for number, node in enumerate(lab.blueprint.hosts):
        plays = list(range(number * ranks_per_host, (number + 1) * ranks_per_host))
        lines += [f"  - name: {node.name}", f"    agent: unix:{endpoints.socket_of(lab, node)}"]
        lines += [f"    address: {node.addresses[0]}", f"    plays: {plays}"]
    path = endpoints.hosts_file(lab)
    path.write_text("\n".join(lines) + "\n")
    return path


def command(hosts_file: Path, workspace: Path, ranks: int, data_size: str) -> list[str]:
    """Return the command of the controller."""
    options = ["--backend", "hosts", "--hosts", str(hosts_file), "--workspace", str(workspace)]
    values = [fabric(ranks), f'jobs.0.ranks="0-{ranks - 1}"', f"sweep.data_size=[{data_size}]", "criteria=[]"]
    overrides = [part for value in values for part in ("-s", value)]
    return [*PROGRAM, "run", PLAN, *options, *overrides]


def memory_of(pid: int) -> Memory:
    """Return the memory of a process (proc(5): status, smaps_rollup)."""
    bytes_by_name: dict[str, int] = {}
    for file in ("status", "smaps_rollup"):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                bytes_by_name[name] = int(value.split()[0]) << 10
    return Memory(bytes_by_name["VmHWM"], bytes_by_name["Rss"], bytes_by_name["Pss"])


def checked(engine_facts: Mapping[str, Any], memories: Sequence[Memory]) -> list[str]:
    """Print each host and return the failed checks."""
    failures = []
    late_max_ns = LATE_MAX_NS * len(memories) / (os.cpu_count() or 1)
    sys.stdout.write("host     start off us  stated us    late ms  peak MB  RSS MB  PSS MB\n")
    for host, memory in zip(engine_facts["hosts"], memories, strict=True):
        off_ns, error_ns = abs(host["clock_offset_ns"]), host["clock_error_ns"]
        late_ns = host["endpoint"]["start_skew_ns"]
        memory_mb = [bytes_ / 1e6 for bytes_ in (memory.peak, memory.resident, memory.share)]
        row = [off_ns / 1e3, error_ns / 1e3, late_ns / 1e6, *memory_mb]
        columns = "{:>13.1f}{:>11.1f}{:>11.2f}{:>9.1f}{:>8.1f}{:>8.1f}".format(*row)
        sys.stdout.write(f"{host['host']:8}{columns}\n")
        if off_ns > error_ns:
            failures.append(f"{host['host']} starts {off_ns} ns off, stated are {error_ns} ns")
        if late_ns > late_max_ns:
            failures.append(f"{host['host']} begins {late_ns} ns late, at most {late_max_ns:.0f} were to be")
        if memory.peak >= MEMORY_MAX_BYTES:
            failures.append(f"the agent of {host['host']} had {memory.peak} bytes of memory")
    return failures


def measured(lab: Lab, folder: Path, ranks_per_host: int, data_size: str) -> list[str]:
    """Run the collective and return the failed checks."""
    ranks = len(lab.blueprint.hosts) * ranks_per_host
    file = write_hosts(lab, ranks_per_host)
    workspace = folder / "workspace"
    controller = command(file, workspace, ranks, data_size)
    finished = subprocess.run(controller, check=False, capture_output=True, text=True)
    memories = [memory_of(agent.pid) for agent in agents.running(lab)]
    if finished.returncode:
        return [f"the run ended with status {finished.returncode}: {finished.stderr}"]
    (trial,) = Workspace.open(workspace).trials()
    failures = [] if trial.status == "complete" else [f"the trial is {trial.status}"]
    failures += checked(trial.engine, memories)
    bad_bytes = sum(host["endpoint"]["wrong_bytes"] for host in trial.engine["hosts"])
    failures += [f"{bad_bytes} bytes are not what was sent"] if bad_bytes else []
    spans = ", ".join(f"{name} {span_s:.2f} s" for name, span_s in trial.engine["spans_s"].items())
    total = sum(memory.share for memory in memories)
    sys.stdout.write(f"{len(memories)} agents, {ranks} ranks, {data_size} each: {spans}\n")
    sys.stdout.write(f"memory of all agents: {total / 1e9:.2f} GB\n{finished.stdout}")
    return failures


def main() -> int:
    """Make the lab, run the collective and print the failed checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--ranks-per-host", type=int, default=4)
    parser.add_argument("--data-size", default="1MB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fb-") as name:
        os.environ[state.RUN_VARIABLE] = name  # separate from other labs
        with endpoints.measuring(planned(arguments.leaves * HOSTS_PER_LEAF), {}) as lab:
            failures = measured(lab, Path(name), arguments.ranks_per_host, arguments.data_size)
    for failure in failures:
        sys.stderr.write(f"error: {failure}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
