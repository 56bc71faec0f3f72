"""What all models of a plan share."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema


class PlanModel(BaseModel):
    """A mapping in a plan: unknown keys are errors, and nothing changes once it is read.

    A field whose value has a unit carries it in its name (`timeout_ps`) and is written in a plan without
    (`timeout: 2us`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class ShortModel(PlanModel):
    """A mapping of which one field may be written alone, in place of the whole: `400Gbps` for a link.

    Attributes:
        short_key: The field, as a plan names it.
    """

    short_key: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _one_field_alone(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {cls.short_key: value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow the field alone beside the mapping."""
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        mapping = dict(schema)
        schema.clear()
        field = mapping["properties"][cls.short_key]
        alone = {key: field[key] for key in ("type", "format", "pattern", "examples") if key in field}
        schema["anyOf"] = [*field.get("anyOf", [alone]), mapping]
        return reference
