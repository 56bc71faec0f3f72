"""What all models of a plan share."""

from pydantic import BaseModel, ConfigDict


class PlanModel(BaseModel):
    """A mapping in a plan: unknown keys are errors, and nothing changes once it is read.

    A field whose value has a unit carries it in its name (`timeout_ps`) and is written in a plan without
    (`timeout: 2us`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
