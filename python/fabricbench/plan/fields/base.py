"""What all models of a plan share: how they are read, and the short forms that a field may have."""

from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NoReturn,
    Self,
    dataclass_transform,
    get_origin,
    get_type_hints,
)

from fabricbench.plan.fields.declared import Field, FieldInfo
from fabricbench.plan.fields.readers import NotTakenError, Reader, reader_of
from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SWITCHES = {"true": "on", "yes": "on", "false": "off", "no": "off"}


class UnreadableError(ValueError):
    """Data is not what a model may be.

    Attributes:
        model: The model.
        data: What was to be read as one.
    """

    def __init__(self, model: "type[PlanModel]", data: object) -> None:
        super().__init__(f"this is no {model.__name__}")
        self.model, self.data = model, data

    def errors(self) -> "list[ErrorDetails]":
        """Return everything that is wrong, as pydantic reports it."""
        from fabricbench.plan.fields.judge import errors_of

        return errors_of(self.model, self.data)


class _Once:
    """What a class is asked for, worked out once for each class."""

    def __init__(self, work_out: Callable[[Any], Any]) -> None:
        self._work_out = work_out
        self._known: dict[type, Any] = {}

    def __get__(self, instance: object, owner: type) -> Any:
        if owner not in self._known:
            self._known[owner] = self._work_out(owner)
        return self._known[owner]


def _fields_of(model: type) -> dict[str, FieldInfo]:
    found = {}
    for name, annotation in get_type_hints(model, include_extras=True).items():
        if not name.startswith("_") and get_origin(annotation) is not ClassVar:
            declared = vars(model).get(name, getattr(model, name, None))
            options = declared.options if isinstance(declared, FieldInfo) else {}
            found[name] = FieldInfo(options, annotation)
    return found


def _entries_of(model: "type[PlanModel]") -> list[tuple[str, str, Reader, Callable[[], Any] | None]]:
    """Return of each field its key in a plan, its name, what reads it, and what makes its default."""
    entries = []
    for name, field in model.model_fields.items():
        read = reader_of(field.annotation, (field,))
        entries.append((field.alias or name, name, read, _default_of(field.options, read)))
    return entries


def _default_of(options: Mapping[str, Any], read: Reader) -> Callable[[], Any] | None:
    """Return what makes the default of a field; none if it has none."""
    make: Callable[[], Any] | None = options.get("default_factory")
    if make is None and "default" not in options:
        return None
    default = options.get("default")
    written = make or (lambda: default.copy() if isinstance(default, dict | list) else default)
    return (lambda: read(written())) if options.get("validate_default") else written


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
class PlanModel:
    """A mapping in a plan: unknown keys are errors, and nothing changes once it is read.

    A field whose value has a unit carries it in its name (`timeout_ps`) and is written in a plan without
    (`timeout: 2us`).

    Attributes:
        model_fields: Its fields by name.
        other_values: The type of the values of all other keys; none if there may be no others.
    """

    model_fields: ClassVar[Mapping[str, FieldInfo]] = _Once(_fields_of)  # type: ignore[assignment]
    other_values: ClassVar[Any] = None
    _entries: ClassVar[Any] = _Once(_entries_of)
    _read_other: ClassVar[Any] = _Once(lambda model: reader_of(model.other_values))

    def __init__(self, **data: Any) -> None:
        try:
            self._fill(self.prepared(data))
        except ValueError:
            raise UnreadableError(type(self), data) from None

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """Read data as a plan has it.

        Raises:
            UnreadableError: It is something else.
        """
        try:
            prepared = cls.prepared(data)
            if isinstance(prepared, cls):
                return prepared
            model = object.__new__(cls)
            model._fill(prepared)
        except ValueError:
            raise UnreadableError(cls, data) from None
        return model

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of what `model_validate` takes."""
        from fabricbench.plan.fields.judge import schema_of

        return schema_of(cls)

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return data with what follows from other fields filled in, before it is read."""
        return data

    def _fill(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise NotTakenError
        values, left = vars(self), dict(data)
        for key, name, read, default in self._entries:
            if key in left:
                values[name] = read(left.pop(key))
            elif default is not None:
                values[name] = default()
            else:
                raise NotTakenError
        if self.other_values is not None and all(isinstance(key, str) for key in left):
            values["others"] = {key: self._read_other(value) for key, value in left.items()}
        elif left:
            raise NotTakenError

    def model_copy(self, update: Mapping[str, Any]) -> Self:
        """Return it with other values of some fields, which are not checked."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self), **update)
        return copy

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


class ShortModel(PlanModel):
    """A mapping of which one field may be written alone, in place of the whole: `400Gbps` for a link.

    Attributes:
        short_key: The field, as a plan names it.
    """

    short_key: ClassVar[str]

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the mapping."""
        return data if isinstance(data, dict) else {cls.short_key: data}


class Named:
    """Marks the type of a field whose value may be a name that stands for something.

    Attributes:
        names: What each name stands for: none, a value, or a mapping of fields.
        parse: Reads what is no name; without it only a mapping may stand there.
    """

    def __init__(self, names: Mapping[str, Any], parse: Callable[[object], Any] | None = None) -> None:
        self.names = dict(names)
        self.parse = parse

    def read(self, value: object) -> Any:
        """Return what a name stands for, or another value as it is to be read.

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
        """Return the name that was meant: a near one, or `on` and `off` of what other formats write so."""
        switch = _SWITCHES.get(str(value).lower())
        if switch in self.names:
            return f"write `{switch}`"
        return close_match_hint(value, self.names) if isinstance(value, str) else ""


def shown(value: Any) -> str:
    """Quote text and shorten everything in an error."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
