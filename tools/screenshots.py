"""Takes the screenshots of docs/web.md: runs small trials, serves them, and opens each page in Chromium.

It needs Chromium and the built web application.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import fabricbench as fb
from fabricbench.store import Workspace

TARGET = Path(__file__).parents[1] / "docs" / "images" / "web"
TOKEN = "a-token-for-screenshots"
CAMPAIGN = """\
campaign: 1
name: ecn-thresholds
title: Which thresholds serve an all-to-all
seeds: 3
plans:
  - plan: cc-alltoall-dcqcn
    set: {fabric.switch.ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}}
    sweep:
      data_size: [16MB]
      fabric.switch.ecn.kmin: [25KB, 50KB, 100KB]
      fabric.switch.ecn.pmax: [1%, 20%, 100%]
"""
TESTS = Path(__file__).parents[1] / "tests"
MEASURED = TESTS / "measured" / "samples" / "nccl_alltoall.txt"
EXPLAINED = (
    TESTS / "measured" / "diagnosed" / "nccl-two-servers.txt",
    TESTS / "measured" / "diagnosed" / "two-rails.yaml",
    TESTS / "devices" / "samples" / "port_qos.json",
)


def main() -> None:
    """Write every screenshot into a folder, `docs/images/web` by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=TARGET)
    parser.add_argument("--scheme", choices=("light", "dark"), default="light")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("error: chromium is not installed")
    arguments.to.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "lab") as (address, pages),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=arguments.scheme)
        page.goto(f"{address}/?token={TOKEN}")
        for name, path in pages.items():
            take(page, f"{address}/{path}", arguments.to / f"{name}.png")
        take_refusal(page, address, arguments.to / "import.png")
        take_explanation(page, address, arguments.to / "explain.png")
        take_running(page, address, arguments.to / "run.png")
        take_campaign(page, address, Path(folder), arguments.to / "campaign.png")
        browser.close()


def take(page: Page, address: str, path: Path) -> None:
    """Take a screenshot of a page after everything is drawn."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)
    page.screenshot(path=path)


def take_refusal(page: Page, address: str, path: Path) -> None:
    """Import a file with an invalid line, and take a screenshot of the error message."""
    text = MEASURED.read_text(encoding="utf-8").replace("351.0", "35x.0", 1)
    page.goto(f"{address}/import")
    file = {"name": "nccl.txt", "mimeType": "text/plain", "buffer": text.encode()}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("alert").locator("[data-meant=true]").wait_for()
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)
    page.screenshot(path=path)


def take_explanation(page: Page, address: str, path: Path) -> None:
    """Explain the output of a benchmark with a plan and a configuration, and take a screenshot."""
    page.goto(f"{address}/explain")
    page.locator("input[type=file]").set_input_files(EXPLAINED)
    page.get_by_role("button", name="Explain", exact=True).click()
    page.locator(".figure[data-drawn=true]").wait_for()
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)
    page.screenshot(path=path)


def take_running(page: Page, address: str, path: Path) -> None:
    """Start a run and take a screenshot while it is running."""
    page.goto(f"{address}/configure?plan=cc-alltoall-pfc-ecn")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    page.get_by_text("7 of 10", exact=True).wait_for(timeout=120_000)
    page.get_by_role("figure", name="ECN marks").wait_for()
    page.wait_for_timeout(2500)
    page.screenshot(path=path)


def take_campaign(page: Page, address: str, folder: Path, path: Path) -> None:
    """Run a campaign and take a screenshot of the effects of its factors."""
    file = folder / "campaign.yaml"
    file.write_text(CAMPAIGN, encoding="utf-8")
    run = "from fabricbench.cli import main; main()"
    command = [sys.executable, "-c", run, "campaign", str(file), "--workspace", str(folder / "lab")]
    subprocess.run(command, check=True, capture_output=True)
    page.goto(f"{address}/campaigns/ecn-thresholds")
    for name in ("Effect of each value", "Every setting"):
        figure = page.get_by_role("figure", name=name)
        figure.scroll_into_view_if_needed()
        figure.locator(".figure[data-drawn=true]").wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_timeout(800)
    page.screenshot(path=path)


@contextmanager
def served(root: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve a workspace with some trials; yield its address and the path of each page."""
    pages = pages_of(root)
    command = [sys.executable, "-c", "from fabricbench.cli import main; main()", "serve"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--workspace", str(root)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"FABRICBENCH_TOKEN": TOKEN},
    )
    try:
        yield address_of(process), pages
    finally:
        process.terminate()
        process.communicate(timeout=30)


def pages_of(root: Path) -> dict[str, str]:
    """Run the trials for the screenshots; return the path of each page by its name."""
    measured = fb.import_results(MEASURED, workspace=root, plan="jct-alltoall", tag="cluster")[0]
    sizes = ["16MB", "32MB", "64MB"]
    base = fb.run(fb.load("jct-alltoall").with_(data_size=sizes, tag="baseline"), workspace=root)[0]
    tenants = fb.run(fb.load("isolation-alltoall-neighbour").with_(data_size="16MB"), workspace=root)[0]
    clear = fb.run(fb.load("lb-alltoall-ecmp").with_(data_size="64MB", tag="uplinks"), workspace=root)[0]
    slow = fb.run(fb.load("cc-alltoall-pfc-ecn").with_(data_size="64MB", tag="uplinks"), workspace=root)[0]
    views = ("summary", "diagnosis", "chunks", "timeline", "over-time", "links")
    return {
        "runs": "runs",
        "answer": f"runs/{Workspace.open(root).find(tenants.id).facts.suite}",
        "configure": "configure?plan=cc-alltoall-pfc-ecn&section=fabric",
        **{view: f"trials/{slow.id}/{view}" for view in views},
        "compare": f"compare?trial={slow.id}&trial={clear.id}",
        "compare-sizes": f"compare?by=size&trial={measured.id}&trial={base.id}",
        "validation": "validation#jct-alltoall-base",
    }


def address_of(process: subprocess.Popen[str]) -> str:
    """Return the address from the output of the server at its start."""
    for line in process.stderr or ():
        if match := re.search(r"(https?://\S+?:\d+)/\?token=", line):
            return match[1]
    raise RuntimeError("the server ended before it served")


if __name__ == "__main__":
    main()
