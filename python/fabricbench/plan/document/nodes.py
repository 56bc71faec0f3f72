"""Turns YAML into plain values with the location of each, within limits of count and depth.

ruamel.yaml composes the text into nodes. The values are built from them here, so that a plan cannot create
objects. Limits are checked before a value is built.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.reader import ReaderError

from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted

VALUES_MAX: Final = 50_000
"""Most values in a plan, those that aliases repeat included: they are read within a few seconds."""
_NODES_MAX: Final = 60_000
"""Most values in the text, keys included."""
DEPTH_MAX: Final = 32
"""Deepest nesting; the plan's own fields need 5."""
_INTEGER_DIGITS_MAX: Final = 40
_NO_TEXT: Final = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\ud800-\\udfff\\ufffe\\uffff]"
)
"""Characters that a YAML text may not hold unescaped (YAML 1.2.2, 5.1), and a value here not as an escape.

Their complement, as in the standard, takes 5 ms to compile.
"""
_TAG_PREFIX: Final = "tag:yaml.org,2002:"


def kind_name(value: object) -> str:
    """Name the kind of a YAML value, with its article."""
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def shorten(text: str, length_max: int = 60) -> str:
    """Return text of a user in quotes, on one line and shortened."""
    text = text if len(text) <= length_max else f"{text[: length_max - 3]}..."
    return '"' + text.replace("\n", "\\n") + '"'


def first_no_text(text: str) -> str:
    """Return the first character that is invalid in text, such as NUL or half of a surrogate pair, if any."""
    match = _NO_TEXT.search(text)
    return match[0] if match else ""


def character_text(character: str) -> str:
    """Return a character as text for an error."""
    return f"the character U+{ord(character):04X}"


class _RefusedError(Exception):
    """More nodes or deeper nesting than a plan can have, or an escape beyond Unicode."""

    def __init__(self, actual: str, allowed: str, line: int, column: int) -> None:
        super().__init__(actual)
        self.found, self.allowed, self.line, self.column = actual, allowed, line, column


class _BoundedComposer(Composer):
    """Composes nodes, but stops as soon as there are too many: text costs far more to scan than to refuse."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.warn_double_anchors = False  # YAML 1.2.2, 3.2.2.2: an anchor may be used again
        self._depth = 0
        self._nodes = 0

    def get_single_node(self) -> Any:
        """Compose the only node of a text; an escape beyond Unicode is refused with its location."""
        try:
            return super().get_single_node()
        except (ValueError, OverflowError) as error:  # of `chr`, which the scanner trusts
            reader = self.loader.reader
            allowed = "escapes up to \\U0010FFFF"
            raise _RefusedError(
                "an escape of no character", allowed, reader.line + 1, reader.column + 1
            ) from error

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose one node and its children."""
        self._depth += 1
        self._nodes += 1
        if self._depth > DEPTH_MAX + 1:
            self._refuse("values nested too deeply", f"{DEPTH_MAX} levels")
        if self._nodes > _NODES_MAX:
            self._refuse("more values than a plan can need", f"{_NODES_MAX}, keys counted")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _refuse(self, actual: str, allowed: str) -> NoReturn:
        mark = self.parser.peek_event().start_mark
        raise _RefusedError(actual, allowed, mark.line + 1, mark.column + 1)


def compose(text: str, source: str) -> Any:
    """Parse YAML into nodes; none when there is nothing in it."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _BoundedComposer
    try:
        return yaml.compose(text)
    except _RefusedError as error:
        location = Place(source, error.line, error.column)
        raise PlanError([Problem(location, "", error.found, error.allowed)]) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        location = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)
        reason = ", ".join(part for part in (error.problem, error.context) if part)
        hint = "indent with spaces: YAML allows no tabs there" if "'\\t'" in reason else ""
        raise PlanError([Problem(location, "", f"text that is no YAML: {reason}", "", hint)]) from error
    except ReaderError as error:
        location = Place(source, text.count("\n", 0, error.position) + 1)
        raise PlanError([Problem(location, "", character_text(chr(error.character)), "text")]) from error
    except YAMLError as error:
        raise PlanError([Problem(Place(source), "", f"text that is no YAML: {error}")]) from error


def first_scalar(text: str, name: str) -> str | None:
    """Return the scalar value of a top-level field of YAML without parsing what follows it."""
    depth, key = 0, None
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, CollectionStartEvent):
            depth, key = depth + 1, None
        elif isinstance(event, CollectionEndEvent):
            depth, key = depth - 1, None
        elif isinstance(event, ScalarEvent) and depth == 1:
            if key == name:
                return str(event.value)
            key = event.value if key is None else None
    return None


class Builder:
    """Turns nodes into values, collecting locations and problems."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.places: dict[FieldPath, Place] = {}
        self.value_places: dict[FieldPath, Place] = {}
        self.problems: list[Problem] = []
        self._open_nodes: set[int] = set()

    def build(self, node: Any, path: FieldPath) -> Any:
        """Return the value of a node, or none after noting a problem."""
        self.value_places[path] = self._place(node)
        self.places.setdefault(path, self._place(node))
        if id(node) in self._open_nodes:
            return self._refuse(node, path, "an alias to a value that contains it")
        if len(path) > DEPTH_MAX:
            return self._refuse(node, path, "values nested too deeply", f"{DEPTH_MAX} levels")
        if len(self.value_places) > VALUES_MAX:
            # Checked before building, so that aliases of aliases cannot fill the memory; and final, so that
            # they cannot fill it with problems either.
            self._refuse(
                node, path, "more values than a plan can need", f"{VALUES_MAX}, aliases counted each time"
            )
            raise PlanError(self.problems)
        return self._build_checked(node, path)

    def _build_checked(self, node: Any, path: FieldPath) -> Any:
        """Build a node whose size has been checked."""
        self._open_nodes.add(id(node))
        try:
            if node.id == "mapping" and _tag(node) == "map":
                return dict(self._mapping_items(node, path))
            if node.id == "sequence" and _tag(node) == "seq":
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open_nodes.discard(id(node))

    def _mapping_items(self, node: Any, path: FieldPath) -> Iterator[tuple[str, Any]]:
        """Yield the items of a mapping, each key once."""
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                self._refuse(key_node, path, "a key that is a list or a mapping", "names")
                continue
            key = str(key_node.value)
            if bad_character := first_no_text(key):
                self._refuse(key_node, path, f"{character_text(bad_character)} in a key", "text")
                continue
            line = key_node.start_mark.line + 1
            if key in first_lines:
                self._refuse(
                    key_node, (*path, key), f"a key that line {first_lines[key]} already has", "each key once"
                )
                continue
            first_lines[key] = line
            self.places[(*path, key)] = self._place(key_node)
            yield key, self.build(value_node, (*path, key))

    def _scalar(self, node: Any, path: FieldPath) -> Any:
        """Return the value of a scalar by its tag."""
        tag = _tag(node)
        if bad_character := first_no_text(str(node.value)):
            return self._refuse(node, path, character_text(bad_character), "text")
        try:
            return _scalar_value(tag, node.value)
        except ValueError:
            return self._refuse(
                node, path, f"{shorten(str(node.value))} with the tag {node.tag}", "plain values"
            )

    def _refuse(self, node: Any, path: FieldPath, actual: str, allowed: str = "") -> None:
        self.problems.append(Problem(self._place(node), dotted(path), actual, allowed))

    def _place(self, node: Any) -> Place:
        return Place(self.source, node.start_mark.line + 1, node.start_mark.column + 1)


def _tag(node: Any) -> str:
    """Return the tag of a node without the prefix of the standard tags."""
    return str(node.tag).removeprefix(_TAG_PREFIX)


def _scalar_value(tag: str, text: Any) -> Any:
    """Return the value of a scalar; ValueError if it is not of the kind of its tag."""
    if not isinstance(text, str):
        raise ValueError(tag)
    if tag in ("str", "timestamp", "merge", "value"):
        return text
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() in ("true", "yes", "on", "y")
    if tag == "int":
        return _integer(text)
    if tag == "float":
        return _float(text)
    raise ValueError(tag)


def _integer(text: str) -> int:
    """Read an integer of YAML 1.2: decimal, 0o7, 0x1f, 0b1, with underscores."""
    digits = text.replace("_", "")
    if len(digits) > _INTEGER_DIGITS_MAX:
        raise ValueError(text)
    is_prefixed = digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b")
    return int(digits, 0) if is_prefixed else int(digits)


def _float(text: str) -> float:
    """Read a float of YAML 1.2."""
    special = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
    return special[text.lower()] if text.lower() in special else float(text.replace("_", ""))
