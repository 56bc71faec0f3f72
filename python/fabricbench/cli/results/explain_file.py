"""Output of `explain FILE`: measured and expected bandwidths, and causes with tests that separate them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricbench import importing
from fabricbench.cli.output import Format, has_colour
from fabricbench.importing import (
    CONFIDENCE,
    Fabric,
    FileFacts,
    Hardware,
    Point,
    RuleInput,
    Source,
    Suspect,
    SwitchCounters,
    UserFacts,
    described,
)
from fabricbench.report.terminal.text_table import Column, Row, Style, render, styled
from fabricbench.runner import loading
from fabricbench.store import Workspace
from fabricbench.words import counted, data_size

_ROWS_MAX, _RUNS_MAX = 24, 8
_SHOWN = 6


@dataclass(frozen=True)
class FileOptions:
    """Options for the explanation of a file.

    Attributes:
        plan: The plan of its fabric; `None` to search the workspace for one.
        overrides: Changes of that plan.
        workspace: Folder of the trials.
        given: Ranks and benchmark, if the file does not have them.
        hardware: Adapters of a host and their rate.
        switches: Counters of switches.
        uplinks: Names of their ports towards the next tier, or patterns of them.
    """

    plan: str | None
    overrides: Sequence[str]
    workspace: Path | None
    given: UserFacts
    hardware: Hardware
    switches: Sequence[SwitchCounters] = ()
    uplinks: Sequence[str] = ()


def explained(path: Path, options: FileOptions, output: Format) -> str:
    """Return the explanation of a file's results in a format.

    Raises:
        MeasuredError: It cannot be read.
        PlanError: The plan cannot be run.
        StoreError: The workspace cannot be read.
    """
    loaded = loading.load(options.plan, options.overrides) if options.plan else None
    if loaded is not None:
        loading.check_no_search(loaded, "measured results")
    parsed = importing.read_facts(Source.of(path), user_facts=options.given)
    store = Workspace.open(options.workspace, create=True)
    fabric = importing.fabric_of(parsed, options.hardware, loaded, store)
    case = parsed.rule_input(fabric.hardware, fabric.ranges, options.switches, options.uplinks)
    causes = importing.suspects(case)
    if output is Format.JSON:
        return _json(path, parsed, case, fabric, causes)
    return _text(path, parsed, case, fabric, causes)


def _text(path: Path, parsed: FileFacts, case: RuleInput, fabric: Fabric, causes: Sequence[Suspect]) -> str:
    colour = has_colour()
    parts = [styled(_heading(path, parsed), Style.BOLD, colour=colour), *_warnings(parsed, case)]
    parts += [_table(case, colour=colour)] if case.points else []
    if case.ras is None:
        parts.append("\n".join([*_run_lines(case), *_fabric_lines(parsed, case, fabric)]))
    lines = [styled("causes, the likeliest first", Style.BOLD, colour=colour)]
    for number, suspect in enumerate(causes[:_SHOWN], 1):
        lines.append(f"{number}. {suspect.cause} ({CONFIDENCE[suspect.confidence]}): {suspect.sentence}")
        lines += [f"   evidence: {text}" for text in suspect.evidence]
        lines.append(f"   to tell: {suspect.test}")
    if len(causes) > _SHOWN:
        lines.append(
            f"{len(causes) - _SHOWN} more: {', '.join(suspect.cause for suspect in causes[_SHOWN:])}"
        )
    if not causes:
        lines.append(
            "none: nothing in the file says that something is wrong, and what to expect is not known"
        )
    return "\n\n".join([*parts, "\n".join(lines)])


def _warnings(parsed: FileFacts, case: RuleInput) -> list[str]:
    """Return the warnings about the file, and about uplinks whose loads are missing."""
    ports = importing.missing_loads(case.switches, case.uplinks)
    text = "no bytes or packets sent of these ports in the counters: how evenly they were used is not known"
    return [*parsed.warnings, *(f"--uplinks {port}: {text}; their other counters are used" for port in ports)]


def _heading(path: Path, parsed: FileFacts) -> str:
    facts = parsed.facts
    texts = [f"{table.benchmark}, {table.ranks} ranks" for table in parsed.tables]
    hosts = len(facts.hosts) or facts.nodes
    texts += [counted(hosts, "host")] if hosts else []
    texts += parsed.ras.summary if parsed.ras is not None else []
    if facts.adapters:
        texts.append(f"adapters {', '.join(list(facts.adapters)[:8])}")
    return f"{path.name}: {parsed.format}{''.join(f'; {text}' for text in dict.fromkeys(texts))}"


def _table(case: RuleInput, *, colour: bool) -> str:
    columns = [
        Column(("data", "size")),
        Column(("",), is_text=True),
        Column(("time", "us")),
        Column(("busbw", "GB/s")),
    ]
    columns += [Column(("expected", "GB/s"), is_text=True), Column(("of least", "%"))]
    points = [point for point in case.points if point.busbw]
    points_with_range = [point for point in points if point.size_bytes in case.expected]
    shown_points = (points_with_range or points)[-_ROWS_MAX:]
    rows = []
    for point in shown_points:
        expected_min, expected_max = case.expected.get(point.size_bytes, (0.0, 0.0))
        span = f"{expected_min:.4g} to {expected_max:.4g}" if expected_min else "-"
        share = f"{100 * (point.busbw or 0.0) / expected_min:.0f}" if expected_min else "-"
        time = "-" if point.time_us is None else f"{point.time_us:.5g}"
        cells = [data_size(point.size_bytes), point.placement, time, f"{point.busbw:.4g}", span, share]
        rows.append(
            Row(cells, Style.RED if expected_min and (point.busbw or 0) < expected_min else Style.PLAIN)
        )
    return render(columns, rows, colour=colour)


def _fabric_lines(parsed: FileFacts, case: RuleInput, fabric: Fabric) -> list[str]:
    """Return the source of the expected values, and the missing inputs with their options."""
    hardware, lines = fabric.hardware, []
    if fabric.plan:
        sizes = f"{counted(fabric.trials, 'trial')} of {counted(len(fabric.ranges), 'size')}"
        lines.append(f"expected: plan {fabric.plan}, {sizes} in the workspace")
        if not fabric.ranges and parsed.tables:
            lines.append(f"hint: `fabricbench expect {fabric.plan}` gives the range; then explain again")
        elif case.points and not any(point.size_bytes in fabric.ranges for point in case.points):
            measured_sizes = sorted({point.size_bytes for point in case.points if point.busbw})[-3:]
            lines.append(
                f"hint: none of its sizes is here: `fabricbench expect {fabric.plan} -s "
                f"sweep.data_size={measured_sizes}`"
            )
    elif fabric.candidates:
        lines.append(
            f"several plans fit: say which: {', '.join(f'--plan {name}' for name in fabric.candidates[:5])}"
        )
    elif case.crosses:
        lines.append(
            "expected: no plan of such a collective and number of ranks in the workspace: --plan PLAN "
            "names one"
        )
    if case.crosses and hardware.rate_gbps is None:
        lines.append("missing: the rate of an adapter: --rate 400Gbps (`ibstat`, `ethtool IFACE`), or --plan")
    if case.crosses and not case.is_perftest and case.adapters is None:
        lines.append("missing: adapters of a host: --adapters 8, --plan, or NCCL_DEBUG=INFO in the same file")
    if case.line_rate is not None and case.crosses:
        source = f", by {hardware.source}" if hardware.source else ""
        lines.append(
            f"line rate: {case.adapters} x {hardware.rate_gbps:g} Gb/s = {case.line_rate:.4g} GB/s each "
            f"way{source}"
        )
        lines += _bound_lines(case)
    return [*lines, *_switch_lines(case)] or ["nothing crosses a network"]


def _run_lines(case: RuleInput) -> Iterator[str]:
    """Yield the differing settings of the runs of a file, their bandwidths, and which are not judged."""
    runs: dict[tuple[str, int], dict[str, list[Point]]] = {}
    for point in case.points:
        if point.differs and point.busbw:
            name = described(point.differs)
            runs.setdefault((point.benchmark, point.ranks), {}).setdefault(name, []).append(point)
    judged_points = {id(point) for point in case.judged}
    for (benchmark, ranks), by_setting in runs.items():
        yield f"{benchmark}, {ranks} ranks, {len(by_setting)} runs that differ, none a repetition of another:"
        for name, points in list(by_setting.items())[:_RUNS_MAX]:
            busbw_max = max(point.busbw or 0.0 for point in points)
            other = (
                ""
                if id(points[0]) in judged_points
                else "; not judged: GPUs compute another type or operation"
            )
            yield f"  {name}: {busbw_max:.4g} GB/s at most{other}"
        if len(by_setting) > _RUNS_MAX:
            yield f"  and {len(by_setting) - _RUNS_MAX} more"
        by_nic = {
            point.differs["nic"]: point
            for points in by_setting.values()
            for point in points
            if "nic" in point.differs and not _is_other_end(point)
        }
        if case.is_perftest and len(by_nic) > 1:
            rates = [
                max(
                    point.busbw or 0.0
                    for point in case.points
                    if point.settings.get("nic") == name and not _is_other_end(point)
                )
                for name in by_nic
            ]
            yield f"  {8 * sum(rates):.4g} Gb/s together, if they ran at the same time"


def _is_other_end(point: Point) -> bool:
    """Return whether a result is from the second end of a test whose first end is in the file too."""
    return point.settings.get("end", "").startswith("other of")


def _bound_lines(case: RuleInput) -> Iterator[str]:
    """Yield the bus bandwidth of the line rate if the two differ, or the missing input for it."""
    best = case.best
    if best is None or case.expected:
        return
    local = case.ranks_of_a_host(best)
    if case.bound is None and local is None:
        yield (
            f"missing: how many ranks of {best.benchmark} are on a host: the list of ranks that nccl-tests "
            "prints, or NCCL_DEBUG=INFO in the same file"
        )
    elif case.bound is not None and case.bound != case.line_rate:
        bound = f"{case.bound:.4g} GB/s of bus bandwidth"
        yield f"of {best.benchmark} with {local} ranks on a host that is {bound}"


def _switch_lines(case: RuleInput) -> Iterator[str]:
    """Yield the formats and the period of the counters of switches, and the limits of their use."""
    for switch in case.switches:
        period = (
            f"since {switch.before}"
            if switch.before
            else "since they were cleared: --before gives the growth"
        )
        yield f"counters of {switch.switch}: {', '.join(switch.forms)}, {period}"
        yield from (f"  {note}" for note in switch.notes)
    if any(switch.kind == "switch" for switch in case.switches) and not case.uplinks:
        yield "missing: which ports are uplinks, to see how evenly they were used: --uplinks PORT"


def _json(path: Path, parsed: FileFacts, case: RuleInput, fabric: Fabric, causes: Sequence[Suspect]) -> str:
    content: dict[str, Any] = {
        "file": path.name,
        "format": parsed.format,
        "warnings": _warnings(parsed, case),
        "results": [
            {
                "benchmark": point.benchmark,
                "ranks": point.ranks,
                "size_bytes": point.size_bytes,
                "placement": point.placement,
                "time_us": point.time_us,
                "busbw_gb_per_s": point.busbw,
                "expected_gb_per_s": list(case.expected[point.size_bytes])
                if point.size_bytes in case.expected
                else None,
                "line": point.line,
                "differs": dict(point.differs),
            }
            for point in case.points
        ],
        "plan": fabric.plan or None,
        "candidates": list(fabric.candidates),
        "hosts": case.nodes,
        "adapters": case.adapters,
        "rate_gbps": fabric.hardware.rate_gbps,
        "target_gb_per_s": case.target if case.crosses else None,
        "reached": case.ratio,
        "switches": [
            {
                "switch": switch.switch,
                "kind": switch.kind,
                "file": switch.file,
                "before": switch.before or None,
                "forms": list(switch.forms),
                "notes": list(switch.notes),
            }
            for switch in case.switches
        ],
        "causes": [
            {
                "cause": suspect.cause,
                "confidence": CONFIDENCE[suspect.confidence],
                "sentence": suspect.sentence,
                "evidence": list(suspect.evidence),
                "to_tell": suspect.test,
            }
            for suspect in causes
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False)
