"""What a column of a record table is."""

from typing import NamedTuple


class Column(NamedTuple):
    """A column of a record table.

    Attributes:
        name: Its name, which ends with the unit.
        type: Its type in Arrow: `int64`, `float64` or `string`.
        is_nullable: It is null where nothing was measured.
        unit: Unit of its values; none of texts, and of numbers that have none.
        meaning: What it says.
    """

    name: str
    type: str
    is_nullable: bool
    unit: str | None
    meaning: str
