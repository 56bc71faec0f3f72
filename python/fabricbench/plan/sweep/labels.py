"""Labels of variants: what was run besides, or instead of, the plan as it stands.

A label is a path. `base` is the plan as it stands, another name a variant of it. Below either stand the
trials of one job alone: `solo/ring`, or `NAME/solo/ring` of another variant. Names hold no slash, so a label
has one reading.
"""

from typing import Final

BASE_VARIANT: Final = "base"
"""Label of the trials of a plan as it stands."""
_SOLO: Final = "solo"
RESERVED_NAMES: Final = (BASE_VARIANT, _SOLO)
"""Names that no variant of a plan may have."""


def solo_variant(variant: str, job: str) -> str:
    """Return the label of a variant's job alone."""
    return "/".join([*([] if variant == BASE_VARIANT else [variant]), _SOLO, job])


def solo_job(variant: str) -> str | None:
    """Return the job that runs alone under a label; none where all jobs run."""
    parts = variant.split("/")
    return parts[-1] if len(parts) > 1 and parts[-2] == _SOLO else None


def shared_variant(variant: str) -> str:
    """Return the label of the variant in which all jobs run, for that of a job alone as well."""
    if solo_job(variant) is None:
        return variant
    return "/".join(variant.split("/")[:-2]) or BASE_VARIANT
