"""Lists the items of published test reports and papers, and evidence that fabricbench has them or a reason.

Items are parameters, columns, statistics and screens. Reads the lists in `docs/documents/*.yaml`, one per
document, and renders the tables of the page `reference/documents`. Every item has evidence: a shipped plan
(with the fields that hold the document's values), a metric, a column of a record table, a figure of the
report, or a command; or a reason why fabricbench lacks it. `tests/docs` compares all of it with the product.
A checked figure is a cell of docs/reference/validation.md, or a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "docs" / "documents"
VALIDATION = ROOT / "docs" / "reference" / "validation.md"
_HEADING = re.compile(r"^#{1,2} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """A published or expected figure that a table or test of the repository has.

    Attributes:
        section: Heading of docs/reference/validation.md above the table with the figure; empty for a test.
        row: First cell of its row there.
        column: Head of its column.
        test: `FILE::NAME` of a test with the figure; empty for a table.
        figure: The figure in words, if a test has it.
    """

    section: str = ""
    row: str = ""
    column: str = ""
    test: str = ""
    figure: str = ""


@dataclass(frozen=True)
class Item:
    """A parameter, column, statistic or screen of a document.

    Attributes:
        place: Chapter, table or figure of the document.
        item: The item, with its published value.
        plans: Shipped plans that use it.
        fields: Fields of these plans with the document's values, in the form of `-s FIELD=VALUE`.
        metrics: Metrics, by name.
        columns: Columns of record tables, `TABLE.COLUMN`.
        figures: Figures of the report, by name.
        command: Command line that shows it.
        reason: Reason why fabricbench lacks it, or its limits.
        checks: Figures that are checked.
    """

    place: str
    item: str
    plans: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    command: str = ""
    reason: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def has_evidence(self) -> bool:
        """Whether there is a plan, metric, column, figure or command for the item."""
        return bool(self.plans or self.metrics or self.columns or self.figures or self.command)


@dataclass(frozen=True)
class Document:
    """A published document.

    Attributes:
        name: Name of its list without suffix.
        title: Author and title.
        method: Page of docs/methods on it.
        source: Source of the list.
        items: Its items in the document's order.
    """

    name: str
    title: str
    method: str
    source: str
    items: tuple[Item, ...]


def documents() -> list[Document]:
    """Read the lists of all documents, in the order of their `order`.

    Raises:
        ValueError: An item has neither evidence nor a reason.
    """
    # Every scalar is text: `off` is a value in plans, not a boolean.
    lists = {path.stem: YAML(typ="base").load(path) for path in LISTS.glob("*.yaml")}
    return [
        Document(
            name,
            document["title"],
            document["method"],
            document["source"],
            tuple(_items(name, document["items"])),
        )
        for name, document in sorted(lists.items(), key=lambda item: int(item[1]["order"]))
    ]


def _items(name: str, parts: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    for part in parts:
        yield from (_item(name, part["place"], row) for row in part["rows"])


def _item(name: str, place: str, row: Mapping[str, Any]) -> Item:
    lists = ("plans", "metrics", "columns", "figures")
    values: dict[str, Any] = {key: tuple(row.get(key, ())) for key in lists}
    checks = tuple(Check(**check) for check in row.get("checks", ()))
    other_fields = {key: value for key, value in row.items() if key not in (*lists, "checks")}
    item = Item(place, checks=checks, **values, **other_fields)
    if not item.has_evidence and not item.reason:
        raise ValueError(f"docs/documents/{name}.yaml: {item.item!r} has neither evidence nor a reason")
    return item


def page() -> str:
    """Return the tables, one per document."""
    figures = validation_tables()
    return "\n\n".join(_section(document, figures) for document in documents()) + "\n"


def _section(document: Document, figures: Mapping[str, Sequence[Table]]) -> str:
    method = f"Method: [{document.method}](../methods/{document.method}.md). Read from: {document.source}."
    head = f"## {document.title}\n\n{method}\n"
    table = ["| place | item | in fabricbench | checked figure |", "|---|---|---|---|"]
    return "\n".join([head, *table, *(_row(item, figures) for item in document.items)])


def _row(item: Item, figures: Mapping[str, Sequence[Table]]) -> str:
    checked = "; ".join(_checked(check, figures) for check in item.checks)
    cells = (item.place, item.item, _evidence(item), checked)
    return f"| {' | '.join(cells)} |"


def _evidence(item: Item) -> str:
    parts = [
        ", ".join(f"`{plan}`" for plan in item.plans),
        ", ".join(f"`{field}: {value}`" for field, value in item.fields.items()),
        ", ".join(f"metric `{name}`" for name in item.metrics),
        ", ".join(f"column `{name}`" for name in item.columns),
        ", ".join(f"figure `{name}`" for name in item.figures),
        f"`{item.command}`" if item.command else "",
        item.reason if item.has_evidence else f"**not there**: {item.reason}",
    ]
    return "; ".join(part for part in parts if part)


def _checked(check: Check, figures: Mapping[str, Sequence[Table]]) -> str:
    if check.test:
        return f"{check.figure} (`{check.test}`)"
    return f"{check.row}, {check.column}: {cell(figures, check)}"


def cell(figures: Mapping[str, Sequence[Table]], check: Check) -> str:
    """Return the cell of a check in its validation table, such as ours / published (deviation).

    Raises:
        ValueError: The page has no such heading, row or column.
    """
    rows = [row for table in figures.get(check.section, ()) for row in table if row.get("") == check.row]
    cells = [row[check.column] for row in rows if check.column in row]
    if not cells:
        raise ValueError(f"docs/reference/validation.md has no cell for {check}: rows {rows}")
    return cells[0]


Table = list[dict[str, str]]
"""Rows of a table by the heads of its columns; the first column by an empty head."""


def validation_tables() -> dict[str, list[Table]]:
    """Return the tables of docs/reference/validation.md by the heading above them."""
    _, *parts = _HEADING.split(VALIDATION.read_text(encoding="utf-8"))
    return {head: list(_tables(text)) for head, text in zip(parts[::2], parts[1::2], strict=True)}


def _tables(text: str) -> Iterator[Table]:
    for block in re.findall(r"(?:^ *\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block.splitlines()
        )
        yield [dict(zip(["", *head[1:]], row, strict=False)) for row in rows]
