"""Runs every shipped plan at full size in sequence, and prints the time of each.

All together should take less than 10 minutes. A plan that takes longer than ``--bound`` is stopped.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.runner import loading


def main() -> int:
    """Print a line for each plan and the sum; 1 if a plan fails or is stopped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("only", nargs="*", help="names of plans [all]")
    parser.add_argument("--bound", type=float, default=600, help="seconds a plan may take [600]")
    arguments = parser.parse_args()
    print(f"{'plan':32}{'trials':>7}{'told s':>9}{'s':>9}")
    total_s, status = 0.0, 0
    for name in arguments.only or shipped_plans():
        loaded = loading.load(name)
        estimated_s = sum(estimate["time_ms"] for estimate in loaded.estimates if estimate is not None) / 1000
        seconds, failure = timed(name, arguments.bound)
        total_s += seconds
        status |= int(failure != "")
        print(f"{name:32}{len(loaded.trials):>7}{estimated_s:9.1f}{seconds:9.1f}  {failure}", flush=True)
    print(f"{'all':32}{'':16}{total_s:9.1f}")
    return status


def timed(name: str, bound_s: float) -> tuple[float, str]:
    """Run a plan in its own workspace; return its time [s], and the failure as text, or an empty string."""
    program = Path(sys.executable).with_name("fabricbench")
    started = time.monotonic()
    failure = ""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "run", name, "--workspace", folder, "--format", "json"]
        try:
            subprocess.run(command, check=True, timeout=bound_s, stdout=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            failure = "stopped at the bound"
        except subprocess.CalledProcessError as error:
            failure = f"failed with status {error.returncode}"
    return time.monotonic() - started, failure


if __name__ == "__main__":
    sys.exit(main())
