"""Loads the plan of one stored trial with changed settings, for its variant, size and iteration only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from fabricbench.plan.document.document import Document, read_text
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.load import load_text
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.labels import BASE_VARIANT, shared_variant, solo_job

_SOURCE: Final = "the plan of the trial"
_SINGLE_TRIAL_OVERRIDES: Final[dict[str, object]] = {"variants": [], "published": None, "search": None}
"""Values for the plan of a single trial; a published table next to the plan's file may no longer exist."""


@dataclass(frozen=True)
class PlanOfTrial:
    """The plan of one trial as stored in its workspace.

    Attributes:
        text: The plan as the user wrote it.
        overrides: The overrides of its run, each FIELD=VALUE.
        variant: Label of the trial's variant.
        iteration: Which repetition it is.
        data_size_bytes: Its size, of the kind that the plan sweeps.
        size_kind: That kind, `data` or `message`.
        axes: The swept fields by their dotted paths, each with the trial's value.
    """

    text: str
    overrides: tuple[str, ...]
    variant: str
    iteration: int
    data_size_bytes: int
    size_kind: str
    axes: tuple[tuple[str, Any], ...] = ()

    def load(self, changes: Sequence[str] = (), limits: Limits | None = None) -> LoadedPlan:
        """Load the plan with changes, each FIELD=VALUE, and with only that trial to run.

        Raises:
            PlanError: The plan is invalid with the changes, or beyond the limits.
        """
        loaded = load_text(self.text, _SOURCE, (*self.overrides, *self._own, *changes), limits)
        solo_name = solo_job(self.variant)
        trials = [
            trial
            for trial in loaded.trials
            if trial.iteration == self.iteration
            and trial.data_size_bytes == self.data_size_bytes
            and solo_job(trial.variant) == solo_name
        ]
        if len(trials) != 1:
            raise PlanError([Problem(Place(_SOURCE), "", "no such trial any more", "a trial of the plan")])
        return replace(loaded, trials=trials)

    def within(self, field: str, values: Mapping[str, object], *, on: str = "") -> list[str]:
        """Return overrides of fields inside a field, which the plan may have as a mapping or as a name.

        Args:
            field: Dotted path of the field.
            values: Its fields to change, with their values.
            on: The preset of the name `on`, if names are presets.
        """
        current = self._document.value(tuple(field.split(".")))
        if isinstance(current, dict):
            return [f"{field}.{name}={value}" for name, value in values.items()]
        preset = {"preset": on if current == "on" else current} if on and current else {}
        inside = ", ".join(f"{name}: {value}" for name, value in (preset | dict(values)).items())
        return [f"{field}={{{inside}}}"]

    @property
    def scale(self) -> int:
        """Divisor of the rates of the plan, and factor of its times, in the run."""
        return int(self._document.value(("scale",)) or 1)

    @cached_property
    def _document(self) -> Document:
        return self._with((*self.overrides, *self._changes))

    def _with(self, overrides: Sequence[str]) -> Document:
        return apply_overrides(read_text(self.text, _SOURCE), overrides)

    @cached_property
    def _own(self) -> list[str]:
        """The overrides that reduce the plan to one variant and one size."""
        document = self._document
        overrides = [*self._changes]
        overrides += [
            f"{name}={json.dumps(value)}"
            for name, value in _SINGLE_TRIAL_OVERRIDES.items()
            if document.value((name,))
        ]
        if document.value(("sweep",)) is not None and solo_job(self.variant) is None:
            overrides.append(f"sweep={{{self.size_kind}_size: {self.data_size_bytes}B}}")
        return overrides

    @cached_property
    def _changes(self) -> list[str]:
        """The overrides that apply the trial's variant and swept values."""
        changes = (*self._changes_of_variant().items(), *self.axes)
        return [f"{name}={json.dumps(value)}" for name, value in changes]

    def _changes_of_variant(self) -> Mapping[str, Any]:
        label = shared_variant(self.variant)
        if label == BASE_VARIANT:
            return {}
        variants: list[dict[str, Any]] = self._with(self.overrides).value(("variants",)) or []
        return next((variant.get("set") for variant in variants if variant.get("name") == label), None) or {}
