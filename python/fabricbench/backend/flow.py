"""Backend for the flow model: transfers as fluid flows with max-min fair rates, approximate and fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from fabricbench import _core
from fabricbench.backend.protocol import Observation, Observer, RefusedError, RunResult, RunSummary
from fabricbench.plan.estimates.flow_error import error_text
from fabricbench.plan.expand import PlannedTrial

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench._core import FlowProgress

RESULTS: Final = "4"
"""Version of the results, increased whenever a RunSpec gives different tables, and only then."""

ENGINE_FACTS: Final = ("rate_changes", "events", "wall_s", "cpu_s", "peak_rss_bytes")
"""Cost of a run."""

UNMEASURED: Final = (
    "rx_frames",
    "rx_bytes",
    "frames_delta",
    "retransmits",
    "naks",
    "timeouts",
    "out_of_order",
    "latency_min_ps",
    "latency_mean_ps",
    "latency_max_ps",
    "ecn_ce_rx",
    "cnp_tx",
    "cnp_rx",
)
"""Columns of `chunks` that need packets."""

UNMEASURED_OF_STEPS: Final = (
    *(name for name in UNMEASURED if name != "frames_delta"),
    "latency_frames",
)
"""Columns of `chunk_steps` that need packets."""


class FlowBackend:
    """Runs trials as fluid flows in the compiled core, in this process."""

    name = "flow"
    version = RESULTS
    observed: Mapping[str, Observation] = {
        "chunks": {"at": "endpoint", "unmeasured": UNMEASURED},
        "chunk_steps": {"at": "endpoint", "unmeasured": UNMEASURED_OF_STEPS},
        "chunk_times": {"at": "endpoint", "unmeasured": ()},
        "channels": {"at": "endpoint", "unmeasured": ()},
        "events": {"at": "fabric", "unmeasured": ()},
    }

    def sharing(self, cores: int) -> FlowBackend:  # noqa: ARG002 (it takes one)
        """Return the backend for a trial that runs concurrently; see `SharingCores.sharing`."""
        return self

    @property
    def engine_version(self) -> str:
        """Version of the compiled core."""
        return _core.__version__

    def notes(self, planned: PlannedTrial) -> Sequence[str]:
        """Return that results are approximate, with their error bounds; see `Announcing.notes`."""
        return [f"results of a flow model are approximate; {error_text(planned.run_spec)}"]

    def run(
        self,
        planned: PlannedTrial,
        observer: Observer,
        *,
        threads: int | None,  # noqa: ARG002 (it takes one)
    ) -> RunResult:
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run, or uses a feature that the model does not cover.
            KeyboardInterrupt: The user stopped the run.
        """

        def take(table: str, batch: pa.RecordBatch) -> None:
            observer.rows(table, _without_unmeasured(batch, self.observed[table]["unmeasured"]))

        try:
            summary = _core.run_flow(
                planned.spec_json,
                on_progress=cast("Callable[[FlowProgress], None]", observer.progressed),
                on_batch=take,
            )
        except _core.SpecError as error:
            hint = "`--backend sim` simulates packets"
            raise RefusedError(error.field, error.found, error.allowed, hint) from error
        engine = {name: summary.pop(name) for name in ENGINE_FACTS}
        return RunResult(cast("RunSummary", summary | {"notes": list(self.notes(planned))}), engine)


def _without_unmeasured(batch: pa.RecordBatch, unmeasured: Sequence[str]) -> pa.RecordBatch:
    """Return the rows with null in the columns that need packets."""
    import pyarrow as pa

    for name in unmeasured:
        index = batch.schema.get_field_index(name)
        field = batch.schema.field(index).with_nullable(True)
        batch = batch.set_column(index, field, pa.nulls(batch.num_rows, field.type))
    return batch
