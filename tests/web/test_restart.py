"""A server that is killed in the middle of a run, seen from the browser."""

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, expect
from tests.server.live import ENDLESS, live
from tests.web.conftest import log_in


def test_a_run_is_interrupted_by_the_death_of_the_server_and_resumed(
    context: BrowserContext, tmp_path: Path
) -> None:
    page = context.new_page()
    with live(tmp_path, "--workers", "1") as first:
        run = first.submit(ENDLESS)
        log_in(context, first.address)
        page.goto(f"{first.address}/runs/{run}")
        expect(page.get_by_text("1 of 2", exact=True)).to_be_visible()
        port = str(urlsplit(first.address).port)
        # A browser tells this as its machine's last network goes, on which a server here does not depend.
        page.evaluate("dispatchEvent(new Event('offline'))")
        first.kill()
        expect(page.get_by_text("The server does not answer", exact=True)).to_be_visible()
    with live(tmp_path, "--workers", "1", "--port", port):
        expect(page.get_by_text("The server does not answer", exact=True)).to_have_count(0)
        expect(page.get_by_text("interrupted", exact=True).first).to_be_visible()
        expect(page.get_by_text("1 of 2", exact=True)).to_be_visible()
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("running", exact=True).first).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("cancelled", exact=True).first).to_be_visible()
