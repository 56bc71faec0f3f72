"""Rows of `plans` in JSON and CSV: name, title, file, trials, ranks, sizes and variants of shipped plans."""

from __future__ import annotations

import json
from typing import Any

from fabricbench.cli.output import Format
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.loaded_plan import PlanSummary
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.runner import loading


def plan_rows(output: Format) -> str:
    """Return the shipped plans in JSON or CSV."""
    plans = [_row(str(path), loading.load(name).summary) for name, path in shipped_plans().items()]
    if output is Format.JSON:
        return json.dumps({"plans": plans}, indent=2)
    return rows_csv(list(plans[0]), [{**plan, "variants": " ".join(plan["variants"])} for plan in plans])


def _row(file: str, summary: PlanSummary) -> dict[str, Any]:
    """Return the row of a plan in the list: its file after its title."""
    return {"name": summary.name, "title": summary.title, "file": file} | vars(summary)
