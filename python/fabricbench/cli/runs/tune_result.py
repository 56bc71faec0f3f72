"""Formats the result of a `tune` search as tables, JSON or CSV; writes plan and switch files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fabricbench.cli.output import Format, has_colour, note
from fabricbench.plan.document.yaml_text import yaml_text
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.atomic_files import atomic_file, check_writable_target
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.output.sonic import sonic_config
from fabricbench.report.terminal.text_table import render
from fabricbench.runner.tuning.confirmation import Change, Confidence, Evidence
from fabricbench.runner.tuning.definition import Tried
from fabricbench.runner.tuning.plan_fragment import changes, fragment
from fabricbench.runner.tuning.result import TuneResult
from fabricbench.runner.tuning.space import Range
from fabricbench.words import counted, data_size

_FRONT_MAX: Final = 10
"""Points of a Pareto front that a table shows."""


def formatted(result: TuneResult, output: Format) -> str:
    """Return a result in a format."""
    if output is Format.JSON:
        return json.dumps(_json(result), indent=2)
    return rows_csv(result.columns, result.rows) if output is Format.CSV else "\n\n".join(_sections(result))


def _sections(result: TuneResult) -> list[str]:
    if result.best is None:
        return [_counts(result), _nearest_text(result)]
    sections = [_counts(result)]
    if len(result.definition.aims) > 1:
        sections.append(_front(result))
    sections.append(_fields(result, result.best))
    if result.evidence is not None:
        sections += [_changes(result.evidence.changes), _evidence_text(result.evidence)]
    sections.append(_run_commands(result, result.best))
    return sections


def _counts(result: TuneResult) -> str:
    counts = Counter(point.ending.value for point in result.tried)
    meanings = {
        "complete": "complete",
        "stopped": "stopped after smaller sizes",
        "invalid": "without a valid plan",
        "no-result": "without a result",
    }
    parts = [f"{counts[ending]} {meaning}" for ending, meaning in meanings.items() if counts[ending]]
    missed = counts["complete"] - sum(point.is_allowed for point in result.tried)
    parts += [f"{missed} beyond a limit"] if missed else []
    return f"{counted(len(result.tried), 'point')}: {', '.join(parts)}"


def _nearest_text(result: TuneResult) -> str:
    complete = [point for point in result.tried if point.ending == "complete"]
    if not complete:
        return "no point has a result"
    nearest = min(complete, key=lambda point: sum(max(0, miss) for miss in point.violations))
    missed = ", ".join(
        f"{limit} by {miss:.6g}"
        for limit, miss in zip(result.definition.limits, nearest.violations, strict=True)
        if miss > 0
    )
    return f"no point keeps every limit; point {nearest.number} comes nearest and misses {missed}"


def _text_table(headers: Sequence[tuple[str, ...]], rows: Sequence[Sequence[str]], text_columns: int) -> str:
    """Return a table whose first `text_columns` columns are text."""
    columns = [
        Column(" ".join(head), is_text=index < text_columns, head=head) for index, head in enumerate(headers)
    ]
    return render(Table(columns, [Row(cells) for cells in rows]), colour=has_colour())


def _front(result: TuneResult) -> str:
    front = result.definition.front(result.tried)
    rows = [
        [str(point.number), *(f"{ratio:.4f}" for ratio in point.ratios), _point_text(point)]
        for point in sorted(front, key=lambda point: tuple(point.ratios))[:_FRONT_MAX]
    ]
    headers = [("point",), *((aim.metric.name, "of shipped") for aim in result.definition.aims), ("fields",)]
    remainder_text = f"\nand {len(front) - _FRONT_MAX} more" if len(front) > _FRONT_MAX else ""
    table = _text_table(headers, rows, 0)
    return f"Pareto front, {counted(len(front), 'point')}\n{table}{remainder_text}"


def _point_text(tried: Tried) -> str:
    return ", ".join(f"{field.rpartition('.')[2]} {value}" for field, value in tried.point.items())


def _fields(result: TuneResult, best: Tried) -> str:
    shipped = result.definition.space.shipped()
    rows = [
        [
            field,
            shipped.get(field, ""),
            value,
            *(f"{100 * shares[field]:.0f} %" if field in shares else "" for shares in result.importances),
        ]
        for field, value in best.point.items()
    ]
    aims = [aim.metric.name for aim in result.definition.aims]
    shares = [("importance", name if len(aims) > 1 else "") for name in aims]
    headers = [(f"best point, {best.number}",), ("shipped",), ("tuned",), *shares]
    fields = result.definition.space.fields
    ranges = [field_range for field_range in fields if isinstance(field_range, Range)]
    fields_at_end = [
        field_range.field for field_range in ranges if field_range.is_at_end(best.point[field_range.field])
    ]
    remark = (
        f"\nat an end of its range, beyond which it may be better: {', '.join(fields_at_end)}"
        if fields_at_end
        else ""
    )
    return _text_table(headers, rows, 3) + remark


def _changes(changes: Sequence[Change]) -> str:
    rows = [
        [
            change.plan,
            data_size(change.size_bytes),
            change.metric,
            f"{change.shipped:.5g}",
            f"{change.tuned:.5g}",
            "" if change.ratio is None else f"{100 * (change.ratio - 1):+.1f} %",
        ]
        for change in changes
    ]
    return _text_table([("plan",), ("size",), ("metric",), ("shipped",), ("tuned",), ("change",)], rows, 3)


def _evidence_text(evidence: Evidence) -> str:
    lines = [_confidence_text(confidence) for confidence in evidence.confidences]
    lines += [
        f"{limit}: {'kept' if is_kept else 'not kept'} with these seeds"
        for limit, is_kept in evidence.limits_met
    ]
    return "\n".join(lines)


def _confidence_text(gain: Confidence) -> str:
    text = (
        f"{gain.aim.metric.name}: {gain.ratio:.4f} of shipped over {gain.seeds} other seeds, "
        f"95 % confidence {gain.low:.4f} to {gain.high:.4f}, better with {gain.better} of {gain.seeds}"
    )
    return text if gain.is_shown else f"{text}: no improvement is shown"


def _run_commands(result: TuneResult, best: Tried) -> str:
    """Return the commands that run the plans at the best point."""
    from shlex import quote

    space, commands = result.definition.space, []
    for number, plan in enumerate(space.plans):
        options = (
            f"-s {quote(override)}" for override in (*plan.overrides, *changes(space, best.point, number))
        )
        commands.append(f"fabricbench run {quote(plan.source)} {' '.join(options)}")
    return "\n".join(commands)


def _json(result: TuneResult) -> dict[str, Any]:
    search_spec = result.definition
    content: dict[str, Any] = {
        "id": search_spec.id,
        "journal": str(result.journal),
        "plans": [plan.plan.name for plan in search_spec.space.plans],
        "aims": [
            {"metric": aim.metric.name, "direction": "maximize" if aim.is_most else "minimize"}
            for aim in search_spec.aims
        ],
        "limits": [str(limit) for limit in search_spec.limits],
        "points": dict(Counter(point.ending.value for point in result.tried)),
        "importance": [dict(shares) for shares in result.importances],
        "best": None,
    }
    if result.best is None:
        return content
    config, missing = sonic_config(search_spec.space.at(result.best.point)[0].trials[-1].run_spec)
    return content | {
        "best": _point_json(result.best),
        "front": [_point_json(point) for point in search_spec.front(result.tried)],
        "evidence": _evidence_json(result.evidence) if result.evidence else None,
        "plan": fragment(search_spec.space, result.best.point),
        "sonic": config,
        "not_in_sonic": missing,
    }


def _point_json(point: Tried) -> dict[str, Any]:
    return {"number": point.number, "point": dict(point.point), "ratios": list(point.ratios)}


def _evidence_json(evidence: Evidence) -> dict[str, Any]:
    return {
        "ratios": [entry.values for entry in evidence.confidences],
        "metrics": [vars(entry) for entry in evidence.changes],
        "limits": {str(limit): is_kept for limit, is_kept in evidence.limits_met},
    }


def check_files(*paths: Path | None) -> None:
    """Check before the search that its files can be written.

    Raises:
        OutputFileError: One cannot.
    """
    for path in paths:
        if path is not None:
            check_writable_target(path)


def write_files(result: TuneResult, plan: Path | None, sonic: Path | None) -> None:
    """Write the best point for plans and for switches, and note values without a field in switches."""
    if result.best is None:
        return
    if plan is not None:
        _write(plan, _fragment_text(result, result.best))
    if sonic is None:
        return

    candidates = result.definition.space.at(result.best.point)
    configs = [sonic_config(candidate.trials[-1].run_spec) for candidate in candidates]
    _write(sonic, json.dumps(configs[0][0], indent=2) + "\n")
    for sentence in configs[0][1]:
        note(f"not in {sonic}: {sentence}")
    for candidate, config in zip(candidates[1:], configs[1:], strict=True):
        if config != configs[0]:
            note(
                f"not in {sonic}: {candidate.plan.name} comes to other values than {candidates[0].plan.name}"
            )


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text.encode())
    note(f"wrote {path}")


def _fragment_text(result: TuneResult, best: Tried) -> str:
    """Return the searched fields as YAML, after comments on the search and its evidence."""
    names = ", ".join(plan.plan.name for plan in result.definition.space.plans)
    lines = [f"# Point {best.number} of {len(result.tried)} of a search over {names}."]
    lines += [
        f"# {_confidence_text(confidence)}"
        for confidence in (result.evidence.confidences if result.evidence else ())
    ]
    return "\n".join(lines) + "\n" + yaml_text(fragment(result.definition.space, best.point))
