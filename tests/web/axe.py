"""axe-core, which holds a page against WCAG 2.2 AA."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
TAGS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
SERIOUS = {"serious", "critical"}


def serious(page: Page) -> list[str]:
    """What axe calls serious or critical, with the element."""
    page.evaluate(AXE.read_text())
    return _violations(page, TAGS)


def serious_in_dark(page: Page) -> list[str]:
    """Switch a page to dark colours, of which axe calls something serious; the rest is that of `serious`."""
    page.add_style_tag(content="* { transition: none !important; }")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(page.locator(".figure[data-drawn=false]")).to_have_count(0)
    return _violations(page, COLOURS)


def _violations(page: Page, rules: Mapping[str, Any]) -> list[str]:
    found = page.evaluate("rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", rules)
    return [_text(each) for each in found["violations"] if each["impact"] in SERIOUS]


def _text(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    return f"{violation['id']}: {len(nodes)}x {nodes[0]['target']} {nodes[0]['failureSummary']}"
