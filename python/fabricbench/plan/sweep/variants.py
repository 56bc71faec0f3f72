"""Variants of a plan, which are compared with each other, and their checks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Name
from fabricbench.plan.sweep.labels import RESERVED_NAMES
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    from fabricbench.plan.model import Plan

VARIANT_FIELDS: Final = (
    "host",
    "fabric",
    "transport",
    "jobs",
    "tcp",
    "observe",
    "published",
    "published_note",
)
"""Fields of a plan that a variant may change; sizes, seeds and iterations are those of all variants."""
VARIANTS_MAX: Final = 1_000
"""Most variants of a plan: each is checked like a plan of its own."""
_COMMON_HINTS: Final = {
    "criteria": "a criterion has a field `variant`",
    "name": "the name of a variant stands beside `set`",
    "sweep": "all variants have the same sizes; a job may have its own `data_size`",
    "seed": "all variants have the same seeds, so that their paths compare",
}


class Variant(PlanModel):
    """The plan with some fields changed, to be run beside other variants of it."""

    name: Name = Field(description="Name of the variant, unique in the plan; neither `base` nor `solo`.")
    reference: bool = Field(
        default=False,
        description="The others are compared with this one. Default: the first variant is the reference.",
    )
    changes: dict[str, Any] = Field(
        default={},
        alias="set",
        description=(
            "Fields to change and their values, as with `-s FIELD=VALUE`: dotted paths, list items by "
            "number or name; a mapping replaces the whole field. Default: the plan as it stands."
        ),
    )


def reference_variant(variants: tuple[Variant, ...]) -> str | None:
    """Return the name of the variant that the others are compared with; none without variants."""
    marked = [variant.name for variant in variants if variant.reference]
    return next(iter([*marked, *(variant.name for variant in variants)]), None)


def check_variants(plan: "Plan") -> Iterator[FieldProblem]:
    """Check variants as far as possible before they are applied."""
    seen: dict[str, int] = {}
    reference: str | None = None
    for index, variant in enumerate(plan.variants):
        path: FieldPath = ("variants", index)
        if variant.name in seen:
            actual = f"`{variant.name}` again"
            yield FieldProblem((*path, "name"), actual, "a name no other variant has")
        if variant.name in RESERVED_NAMES:
            hint = "`base` is a plan without variants, `solo` a job alone; such as `baseline`"
            yield FieldProblem((*path, "name"), f"`{variant.name}`", "a name that has no meaning", hint)
        if variant.reference and reference is not None:
            actual = f"a second reference beside `{reference}`"
            yield FieldProblem((*path, "reference"), actual, "one reference at most")
        reference = variant.name if variant.reference else reference
        seen[variant.name] = index
        yield from _check_changes(variant, path)


def _check_changes(variant: Variant, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that each field that a variant changes is one that may differ between variants."""
    for name in variant.changes:
        root = name.partition(".")[0]
        if root not in VARIANT_FIELDS or not all(name.split(".")):
            hint = _COMMON_HINTS.get(root, "") or close_match_hint(root, VARIANT_FIELDS)
            yield FieldProblem(
                (*path, "set", name), "a field that no variant can change", ", ".join(VARIANT_FIELDS), hint
            )
