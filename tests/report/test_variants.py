"""Variants side by side on the page and as data: what is shown, highlighted and left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.stored import store_variants

from fabricbench.report.documents.table import Note, Table
from fabricbench.report.html.page_parts import Page, Section
from fabricbench.report.html.run_page import build_page
from fabricbench.report.html.sections.variant_details import MAX_OTHERS
from fabricbench.results.job_reports import reports_of_run
from fabricbench.results.variants import versus_rows
from fabricbench.store import Trial

NAMES = ["ideal", "ecmp", "spray"]
SIZES = [2**24, 2**25]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return store_variants(tmp_path_factory.mktemp("variants"), NAMES, sizes=SIZES)


def section(page: Page, key: str) -> Section:
    return next(each for each in page.sections if each.key == key)


def test_rows_have_every_variant_in_the_order_of_the_plan(trials: list[Trial]) -> None:
    rows = versus_rows(reports_of_run(trials))
    assert [(row.size, row.job, row.ratio) for row in rows] == [
        (size, "test", "completion_time_ratio") for size in ("16 MB", "32 MB")
    ]
    for row in rows:
        assert [result.variant for result in row.results] == NAMES
        assert [result.value for result in row.results] == pytest.approx([1, 1.1, 1.2], rel=1e-6)
        assert [row.verdict(result) for result in row.results] == ["same", "worse", "worse"]


def test_the_page_begins_with_the_ratios(trials: list[Trial]) -> None:
    page = build_page(trials, trials[0])
    assert [each.key for each in page.sections][:3] == ["variants", "bandwidth", "summary"]
    found = section(page, "variants")
    table = next(part for part in found.parts if isinstance(part, Table))
    assert [column.title for column in table.columns] == ["size", "job", *NAMES]
    cells = table.rows[0].filled[2:]
    assert [(cell.text, cell.tone, cell.href) for cell in cells] == [
        ("1.000", "", "#variant-ideal"),
        ("1.100", "bad", "#variant-ecmp"),
        ("1.200", "bad", "#variant-spray"),
    ]
    notes = [part.text for part in found.parts if isinstance(part, Note)]
    assert notes == [
        f"{name}: completion time {ratio} times that of ideal (less is better)."
        for name, ratio in (("ecmp", "1.100"), ("spray", "1.200"))
    ]
    assert table_of(found, "parameter").rows[0].filled[0].text == "seed"


def table_of(found: Section, first_column: str) -> Table:
    tables = [part for part in found.parts if isinstance(part, Table)]
    return next(table for table in tables if table.columns[0].title == first_column)


def test_each_variant_has_sections_of_its_own_under_its_own_anchors(trials: list[Trial]) -> None:
    page = build_page(trials, trials[1])
    keys = [each.key for each in page.sections]
    assert len(keys) == len(set(keys))
    assert {"timeline", "timeline-ideal", "timeline-spray", "variant-ecmp", "variant-ideal"} <= set(keys)
    assert "timeline-ecmp" not in keys
    assert section(page, "timeline-ideal").about == f"variant ideal · trial {trials[0].id}"
    assert not section(page, "timeline-ideal").in_contents
    assert section(page, "variant-ideal").in_contents


def test_only_some_variants_have_plots_and_all_have_their_anchor(tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(MAX_OTHERS + 3)]
    trials = store_variants(tmp_path, names, sizes=[2**22])
    page = build_page(trials, trials[0])
    keys = {each.key for each in page.sections}
    assert {f"variant-{name}" for name in names} <= keys
    assert {f"timeline-{name}" for name in names[1 : MAX_OTHERS + 1]} <= keys
    assert f"timeline-{names[-1]}" not in keys
    assert "Reduced" in str(section(page, f"variant-{names[-1]}").parts[-1])


def test_without_the_reference_there_is_nothing_to_compare(trials: list[Trial]) -> None:
    others = [trial for trial in trials if trial.facts.variant != "ideal"]
    page = build_page(others, others[0])
    assert "variants" not in {each.key for each in page.sections}
