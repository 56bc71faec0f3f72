"""Measures start-up times: the processor time of the smallest commands and runs, each a whole process.

Prints least, median and largest processor time (user and system) of several runs of each. On a machine with
other load the least is the most reliable.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_ALL_TO_ALL: Final = ("run", "jct-alltoall", "-s", "sweep.data_size=[16MB]")
_INCAST: Final = """\
fabricbench: 1
name: incast
title: 127 ranks send 1 MB each to one
fabric:
  topology: {kind: single-switch, hosts: 128}
  switch: {pfc: on}
jobs:
  - {name: incast, ranks: "0-127", collective: incast}
sweep:
  data_size: [1MB]
"""
"""As the workload B5 of `make bench`."""


def main() -> int:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="how often each command is run [20]")
    runs = parser.parse_args().runs
    print(f"{'processor time in ms':44}{'least':>8}{'median':>8}{'most':>8}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "incast.yaml").write_text(_INCAST)
        for name, command in _commands(folder).items():
            # The first run is left out: it loads files into memory and compiles modules.
            times_ms = [processor_ms(command) for _ in range(runs + 1)][1:]
            figures = (min(times_ms), statistics.median(times_ms), max(times_ms))
            print(f"{name:44}" + "".join(f"{time_ms:8.0f}" for time_ms in figures), flush=True)
    return 0


def _commands(folder: str) -> Mapping[str, Sequence[str]]:
    """Return the commands by description; later ones use the trials of earlier ones."""
    program = str(Path(sys.executable).with_name("fabricbench"))
    used_workspace = ("--workspace", f"{folder}/there")
    run_in_new_workspace = (
        f'exec {program} {" ".join(_ALL_TO_ALL[:2])} -s "{_ALL_TO_ALL[3]}" --workspace {folder}/fresh.$$'
    )
    return {
        "python -c pass": (sys.executable, "-c", "pass"),
        "--help": (program, "--help"),
        "all-to-all of 16 MB, 8 hosts, new workspace": ("/bin/sh", "-c", run_in_new_workspace),
        "the same again, in a workspace of one trial": (program, *_ALL_TO_ALL, *used_workspace),
        "incast of 1 MB, 127:1": (program, "run", f"{folder}/incast.yaml", *used_workspace),
        "trials": (program, "trials", *used_workspace),
        "show latest": (program, "show", "latest", *used_workspace),
    }


def processor_ms(command: Sequence[str]) -> float:
    """Run a command without its output, and return the processor time of its process [ms].

    Raises:
        RuntimeError: It failed.
    """
    no_output = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    # As for a user, modules are compiled only once.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = os.posix_spawn(command[0], list(command), environment, file_actions=no_output)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
