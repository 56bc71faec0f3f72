"""How the fields of a plan are declared: what each may be, in the words of pydantic.

`readers` makes of it what reads a valid plan. Where a plan is refused, and for the JSON Schema, `judge` makes
models of pydantic of the same declarations. Loading pydantic, and building its validators, takes a third of
the smallest run, so a plan that is right does without.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack


class FieldOptions(TypedDict, total=False):
    """What `Field` takes; each means what it means to pydantic."""

    default: Any
    default_factory: Callable[[], Any]
    validate_default: bool
    alias: str
    description: str
    strict: bool
    ge: float
    gt: float
    le: float
    lt: float
    min_length: int
    max_length: int
    pattern: str
    allow_inf_nan: bool
    discriminator: str
    json_schema_extra: dict[str, Any]


class FieldInfo:
    """What a field, or a value within it, may be.

    Attributes:
        options: As given.
        annotation: The type of the field; none where it belongs to a value within one.
    """

    __slots__ = ("annotation", "options")

    def __init__(self, options: Mapping[str, Any], annotation: Any = None) -> None:
        self.options = options
        self.annotation = annotation

    @property
    def alias(self) -> str | None:
        """Its name in a plan, where that is another."""
        return self.options.get("alias")

    @property
    def description(self) -> str | None:
        """What it means."""
        return self.options.get("description")


def Field(**options: Unpack[FieldOptions]) -> Any:  # noqa: N802 -- declares as pydantic does
    """Declare a field of a model, or within `Annotated` what a value may be."""
    return FieldInfo(options)


class BeforeValidator:
    """Reads a value before its type is looked at; a `ValueError` refuses it."""

    __slots__ = ("input_type", "read")

    def __init__(self, read: Callable[[Any], Any], json_schema_input_type: Any = None) -> None:
        self.read = read
        self.input_type = json_schema_input_type


class AfterValidator:
    """Reads a value of the right type; a `ValueError` refuses it."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read


class WithJsonSchema:
    """Gives the JSON Schema of a value."""

    __slots__ = ("schema",)

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema


class Tag:
    """Names one of several forms."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Discriminator:
    """Tells the tag of a value that has several forms."""

    __slots__ = ("tag_of",)

    def __init__(self, tag_of: Callable[[Any], str]) -> None:
        self.tag_of = tag_of
