"""The page of a run, while it runs and after its end."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.support.searches import SMALL as SEARCHED
from tests.web.conftest import Served, serving_trials

import fabricbench as fb
from fabricbench.plan.document.shipped import shipped_plans


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, as runs are queued there."""
    with serving_trials(tmp_path_factory.mktemp("run-page") / "lab") as served:
        yield served


@pytest.fixture
def finished(page: Page, served: Served) -> str:
    """The address of a run of two trials that has finished."""
    answer = page.request.post(
        f"{served.address}/api/v1/runs",
        data={
            "yaml": shipped_plans()["cc-alltoall-pfc-ecn"].read_text(),
            "set": ["sweep.data_size=[1MB, 4MB]"],
        },
        headers={"Origin": served.address},
    )
    address = f"{served.address}/runs/{answer.json()['id']}"
    page.goto(address)
    expect(page.get_by_text("2 of 2 trials")).to_be_visible()
    return address


TENANTS = {
    "fabricbench": 1,
    "name": "tenants",
    "title": "Do tenants disturb each other?",
    "fabric": {"topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 6, "spines": 2}},
    "jobs": [
        {"name": "moe", "ranks": "0-1,6-7", "collective": "all-to-all"},
        {"name": "ring", "ranks": "2-3,8-9", "collective": "all-reduce", "algorithm": "ring"},
        {"name": "storage", "ranks": "4-5,10-11", "collective": "incast"},
    ],
    "sweep": {"data_size": "1MB"},
    "variants": [
        {"name": "ecmp", "reference": True},
        {"name": "spray", "set": {"fabric.load_balancing": "spray-random"}},
    ],
    "criteria": [{"metric": "busbw_gb_per_s", "min": 1000, "job": "moe"}],
}


@pytest.fixture
def tenants(served: Served) -> str:
    """The address of a server whose workspace has a run of three tenants that the command line made."""
    fb.run(fb.load(TENANTS), workspace=served.root)
    return served.address


def test_a_run_of_the_queue_shows_its_results_after_its_end(page: Page, finished: str) -> None:
    page.goto(finished)
    expect(page.get_by_text("Bus bandwidth of 2 results")).to_be_visible()
    expect(page.get_by_role("figure", name="Bus bandwidth against data size")).to_be_visible()
    expect(page.get_by_role("table", name="Results of the run").locator("tbody tr")).to_have_count(2)


def test_a_run_of_the_command_line_is_answered_from_the_list_of_runs(page: Page, tenants: str) -> None:
    """Three tenants under two variants, one with a criterion that is not met."""
    page.goto(f"{tenants}/runs")
    page.get_by_role("table", name="Runs").get_by_role("link", name="tenants").click()
    page.wait_for_url(re.compile("/runs/[0-9a-f]{12}$"))
    expect(page.get_by_role("heading", level=1, name="Do tenants disturb each other?")).to_be_visible()
    expect(page.get_by_text("not met", exact=True).first).to_be_visible()
    expect(page.get_by_text(re.compile("^2 of 2 criteria not met: busbw of moe"))).to_be_visible()
    panels = page.get_by_role("figure", name="Results of the run").locator(".figure[data-drawn=true]")
    expect(panels.locator(".subplot")).to_have_count(3)
    shares = page.get_by_role("table", name="Share of the ideal")
    expect(shares.locator("tbody tr")).to_have_count(3)
    expect(shares.locator("tbody tr", has_text="moe").locator("td", has_text="✕")).to_have_count(2)
    expect(page.get_by_text("6 results, worst first")).to_be_visible()
    results = page.get_by_role("table", name="Results of the run").locator("tbody tr")
    assert [row.locator("td").nth(1).inner_text() for row in results.all()][:2] == ["moe", "moe"]
    page.get_by_role("link", name=re.compile("^Try: ")).first.click()
    page.wait_for_url(re.compile(r"/configure\?trial=[0-9a-f]{12}&set="))
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(page.get_by_text(re.compile("^1 trial, "))).to_be_visible()


def test_what_a_search_found_stands_above_its_trials(page: Page, served: Served) -> None:
    answer = page.request.post(
        f"{served.address}/api/v1/runs", data={"yaml": SEARCHED}, headers={"Origin": served.address}
    )
    run_id = answer.json()["id"]
    page.goto(f"{served.address}/runs/{run_id}")
    table = page.get_by_role("table", name="Results of the search")
    expect(table.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("heading", name="The highest jobs.burst.data_size")).to_be_visible()
    run = page.request.get(f"{served.address}/api/v1/runs/{run_id}").json()
    cells = [[case["holds"], case["fails"], str(case["tried"])] for case in run["search"]]
    assert [row.locator("td").all_inner_texts()[-3:] for row in table.locator("tbody tr").all()] == cells
    page.get_by_text(f"{len(run['trials'])} results, worst first").click()
    expect(page.get_by_role("table", name="Results of the run").locator("tbody tr")).to_have_count(
        len(run["trials"])
    )
