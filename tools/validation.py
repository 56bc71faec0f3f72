"""Write the tables of docs/validation.md from real runs.

`make validation` runs every shipped plan that has a published table, or those named as arguments, and puts
our figures beside the published ones. `--check` only says whether the page has a section for every such plan.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation.md"
COMMAND = Path(sys.executable).with_name("fabricbench")
COLUMNS = {
    "completion_time_ms": "time (ms)",
    "busbw_gb_per_s": "busbw (GB/s)",
    "ideal_percent": "ideal (%)",
    "fct_ms_min": "FCT min (ms)",
    "fct_ms_p50": "FCT P50 (ms)",
}


def run(plan: str, workspace: str) -> list[dict[str, Any]]:
    """Run a plan and return its trials as `--format json` has them."""
    command = [str(COMMAND), "run", plan, "--workspace", workspace, "--format", "json"]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    trials: list[dict[str, Any]] = json.loads(finished.stdout)["trials"]
    return trials


def cells(trial: dict[str, Any]) -> Iterator[str]:
    """Yield the cells of one trial: ours, published and deviation of each column."""
    yield f"{trial['data_size_bytes'] / 2**20:,.0f} MB"
    for column in COLUMNS:
        ours = value_of(trial, column)
        published = (trial["published"] or {}).get(column)
        if published is None:
            yield f"{ours:.5g}"
        else:
            yield f"{ours:.5g} / {published['value']:g} ({published['deviation_percent']:+.2f} %)"


def value_of(trial: dict[str, Any], column: str) -> float:
    """Return a metric of a trial by its flat name."""
    value = trial["fct_ms"][column.removeprefix("fct_ms_")] if column.startswith("fct_ms_") else trial[column]
    return float(value)


def table(trials: list[dict[str, Any]]) -> str:
    """Return the trials as a Markdown table: ours / published (deviation)."""
    head = ["data size", *COLUMNS.values()]
    rows = [list(cells(trial)) for trial in trials]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def replace(page: str, plan: str, text: str) -> str:
    """Return the page with the results of a plan put between its markers.

    Raises:
        SystemExit: The page has no such markers.
    """
    begin, end = f"<!-- {plan}: begin -->", f"<!-- {plan}: end -->"
    if begin not in page or end not in page:
        raise SystemExit(f"error: docs/validation.md has no section for {plan}\nhint: add {begin} and {end}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def published_plans() -> list[str]:
    """Return the shipped plans that name a published table."""
    plans = sorted((ROOT / "plans").glob("*/*.yaml"))
    return [path.stem for path in plans if "\npublished:" in path.read_text(encoding="utf-8")]


def main() -> int:
    """Run the plans and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plans", nargs="*", help="shipped plans; all with a published table by default")
    parser.add_argument("--check", action="store_true", help="only check that every plan has its section")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    for plan in arguments.plans or published_plans():
        if arguments.check:
            replace(page, plan, "")
            continue
        sys.stderr.write(f"running {plan}\n")
        with tempfile.TemporaryDirectory() as workspace:
            page = replace(page, plan, table(run(plan, workspace)))
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
