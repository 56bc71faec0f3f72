"""What a search found, as tables, JSON and CSV, and as files for plans and switches."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench.cli.output import Format, has_colour, note
from fabricbench.report.files import atomic_file, check_writable_target
from fabricbench.report.formats import rows_csv
from fabricbench.report.sonic import sonic_config
from fabricbench.report.text_table import Column, Row, render
from fabricbench.runner.tuning.evidence import Change, Confidence, Evidence
from fabricbench.runner.tuning.fragment import changes, fragment
from fabricbench.runner.tuning.space import Range
from fabricbench.runner.tuning.wanted import Tried, Wanted
from fabricbench.words import counted, data_size

_FRONT_MAX: Final = 10
"""Points of a Pareto front that a table shows."""


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        wanted: What was searched.
        journal: The file that the search can go on from.
        tried: Every point.
        best: The best that keeps every limit; none if there is none.
        importances: For each aim the share of each field in it; empty if that is not known.
        evidence: What other seeds say of the best point; none if that was not asked for.
    """

    wanted: Wanted
    journal: Path
    tried: Sequence[Tried]
    best: Tried | None
    importances: Sequence[Mapping[str, float]]
    evidence: Evidence | None


def written(found: Found, output: Format) -> str:
    """Return what was found in a format."""
    if output is Format.JSON:
        return json.dumps(_json(found), indent=2)
    return _csv(found) if output is Format.CSV else "\n\n".join(_sections(found))


def _sections(found: Found) -> list[str]:
    if found.best is None:
        return [_counts(found), _nothing(found)]
    sections = [_counts(found)]
    if len(found.wanted.aims) > 1:
        sections.append(_front(found))
    sections.append(_fields(found, found.best))
    if found.evidence is not None:
        sections += [_changes(found.evidence.changes), _sureness(found.evidence)]
    sections.append(_use(found, found.best))
    return sections


def _counts(found: Found) -> str:
    ends = Counter(each.ending.value for each in found.tried)
    meanings = {
        "complete": "complete",
        "stopped": "stopped after smaller sizes",
        "invalid": "without a valid plan",
        "no-result": "without a result",
    }
    parts = [f"{ends[ending]} {meaning}" for ending, meaning in meanings.items() if ends[ending]]
    missed = ends["complete"] - sum(each.is_allowed for each in found.tried)
    parts += [f"{missed} beyond a limit"] if missed else []
    return f"{counted(len(found.tried), 'point')}: {', '.join(parts)}"


def _nothing(found: Found) -> str:
    complete = [each for each in found.tried if each.ending == "complete"]
    if not complete:
        return "no point has a result"
    nearest = min(complete, key=lambda each: sum(max(0, miss) for miss in each.violations))
    missed = ", ".join(
        f"{limit} by {miss:.6g}"
        for limit, miss in zip(found.wanted.limits, nearest.violations, strict=True)
        if miss > 0
    )
    return f"no point keeps every limit; point {nearest.number} comes nearest and misses {missed}"


def _table(heads: Sequence[tuple[str, ...]], rows: Sequence[Sequence[str]], texts: int) -> str:
    """Return a table of which the first so many columns are text."""
    columns = [Column(head, place < texts) for place, head in enumerate(heads)]
    return render(columns, [Row(cells) for cells in rows], colour=has_colour())


def _front(found: Found) -> str:
    front = found.wanted.front(found.tried)
    rows = [
        [str(each.number), *(f"{ratio:.4f}" for ratio in each.ratios), _point_text(each)]
        for each in sorted(front, key=lambda each: tuple(each.ratios))[:_FRONT_MAX]
    ]
    heads = [("point",), *((aim.metric.name, "of shipped") for aim in found.wanted.aims), ("fields",)]
    more = f"\nand {len(front) - _FRONT_MAX} more" if len(front) > _FRONT_MAX else ""
    table = _table(heads, rows, 0)
    return f"Pareto front, {counted(len(front), 'point')}\n{table}{more}"


def _point_text(tried: Tried) -> str:
    return ", ".join(f"{field.rpartition('.')[2]} {value}" for field, value in tried.point.items())


def _fields(found: Found, best: Tried) -> str:

    shipped = found.wanted.space.shipped()
    rows = [
        [
            field,
            shipped.get(field, ""),
            value,
            *(f"{100 * shares[field]:.0f} %" if field in shares else "" for shares in found.importances),
        ]
        for field, value in best.point.items()
    ]
    aims = [aim.metric.name for aim in found.wanted.aims]
    shares = [("importance", name if len(aims) > 1 else "") for name in aims]
    heads = [(f"best point, {best.number}",), ("shipped",), ("tuned",), *shares]
    fields = found.wanted.space.fields
    ranges = [each for each in fields if isinstance(each, Range)]
    ends = [each.field for each in ranges if each.is_at_end(best.point[each.field])]
    remark = f"\nat an end of its range, beyond which it may be better: {', '.join(ends)}" if ends else ""
    return _table(heads, rows, 3) + remark


def _changes(changes: Sequence[Change]) -> str:
    rows = [
        [
            each.plan,
            data_size(each.size_bytes),
            each.metric,
            f"{each.shipped:.5g}",
            f"{each.tuned:.5g}",
            "" if each.ratio is None else f"{100 * (each.ratio - 1):+.1f} %",
        ]
        for each in changes
    ]
    return _table([("plan",), ("size",), ("metric",), ("shipped",), ("tuned",), ("change",)], rows, 3)


def _sureness(evidence: Evidence) -> str:
    lines = [_confidence(each) for each in evidence.confidences]
    lines += [
        f"{limit}: {'kept' if is_kept else 'not kept'} with these seeds" for limit, is_kept in evidence.kept
    ]
    return "\n".join(lines)


def _confidence(each: Confidence) -> str:
    text = (
        f"{each.aim.metric.name}: {each.ratio:.4f} of shipped over {each.seeds} other seeds, "
        f"95 % confidence {each.low:.4f} to {each.high:.4f}, better with {each.better} of {each.seeds}"
    )
    return text if each.is_shown else f"{text}: no improvement is shown"


def _use(found: Found, best: Tried) -> str:
    """Return the commands that run the plans at the best point."""
    from shlex import quote

    space, commands = found.wanted.space, []
    for number, plan in enumerate(space.plans):
        options = (f"-s {quote(each)}" for each in (*plan.overrides, *changes(space, best.point, number)))
        commands.append(f"fabricbench run {quote(plan.source)} {' '.join(options)}")
    return "\n".join(commands)


def _json(found: Found) -> dict[str, Any]:

    wanted = found.wanted
    told: dict[str, Any] = {
        "id": wanted.id,
        "journal": str(found.journal),
        "plans": [plan.plan.name for plan in wanted.space.plans],
        "aims": [
            {"metric": aim.metric.name, "direction": "maximize" if aim.is_most else "minimize"}
            for aim in wanted.aims
        ],
        "limits": [str(limit) for limit in wanted.limits],
        "points": dict(Counter(each.ending.value for each in found.tried)),
        "importance": [dict(shares) for shares in found.importances],
        "best": None,
    }
    if found.best is None:
        return told
    config, missing = sonic_config(wanted.space.at(found.best.point)[0].trials[-1].run_spec)
    return told | {
        "best": _tried(found.best),
        "front": [_tried(each) for each in wanted.front(found.tried)],
        "evidence": _evidence(found.evidence) if found.evidence else None,
        "plan": fragment(wanted.space, found.best.point),
        "sonic": config,
        "not_in_sonic": missing,
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {"number": one.number, "point": dict(one.point), "ratios": list(one.ratios)}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "ratios": [
            {
                "metric": each.aim.metric.name,
                "ratio": each.ratio,
                "low": each.low,
                "high": each.high,
                "better": each.better,
                "seeds": each.seeds,
            }
            for each in evidence.confidences
        ],
        "metrics": [vars(each) for each in evidence.changes],
        "limits": {str(limit): is_kept for limit, is_kept in evidence.kept},
    }


def _csv(found: Found) -> str:

    wanted = found.wanted
    names = [each.field for each in wanted.space.fields]
    aims = [f"{aim.metric.name}_ratio" for aim in wanted.aims]
    rows = [
        {"point": each.number, "ending": each.ending.value, "allowed": each.is_allowed}
        | dict(each.point)
        | dict(zip(aims, each.ratios, strict=False))
        for each in found.tried
    ]
    return rows_csv(["point", "ending", "allowed", *names, *aims], rows)


def check_files(*paths: Path | None) -> None:
    """Check before the search that its files can be written.

    Raises:
        OutputFileError: One cannot.
    """
    for path in paths:
        if path is not None:
            check_writable_target(path)


def write_files(found: Found, plan: Path | None, sonic: Path | None) -> None:
    """Write the best point for plans and for switches, and say what the latter have no field for."""
    if found.best is None:
        return
    if plan is not None:
        _write(plan, _fragment_text(found, found.best))
    if sonic is None:
        return

    candidates = found.wanted.space.at(found.best.point)
    configs = [sonic_config(each.trials[-1].run_spec) for each in candidates]
    _write(sonic, json.dumps(configs[0][0], indent=2) + "\n")
    for sentence in configs[0][1]:
        note(f"not in {sonic}: {sentence}")
    for each, config in zip(candidates[1:], configs[1:], strict=True):
        if config != configs[0]:
            note(f"not in {sonic}: {each.plan.name} comes to other values than {candidates[0].plan.name}")


def _write(path: Path, text: str) -> None:

    with atomic_file(path) as file:
        file.write(text.encode())
    note(f"wrote {path}")


def _fragment_text(found: Found, best: Tried) -> str:
    """Return the searched fields as YAML, with what is known of them ahead."""
    from ruamel.yaml import YAML

    names = ", ".join(plan.plan.name for plan in found.wanted.space.plans)
    lines = [f"# Point {best.number} of {len(found.tried)} of a search over {names}."]
    lines += [f"# {_confidence(each)}" for each in (found.evidence.confidences if found.evidence else ())]
    text = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 4000
    yaml.dump(fragment(found.wanted.space, best.point), text)
    return "\n".join(lines) + "\n" + text.getvalue()
