"""Finds the factors of a campaign whose effects can be separated; merges or drops confounded ones.

A factor is a property, such as a plan field, that differs among the campaign's trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from fabricbench.words import counted

_JOINT: Final = " / "
_NAMED_MAX: Final = 3
LEVELS_MAX: Final = 200
"""Largest total number of values of all factors of one model."""


@dataclass(frozen=True)
class Factor:
    """A property that differs among settings.

    Attributes:
        name: Its name; for several that change together, all their names.
        levels: Its values as text, in order.
        values: Its value in each setting.
    """

    name: str
    levels: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def numbers(self) -> list[int]:
        """The number of its level in each setting, from 0."""
        number_by_level = {level: number for number, level in enumerate(self.levels)}
        return [number_by_level[value] for value in self.values]

    def at(self, settings: Sequence[int]) -> Factor:
        """Return the factor restricted to some of the settings, by their numbers."""
        values = tuple(self.values[number] for number in settings)
        present = set(values)
        return replace(self, values=values, levels=tuple(level for level in self.levels if level in present))


@dataclass(frozen=True)
class SeparableFactors:
    """Factors whose effects can be separated.

    Attributes:
        factors: The factors, restricted to `settings`.
        settings: The numbers of the settings that separate them.
        notes: Factors and settings that were left out, with the reason.
    """

    factors: Sequence[Factor]
    settings: Sequence[int]
    notes: Sequence[str]


def separable_factors(
    columns: Mapping[str, Sequence[str]], order: Mapping[str, Sequence[str]]
) -> SeparableFactors:
    """Return the factors whose effects can be separated.

    Factors that change together are merged. A factor whose value follows from that of another is left out. If
    two change together in some settings, and never with the others, the larger part of the settings is used.

    Args:
        columns: The value of each factor in each setting, by the name of the factor.
        order: The order of the values of each.
    """
    count = max(map(len, columns.values()), default=0)
    settings = list(range(count))
    all_factors = [Factor(name, tuple(order[name]), tuple(values)) for name, values in columns.items()]
    notes: list[str] = []
    while True:
        factors, reasons = _useful([factor.at(settings) for factor in all_factors])
        linked, reason = _linked(factors, len(settings))
        if not reason:
            return SeparableFactors(factors, settings, [*notes, *reasons])
        notes.append(reason)
        settings = [settings[number] for number in linked]


def _useful(candidates: Sequence[Factor]) -> tuple[list[Factor], list[str]]:
    """Return the factors that may have an effect, and why others have none."""
    factors: list[Factor] = []
    notes: list[str] = []
    for factor in candidates:
        if len(factor.levels) < 2:
            notes.append(f"{factor.name}: a single value, {''.join(factor.levels)}, is left; no effect.")
            continue
        twin = next((accepted for accepted in factors if _is_same(accepted, factor)), None)
        if twin is None:
            factors.append(factor)
        else:
            factors[factors.index(twin)] = _joined(twin, factor)
    for factor in sorted(factors, key=lambda accepted: len(accepted.levels)):
        source = next(
            (accepted for accepted in factors if accepted is not factor and _follows(factor, accepted)), None
        )
        if source is not None:
            notes.append(f"{factor.name} follows from {source.name}: no effect of its own.")
            factors.remove(factor)
    while sum(len(factor.levels) for factor in factors) > LEVELS_MAX:
        largest = max(factors, key=lambda accepted: len(accepted.levels))
        notes.append(f"{largest.name}: {len(largest.levels):,} values are too many for effects.")
        factors.remove(largest)
    return factors, notes


def _linked(factors: Sequence[Factor], count: int) -> tuple[list[int], str]:
    """Return the settings that no two factors split into separate parts, and a note on omitted ones."""
    for one, other in combinations(factors, 2):
        parts = _parts(one, other)
        sizes = Counter(parts)
        if len(sizes) > 1:
            largest, largest_size = sizes.most_common(1)[0]
            omitted = [number for number in range(count) if parts[number] != largest]
            names = list(dict.fromkeys(f"{one.values[n]} with {other.values[n]}" for n in omitted))
            more = ", ..." if len(names) > _NAMED_MAX else ""
            examples = ", ".join(names[:_NAMED_MAX]) + more
            reason = (
                f"{counted(count - largest_size, 'setting')} of {count:,} left out of the effects, where "
                f"{one.name} and {other.name} change together: {examples}."
            )
            return [number for number in range(count) if parts[number] == largest], reason
    return list(range(count)), ""


def _parts(one: Factor, other: Factor) -> list[str]:
    """Return for each setting the name of its part.

    Two settings are in one part if they have a value of either factor in common, or are linked by such.
    """
    leader: dict[tuple[int, str], tuple[int, str]] = {}

    def root(node: tuple[int, str]) -> tuple[int, str]:
        while (above := leader.setdefault(node, node)) != node:
            leader[node] = leader[above]
            node = leader[node]
        return node

    for first, second in set(zip(one.values, other.values, strict=True)):
        leader[root((0, first))] = root((1, second))
    return [str(root((0, value))) for value in one.values]


def _follows(factor: Factor, source: Factor) -> bool:
    """Return whether the value of one factor follows from that of another."""
    return len(set(zip(factor.values, source.values, strict=True))) == len(source.levels)


def _is_same(one: Factor, other: Factor) -> bool:
    return _follows(one, other) and _follows(other, one)


def _joined(one: Factor, other: Factor) -> Factor:
    """Return two factors that change together as one."""
    pairs = dict(zip(one.values, other.values, strict=True))
    return Factor(
        f"{one.name}{_JOINT}{other.name}",
        tuple(f"{level}{_JOINT}{pairs[level]}" for level in one.levels),
        tuple(f"{value}{_JOINT}{pairs[value]}" for value in one.values),
    )
