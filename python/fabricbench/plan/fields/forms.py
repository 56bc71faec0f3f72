"""Fields that take a name in place of a value: `off`, `auto`, `alibaba`, `line-rate`."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fabricbench.plan.fields.base import PlanModel
from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_SWITCHES = {"true": "on", "yes": "on", "false": "off", "no": "off"}


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
        return core_schema.no_info_before_validator_function(self._read, handler(source))

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
