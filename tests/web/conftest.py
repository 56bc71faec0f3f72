"""A real server with a small workspace, and Chromium, whose console must stay without errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

import fabricbench as fb
from fabricbench.server.settings import Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TOKEN = "0123456789abcdef-token"
PATIENCE_MS = 180_000
"""Time for a page to show something [ms]: a bound for a machine that runs other tests beside."""
expect.set_options(timeout=PATIENCE_MS)


@dataclass(frozen=True)
class Served:
    """A server and the trials that its workspace had at first."""

    root: Path
    address: str
    congested: fb.Trial
    clear: fb.Trial


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a workspace with a congested trial and two that are not; tests that run plans have their own."""
    with serving_trials(tmp_path_factory.mktemp("web") / "lab") as served:
        yield served


@contextmanager
def serving_trials(root: Path) -> Iterator[Served]:
    """Make a workspace with a congested trial and two that are not, and serve it."""
    assert (Settings().static / "index.html").is_file(), "the web application is not built: make build"
    congested = fb.run(fb.load("cc-alltoall-pfc-ecn").with_(data_size="16MB"), workspace=root)
    clear = fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"], tag="lab"), workspace=root)
    with serving(root) as address:
        yield Served(root, address, congested[0], clear[0])


@contextmanager
def serving(root: Path) -> Iterator[str]:
    """Serve a workspace and give the address."""
    process = _start(root)
    try:
        yield _address_of(process)
    finally:
        process.terminate()
        process.communicate(timeout=120)


def _start(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from fabricbench.cli import main; main()", "serve"]
    return subprocess.Popen(
        [*command, "--port", "0", "--workspace", str(root)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"FABRICBENCH_TOKEN": TOKEN},
    )


def _address_of(process: subprocess.Popen[str]) -> str:
    said = ""
    for line in process.stderr or ():
        said += line
        if found := re.search(r"(https?://\S+?:\d+)/\?token=", said):
            return found[1]
    raise AssertionError(f"the server ended: {said}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def cached_context(browser: Browser) -> Iterator[BrowserContext]:
    """The one context of all pages, 1280 wide: what a page fetched and compiled, the next need not."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def context(cached_context: BrowserContext) -> Iterator[BrowserContext]:
    """The context, without a page or a login."""
    yield cached_context
    for page in cached_context.pages:
        page.close()
    cached_context.clear_cookies()


def _is_complaint(said: ConsoleMessage) -> bool:
    """Tell whether a message is one; the browser itself writes one for input that the server refuses."""
    return said.type == "error" and "status of 422" not in said.text


@pytest.fixture
def page(context: BrowserContext, served: Served) -> Iterator[Page]:
    """A page of a browser that has shown the token; the test fails if the console has an error at its end."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
    page.on(
        "response", lambda got: complaints.append(f"{got.status} {got.url}") if got.status >= 500 else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    log_in(context, served.address)
    yield page
    assert complaints == []


def log_in(context: BrowserContext, address: str) -> None:
    """Show the token, as its address does, without opening the page there."""
    assert context.request.get(f"{address}/?token={TOKEN}").ok
