"""Writes the tables of docs/plan.md, and the fields that shells complete, from the JSON Schema of the plan.

python tools/generate_plan_reference.py            # write
python tools/generate_plan_reference.py --check    # exit status 1 when one is not what would be written
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fabricbench import units
from fabricbench.plan.fabric.ecn import ECN, EcnPreset
from fabricbench.plan.schema import plan_schema
from fabricbench.plan.transport.dcqcn import DCQCN, DcqcnPreset

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "plan.md"
FIELDS = ROOT / "python" / "fabricbench" / "plan" / "_fields.py"
BEGIN, END = "<!-- fields: begin (tools/generate_plan_reference.py) -->\n", "<!-- fields: end -->\n"
PRESETS_BEGIN = "<!-- presets: begin (tools/generate_plan_reference.py) -->\n"
PRESETS_END = "<!-- presets: end -->\n"
_SOURCE = " Source: "
_SAID = re.compile(
    r" \[(?:time|size|share|rate|ratio|number|0 to 7|bit/s|m|%)\]"
    r"|(?<=[a-zA-Z)]): `off`, `on` \(with every default\) or a mapping"
)
"""What the column of values says as well."""
_SAID_DEFAULT = re.compile(r"(?:^| )Default: (.+?)\.(?= |$)")
_LISTED_MAX = 20
"""Metrics are more: their page lists them."""
_NAMES = {"array": "list", "boolean": "boolean", "object": "mapping"}


def reference(schema: dict[str, Any]) -> str:
    """Return a section with a table for each mapping of a plan; mappings with the same fields share one."""
    titles: dict[str, list[str]] = {}
    for title, text in dict(_sections(schema, [schema], "", "The plan")).items():
        titles.setdefault(text, []).append(title)
    return "".join(f"### {', '.join(names)}\n\n{text}\n" for text, names in titles.items())


def _sections(
    schema: dict[str, Any], mappings: list[dict[str, Any]], path: str, title: str
) -> Iterator[tuple[str, str]]:
    """Yield the title and text of the section of a field, then those of the fields of what it may hold."""
    yield title, f"{_lead(mappings) if path else ''}{_table(schema, mappings)}"
    for mapping in mappings:
        for name, prop in mapping["properties"].items():
            if children := list(_mappings(schema, prop)):
                item = " (each)" if prop.get("type") == "array" else ""
                yield from _sections(schema, children, f"{path}{name}.", f"`{path}{name}`{item}")


def _lead(mappings: list[dict[str, Any]]) -> str:
    """Say what a mapping is, or each of its kinds."""
    if not _kind(mappings[0]):
        return f"{mappings[0].get('description', '')}\n\n"
    meanings = [max(each["description"], _of_kind(each)["description"], key=len) for each in mappings]
    kinds = zip(mappings, meanings, strict=True)
    return "".join(f"- `{_kind(each)}`: {' '.join(meaning.split())}\n" for each, meaning in kinds) + "\n"


def _kind(mapping: dict[str, Any]) -> str:
    """Return the kind that a mapping is of, empty where there are none."""
    return str(_of_kind(mapping).get("const", ""))


def _of_kind(mapping: dict[str, Any]) -> dict[str, Any]:
    return dict(mapping["properties"].get("kind", {}))


def _table(schema: dict[str, Any], mappings: list[dict[str, Any]]) -> str:
    """Write the fields of a mapping; of kinds each field once, with the kinds that have it."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for mapping in mappings:
        fields = mapping["properties"].items()
        for name, prop in (field for field in fields if not (field[0] == "kind" and _kind(mapping))):
            kinds.setdefault(_row(schema, name, prop, mapping), []).append(_kind(mapping))
    rows = [(*row, _kinds(having, len(mappings))) for row, having in kinds.items()]
    columns = [*zip(("field", "values", "default", "meaning", "source", "kinds"), *rows, strict=True)]
    shown = [column for column in columns if any(column[1:])]
    head, *body = zip(*shown, strict=True)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *body))


def _kinds(having: list[str], count: int) -> str:
    """Write the kinds that have a field; nothing where a mapping has none."""
    if not any(having):
        return ""
    return "all" if len(having) == count else ", ".join(f"`{kind}`" for kind in having)


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
    """Return the cells of a field; what a column says is not repeated in its meaning."""
    described = prop if "description" in prop else next(_mappings(schema, prop))
    meaning, _, source = described["description"].partition(_SOURCE)
    meaning = _SAID.sub("", meaning)
    default = "required" if name in mapping.get("required", []) else _default(prop)
    if default == "none" and (said := _SAID_DEFAULT.search(meaning)):
        default, meaning = said[1], _SAID_DEFAULT.sub("", meaning)
    return tuple(cell.replace("|", "\\|") for cell in (f"`{name}`", _values(prop), default, meaning, source))


def _default(prop: dict[str, Any]) -> str:
    """Write the default of a field that has one."""
    if "default" not in prop:
        return "below"
    default = prop["default"]
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "none" if default in (None, "", []) else f"`{default}`"


def _values(prop: dict[str, Any]) -> str:
    """Say in a few words what a field may hold."""
    forms = prop.get("anyOf") or prop.get("oneOf") or [prop]
    is_size = any(form.get("format") == "size" for form in forms)
    names = [
        _values(form) if "anyOf" in form else _form(form, is_size=is_size)
        for form in forms
        if form.get("type") != "null"
    ]
    return ", ".join(filter(None, dict.fromkeys(names)))


def _form(form: dict[str, Any], *, is_size: bool) -> str:
    """Name one form that a field may have."""
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
    """Write the range of a whole number; every size may be one, of bytes."""
    least, most = form.get("minimum", 0), form.get("maximum")
    if is_size:
        return "" if least else "`0`"
    if most is None or most == 2**63 - 1:
        return f"integer from {least}"
    return f"{least} to {most}"


def presets() -> str:
    """Return a table of the presets of DCQCN and one of those of ECN."""
    return f"{_preset_table('dcqcn', DCQCN)}\n{_preset_table('ecn', ECN)}"


def _preset_table(title: str, known: Mapping[str, DcqcnPreset | EcnPreset]) -> str:
    """Write the parameters of presets, one in each column."""
    first = next(iter(known.values()))
    lines = [f"| `{title}` | {' | '.join(f'`{name}`' for name in known)} |", "|---" * (len(known) + 1) + "|"]
    for field in fields(first):
        name, _, unit = field.name.rpartition("_")
        write = _WRITERS.get(unit, str)
        cells = [getattr(preset, field.name) for preset in known.values()]
        shown = [_cell(cell, write) for cell in cells]
        label = f"`{name}`" if unit in _WRITERS else "" if field.name == "source" else f"`{field.name}`"
        lines.append(f"| {label or 'source'} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _cell(value: object, write: Callable[[Any], str]) -> str:
    """Write a parameter as plans do; what is absent or switched off is a dash."""
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value in (None, 0) else write(value)


_WRITERS: dict[str, Callable[[int], str]] = {
    "bytes": units.format_size,
    "bps": units.format_rate,
    "ps": units.format_time,
    "ppm": units.format_share,
}


def fields_module() -> str:
    """Return the module with the path of every field of a plan that an override can give a single value."""
    schema = plan_schema()
    paths = sorted(set(_paths(schema, schema, "")))
    return (
        '"""The fields of a plan, as overrides name them; written by tools/generate_plan_reference.py."""\n\n'
        "FIELDS = (\n" + "".join(f'    "{path}",\n' for path in paths) + ")\n"
    )


def _paths(schema: dict[str, Any], mapping: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the paths below a mapping; items of lists have the number of the first."""
    for name, prop in mapping["properties"].items():
        children = list(_mappings(schema, prop))
        if not children or _values(prop) not in ("", "mapping", "list"):
            yield f"{path}{name}"
        item = ".0" if prop.get("type") == "array" else ""
        for child in children:
            yield from _paths(schema, child, f"{path}{name}{item}.")


def page(old: str) -> str:
    """Return the page with its tables replaced."""
    text = _replaced(old, PRESETS_BEGIN, presets(), PRESETS_END)
    return _replaced(text, BEGIN, reference(plan_schema()), END)


def _replaced(text: str, begin: str, table: str, end: str) -> str:
    """Return the text with what stands between two marks replaced."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}{end}{after}"


def main() -> int:
    """Write the page and the module, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the page is stale")
    check_only = parser.parse_args().check
    wanted = {TARGET: page(TARGET.read_text(encoding="utf-8")), FIELDS: fields_module()}
    for file, text in wanted.items():
        if not check_only:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            hint = "python tools/generate_plan_reference.py"
            sys.stderr.write(f"error: {file.relative_to(ROOT)} is stale\nhint: {hint}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
