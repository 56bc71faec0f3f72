"""The plan of one stored trial, to be loaded again with other settings: the same variant, size and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from fabricbench.plan.cost import Limits
from fabricbench.plan.document.document import Document, read_text
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.load import load_text
from fabricbench.plan.loaded import LoadedPlan
from fabricbench.plan.sweep.labels import BASE_VARIANT, shared_variant, solo_job

_SOURCE: Final = "the plan of the trial"
_ALONE: Final[dict[str, object]] = {"variants": [], "published": None, "search": None}
"""What the plan of a single trial leaves out: a table beside the plan's file may not be there any more."""


@dataclass(frozen=True)
class PlanOfTrial:
    """The plan of one trial as its workspace keeps it.

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
        """Load the plan with changes, each FIELD=VALUE, and with that one trial to be run.

        Raises:
            PlanError: The plan cannot be carried out with the changes, or beyond the limits.
        """
        loaded = load_text(self.text, _SOURCE, (*self.overrides, *self._own, *changes), limits)
        alone = solo_job(self.variant)
        found = [
            trial
            for trial in loaded.trials
            if trial.iteration == self.iteration
            and trial.data_size_bytes == self.data_size_bytes
            and solo_job(trial.variant) == alone
        ]
        if len(found) != 1:
            raise PlanError([Problem(Place(_SOURCE), "", "no such trial any more", "a trial of the plan")])
        return replace(loaded, trials=found)

    def within(self, field: str, values: Mapping[str, object], *, on: str = "") -> list[str]:
        """Write changes of fields inside a field, whether the plan has that as a mapping or as a name.

        Args:
            field: Dotted path of the field.
            values: Its fields to change, with their values.
            on: The preset that the name `on` stands for, where names are presets.
        """
        found = self._document.value(tuple(field.split(".")))
        if isinstance(found, dict):
            return [f"{field}.{name}={value}" for name, value in values.items()]
        named = {"preset": on if found == "on" else found} if on and found else {}
        inside = ", ".join(f"{name}: {value}" for name, value in (named | dict(values)).items())
        return [f"{field}={{{inside}}}"]

    @property
    def scale(self) -> int:
        """By what the rates of the plan are divided, and its times multiplied, in the run."""
        return int(self._document.value(("scale",)) or 1)

    @cached_property
    def _document(self) -> Document:
        return self._with((*self.overrides, *self._changes))

    def _with(self, overrides: Sequence[str]) -> Document:
        return apply_overrides(read_text(self.text, _SOURCE), overrides)

    @cached_property
    def _own(self) -> list[str]:
        """The overrides that leave one variant and one size of the plan."""
        document = self._document
        own = [*self._changes]
        own += [f"{name}={json.dumps(left)}" for name, left in _ALONE.items() if document.value((name,))]
        if document.value(("sweep",)) is not None and solo_job(self.variant) is None:
            own.append(f"sweep={{{self.size_kind}_size: {self.data_size_bytes}B}}")
        return own

    @cached_property
    def _changes(self) -> list[str]:
        """The overrides that make the plan that of the trial's variant and swept values."""
        changes = (*self._changes_of_variant().items(), *self.axes)
        return [f"{name}={json.dumps(value)}" for name, value in changes]

    def _changes_of_variant(self) -> Mapping[str, Any]:
        label = shared_variant(self.variant)
        if label == BASE_VARIANT:
            return {}
        variants: list[dict[str, Any]] = self._with(self.overrides).value(("variants",)) or []
        return next((each.get("set") for each in variants if each.get("name") == label), None) or {}
