"""Checks swept fields before their values are applied: existence, duplicates, number of combinations."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import resolved
from fabricbench.plan.document.validate import field_paths
from fabricbench.plan.errors import FieldPath, PlanError, Problem, dotted
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.cases import combination_count
from fabricbench.plan.sweep.model import SIZE_FIELDS, Zip
from fabricbench.plan.sweep.variants import VARIANTS_MAX
from fabricbench.words import close_match_hint, counted, plan_value

SWEPT_FIELDS: Final = ("host", "fabric", "transport", "jobs", "tcp", "observe")
"""Fields of a plan whose parts may be swept."""
_ALLOWED: Final = f"data_size, message_size, zip, or the path of a field in {', '.join(SWEPT_FIELDS)}"
_OTHER_HINTS: Final = {
    "sweep": "a sweep is of fields that are no sweep themselves: sizes are `data_size` or `message_size`",
    "variants": "each variant runs with every swept value; sweep the field that it is about",
    "seed": "`iterations` runs with other seeds",
    "iterations": "each combination has every iteration",
    "criteria": "criteria judge every trial",
}


def check_fields(plan: Plan, document: Document) -> Iterator[Problem]:
    """Check that swept fields exist, each once, and that their combinations are not too many."""
    if plan.sweep is None:
        return
    zipped = plan.sweep.zipped
    paths: list[FieldPath] = [("sweep", name) for name in plan.sweep.fields]
    paths += [("sweep", "zip", name) for name in (zipped.fields if zipped else ())]
    problems = [problem for path in paths for problem in _check_name(path, document)]
    problems += [problem for name in plan.sweep.fields for problem in _check_values(name, document)]
    yield from problems or _check_twice(plan, paths, document)
    if zipped is not None:
        yield from _check_zip(zipped, document)
    cases = combination_count(plan.sweep) * max(1, len(plan.variants))
    if cases > VARIANTS_MAX:
        actual = counted(combination_count(plan.sweep), "combination")
        actual += f" of {counted(len(plan.variants), 'variant')}" if plan.variants else ""
        hint = "each is checked like a plan of its own; fewer values, or lists in `zip`"
        yield document.problem(("sweep",), actual, f"at most {VARIANTS_MAX}", hint)


def _check_name(path: FieldPath, document: Document) -> Iterator[Problem]:
    """Check that a path leads into a swept part of the plan; the check of its values checks the last name."""
    name = str(path[-1])
    root = name.partition(".")[0]
    if root not in SWEPT_FIELDS or not all(name.split(".")):
        yield document.problem(path, "a field that no sweep can change", _ALLOWED, _hint(name, root))
        return
    try:
        resolved(document, name, document.place(path))
    except PlanError as error:
        yield from error.problems


def _check_values(name: str, document: Document) -> Iterator[Problem]:
    """Check that each value is listed once; zipped values may repeat."""
    values = document.value(("sweep", name))
    seen: list[str] = []
    for index, value in enumerate(values if isinstance(values, list) else ()):
        text = json.dumps(value)
        if text in seen:
            actual = f"{plan_value(value)} again"
            yield document.problem(("sweep", name, index), actual, "each value once")
        seen.append(text)


def _hint(name: str, root: str) -> str:
    """Return a hint to the intended field: another mechanism, its full path, or a near name."""
    if root in _OTHER_HINTS:
        return _OTHER_HINTS[root]
    full_paths = [dotted(path) for path in field_paths() if path[0] in SWEPT_FIELDS and path[-1] == name]
    if full_paths:
        return f"write its whole path: {' or '.join(f'`{home}`' for home in dict.fromkeys(full_paths))}"
    return close_match_hint(root, SWEPT_FIELDS if "." in name else (*SIZE_FIELDS, "zip", *SWEPT_FIELDS))


def _check_twice(plan: Plan, paths: Sequence[FieldPath], document: Document) -> Iterator[Problem]:
    """Check that no field is swept twice, or set by a variant as well."""
    seen: dict[FieldPath, FieldPath] = {}
    for path in paths:
        field = resolved(document, str(path[-1]), document.place(path))
        if field in seen:
            actual = f"`{dotted(field)}`, which `{dotted(seen[field])}` sweeps too"
            yield document.problem(path, actual, "each field once")
        seen.setdefault(field, path)
        for variant in plan.variants:
            if any(_is_within(changed, field, document) for changed in variant.changes):
                actual = f"a field that variant `{variant.name}` sets as well"
                yield document.problem(path, actual, "a field that is swept, or set by variants")
                break


def _is_within(changed: str, field: FieldPath, document: Document) -> bool:
    """Whether the field that a variant changes is a swept field, or in it, and so has no effect."""
    try:
        path = resolved(document, changed, document.place(()))
    except PlanError:
        return False  # the check of the variant reports it
    return path[: len(field)] == field


def _check_zip(zipped: Zip, document: Document) -> Iterator[Problem]:
    """Check that `zip` has several lists, all of one length."""
    path: FieldPath = ("sweep", "zip")
    lists = zipped.lists
    if len(lists) < 2:
        allowed = "two lists or more, whose values change together"
        hint = "fields that are combined with all others stand beside `zip`"
        yield document.problem(path, counted(len(lists), "list"), allowed, hint)
        return
    first, *others = lists
    for name in others:
        if len(lists[name]) != len(lists[first]):
            actual = counted(len(lists[name]), "value")
            yield document.problem((*path, name), actual, f"{len(lists[first])}, as `{first}` has")
