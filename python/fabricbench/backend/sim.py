"""Backend for the packet-level simulator in the compiled core: runs trials and captures frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

from fabricbench import _core
from fabricbench.backend import capture
from fabricbench.backend.protocol import Observation, Observer, RefusedError, RunResult, RunSummary
from fabricbench.backend.queue_pairs import Wiring
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    from fabricbench._core import Progress as CoreProgress

RESULTS: Final = "5"
"""Version of the results, increased whenever a RunSpec gives different tables, and only then.

It is part of the identity of each trial; `tests/integration/golden/results.txt` has the expected results.
"""

ENGINE_FACTS: Final = (
    "packet_hops",
    "events",
    "fast_windows",
    "exact_windows",
    "fast_forward_ps",
    "wall_s",
    "cpu_s",
    "peak_rss_bytes",
    "threads",
)
"""Cost of a run and the path that the simulator used; they differ from run to run."""

OBSERVED: Final[Mapping[str, Observation]] = {
    table: {"at": point, "unmeasured": ()} for table, point, _ in _core.record_tables() if point != "device"
}
"""All tables of the simulator, which observes where the events occur and has no counters of devices."""


class SimBackend:
    """Runs trials in the compiled core, in this process.

    Attributes:
        path: `auto` uses the fast path where it gives the same result; `exact` uses the reference path.
        fast_forward: On one thread, skip repeated intervals; the result is the same.
        cores: Largest number of threads; None for the cores of the machine.
    """

    name = "sim"
    version = RESULTS
    observed = OBSERVED

    def __init__(self, path: Literal["auto", "exact"] = "auto", *, fast_forward: bool = True) -> None:
        self.path = path
        self.fast_forward = fast_forward
        self.cores: int | None = None

    def sharing(self, cores: int) -> SimBackend:
        """Return the backend for a trial that runs concurrently; see `SharingCores.sharing`."""
        backend = SimBackend(self.path, fast_forward=self.fast_forward)
        backend.cores = cores
        return backend

    @property
    def engine_version(self) -> str:
        """Version of the compiled core."""
        return _core.__version__

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """
        try:
            summary = _core.run(
                planned.spec_json,
                threads=threads,
                cores=self.cores,
                path=self.path,
                fast_forward=self.fast_forward,
                on_progress=cast("Callable[[CoreProgress], None]", observer.progressed),
                on_batch=observer.rows,
            )
        except _core.SpecError as error:
            raise RefusedError(error.field, error.found, error.allowed) from error
        engine = {name: summary.pop(name) for name in ENGINE_FACTS}
        return RunResult(cast("RunSummary", summary), engine)

    def wiring(self, planned: PlannedTrial) -> Wiring:
        """Return the queue pairs and hosts of a trial; see `Capturing.wiring`."""
        return capture.wiring(planned)

    def frames(self, planned: PlannedTrial, qps: Sequence[int], count: int) -> list[tuple[int, bytes]]:
        """Return the first frames of some queue pairs; see `Capturing.frames`."""
        return capture.frames(planned, qps, count)
