"""The page of a cluster's expected curve: a form, the curve, its table; and the newcomer's plan, run."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Served, serving

import fabricbench as fb

GB = 1 << 30
NEWCOMER = """\
fabricbench: 1
name: mine
title: 64 hosts x 8 GPUs, 400G rails, 2 tiers
backend: flow
fabric:
  topology: {kind: rail-optimised, servers: 64, rails: 8, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}
  switch: {pfc: on, ecn: sonic}
transport: {rate_control: dcqcn}
jobs: [{name: training, collective: all-reduce, algorithm: ring}]
sweep: {data_size: 1GB}
observe: {chunks: summary}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, as runs are queued there."""
    root = tmp_path_factory.mktemp("expected") / "lab"
    trial = fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=root)[0]
    with serving(root) as address:
        yield Served(root, address, trial, trial)


def test_the_form_gives_the_curve_of_the_command_line(page: Page, served: Served) -> None:
    page.goto(served.address)
    page.get_by_role("link", name="Expected").click()
    expect(page.get_by_role("heading", name="What should my cluster give?")).to_be_visible()
    page.get_by_label("Servers").fill("2")
    page.get_by_role("combobox", name="Collective").click()
    page.get_by_role("option", name="all-gather").click()
    page.get_by_role("button", name="Show the curve").click()
    expect(page.get_by_role("heading", name="2 x dgx-h100, rail-optimised, NCCL 2.30")).to_be_visible()
    expect(page.locator("main .figure[data-drawn=true]")).to_be_visible()
    table = page.get_by_role("table", name="Expected results by size")
    curves = fb.expect(cluster="dgx-h100", servers=2, collectives=["all-gather"])
    (row,) = curves.frame.filter(data_size_bytes=GB).to_dicts()
    cells = table.locator("tbody tr", has_text=re.compile(r"^1 GB")).locator("td").all_inner_texts()
    assert cells[:3] == [row["algorithm"], row["protocol"], str(row["channels"])]
    assert cells[4] == f"{row['busbw_gb_per_s_median']:.1f}"
    assert cells[6] == row["bound"]
    expect(page.get_by_text(curves.nccl_tests[0])).to_be_visible()
    page.reload()
    expect(page.get_by_label("Servers")).to_have_value("2")
    expect(table).to_be_visible()


def test_a_refused_cluster_is_explained(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/expected?cluster=gb200-nvl72&servers=20")
    expect(page.get_by_text("20 in scale-up domains of 18")).to_be_visible()


def test_the_plan_of_a_newcomer_gives_the_rate_of_the_adapters(page: Page, served: Served) -> None:
    answer = page.request.post(
        f"{served.address}/api/v1/runs", data={"yaml": NEWCOMER}, headers={"Origin": served.address}
    )
    run_id = answer.json()["id"]
    page.goto(f"{served.address}/runs/{run_id}")
    expect(page.get_by_role("table", name="Results of the run").locator("tbody tr")).to_have_count(1)
    run = page.request.get(f"{served.address}/api/v1/runs/{run_id}").json()
    page.goto(f"{served.address}/trials/{run['trials'][0]['id']}")
    trial = page.request.get(f"{served.address}/api/v1/trials/{run['trials'][0]['id']}").json()
    busbw = trial["shown"]["trials"][0]["busbw_gb_per_s"]
    assert 365 < busbw < 385
    expect(page.get_by_text(f"{busbw:.1f}").first).to_be_visible()
