"""Items of the published documents: evidence in the product, and the figures that they name."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

import pytest
import typer
from tools import documents

from fabricbench.cli.main import program
from fabricbench.figures.registry import FIGURES
from fabricbench.metrics import METRICS
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.store.columns import COLUMNS

ROOT = Path(__file__).parents[2]
DOCUMENTS = documents.documents()
ITEMS = [item for document in DOCUMENTS for item in document.items]
METHODS = ("jct", "lb", "isolation", "cc", "ddc", "imb", "dfs", "spray", "interconnect")
"""Folders of the plans that run these documents."""
loaded = cache(loading.load)


def plan_with(plan: str, field: str, value: str) -> LoadedPlan:
    return loading.load(plan, [f"{field}={value}"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_has_a_method_page_and_no_item_twice(document: documents.Document) -> None:
    assert (ROOT / "docs" / "methods" / f"{document.method}.md").is_file()
    names = [(item.place, item.item) for item in document.items]
    assert len(names) == len(set(names))


def test_every_plan_of_the_documents_is_evidence_of_an_item() -> None:
    shipped = {name for name, path in shipped_plans().items() if path.parent.name in METHODS}
    assert shipped - {plan for item in ITEMS for plan in item.plans} == set()


def test_metrics_columns_and_figures_are_those_of_the_registries() -> None:
    columns = {f"{table}.{column.name}" for table, each in COLUMNS.items() for column in each}
    assert {name for item in ITEMS for name in item.metrics} <= {metric.name for metric in METRICS}
    assert {name for item in ITEMS for name in item.columns} <= columns
    assert {name for item in ITEMS for name in item.figures} <= set(FIGURES)


@pytest.mark.parametrize(
    ("plan", "field", "value"),
    [(plan, *field) for item in ITEMS for plan in item.plans for field in item.fields.items()],
)
def test_a_plan_has_the_value_of_the_document(plan: str, field: str, value: str) -> None:
    changed = plan_with(plan, field, value)
    assert changed.plan == loaded(plan).plan, f"{plan}: {field} is not {value}"
    assert [each.plan for each in changed.variants] == [each.plan for each in loaded(plan).variants]


@pytest.mark.parametrize("line", sorted({item.command for item in ITEMS if item.command}))
def test_a_command_is_one_of_the_product(line: str) -> None:
    name, command, *arguments = shlex.split(line)
    assert name == "fabricbench"
    typer.main.get_command(program()).commands[command].make_context(command, arguments)  # type: ignore[attr-defined]


@pytest.mark.parametrize("check", [check for item in ITEMS for check in item.checks], ids=str)
def test_a_checked_figure_is_in_the_validation_page_or_held_by_a_test(check: documents.Check) -> None:
    if check.test:
        path, _, name = check.test.partition("::")
        assert f"{name}(" in (ROOT / path).read_text(encoding="utf-8")
    else:
        assert documents.cell(documents.validation_tables(), check)
