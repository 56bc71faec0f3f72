"""What every backend offers: run one planned trial, hand its rows over while running, return its summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.plan.expand import PlannedTrial


class JobSummary(TypedDict):
    """How one job of a run ended. Times in simulated picoseconds."""

    name: str
    status: str
    start_ps: int
    end_ps: int | None
    rounds: int
    warm_up_rounds: int
    round_times: dict[str, int] | None
    rank_times: dict[str, int] | None
    chunks: int
    chunks_complete: int
    chunks_failed: int
    late: dict[str, int]
    reason: str


class RunSummary(TypedDict):
    """Facts of a whole run.

    The last four depend on the machine. The counts of the engine (`events`, `fast_windows`,
    `exact_windows`) and `fast_forward_ps`, the simulated time it skipped because it repeated what was before,
    depend on the path it took; the rest follows from the RunSpec.
    """

    status: str
    end_ps: int
    jobs: list[JobSummary]
    frames_sent: int
    frames_delivered: int
    frames_lost: dict[str, int]
    frames_in_flight: int
    packet_hops: int
    events: int
    fast_windows: int
    exact_windows: int
    window_ps: int
    fast_forward_ps: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int
    threads: int


class Sample(TypedDict):
    """What happened between two samples of a run: in bytes, frames and simulated picoseconds.

    `queue_max_bytes` (at the end of the time), `marked_frames` and `paused_ps` (the sum of ports and
    priorities) are those of the sampled ports, none if no port is sampled. `span_ps` is never zero.
    """

    sim_ps: int
    span_ps: int
    delivered_bytes: int
    queue_max_bytes: int | None
    marked_frames: int | None
    paused_ps: int | None


class Progress(TypedDict):
    """How far a run is: payload bytes, simulated picoseconds, frames crossing links, wall-clock seconds.

    `waiting_ps` is the simulated time since payload was last delivered of a job that ends by itself;
    after `patience_ps` of it the run is ended. `open_chunks` of those jobs have not ended.
    `samples` are those since the last report, in order of time, 128 at the most: of more, neighbours are
    joined to one, with the longer queue of the two.
    """

    delivered_bytes: int
    total_bytes: int
    sim_ps: int
    packet_hops: int
    wall_s: float
    waiting_ps: int
    patience_ps: int
    open_chunks: int
    samples: list[Sample]


OnProgress = Callable[[Progress], None]
"""Called about ten times a second and at the end. What it raises stops the run and comes out of it."""

OnBatch = Callable[[str, "pa.RecordBatch"], None]
"""Called with a table's name and its rows, while running and at the end."""


class RefusedError(Exception):
    """A RunSpec that the backend cannot run.

    Attributes:
        field: Dotted path in the RunSpec, such as `jobs[0].hosts[3]`.
        found: What stands there.
        allowed: What may stand there.
    """

    def __init__(self, field: str, found: str, allowed: str) -> None:
        super().__init__(f"{field}: found {found}; allowed: {allowed}")
        self.field = field
        self.found = found
        self.allowed = allowed


class Backend(Protocol):
    """Carries planned trials out."""

    @property
    def name(self) -> str:
        """Name of the backend, kept with the record."""

    @property
    def version(self) -> str:
        """Version of its results, part of the identity of a trial.

        It changes when the same RunSpec gives other tables than before, and not with every release.
        """

    @property
    def engine_version(self) -> str:
        """Version of the program, kept with the record: a new one may give the same results."""

    def run(
        self, planned: PlannedTrial, *, on_progress: OnProgress | None, on_batch: OnBatch, threads: int | None
    ) -> RunSummary:
        """Run one trial.

        Args:
            planned: The trial; its RunSpec is complete.
            on_progress: Told how far the run is.
            on_batch: Given the rows of the record tables.
            threads: Worker threads, as many as help if none; the result does not depend on them.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """
