"""Processes on this machine that carry out trials: of Ray, or of the local pool of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def workers_at(folder: Path) -> Iterator[int]:
    """Yield the processes that carry out trials of a workspace in, or at, this folder."""
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes()
            is_busy = command.startswith(b"ray::run_orders") or b"fabricbench.runner.worker import" in command
            is_here = is_busy and any(
                str(folder) in str(file.readlink()) for file in (process / "fd").iterdir()
            )
        except OSError:
            continue
        if is_here:
            yield int(process.name)
