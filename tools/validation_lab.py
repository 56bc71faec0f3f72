"""Writes the lab table of docs/reference/validation.md: plans with real packets, next to their simulation.

It runs `fabricbench run PLAN --lab --twin --quick` a few times for each plan, first with
the seed of the plan, then with others. With plans as arguments it runs only these and leaves the lines of
the others unchanged. It needs root, and an otherwise idle machine.
`--check` only checks that the page has lines for every plan.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

from fabricbench.plan import engine
from fabricbench.runner import loading
from fabricbench.work import collective_of, pattern_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "validation.md"
COMMAND = Path(sys.executable).with_name("fabricbench")
FOLDERS = ("cc", "ddc", "dfs", "imb", "interconnect", "isolation", "jct", "lb", "spray")
"""Folders whose plans the table has."""
BEGIN, END = "<!-- plans in the lab: from here -->\n", "<!-- plans in the lab: to here -->"
HEAD = (
    "| plan | variant, job, size | scale | measured (ms) | predicted (ms) | deviation (%) | "
    "cause, or why it does not run |\n| --- | --- | --- | --- | --- | --- | --- |\n"
)
CLOSE_PERCENT = 3.0
"""Below this deviation no cause is listed."""
TIMEOUT_S = 2_400
_SCALE = re.compile(r"--scale (\d+), at which")
SHORT_BYTES = 1_500
"""Chunks up to this size take no longer than the timing errors of programs and token buckets."""
_NONE = "none that the records have"
_EXCLUDED = "not run in a lab: "
_REFUSED = re.compile(r"no lab can run [^:]+: (.*)")


def shipped() -> list[str]:
    """Return the plans of the table, in its order."""
    return [path.stem for folder in FOLDERS for path in sorted((ROOT / "plans" / folder).glob("*.yaml"))]


def run_once(plan: str, scale: int | None, seed: int | None = None) -> tuple[list[dict[str, Any]], str]:
    """Run a plan in a lab next to its twin; return the rows of `--format json` and the messages."""
    with tempfile.TemporaryDirectory() as workspace:
        options = ["--lab", "--twin", "--quick", "--format", "json", "--workspace", workspace]
        options += [f"--scale={scale}"] if scale else []
        options += [] if seed is None else [f"--seed={seed}"]
        command = [str(COMMAND), "run", plan, *options]
        sys.stderr.write(f"{shlex.join(command)}\n")
        try:
            process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return [], f"error: it was stopped after {TIMEOUT_S} s"
    twins = json.loads(process.stdout)["twins"] if process.stdout else []
    return twins, process.stderr


def chunk_sizes(plan: str) -> dict[tuple[str, str, int], int]:
    """Return the mean size of a chunk with `--quick` [bytes], by variant, swept values and data size."""
    bytes_by_case = {}
    for trial in loading.load(plan, quick=True).trials:
        estimate = engine.estimate(trial.spec_json)
        if estimate is not None:
            job = trial.run_spec["jobs"][0]
            rounds = cast("int", job["repeat"].get("rounds", 1)) + collective_of(job).get("warm_up_rounds", 0)
            key = (trial.variant, _swept(dict(trial.case.axes)), pattern_of(job)["data_bytes"])
            bytes_by_case[key] = estimate["payload_bytes"] // max(1, estimate["chunks"] * rounds)
    return bytes_by_case


def _swept(axes: Mapping[str, Any]) -> str:
    """Return the value of the first swept field, which names the point; empty without one."""
    return str(next(iter(axes.values()), ""))


def _short_chunk_cause(chunk_bytes: int | None) -> str:
    """Return the cause of deviations of chunks of up to a frame; empty for larger ones."""
    if chunk_bytes is None or chunk_bytes > SHORT_BYTES:
        return ""
    return (
        f"chunks of {chunk_bytes:,} bytes: programs are up to 1 ms late at each step, token buckets pass "
        "8 KB at once, and ports of a lab forward at once what switches of the twin store"
    )


def rows(plan: str, repeats: int, given_scale: int | None) -> list[str]:
    """Return the lines of the table about a plan."""
    load = os.getloadavg()[0]
    runs = [run_once(plan, given_scale)]
    if runs[0][0]:
        runs += [run_once(plan, given_scale, seed) for seed in range(1, repeats)]
    messages = runs[0][1]
    scale = match[1] if (match := _SCALE.search(messages)) else str(given_scale or 1000)
    cores = len(os.sched_getaffinity(0))
    busy = f"the machine was busy: load {load:.0f} on {cores} processors" if load > cores else ""
    lines, sizes = [], chunk_sizes(plan)
    for index, first_twin in enumerate(runs[0][0]):
        repeated = [twins[index] for twins, _ in runs if index < len(twins)]
        short = _short_chunk_cause(
            sizes.get((first_twin["variant"], _swept(first_twin["axes"]), first_twin["data_size_bytes"]))
        )
        lines.append(_measured(plan, scale, repeated, (short, busy)))
    for line in messages.splitlines():
        if line.startswith(_EXCLUDED):
            names, _, reason = line.removeprefix(_EXCLUDED).partition(": ")
            lines.append(f"| {plan} | {names} | - | - | - | - | does not run: {reason} |\n")
    if not lines:
        lines = [f"| {plan} | all | - | - | - | - | does not run: {_reason(messages)} |\n"]
    return lines


def _reason(messages: str) -> str:
    refusal = _REFUSED.search(messages)
    if refusal:
        return refusal[1]
    errors = [line.removeprefix("error: ") for line in messages.splitlines() if line.startswith("error: ")]
    return errors[0] if errors else "no reason told"


def _measured(plan: str, scale: str, repeats: Sequence[dict[str, Any]], known_causes: tuple[str, str]) -> str:
    """Return the line of a job at a size, over the repeats of its run: the median, with the range.

    `known_causes` has the cause for short chunks, and for a busy machine where the records have no cause.
    """
    short, busy = known_causes
    first_twin = repeats[0]
    variant = [] if first_twin["variant"] in {"", "base"} else [first_twin["variant"]]
    swept = [text] if (text := _swept(first_twin["axes"])) else []
    label = ", ".join([*variant, *swept, first_twin["job"], first_twin["size"]])
    deviations = sorted(
        twin["deviation_percent"] for twin in repeats if twin["deviation_percent"] is not None
    )
    predicted = (first_twin["predicted"] or {}).get("completion_time_ms")
    if not deviations or predicted is None:
        cause = _causes(first_twin) or "no completion time"
        return f"| {plan} | {label} | {scale} | - | {_number(predicted)} | - | {cause} |\n"
    median_deviation = median(deviations)
    median_twin = min(repeats, key=lambda twin: abs((twin["deviation_percent"] or 0.0) - median_deviation))
    deviation_text = f"{median_deviation:+.2f}" + (
        f" ({deviations[0]:+.2f} to {deviations[-1]:+.2f})" if len(deviations) > 1 else ""
    )
    measured = median_twin["measured"]["completion_time_ms"]
    cause = ""
    if abs(median_deviation) > CLOSE_PERCENT:
        cause = (
            _seed_range(repeats)
            or short
            or _causes(median_twin)
            or (busy if median_deviation > 0 else "")
            or _NONE
        )
    cells = (plan, label, scale, _number(measured), _number(predicted), deviation_text, cause)
    return f"| {' | '.join(cells)} |\n"


def _seed_range(repeats: Sequence[dict[str, Any]]) -> str:
    """Return the range of the prediction over the seeds as text; empty if the deviations exceed it."""
    predicted = [
        twin["predicted"]["completion_time_ms"] for twin in repeats if twin["deviation_percent"] is not None
    ]
    low, high = min(predicted), max(predicted)
    largest = max(abs(twin["deviation_percent"] or 0.0) for twin in repeats)
    if 100 * (high / low - 1) < max(CLOSE_PERCENT, largest):
        return ""
    return f"random: with the seed the prediction is {_number(low)} to {_number(high)} ms"


def _causes(row: dict[str, Any]) -> str:
    """Return the first two causes of a deviation as text."""
    return "; ".join(cause["text"] for cause in row["causes"][:2]).replace("|", "/")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.5g}"


def replaced(page: str, plan: str, lines: Sequence[str], order: Sequence[str]) -> str:
    """Return the page with the lines of a plan replaced.

    Raises:
        SystemExit: The table is missing.
    """
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < 0:
        raise SystemExit("error: docs/reference/validation.md has no table of plans in the lab")
    table = page[begin + len(BEGIN) : end].removeprefix(HEAD).splitlines(keepends=True)
    other_lines = [line for line in table if _plan_of(line) != plan]
    index_of_plan = {name: number for number, name in enumerate(order)}
    ordered = sorted(
        [*other_lines, *lines], key=lambda line: index_of_plan.get(_plan_of(line), len(index_of_plan))
    )
    return page[: begin + len(BEGIN)] + HEAD + "".join(ordered) + page[end:]


def missing(page: str, order: Sequence[str]) -> list[str]:
    """Return the plans that the table lacks."""
    begin, end = page.find(BEGIN), page.find(END)
    listed_plans = {_plan_of(line) for line in page[begin:end].splitlines()}
    return [plan for plan in order if plan not in listed_plans]


def _plan_of(line: str) -> str:
    return line.split("|")[1].strip() if line.startswith("| ") else ""


def main() -> int:
    """Run the plans and write their lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plans", nargs="*", help="shipped plans; all of the table by default")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each plan (default 3)")
    parser.add_argument("--scale", type=int, help="scale of all plans; by default what this machine needs")
    parser.add_argument("--check", action="store_true", help="only check that every plan has its lines")
    arguments = parser.parse_args()
    order = shipped()
    if arguments.check:
        absent = missing(PAGE.read_text(encoding="utf-8"), order)
        if absent:
            raise SystemExit(
                f"error: docs/reference/validation.md: no lines in the lab for {', '.join(absent)}"
            )
        return 0
    for plan in arguments.plans or order:
        lines = rows(plan, arguments.repeat, arguments.scale)
        # The page is read again, as another process may have changed its other lines.
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(page, plan, lines, order), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
