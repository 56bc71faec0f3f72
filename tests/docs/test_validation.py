"""Tables of docs/reference/validation.md: every published value of a plan is next to ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricbench.metrics import METRICS
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.runner import loading

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "validation.md"
BEGIN = re.compile(
    r"<!-- (?P<plan>[a-z0-9-]+)(?P<options>( [^>]*)?): begin -->\n(?P<table>.*?)<!-- ", re.DOTALL
)
TABLES = {each["plan"]: each["table"] for each in BEGIN.finditer(PAGE.read_text(encoding="utf-8"))}
PUBLISHED = [name for name in TABLES if "\npublished:" in shipped_plans()[name].read_text(encoding="utf-8")]


def published_values(plan: str) -> set[str]:
    """Return what is published of a plan in metrics of ours; the bus bandwidth stands for algbw as well."""
    known = {metric.published for metric in METRICS if metric.published} - {"algbw_gb_per_s"}
    return {
        f"/ {value:,g}"
        for variant in loading.load(plan).variants
        if variant.published is not None
        for row in variant.published.rows.values()
        for name, value in row.items()
        if name in known
    }


@pytest.mark.parametrize("plan", PUBLISHED)
def test_every_published_value_stands_beside_ours(plan: str) -> None:
    table = TABLES[plan]
    if not table.startswith("The same as"):
        missing = {value for value in published_values(plan) if value not in table}
        assert missing == set()
