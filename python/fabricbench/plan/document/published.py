"""Reads tables of results published in papers and vendors' test reports: CSV, the source in `#` lines."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricbench.inputs import read_input_text
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.units import QUANTITY_MAX

KEY_COLUMNS: Final = {"data": "data_size_bytes", "message": "message_size_bytes"}
"""The column that identifies a row, for each kind of size that a plan may sweep."""
VARIANT: Final = "variant"
"""The column with the plan's variant of a row, for tables of several variants."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of published results.

    Attributes:
        name: File name.
        source: Source of the figures: the comment lines of the file.
        size_kind: Kind of its sizes, `data` or `message`.
        rows: For each size [bytes], the value of each other column; the column's name has the unit. Without
            empty cells. For a table with a column `variant`, only the rows of one variant.
        variants: Every variant in the rows of such a table.
    """

    name: str
    source: str
    size_kind: str
    rows: dict[int, dict[str, float]]
    variants: tuple[str, ...] = ()

    def value(self, size_bytes: int, column: str) -> float | None:
        """Return a published value; none if it was not published."""
        return self.rows.get(size_bytes, {}).get(column)


def read_published(path: Path, variant: str = "") -> PublishedTable:
    """Read a table of published results.

    Args:
        path: A UTF-8 CSV file. Lines that start with `#` give the source, the next line names the columns,
            one of them `data_size_bytes` or `message_size_bytes`; all values are numbers, except those of a
            column `variant`.
        variant: Variant of the rows to return, for a table with that column.

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
        actual = f"the columns {', '.join(header) or 'none'}"
        allowed = f"columns with {' or '.join(KEY_COLUMNS.values())}"
        raise PlanError([Problem(Place(str(path), numbered[0][0] if numbered else 1), "", actual, allowed)])
    repeated_column = next((name for index, name in enumerate(header) if name in header[:index]), None)
    if repeated_column is not None:
        actual = f'the column "{repeated_column}" again'
        raise PlanError([Problem(Place(str(path), numbered[0][0]), "", actual, "each column once")])
    rows: dict[str, dict[int, dict[str, float]]] = {}
    for number, line in numbered[1:]:
        row_variant, size, row = _row(path, header, KEY_COLUMNS[kinds[0]], number, line)
        variant_rows = rows.setdefault(variant if row_variant is None else row_variant, {})
        if size in variant_rows:
            actual, allowed = f"the size {size} again", "each size once"
            raise PlanError([Problem(Place(str(path), number), "", actual, allowed)])
        variant_rows[size] = row
    variants = tuple(rows) if VARIANT in header else ()
    return PublishedTable(path.name, "\n".join(comments), kinds[0], rows.get(variant, {}), variants)


def _row(
    path: Path, header: list[str], key: str, number: int, line: str
) -> tuple[str | None, int, dict[str, float]]:
    """Read one line: its variant, its size [bytes], and its other cells."""
    try:
        cells = dict(zip(header, next(csv.reader([line])), strict=True))
        row_variant = cells.pop(VARIANT, None)
        size = int(cells.pop(key))
        values = {name: float(cell) for name, cell in cells.items() if cell.strip()}
        if not all(map(math.isfinite, values.values())) or not 0 < size <= QUANTITY_MAX:
            raise ValueError(line)
        return row_variant, size, values
    except (ValueError, csv.Error) as error:
        location = Place(str(path), number)
        raise PlanError([Problem(location, "", f'"{line[:60]}"', f"{len(header)} finite numbers")]) from error
