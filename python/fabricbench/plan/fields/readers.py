"""Reads values as fields declare them: what is right is returned, anything else is refused without a reason.

What is wrong with a refused value, `judge` tells. Both take the same values, as
`tests/plan/test_readers.py` shows.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from fabricbench.plan.fields.declared import (
    AfterValidator,
    Discriminator,
    FieldInfo,
    Tag,
)

Reader = Callable[[Any], Any]
"""Returns a value as it is read, or raises a `ValueError`."""

_BOUNDS: Final = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}


class NotTakenError(ValueError):
    """A value is not what its field may be."""


def reader_of(annotation: Any, marks: Sequence[Any] = ()) -> Reader:
    """Return what reads the values of a type.

    Args:
        annotation: The type.
        marks: What else was declared of it, the innermost first.
    """
    if get_origin(annotation) is Annotated:
        inner, *own = get_args(annotation)
        return reader_of(inner, (*own, *marks))
    reader = _plain_reader(annotation, marks)
    for mark in sorted(marks, key=lambda mark: not isinstance(mark, FieldInfo)):
        reader = _marked(reader, mark)  # lengths and limits are of what is written
    return reader


def _plain_reader(annotation: Any, marks: Sequence[Any]) -> Reader:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return _anything
    if origin in (Union, UnionType):
        return _union_reader(arguments, marks)
    if origin is Literal:
        return _literal_reader(arguments)
    if origin in (list, tuple):
        is_lenient = any(
            isinstance(mark, FieldInfo) and mark.options.get("strict") is False for mark in marks
        )
        return _list_reader(origin, reader_of(arguments[0]), is_lenient=is_lenient)
    if origin is dict:
        return _mapping_reader(reader_of(arguments[1]))
    if annotation is float:
        return _number
    if annotation in (int, str, bool, NoneType):
        return _exact_reader(annotation)
    read: Reader | None = getattr(annotation, "model_validate", None)
    return read or _instance_reader(annotation)


def _anything(value: Any) -> Any:
    return value


def _number(value: Any) -> float:
    if type(value) in (int, float):
        return float(value)
    raise NotTakenError


def _exact_reader(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise NotTakenError

    return read


def _instance_reader(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise NotTakenError

    return read


def _literal_reader(values: Sequence[Any]) -> Reader:
    known = {value: value for value in values}

    def read(value: Any) -> Any:
        if isinstance(value, int | float | str) and value in known:
            return known[value]  # which is 1 where `true` or 1.0 is written
        raise NotTakenError

    return read


def _list_reader(kind: type, item: Reader, *, is_lenient: bool) -> Reader:
    taken = (list, tuple) if is_lenient else (kind,)

    def read(value: Any) -> Any:
        if type(value) in taken:
            return kind([item(each) for each in value])
        raise NotTakenError

    return read


def _mapping_reader(of_value: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is dict and all(type(key) is str for key in value):
            return {key: of_value(each) for key, each in value.items()}
        raise NotTakenError

    return read


def _union_reader(forms: Sequence[Any], marks: Sequence[Any]) -> Reader:
    by_kind = any(isinstance(mark, FieldInfo) and "discriminator" in mark.options for mark in marks)
    tags = [mark for mark in marks if isinstance(mark, Discriminator)]
    if by_kind:
        return _kind_reader(forms)
    if tags:
        return _tag_reader(forms, tags[0])
    others = [reader_of(form) for form in forms if form is not NoneType]
    reader = others[0] if len(others) == 1 else _first_reader(others)
    return _optional(reader) if NoneType in forms else reader


def _optional(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


def _first_reader(readers: Sequence[Reader]) -> Reader:
    def read(value: Any) -> Any:
        for each in readers:
            try:
                return each(value)
            except ValueError:
                continue
        raise NotTakenError

    return read


def _kind_reader(models: Sequence[Any]) -> Reader:
    """Return what reads a value as the model whose `kind` it has."""
    by_kind = {get_args(model.model_fields["kind"].annotation)[0]: model for model in models}

    def read(value: Any) -> Any:
        kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
        if not isinstance(kind, str) or kind not in by_kind:
            raise NotTakenError
        return by_kind[kind].model_validate(value)

    return read


def _tag_reader(forms: Sequence[Any], discriminator: Discriminator) -> Reader:
    """Return what reads a value as the form whose tag it gets."""
    readers: dict[str, Reader] = {}
    for form in forms:
        tag = next(mark for mark in get_args(form) if isinstance(mark, Tag))
        readers[tag.name] = reader_of(form)
    return lambda value: readers[discriminator.tag_of(value)](value)


def _marked(reader: Reader, mark: Any) -> Reader:
    """Return a reader that does what a mark says as well."""
    if isinstance(mark, AfterValidator):
        after = mark.read
        return lambda value: after(reader(value))
    if isinstance(mark, FieldInfo):
        checks = list(_checks(mark.options))
        return _checked(reader, checks) if checks else reader
    before = getattr(mark, "read", None)
    return reader if before is None else lambda value: reader(before(value))


def _checks(options: Mapping[str, Any]) -> Iterator[Callable[[Any], bool]]:
    """Yield what a value has to pass."""
    for name, compare in _BOUNDS.items():
        if name in options:
            yield partial(_is_within, compare, options[name])
    if "min_length" in options:
        yield lambda value: len(value) >= options["min_length"]
    if "max_length" in options:
        yield lambda value: len(value) <= options["max_length"]
    if "pattern" in options:
        # `$` of Rust is the end of the text, and nothing else.
        pattern = re.compile(options["pattern"].removesuffix("$") + r"\Z")
        yield lambda value: pattern.search(value) is not None
    if options.get("allow_inf_nan") is False:
        yield math.isfinite


def _is_within(compare: Callable[[Any, Any], bool], bound: float, value: Any) -> bool:
    return compare(value, bound)


def _checked(reader: Reader, checks: Sequence[Callable[[Any], bool]]) -> Reader:
    def read(value: Any) -> Any:
        taken = reader(value)
        if taken is not None and not all(check(taken) for check in checks):
            raise NotTakenError
        return taken

    return read
