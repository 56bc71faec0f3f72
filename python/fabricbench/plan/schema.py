"""Builds the JSON Schema of a test plan, for editors and for the reference of its fields."""

from typing import Any

from fabricbench.plan import engine
from fabricbench.plan.jobs import STORAGE
from fabricbench.plan.model import Plan

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan file.

    It has the type of each field, with the engine's collectives and algorithms; properties of the whole plan,
    such as whether the ranks fit on the hosts, are checked by `plan check`.
    """
    schema = Plan.model_json_schema()
    _drop_generated_titles(schema)
    job = schema["$defs"]["Job"]["properties"]
    algorithms = engine.algorithms()
    job["collective"]["enum"] = [*algorithms, STORAGE]
    names = sorted({name for names in algorithms.values() for name in names})
    job["algorithm"]["anyOf"] = [{"type": "string", "enum": names}, {"type": "null"}]
    return {"$schema": DIALECT, "title": "fabricbench test plan"} | schema


def _drop_generated_titles(node: Any) -> None:
    """Drop the titles that pydantic derives from the fields' names; they are redundant."""
    if isinstance(node, list):
        for child in node:
            _drop_generated_titles(child)
    elif isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        for child in node.values():
            _drop_generated_titles(child)
