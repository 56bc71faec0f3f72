"""Results measured on a real fabric: brought in by the browser, and read beside simulated ones."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Served, serving

import fabricbench as fb

SAMPLES = Path(__file__).parents[1] / "measured" / "samples"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workspace of its own with a simulated trial: other tests count what is in theirs."""
    root = tmp_path_factory.mktemp("imports") / "lab"
    simulated = fb.run(fb.load("jct-alltoall").with_(data_size="2MB"), workspace=root)[0]
    with serving(root) as address:
        yield Served(root, address, simulated, simulated)


@pytest.fixture
def imports(page: Page, served: Served) -> Page:
    """The page that takes a file, reached from the workspace."""
    page.goto(f"{served.address}/trials?view=trials")
    page.get_by_role("link", name="Import results").click()
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    return page


def choose(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(file)
    expect(page.get_by_text(re.compile(f"^{re.escape(file.name)}, "))).to_be_visible()


def take(page: Page) -> None:
    page.get_by_role("button", name="Import", exact=True).click()


def test_a_file_is_imported_and_opened_and_no_view_shows_what_was_not_measured(
    imports: Page, served: Served
) -> None:
    page = imports
    choose(page, SAMPLES / "nccl_alltoall.txt")
    page.get_by_role("combobox", name="Plan that simulates it").fill("jct-alltoall")
    page.get_by_role("option", name="jct-alltoall", exact=True).click()
    page.get_by_role("combobox", name="Tags").fill("cluster")
    page.keyboard.press("Enter")
    take(page)
    page.wait_for_url(re.compile(r"/trials/[0-9a-f]{12}"))
    expect(page.get_by_text("measured", exact=True)).to_be_visible()
    expect(page.get_by_text("cluster", exact=True)).to_be_visible()
    expect(page.get_by_text("not measured").first).to_be_visible()
    expect(page.get_by_text("nccl_alltoall.txt, line 22")).to_be_visible()
    page.get_by_role("combobox", name="Trial of the run").click()
    page.get_by_role("option", name="in-place, 64 MB").click()
    expect(page.get_by_text("44.55", exact=True)).to_be_visible()
    expect(page.locator(".figure[data-drawn=true]")).to_have_count(1)
    assert page.get_by_role("tab").all_inner_texts() == ["Summary", "Output"]
    assert "NaN" not in page.inner_text("main")
    page.get_by_role("tab", name="Output").click()
    expect(page.get_by_text("Collective test starting: alltoall_perf")).to_be_visible()
    expect(page.get_by_role("link", name="Simulate with jct-alltoall")).to_be_visible()
    page.get_by_role("button", name="Download", exact=True).click()
    for item in page.get_by_role("menuitem").all():
        answer = page.request.get(f"{served.address}{item.get_attribute('href')}")
        assert (answer.status, len(answer.body()) > 0) == (200, True), item.inner_text()


def test_runs_and_what_was_left_out_are_told(imports: Page) -> None:
    choose(imports, SAMPLES / "imb_mpi1.txt")
    imports.get_by_role("combobox", name="Format").click()
    imports.get_by_role("option", name="Intel MPI Benchmarks").click()
    take(imports)
    table = imports.get_by_role("table", name="Imported runs")
    expect(table.get_by_role("link").first).to_be_visible()
    assert table.get_by_role("link").count() > 1
    expect(imports.get_by_role("heading", name="Left out")).to_be_visible()
    table.get_by_role("link").first.click()
    expect(imports.get_by_role("heading", level=1)).to_be_visible()


def test_a_dropped_file_that_cannot_be_read_is_refused_at_its_line(imports: Page) -> None:
    lines = (SAMPLES / "nccl_old.txt").read_text().splitlines()
    number = next(number for number, each in enumerate(lines, 1) if re.match(r"\s+\d", each))
    lines[number - 1] = lines[number - 1].replace("float", "float nonsense")
    drop = """(text) => {
        const carried = new DataTransfer();
        carried.items.add(new File([text], "broken.txt"));
        return carried;
    }"""
    carried = imports.evaluate_handle(drop, "\n".join(lines))
    imports.get_by_role("region", name="File").dispatch_event("drop", {"dataTransfer": carried})
    expect(imports.get_by_text(re.compile(r"^broken\.txt, "))).to_be_visible()
    take(imports)
    alert = imports.get_by_role("alert")
    expect(alert).to_contain_text(f"broken.txt:{number}: found")
    expect(alert.locator("[data-meant=true]")).to_contain_text("float nonsense")
    expect(alert).to_contain_text("hint:")
    choose(imports, SAMPLES / "osu_alltoall_full.txt")
    expect(alert).to_have_count(0)


def test_what_is_missing_is_asked_for_by_the_name_of_its_field(imports: Page, tmp_path: Path) -> None:
    unnamed = tmp_path / "unnamed.txt"
    unnamed.write_text("".join((SAMPLES / "osu_alltoall_full.txt").read_text().splitlines(keepends=True)[1:]))
    choose(imports, unnamed)
    take(imports)
    alert = imports.get_by_role("alert")
    expect(alert).to_contain_text("hint: say it: \u201cRanks\u201d")
    expect(alert).not_to_contain_text("--")


def test_a_file_that_is_too_large_is_not_sent(imports: Page, tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as stream:
        stream.truncate((16 << 20) + 1)
    choose(imports, large)
    expect(imports.get_by_role("alert")).to_contain_text("at most 16 MiB")
    expect(imports.get_by_role("button", name="Import", exact=True)).to_be_disabled()


def test_measured_and_simulated_runs_are_compared_by_size(imports: Page, served: Served) -> None:
    sample = (SAMPLES / "nccl_alltoall.txt").read_bytes()
    address = f"{served.address}/api/v1/imports?file=nccl.txt&plan=jct-alltoall"
    same_site = {"Content-Type": "application/octet-stream", "Origin": served.address}
    measured = imports.request.post(address, data=sample, headers=same_site).json()["trials"][0]["id"]
    imports.goto(f"{served.address}/compare?trial={measured}&trial={served.clear.id}")
    imports.get_by_role("radiogroup", name="Kind of comparison").get_by_text("Runs by size").click()
    table = imports.get_by_role("table", name="Sizes, alltoall_perf, out-of-place")
    expect(table.get_by_role("row").filter(has_text="2 MB")).to_have_count(1)
    expect(imports.get_by_text("jct-alltoall, measured")).to_be_visible()
    imports.get_by_role("radiogroup", name="Kind of comparison").get_by_text("Variants of a run").click()
    expect(imports.get_by_text("Select one trial")).to_be_visible()
