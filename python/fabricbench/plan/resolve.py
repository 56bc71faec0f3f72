"""Applies the variants of a plan: each becomes a document of its own, whose fields keep their lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fabricbench.plan.document import Document
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.model import Plan
from fabricbench.plan.overrides import Written, put
from fabricbench.plan.variant import BASE_VARIANT

_EXAMPLE = "set: {{{}: {{{}: ...}}}}"


@dataclass(frozen=True)
class VariantDocument:
    """A variant of a plan as a document.

    Attributes:
        label: Its name; `base` for a plan without variants.
        index: Its place in the plan's list.
        document: The plan's document with its changes.
        written: The document of the plan, which has the variant's own place.
    """

    label: str
    index: int
    document: Document
    written: Document

    @property
    def path(self) -> FieldPath:
        """Path of the variant in the plan."""
        return () if self.label == BASE_VARIANT else ("variants", self.index)

    @property
    def place(self) -> Place:
        """Where the variant is named."""
        return self.written.place((*self.path, "name"))

    def told(self, problem: Problem) -> Problem:
        """Say that a problem is one of this variant; what it did not write itself is shown at its name."""
        if self.label == BASE_VARIANT:
            return problem
        own = {place for path, place in self.written.places.items() if path[:2] == self.path}
        own |= {place for path, place in self.written.value_places.items() if path[:2] == self.path}
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
    for index, variant in enumerate(plan.variants):
        found = VariantDocument(variant.name, index, document, document)
        try:
            with found.telling():
                documents.append(replace(found, document=_changed(document, index)))
        except PlanError as error:
            problems.extend(error.problems)
    if problems:
        raise PlanError(problems)
    return documents


def _changed(document: Document, index: int) -> Document:
    """Return the document with every change of the variant at a place in the list applied in turn."""
    path: FieldPath = ("variants", index, "set")
    changed = document
    for name, value in (document.value(path) or {}).items():
        changed = put(changed, name.split("."), _written(document, (*path, name), value))
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
