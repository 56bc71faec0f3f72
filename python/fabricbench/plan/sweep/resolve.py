"""Applies the variants of a plan: each becomes a document of its own, whose fields keep their lines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.labels import BASE_VARIANT

_VARIANTS: Final = "variants"
_EXAMPLE: Final = "set: {{{}: {{{}: ...}}}}"


@dataclass(frozen=True)
class VariantDocument:
    """A variant of a plan as a document.

    Attributes:
        label: Its name; `base` for a plan without variants.
        index: Its place in the plan's list.
        document: The plan's document with its changes; the list of variants is not in it.
        written: What stands in the plan about this variant alone.
    """

    label: str
    index: int
    document: Document
    written: Document

    @property
    def path(self) -> FieldPath:
        """Path of the variant in the plan."""
        return () if self.label == BASE_VARIANT else (_VARIANTS, self.index)

    @property
    def place(self) -> Place:
        """Where the variant is named."""
        return self.written.place((*self.path, "name"))

    def told(self, problem: Problem) -> Problem:
        """Say that a problem is one of this variant; what it did not write itself is shown at its name."""
        if self.label == BASE_VARIANT:
            return problem
        own = {*self.written.places.values(), *self.written.value_places.values()}
        place = problem.place if problem.place in own else self.place
        return replace(problem, place=place, found=f"{problem.found}, in variant `{self.label}`")

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Say of every problem that the block raises that it is one of this variant."""
        try:
            yield
        except PlanError as error:
            raise PlanError(self.told(problem) for problem in error.problems) from error


def variant_documents(plan: Plan, document: Document) -> list[VariantDocument]:
    """Return a document for each variant, or the plan's own for a plan without variants.

    Raises:
        PlanError: A variant changes a list item that is not there, or a field inside a single value.
    """
    if not plan.variants:
        return [VariantDocument(BASE_VARIANT, 0, document, document)]
    documents: list[VariantDocument] = []
    problems: list[Problem] = []
    common, own = _parted(document)
    for index, variant in enumerate(plan.variants):
        found = VariantDocument(variant.name, index, common, own[index])
        try:
            with found.telling():
                documents.append(replace(found, document=_changed(found)))
        except PlanError as error:
            problems.extend(error.problems)
    if problems:
        raise PlanError(problems)
    return documents


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
        changed = put(changed, name.split("."), _written(variant.written, (*path, name), value))
    return changed


def _written(document: Document, path: FieldPath, value: object) -> Written:
    """Return a value of a variant with the places of everything in it."""

    def below(places: dict[FieldPath, Place]) -> dict[FieldPath, Place]:
        return {other[len(path) :]: at for other, at in places.items() if other[: len(path)] == path}

    return Written(
        value, document.place(path), _EXAMPLE, below(document.places), below(document.value_places)
    )


def told_once(problems: Sequence[tuple[VariantDocument, Problem]], variants: int) -> list[Problem]:
    """Return the problems of so many variants, each once: first those that all have, as the plan's own.

    What is allowed may differ between variants, as their topologies do; then it is that of one of them.
    """
    alike: dict[tuple[Place, str, str], dict[str, tuple[VariantDocument, Problem]]] = {}
    for one, problem in problems:
        alike.setdefault((problem.place, problem.field, problem.found), {})[one.label] = (one, problem)
    groups = sorted(alike.values(), key=lambda group: len(group) < variants)
    return [_told(list(group.values()), variants) for group in groups]


def _told(group: Sequence[tuple[VariantDocument, Problem]], variants: int) -> Problem:
    """Return one problem for the same in several variants, with the hint of one that has any."""
    one, problem = next((each for each in group if each[1].hint), group[0])
    if len(group) == 1:
        return one.told(problem)
    if len({each.allowed for _, each in group}) > 1:
        problem = replace(problem, allowed=f"{problem.allowed}, in variant `{one.label}`")
    if len(group) == variants:
        return problem
    labels = ", ".join(f"`{each.label}`" for each, _ in group)
    return replace(problem, found=f"{problem.found}, in variants {labels}")


def check_differences(variants: Sequence[VariantDocument], specs: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each variant that runs the same as one before it.

    Args:
        variants: The variants.
        specs: A run spec of each, of the same size and iteration, as canonical JSON.
    """
    first: dict[str, str] = {}
    for variant, spec in zip(variants, specs, strict=True):
        if spec in first:
            found = f"`{variant.label}`, which runs the same as variant `{first[spec]}`"
            hint = "`set` says what is different, such as {fabric.load_balancing.kind: spray-random}"
            yield Problem(variant.place, f"variants.{variant.index}", found, "a run of its own", hint)
        first.setdefault(spec, variant.label)
