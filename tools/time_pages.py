"""Measures how long each page of the web application takes to show its main picture or table.

Serves a workspace with many runs and a trial of 512 ranks, opens each page several times in Chromium, and
prints the median from navigation to the first paint with the main element, with the time until the first
request of the API (application), of the requests (server) and after the last of them (drawing). It needs
Chromium and the built web application. On a machine with other load the least is the most reliable.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, sync_playwright

import fabricbench as fb

TOKEN: Final = "a-token-for-measurements"
PLAN: Final[Mapping[str, Any]] = {
    "fabricbench": 1,
    "name": "many",
    "title": "One of many runs",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 2}},
    "jobs": [{"collective": "all-reduce"}],
    "sweep": {"data_size": "64KB"},
}
SHOWN: Final = """
(selector => {
  const look = () => {
    const element = document.querySelector(selector);
    if (element && element.getBoundingClientRect().height > 0) window.shownAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})(%s);
"""
TIMES: Final = """() => {
  const requests = performance.getEntriesByType('resource')
    .filter(({name, startTime}) => name.includes('/api/v1/') && startTime < window.shownAt);
  const ended = requests.map(each => each.responseEnd).filter(end => end <= window.shownAt);
  const first = Math.min(window.shownAt, ...requests.map(({startTime}) => startTime));
  return [window.shownAt, first, Math.max(first, ...ended)];
}"""
FIGURE: Final = ".figure[data-drawn=true]"
ROWS: Final = ".grid-body .grid-row"


def main() -> int:
    """Print a line for each page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="runs in the workspace [1000]")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened [5]")
    parser.add_argument("--workspace", type=Path, help="a workspace that is made, or used if it is there")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("error: chromium is not installed")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = arguments.workspace or Path(folder) / "lab"
        pages = pages_of(root, arguments.runs)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(f"{'ms to the main element':22}{'median':>8}{'least':>8}  application  server  drawing")
        with serving(root) as address:
            for name, (path, selector) in pages.items():
                times = [opened(browser, address, path, selector) for _ in range(arguments.times)]
                total, application, server = (statistics.median(each) for each in zip(*times, strict=True))
                least = min(time[0] for time in times)
                parts = f"{application:11.0f}{server - application:8.0f}{total - server:9.0f}"
                print(f"{name:22}{total:8.0f}{least:8.0f}  {parts}", flush=True)
        browser.close()
    return 0


def pages_of(root: Path, runs: int) -> dict[str, tuple[str, str]]:
    """Make a workspace, unless it is there, and return path and selector of the main element of each page."""
    if not root.exists():
        for seed in range(runs):
            fb.run(fb.load({**PLAN, "seed": seed, "name": f"many-{seed % 50}"}), workspace=root)
        fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"]), workspace=root)
        fb.run(fb.load("expect-rails").with_(data_size="16MB"), workspace=root)
    workspace = fb.workspace(root)
    large = workspace.trials(plan="expect-rails")[0]
    pair = "&".join(f"trial={trial.id}" for trial in workspace.trials(plan="jct-alltoall")[:2])
    views = {
        "summary": FIGURE,
        "timeline": FIGURE,
        "diagnosis": "main h2, main h3",
        "port-map": "main table, " + ROWS,
        "plan": "main pre",
    }
    return {
        "runs": ("runs", ".row-link"),
        "trials": ("runs?view=trials", ROWS),
        "run": (f"runs/{large.stored.facts.suite}", FIGURE),
        **{f"512 ranks, {view}": (f"trials/{large.id}/{view}", selector) for view, selector in views.items()},
        "configure": ("configure?plan=expect-rails", ".fabric-picture"),
        "configure, plans": ("configure?start=plans", ".plan-card svg"),
        "configure, questions": ("configure?start=questions", ".fabric-picture"),
        "compare": (f"compare?{pair}", "main table"),
        "expected": ("expected?cluster=dgx-h100&servers=2&collective=all-reduce", "main form, main input"),
        "explain": ("explain", "main textarea"),
        "hosts": ("hosts", "main h1"),
        "validation": ("validation", "main table"),
        "import": ("import", ".drop"),
    }


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve a workspace and give the address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fabricbench", "serve", "--port", "0", "--workspace", str(root)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"FABRICBENCH_TOKEN": TOKEN},
    )
    try:
        for line in process.stderr or ():
            if found := re.search(r"(https?://\S+?:\d+)/\?token=", line):
                yield found[1]
                break
    finally:
        process.terminate()
        process.communicate(timeout=120)


def opened(browser: Browser, address: str, path: str, selector: str) -> tuple[float, float, float]:
    """Open a page after the list of runs, and return the times since its navigation [ms].

    Returns:
        Of its main element, the first request of the API and the end of the last one before the element.
    """
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/?token={TOKEN}")
    page.wait_for_load_state("networkidle")
    page.add_init_script(SHOWN % json.dumps(selector))
    page.goto(f"{address}/{path}")
    page.wait_for_function("() => window.shownAt !== undefined", timeout=60_000)
    total, application, server = page.evaluate(TIMES)
    context.close()
    return total, application, server


if __name__ == "__main__":
    sys.exit(main())
