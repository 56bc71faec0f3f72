"""The cases of a plan: each variant at each combination of the values of swept fields.

A combination has one value of every list of the sweep; zipped lists change together. Sizes of the sweep are
not part of it, unless they are zipped with fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

from fabricbench.plan.errors import FieldPath
from fabricbench.plan.sweep.labels import BASE_VARIANT
from fabricbench.plan.sweep.model import SIZE_FIELDS, Sweep

Axes = tuple[tuple[str, Any], ...]
"""The swept fields of a trial by their dotted paths, in the order of the plan, each with its value there."""


@dataclass(frozen=True)
class Setting:
    """A swept field with one of its values.

    Attributes:
        name: Dotted path of the field, or `data_size` or `message_size`.
        value: The value, as the plan has it.
        path: Path of the value in the plan.
    """

    name: str
    value: Any
    path: FieldPath

    @property
    def is_size(self) -> bool:
        """Whether it is the size of the trials, not a field."""
        return self.name in SIZE_FIELDS


@dataclass(frozen=True)
class Case:
    """A variant at one combination.

    Attributes:
        variant: Label of the variant in which all jobs run.
        number: Index of the combination, from 0.
        axes: Its values, without sizes.
    """

    variant: str
    number: int = 0
    axes: Axes = field(default=(), compare=False)


BASE_CASE: Final = Case(BASE_VARIANT)
"""The plan without variants and swept fields."""


def combinations(sweep: Sweep | None) -> Iterator[tuple[Setting, ...]]:
    """Yield every combination, the last list changing fastest; a single empty one without swept fields."""
    if sweep is None:
        yield ()
        return
    steps: list[list[tuple[Setting, ...]]] = [
        [(Setting(name, value, ("sweep", name, index)),) for index, value in enumerate(values)]
        for name, values in sweep.fields.items()
    ]
    if sweep.zipped:
        lists = sweep.zipped.lists
        steps.append(
            [
                tuple(
                    Setting(name, value, ("sweep", "zip", name, index))
                    for name, value in zip(lists, values, strict=True)
                )
                for index, values in enumerate(zip(*lists.values(), strict=True))
            ]
        )
    for groups in product(*steps):
        yield tuple(setting for settings in groups for setting in settings)


def combination_count(sweep: Sweep | None) -> int:
    """Return the number of combinations, without building them."""
    count = 1
    for values in sweep.fields.values() if sweep else ():
        count *= len(values)
    zipped = sweep.zipped.lists if sweep and sweep.zipped else {}
    return count * min(map(len, zipped.values()), default=1)
