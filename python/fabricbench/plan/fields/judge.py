"""What pydantic says of data that a model refuses, and the JSON Schema that it writes of a model.

Both come from models of pydantic that are made of the declarations of ours when they are needed: after an
error, and for the reference and the editors.
"""

from collections.abc import Callable
from types import new_class
from typing import Annotated, Any, ClassVar, Final, Literal, Union, get_args, get_origin

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    InstanceOf,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails
from pydantic_core.core_schema import no_info_before_validator_function

from fabricbench.plan.fields.base import Named, PlanModel, ShortModel
from fabricbench.plan.fields.declared import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    FieldInfo,
    Tag,
    WithJsonSchema,
)

_INSTANCE_OF: Final[Any] = InstanceOf
_KEPT: Final = (Any, int, float, str, bool, type(None))

_OTHER_MARKS: Final[dict[type, Callable[[Any], Any]]] = {
    AfterValidator: lambda mark: pydantic.AfterValidator(mark.read),
    Discriminator: lambda mark: pydantic.Discriminator(mark.tag_of),
    Tag: lambda mark: pydantic.Tag(mark.name),
    WithJsonSchema: lambda mark: pydantic.WithJsonSchema(mark.schema),
}


def errors_of(model: type[PlanModel], data: object) -> list[ErrorDetails]:
    """Return everything that is wrong with data that a model has refused."""
    try:
        twin_of(model).model_validate(data)
    except ValidationError as error:
        return error.errors(include_url=False)
    msg = f"{model.__name__} refuses what its declarations allow"
    raise AssertionError(msg)


def schema_of(model: type[PlanModel]) -> dict[str, Any]:
    """Return the JSON Schema of a model."""
    return twin_of(model).model_json_schema(by_alias=True)


class _Twin(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _ShortTwin(_Twin):
    short_key: ClassVar[str]

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


class _NamedTwin:
    """Does for pydantic what `Named` does."""

    def __init__(self, named: Named) -> None:
        self._named = named

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read names before anything else."""
        return no_info_before_validator_function(self._named.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Allow the names beside the values; null is only ever written as one of them."""
        inner = handler(schema)
        forms = [form for form in inner.pop("anyOf", [inner]) if form != {"type": "null"}]
        return {"anyOf": [{"enum": list(self._named.names)}, *forms]}


_twins: Final[dict[type[PlanModel], type[BaseModel]]] = {}


def twin_of(model: type[PlanModel]) -> type[BaseModel]:
    """Return the model of pydantic that takes what one of ours takes."""
    if model not in _twins:
        base = _ShortTwin if issubclass(model, ShortModel) else _Twin
        content = _content_of(model)
        _twins[model] = new_class(model.__name__, (base,), {}, lambda body: body.update(content))
    return _twins[model]


def _content_of(model: type[PlanModel]) -> dict[str, Any]:
    """Return what stands in the body of the class of a twin."""
    prepared = classmethod(lambda _twin, data: model.prepared(data))
    fields = model.model_fields
    annotations = {name: _translated(field.annotation) for name, field in fields.items()}
    content: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        "__annotations__": annotations,
        "_prepared": pydantic.model_validator(mode="before")(prepared),  # type: ignore[arg-type]
    }
    if issubclass(model, ShortModel):
        content["short_key"] = model.short_key
    if model.other_values is not None:
        content["model_config"] = ConfigDict(extra="allow")
        annotations["__pydantic_extra__"] = _translated(dict[str, model.other_values])  # type: ignore[name-defined]
    return content | {name: pydantic.Field(**_translated_options(field)) for name, field in fields.items()}


def _translated_options(field: FieldInfo) -> dict[str, Any]:
    default = field.options.get("default")
    if isinstance(default, PlanModel):
        return {**field.options, "default": twin_of(type(default)).model_construct(**vars(default))}
    return {**field.options}


def _translated(annotation: Any) -> Any:
    """Return a type with what pydantic knows in place of what we declare."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *marks = arguments
        return Annotated[_translated(inner), *map(_translated_mark, marks)]
    if origin in (list, tuple, dict):
        return origin.__class_getitem__(tuple(map(_translated, arguments)))
    if arguments and origin is not Literal:
        return Union[tuple(map(_translated, arguments))]  # noqa: UP007 -- of any number
    if isinstance(annotation, type) and annotation not in _KEPT:
        return twin_of(annotation) if issubclass(annotation, PlanModel) else _INSTANCE_OF[annotation]
    return annotation


def _translated_mark(mark: Any) -> Any:
    """Return what pydantic knows for a mark of ours."""
    if isinstance(mark, Named):
        return _NamedTwin(mark)
    if isinstance(mark, FieldInfo):
        return pydantic.Field(**mark.options)
    if isinstance(mark, BeforeValidator):
        given = {} if mark.input_type is None else {"json_schema_input_type": mark.input_type}
        return pydantic.BeforeValidator(mark.read, **given)
    return _OTHER_MARKS[type(mark)](mark)
