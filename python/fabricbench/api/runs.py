"""`run` and `sweep`: run a plan with a listener for progress, or a progress bar below a notebook cell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from fabricbench.api.plan import Plan, load
from fabricbench.api.samples import Sample
from fabricbench.api.trial import Trial
from fabricbench.api.trials import Trials
from fabricbench.api.workspaces import Workspace, workspace as open_workspace
from fabricbench.backend import protocol
from fabricbench.plan.errors import named_as_written
from fabricbench.runner import loading
from fabricbench.runner.limits import JOBS_MAX, THREADS_MAX
from fabricbench.runner.listener import Quiet
from fabricbench.runner.session import Session, phases_of
from fabricbench.store import Trial as StoredTrial, TrialFacts
from fabricbench.words import data_size

_PERIOD_S: Final = 0.25
_NOTEBOOK: Final = "ZMQInteractiveShell"
"""Name of IPython's shell class in a notebook kernel; terminals have another class."""


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar in a notebook until the block ends, and yield its progress callback; none elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != _NOTEBOOK:
        yield None
        return
    bar = _Bar()
    try:
        yield bar.show
    finally:
        bar.clear()


class _Bar:
    """Progress bar of the whole run, with the running trials as text."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")
        self._html: Callable[[str], Any] = display.HTML
        self._handle: Any = display.display(display.HTML(""), display_id=True)
        self._running: dict[int, Progress] = {}
        self._shown_at = 0.0

    def show(self, progress: Progress) -> None:
        """Record the progress of a trial, and redraw the bar at most four times a second."""
        self._running[progress.trial] = progress
        if progress.trial_share >= 1.0:
            del self._running[progress.trial]
        if time.monotonic() - self._shown_at >= _PERIOD_S:
            self._shown_at = time.monotonic()
            self._handle.update(self._html(bar_html(progress.share, list(self._running.values()))))

    def clear(self) -> None:
        """Remove the bar."""
        self._handle.update(self._html(""))


def bar_html(share: float, running: list[Progress]) -> str:
    """Return the bar and the running trials as HTML."""
    named = ", ".join(
        f"trial {each.trial} of {each.trials} ({data_size(each.data_size_bytes)}) {each.trial_share:.0%}"
        for each in running
    )
    style = "width:24em;max-width:60%;vertical-align:middle"
    return f'<progress value="{share:.4f}" max="1" style="{style}"></progress> {share:.0%} {escape(named)}'


@dataclass(frozen=True)
class Progress:
    """Progress of a run: a report about one of its trials.

    Attributes:
        trial: Number of the reported trial, from 1; other trials may run at the same time.
        trials: Number of trials; of a search the maximum, as far as it is known.
        data_size_bytes: Data size of the trial [bytes].
        trial_share: Delivered fraction of its payload, from 0 to 1.
        simulated_ps: Its simulated time so far [ps].
        samples: Samples since the last report, in order of time: goodput, queues, marks and pauses. At most
            128; of more, neighbours are merged.
        run_share: Finished fraction of the whole run, with equal weight of each trial, from 0 to 1; if none,
            computed as if trials ran one after the other.

    Example:
        >>> import fabricbench as fb
        >>> print(fb.Progress(trial=1, trials=1, data_size_bytes=1, trial_share=1.0, simulated_ps=7).share)
        1.0
    """

    trial: int
    trials: int
    data_size_bytes: int
    trial_share: float
    simulated_ps: int
    samples: tuple[Sample, ...] = ()
    run_share: float | None = None

    @property
    def share(self) -> float:
        """Finished fraction of the whole run, with equal weight of each trial, from 0 to 1.

        Example:
            >>> import fabricbench as fb
            >>> fb.Progress(trial=2, trials=4, data_size_bytes=1024, trial_share=0.5, simulated_ps=0).share
            0.375
        """
        if self.run_share is not None:
            return self.run_share
        return (self.trial - 1 + self.trial_share) / self.trials


class _Listener:
    """Listener of the runner that calls a callback with each progress."""

    def __init__(self, on_progress: Callable[[Progress], None], trials: int) -> None:
        self._on_progress = on_progress
        self._trials = trials
        self._last: Progress | None = None
        self._sizes: dict[int, int] = {}
        self._shares: dict[int, float] = {}

    def trials_chosen(self, facts: Sequence[TrialFacts], count: int) -> None:
        self._trials = count
        if not facts and self._last is not None:  # the search has ended
            self._on_progress(replace(self._last, trials=count, samples=(), run_share=self._run_share))

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002
        self._sizes[number] = facts.data_size_bytes
        self._report(number, 0.0, 0)

    def trial_progressed(self, progress: protocol.Progress, number: int) -> None:
        total = progress["total_bytes"]
        samples = tuple(
            Sample(
                simulated_ps=sample["sim_ps"],
                span_ps=sample["span_ps"],
                delivered_bytes=sample["delivered_bytes"],
                queue_max_bytes=sample["queue_max_bytes"],
                marked_frames=sample["marked_frames"],
                paused_ps=sample["paused_ps"],
            )
            for sample in progress["samples"]
        )
        share = progress["delivered_bytes"] / total if total else 0.0
        self._report(number, share, progress["sim_ps"], samples)

    def trial_finished(self, trial: StoredTrial, number: int, *, resumed: bool) -> None:  # noqa: ARG002
        self._sizes[number] = trial.facts.data_size_bytes
        self._report(number, 1.0, (trial.summary or {})["end_ps"])

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        """Do nothing: `run` raises the error of the trial."""

    def _report(self, number: int, share: float, simulated_ps: int, samples: tuple[Sample, ...] = ()) -> None:
        self._shares[number] = share
        position = number, self._trials, self._sizes[number]
        self._last = Progress(*position, share, simulated_ps, samples, run_share=self._run_share)
        self._on_progress(self._last)

    @property
    def _run_share(self) -> float:
        return sum(self._shares.values()) / self._trials


def run(  # noqa: PLR0913 -- each by its name
    plan: Plan | str | Path,
    *,
    workspace: Workspace | str | Path | None = None,
    variants: Sequence[str] = (),
    on_progress: Callable[[Progress], None] | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    resume: bool = False,
    force: bool = False,
    twin: bool = False,
) -> Trials:
    """Run every trial of a plan, or those chosen by its search, and store the records.

    Args:
        plan: The plan, or an argument of `load`.
        workspace: Workspace for the records: an open one or its folder, which is created if missing; by
            default that of the environment variable FABRICBENCH_WORKSPACE, or else `fabricbench-workspace` in
            the current folder.
        variants: Names of the variants to run; all of the plan's by default.
        on_progress: Called when a trial starts and ends, and about ten times a second in between, with the
            new samples. An exception of the callback stops the run and is raised by it. Without a callback,
            a notebook shows a bar.
        threads: Number of worker threads; by default as many as speed up the trial. The results do not
            depend on it.
        jobs: Maximum number of concurrent trials, each in a process of its own; by default as many as cores
            and memory allow, if that saves time. The results do not depend on it.
        resume: Leave out the trials that are in the workspace already.
        force: Run though a trial is estimated to need more than this machine's memory or an hour.
        twin: Also predict each trial by the simulator, unless its prediction is in the workspace;
            `Trials.by_twin` compares both.

    Returns:
        The trials, in the order of the plan. For a plan with a search, the trials that it chose, in their
        order, with its results in `Trials.found`; all of them are one run.

    Raises:
        ValueError: `threads` or `jobs` is not 1 to 1024.
        PlanError: The plan cannot be run, or its estimate exceeds this machine; or `twin` is set for a plan
            whose backend is the simulator, or that has a search.
        StoreError: The workspace cannot be written, or the disk is full.
        TrialProcessError: The process of one of several concurrent trials has died.
        KeyboardInterrupt: The user stopped the run; the trials that finished stay in the workspace.

    Example:
        >>> import fabricbench as fb
        >>> seen = []
        >>> plan = fb.load("jct-alltoall").with_(data_size="8MB")
        >>> run = fb.run(plan, workspace=workspace, on_progress=seen.append)
        >>> round(run.summary["ideal_percent"][0], 1)
        95.5
        >>> seen[-1].share
        1.0
    """
    for name, count, maximum in (("threads", threads, THREADS_MAX), ("jobs", jobs, JOBS_MAX)):
        if count is not None and not 1 <= count <= maximum:
            raise ValueError(f"{name}: found {count}; allowed: 1 to {maximum}")
    requested_plan = plan if isinstance(plan, Plan) else load(plan)
    limits = None if force else loading.machine_limits()
    with named_as_written({}, variants):
        loaded = loading.reload(requested_plan.loaded, limits=limits, chosen=variants)
    target = workspace if isinstance(workspace, Workspace) else open_workspace(workspace, create=True)
    phases = phases_of(loaded, limits=limits, chosen=variants, twin=twin)
    with progress_bar() if on_progress is None else nullcontext(on_progress) as notify:
        for phase in phases:
            listener = _Listener(notify, len(phase.loaded.trials)) if notify else Quiet()
            session = Session(target.store, listener, threads, jobs)
            outcome = session.run(phase.loaded, phase.backend, resume=resume or phase.is_prediction)
            if outcome.stopped_by is not None:
                raise KeyboardInterrupt
    return Trials([Trial(trial, target.store) for trial in outcome.trials], outcome.search_results)


def sweep(plan: Plan | str | Path, fields: Mapping[str, Sequence[Any]], **options: Any) -> Trials:
    """Run a plan at each combination of values of its fields.

    Args:
        plan: The plan, or an argument of `load`.
        fields: Values by the dotted path of their field, or by `data_size`, as for `Plan.sweep`.
        **options: Keyword arguments of `run`.

    Returns:
        The trials, in the order of the combinations; `Trials.summary` has a column for each field.

    Raises:
        PlanError: The plan cannot be run with one of the values.
        StoreError: The workspace cannot be written, or the disk is full.

    Example:
        >>> import fabricbench as fb
        >>> plan = fb.load("jct-alltoall").with_(data_size="1MB")
        >>> run = fb.sweep(plan, {"transport.mtu": [1024, 4096]}, workspace=workspace)
        >>> run.summary["transport.mtu"].to_list()
        [1024, 4096]
    """
    loaded = plan if isinstance(plan, Plan) else load(plan)
    return run(loaded.sweep(fields), **options)
