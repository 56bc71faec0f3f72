"""Memory that runs out in the middle of a run ends it with what was finished intact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PLAN = """
fabricbench: 1
name: growing
title: A trial that fits and one that does not
fabric:
  topology: {kind: leaf-spine, leaves: 32, hosts_per_leaf: 48, spines: 32, host_link: 400Gbps, fabric_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-1535", collective: all-to-all}
sweep: {data_size: 6MB}
"""  # noqa: E501


def fabricbench(folder: Path, *arguments: str, limit_bytes: int = 0) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("fabricbench"))
    limit = str(limit_bytes >> 10) if limit_bytes else "unlimited"
    # The shell sets the limit: code between fork and exec is unsafe beside threads that other tests started.
    command = ["sh", "-c", 'ulimit -v "$0" && exec "$@"', limit, program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_finished_trials_are_intact_and_the_unfinished_one_is_marked(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    small = ("-s", "jobs.0.ranks=0-7", "-s", "sweep.data_size=1MB")
    assert fabricbench(tmp_path, "run", "plan.yaml", *small).returncode == 0
    # Two million chunks take 1.1 GB; what a small run has loaded, and the check has not yet, is room for it.
    limit_bytes = address_space_of_a_small_run(tmp_path, small) + (160 << 20)
    refused = fabricbench(tmp_path, "run", "plan.yaml", limit_bytes=limit_bytes)
    assert refused.returncode == 2
    assert "which is what this machine has left" in refused.stderr
    ended = fabricbench(tmp_path, "run", "plan.yaml", "--force", limit_bytes=limit_bytes)
    assert ended.returncode == 2, ended.stderr
    assert "error: out of memory" in ended.stderr
    assert "hint: finished trials are intact" in ended.stderr
    assert "Traceback" not in ended.stderr
    listed = json.loads(fabricbench(tmp_path, "trials", "--format", "json").stdout)["trials"]
    assert [trial["status"] for trial in listed] == ["complete", "interrupted"]
    assert fabricbench(tmp_path, "show", "latest").returncode == 0


def address_space_of_a_small_run(folder: Path, small: tuple[str, ...]) -> int:
    """Return the smallest limit, in steps of 64 MB, with which a small run ends well."""
    for limit_bytes in range(256 << 20, 4 << 30, 64 << 20):
        if (
            fabricbench(folder, "run", "plan.yaml", *small, "--force", limit_bytes=limit_bytes).returncode
            == 0
        ):
            return limit_bytes
    raise AssertionError("a small run needs more than 4 GB")
