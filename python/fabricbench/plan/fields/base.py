"""Base classes of the pydantic models of a plan, and `Named`, which allows names for values of a field.

`PlanModel` is a mapping; `ShortModel` a mapping that may be written as the value of one of its fields.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_Spec = TypeVar("_Spec")
_SWITCHES = {"true": "on", "yes": "on", "false": "off", "no": "off"}


class PlanModel(BaseModel):
    """A mapping in a plan, immutable: unknown keys are errors, and no value is converted to another type.

    A field whose value has a unit carries it in its name (`timeout_ps`) and is written in a plan without
    (`timeout: 2us`).
    """

    # Validators are built for the outermost model only, when it first reads something.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    def to_spec(self, spec: type[_Spec], **others: Any) -> _Spec:
        """Return a mapping of the run spec; required fields of equal names are copied, all others are given.

        An optional field is never copied: it would change the identities of trials that were run without it.

        Args:
            spec: The mapping, a `TypedDict`.
            others: Fields that are optional, or have another name or value than in the model.
        """
        names = cast("frozenset[str]", vars(spec)["__required_keys__"]) - others.keys()
        copied = {name: getattr(self, name) for name in names if name in type(self).model_fields}
        return cast("_Spec", copied | others)


class ShortModel(PlanModel):
    """A mapping that may be written as the value of one of its fields: `400Gbps` for a link.

    Attributes:
        short_key: The field, as a plan names it.
    """

    short_key: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the mapping."""
        return data if isinstance(data, dict | cls) else {cls.short_key: data}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow the value of the field in place of the mapping."""
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        mapping = dict(schema)
        schema.clear()
        field = mapping["properties"][cls.short_key]
        short = {key: field[key] for key in ("type", "format", "pattern", "examples") if key in field}
        schema["anyOf"] = [*field.get("anyOf", [short]), mapping]
        return reference


class Named:
    """Annotates the type of a field whose value may be a name for another value.

    Attributes:
        names: The value of each name: none, a value, or a mapping of fields.
        parse: Reads a value that is not a name; without it only a mapping is allowed.
    """

    def __init__(self, names: Mapping[str, Any], parse: Callable[[object], Any] | None = None) -> None:
        self.names = dict(names)
        self.parse = parse

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read names before anything else."""
        return no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow the names as well; null is only ever written as one of them."""
        inner = handler(schema)
        forms = [form for form in inner.pop("anyOf", [inner]) if form != {"type": "null"}]
        return {"anyOf": [{"enum": list(self.names)}, *forms]}

    def read(self, value: object) -> Any:
        """Return the value of a name, or another value after parsing.

        Raises:
            UnitError: It is neither.
        """
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
        """Return a hint to the intended name: a near one, or `on` and `off` for words of other formats."""
        switch = _SWITCHES.get(str(value).lower())
        if switch in self.names:
            return f"write `{switch}`"
        return close_match_hint(value, self.names) if isinstance(value, str) else ""


def shown(value: Any) -> str:
    """Quote text and shorten everything in an error."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
