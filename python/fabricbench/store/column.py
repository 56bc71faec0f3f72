"""Type that describes a column of a trial's result tables."""

from typing import NamedTuple


class Column(NamedTuple):
    """A column of a record table.

    Attributes:
        name: Its name, which ends with the unit.
        type: Its type in Arrow: `int64`, `float64` or `string`.
        is_nullable: Whether it is null for values that were not measured.
        unit: Unit of its values; None for texts and for numbers without a unit.
        meaning: Description of its values.
    """

    name: str
    type: str
    is_nullable: bool
    unit: str | None
    meaning: str
