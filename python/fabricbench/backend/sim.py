"""The embedded packet-level simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

if TYPE_CHECKING:
    from fabricbench._core import Progress as CoreProgress
    from fabricbench.backend.protocol import Observation, Observer, RunResult, RunSummary
    from fabricbench.backend.wiring import Wiring
    from fabricbench.plan.expand import PlannedTrial

RESULTS: Final = "5"
"""Version of the results: one more whenever a RunSpec gives other tables than before, and only then.

`tests/integration/golden/results.txt` holds what it gives; it is part of the identity of each trial.
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
"""What a run cost and which path it took: the simulator's own facts, which differ from run to run."""

_AT_ENDPOINTS: Final = ("chunks", "chunk_steps", "chunk_times", "reordering", "connections")
_IN_THE_FABRIC: Final = ("ports", "priorities", "links", "paths", "series", "events")
OBSERVED: Final[Mapping[str, Observation]] = {
    **{table: {"at": "endpoint", "unmeasured": ()} for table in _AT_ENDPOINTS},
    **{table: {"at": "fabric", "unmeasured": ()} for table in _IN_THE_FABRIC},
}
"""Everything, where it happens."""


class SimBackend:
    """Runs trials in the compiled core, inside this process.

    Attributes:
        path: `auto` chooses the fast path where it gives the same result; `exact` keeps to the reference
            path.
        fast_forward: On one thread, skip what repeats; the result is the same.
        cores: How many threads may help at most; as many as the machine has cores if none.
    """

    name = "sim"
    version = RESULTS
    observed = OBSERVED

    def __init__(self, path: Literal["auto", "exact"] = "auto", *, fast_forward: bool = True) -> None:
        self.path = path
        self.fast_forward = fast_forward
        self.cores: int | None = None

    def sharing(self, cores: int) -> SimBackend:
        """Return it for a trial beside others; see `SharingCores.sharing`."""
        backend = SimBackend(self.path, fast_forward=self.fast_forward)
        backend.cores = cores
        return backend

    @property
    def engine_version(self) -> str:
        """Version of the compiled core."""
        from fabricbench import _core

        return _core.__version__

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """
        from fabricbench import _core
        from fabricbench.backend.protocol import RefusedError, RunResult

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
        from fabricbench.backend import capture

        return capture.wiring(planned)

    def frames(self, planned: PlannedTrial, qps: Sequence[int], count: int) -> list[tuple[int, bytes]]:
        """Return the first frames of some queue pairs; see `Capturing.frames`."""
        from fabricbench.backend import capture

        return capture.frames(planned, qps, count)
