"""Formats names and values of the plan fields that trials sweep, for tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fabricbench.store import Trial
from fabricbench.words import axes_text, plan_value


def axis_names(trials: Iterable[Trial]) -> list[str]:
    """Return the fields that any of the trials sweeps, by their dotted paths, in the order of the plan."""
    return list(dict.fromkeys(name for trial in trials for name, _ in trial.facts.axes))


def axis_values(trial: Trial, names: Sequence[str]) -> list[str]:
    """Return the value of each field in a trial as text; empty if the trial does not sweep the field."""
    value_by_name = dict(trial.facts.axes)
    return [plan_value(value_by_name[name]) if name in value_by_name else "" for name in names]


def axis_heads(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the column head of each field: its parent, with an index if it has one, and its own name."""
    heads = list(map(_head, names))
    counts = Counter(heads)
    return [head if counts[head] == 1 else ("", name) for head, name in zip(heads, names, strict=True)]


def _head(name: str) -> tuple[str, str]:
    above, _, last = name.rpartition(".")
    parts = above.split(".")
    return ".".join(parts[-2:] if parts[-1].isdecimal() else parts[-1:]), last


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of each path, or the whole path where last parts are ambiguous."""
    counts = Counter(name.rpartition(".")[2] for name in names)
    return {name: last if counts[last := name.rpartition(".")[2]] == 1 else name for name in names}


def axes_label(trial: Trial) -> str:
    """Return the values of the swept fields of a trial, `kmin 100KB, window 32`; empty if it sweeps none."""
    short = short_names([name for name, _ in trial.facts.axes])
    return axes_text((short[name], value) for name, value in trial.facts.axes)
