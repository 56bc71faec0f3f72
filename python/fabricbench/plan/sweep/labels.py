"""Labels of variants: the base plan, its variants, and single jobs of either.

A label is a path. `base` is the plan without changes, another name a variant of it. Below either are the
trials of a single job: `solo/ring`, or `NAME/solo/ring` of another variant. Names have no slash, so a label
is unambiguous.
"""

from typing import Final

BASE_VARIANT: Final = "base"
"""Label of the trials of a plan without variants."""
_SOLO: Final = "solo"
RESERVED_NAMES: Final = (BASE_VARIANT, _SOLO)
"""Names that no variant of a plan may have."""


def solo_variant(variant: str, job: str) -> str:
    """Return the label of a single job of a variant."""
    return "/".join([*([] if variant == BASE_VARIANT else [variant]), _SOLO, job])


def solo_job(variant: str) -> str | None:
    """Return the single job of a label; none if all jobs run."""
    parts = variant.split("/")
    return parts[-1] if len(parts) > 1 and parts[-2] == _SOLO else None


def shared_variant(variant: str) -> str:
    """Return the label of the variant in which all jobs run, also for the label of a single job."""
    if solo_job(variant) is None:
        return variant
    return "/".join(variant.split("/")[:-2]) or BASE_VARIANT
