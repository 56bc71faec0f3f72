"""Backend that chooses packet simulation or flow model for each trial, by the known error of the latter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from fabricbench.backend.protocol import Announcing, Backend, Observation, Observer, RunResult, SharingCores
from fabricbench.plan.engine import AUTO, SIMULATOR
from fabricbench.plan.estimates.flow_error import choose
from fabricbench.plan.expand import PlannedTrial


class AutoBackend:
    """Runs each trial with the simulator or the flow model; records are the same as those of the chosen one.

    Attributes:
        carriers: Both backends, by name.
    """

    name = AUTO

    def __init__(self, carriers: Mapping[str, Backend]) -> None:
        self.carriers = carriers

    @property
    def version(self) -> str:
        """Versions of the results of both backends."""
        return ", ".join(carrier.version for carrier in self.carriers.values())

    @property
    def engine_version(self) -> str:
        """Version of the compiled core, which contains both backends."""
        return self.carriers[SIMULATOR].engine_version

    @property
    def observed(self) -> Mapping[str, Observation]:
        """Observations of the simulator; a trial has those of the backend that runs it."""
        return self.carriers[SIMULATOR].observed

    def carrier(self, planned: PlannedTrial) -> tuple[Backend, str]:
        """Return the backend that runs a trial, and the reason; see `Choosing`."""
        choice = choose(planned.spec_json)
        return self.carriers[choice.backend], choice.why

    def sharing(self, cores: int) -> AutoBackend:
        """Return the backend for a trial that runs concurrently; see `SharingCores.sharing`."""
        carriers = cast("Mapping[str, SharingCores]", self.carriers)
        return AutoBackend({name: carrier.sharing(cores) for name, carrier in carriers.items()})

    def notes(self, planned: PlannedTrial) -> Sequence[str]:
        """Return the reason for the choice and the notes of the chosen backend; see `Announcing.notes`."""
        carrier, reason = self.carrier(planned)
        return [reason, *(carrier.notes(planned) if isinstance(carrier, Announcing) else ())]

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run, or the flow model gives it up.
            KeyboardInterrupt: The user stopped the run.
        """
        carrier, _ = self.carrier(planned)
        return carrier.run(planned, observer, threads=threads)
