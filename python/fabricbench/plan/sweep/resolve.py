"""Applies the variants and the sweep of a plan.

Each variant at each combination of swept values becomes a document of its own, whose fields keep their lines.
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
        index: Its place in the plan's list.
        document: The plan's document with its changes, without the lists of variants and of swept values.
        written: What stands in the plan about this variant alone.
        swept: Where the name of each swept field stands, by the place of its value here.
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
        """Where the variant is named; of a plan without variants where its first swept value stands."""
        values = list(self.swept) if self.label == BASE_VARIANT else []
        return next(iter([*values, self.written.place((*self.path, "name"))]))

    @property
    def name(self) -> str:
        """What it is called in a problem: by its variant and its swept values; empty if it has neither."""
        variant = "" if self.label == BASE_VARIANT else f"in variant `{self.label}`"
        return " ".join(part for part in (variant, self._values) if part)

    @property
    def _values(self) -> str:
        return f"with {axes_text(self.case.axes)}" if self.case.axes else ""

    @property
    def is_plan(self) -> bool:
        """Whether it is the plan as it stands."""
        return self.label == BASE_VARIANT and not self.swept

    def told(self, problem: Problem) -> Problem:
        """Say that a problem is one of this variant; what it did not write itself is shown at its name."""
        if self.is_plan:
            return problem
        own = {*self.swept, *self.written.places.values(), *self.written.value_places.values()}
        place = problem.place if problem.place in own else self.place
        return replace(problem, place=place, found=f"{problem.found}, {self.name}")

    def at_name(self, problem: Problem) -> Problem:
        """Show that there is no such field at the name of the swept field, not at each of its values."""
        names = [name for name, _ in self.case.axes]
        is_name = problem.found == UNKNOWN_KEY and any(
            f"{name}.".startswith(f"{problem.field}.") for name in names
        )
        return replace(problem, place=self.swept.get(problem.place, problem.place)) if is_name else problem

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Say of every problem that the block raises that it is one of this variant."""
        try:
            yield
        except PlanError as error:
            raise PlanError(self.told(problem) for problem in error.problems) from error


def variant_documents(plan: Plan, document: Document) -> list[VariantDocument]:
    """Return a document for each variant at each combination, or the plan's own for a plan without either.

    Raises:
        PlanError: A variant or the sweep changes a list item that is not there, or a field inside a single
            value.
    """
    documents: list[VariantDocument] = []
    problems: list[Problem] = []
    chosen = _Combinations(plan, document)
    for one in _variants(plan, document):
        try:
            with one.telling():
                changed = replace(one, document=_changed(one))
            documents += chosen.of(changed)
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
        """Yield a variant at each combination; itself where nothing is swept.

        Raises:
            PlanError: A swept field is inside a list item that is not there, or inside a single value.
        """
        if not self._all:
            yield variant
        for number, settings in enumerate(self._all):
            axes = tuple((each.name, each.value) for each in settings if not each.is_size)
            swept = {self._values[each.path].place: self._document.place(each.path[:-1]) for each in settings}
            one = replace(variant, case=Case(variant.label, number, axes), swept=swept)
            with one.telling():
                yield replace(one, document=self._applied(variant.document, settings))

    def _applied(self, document: Document, settings: Sequence[Setting]) -> Document:
        """Return a document with each field set, and of the sweep nothing but sizes."""
        sizes = {name: value for name, value in document.data["sweep"].items() if name in SIZE_FIELDS}
        left = {name: value for name, value in document.data.items() if name != "sweep"}
        document = replace(document, data={**left, "sweep": sizes} if sizes else left)
        for each in settings:
            parts = ["sweep", each.name] if each.is_size else each.name.split(".")
            document = put(document, parts, self._values[each.path])
        return document


def _swept(document: Document, path: FieldPath) -> Written:
    """Return one of the values of a swept field, which may be its only one and in no list."""
    at = path if isinstance(document.value(path[:-1]), list) else path[:-1]
    return _written(document, at, document.value(at), _SWEPT_EXAMPLE)


def _variants(plan: Plan, document: Document) -> Iterator[VariantDocument]:
    """Yield each variant with what all have in common as its document."""
    if not plan.variants:
        yield VariantDocument(Case(BASE_VARIANT), 0, document, document)
        return
    common, own = _parted(document)
    for index, variant in enumerate(plan.variants):
        yield VariantDocument(Case(variant.name), index, common, own[index])


def _parted(document: Document) -> tuple[Document, list[Document]]:
    """Return a document without its variants, and one for each of these with the places of it alone.

    What a variant costs then depends on the plan and on the variant, not on how many others there are.
    """
    count = len(document.data[_VARIANTS])
    places, own_places = _parted_places(document.places, count)
    value_places, own_value_places = _parted_places(document.value_places, count)
    data = {key: value for key, value in document.data.items() if key != _VARIANTS}
    common = replace(document, data=data, places=places, value_places=value_places)
    own = zip(own_places, own_value_places, strict=True)
    return common, [replace(document, places=at, value_places=value_at) for at, value_at in own]


def _parted_places(
    places: Mapping[FieldPath, Place], count: int
) -> tuple[dict[FieldPath, Place], list[dict[FieldPath, Place]]]:
    """Return the places outside the variants, and those of each variant."""
    common: dict[FieldPath, Place] = {}
    own: list[dict[FieldPath, Place]] = [{} for _ in range(count)]
    for path, place in places.items():
        if path[:1] != (_VARIANTS,):
            common[path] = place
        elif len(path) > 1:
            own[int(path[1])][path] = place
    return common, own


def _changed(variant: VariantDocument) -> Document:
    """Return a variant's document with every change of it applied in turn."""
    path: FieldPath = (*variant.path, "set")
    changed = variant.document
    for name, value in (variant.written.value(path) or {}).items():
        changed = put(changed, name.split("."), _written(variant.written, (*path, name), value, _EXAMPLE))
    return changed


def _written(document: Document, path: FieldPath, value: object, example: str) -> Written:
    """Return a value that stands in the plan with the places of everything in it."""

    def below(places: dict[FieldPath, Place]) -> dict[FieldPath, Place]:
        return {other[len(path) :]: at for other, at in places.items() if other[: len(path)] == path}

    places, value_places = below(document.places), below(document.value_places)
    return Written(value, document.place(path), example, places, value_places)


_Told = tuple[VariantDocument, Problem]


def told_once(problems: Sequence[_Told], documents: Sequence[VariantDocument]) -> list[Problem]:
    """Return the problems of variants, each once: first those that all have, as the plan's own.

    What is wrong with a swept value in every combination that has it is that of the value.

    What is allowed may differ between variants, as their topologies do; then it is that of one of them.

    Args:
        problems: Each with the variant that has it.
        documents: All variants.
    """
    alike: dict[tuple[Place, str, str], dict[Case, _Told]] = {}
    for one, found in problems:
        problem = one.at_name(found)
        alike.setdefault((problem.place, problem.field, problem.found), {})[one.case] = (one, problem)
    groups = [(list(group.values()), _reach(place, documents)) for (place, _, _), group in alike.items()]
    groups.sort(key=lambda each: len(each[0]) < each[1])
    return [_told(group, reach) for group, reach in groups]


def _reach(place: Place, documents: Sequence[VariantDocument]) -> int:
    """Return how many variants have what stands at a place: those with a swept value, or all."""
    return sum(place in one.swept for one in documents) or len(documents)


def _told(group: Sequence[_Told], reach: int) -> Problem:
    """Return one problem for the same in several variants, with the hint of one that has any."""
    one, problem = next((each for each in group if each[1].hint), group[0])
    is_of_all = len(group) == reach
    if len(group) == 1 and not (is_of_all and problem.place in one.swept):
        return one.told(problem)
    if len({each.allowed for _, each in group}) > 1:
        problem = replace(problem, allowed=f"{problem.allowed}, {one.name}")
    if is_of_all:
        return problem
    if one.swept:
        others = counted(len(group) - 1, "other combination")
        return replace(one.told(problem), found=f"{problem.found}, {one.name} and {others}")
    labels = ", ".join(f"`{each.label}`" for each, _ in group)
    return replace(problem, found=f"{problem.found}, in variants {labels}")


def check_differences(variants: Sequence[VariantDocument], specs: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each variant that runs the same as one before it.

    Args:
        variants: The variants.
        specs: A run spec of each, of the same size and iteration, as canonical JSON.
    """
    first: dict[str, VariantDocument] = {}
    places: set[Place] = set()
    for variant, spec in zip(variants, specs, strict=True):
        if spec in first and (problem := _same(variant, first[spec])).place not in places:
            places.add(problem.place)
            yield problem
        first.setdefault(spec, variant)


def _same(one: VariantDocument, other: VariantDocument) -> Problem:
    """Say that a variant, or a combination, runs the same as another one."""
    if one.label != other.label:
        found = f"`{one.label}`, which runs the same as variant `{other.label}`"
        hint = "`set` says what is different, such as {fabric.load_balancing.kind: spray-random}"
        return Problem(one.place, f"variants.{one.index}", found, "a run of its own", hint)
    values, others = (axes_text(each.case.axes) for each in (one, other))
    found = f"{values}, which runs the same as {others}"
    place = next((at for at in one.swept if at not in other.swept), one.place)
    return Problem(place, "sweep", found, "a run of its own", "leave out values that change nothing")
