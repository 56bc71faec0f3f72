"""How far campaigns are, seen from the browser while another process runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playwright.sync_api import BrowserContext, expect
from tests.server.conftest import TOKEN
from tests.server.live import live

from fabricbench.store.campaigns import CampaignState, note_campaign

STATE = CampaignState("ecn-thresholds", "running", 2_000, 100, 1_102, 1, 61.4, 90.0, 75.0, 8)


def test_a_campaign_is_followed_on_the_page_of_runs(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    with live(tmp_path) as server:
        page.goto(f"{server.address}/?token={TOKEN}")
        page.goto(f"{server.address}/runs")
        expect(page.get_by_text("Nothing has run on this server")).to_be_visible()
        expect(page.get_by_role("table", name="Campaigns")).to_have_count(0)
        note_campaign(tmp_path, STATE)
        row = page.get_by_role("table", name="Campaigns").get_by_role("row").nth(1)
        for text in ("running", "ecn-thresholds", "1,203 of 2,000", "1 min 15 s"):
            expect(row).to_contain_text(text)
        expect(row.get_by_role("progressbar", name="61 %")).to_have_count(1)
        note_campaign(tmp_path, replace(STATE, waits="the catalog does not answer"))
        expect(row).to_contain_text("Waiting: the catalog does not answer")
        ended = replace(STATE, state="complete", finished=1_899, percent=100.0, left_s=None)
        note_campaign(tmp_path, ended)
        expect(row).to_contain_text("complete")
        expect(row).to_contain_text("2,000 of 2,000")
