"""Trials of the simulator and of the transport over real sockets, side by side in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from unittest import mock

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.support.loopback import Loopback, build
from tests.support.samples import PLAN
from tests.web.conftest import log_in, serving

from fabricbench.backend.registry import BACKENDS, Registered
from fabricbench.cli.main import run
from fabricbench.store import Workspace


@dataclass(frozen=True)
class Lab:
    """A server of a workspace in which two backends ran one plan.

    Attributes:
        address: Of the server.
        trials: A trial of each backend.
    """

    address: str
    trials: dict[str, str]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = tmp_path_factory.mktemp("lab")
    (root / "small.yaml").write_text(PLAN)
    backend = Loopback(build())
    with mock.patch.dict(BACKENDS, {"loopback": Registered(lambda: backend)}):
        for name in ("sim", "loopback"):
            arguments = ["run", str(root / "small.yaml"), "--backend", name]
            assert run([*arguments, "--workspace", str(root / "workspace")]) == 0
    trials = Workspace.open(root / "workspace").trials()
    with serving(root / "workspace") as address:
        yield Lab(address, {trial.facts.backend: trial.id for trial in trials})


@pytest.fixture
def page(context: BrowserContext, lab: Lab) -> Page:
    log_in(context, lab.address)
    return context.new_page()


def test_trials_of_both_are_listed_filtered_and_compared(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.address}/trials?view=trials")
    rows = page.get_by_role("table", name="Trials").locator(".grid-body [role=row]")
    expect(rows).to_have_count(4)
    page.get_by_role("combobox", name="Backend").click()
    page.get_by_role("option", name="loopback").click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("loopback")
    page.goto(f"{lab.address}/trials?view=trials")
    for name in ("sim", "loopback"):
        rows.filter(has=page.get_by_text(name, exact=True)).first.get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare").last.click()
    table = page.get_by_role("table", name=re.compile("^Metrics of job"))
    expect(table.get_by_role("row", name=re.compile("^Bus bandwidth"))).not_to_have_count(0)


def test_a_view_of_what_a_backend_does_not_observe_says_so(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.address}/trials/{lab.trials['loopback']}/chunks")
    expect(page.get_by_role("table", name="Table chunks")).to_be_visible()
    page.goto(f"{lab.address}/trials/{lab.trials['loopback']}/ports")
    expect(page.get_by_text("needs the table ports, which backend loopback does not record")).to_be_visible()
    page.goto(f"{lab.address}/trials/{lab.trials['sim']}/ports")
    expect(page.get_by_role("table", name="Table ports")).to_be_visible()


def test_measured_and_predicted_stand_beside_each_other_in_table_and_chart(page: Page, lab: Lab) -> None:
    for name in ("sim", "loopback"):
        page.goto(f"{lab.address}/compare?trial={lab.trials[name]}&by=twin")
        table = page.get_by_role("table", name="Measured and predicted")
        expect(table.get_by_role("row", name=re.compile("test, 1 MB loopback sim"))).to_contain_text(
            "retransmitted frames"
        )
        expect(table.locator("tbody tr")).to_have_count(2)
        expect(page.locator(".js-plotly-plot")).to_be_visible()
        expect(page.get_by_text("in proportion to the predicted time")).to_be_visible()
