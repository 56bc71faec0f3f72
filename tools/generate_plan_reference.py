"""Writes the tables of docs/plan.md from the JSON Schema of the plan: no default stands in two places.

python tools/generate_plan_reference.py            # write
python tools/generate_plan_reference.py --check    # exit status 1 when the page is not what would be written
"""

import argparse
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
BEGIN, END = "<!-- fields: begin (tools/generate_plan_reference.py) -->\n", "<!-- fields: end -->\n"
PRESETS_BEGIN = "<!-- presets: begin (tools/generate_plan_reference.py) -->\n"
PRESETS_END = "<!-- presets: end -->\n"
_SOURCE = " Source: "


def reference(schema: dict[str, Any]) -> str:
    """Return a section with a table for each mapping of a plan."""
    sections = dict(_sections(schema, schema, "", "The plan"))
    return "".join(f"### {title}\n\n{text}\n" for title, text in sections.items())


def _sections(
    schema: dict[str, Any], mapping: dict[str, Any], path: str, title: str
) -> Iterator[tuple[str, str]]:
    """Yield the title and text of a mapping's section, then those of the mappings in it.

    A mapping that several kinds of topology have comes more than once, with the same title and text.
    """
    rows = [_row(schema, name, prop, mapping) for name, prop in mapping["properties"].items()]
    lead = "" if not path else f"{mapping.get('description', '')}\n\n"
    yield (
        title,
        f"{lead}| field | values | default | meaning | source |\n|---|---|---|---|---|\n" + "".join(rows),
    )
    for name, prop in mapping["properties"].items():
        for child in _mappings(schema, prop):
            yield from _sections(schema, child, f"{path}{name}.", _title(f"{path}{name}", prop, child))


def _title(path: str, prop: dict[str, Any], child: dict[str, Any]) -> str:
    """Name a section by its path, and its kind where there are several."""
    kind = child["properties"].get("kind", {}).get("const")
    item = " (each)" if prop.get("type") == "array" else ""
    return f"`{path}`{item}" + (f": {kind}" if kind else "")


def _mappings(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the mappings that a field may hold."""
    if "$ref" in node:
        yield from _mappings(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    elif "properties" in node:
        yield node
    items = [node["items"]] if "items" in node else []
    for form in [*node.get("anyOf", []), *node.get("oneOf", []), *items]:
        yield from _mappings(schema, form)


def _row(schema: dict[str, Any], name: str, prop: dict[str, Any], mapping: dict[str, Any]) -> str:
    """Write the row of a field."""
    described = prop if "description" in prop else next(_mappings(schema, prop))
    meaning, _, source = described["description"].partition(_SOURCE)
    default = "required" if name in mapping.get("required", []) else _default(prop)
    cells = [f"`{name}`", _values(prop), default, meaning, source]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(prop: dict[str, Any]) -> str:
    """Write the default of a field that has one."""
    if "default" not in prop:
        return "see below"
    default = prop["default"]
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "none" if default in (None, "", []) else f"`{default}`"


def _values(prop: dict[str, Any]) -> str:
    """Say in a few words what a field may hold."""
    forms = prop.get("anyOf") or prop.get("oneOf") or [prop]
    names = [
        _values(form) if "anyOf" in form else _form(form) for form in forms if form.get("type") != "null"
    ]
    return ", ".join(dict.fromkeys(names))


def _form(form: dict[str, Any]) -> str:
    """Name one form that a field may have."""
    if "const" in form or "enum" in form:
        return ", ".join(f"`{value}`" for value in form.get("enum", [form.get("const")]))
    if form.get("type") == "integer":
        return _range(form)
    if form.get("type") == "array":
        return "list"
    if form.get("type") == "boolean":
        return "`true`, `false`"
    if form.get("type") == "object":
        return "mapping"
    if "$ref" in form:
        return "mapping"
    return str(form.get("format", "number" if form.get("type") == "number" else "text"))


def _range(form: dict[str, Any]) -> str:
    """Write the range of a whole number."""
    least, most = form.get("minimum", 0), form.get("maximum")
    if most is None or most == 2**63 - 1:
        return f"whole number, {least} or more"
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
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the page is stale")
    check_only = parser.parse_args().check
    old = TARGET.read_text(encoding="utf-8")
    new = page(old)
    if not check_only:
        TARGET.write_text(new, encoding="utf-8")
    elif new != old:
        sys.stderr.write("error: docs/plan.md is stale\nhint: python tools/generate_plan_reference.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
