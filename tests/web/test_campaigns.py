"""Campaigns, seen from the browser while another process runs them, and what they came to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import BrowserContext, expect
from tests.server.live import live
from tests.support.campaigns import CAMPAIGN, known, made, measured, written
from tests.web.axe import serious, serious_in_dark
from tests.web.conftest import PATIENCE_MS, log_in

from fabricbench.store.campaigns import CampaignState, note_campaign

STATE = CampaignState("ecn-thresholds", "running", 2_000, 100, 1_102, 1, 61.4, 90.0, 75.0, 8)


def test_a_campaign_is_followed_on_the_page_of_runs(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    with live(tmp_path) as server:
        log_in(context, server.address)
        page.goto(f"{server.address}/runs")
        expect(page.get_by_text("No trial has run in this workspace")).to_be_visible()
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


def test_the_page_of_a_campaign_shows_the_effects_of_its_factors(
    context: BrowserContext, tmp_path: Path
) -> None:
    file = written(tmp_path, CAMPAIGN)
    known(file, measured(file, tmp_path / "lab", made))
    page = context.new_page()
    with live(tmp_path / "lab") as server:
        log_in(context, server.address)
        page.goto(f"{server.address}/runs")
        page.get_by_role("table", name="Campaigns").get_by_role("link", name="acknowledge").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{server.address}/campaigns/acknowledge")
        expect(page.get_by_role("heading", level=1, name="acknowledge")).to_be_visible()
        for name in ("Effect of each value", "Two factors", "Every setting", "Pareto front"):
            figure = page.get_by_role("figure", name=name)
            # Plotly is fetched and read before the first.
            expect(figure.locator(".figure[data-drawn=true]")).to_be_visible(timeout=3 * PATIENCE_MS)
        effects = page.get_by_role("table", name="Effects").get_by_role("row", name="transport.ack_every 16")
        expect(effects).to_contain_text("-6.67")
        best = page.get_by_role("table", name="Best and worst settings").get_by_role("row").nth(1)
        for text in ("1 MB", "16", "90"):
            expect(best).to_contain_text(text)
        assert serious(page) == []
        page.get_by_label("Relative to the mean of plan and size").focus()
        page.keyboard.press("Space")
        expect(page).to_have_url(re.compile("relative=true"))
        expect(page.get_by_role("heading", name="relative to the mean").first).to_be_visible()
        page.get_by_role("combobox", name="Metric").click()
        page.get_by_role("option", name="Deepest queue").click()
        expect(page).to_have_url(re.compile("metric=queue_max_bytes"))
        expect(page.get_by_role("heading", name="effect of each factor")).to_contain_text("queue")
        assert serious_in_dark(page) == []


def test_the_page_lists_missing_trials_and_follows_new_ones(context: BrowserContext, tmp_path: Path) -> None:
    file = written(tmp_path, CAMPAIGN)
    workspace = measured(file, tmp_path / "lab", lambda *_: None)
    known(file, workspace, state="running", finished=0, percent=0.0, left_s=90.0)
    page = context.new_page()
    with live(tmp_path / "lab") as server:
        log_in(context, server.address)
        page.goto(f"{server.address}/campaigns/acknowledge")
        expect(page.get_by_text("No trial has a record yet")).to_be_visible()
        expect(page.get_by_role("table", name="Trials without a record").get_by_role("row")).to_have_count(19)
        assert serious(page) == []
        measured(file, tmp_path / "lab", lambda facts, place: made(facts, place) if place % 3 else None)
        known(file, workspace, state="failed", finished=12, percent=66.7)
        expect(page.get_by_text("12 of 18 trials have a record")).to_be_visible()
        expect(page.get_by_role("alert").filter(has_text="ended with an error")).to_be_visible()
        expect(page.get_by_role("figure", name="Every setting")).to_be_visible()
        expect(page.get_by_role("table", name="Trials without a record").get_by_role("row")).to_have_count(7)
        assert serious(page) == []
        note_campaign(tmp_path / "lab", replace(STATE, state="interrupted"))
        page.goto(f"{server.address}/campaigns/ecn-thresholds")
        expect(page.get_by_text("The list of its trials is missing")).to_be_visible()
        page.goto(f"{server.address}/campaigns/nothing.at.all")
        expect(page.get_by_text('no campaign "nothing.at.all" has run here')).to_be_visible()
