"""Interface of backends: run one planned trial, pass rows to an observer, and return the summary.

Also the error that backends raise, and the rates of a sample of a running trial, for all displays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, runtime_checkable

from typing_extensions import TypedDict

from fabricbench.backend.queue_pairs import Wiring
from fabricbench.errors import UserError
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    import pyarrow as pa


class BackendError(UserError):
    """A backend that does not exist, lacks a prerequisite, or cannot do what was requested.

    Attributes:
        found: The problem.
        allowed: Allowed values; may be empty.
        hint: Suggested remedy; may be empty.

    Args:
        field: The field concerned; may be empty.
    """

    def __init__(self, found: str, allowed: str = "", hint: str = "", field: str = "") -> None:
        prefix = f"{field}: " if field else ""
        super().__init__(f"{prefix}found {found}" + (f"; allowed: {allowed}" if allowed else ""))
        self.found = found
        self.allowed = allowed
        self.hint = hint


class Observation(TypedDict):
    """Where the rows of a table were observed, and which of its columns were not measured and are null.

    `at` is `fabric` (on links and in switches themselves), `device` (by the counter of a device) or
    `endpoint` (by senders and receivers).
    """

    at: Literal["fabric", "device", "endpoint"]
    unmeasured: Sequence[str]


class JobSummary(TypedDict):
    """Outcome of one job of a run. Times in picoseconds since the start of the run."""

    name: str
    status: str
    start_ps: int
    end_ps: int | None
    rounds: int
    chunks: int
    chunks_complete: int
    chunks_failed: int
    reason: str
    warm_up_rounds: NotRequired[int]
    round_times: NotRequired[dict[str, int] | None]
    size_times: NotRequired[list[dict[str, int]]]
    rank_times: NotRequired[dict[str, int] | None]
    late: NotRequired[dict[str, int]]
    messages: NotRequired[dict[str, int]]


class RunSummary(TypedDict):
    """Facts of a whole run. Values that a backend does not have are omitted, not filled in.

    `frames_lost` has the frames lost in the fabric by cause; `window_ps` is set by the simulator only.
    `notes` are sentences that every report of the result must include.
    """

    status: str
    end_ps: int
    jobs: list[JobSummary]
    frames_sent: NotRequired[int]
    frames_delivered: NotRequired[int]
    frames_lost: NotRequired[dict[str, int]]
    frames_in_flight: NotRequired[int]
    window_ps: NotRequired[int]
    notes: NotRequired[list[str]]


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Attributes:
        summary: The measurements that are not in tables.
        engine: Cost of the run, by names of the backend's own; stored separately because it differs between
            runs.
    """

    summary: RunSummary
    engine: Mapping[str, Any] = field(default_factory=dict)


class Sample(TypedDict):
    """Changes between two samples of a run: in bytes, frames and simulated picoseconds.

    `queue_max_bytes` is the deepest queue of all switch ports at the end of the interval; `marked_frames` and
    `paused_ps` (the sum over ports and priorities) cover the sampled ports. All are None if no port is
    sampled. `span_ps` is never zero.
    """

    sim_ps: int
    span_ps: int
    delivered_bytes: int
    queue_max_bytes: int | None
    marked_frames: int | None
    paused_ps: int | None


class Progress(TypedDict):
    """Progress of a run: payload bytes, picoseconds of the run, seconds of wall-clock time.

    `samples` are those since the last report, in order of time, at most 128: beyond that, neighbours are
    merged, with the longer queue of the two. The other fields are set by the simulator only: `packet_hops`
    counts frames that cross links; `waiting_ps` is the simulated time since a job that ends by itself last
    delivered payload, and the run is ended after `patience_ps` of it; `open_chunks` is the number of
    unfinished chunks of those jobs.
    """

    delivered_bytes: int
    total_bytes: int
    sim_ps: int
    wall_s: float
    samples: list[Sample]
    packet_hops: NotRequired[int]
    waiting_ps: NotRequired[int]
    patience_ps: NotRequired[int]
    open_chunks: NotRequired[int]


class Observer(Protocol):
    """Receives the events of a run. An exception in a method stops the run and is raised from it."""

    def progressed(self, progress: Progress) -> None:
        """Process the progress of the run: about ten times a second and at the end."""

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Process rows of a record table, during the run and at its end."""


class RefusedError(UserError):
    """A RunSpec that the backend cannot run.

    Attributes:
        field: Dotted path in the RunSpec, such as `jobs[0].hosts[3]`.
        found: Value of the field.
        allowed: Allowed values.
        hint: Suggested remedy; may be empty.
    """

    def __init__(self, field: str, found: str, allowed: str, hint: str = "") -> None:
        super().__init__(f"{field}: found {found}; allowed: {allowed}")
        self.field = field
        self.found = found
        self.allowed = allowed
        self.hint = hint

    def text(self) -> str:
        """Return the text for the user, which names the backend as the source."""
        hint = self.hint or "`fabricbench plan check PLAN` checks a plan"
        return f"error: the backend refuses the trial: {self}\nhint: {hint}"


class Backend(Protocol):
    """Runs planned trials."""

    @property
    def name(self) -> str:
        """Name of the backend, part of the identity of a trial."""

    @property
    def version(self) -> str:
        """Version of its results, part of the identity of a trial.

        It changes when the same RunSpec gives different tables, not with every release.
        """

    @property
    def engine_version(self) -> str:
        """Version of the program, stored in the record: a new one may give the same results."""

    @property
    def observed(self) -> Mapping[str, Observation]:
        """Tables in its records, with where they are observed; all other tables have no rows."""

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:
        """Run one trial.

        Args:
            planned: The trial; its RunSpec is complete. `fabricbench.plan.engine.describe` gives its queue
                pairs.
            observer: Receives the rows of the record tables and the progress of the run.
            threads: Worker threads, None for as many as help; the result does not depend on them.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """


@runtime_checkable
class SharingCores(Protocol):
    """A backend that can run several trials concurrently, each in its own process.

    It is passed to these processes by pickle.
    """

    def sharing(self, cores: int) -> Backend:
        """Return the backend for a trial that may use this many cores of the machine."""


@runtime_checkable
class Announcing(Protocol):
    """A backend that can report before a run which parts of a trial apply."""

    def notes(self, planned: PlannedTrial) -> Sequence[str]:
        """Return notes for the user before the trial runs, one sentence each.

        Raises:
            RefusedError: The RunSpec cannot be run.
        """


@runtime_checkable
class Choosing(Protocol):
    """A backend that delegates each trial to another one."""

    def carrier(self, planned: PlannedTrial) -> tuple[Backend, str]:
        """Return the backend that runs a trial and owns its results, and the reason in one sentence."""


def carrier_of(backend: Backend, planned: PlannedTrial) -> Backend:
    """Return the backend that runs a trial: the given one, or the one that it chooses."""
    return backend.carrier(planned)[0] if isinstance(backend, Choosing) else backend


@runtime_checkable
class Capturing(Protocol):
    """A backend that can also capture the frames of a trial, byte for byte, as they leave the NICs."""

    def wiring(self, planned: PlannedTrial) -> Wiring:
        """Return the queue pairs and hosts of a trial, without running it.

        Raises:
            RefusedError: The RunSpec cannot be run.
        """

    def frames(self, planned: PlannedTrial, qps: Sequence[int], count: int) -> list[tuple[int, bytes]]:
        """Run a trial until some queue pairs have sent `count` frames.

        Args:
            planned: The trial.
            qps: Numbers of the queue pairs.
            count: Largest number of frames to return.

        Returns:
            (time in ps, Ethernet frame without FCS or InfiniBand packet) of data, acknowledgements and
            negative acknowledgements, as they leave the sending NIC, in order of time.

        Raises:
            RefusedError: The RunSpec cannot be run.
        """


def goodput_gb_per_s(delivered_bytes: int, span_ps: int) -> float:
    """Return the mean goodput of a payload over a non-zero time [GB/s, decimal]."""
    return delivered_bytes * 1000 / span_ps


def paused_mean(paused_ps: int, span_ps: int) -> float:
    """Return the mean number of paused port priorities, from the sum of their pause times."""
    return paused_ps / span_ps
