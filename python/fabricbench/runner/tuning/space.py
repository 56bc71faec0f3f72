"""The search space: fields of plans with ranges or choices; loads plans with a value for each (a point)."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log
from typing import Any, Final

from fabricbench.plan.document.overrides import apply_overrides, resolved
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.load import document_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.field_scales import Scale, openings, scale_of, value_of
from fabricbench.runner import loading
from fabricbench.runner.messages import TuningError

TAG: Final = "tune"
"""Tag of the trials at points, unless their plan has another."""

Point = Mapping[str, str]
"""A value for each field, as written in a plan."""

_FORM: Final = "FIELD=LOW..HIGH, with :STEP if wanted, or FIELD=A|B|C"
_LOG_RATIO_MIN: Final = 10
"""Ratio of the ends of a range above which it is searched by its logarithm."""
_PROBES: Final = 200
"""Points checked before a space is considered to have no valid plan."""
_CHOICE_PROBES: Final = 40
"""The same for a single choice."""
_STEP_TOLERANCE: Final = 1e-9
"""Tolerance for a whole number of steps."""
_END_FRACTION: Final = 0.05
"""Fraction of a range that counts as its end."""
_ONE_SEED: Final = ("iterations=1",)
_REPORTED_MAX: Final = 3
"""Largest number of fields whose problems are reported."""


@dataclass(frozen=True)
class Choices:
    """A field with a list of possible values.

    Attributes:
        field: Its dotted path.
        values: The values, as written in a plan.
    """

    field: str
    values: tuple[str, ...]

    def distribution(self) -> Any:
        """Return the choice as an Optuna distribution."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def text(self, suggested: Any) -> str:
        """Return the plan value of a suggestion."""
        return str(suggested)

    def shown(self, shipped: Any) -> str:
        """Return the text of a shipped plan's value; empty if it is unknown."""
        return "" if shipped is None else str(shipped)

    def near(self, shipped: Any) -> str:
        """Return the choice that equals the shipped plan's value, or else the first."""
        return next((value for value in self.values if value == str(shipped)), self.values[0])

    def drawn(self, draw: random.Random) -> str:
        """Draw a value."""
        return draw.choice(self.values)

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last value."""
        return self.values[0], self.values[-1]


@dataclass(frozen=True)
class Range:
    """A field with a range of numbers.

    Attributes:
        field: Its dotted path.
        scale: Conversion between its values and text.
        low: The smallest value, in base units.
        high: The largest value.
        step: Step between values, from the smallest; None for any value in the range.
    """

    field: str
    scale: Scale
    low: float
    high: float
    step: float | None

    @property
    def is_log(self) -> bool:
        """Whether it is searched by its logarithm."""
        return self.step is None and self.low > 0 and self.high > _LOG_RATIO_MIN * self.low

    def distribution(self) -> Any:
        """Return the range as an Optuna distribution."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.scale.is_whole:
            low, high = int(self.low), int(self.high)
            return IntDistribution(low, high, log=self.is_log, step=int(self.step or 1))
        return FloatDistribution(self.low, self.high, log=self.is_log, step=self.step)

    def text(self, suggested: float) -> str:
        """Return the plan value of a suggestion, rounded to few digits if the range has no step."""
        value = suggested
        if self.step is None:
            value = min(max(self.scale.rounded(suggested), self.low), self.high)
        return self.scale.write(value)

    def shown(self, shipped: Any) -> str:
        """Return the text of a shipped plan's value; empty if it is unknown."""
        return self.scale.write(shipped) if isinstance(shipped, int | float) else ""

    def near(self, shipped: Any) -> float:
        """Return the suggestion nearest to the shipped plan's value."""
        if not isinstance(shipped, int | float):
            return self.low
        value = min(max(shipped, self.low), self.high)
        if self.step is not None:
            value = self.low + self.step * round((value - self.low) / self.step)
        return int(value) if self.scale.is_whole else value

    def is_at_end(self, value: str) -> bool:
        """Return whether a value is in the outermost twentieth of the range."""
        if self.low == self.high:
            return False
        position = log if self.is_log else float
        fraction = (position(self.scale.read(value)) - position(self.low)) / (
            position(self.high) - position(self.low)
        )
        return not _END_FRACTION < fraction < 1 - _END_FRACTION

    def drawn(self, draw: random.Random) -> str:
        """Draw a value."""
        if self.step is not None:
            value = self.low + self.step * draw.randint(0, round((self.high - self.low) / self.step))
        elif self.is_log:
            value = self.low * (self.high / self.low) ** draw.random()
        else:
            value = draw.uniform(self.low, self.high)
        return self.text(round(value) if self.scale.is_whole else value)

    @property
    def ends(self) -> tuple[str, str]:
        """The smallest and the largest value."""
        return self.scale.write(self.low), self.scale.write(self.high)


@dataclass(frozen=True)
class Space:
    """The fields of a search and the plans that they apply to.

    Attributes:
        plans: The plans as shipped.
        fields: The fields to search.
        opened: For each plan, the overrides that make these fields settable.
        limits: Limits on the cost of a trial; None for no limits.
    """

    plans: tuple[LoadedPlan, ...]
    fields: tuple[Range | Choices, ...]
    opened: tuple[tuple[str, ...], ...]
    limits: Limits | None = None

    def distributions(self) -> dict[str, Any]:
        """Return the space as Optuna distributions."""
        return {field.field: field.distribution() for field in self.fields}

    def _shipped(self) -> dict[str, Any]:
        """Return the value of each field in the first plan, in base units; None if unknown."""
        plan = self.plans[0]
        document = apply_overrides(document_of(plan), self.opened[0])
        paths = {field.field: resolved(document, field.field, Place("")) for field in self.fields}
        return {field: value_of(plan, path) for field, path in paths.items()}

    def shipped(self) -> Point:
        """Return the values of the first plan as shipped, as text."""
        values = self._shipped()
        return {field.field: field.shown(values[field.field]) for field in self.fields}

    def first(self) -> dict[str, Any]:
        """Return the suggestion nearest to the first plan as shipped."""
        values = self._shipped()
        return {field.field: field.near(values[field.field]) for field in self.fields}

    def point(self, suggested: Mapping[str, Any]) -> Point:
        """Return the point of a suggestion."""
        return {field.field: field.text(suggested[field.field]) for field in self.fields}

    def overrides(self, number: int, point: Point) -> list[str]:
        """Return the changes of a point to a plan, in the form of `run -s`."""
        return [*self.opened[number], *(f"{field}={value}" for field, value in point.items())]

    def at(self, point: Point, more: Sequence[str] = ()) -> tuple[LoadedPlan, ...]:
        """Return the plans at a point, with more overrides.

        Raises:
            PlanError: One of them cannot run there, or not within the limits.
        """
        return tuple(
            loading.reload(
                plan,
                [*self.overrides(number, point), f"tag={json.dumps(plan.plan.tag or TAG)}", *more],
                self.limits,
            )
            for number, plan in enumerate(self.plans)
        )


def space_of(plans: Sequence[LoadedPlan], searches: Sequence[str], limits: Limits | None = None) -> Space:
    """Return the space of `--search` options over some plans, with limits on the cost of each trial.

    Raises:
        PlanError: A field or its values are invalid, or no plan of the space can run.
        TuningError: No point changes the run.
    """
    searched_fields = [_split(search) for search in searches]
    names = [field for field, _ in searched_fields]
    for field in names:
        if names.count(field) > 1:
            raise _refused(f"{field}=...", field, "the field twice", "each field once")
    documents = [document_of(plan) for plan in plans]
    opened = [tuple(openings(document, names)) for document in documents]
    opened_documents = [
        apply_overrides(document, overrides) for document, overrides in zip(documents, opened, strict=True)
    ]
    fields = []
    for field, values in searched_fields:
        option = Place(f"--search {field}={values}")
        scales = [scale_of(opened_document, field, option) for opened_document in opened_documents]
        fields.append(_field_of(field, values, scales[0]))
    space = Space(tuple(plans), tuple(fields), tuple(opened), limits)
    _check_space(space)
    return space


def _split(search: str) -> tuple[str, str]:
    field, equals, values = (part.strip() for part in search.partition("="))
    if not equals or not values or not all(field.split(".")):
        raise _refused(search, "", "no field and values", _FORM)
    return field, values


def _field_of(field: str, values: str, scale: Scale | None) -> Range | Choices:
    search = f"{field}={values}"
    if ".." not in values:
        choices = tuple(dict.fromkeys(choice.strip() for choice in values.split("|")))
        return Choices(field, choices)
    if scale is None:
        hint = "separate choices by |"
        raise _refused(search, field, "a range", "choices, as this field takes no numbers", hint)
    low, high, step = _numbers(search, field, values, scale)
    if low > high:
        raise _refused(search, field, f"{scale.write(low)}..{scale.write(high)}", "the least value first")
    if step is not None:
        if not 0 < step <= high - low:
            raise _refused(search, field, "a step beyond the range", "a step from the least to the largest")
        high = low + step * floor((high - low) / step + _STEP_TOLERANCE)  # the last step within the range
    return Range(field, scale, low, high, step)


def _numbers(search: str, field: str, values: str, scale: Scale) -> tuple[float, float, float | None]:
    low, _, high_and_step = values.partition("..")
    high, _, step = high_and_step.partition(":")
    try:
        numbers = [scale.read(number.strip()) for number in (low, high, *([step] if step else ()))]
    except ValueError as error:
        problem, allowed = getattr(error, "found", low), getattr(error, "allowed", scale.allowed)
        raise _refused(search, field, problem, allowed, getattr(error, "hint", "")) from error
    return numbers[0], numbers[1], numbers[2] if step else None


def _refused(search: str, field: str, problem: str, allowed: str, hint: str = "") -> PlanError:
    return PlanError([Problem(Place(f"--search {search}"), field, problem, allowed, hint)])


def _check_space(space: Space) -> None:
    """Check that there are valid points, also with each choice, and that they are not all the same run."""
    specs: set[str] = set()
    errors: list[PlanError] = []
    untried = {
        (field.field, choice)
        for field in space.fields
        if isinstance(field, Choices)
        for choice in field.values
    }
    for probe in _probes(space.fields):
        try:
            plans = space.at(probe, _ONE_SEED)
        except PlanError as error:
            errors.append(error)
        else:
            specs.add(json.dumps([plan.trials[-1].spec_json for plan in plans]))
            untried -= set(probe.items())
        if len(specs) > 1 and not untried:
            return
    if not specs:
        raise _no_valid_plan("", "a space that holds no valid plan", errors)
    for field, choice in sorted(untried):
        _check_choice(space, field, choice)
    if len(specs) == 1:
        text = "every point of the search space is the same run"
        raise TuningError(text, "search fields that plans do not sweep or set in variants, over more values")


def _check_choice(space: Space, field: str, value: str) -> None:
    """Check that a choice gives a valid plan with some values of the other fields."""
    errors = []
    fields = [Choices(field, (value,)) if other.field == field else other for other in space.fields]
    for probe in itertools.islice(_probes(fields), _CHOICE_PROBES):
        try:
            space.at(probe, _ONE_SEED)
        except PlanError as error:
            errors.append(error)
        else:
            return
    raise _no_valid_plan(f"{field}={value}", "a choice with which no plan is valid", errors)


def _probes(fields: Sequence[Range | Choices]) -> Iterator[Point]:
    """Yield points of a space: corners up to a limit, then random points."""
    names = [field.field for field in fields]
    corners = itertools.product(*(dict.fromkeys(field.ends) for field in fields))
    for corner in itertools.islice(corners, _PROBES // 4):
        yield dict(zip(names, corner, strict=True))
    draw = random.Random(0)
    random_points = (
        {field.field: field.drawn(draw) for field in fields} for _ in range(_PROBES - _PROBES // 4)
    )
    yield from {tuple(point.items()): point for point in random_points}.values()


def _no_valid_plan(field: str, problem_text: str, errors: Sequence[PlanError]) -> PlanError:
    """Return an error with the problems found at the points that were checked."""
    option = Place(f"--search {field}" if field else "--search")
    summary = Problem(
        option, "", f"{problem_text} ({len(errors)} points tried)", "a space with valid plans in it"
    )
    problem_by_field = {problem.field: problem for error in reversed(errors) for problem in error.problems}
    return PlanError([summary, *list(problem_by_field.values())[:_REPORTED_MAX]])
