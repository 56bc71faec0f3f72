"""Creates a document per variant and combination of swept values; merges the problems of all variants.

Each document keeps the lines of the fields. Variants that would run the same as another are reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.errors import UNKNOWN_KEY, FieldPath, Place, PlanError, Problem
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.cases import Case, Setting, combinations
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.plan.sweep.model import SIZE_FIELDS
from fabricbench.words import axes_text, counted

_VARIANTS: Final = "variants"
_EXAMPLE: Final = "set: {{{}: {{{}: ...}}}}"
_SWEPT_EXAMPLE: Final = "sweep: {{{}: [{{{}: ...}}]}}"


@dataclass(frozen=True)
class VariantDocument:
    """A variant of a plan, at one combination of the values of swept fields, as a document.

    Attributes:
        case: The variant, labelled `base` for a plan without variants, and the combination.
        index: Its position in the plan's list.
        document: The plan's document with its changes, without the lists of variants and of swept values.
        written: The plan's document with the locations of only this variant.
        swept: Location of the name of each swept field, by the location of its value here.
    """

    case: Case
    index: int
    document: Document
    written: Document
    swept: Mapping[Place, Place] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Label of the variant."""
        return self.case.variant

    @property
    def path(self) -> FieldPath:
        """Path of the variant in the plan."""
        return () if self.label == BASE_VARIANT else (_VARIANTS, self.index)

    @property
    def place(self) -> Place:
        """Location of the variant's name; in a plan without variants, of its first swept value."""
        values = list(self.swept) if self.label == BASE_VARIANT else []
        return next(iter([*values, self.written.place((*self.path, "name"))]))

    @property
    def name(self) -> str:
        """Name in problems: its variant and its swept values; empty if it has neither."""
        variant = "" if self.label == BASE_VARIANT else f"in variant `{self.label}`"
        return " ".join(part for part in (variant, self._values) if part)

    @property
    def _values(self) -> str:
        return f"with {axes_text(self.case.axes)}" if self.case.axes else ""

    @property
    def is_plan(self) -> bool:
        """Whether it is the base plan, without variant and swept values."""
        return self.label == BASE_VARIANT and not self.swept

    def named(self, problem: Problem) -> Problem:
        """Return a problem with the name of this variant; outside its own fields, at the variant's name."""
        if self.is_plan:
            return problem
        own_locations = {*self.swept, *self.written.places.values(), *self.written.value_places.values()}
        location = problem.place if problem.place in own_locations else self.place
        return replace(problem, place=location, found=f"{problem.found}, {self.name}")

    def at_name(self, problem: Problem) -> Problem:
        """Return the problem of an unknown field at the name of the swept field, not at its values."""
        names = [name for name, _ in self.case.axes]
        is_name = problem.found == UNKNOWN_KEY and any(
            f"{name}.".startswith(f"{problem.field}.") for name in names
        )
        return replace(problem, place=self.swept.get(problem.place, problem.place)) if is_name else problem

    @contextmanager
    def naming_problems(self) -> Iterator[None]:
        """Add the name of this variant to every problem that the block raises."""
        try:
            yield
        except PlanError as error:
            raise PlanError(self.named(problem) for problem in error.problems) from error


def variant_documents(plan: Plan, document: Document) -> list[VariantDocument]:
    """Return a document for each variant at each combination, or the plan's own for a plan without either.

    Raises:
        PlanError: A variant or the sweep changes a list item that does not exist, or a field inside a single
            value.
    """
    documents: list[VariantDocument] = []
    problems: list[Problem] = []
    swept_combinations = _Combinations(plan, document)
    for variant in _variants(plan, document):
        try:
            with variant.naming_problems():
                changed = replace(variant, document=_changed(variant))
            documents += swept_combinations.of(changed)
        except PlanError as error:
            problems.extend(error.problems)
    if problems:
        raise PlanError(problems)
    return documents


class _Combinations:
    """The combinations of a plan's swept values, to be applied to each variant."""

    def __init__(self, plan: Plan, document: Document) -> None:
        has_fields = plan.sweep is not None and bool(plan.sweep.names)
        self._all = list(combinations(plan.sweep)) if has_fields else []
        self._document = document
        paths = {setting.path for chosen in self._all for setting in chosen}
        self._values = {path: _swept(document, path) for path in paths}

    def of(self, variant: VariantDocument) -> Iterator[VariantDocument]:
        """Yield a variant at each combination; the variant itself if no field is swept.

        Raises:
            PlanError: A swept field is inside a list item that does not exist, or inside a single value.
        """
        if not self._all:
            yield variant
        for number, settings in enumerate(self._all):
            axes = tuple((setting.name, setting.value) for setting in settings if not setting.is_size)
            swept = {
                self._values[setting.path].place: self._document.place(setting.path[:-1])
                for setting in settings
            }
            combination = replace(variant, case=Case(variant.label, number, axes), swept=swept)
            with combination.naming_problems():
                yield replace(combination, document=self._applied(variant.document, settings))

    def _applied(self, document: Document, settings: Sequence[Setting]) -> Document:
        """Return a document with each field set, and a sweep of only sizes."""
        sizes = {name: value for name, value in document.data["sweep"].items() if name in SIZE_FIELDS}
        other_fields = {name: value for name, value in document.data.items() if name != "sweep"}
        document = replace(document, data={**other_fields, "sweep": sizes} if sizes else other_fields)
        for setting in settings:
            parts = ["sweep", setting.name] if setting.is_size else setting.name.split(".")
            document = put(document, parts, self._values[setting.path])
        return document


def _swept(document: Document, path: FieldPath) -> Written:
    """Return one of the values of a swept field, which may be a single value without a list."""
    value_path = path if isinstance(document.value(path[:-1]), list) else path[:-1]
    return _written(document, value_path, document.value(value_path), _SWEPT_EXAMPLE)


def _variants(plan: Plan, document: Document) -> Iterator[VariantDocument]:
    """Yield each variant with the common part of the plan as its document."""
    if not plan.variants:
        yield VariantDocument(Case(BASE_VARIANT), 0, document, document)
        return
    common, own = _split_variants(document)
    for index, variant in enumerate(plan.variants):
        yield VariantDocument(Case(variant.name), index, common, own[index])


def _split_variants(document: Document) -> tuple[Document, list[Document]]:
    """Return a document without its variants, and one for each variant with only its locations.

    The cost of a variant then depends on the plan and on the variant, not on the number of variants.
    """
    count = len(document.data[_VARIANTS])
    places, own_places = _split_places(document.places, count)
    value_places, own_value_places = _split_places(document.value_places, count)
    data = {key: value for key, value in document.data.items() if key != _VARIANTS}
    common = replace(document, data=data, places=places, value_places=value_places)
    own_documents = zip(own_places, own_value_places, strict=True)
    return common, [
        replace(document, places=key_locations, value_places=value_locations)
        for key_locations, value_locations in own_documents
    ]


def _split_places(
    places: Mapping[FieldPath, Place], count: int
) -> tuple[dict[FieldPath, Place], list[dict[FieldPath, Place]]]:
    """Return the locations outside the variants, and those of each variant."""
    common: dict[FieldPath, Place] = {}
    own_locations: list[dict[FieldPath, Place]] = [{} for _ in range(count)]
    for path, place in places.items():
        if path[:1] != (_VARIANTS,):
            common[path] = place
        elif len(path) > 1:
            own_locations[int(path[1])][path] = place
    return common, own_locations


def _changed(variant: VariantDocument) -> Document:
    """Return a variant's document with its changes applied in order."""
    path: FieldPath = (*variant.path, "set")
    changed = variant.document
    for name, value in (variant.written.value(path) or {}).items():
        changed = put(changed, name.split("."), _written(variant.written, (*path, name), value, _EXAMPLE))
    return changed


def _written(document: Document, path: FieldPath, value: object, example: str) -> Written:
    """Return a value of the plan with the locations of everything in it."""

    def below_path(places: dict[FieldPath, Place]) -> dict[FieldPath, Place]:
        return {
            other[len(path) :]: location for other, location in places.items() if other[: len(path)] == path
        }

    places, value_places = below_path(document.places), below_path(document.value_places)
    return Written(value, document.place(path), example, places, value_places)


_VariantProblem = tuple[VariantDocument, Problem]


def merged_problems(
    problems: Sequence[_VariantProblem], documents: Sequence[VariantDocument]
) -> list[Problem]:
    """Return the problems of variants without duplicates: first those that all have, as the plan's own.

    A problem of every combination with a swept value is a problem of that value.

    The allowed values may differ between variants, as their topologies do; then those of one are reported.

    Args:
        problems: Each with the variant that has it.
        documents: All variants.
    """
    equal_problems: dict[tuple[Place, str, str], dict[Case, _VariantProblem]] = {}
    for variant, raw_problem in problems:
        problem = variant.at_name(raw_problem)
        equal_problems.setdefault((problem.place, problem.field, problem.found), {})[variant.case] = (
            variant,
            problem,
        )
    groups = [
        (list(group.values()), _reach(location, documents))
        for (location, _, _), group in equal_problems.items()
    ]
    groups.sort(key=lambda group_and_reach: len(group_and_reach[0]) < group_and_reach[1])
    return [_merged_problem(group, reach) for group, reach in groups]


def _reach(location: Place, documents: Sequence[VariantDocument]) -> int:
    """Return the number of variants that have a location: those with its swept value, or all."""
    return sum(location in variant.swept for variant in documents) or len(documents)


def _merged_problem(group: Sequence[_VariantProblem], reach: int) -> Problem:
    """Merge equal problems of several variants into one, with the hint of one that has a hint."""
    variant, problem = next((member for member in group if member[1].hint), group[0])
    is_of_all = len(group) == reach
    if len(group) == 1 and not (is_of_all and problem.place in variant.swept):
        return variant.named(problem)
    if len({member.allowed for _, member in group}) > 1:
        problem = replace(problem, allowed=f"{problem.allowed}, {variant.name}")
    if is_of_all:
        return problem
    if variant.swept:
        others = counted(len(group) - 1, "other combination")
        return replace(variant.named(problem), found=f"{problem.found}, {variant.name} and {others}")
    labels = ", ".join(f"`{member.label}`" for member, _ in group)
    return replace(problem, found=f"{problem.found}, in variants {labels}")


def check_differences(variants: Sequence[VariantDocument], specs: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each variant with the same run spec as an earlier one.

    Args:
        variants: The variants.
        specs: A run spec of each, of the same size and iteration, as canonical JSON.
    """
    first: dict[str, VariantDocument] = {}
    reported_locations: set[Place] = set()
    for variant, spec in zip(variants, specs, strict=True):
        if spec in first and (problem := _equal_run(variant, first[spec])).place not in reported_locations:
            reported_locations.add(problem.place)
            yield problem
        first.setdefault(spec, variant)


def _equal_run(one: VariantDocument, other: VariantDocument) -> Problem:
    """Return the problem of a variant, or a combination, with the same run spec as another one."""
    if one.label != other.label:
        actual = f"`{one.label}`, which runs the same as variant `{other.label}`"
        hint = "`set` says what is different, such as {fabric.load_balancing.kind: spray-random}"
        return Problem(one.place, f"variants.{one.index}", actual, "a run of its own", hint)
    values, others = (axes_text(each.case.axes) for each in (one, other))
    actual = f"{values}, which runs the same as {others}"
    location = next((at for at in one.swept if at not in other.swept), one.place)
    return Problem(location, "sweep", actual, "a run of its own", "leave out values that change nothing")
