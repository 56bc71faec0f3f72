"""Real agents seen from the browser: their state, a plan run on them, measured and predicted in one chart."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.hosts.processes import Hosts
from tests.server.live import Live, live
from tests.server.test_hosts_runs import LONG, PLAN
from tests.web.conftest import log_in


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    hosts = Hosts(tmp_path_factory.mktemp("agents"), 2, "80Mbps")
    yield hosts
    hosts.end()


@pytest.fixture(scope="module")
def server(agents: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("workspace"), "--hosts", f"rack={agents.file}") as running:
        yield running


@pytest.fixture
def page(context: BrowserContext, server: Live) -> Iterator[Page]:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    log_in(context, server.address)
    yield page
    assert complaints == []


def configure(page: Page, server: Live, text: str, query: str = "") -> None:
    page.goto(f"{server.address}/configure{query}")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def choose_rack(page: Page) -> None:
    page.locator("#field-hosts").click()
    page.get_by_role("option", name="Hosts rack: 2 hosts").click()


def test_a_plan_is_run_on_hosts_and_read_beside_its_prediction(page: Page, server: Live) -> None:
    configure(page, server, PLAN)
    expect(page.get_by_text("2 trials, 2 ranks on 2 hosts")).to_be_visible()
    expect(page.get_by_label("With a prediction")).to_be_disabled()
    choose_rack(page)
    expect(page.get_by_text(re.compile("^h0 (ready|warning)$"))).to_be_visible()
    notes = page.get_by_role("list", name="Before it runs")
    expect(notes).to_contain_text("2 ranks on h0, h1, driver roce")
    expect(notes).to_contain_text("are for predictions only")
    page.get_by_label("With a prediction").click()
    expect(page.get_by_label("With a prediction")).to_be_checked()
    expect(page.get_by_text("prediction: about")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    expect(page.get_by_text("on hosts rack, with its prediction")).to_be_visible()
    expect(page.get_by_text("4 of 4 trials")).to_be_visible()
    rows = page.get_by_role("table", name="Measured and predicted").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(re.compile(r"[\d.]+ %"))
    figure = page.get_by_role("figure", name=re.compile("[Mm]easured"))
    expect(figure.locator(".figure[data-drawn=true]")).to_have_count(1)
    lines = "figure.querySelector('.js-plotly-plot').data.map(line => `${line.name} ${line.x.length}`).join()"
    drawn = "measured 2,predicted 2,deviation 2"
    # It may have been drawn while the run had measured one, and comes again.
    page.wait_for_function(f"([figure, drawn]) => {lines} === drawn", arg=[figure.element_handle(), drawn])
    results = page.get_by_role("table", name="Results of the run").locator("tbody tr")
    expect(results).to_have_count(2)
    results.last.get_by_role("link").click()
    page.get_by_role("tab", name="Hosts", exact=True).click()
    hosts = page.get_by_role("table", name="Hosts of the trial")
    expect(hosts.locator("tbody tr")).to_have_count(2)
    expect(hosts).to_contain_text("127.0.1.1")
    late = hosts.locator("tbody tr").first.locator("td").last.inner_text()
    assert float(late.replace(",", "")) >= 0
    expect(page.get_by_role("table", name="Counters of the endpoints")).to_contain_text("start skew")
    page.get_by_role("tab", name="Plan and run").click()
    expect(page.get_by_text("architecture", exact=True)).to_be_visible()
    expect(page.get_by_text("[object Object]")).to_have_count(0)


def test_a_run_that_waits_for_hosts_says_so(page: Page, server: Live) -> None:
    first = server.submit(LONG, backend="hosts", hosts="rack")
    server.until_state(first, "running")
    second = server.submit(PLAN, backend="hosts", hosts="rack")
    page.goto(f"{server.address}/runs/{second}")
    expect(page.get_by_text(f"It waits for hosts rack: run {first} uses them.")).to_be_visible()
    page.goto(f"{server.address}/hosts")
    expect(page.get_by_text("2 hosts, 2 busy with a run")).to_be_visible()
    page.goto(f"{server.address}/runs/{first}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("cancelled", exact=True).first).to_be_visible()
    page.goto(f"{server.address}/runs/{second}")
    expect(page.get_by_text("2 of 2 trials")).to_be_visible()


def test_what_cannot_be_had_is_told_where_it_is_chosen(page: Page, server: Live) -> None:
    wide = PLAN.replace("hosts: 2", "hosts: 4").replace("0-1", "0-3")
    configure(page, server, wide, "?hosts=rack")
    expect(page.get_by_text("ranks on host2, host3, which nobody plays")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    page.goto(f"{server.address}/configure?hosts=gone")
    page.get_by_role("button", name="hosts", exact=True).click()
    expect(page.locator("#field-hosts")).to_be_focused()
