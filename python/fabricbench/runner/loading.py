"""Loads plans for a run: checks that their backend is available and that trials fit the machine.

Also returns the backend of a plan, its notes on the plan, and the plan's twin, which predicts measured trials
in the simulator; finds the plans of suites and campaigns, and locates their problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricbench.backend.machine import available_memory_bytes
from fabricbench.backend.protocol import Announcing, Backend, BackendError
from fabricbench.backend.registry import BACKENDS, get_backend
from fabricbench.plan import load as plan_load
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.shipped import NO_FILE, shipped_plans
from fabricbench.plan.engine import AUTO, SIMULATOR
from fabricbench.plan.errors import FieldPath, PlanError, Problem
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.load import document_of, load_plan
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.words import counted

TIME_LIMIT_MIN = 60
"""Default limit on the estimated time of a trial [min]; longer trials must be requested explicitly."""


def load(
    name: str,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
    *,
    quick: bool = False,
) -> LoadedPlan:
    """Load a plan by the name of a shipped one or by its file, with overrides FIELD=VALUE.

    With `quick`, the changes of the plan's `quick` field are applied first.

    Raises:
        PlanError: It cannot run as written, or would exceed the limits.
    """
    return _with_backend(load_plan(name, overrides, limits, chosen, quick=quick))


def entry_plan(plan: str, file: Path) -> str:
    """Return a plan of a suite or campaign: a shipped plan's name, or a path from the file's folder."""
    return plan if plan in shipped_plans() else str(file.parent / plan)


def entry_problems(error: PlanError, document: Document, path: FieldPath) -> list[Problem]:
    """Return the problems of a plan, located at its entry in the file of a suite or campaign."""
    texts = [
        problem.text("error").removeprefix("error: ").partition("\nhint: ") for problem in error.problems
    ]
    return [document.problem(path, f"a mistake: {message}", "", hint) for message, _, hint in texts]


def load_fields(fields: Mapping[str, Any], path: Path = NO_FILE, overrides: Sequence[str] = ()) -> LoadedPlan:
    """Load a plan from the fields of its YAML; see `fabricbench.plan.load.load_fields`.

    Raises:
        PlanError: It cannot run as written.
    """
    return _with_backend(plan_load.load_fields(fields, path, overrides))


def load_text(
    text: str,
    source: str,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan from YAML text without reading any file; see `fabricbench.plan.load.load_text`.

    Raises:
        PlanError: It cannot run as written, or would exceed the limits.
    """
    return _with_backend(plan_load.load_text(text, source, overrides, limits, chosen))


def reload(
    loaded: LoadedPlan,
    overrides: Sequence[str] = (),
    limits: Limits | None = None,
    chosen: Sequence[str] = (),
) -> LoadedPlan:
    """Load a plan again with more overrides FIELD=VALUE, with limits, or with some of its variants.

    Raises:
        PlanError: It cannot run, or would exceed the limits.
    """
    return _with_backend(plan_load.reload(loaded, overrides, limits, chosen))


def _with_backend(loaded: LoadedPlan) -> LoadedPlan:
    """Return the plan after checking that its backend is available.

    Raises:
        PlanError: There is no such backend, or one of its prerequisites is missing.
    """
    try:
        get_backend(loaded.plan.backend)
    except BackendError as error:
        problem = document_of(loaded).problem(("backend",), error.found, error.allowed, error.hint)
        raise PlanError([problem]) from error
    return loaded


def check_no_search(loaded: LoadedPlan, who: str) -> None:
    """Check that a plan has no search, for callers that do not run searches.

    Args:
        loaded: The plan.
        who: The caller, such as a command.

    Raises:
        PlanError: It has one.
    """
    search = loaded.plan.search
    if search is not None:
        message = f"a search of {search.field}"
        hint = "`fabricbench run` carries it out; `-s search=null` takes the plan as it stands"
        raise PlanError([document_of(loaded).problem(("search",), message, f"none with {who}", hint)])


def twin_of(loaded: LoadedPlan, limits: Limits | None = None, chosen: Sequence[str] = ()) -> LoadedPlan:
    """Return the plan with the simulator as its backend, to predict the measurements of another backend.

    Raises:
        PlanError: The plan's backend is, or may choose, the simulator; the simulator cannot run the plan
            within the limits; or the plan has a search, in which both would try different values.
    """
    backend, simulating = loaded.plan.backend, (AUTO, SIMULATOR)
    if backend in simulating:
        allowed = ", ".join(name for name in sorted(BACKENDS) if name not in simulating)
        message = f"{backend}, of which the twin would be itself"
        hint = "`--backend NAME` names what measures; the simulator predicts"
        raise PlanError([document_of(loaded).problem(("backend",), message, allowed, hint)])
    check_no_search(loaded, "a prediction of each trial")
    return reload(loaded, [f"backend={SIMULATOR}"], limits, chosen)


def machine_limits(time_limit_min: int | None = TIME_LIMIT_MIN) -> Limits:
    """Return the limits of a trial on this machine: available memory, and a time in minutes if given."""
    time_ms = None if time_limit_min is None else time_limit_min * 60_000
    return Limits(available_memory_bytes(), time_ms)


def backend_of(loaded: LoadedPlan, settings: Mapping[str, Any] | None = None) -> Backend:
    """Return the backend of a plan, with the user's settings for it.

    Raises:
        BackendError: It does not have one of the settings.
    """
    return get_backend(loaded.plan.backend, settings)


def notes_of(loaded: LoadedPlan, backend: Backend) -> list[str]:
    """Return the notes of a backend about a plan before it runs, without duplicates; usually empty.

    A note that does not apply to all trials starts with the number of trials.

    Raises:
        RefusedError: It cannot run one of the trials.
    """
    return notes_of_trials([(trial, backend) for trial in loaded.trials])


def notes_of_trials(planned_backends: Sequence[tuple[PlannedTrial, Backend]]) -> list[str]:
    """Return the notes of backends about their trials; see `notes_of`."""
    counts: Counter[str] = Counter()
    for planned, backend in planned_backends:
        counts.update([planned.chosen] if planned.chosen else ())
        counts.update(backend.notes(planned) if isinstance(backend, Announcing) else ())
    trials = len(planned_backends)
    return [
        note if count == trials else f"{count} of {counted(trials, 'trial')}: {note}"
        for note, count in counts.items()
    ]
