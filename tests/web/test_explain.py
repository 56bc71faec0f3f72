"""Pasted and dropped output is explained on one page: curve, measured points, causes, next test; refusals."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.axe import serious
from tests.web.conftest import Served

MEASURED = Path(__file__).parents[1] / "measured"
DIAGNOSED = MEASURED / "diagnosed"
CONFIGURATION = MEASURED.parent / "devices" / "samples" / "port_qos.json"


@pytest.fixture
def explain(page: Page, served: Served) -> Page:
    """The page."""
    page.goto(f"{served.address}/explain")
    expect(page.get_by_role("button", name="Explain", exact=True)).to_be_disabled()
    return page


def paste(page: Page, path: Path) -> None:
    page.get_by_label("Paste", exact=True).fill(path.read_text())


def ask(page: Page) -> None:
    page.get_by_role("button", name="Explain", exact=True).click()


def test_results_a_plan_and_a_configuration_give_one_page(explain: Page) -> None:
    paste(explain, DIAGNOSED / "nccl-two-servers.txt")
    explain.get_by_role("button", name="Paste another").click()
    paste(explain, DIAGNOSED / "two-rails.yaml")
    drop = """(text) => {
        const carried = new DataTransfer();
        carried.items.add(new File([text], "config_db.json"));
        return carried;
    }"""
    carried = explain.evaluate_handle(drop, CONFIGURATION.read_text())
    explain.get_by_role("region", name="Files").dispatch_event("drop", {"dataTransfer": carried})
    expect(explain.get_by_text(re.compile(r"^config_db\.json, "))).to_be_visible()
    ask(explain)
    answer = explain.get_by_role("region", name="Answer")
    expect(answer.get_by_role("heading")).to_contain_text("PCIe slot: an adapter carries")
    expect(answer).to_contain_text("88.63 GB/s")
    expect(answer).to_contain_text("193.5 GB/s")
    expect(answer).to_contain_text("Next: lspci -vv")
    expect(explain.locator("main .figure[data-drawn=true]")).to_be_visible()
    causes = explain.get_by_role("table", name="Causes").locator("tbody tr")
    expect(causes.first).to_contain_text("20.93 GB/s for each adapter")
    expect(causes.first).to_contain_text("possible")
    results = explain.get_by_role("table", name="Measured results").locator("tbody tr")
    expect(results).to_have_count(6)
    basis = explain.get_by_role("region", name="Basis")
    for kind in ("results", "plan", "configuration"):
        expect(basis.get_by_text(kind, exact=True)).to_be_visible()
    assert serious(explain) == []


def test_a_cluster_gives_the_curve_and_is_asked_for_by_its_label(explain: Page) -> None:
    paste(explain, DIAGNOSED / "nccl-spray-go-back-n.txt")
    ask(explain)
    basis = explain.get_by_role("region", name="Basis")
    expect(basis).to_contain_text("\u201cServer\u201d with \u201cServers\u201d")
    expect(basis).not_to_contain_text("--")
    explain.get_by_role("radiogroup", name="Fabric of the results").get_by_text("Cluster").click()
    expect(explain.get_by_role("button", name="Explain", exact=True)).to_be_disabled()
    explain.get_by_role("combobox", name="Server").click()
    explain.get_by_role("option", name="dgx-h100").click()
    ask(explain)
    answer = explain.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("at 8 GB; bound: scale-up")
    expect(answer.get_by_role("heading")).to_contain_text("Reordering")
    explain.get_by_label("Servers").fill("3")
    ask(explain)
    expect(explain.get_by_role("alert")).to_contain_text("Servers: found 3 x dgx-h100, 24 ranks")


def test_a_file_that_cannot_be_read_is_refused_at_its_line(explain: Page) -> None:
    text = (DIAGNOSED / "nccl-two-servers.txt").read_text().replace("5304.1", "x5304.1")
    explain.get_by_label("Paste", exact=True).fill(text)
    ask(explain)
    alert = explain.get_by_role("alert")
    expect(alert).to_contain_text('pasted.txt:18: found "x5304.1"')
    expect(alert.locator("[data-meant=true]")).to_contain_text("x5304.1")
    paste(explain, DIAGNOSED / "nccl-log-socket-line.log")
    ask(explain)
    expect(explain.get_by_role("region", name="Answer")).to_contain_text("Sockets")
    expect(alert).to_have_count(0)
