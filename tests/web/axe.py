"""axe-core, which holds a page against WCAG 2.2 AA."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SERIOUS = {"serious", "critical"}


def serious(page: Page) -> list[str]:
    """What axe calls serious or critical, with the element."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run(document, {runOnly: tags, resultTypes: ['violations']})", TAGS)
    return [_text(each) for each in found["violations"] if each["impact"] in SERIOUS]


def _text(violation: Mapping[str, Any]) -> str:
    nodes = violation["nodes"]
    return f"{violation['id']}: {len(nodes)}x {nodes[0]['target']} {nodes[0]['failureSummary']}"
