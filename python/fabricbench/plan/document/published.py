"""Published results that stand beside ours: CSV with `#` lines that give the source."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricbench.inputs import read_input_text
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.units import QUANTITY_MAX

KEY_COLUMNS: Final = {"data": "data_size_bytes", "message": "message_size_bytes"}
"""The column that tells the rows apart, for each kind of size that a plan may sweep."""
VARIANT: Final = "variant"
"""The column that says to which variant of the plan a row belongs, where they differ."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of published results.

    Attributes:
        name: File name.
        source: Where the figures come from: the comment lines of the file.
        size_kind: What its sizes are, `data` or `message`.
        rows: For each size [bytes], the value of each other column; the column's name carries the unit.
            An empty cell is left out. Of a table with a column `variant` only the rows of one variant.
        variants: Every variant that such a table has rows of.
    """

    name: str
    source: str
    size_kind: str
    rows: dict[int, dict[str, float]]
    variants: tuple[str, ...] = ()

    def value(self, size_bytes: int, column: str) -> float | None:
        """Return a published value; none when it was not published."""
        return self.rows.get(size_bytes, {}).get(column)


def read_published(path: Path, variant: str = "") -> PublishedTable:
    """Read a table of published results.

    Args:
        path: A UTF-8 CSV file. Lines that start with `#` give the source, the next line names the columns, of
            which one is `data_size_bytes` or `message_size_bytes`; all values are numbers, but those of a
            column `variant`.
        variant: Whose rows are wanted, of a table with that column.

    Raises:
        PlanError: It cannot be read, or a line is not of this form.
    """
    try:
        lines = read_input_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError([Problem(Place(str(path)), "", f"a table that cannot be read: {error}")]) from error
    comments = [line.lstrip("# ") for line in lines if line.startswith("#")]
    numbered = [
        (number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")
    ]
    header = next(csv.reader(line for _, line in numbered[:1]), [])
    kinds = [kind for kind, column in KEY_COLUMNS.items() if column in header]
    if len(kinds) != 1:
        found = f"the columns {', '.join(header) or 'none'}"
        allowed = f"columns with {' or '.join(KEY_COLUMNS.values())}"
        raise PlanError([Problem(Place(str(path), numbered[0][0] if numbered else 1), "", found, allowed)])
    again = next((name for place, name in enumerate(header) if name in header[:place]), None)
    if again is not None:
        found = f'the column "{again}" again'
        raise PlanError([Problem(Place(str(path), numbered[0][0]), "", found, "each column once")])
    rows: dict[str, dict[int, dict[str, float]]] = {}
    for number, line in numbered[1:]:
        owner, size, row = _row(path, header, KEY_COLUMNS[kinds[0]], number, line)
        of_owner = rows.setdefault(variant if owner is None else owner, {})
        if size in of_owner:
            found, allowed = f"the size {size} again", "each size once"
            raise PlanError([Problem(Place(str(path), number), "", found, allowed)])
        of_owner[size] = row
    variants = tuple(rows) if VARIANT in header else ()
    return PublishedTable(path.name, "\n".join(comments), kinds[0], rows.get(variant, {}), variants)


def _row(
    path: Path, header: list[str], key: str, number: int, line: str
) -> tuple[str | None, int, dict[str, float]]:
    """Read one line: its variant, its size [bytes], and its other cells."""
    try:
        cells = dict(zip(header, next(csv.reader([line])), strict=True))
        owner = cells.pop(VARIANT, None)
        size = int(cells.pop(key))
        values = {name: float(cell) for name, cell in cells.items() if cell.strip()}
        if not all(map(math.isfinite, values.values())) or not 0 < size <= QUANTITY_MAX:
            raise ValueError(line)
        return owner, size, values
    except (ValueError, csv.Error) as error:
        place = Place(str(path), number)
        raise PlanError([Problem(place, "", f'"{line[:60]}"', f"{len(header)} finite numbers")]) from error
