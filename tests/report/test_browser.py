"""The page in headless Chromium: every plot is drawn, nothing is complained about, nothing can be sent."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.report.stored import store_run, store_variants
from tests.support.campaigns import measured
from tests.support.contrast import contrast, luminance

import fabricbench as fb
from fabricbench.cli.main import run
from fabricbench.report.html.run_page import write_report
from fabricbench.store import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0",
    "--virtual-time-budget=20000", "--dump-dom",
)  # fmt: skip
BUTTONS = {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}


def drawn(path: Path, profile: Path) -> tuple[str, str]:
    """Load a page; return its document after the scripts have run, and what the console said."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", path.as_uri()]
    finished = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return finished.stdout, "\n".join(line for line in finished.stderr.splitlines() if "CONSOLE" in line)


def is_all_drawn(path: Path, profile: Path) -> str:
    """Check that every plot of a page is drawn, without a complaint, and return its document."""
    document, console = drawn(path, profile)
    assert console == ""
    count = path.read_text().count('<script type="application/json"')
    assert f'data-drawn="{count}"' in document
    assert len(re.findall(r'class="plot js-plotly-plot"', document)) == count
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("ranks", "shape", "collective"), [(8, (2, 4, 4), "all-to-all"), (100, (10, 10, 8), "all-reduce")]
)
def test_every_plot_is_drawn_without_a_complaint(
    tmp_path: Path, ranks: int, shape: tuple[int, int, int], collective: str
) -> None:
    trials = store_run(
        tmp_path / "workspace", sizes=[2**24, 2**25], ranks=ranks, shape=shape, collective=collective
    )
    path = tmp_path / "report.html"
    write_report(trials, trials[0], path)
    outside_scripts = is_all_drawn(path, tmp_path / "profile")
    assert set(re.findall(r'data-title="([^"]*)"', outside_scripts)) == BUTTONS


def test_variants_are_drawn_side_by_side_and_each_by_itself(tmp_path: Path) -> None:
    trials = store_variants(tmp_path / "workspace", ["ideal", "ecmp", "b.c"], sizes=[2**24, 2**25])
    path = tmp_path / "report.html"
    write_report(trials, trials[-1], path)
    document = is_all_drawn(path, tmp_path / "profile")
    for name in ("ideal", "ecmp", "b.c"):
        assert f'href="#variant-{name}"' in document
        assert f'id="variant-{name}"' in document
    bars = document.split('id="plot-ratio-0"', 1)[1].split("</figure>", 1)[0]
    assert len(re.findall(r'class="trace bars"', bars)) == 2


FIRST_SCREEN = ("How long", "How far from ideal", "Why", "What to do")


def channels(colour: str) -> list[float]:
    """Red, green and blue of `rgb(r, g, b)`, from 0 to 1."""
    return [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]


def ground_of(page: Page) -> list[float]:
    """The colour of the page."""
    return channels(page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.fixture(scope="module")
def congested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("congested")
    fb.run(fb.load("cc-alltoall-pfc-ecn").with_(data_size="4MB"), workspace=folder / "lab")
    store = Workspace.open(folder / "lab")
    trial = store.find("latest")
    write_report(store.family(trial), trial, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_answers_what_is_asked_in_both_colours(
    congested: Path, chromium: Browser, scheme: Literal["light", "dark"]
) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.goto(congested.as_uri())
    for question in FIRST_SCREEN:
        box = page.get_by_role("group", name=question, exact=True).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800, question
    figure = page.locator("figure").first.bounding_box()
    assert figure is not None
    assert figure["y"] < 700, "a picture begins on the first screen"
    colours = "node => [getComputedStyle(node).color, getComputedStyle(document.body).backgroundColor]"
    for text in page.locator("h1, .answer p, figcaption, nav a, td, th small").all()[:60]:
        colour, ground = text.evaluate(colours)
        assert contrast(channels(colour), channels(ground)) >= 4.5, (colour, ground, text.inner_text())
    is_dark = luminance(ground_of(page)) < 0.2
    assert is_dark == (scheme == "dark")
    page.get_by_role("button", name="Switch between light and dark").click()
    now_dark = luminance(ground_of(page)) < 0.2
    assert now_dark != is_dark
    page.close()


def test_it_prints_in_light_colours_without_buttons(congested: Path, chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 800}, color_scheme="dark")
    page.goto(congested.as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#scheme").is_visible()
    assert not page.get_by_role("navigation").is_visible()
    assert luminance(ground_of(page)) > 0.9
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()


def test_every_plot_of_a_campaign_is_drawn_without_a_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fields = "data_size: [1MB, 2MB], transport.ack_every: [1, 4], transport.window: [32, 64]"
    entry = f"{{plan: jct-alltoall, seeds: 2, sweep: {{{fields}}}}}"
    file = tmp_path / "campaign.yaml"
    file.write_text(f"campaign: 1\nname: small\nplans: [{entry}]\n")
    measured(
        file, tmp_path / "workspace", lambda _, place: {"completion_time_ms": place + 1, "pfc_rx": place % 5}
    )
    pareto = ["--pareto", "completion_time_ms,pfc_rx"]
    assert run(["campaign", "report", "campaign.yaml", "--workspace", "workspace", *pareto]) == 0
    assert "Drawn" not in is_all_drawn(tmp_path / "small.html", tmp_path / "profile")
