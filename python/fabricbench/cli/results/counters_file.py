"""Output of `counters FILE`: each counter with its value, definition, and our metric that counts the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from fabricbench.cli.output import Format, has_colour
from fabricbench.importing import Change, SwitchCounters, totals
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import Style, styled

_SHOWN: Final = 6
_COLUMNS: Final = (
    *("switch", "place", "vendor_name", "name", "before", "after", "value", "note"),
    *("counts", "unit", "metric", "meaning", "reference"),
)


def counters_text(switches: Sequence[SwitchCounters], output: Format) -> str:
    """Return the counters of switches in a format."""
    if output is Format.TABLE:
        return "\n\n".join(_text(switch) for switch in switches)
    if output is Format.CSV:
        return rows_csv(
            list(_COLUMNS), [_row(switch, change) for switch in switches for change in switch.changes]
        )
    content = [
        {
            "switch": switch.switch,
            "kind": switch.kind,
            "file": switch.file,
            "before": switch.before or None,
            "forms": list(switch.forms),
            "notes": list(switch.notes),
            "counters": [
                {name: value for name, value in _row(switch, change).items() if name != "switch"}
                for change in switch.changes
            ],
        }
        for switch in switches
    ]
    return json.dumps({"switches": content}, indent=2, allow_nan=False)


def _row(switch: SwitchCounters, change: Change) -> dict[str, Any]:
    counter = change.counter
    return {
        "switch": switch.switch,
        "place": change.place,
        "vendor_name": change.vendor_name,
        "name": counter.name if counter else None,
        "before": change.before,
        "after": change.after,
        "value": change.value,
        "note": change.note,
        "counts": counter.counts if counter else None,
        "unit": counter.unit if counter else None,
        "metric": (counter.metric or None) if counter else None,
        "meaning": counter.meaning if counter else None,
        "reference": counter.reference if counter else None,
    }


def _text(switch: SwitchCounters) -> str:
    period = f"since {switch.before}" if switch.before else "as they stand: --before FILE gives the growth"
    title = f"{switch.switch}: {', '.join(switch.forms)}; {period}"
    by_name: dict[str, list[Change]] = {}
    for change in switch.changes:
        by_name.setdefault(change.vendor_name, []).append(change)
    defined = [changes for changes in by_name.values() if changes[0].counter and not _is_idle(changes)]
    idle = [name for name, changes in by_name.items() if changes[0].counter and _is_idle(changes)]
    undefined = [changes for changes in by_name.values() if not changes[0].counter]
    lines = [styled(title, Style.BOLD, colour=has_colour()), *switch.notes]
    lines += [line for changes in defined for line in _lines(changes)]
    if idle:
        lines.append(f"0 wherever they are counted: {', '.join(idle)}")
    if undefined:
        lines.append("not known, by their vendor's names:")
        lines += [f"{changes[0].vendor_name}: {_values(changes)}" for changes in undefined]
    return "\n".join(lines)


def _is_idle(changes: Sequence[Change]) -> bool:
    """Return whether a counter is omitted: it is 0, or the device does not have it."""
    return all(
        not change.value if change.value is not None else change.after is None and not change.least
        for change in changes
    )


def _lines(changes: Sequence[Change]) -> Iterator[str]:
    counter = changes[0].counter
    if counter is None:
        return
    unit = f" [{counter.unit}]" if counter.unit else ""
    metric_text = f"ours: {counter.metric}" if counter.metric else "nothing of ours counts this"
    yield f"{changes[0].vendor_name}: {counter.name}, {counter.counts}{unit}; {metric_text}"
    yield f"  {counter.meaning}"
    yield f"  {_values(changes)}"


def _values(changes: Sequence[Change]) -> str:
    """Return the values of a counter: the largest by port or queue, and how many are 0 or unknown."""
    counted = [change for change in changes if change.value is not None]
    nonzero = {location: value for location, value in totals(counted).items() if value}
    texts = [f"{location} {_number(value)}" for location, value in list(nonzero.items())[:_SHOWN]]
    texts += [f"{len(nonzero) - _SHOWN:,} more"] if len(nonzero) > _SHOWN else []
    texts += [f"{len(counted) - len(nonzero):,} with 0"] if len(counted) > len(nonzero) else []
    reasons: dict[str, int] = {}
    for change in changes:
        if change.value is None:
            reasons[change.note] = reasons.get(change.note, 0) + 1
    texts += [f"{count:,} {reason}" for reason, count in reasons.items()]
    lower_bounds = [f"{change.place} {_number(change.least)}" for change in changes if change.least]
    if lower_bounds:
        remainder_text = [f"{len(lower_bounds) - _SHOWN:,} more"] if len(lower_bounds) > _SHOWN else []
        texts.append(
            f"at least, since it was cleared: {', '.join([*lower_bounds[:_SHOWN], *remainder_text])}"
        )
    return ", ".join(texts)


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
