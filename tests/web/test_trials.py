"""The workspace, the views of a trial, comparison and downloads."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.web.conftest import TOKEN, Served, log_in, serving

import fabricbench as fb

VIEWS = {
    "summary": 1,
    "diagnosis": 0,
    "chunks": 0,
    "distribution": 3,
    "timeline": 2,
    "over-time": 3,
    "flows": 0,
    "ports": 0,
    "links": 2,
    "port-map": 0,
    "plan": 0,
}
"""Each view and how many figures it has at least."""


def rows(page: Page, label: str):  # type: ignore[no-untyped-def]
    return page.get_by_role("table", name=label).locator(".grid-body [role=row]")


def test_every_view_of_a_trial_is_drawn(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}")
    expect(page.get_by_role("tab")).to_have_count(len(VIEWS))
    for tab, (view, least) in zip(page.get_by_role("tab").all(), VIEWS.items(), strict=True):
        tab.click()
        page.wait_for_url(f"**/{view}")
        page.wait_for_load_state("networkidle")
        figures = page.locator(".figure")
        if least > 0:
            expect(figures.nth(least - 1)).to_be_attached()
        expect(page.locator(".figure[data-drawn=false]")).to_have_count(0)
        assert page.get_by_text("cannot be shown").count() == 0, view
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), view


def test_figures_are_those_of_the_command_line_to_the_last_digit(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}")
    shown = page.locator('tr:has([title="busbw_gb_per_s"]) td span')
    assert float(shown.get_attribute("title") or "") == served.congested.summary["busbw_gb_per_s"][0]


def test_the_table_of_chunks_is_sorted_and_filtered_by_the_server(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/chunks")
    expect(page.get_by_text("56 rows")).to_be_visible()
    page.get_by_label("Filter rows").fill("src_rank=3")
    expect(page.get_by_text("7 rows")).to_be_visible()
    page.get_by_role("button", name=re.compile("^fct")).click()
    page.wait_for_url(re.compile("sort=fct_ps"))
    page.reload()
    expect(page.get_by_text("7 rows")).to_be_visible()
    assert [row.inner_text().split("\n")[1] for row in rows(page, "Table chunks").all()] == ["3"] * 7


def test_zooming_into_the_timeline_asks_for_more_of_it(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/timeline")
    place = page.locator(".figure[data-drawn=true]").first
    expect(place).to_be_visible()
    box = place.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    with page.expect_response(re.compile(r"figures/timeline\?from_ps=\d+&to_ps=\d+")):
        page.mouse.move(box["x"] + 40, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 240, box["y"] + 102, steps=5)
        page.mouse.up()
    expect(page.get_by_role("button", name="Whole run")).to_be_visible()
    page.get_by_label("Sending ranks").fill("0-1")
    page.wait_for_url(re.compile("rank=0-1"))
    page.get_by_role("button", name="Whole run").click()
    expect(page.get_by_role("button", name="Whole run")).to_have_count(0)


def test_a_zoom_in_one_figure_over_time_moves_the_others(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/over-time")
    expect(page.locator(".figure[data-drawn=true]").nth(2)).to_be_attached()
    whole = ranges(page)
    assert len(whole) == 1
    box = page.locator(".figure .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 62, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    page.wait_for_function("all => window.rangesOf().join() !== all", arg=",".join(whole))
    page.wait_for_function("() => window.rangesOf().length === 1")
    (zoomed,) = ranges(page)
    page.get_by_role("tab", name="Timeline").click()
    page.wait_for_url(re.compile(r"timeline\?from=\d+&to=\d+"))
    page.wait_for_function("zoomed => window.rangesOf().join() === zoomed", arg=zoomed)
    page.locator(".figure .nsewdrag").first.dblclick()
    expect(page.get_by_role("button", name="Whole run")).to_have_count(0)
    page.wait_for_function("whole => window.rangesOf().join() === whole", arg=whole[0])


def ranges(page: Page) -> list[str]:
    """The different stretches that the horizontal axes of the page's figures show."""
    page.evaluate(
        """() => { window.rangesOf = () => [...new Set(
            [...document.querySelectorAll('.figure.js-plotly-plot')]
                .map((each) => each._fullLayout.xaxis.range.map((end) => end.toPrecision(5)).join(' to '))
        )] }"""
    )
    found: list[str] = page.evaluate("window.rangesOf()")
    return found


def test_trials_are_searched_tagged_deleted_and_restored(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials?view=trials")
    page.get_by_label("Search trials").fill("jct-alltoall")
    expect(page.get_by_text("2 trials", exact=True)).to_be_visible()
    page.get_by_role("button", name=re.compile("^Data size")).click()
    page.get_by_role("button", name=re.compile("^Data size")).click()
    expect(rows(page, "Trials").first).to_contain_text("1 MB")
    rows(page, "Trials").first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Tags").click()
    page.get_by_role("dialog").locator("input:visible").first.fill("smallest")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save").click()
    expect(rows(page, "Trials").first).to_contain_text("smallest")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("1 trial", exact=True)).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 trials", exact=True)).to_be_visible()
    page.goto(f"{served.address}/trials?view=trials&tag=smallest")
    expect(rows(page, "Trials")).to_have_count(1)


def test_runs_are_folded_and_open_to_their_trials_in_place(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials?search=jct-alltoall")
    expect(page.get_by_text("2 trials in 1 run")).to_be_visible()
    row = page.get_by_role("table", name="Runs", exact=True).get_by_role("row", name=re.compile("2 sizes"))
    expect(row).to_contain_text("once")
    row.get_by_role("button", name=re.compile("^Trials of jct-alltoall")).click()
    page.wait_for_url(re.compile("open=[0-9a-f]{12}"))
    page.reload()
    trials = page.get_by_role("table", name="Trials of jct-alltoall")
    expect(trials.get_by_role("checkbox")).to_have_count(2)
    trials.get_by_role("checkbox").first.check()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_text("Trials", exact=True).first.click()
    expect(rows(page, "Trials")).to_have_count(2)


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with two runs: of jobs that miss a criterion, and of two sizes with a tag."""
    root = tmp_path_factory.mktemp("lists")
    jobs = [
        {"name": name, "collective": "all-to-all", "ranks": ranks, "data_size": "1MB"}
        for name, ranks in (("red", [0, 1, 4, 5]), ("blue", [2, 3, 6, 7]))
    ]
    shape = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1}
    plan = {"fabricbench": 1, "name": "tenants", "fabric": {"topology": shape}, "jobs": jobs, "solo": True}
    criteria = [{"metric": "ideal_percent", "min": 99}]
    fb.run(fb.load({**plan, "criteria": criteria}), workspace=root)
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"], tag="lab"), workspace=root)
    with serving(root) as address:
        yield address


def test_a_list_is_kept_as_a_view_and_comes_back(lists: str, context: BrowserContext) -> None:
    log_in(context, lists)
    page = context.new_page()
    page.goto(f"{lists}/trials?view=trials&plan=jct-alltoall&sort=data_size_bytes&order=asc")
    metrics = page.get_by_role("combobox", name="Metrics")
    metrics.fill("ideal_percent>1")
    metrics.press("Enter")
    page.wait_for_url(re.compile("where=ideal_percent"))
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="Save this list").click()
    page.get_by_role("dialog").get_by_label("Name").fill("small ones")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="View: small ones")).to_be_visible()
    page.goto(f"{lists}/trials")
    expect(page.get_by_text("5 trials in 2 runs")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="small ones").click()
    expect(rows(page, "Trials")).to_have_count(2)
    expect(rows(page, "Trials").first).to_contain_text("1 MB")
    page.get_by_role("button", name="View: small ones").click()
    page.get_by_role("menuitem", name="Delete view").click()
    expect(page.get_by_role("button", name="Views", exact=True)).to_be_visible()


def test_runs_are_ordered_by_their_columns_and_say_how_their_jobs_fare(
    lists: str, context: BrowserContext
) -> None:
    log_in(context, lists)
    page = context.new_page()
    page.goto(lists)
    runs = page.get_by_role("table", name="Runs", exact=True).locator("tbody tr")
    expect(runs.nth(0)).to_contain_text("jct-alltoall")
    expect(runs.nth(0)).to_contain_text("lab")
    expect(runs.nth(1)).to_contain_text("not met")
    expect(runs.nth(1)).to_contain_text(re.compile(r"(red|blue) \d+\.\d %"))
    page.get_by_role("button", name="Of ideal, %").click()
    page.get_by_role("button", name="Of ideal, %").click()
    expect(runs.nth(0)).to_contain_text("tenants")
    page.wait_for_url(re.compile("sort=ideal_percent&order=asc"))


def test_a_trial_is_found_and_opened_by_the_keyboard_alone(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials?view=trials&search=cc-alltoall")
    expect(rows(page, "Trials")).to_have_count(1)
    page.get_by_role("table", name="Trials").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/trials/{served.congested.id}")
    page.get_by_role("tab", name="Summary").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/diagnosis")


def test_two_trials_are_compared_from_the_workspace(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials?view=trials")
    for name in ("cc-alltoall-pfc-ecn", "jct-alltoall"):
        rows(page, "Trials").filter(has_text=name).first.get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare").last.click()
    table = page.get_by_role("table", name="Metrics of job test")
    expect(table.get_by_role("row", name=re.compile("^Bus bandwidth"))).not_to_have_count(0)
    expect(page.get_by_text("fabric.switch.pfc")).to_be_visible()
    assert table.locator(".better, .worse").count() > 0
    before = table.get_by_role("row").count()
    page.get_by_role("switch", name="Only differences").click(force=True)
    expect(table.get_by_role("row")).not_to_have_count(before)


def test_compared_trials_are_drawn_over_sizes_by_a_metric_of_choice(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/compare?trial={served.congested.id}&trial={served.clear.id}")
    chart = page.get_by_role("figure", name="Bus bandwidth over sizes, compared")
    expect(chart.locator(".figure[data-drawn=true] .scatterlayer .trace")).to_have_count(2)
    page.get_by_role("combobox", name="Metric, compared").fill("FCT P99")
    page.get_by_role("option", name="FCT P99 [ms]").click()
    page.wait_for_url(re.compile("metric=fct_ms_p99"))
    expect(page.get_by_role("figure", name="FCT P99 over sizes, compared")).to_be_visible()
    expect(page.locator(".figure .ytitle")).to_contain_text("FCT P99 (ms)")


def test_a_published_table_is_drawn_when_it_comes_into_sight(page: Page, served: Served) -> None:
    drawn: list[str] = []
    page.on("request", lambda asked: drawn.append(asked.url) if "validation/figure" in asked.url else None)
    page.goto(f"{served.address}/validation")
    expect(page.locator(".figure[data-drawn=true] .legendtext").first).to_have_text("published")
    last = page.locator("main section.panel").last
    name = last.get_by_role("table").get_attribute("aria-label") or ""
    assert 0 < len(drawn) < page.locator("main section.panel").count()
    last.scroll_into_view_if_needed()
    plan = name.removeprefix("Published and ours, ")
    expect(last.get_by_role("figure", name=re.compile(f"{re.escape(plan)}$"))).to_be_visible()


DOWNLOADS = {
    "Summary (JSON)": b"{",
    "Data chunks (CSV)": b"job,",
    "Data chunks (Parquet)": b"PAR1",
    "Report (HTML": b"<!doctype html>",
    "Jupyter notebook": b"{",
    "Plan (YAML)": b"#",
    "First frames (pcapng)": b"\x0a\x0d\x0d\x0a",
}
"""Each download and how it begins."""


def test_downloads_are_what_their_names_say(page: Page, served: Served, tmp_path: Path) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}")
    for title, beginning in DOWNLOADS.items():
        page.get_by_role("button", name="Download", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=title).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        content = path.read_bytes()
        assert content[: len(beginning)].lower() == beginning.lower(), title
        if path.suffix in (".json", ".ipynb"):
            assert json.loads(content)


def test_without_the_token_it_is_asked_for(context: BrowserContext, served: Served) -> None:
    page = context.new_page()
    page.goto(f"{served.address}/trials/{served.congested.id}")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Open the workspace").click()
    expect(page.get_by_text("the token is wrong")).to_be_visible()
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open the workspace").click()
    expect(page.get_by_role("heading", name="cc-alltoall-pfc-ecn")).to_be_visible()


def test_what_is_missing_is_said(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials?view=trials&search=nothing-like-this")
    expect(page.get_by_text("No trial matches these filters")).to_be_visible()
    page.goto(f"{served.address}/compare")
    expect(page.get_by_text("Select two trials or more")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_their_width_in_light_and_dark(page: Page, served: Served, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for path in ("trials", "runs", "configure?plan=jct-alltoall", "compare", "validation"):
        page.goto(f"{served.address}/{path}")
        expect(page.locator("main h1")).to_be_visible()
        assert page.locator("html").get_attribute("data-mantine-color-scheme") == scheme
        for width in (1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (path, width)


def test_published_results_stand_beside_ours(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/validation")
    table = page.get_by_role("table", name="Published and ours, jct-alltoall")
    expect(table.get_by_role("row")).not_to_have_count(0)
    page.get_by_role("switch", name="Only plans that ran here").click(force=True)
    expect(page.get_by_text("Nothing published has run here")).to_be_visible()


def test_the_end_of_a_long_table_is_a_key_away(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/over-time?table=series")
    length = page.get_by_text(re.compile(r"^[\d,]+ rows$"))
    expect(length).to_be_visible()
    rows_total = int(length.inner_text().removesuffix(" rows").replace(",", ""))
    assert rows_total > 1000
    page.get_by_role("table", name="Table series").press("End")
    last = rows(page, "Table series").last
    expect(last).to_have_attribute("aria-rowindex", str(rows_total + 1))
    expect(last).not_to_contain_text("…")


def test_columns_of_a_wide_table_are_drawn_as_they_come_into_sight(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/trials/{served.congested.id}/chunks")
    table = page.get_by_role("table", name="Table chunks")
    cells = rows(page, "Table chunks").first.get_by_role("cell")
    expect(cells.first).to_have_attribute("aria-colindex", "1")
    count = int(table.get_attribute("aria-colcount") or 0)
    assert cells.count() < count == table.get_by_role("columnheader").count()
    table.evaluate("(box) => box.scrollTo(box.scrollWidth, 0)")
    expect(cells.last).to_have_attribute("aria-colindex", str(count))
    heading = table.get_by_role("columnheader").last.bounding_box()
    last = cells.last.bounding_box()
    assert heading is not None
    assert last is not None
    assert abs(heading["x"] - last["x"]) < 2


TENANTS = {
    "fabricbench": 1,
    "name": "tenants",
    "fabric": {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "hosts_per_leaf": 4,
            "spines": 2,
            "host_link": "400Gbps",
        }
    },
    "jobs": [
        {"name": "noisy", "ranks": "2,3,6,7", "collective": "all-to-all", "data_size": "16MB"},
        {"name": "ring", "ranks": "0,4,1,5", "collective": "all-reduce"},
    ],
    "sweep": {"data_size": "4MB"},
    "solo": True,
    "criteria": [
        {"metric": "ideal_percent", "min": 99, "job": "ring"},
        {"metric": "frames_lost", "max": 0, "job": "ring"},
    ],
}


@dataclass(frozen=True)
class Special:
    """A server of special runs.

    Attributes:
        address: Of the server.
        early: A trial that ended before a failure of its plan.
        tenants: A trial of several jobs.
    """

    address: str
    early: str
    tenants: str


@pytest.fixture(scope="module")
def special(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Special]:
    """Serve a run that ends before a failure, one of tenants, and at last one plan three times."""
    root = tmp_path_factory.mktemp("special")
    plan = fb.load("jct-alltoall").with_(data_size="1MB")
    failures = [{"at": "10s", "kind": "link-down", "link": "leaf0-spine1"}]
    (early,) = fb.run(plan.with_({"fabric.failures": failures}), workspace=root)
    tenants = fb.run(fb.load(TENANTS), workspace=root)[-1]
    for each in (plan, plan, plan.with_(tag="again")):
        fb.run(each, workspace=root)
    with serving(root) as address:
        yield Special(address, early.id, tenants.id)


def test_an_identical_plan_again_is_shown_as_such(special: Special, context: BrowserContext) -> None:
    log_in(context, special.address)
    page = context.new_page()
    page.goto(special.address)
    expect(page.get_by_text("same plan as")).to_be_visible()
    expect(page.get_by_role("table", name="Runs")).to_contain_text("3 times, same results")
    page.get_by_role("link", name=re.compile("same plan as")).click()
    page.wait_for_url(re.compile("/runs/[0-9a-f]{12}$"))
    expect(page.get_by_role("table", name="Results of the run").locator("tbody tr")).to_have_count(1)


def test_failures_that_a_trial_ended_before_are_named(special: Special, context: BrowserContext) -> None:
    log_in(context, special.address)
    page = context.new_page()
    page.goto(f"{special.address}/trials/{special.early}")
    told = page.get_by_role("alert").filter(has_text="never happened")
    expect(told).to_have_text("link down: leaf0-spine1 at 10 s never happened: the run had ended before")


def test_of_several_jobs_the_failed_one_is_first_and_each_figure_is_of_its_job(
    special: Special, context: BrowserContext
) -> None:
    log_in(context, special.address)
    page = context.new_page()
    page.goto(f"{special.address}/trials?view=trials&search=tenants")
    row = rows(page, "Trials").filter(has_text="ring (1 of 2)")
    expect(row.get_by_text("ring 58.7 %")).to_be_visible()
    expect(row.get_by_role("cell").nth(7)).to_have_text("8")
    page.goto(f"{special.address}/trials/{special.tenants}/summary")
    expect(page.get_by_text("ring: not met", exact=True)).to_be_visible()
    tiles = page.get_by_role("region", name=re.compile("^Job "))
    expect(tiles.nth(0)).to_contain_text("ring")
    expect(tiles.nth(0)).to_contain_text("58.7 % of its bandwidth alone")
    expect(tiles.nth(0)).to_contain_text("Share of the ideal [%] at least 99")
    expect(tiles.nth(1)).to_contain_text("noisy")
    expect(page.get_by_role("region", name="Whole fabric")).to_contain_text("Frames lost")
    page.get_by_role("button", name=re.compile(r"^All \d+ metrics$")).click()
    ends = page.get_by_role("table", name="At the endpoints: post to completion")
    expect(ends.get_by_role("columnheader").nth(1)).to_have_text("ring")
    expect(page.get_by_role("region", name="Likely cause, job noisy")).to_be_visible()
    expect(page.get_by_role("link", name="Try: more queue pairs for each rank pair").first).to_be_visible()
