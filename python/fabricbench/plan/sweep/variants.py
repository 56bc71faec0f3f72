"""Variants of a plan: changed fields of each, and the reference with which the others are compared."""

from typing import Any, Final

from pydantic import Field

from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Name

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


class Variant(PlanModel):
    """The plan with some fields changed, compared with other variants of it."""

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
