"""Fields that take a name in place of a value: `off`, `auto`, `alibaba`, `line-rate`."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fabricbench.plan.base import PlanModel
from fabricbench.units import UnitError, describe


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
            close = get_close_matches(value, self.names, n=1) if isinstance(value, str) else []
            hint = f"did you mean `{close[0]}`?" if close else ""
            raise UnitError(describe(value), f"{names}, or a mapping of fields", hint)
        try:
            return self.parse(value)
        except UnitError as error:
            raise UnitError(error.found, f"{names}, or {error.allowed}", error.hint) from error
