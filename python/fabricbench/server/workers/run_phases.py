"""Splits a queued run into phases: predictions by the simulator if requested, then the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.backend.protocol import Backend, carrier_of
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.trial_facts import trial_id


@dataclass(frozen=True)
class Phase:
    """A plan with its backend.

    Attributes:
        loaded: The plan.
        backend: The backend that runs it.
        is_prediction: Whether the simulator predicts the plan; trials that are in the workspace are reused.
    """

    loaded: LoadedPlan
    backend: Backend
    is_prediction: bool = False

    def trials(self) -> Iterator[dict[str, Any]]:
        """Yield each trial in the form that the queue stores; none of a search, which chooses them later."""
        for trial in self.loaded.trials if self.loaded.plan.search is None else ():
            yield {
                "id": trial_id(trial, self.backend),
                "backend": carrier_of(self.backend, trial).name,
                "position": trial.index,
                "variant": trial.variant,
                "axes": dict(trial.case.axes),
                "iteration": trial.iteration,
                "data_size_bytes": trial.data_size_bytes,
                "size_kind": trial.size_kind,
            }


def phases_of(
    loaded: LoadedPlan,
    settings: Mapping[str, Any],
    limits: Limits | None,
    chosen: Sequence[str],
    *,
    twin: bool,
) -> list[Phase]:
    """Return the phases of a run.

    Args:
        loaded: The plan, with its backend.
        settings: Settings of that backend, such as the file of hosts.
        limits: Limits of memory and time for a trial of the prediction.
        chosen: Names of the variants to run; all if empty.
        twin: Whether each trial is predicted first.

    Raises:
        PlanError: There is nothing to predict: the backend is the simulator, or the plan has a search.
        BackendError: The backend does not know a setting.
    """
    plan_phase = Phase(loaded, loading.backend_of(loaded, settings))
    if not twin:
        return [plan_phase]
    twin_plan = loading.twin_of(loaded, limits, chosen)
    return [Phase(twin_plan, loading.backend_of(twin_plan), is_prediction=True), plan_phase]
