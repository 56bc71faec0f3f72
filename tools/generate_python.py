"""Writes the Python modules that git leaves out: RunSpec, record tables, agents' protocol; for `make build`.

RunSpec, the parameters of one trial for the backends, becomes TypedDicts, with which mypy checks the
expansion of plans, and a table of the ranges of its numbers. fabricbench needs these modules, so of
fabricbench only the Rust extension is imported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from fabricbench import _core

PYTHON = Path(__file__).parents[1] / "python"
PACKAGE = PYTHON / "fabricbench"
_PYTHON_TYPES = {"boolean": "bool", "integer": "int", "null": "None", "number": "float", "string": "str"}
_RUN_SPEC = '''\
"""RunSpec as TypedDicts, and the ranges of its numbers; written by tools/generate_python.py."""

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict

'''
_COLUMNS = '''\
"""The columns of the record tables; written by tools/generate_python.py."""

from typing import Final

from fabricbench.store.column import Column

'''


def run_spec(schema: dict[str, Any]) -> str:
    """Return the module of RunSpec: a class for each mapping, an alias for each other definition, ranges."""
    definitions = {**schema["$defs"], schema["title"]: {key: schema[key] for key in schema if key != "$defs"}}
    references = {
        name: re.findall(r"#/\$defs/(\w+)", json.dumps(definition))
        for name, definition in definitions.items()
    }
    text, limits = _RUN_SPEC + _schema_version(schema), {}
    for name in TopologicalSorter(references).static_order():
        definition = definitions[name]
        mappings = {name: definition} if "properties" in definition else _variants(name, definition)
        for title, mapping in mappings.items():
            text += _typed_dict(title, mapping)
            limits.update(_limits(title, mapping))
        if name not in mappings:
            text += f"{name}: TypeAlias = {' | '.join(mappings) or _annotation(definition)}\n"
            text += f"{_description(definition)}\n\n"
    lines = "".join(f"    {field!r}: {limits[field]},\n" for field in sorted(limits))
    return f'{text}LIMITS: Final = {{\n{lines}}}\n"""Least and most of each number that has both."""\n'


def _schema_version(schema: dict[str, Any]) -> str:
    version = schema["properties"]["schema_version"]["const"]
    meaning = '"""Version of the shape of a run spec and of the record tables."""'
    return f"SCHEMA_VERSION: Final = {version}\n{meaning}\n\n"


def _variants(name: str, definition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the mappings of a tagged union by their class names: kind, then name of the union."""
    forms = [form for form in definition.get("oneOf", []) if "properties" in form]
    return {form["properties"]["kind"]["const"].title().replace("-", "") + name: form for form in forms}


def _typed_dict(name: str, mapping: dict[str, Any]) -> str:
    lines = [f"class {name}(TypedDict):", _description(mapping)]
    for field, value in mapping["properties"].items():
        annotation = _annotation(value)
        is_required = field in mapping.get("required", ())
        lines.append(f"{field}: {annotation if is_required else f'NotRequired[{annotation}]'}")
        lines.append(_description(value))
    return "\n    ".join(filter(None, lines)) + "\n\n"


def _description(value: dict[str, Any]) -> str:
    return repr(value["description"]) if "description" in value else ""


def _annotation(value: dict[str, Any]) -> str:
    """Return the Python type of a value."""
    if "$ref" in value:
        return str(value["$ref"].rpartition("/")[2])
    if "const" in value or "enum" in value:
        return f"Literal[{', '.join(map(repr, value.get('enum', [value.get('const')])))}]"
    if forms := value.get("anyOf", value.get("oneOf")):
        return " | ".join(map(_annotation, forms))
    types = [value["type"]] if isinstance(value["type"], str) else value["type"]
    return " | ".join(
        f"list[{_annotation(value['items'])}]" if name == "array" else _PYTHON_TYPES[name] for name in types
    )


def _limits(title: str, mapping: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the limits of the numbers of a mapping, and of the numbers in its lists, that have both."""
    numbers = {field: value.get("items", value) for field, value in mapping["properties"].items()}
    return {
        f"{title}.{field}": (number["minimum"], number["maximum"])
        for field, number in numbers.items()
        if {"minimum", "maximum"} <= number.keys()
    }


def columns(schema: dict[str, Any]) -> str:
    """Return the module of the columns of the record tables."""
    text = f"{_COLUMNS}{_schema_version(schema)}COLUMNS: Final[dict[str, tuple[Column, ...]]] = {{\n"
    for table, _, descriptions in _core.record_tables():
        rows = "".join(f"        Column{description},\n" for description in descriptions)
        text += f"    {table!r}: (\n{rows}    ),\n"
    return text + "}\n"


def write_protocol() -> None:
    """Write the modules of the agents' protocol."""
    outputs = [f"--{kind}_out={PYTHON}" for kind in ("python", "pyi", "grpc_python")]
    protocol = PACKAGE / "hosts" / "proto" / "agent.proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PYTHON}", *outputs, str(protocol)]
    subprocess.run(command, check=True)


def main() -> None:
    """Write all modules."""
    schema = json.loads(_core.run_spec_schema())
    (PACKAGE / "plan" / "_run_spec.py").write_text(run_spec(schema), encoding="utf-8")
    (PACKAGE / "store" / "columns.py").write_text(columns(schema), encoding="utf-8")
    write_protocol()


if __name__ == "__main__":
    main()
