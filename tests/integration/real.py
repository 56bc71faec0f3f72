"""Running plans with the real engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.results.job_reports import JobReport, measured_reports
from fabricbench.runner.listener import Listener, Quiet
from fabricbench.runner.loading import backend_of, load
from fabricbench.runner.trials import Runner
from fabricbench.store import Trial, Workspace

PROGRAM = Path(sys.executable).with_name("fabricbench")
"""The program as it is installed beside this interpreter."""

LOSSY_INCAST = """
fabricbench: 1
name: lossy-incast
fabric:
  topology: {kind: single-switch, hosts: 8, host_link: 400Gbps}
  switch: {buffer: 64KB}
transport: {retry_count: 0, timeout: 100us}
jobs:
  - {name: test, ranks: "0-7", collective: incast}
sweep: {data_size: 1MB}
"""


LONG_RING = """
fabricbench: 1
name: long-ring
fabric:
  topology: {kind: single-switch, hosts: 300, host_link: 400Gbps}
jobs:
  - {name: test, ranks: all, collective: all-reduce}
sweep: {data_size: 2400KB}
observe: {series_points: 0}
"""


NEIGHBOUR = """
fabricbench: 1
name: neighbour
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, host_link: 400Gbps}
jobs:
  - {name: test, ranks: "0,1,6,7", collective: all-reduce, repeat: 3}
  - {name: neighbour, ranks: "2-5", collective: all-to-all, data_size: 2MB, repeat: until-others-end}
sweep: {data_size: 8MB}
"""


def run_plan(
    root: Path, plan: str | Path, *overrides: str, listener: Listener | None = None, **options: Any
) -> list[Trial]:
    """Run a plan into a workspace and return its trials."""
    of_backend = {"path": options.pop("path")} if "path" in options else {}
    workspace = Workspace.open(root, create=True)
    loaded = load(str(plan), overrides)
    runner = Runner(workspace, backend_of(loaded, of_backend), listener or Quiet(), **options)
    return list(runner.run(loaded).trials)


def run_apart(root: Path, plan: str | Path, *overrides: str) -> list[Trial]:
    """Run a plan in a process of its own, whose memory is that of this run alone."""
    changes = [word for override in overrides for word in ("-s", override)]
    command = [str(PROGRAM), "run", str(plan), *changes, "--workspace", str(root)]
    subprocess.run(command, check=True, capture_output=True)
    return list(Workspace.open(root).trials())


def measured(summary: Summary, name: str) -> float:
    """Return a metric that has to have been measured."""
    value = summary.value(name)
    assert value is not None
    return value


def jobs_of(trials: list[Trial]) -> list[JobReport]:
    return [job for trial in trials for job in measured_reports(trial)]


def tables_of(root: Path) -> dict[str, bytes]:
    """Return the bytes of every table of a workspace."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("trials/*/*.parquet")}
