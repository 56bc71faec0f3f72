"""Runs plans into a workspace: the one place that assembles a run of a plan, its backend and options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired

from typing_extensions import TypedDict

from fabricbench.backend.protocol import Backend, carrier_of
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.runner.listener import Listener, Quiet
from fabricbench.runner.trial_facts import trial_id
from fabricbench.runner.trials import Outcome, Runner
from fabricbench.store import Workspace


class ListedTrial(TypedDict):
    """A trial of a run before it starts; runs that earlier versions queued lack some fields."""

    id: str
    backend: NotRequired[str]
    position: int
    variant: str
    axes: NotRequired[dict[str, Any]]
    iteration: int
    data_size_bytes: int
    size_kind: NotRequired[str]


@dataclass(frozen=True)
class Session:
    """Runs the plans of one command or request.

    Attributes:
        store: Workspace that receives the records.
        listener: Receives the events of each run.
        threads: Worker threads of a trial; None for as many as help.
        jobs: Largest number of concurrent trials, each in its own process; None for as many as cores and
            memory allow, if that saves time.
        allowed: Called before each trial; returns the number of concurrent trials allowed at that time.
    """

    store: Workspace
    listener: Listener = field(default_factory=Quiet)
    threads: int | None = None
    jobs: int | None = 1
    allowed: Callable[[], int] | None = None

    def run(
        self,
        loaded: LoadedPlan,
        backend: Backend | None = None,
        *,
        resume: bool = False,
        suite: str | None = None,
    ) -> Outcome:
        """Run every trial of a plan, or those that its search tries; see `Runner.run`.

        Args:
            loaded: The plan.
            backend: Backend with the user's settings; by default that of the plan without settings.
            resume: Skip the trials that are already complete.
            suite: Id of the run that the trials belong to; see `Runner`.
        """
        backend = backend or loading.backend_of(loaded)
        runner = Runner(
            self.store, backend, self.listener, self.threads, resume, self.jobs, self.allowed, suite
        )
        return runner.run(loaded)


@dataclass(frozen=True)
class Phase:
    """A plan with its backend: the plan of a run, or the prediction of its trials.

    Attributes:
        loaded: The plan.
        backend: The backend that runs it.
        is_prediction: Whether the simulator predicts the plan; trials that are in the workspace are reused.
    """

    loaded: LoadedPlan
    backend: Backend
    is_prediction: bool = False

    def trials(self) -> Iterator[ListedTrial]:
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
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
    *,
    twin: bool,
) -> list[Phase]:
    """Return the phases of a run: the predictions of its trials if requested, then the plan.

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
