"""Writes the tables of docs/reference/validation.md from real runs.

A table is between `<!-- PLAN OPTIONS: begin -->` and `<!-- PLAN: end -->`. This script runs that plan
with those options of `fabricbench run` and rewrites the table; arguments restrict it to the named plans.
`--check` only tests that the page has a table for every shipped plan.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricbench.metrics import BUS_BANDWIDTH, JobKind, Metric, View, in_views
from fabricbench.runner import loading
from fabricbench.work import NCCL_HEAD, nccl_text

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "validation.md"
COMMAND = Path(sys.executable).with_name("fabricbench")
BEGIN = re.compile(r"<!-- (?P<plan>[a-z0-9-]+)(?P<options>( [^>]*)?): begin -->\n")
REDUNDANT = {"algbw_gb_per_s"}
"""Published metrics that tables leave out: a constant times the bus bandwidth."""
STORAGE_METRICS = [
    metric
    for metric in in_views(View.RUN)
    if metric.kind is JobKind.STORAGE or (metric.is_count and not metric.is_trouble)
]
"""Metrics of storage tables: those of storage jobs and the counters of congestion."""
ADAPTERS = "cx5"
"""The folder of the plans that are about adapters."""
ADAPTER_METRICS = [
    metric for metric in in_views(View.ADAPTERS, View.TENANTS) if View.ADAPTERS in metric.views
]
"""Metrics of their tables."""


CLUSTERS = "cluster"
"""The folder of the plans of clusters."""
CLUSTER_METRICS = [
    metric
    for metric in in_views(View.TENANTS)
    if metric.name in ("completion_time_ms", BUS_BANDWIDTH.name, "ideal_percent")
]
"""Metrics of their tables."""


@dataclass(frozen=True)
class Section:
    """A table of the page: its plan and the options of `fabricbench run`."""

    plan: str
    options: tuple[str, ...]


def sections(page: str) -> list[Section]:
    """Return the tables of the page in order."""
    return [Section(match["plan"], tuple(shlex.split(match["options"]))) for match in BEGIN.finditer(page)]


ALONE_HEADS = ("alone (GB/s)", "kept (%)")
"""Columns of plans that run each job alone as well."""


def run(section: Section) -> list[dict[str, Any]]:
    """Run a plan and return the jobs of its trials as `--format json` has them.

    Raises:
        SystemExit: The run printed no results, such as after an error in the plan.
    """
    with tempfile.TemporaryDirectory() as workspace:
        output_options = ["--workspace", workspace, "--format", "json"]
        command = [str(COMMAND), "run", section.plan, *section.options, *output_options]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
    if not finished.stdout:
        raise SystemExit(f"error: {shlex.join(command)} failed\n{finished.stderr}")
    trials: list[dict[str, Any]] = json.loads(finished.stdout)["trials"]
    choices = nccl_choices(section.plan)
    for trial in trials:
        trial["nccl"] = choices[trial["variant"], trial["data_size_bytes"], trial["job"]]
    # Results of a job alone are columns of its trial with the others.
    return [trial for trial in trials if "solo" not in trial["variant"].split("/")]


def nccl_choices(plan: str) -> dict[tuple[str, int, str], str]:
    """Return algorithm, protocol and channels of NCCL by variant, data size and job; empty without NCCL."""
    choices: dict[tuple[str, int, str], str] = defaultdict(str)
    for trial in loading.load(plan).trials:
        for job in trial.run_spec["jobs"]:
            choices[trial.variant, trial.data_size_bytes, job["name"]] = nccl_text(job)
    return choices


def value_of(trial: dict[str, Any], metric: Metric) -> float | None:
    """Return a metric of a trial; none where it could not be measured."""
    group = trial[metric.group] if metric.group else trial
    value: float | None = group[metric.name.removeprefix(f"{metric.group}_")]
    return value


def head_of(metric: Metric) -> str:
    """Return the head of the column of a metric; counts have no unit."""
    return metric.label if metric.decimals == 0 else f"{metric.label} ({metric.unit})"


def cell(trial: dict[str, Any], metric: Metric) -> str:
    """Return our value, the published one and the deviation as text."""
    value = value_of(trial, metric)
    ours = "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.5g}"
    published = (trial["published"] or {}).get(metric.name)
    if published is None:
        return ours
    deviation = published["deviation_percent"]
    return f"{ours} / {published['value']:,g}" + ("" if deviation is None else f" ({deviation:+.2f} %)")


def columns(trials: Sequence[dict[str, Any]]) -> list[Metric]:
    """Choose the metrics of the table: published ones and those of lists; all if none is published."""
    if is_storage(trials):
        return STORAGE_METRICS
    for folder, metrics in ((ADAPTERS, ADAPTER_METRICS), (CLUSTERS, CLUSTER_METRICS)):
        if (ROOT / "plans" / folder / f"{trials[0]['plan']}.yaml").is_file():
            return metrics
    published = {name for trial in trials for name in trial["published"] or {}} - REDUNDANT
    return [
        metric
        for metric in in_views(View.TENANTS, besides=published)
        if metric.name in published or (metric.published and (View.TRIALS in metric.views or not published))
    ]


def is_storage(trials: Sequence[dict[str, Any]]) -> bool:
    """Whether all jobs are storage."""
    return all(trial["collective"] == JobKind.STORAGE for trial in trials)


def label(trial: dict[str, Any], *, with_job: bool) -> str:
    """Return the label of a row: data size, job, variant, and the status of a trial that did not complete."""
    size = trial["data_size_bytes"]
    unit, name = (2**20, "MB") if size >= 2**20 else (2**10, "KB") if size >= 2**10 else (1, "B")
    parts = [f"{size / unit:,.0f} {name}"]
    if with_job:
        parts.append(trial["job"])
    if trial["variant"] != "base":
        parts.append(trial["variant"])
    if trial["status"] != "complete":
        parts.append(trial["status"])
    return ", ".join(parts)


def axes_text(trial: dict[str, Any]) -> str:
    """Return the values of the fields that the sweep of a plan changes."""
    return ", ".join(str(value) for value in trial["axes"].values())


def alone_cells(trial: dict[str, Any]) -> list[str]:
    """Return the bandwidth of a job alone, and the percentage of it that remains with the other jobs."""
    results_alone = trial["alone"] or {}
    values = (results_alone.get(BUS_BANDWIDTH.name), results_alone.get("kept_percent"))
    return ["-" if value is None else f"{value:.4g}" for value in values]


def ratio_heads(trials: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Choose the ratios that the table shows: none for a plan without variants."""
    ratios_by_trial = [trial["reference"]["ratios"] for trial in trials if trial["reference"]]
    metrics = columns(trials)
    ratio_metrics = metrics if metrics in (STORAGE_METRICS, ADAPTER_METRICS) else in_views(View.TENANTS)
    heads = {metric.ratio: f"{metric.label}, ratio" for metric in ratio_metrics if metric.ratio}
    return {name: head for name, head in heads.items() if any(ratios.get(name) for ratios in ratios_by_trial)}


def ratio_cells(trial: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the ratios of a job to the reference variant."""
    ratios = trial["reference"]["ratios"] if trial["reference"] else {}
    values = [ratios.get(name) for name in names]
    return ["-" if value is None else f"{value:.3f}" for value in values]


def table(trials: Sequence[dict[str, Any]]) -> str:
    """Return the jobs as a Markdown table: ours, or ours / published (deviation); without empty columns."""
    metrics = columns(trials)
    with_job = len({trial["job"] for trial in trials}) > 1
    with_alone = any(trial["alone"] for trial in trials)
    ratios = ratio_heads(trials)
    head = ["data size", " ".join(NCCL_HEAD), *map(head_of, metrics), *ratios.values()]
    head += ALONE_HEADS if with_alone else ()
    labels = [label(trial, with_job=with_job) for trial in trials]
    if len(set(labels)) < len(labels):
        labels = [f"{axes_text(trial)}, {text}" for trial, text in zip(trials, labels, strict=True)]
    rows = [
        [
            text,
            trial["nccl"] or "-",
            *(cell(trial, metric) for metric in metrics),
            *ratio_cells(trial, list(ratios)),
            *(alone_cells(trial) if with_alone else ()),
        ]
        for trial, text in zip(trials, labels, strict=True)
    ]
    filled = [column for column in zip(head, *rows, strict=True) if not set(column[1:]) <= {"0", "-"}]
    head, *rows = ([*line] for line in zip(*filled, strict=True))
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def unrepeated(page: str, section: Section, text: str) -> str:
    """Return a table, or a reference to an equal one above it on the page."""
    page_above = page[: page.index(f"<!-- {section.plan}: end -->")]
    equal_plan = next(
        (
            earlier.plan
            for earlier in sections(page_above)
            if f": begin -->\n{text}<!-- {earlier.plan}:" in page_above
        ),
        "",
    )
    return f"The same as [{equal_plan}](#{equal_plan}), to the digit.\n" if equal_plan else text


def replaced(page: str, section: Section, text: str) -> str:
    """Return the page with a table replaced.

    Raises:
        SystemExit: The end of the table is missing.
    """
    begin = next(match for match in BEGIN.finditer(page) if match["plan"] == section.plan)
    end = page.find(f"<!-- {section.plan}: end -->", begin.end())
    if end < 0:
        raise SystemExit(f"error: docs/reference/validation.md: the table of {section.plan} has no end")
    return page[: begin.end()] + text + page[end:]


def check(page: str) -> None:
    """Check that every shipped plan has a table.

    Raises:
        SystemExit: One has none.
    """
    plans_with_table = {section.plan for section in sections(page)}
    methods = ("jct", "isolation", "lb", "cc", CLUSTERS, ADAPTERS)
    plans = sorted(path.stem for method in methods for path in (ROOT / "plans" / method).glob("*.yaml"))
    missing = [plan for plan in plans if plan not in plans_with_table]
    if missing:
        raise SystemExit(f"error: docs/reference/validation.md has no table for {', '.join(missing)}")
    for section in sections(page):
        replaced(page, section, "")


def main() -> int:
    """Run the plans and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plans", nargs="*", help="shipped plans; all that have a table by default")
    parser.add_argument("--check", action="store_true", help="only check that every plan has its table")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    check(page)
    if arguments.check:
        return 0
    for section in sections(page):
        if arguments.plans and section.plan not in arguments.plans:
            continue
        sys.stderr.write(f"running {section.plan}\n")
        text = table(run(section))
        # The page is read again, as another process may have changed its other tables.
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(page, section, unrepeated(page, section, text)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
