"""The progress of a run, on standard error, while it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from fabricbench.runner import Listener, Progress
    from fabricbench.store import Trial, TrialFacts

_PS_PER_MS = 1e9


@contextmanager
def display() -> Iterator[Listener]:
    """Show progress until the block ends; show nothing when standard error is no terminal."""
    if not sys.stderr.isatty():
        from fabricbench.runner import Quiet

        yield Quiet()
        return
    with _bar() as bar:
        yield _Display(bar)


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[detail]}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _Display:
    """Shows the trial that runs: which of how many, bytes delivered, simulated time, speed, time left."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None, detail="")

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        from fabricbench.plan.variant import solo_job
        from fabricbench.report.text_table import data_size

        alone = solo_job(facts.variant)
        name = f"trial {number} of {count}, {data_size(facts.data_size_bytes)}"
        name += f", {alone} alone" if alone else ""
        self._bar.reset(self._task, description=name, total=None, detail="")

    def trial_progressed(self, progress: Progress) -> None:
        self._bar.update(
            self._task,
            total=progress["total_bytes"],
            completed=progress["delivered_bytes"],
            detail=progress_text(progress),
        )

    def trial_finished(self, trial: Trial, *, resumed: bool) -> None:
        """Do nothing: the next trial starts at once."""


def progress_text(progress: Progress) -> str:
    """Return simulated time, speed and time left of a trial."""
    from fabricbench.report.text_table import count

    wall_s, delivered = progress["wall_s"], progress["delivered_bytes"]
    hops_per_s = round(progress["packet_hops"] / wall_s) if wall_s else 0
    left = _duration(wall_s * (progress["total_bytes"] - delivered) / delivered) if delivered else "-"
    return (
        f"{progress['sim_ps'] / _PS_PER_MS:.3f} ms simulated, {count(hops_per_s)} packet-hops/s, {left} left"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
