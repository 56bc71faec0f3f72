"""The documentation site: strict build, every page in the navigation, public names and plans on pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import DOCS
from tools.generate_docs import pages

import fabricbench as fb

REPOSITORY = DOCS.parent


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    finished = python("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site")
    assert finished.returncode == 0, finished.stderr
    reference = (tmp_path / "site" / "reference" / "api.html").read_text()
    assert "import_results" in reference
    assert "out_of_order_percent" in (tmp_path / "site" / "reference" / "metrics.html").read_text()
    assert "fonts.googleapis" not in reference


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "api.md").read_text()
    named = set(re.findall(r"^::: fabricbench\.(\w+)$", text, re.MULTILINE))
    assert named == {name for name in fb.__all__ if name != "__version__"}


def test_every_method_has_a_page_and_every_plan_a_method() -> None:
    text = "".join(path.read_text() for path in (DOCS / "methods").glob("*.md"))
    plans = [path.stem for path in (REPOSITORY / "plans").rglob("*.yaml")]
    assert plans
    assert [name for name in plans if f"`{name}`" not in text] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = set(re.findall(r"[\w/.-]+\.md", navigation))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(pages())
