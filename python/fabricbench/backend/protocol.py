"""What every backend offers: run one planned trial, hand its rows over while running, return its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypedDict, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.backend.wiring import Wiring
    from fabricbench.plan.expand import PlannedTrial


class Observation(TypedDict):
    """Where the rows of a table were seen, and which of its columns were not measured: those are null.

    `at` is `fabric` (on links and in switches themselves), `device` (by the counter of a device) or
    `endpoint` (by what sends and receives).
    """

    at: Literal["fabric", "device", "endpoint"]
    unmeasured: Sequence[str]


class JobSummary(TypedDict):
    """How one job of a run ended. Times in picoseconds since the start of the run."""

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


class RunSummary(TypedDict):
    """Facts of a whole run. What a backend does not know, it leaves out: nothing is filled in.

    `frames_lost` has the frames that were lost in the fabric by cause; `window_ps` is one of the simulator.
    `notes` is what every report of the result has to say of it, a sentence each.
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
    """What came of a run.

    Attributes:
        summary: What it measured; the tables say the rest.
        engine: What it cost, by names of the backend's own; differs from run to run, so it is kept apart.
    """

    summary: RunSummary
    engine: Mapping[str, Any] = field(default_factory=dict)


class Sample(TypedDict):
    """What happened between two samples of a run: in bytes, frames and simulated picoseconds.

    `queue_max_bytes` is the deepest queue of all ports of switches at the end of the time. `marked_frames` and
    `paused_ps` (the sum of ports and priorities) are those of the sampled ports. All three are none if no port
    is sampled. `span_ps` is never zero.
    """

    sim_ps: int
    span_ps: int
    delivered_bytes: int
    queue_max_bytes: int | None
    marked_frames: int | None
    paused_ps: int | None


class Progress(TypedDict):
    """How far a run is: payload bytes, picoseconds of the run, seconds on the clock.

    `samples` are those since the last report, in order of time, 128 at the most: of more, neighbours are
    joined to one, with the longer queue of the two. The rest is the simulator's: frames crossing links
    (`packet_hops`); `waiting_ps`, simulated time since payload was last delivered of a job that ends by
    itself; after `patience_ps` of it the run is ended. `open_chunks` of those jobs have not ended.
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
    """Told what a run does. What a method raises stops the run and comes out of it."""

    def progressed(self, progress: Progress) -> None:
        """Take how far the run is: about ten times a second and at the end."""

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of a record table, while running and at the end."""


class RefusedError(Exception):
    """A RunSpec that the backend cannot run.

    Attributes:
        field: Dotted path in the RunSpec, such as `jobs[0].hosts[3]`.
        found: What stands there.
        allowed: What may stand there.
        hint: What to do; may be empty.
    """

    def __init__(self, field: str, found: str, allowed: str, hint: str = "") -> None:
        super().__init__(f"{field}: found {found}; allowed: {allowed}")
        self.field = field
        self.found = found
        self.allowed = allowed
        self.hint = hint


class Backend(Protocol):
    """Carries planned trials out."""

    @property
    def name(self) -> str:
        """Name of the backend, part of the identity of a trial."""

    @property
    def version(self) -> str:
        """Version of its results, part of the identity of a trial.

        It changes when the same RunSpec gives other tables than before, and not with every release.
        """

    @property
    def engine_version(self) -> str:
        """Version of the program, kept with the record: a new one may give the same results."""

    @property
    def observed(self) -> Mapping[str, Observation]:
        """What its records hold: every table that it observes; the others stay without rows."""

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:
        """Run one trial.

        Args:
            planned: The trial; its RunSpec is complete. `fabricbench.plan.engine.describe` gives its queue
                pairs.
            observer: Gets the rows of the record tables, and the progress of the run.
            threads: Worker threads, as many as help if none; the result does not depend on them.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """


@runtime_checkable
class SharingCores(Protocol):
    """A backend that can carry out several trials side by side, each in a process of its own.

    It is handed to these processes by pickle.
    """

    def sharing(self, cores: int) -> Backend:
        """Return it as it carries out a trial that may use so many cores of this machine."""


@runtime_checkable
class Announcing(Protocol):
    """A backend that can say before it runs what of a trial applies, and what does not."""

    def notes(self, planned: PlannedTrial) -> Sequence[str]:
        """Return what a user is to know before the trial runs, a sentence each.

        Raises:
            RefusedError: The RunSpec cannot be run.
        """


@runtime_checkable
class Choosing(Protocol):
    """A backend that has each trial carried out by another one."""

    def carrier(self, planned: PlannedTrial) -> tuple[Backend, str]:
        """Return what carries a trial out, whose results they are, and why in a sentence."""


def carrier_of(backend: Backend, planned: PlannedTrial) -> Backend:
    """Return what carries a trial out: the backend itself, or the one that it chooses."""
    return backend.carrier(planned)[0] if isinstance(backend, Choosing) else backend


@runtime_checkable
class Capturing(Protocol):
    """A backend that can also tell the frames of a trial, byte for byte, as they leave the NICs."""

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
            count: How many frames to return at most.

        Returns:
            (time in ps, Ethernet frame without FCS or InfiniBand packet) of data, acknowledgements and
            negative acknowledgements, as they leave the sending NIC, in order of time.

        Raises:
            RefusedError: The RunSpec cannot be run.
        """
