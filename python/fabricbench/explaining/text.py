"""Formats the explanation of a file: measured and expected bandwidths, causes with their tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from fabricbench import importing
from fabricbench.explaining.expected import chosen_words
from fabricbench.explaining.files import FileExplanation
from fabricbench.importing import CONFIDENCE, Point, RuleInput, described
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.studies.expected_curve import ExpectedPoint
from fabricbench.words import counted, data_size

_ROWS_MAX: Final = 24
_RUNS_MAX: Final = 8
CAUSES_MAX: Final = 6
"""Most causes shown in full."""


def explanation_text(explanation: FileExplanation, *, colour: bool) -> str:
    """Format measured and expected bandwidths, the fabric, and causes."""
    case, causes = explanation.case, explanation.causes
    parts = [styled(heading(explanation), Style.BOLD, colour=colour), *warnings(explanation)]
    parts += [render(result_table(explanation), colour=colour)] if case.points else []
    if lines := shortfall_lines(explanation):
        parts.append("\n".join(lines))
    if case.ras is None:
        parts.append("\n".join([*_run_lines(case), *fabric_lines(explanation)]))
    lines = [styled("causes, the likeliest first", Style.BOLD, colour=colour)]
    for index, suspect in enumerate(causes[:CAUSES_MAX], 1):
        lines.append(f"{index}. {suspect.cause} ({CONFIDENCE[suspect.confidence]}): {suspect.sentence}")
        lines += [f"   evidence: {text}" for text in suspect.evidence]
        lines.append(f"   to tell: {suspect.test}")
    if len(causes) > CAUSES_MAX:
        omitted = ", ".join(suspect.cause for suspect in causes[CAUSES_MAX:])
        lines.append(f"{len(causes) - CAUSES_MAX} more: {omitted}")
    if not causes:
        lines.append(NO_CAUSE)
    return "\n\n".join([*parts, "\n".join(lines)])


NO_CAUSE: Final = "none: nothing in the file says that something is wrong, and what to expect is not known"


def shortfall_lines(explanation: FileExplanation) -> list[str]:
    """Return the first and the last size that fall short with their factors, and other choices of NCCL."""
    lines = []
    if shortfalls := explanation.shortfalls:
        texts = [_shortfall(explanation, point, factor) for point, factor in shortfalls]
        lines.append(f"falls short first at {texts[0]}")
        lines += [f"falls short last at {texts[-1]}"] if len(texts) > 1 else []
    return [*lines, *(f"NCCL's choice: {sentence}" for sentence in explanation.differences)]


def _shortfall(explanation: FileExplanation, point: Point, factor: float) -> str:
    least = explanation.expected[point.size_bytes].busbw.least
    return (
        f"{data_size(point.size_bytes)}: {number(point.busbw, 4)} GB/s, {factor:.2f} times less than "
        f"{number(least, 4)} GB/s"
    )


def warnings(explanation: FileExplanation) -> list[str]:
    """Return the warnings about the file, and about uplinks whose loads are missing."""
    case = explanation.case
    ports = importing.missing_loads(case.switches, case.uplinks)
    text = "no bytes or packets sent of these ports in the counters: how evenly they were used is not known"
    missing = (f"--uplinks {port}: {text}; their other counters are used" for port in ports)
    return [*explanation.parsed.warnings, *explanation.omitted, *missing]


def heading(explanation: FileExplanation) -> str:
    """Return file, format, benchmarks, hosts and adapters in a line."""
    parsed = explanation.parsed
    facts = parsed.facts
    texts = [f"{table.benchmark}, {table.ranks} ranks" for table in parsed.tables]
    hosts = len(facts.hosts) or facts.nodes
    texts += [counted(hosts, "host")] if hosts else []
    texts += parsed.ras.summary if parsed.ras is not None else []
    if facts.adapters:
        texts.append(f"adapters {', '.join(list(facts.adapters)[:8])}")
    parts = "".join(f"; {text}" for text in dict.fromkeys(texts))
    return f"{explanation.name}: {parsed.format}{parts}"


def result_table(explanation: FileExplanation) -> Table:
    """Return the table of results next to the expectation: choices, bound, bandwidth with logged choices."""
    expected, curve = explanation.expected, explanation.curve
    points = [point for point in explanation.case.points if point.busbw]
    points_with_range = [point for point in points if point.size_bytes in expected]
    shown = (points_with_range or points)[-_ROWS_MAX:]
    as_chosen = dict(curve.as_chosen.points) if curve and curve.as_chosen else {}
    with_choice = [as_chosen.get(point.size_bytes) for point in shown]
    columns = [
        Column("data size", head=("data", "size")),
        Column("placement", is_text=True, head=("",)),
        Column("time", "us"),
        Column("busbw", "GB/s"),
        Column("expected", "GB/s", is_text=True),
        Column("of least", "%"),
    ]
    rows = []
    for point in shown:
        of_size = expected.get(point.size_bytes)
        span, share = "-", "-"
        if of_size is not None:
            least, most = of_size.busbw.least, of_size.busbw.most
            span = f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
            share = f"{100 * (point.busbw or 0.0) / least:.0f}"
        time = "-" if point.time_us is None else f"{point.time_us:.{5 if point.time_us < 99_999 else 7}g}"
        cells = [data_size(point.size_bytes), point.placement, time, f"{point.busbw:.4g}", span, share]
        is_short = of_size is not None and (point.busbw or 0.0) < of_size.busbw.least
        rows.append(Row(cells, "bad" if is_short else ""))
    more = {
        _column("NCCL's choice,", "expected"): [_of(expected, point, "choice") for point in shown],
        _column("NCCL's choice,", "by the log"): [chosen_words(point.chosen) for point in shown],
        Column("with it", "GB/s"): ["" if value is None else number(value, 4) for value in with_choice],
        _column("", "bound"): [_of(expected, point, "bound") for point in shown],
        _column("gain if", "lifted"): [_of(expected, point, "gain") for point in shown],
    }
    for column, texts in more.items():
        if any(texts):
            columns.append(column)
            rows = [Row([*row.cells, text or "-"], row.tone) for row, text in zip(rows, texts, strict=True)]
    return Table(columns, rows)


def _column(*head: str) -> Column:
    """Return a column of texts with a head of two lines in a terminal."""
    return Column(" ".join(head).strip(), is_text=True, head=head)


def _of(expected: Mapping[int, ExpectedPoint], point: Point, name: str) -> str:
    of_size = expected.get(point.size_bytes)
    return "" if of_size is None else str(getattr(of_size, name))


def fabric_lines(explanation: FileExplanation) -> list[str]:
    """Return the source of the expected values, and the missing inputs with their options."""
    parsed, case, fabric = explanation.parsed, explanation.case, explanation.fabric
    hardware, lines = fabric.hardware, []
    if explanation.curve is not None:
        lines.append(f"expected: {explanation.curve.source}")
    elif fabric.plan:
        if parsed.tables:
            lines.append(f"expected: nothing of plan {fabric.plan} at the measured sizes")
            sizes = sorted({point.size_bytes for point in case.points if point.busbw})[-3:]
            lines.append(
                f"hint: `fabricbench expect {fabric.plan} -s sweep.data_size={sizes}` gives the range; then "
                "explain again"
            )
    elif fabric.candidates:
        lines.append(
            f"several plans fit: say which: {', '.join(f'--plan {name}' for name in fabric.candidates[:5])}"
        )
    elif case.crosses:
        lines.append(
            "expected: not known, as the fabric is not: --plan PLAN, or --cluster SERVER with --servers N"
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


def explanation_json(explanation: FileExplanation) -> str:
    """Return everything as JSON."""
    return json.dumps(explanation_object(explanation), indent=2, allow_nan=False)


def explanation_object(explanation: FileExplanation) -> dict[str, Any]:
    """Return everything as one object of JSON values."""
    case, fabric, curve = explanation.case, explanation.fabric, explanation.curve
    as_chosen = dict(curve.as_chosen.points) if curve and curve.as_chosen else {}
    return {
        "file": explanation.name,
        "format": explanation.parsed.format,
        "warnings": warnings(explanation),
        "results": [
            {
                "benchmark": point.benchmark,
                "ranks": point.ranks,
                "size_bytes": point.size_bytes,
                "placement": point.placement,
                "time_us": point.time_us,
                "busbw_gb_per_s": point.busbw,
                "expected_gb_per_s": _range(explanation.expected.get(point.size_bytes)),
                "nccl": chosen_words(point.chosen) or None,
                "line": point.line,
                "differs": dict(point.differs),
            }
            for point in case.points
        ],
        "expected": [
            {
                "size_bytes": point.data_size_bytes,
                **{f"busbw_gb_per_s_{name}": value for name, value in asdict(point.busbw).items()},
                "ideal_gb_per_s": point.ideal_gb_per_s,
                "nccl": point.choice or None,
                "bound": point.bound or None,
                "with_logged_choice_gb_per_s": as_chosen.get(point.data_size_bytes),
            }
            for point in (curve.series.points if curve else ())
        ],
        "expected_source": curve.source if curve else None,
        "falls_short": [
            {"size_bytes": point.size_bytes, "factor": factor} for point, factor in explanation.shortfalls
        ],
        "choices_that_differ": explanation.differences,
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
            for suspect in explanation.causes
        ],
    }


def _range(point: ExpectedPoint | None) -> list[float] | None:
    return None if point is None else [point.busbw.least, point.busbw.most]
