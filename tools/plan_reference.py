"""Renders the reference page of plan fields from the JSON Schema: presets, then a table for each mapping."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from fabricbench import units
from fabricbench.plan.fabric.switches.ecn import ECN, EcnPreset
from fabricbench.plan.schema import plan_schema
from fabricbench.plan.transport.dcqcn import DCQCN, DcqcnPreset

_INTRODUCTION = """\
# Fields of a plan

Look up each field of a [plan](../plan.md): values, default, meaning and source of the default. Where the
default is "below", the mapping may be left out and each of its fields has its own default. `on` takes every
default of a mapping. A size may also be a number of bytes. `fabricbench plan schema` writes the same as JSON
Schema.

## Presets of DCQCN and ECN

A preset sets these fields; a field next to it in the plan overrides its value. Where a preset has a reference
rate, R_AI and R_HAI are scaled by the rate of the host's port over it, Kmin and Kmax by that of each switch
port.
"""
_SOURCE = " Source: "
_REPEATED_VALUES = re.compile(
    r" \[(?:time|size|share|rate|ratio|number|0 to 7|bit/s|m|%)\]"
    r"|(?<=[a-zA-Z)]): `off`, `on` \(with every default\) or a mapping"
)
"""Parts of a description that the column of values repeats."""
_REPEATED_DEFAULT = re.compile(r"(?:^| )Default: (.+?)\.(?= |$)")
_LISTED_MAX = 20
"""Largest number of listed values; there are more metrics, which have their own page."""
_NAMES = {"array": "list", "boolean": "boolean", "object": "mapping"}


def reference(schema: dict[str, Any], top: str = "The plan") -> str:
    """Return a section with a table for each mapping of a plan; mappings with the same fields share one.

    Args:
        schema: JSON Schema of the plan, or of another file.
        top: Title of the outermost mapping.
    """
    titles: dict[str, list[str]] = {}
    for title, text in dict(_sections(schema, [schema], "", top)).items():
        titles.setdefault(text, []).append(title)
    return "".join(f"### {', '.join(names)}\n\n{text}\n" for text, names in titles.items())


def _sections(
    schema: dict[str, Any], mappings: list[dict[str, Any]], path: str, title: str
) -> Iterator[tuple[str, str]]:
    """Yield title and text of the section of a field, then those of the fields of its mappings."""
    yield title, f"{_lead(mappings) if path else ''}{_table(schema, mappings)}"
    for mapping in mappings:
        for name, prop in mapping["properties"].items():
            if children := list(_mappings(schema, prop)):
                item = " (each)" if prop.get("type") == "array" else ""
                yield from _sections(schema, children, f"{path}{name}.", f"`{path}{name}`{item}")


def _lead(mappings: list[dict[str, Any]]) -> str:
    """Return the description of a mapping, or a list of those of its kinds."""
    if not _kind(mappings[0]):
        return f"{mappings[0].get('description', '')}\n\n"
    meanings = [
        max(mapping["description"], _of_kind(mapping)["description"], key=len) for mapping in mappings
    ]
    kinds = zip(mappings, meanings, strict=True)
    return (
        "".join(f"- `{_kind(mapping)}`: {' '.join(meaning.split())}\n" for mapping, meaning in kinds) + "\n"
    )


def _kind(mapping: dict[str, Any]) -> str:
    """Return the kind of a mapping; empty if it has none."""
    return str(_of_kind(mapping).get("const", ""))


def _of_kind(mapping: dict[str, Any]) -> dict[str, Any]:
    return dict(mapping["properties"].get("kind", {}))


def _table(schema: dict[str, Any], mappings: list[dict[str, Any]]) -> str:
    """Return the table of the fields of a mapping; with kinds, each field once, with its kinds."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for mapping in mappings:
        fields = mapping["properties"].items()
        for name, prop in (field for field in fields if not (field[0] == "kind" and _kind(mapping))):
            kinds.setdefault(_row(schema, name, prop, mapping), []).append(_kind(mapping))
    rows = [(*row, _kinds(kinds_of_field, len(mappings))) for row, kinds_of_field in kinds.items()]
    columns = [*zip(("field", "values", "default", "meaning", "source", "kinds"), *rows, strict=True)]
    filled = [column for column in columns if any(column[1:])]
    head, *body = zip(*filled, strict=True)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *body))


def _kinds(kinds_of_field: list[str], count: int) -> str:
    """Return the kinds that have a field as text; empty if the mapping has no kinds."""
    if not any(kinds_of_field):
        return ""
    return "all" if len(kinds_of_field) == count else ", ".join(f"`{kind}`" for kind in kinds_of_field)


def _mappings(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the mappings that a field may hold."""
    if "$ref" in node:
        yield from _mappings(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    elif "properties" in node:
        yield node
    items = [node["items"]] if "items" in node else []
    for form in [*node.get("anyOf", []), *node.get("oneOf", []), *items]:
        yield from _mappings(schema, form)


def _row(schema: dict[str, Any], name: str, prop: dict[str, Any], mapping: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a field; its meaning does not repeat the other columns."""
    described = prop if "description" in prop else next(_mappings(schema, prop))
    meaning, _, source = described["description"].partition(_SOURCE)
    meaning = _REPEATED_VALUES.sub("", meaning)
    default = "required" if name in mapping.get("required", []) else _default(prop)
    if default == "none" and (match := _REPEATED_DEFAULT.search(meaning)):
        default, meaning = match[1], _REPEATED_DEFAULT.sub("", meaning)
    return tuple(cell.replace("|", "\\|") for cell in (f"`{name}`", _values(prop), default, meaning, source))


def _default(prop: dict[str, Any]) -> str:
    """Return the default of a field as text."""
    if "default" not in prop:
        return "below"
    default = prop["default"]
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "none" if default in (None, "", []) else f"`{default}`"


def _values(prop: dict[str, Any]) -> str:
    """Return the values that a field allows, in a few words."""
    forms = prop.get("anyOf") or prop.get("oneOf") or [prop]
    is_size = any(form.get("format") == "size" for form in forms)
    names = [
        _values(form) if "anyOf" in form else _form(form, is_size=is_size)
        for form in forms
        if form.get("type") != "null"
    ]
    return ", ".join(filter(None, dict.fromkeys(names)))


def _form(form: dict[str, Any], *, is_size: bool) -> str:
    """Return the name of one form of a field's value."""
    if len(form.get("enum", [])) > _LISTED_MAX:
        return "name"
    if "const" in form or "enum" in form:
        return ", ".join(f"`{value}`" for value in form.get("enum", [form.get("const")]))
    if form.get("type") == "integer":
        return _range(form, is_size=is_size)
    if form.get("type") in _NAMES:
        return _NAMES[form["type"]]
    if "$ref" in form:
        return "mapping"
    return str(form.get("format", "number" if form.get("type") == "number" else "text"))


def _range(form: dict[str, Any], *, is_size: bool) -> str:
    """Return the range of a whole number as text; a size may always be a number of bytes."""
    minimum, maximum = form.get("minimum", 0), form.get("maximum")
    if is_size:
        return "" if minimum else "`0`"
    if maximum is None or maximum == 2**63 - 1:
        return f"integer from {minimum}"
    return f"{minimum} to {maximum}"


def presets() -> str:
    """Return a table of the presets of DCQCN and one of those of ECN."""
    return f"{_preset_table('dcqcn', DCQCN)}\n{_preset_table('ecn', ECN)}"


def _preset_table(title: str, preset_by_name: Mapping[str, DcqcnPreset | EcnPreset]) -> str:
    """Return a table of the parameters of presets, one preset in each column."""
    first_preset = next(iter(preset_by_name.values()))
    lines = [
        f"| `{title}` | {' | '.join(f'`{name}`' for name in preset_by_name)} |",
        "|---" * (len(preset_by_name) + 1) + "|",
    ]
    for field in fields(first_preset):
        name, _, unit = field.name.rpartition("_")
        write = _WRITERS.get(unit, str)
        cells = [getattr(preset, field.name) for preset in preset_by_name.values()]
        cell_texts = [_cell(cell, write) for cell in cells]
        label = f"`{name}`" if unit in _WRITERS else "" if field.name == "source" else f"`{field.name}`"
        lines.append(f"| {label or 'source'} | {' | '.join(cell_texts)} |")
    return "\n".join(lines) + "\n"


def _cell(value: object, write: Callable[[Any], str]) -> str:
    """Return a parameter as written in plans; a dash if it is absent or switched off."""
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value in (None, 0) else write(value)


_WRITERS: dict[str, Callable[[int], str]] = {
    "bytes": units.format_size,
    "bps": units.format_rate,
    "ps": units.format_time,
    "ppm": units.format_share,
}


def page() -> str:
    """Return the page: presets, then the fields of each mapping."""
    return (
        f"{_INTRODUCTION}\n{presets()}\n## Mappings and their fields\n\n{reference(plan_schema())}".rstrip()
        + "\n"
    )
