"""The documentation of metrics, tables and output says what the code does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from fabricbench.analysis.summary.bandwidth import BUS_FACTORS
from fabricbench.analysis.summary.job_summary import JobFacts
from fabricbench.store.record.schema import TRIALS

DOCS = Path(__file__).parents[2] / "docs"


def rows(text: str) -> list[list[str]]:
    """Return the cells of every line of a table."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_every_collective_has_its_bus_factor_documented() -> None:
    text = section((DOCS / "metrics.md").read_text(), "Data size and bus factor")
    factors = {names(row[0])[0]: row[3] for row in rows(text) if names(row[0])}
    assert set(factors) == set(BUS_FACTORS)
    for collective, formula in factors.items():
        expression = re.sub(r"\b2 (\(|n)", r"2 * \1", formula)
        assert BUS_FACTORS[collective](8) == eval(expression, {"n": 8})


def test_every_column_of_the_results_is_documented() -> None:
    text = section((DOCS / "records.md").read_text(), TRIALS)
    fields = [field.name for field in dataclasses.fields(JobFacts)]
    documented = [name for row in rows(text) for name in names(row[0])]
    assert documented == ["id", "plan", "variant", "iteration", *fields]
