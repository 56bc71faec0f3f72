"""axe-core holds every page against WCAG 2.2 AA, in light and dark colours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.web.axe import serious, serious_in_dark
from tests.web.conftest import Served, serving_trials
from tests.web.test_trials import VIEWS

from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.store import Workspace

PAGES = {
    "runs": "/runs",
    "trials": "/runs?view=trials",
    "run": "/runs/{run}",
    "run of the command line": "/runs/{suite}",
    "import": "/import",
    "expected": "/expected?cluster=dgx-h100&servers=2&collective=all-gather",
    "explain": "/explain",
    "configure": "/configure?plan=expect-rails",
    "plans to start from": "/configure?start=plans",
    "hosts": "/hosts",
    "compare": "/compare?trial={congested}&trial={clear}",
    "validation": "/validation",
    "docs": "/docs",
    "missing": "/compare/nothing",
} | {view: f"/trials/{{congested}}/{view}" for view in VIEWS}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, as runs are queued there."""
    with serving_trials(tmp_path_factory.mktemp("accessibility") / "lab") as served:
        yield served


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(page: Page, served: Served, name: str) -> None:
    path = PAGES[name].format(
        congested=served.congested.id,
        clear=served.clear.id,
        run=_a_run(page, served),
        suite=Workspace.open(served.root).find(served.clear.id).facts.suite,
    )
    page.goto(f"{served.address}{path}")
    expect(page.locator("main :is(h1, h2)").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator(".figure[data-drawn=false]")).to_have_count(0)
    assert serious(page) == []
    assert serious_in_dark(page) == []


def test_axe_finds_nothing_serious_where_the_token_is_asked_for(
    context: BrowserContext, served: Served
) -> None:
    page = context.new_page()
    page.goto(served.address)
    expect(page.get_by_label("Token")).to_be_visible()
    assert serious(page) == []


def test_axe_is_heard_when_it_finds_something(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/hosts")
    expect(page.locator("h1")).to_be_visible()
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=/favicon.svg>'")
    assert any("image-alt" in each for each in serious(page))
    page.evaluate("document.querySelector('h1').innerHTML = '<b style=color:#333>Hosts</b>'")
    assert any("color-contrast" in each for each in serious_in_dark(page))


def _a_run(page: Page, served: Served) -> str:
    """A run of the server's queue; one that waits for nothing is made where there is none."""
    runs = page.request.get(f"{served.address}/api/v1/runs").json()["runs"]
    if runs:
        return str(runs[0]["id"])
    answer = page.request.post(
        f"{served.address}/api/v1/runs",
        data={"yaml": shipped_plans()["jct-alltoall"].read_text(), "set": ["sweep.data_size=[1MB]"]},
        headers={"Origin": served.address},
    )
    assert answer.status == 202, answer.text()
    return str(answer.json()["id"])
