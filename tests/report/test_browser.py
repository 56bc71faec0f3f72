"""The page in headless Chromium: every plot is drawn, nothing is complained about, nothing can be sent."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.stored import store_run, store_variants

from fabricbench.report.html.build import write_report

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
