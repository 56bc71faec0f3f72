"""The embedded packet-level simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

if TYPE_CHECKING:
    from fabricbench.backend.protocol import OnBatch, OnProgress, RunSummary
    from fabricbench.plan.expand import PlannedTrial

RESULTS: Final = "1"
"""Version of the results: one more whenever a RunSpec gives other tables than before, and only then.

`tests/integration/golden/results.txt` holds what it gives; it is part of the identity of each trial.
"""


class SimBackend:
    """Runs trials in the compiled core, inside this process.

    Attributes:
        path: `auto` chooses the fast path where it gives the same result; `exact` keeps to the reference
            path.
        fast_forward: On one thread, skip what repeats; the result is the same.
    """

    name = "sim"
    version = RESULTS

    def __init__(self, path: Literal["auto", "exact"] = "auto", *, fast_forward: bool = True) -> None:
        self.path = path
        self.fast_forward = fast_forward

    @property
    def engine_version(self) -> str:
        """Version of the compiled core."""
        from fabricbench import _core

        return _core.__version__

    def run(
        self, planned: PlannedTrial, *, on_progress: OnProgress | None, on_batch: OnBatch, threads: int | None
    ) -> RunSummary:
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run.
            KeyboardInterrupt: The user stopped the run.
        """
        from fabricbench import _core
        from fabricbench.backend.protocol import RefusedError

        try:
            summary = _core.run(
                planned.spec_json,
                threads=threads,
                path=self.path,
                fast_forward=self.fast_forward,
                on_progress=on_progress,
                on_batch=on_batch,
            )
        except _core.SpecError as error:
            raise RefusedError(error.field, error.found, error.allowed) from error
        return cast("RunSummary", summary)
