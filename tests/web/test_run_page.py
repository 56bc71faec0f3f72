"""The page of a run, while it runs and after its end."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.support.searches import SMALL as SEARCHED
from tests.web.conftest import Served, serving_trials

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
    expect(page.get_by_text("2 of 2")).to_be_visible()
    return address


def test_its_charts_are_there_after_a_reload(page: Page, finished: str) -> None:
    page.goto(finished)
    expect(page.locator("main .figure[data-drawn=true]").nth(1)).to_be_visible()


def test_its_simulated_time_is_that_of_the_last_trial(page: Page, served: Served, finished: str) -> None:
    run = page.request.get(f"{served.address}/api/v1{finished.removeprefix(served.address)}").json()
    trial = page.request.get(f"{served.address}/api/v1/trials/{run['trials'][-1]['id']}").json()
    completion_ms = trial["shown"]["trials"][0]["completion_time_ms"]
    # The last acknowledgement comes a little later than the last byte.
    assert completion_ms <= run["progress"]["sim_ps"] / 1e9 < 1.02 * completion_ms
    page.goto(finished)
    shown = page.locator("main", has_text="Simulated time").inner_text()
    assert re.search(rf"Simulated time\s+{run['progress']['sim_ps'] / 1e6:.2f} us", shown), shown


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
    expect(page.get_by_role("table", name="Trials of the run").locator("tbody tr")).to_have_count(
        len(run["trials"])
    )
