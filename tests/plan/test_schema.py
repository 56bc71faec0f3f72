"""The schema of a plan documents every field, and the reference page has each of them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.plan.examples import SMALL, with_line
from tools import plan_reference

from fabricbench.plan.document.document import read_text
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.document.validate import field_paths
from fabricbench.plan.engine import algorithms
from fabricbench.plan.model import Plan
from fabricbench.plan.schema import plan_schema

ROOT = Path(__file__).parents[2]


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every field of every mapping."""
    for mapping in [schema, *schema["$defs"].values()]:
        for form in [mapping, *mapping.get("anyOf", [])]:
            yield from form.get("properties", {}).items()


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(plan_schema())


def errors_in(text: str) -> list[str]:
    return [error.message for error in validator().iter_errors(read_text(text, "plan.yaml").data)]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(plan_schema())


@pytest.mark.parametrize("path", shipped_plans().values(), ids=lambda path: path.stem)
def test_it_takes_every_shipped_plan(path: Path) -> None:
    assert errors_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ack_every: 2", "ack_evry: 2"),
        ("mtu: 4096", "mtu: 4000"),
        ("400Gbps", "400GB"),
        ("leaf-spine", "leafspine"),
        ("    leaves: 2\n", ""),
        ("[16MB, 32MB]", "{start: 16Mb, end: 1GB}"),
        ("[16MB, 32MB]", "0"),
        ("all-to-all", "alltoall"),
        ('"0-7"', '"0;7"'),
    ],
)
def test_it_refuses_what_a_field_may_not_be(old: str, new: str) -> None:
    assert errors_in(SMALL) == []
    assert errors_in(with_line(old, new)) != []


def test_it_names_the_algorithms_of_the_engine() -> None:
    job = plan_schema()["$defs"]["Job"]["properties"]
    assert job["collective"]["enum"] == [*algorithms(), "storage"]
    assert set(job["algorithm"]["anyOf"][0]["enum"]) == {
        name for names in algorithms().values() for name in names
    }


def test_every_field_is_described() -> None:
    schema = plan_schema()
    for name, field in properties(schema):
        reference = field.get("$ref", "").rpartition("/")[2]
        description = field.get("description") or schema["$defs"][reference]["description"]
        assert description.endswith("."), name


def test_every_number_with_a_default_has_a_source() -> None:
    # A count of things to do, or a choice that no measurement decides, has none.
    chosen = {"seed", "iterations", "links_per_spine", "links_per_core", "count", "hosts", "root", "start"}
    without = {
        name
        for name, field in properties(plan_schema())
        if str(field.get("default"))[:1].isdigit()
        if " Source: " not in field["description"]
    }  # fmt: skip
    assert without == chosen


def test_every_quantity_names_its_unit() -> None:
    for name, field in properties(plan_schema()):
        if "pattern" in str(field.get("anyOf", [field])[0]) and "format" in str(field):
            assert "[" in field.get("description", "["), name


def test_the_reference_page_has_every_field() -> None:
    page = plan_reference.page()
    fields = {path[-1] for path in field_paths(Plan)}
    assert {"step_overhead", "links_per_spine", "series_ports"} <= fields
    assert {field for field in fields if f"\n| `{field}` |" not in page} == set()
    kinds = [each.get("properties", {}).get("kind", {}) for each in plan_schema()["$defs"].values()]
    named = {kind["const"] for kind in kinds if "const" in kind}
    assert {kind for kind in named if f"\n- `{kind}`: " not in page} == set()


def test_the_first_plan_of_the_page_is_a_plan() -> None:
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    assert errors_in(text) == []
