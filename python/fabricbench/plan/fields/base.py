"""What all models of a plan share: how they are read, and the short forms that a field may have."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_SWITCHES = {"true": "on", "yes": "on", "false": "off", "no": "off"}


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


class Named:
    """Marks the type of a field whose value may be a name that stands for something.

    Attributes:
        names: What each name stands for: none, a value, or a mapping of fields.
        parse: Reads what is no name; without it only a mapping may stand there.
    """

    def __init__(self, names: Mapping[str, Any], parse: Callable[[object], Any] | None = None) -> None:
        self.names = dict(names)
        self.parse = parse

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read names before anything else."""
        return no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow the names beside the values; null is only ever written as one of them."""
        inner = handler(schema)
        forms = [form for form in inner.pop("anyOf", [inner]) if form != {"type": "null"}]
        return {"anyOf": [{"enum": list(self.names)}, *forms]}

    def _read(self, value: object) -> Any:
        if isinstance(value, str) and value in self.names:
            return self.names[value]
        names = ", ".join(self.names)
        if self.parse is None:
            if isinstance(value, dict | PlanModel):
                return value
            raise UnitError(describe(value), f"{names}, or a mapping of fields", self._hint(value))
        try:
            return self.parse(value)
        except UnitError as error:
            raise UnitError(error.found, f"{names}, or {error.allowed}", error.hint) from error

    def _hint(self, value: object) -> str:
        """Return the name that was meant: a near one, or `on` and `off` of what other formats write so."""
        switch = _SWITCHES.get(str(value).lower())
        if switch in self.names:
            return f"write `{switch}`"
        return close_match_hint(value, self.names) if isinstance(value, str) else ""


def shown(value: Any) -> str:
    """Quote text and shorten everything in an error."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
