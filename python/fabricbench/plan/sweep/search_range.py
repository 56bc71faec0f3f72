"""Range and checks of a search: the highest or lowest value of a field with which the criteria pass."""

from collections.abc import Iterator
from dataclasses import dataclass

from fabricbench.metrics import ALONE_RATIOS
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import apply_overrides, resolved
from fabricbench.plan.errors import FieldPath, PlanError, Problem, dotted
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.field_scales import Scale, openings, scale_of
from fabricbench.plan.sweep.model import HIGHEST, Written
from fabricbench.units import UnitError


@dataclass(frozen=True)
class Range:
    """The range of a search in base units.

    Attributes:
        field: The dotted path of the field.
        low: The lower end.
        high: The upper end.
        resolution: Largest final width of the bracket; 0 if only the number of steps ends the search.
        is_highest: Whether the highest value is searched.
        steps: Most halvings.
        scale: Scale that reads and writes the values.
        opening: Overrides that replace a short form by the mapping with the field.
    """

    field: str
    low: float
    high: float
    resolution: float
    is_highest: bool
    steps: int
    scale: Scale
    opening: tuple[str, ...] = ()

    def between(self, one: float, other: float) -> float | None:
        """Return the value about halfway between two; none if there is no other one.

        It is a multiple of the resolution above the lower end of the range, and valid in a plan.
        """
        middle = (one + other) / 2
        if self.resolution:
            middle = self.low + round((middle - self.low) / self.resolution) * self.resolution
        if self.scale.is_whole:
            middle = float(int(middle))
        middle = self.scale.read(self.scale.write(middle))
        return middle if min(one, other) < middle < max(one, other) else None

    def text(self, value: float) -> str:
        """Return a value as a plan writes it."""
        return self.scale.write(value)

    def at(self, value: float) -> list[str]:
        """Return the overrides that set a value and remove the search."""
        return [*self.opening, "search=null", f"{self.field}={self.text(value)}"]


def range_of(plan: "Plan", document: Document) -> Range:
    """Return the range of a plan's search.

    Raises:
        PlanError: There is no such field, it has no numbers, or the ends are not on its scale.
    """
    search = plan.search
    if search is None:
        raise AssertionError("a plan without a search has no range")
    location = document.place(("search", "field"))
    opening = openings(document, [search.field])
    scale = scale_of(apply_overrides(document, opening), search.field, location)
    if scale is None:
        actual = f"`{search.field}`, which has no numbers"
        raise PlanError([document.problem(("search", "field"), actual, "a field that has numbers")])
    low, high, resolution = (
        _read(scale, end_value, ("search", name), document)
        for name, end_value in (("from", search.low), ("to", search.high), ("resolution", search.resolution))
    )
    return Range(
        search.field, low, high, resolution, search.find == HIGHEST, search.steps, scale, tuple(opening)
    )


def _read(scale: Scale, text: Written | None, path: FieldPath, document: Document) -> float:
    if text is None:
        return 0.0
    try:
        return float(scale.read(str(text)))
    except UnitError as error:
        raise PlanError([document.problem(path, error.found, scale.allowed)]) from error


def check_search(plan: "Plan", document: Document) -> Iterator[Problem]:
    """Check that a search has a field, a range, and criteria for each trial."""
    if plan.search is None:
        return
    try:
        search_range = range_of(plan, document)
    except PlanError as error:
        yield from error.problems
        return
    if search_range.low >= search_range.high:
        allowed = f"less than `to`, {search_range.text(search_range.high)}"
        yield document.problem(("search", "from"), search_range.text(search_range.low), allowed)
    elif not 0 <= search_range.resolution < search_range.high - search_range.low:
        allowed = f"less than the range, {search_range.text(search_range.high - search_range.low)}"
        yield document.problem(("search", "resolution"), search_range.text(search_range.resolution), allowed)
    yield from _check_alone(plan, document)
    yield from _check_criteria(plan, document)


def _check_alone(plan: "Plan", document: Document) -> Iterator[Problem]:
    """Check that nothing else sets the field."""
    search = plan.search
    if search is None:
        return
    path: FieldPath = ("search", "field")
    searched_path = _path(search.field, document)
    for name in plan.sweep.names if plan.sweep else ():
        if searched_path is not None and _path(name, document) == searched_path:
            yield document.problem(
                path, f"`{dotted(searched_path)}`, which the sweep has too", "a field that is not swept"
            )
    for variant in plan.variants:
        for name in variant.changes:
            changed = _path(name, document)
            if searched_path is not None and changed is not None and _is_around(changed, searched_path):
                actual = f"`{dotted(searched_path)}`, which variant `{variant.name}` sets"
                yield document.problem(path, actual, "a field that no variant sets")


def _is_around(path: FieldPath, other: FieldPath) -> bool:
    return path == other[: len(path)] or other == path[: len(other)]


def _path(name: str, document: Document) -> FieldPath | None:
    try:
        return resolved(document, name, document.place(()))
    except PlanError:
        return None  # the check of the sweep, or of the variant, reports it


def _check_criteria(plan: "Plan", document: Document) -> Iterator[Problem]:
    """Check that every variant has a criterion, and that criteria use metrics of a single trial."""
    for index, ratio_criterion in enumerate(plan.criteria):
        if ratio_criterion.is_ratio or ratio_criterion.metric in ALONE_RATIOS:
            actual = f"{ratio_criterion.metric}, a ratio to another trial"
            yield document.problem(
                ("criteria", index, "metric"), actual, "a metric, as the plan has a search"
            )
    for name in [variant.name for variant in plan.variants] or [""]:
        if not any(criterion.variant in (None, name) for criterion in plan.criteria):
            actual = f"no criterion of variant `{name}`" if name else "a search without criteria"
            hint = "such as criteria: [{metric: frames_lost, max: 0}]"
            yield document.problem(("search",), actual, "criteria, which tell whether a value holds", hint)
