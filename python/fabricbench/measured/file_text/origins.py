"""Separates outputs of several hosts or processes that are mixed line by line in one file.

`by_origin` returns the lines of each, `read_each` reads the tables of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from fabricbench.measured.file_text.document import Document
from fabricbench.measured.model import Table

_ORIGINS_MAX = 256


def by_origin(document: Document, begins: re.Pattern[str]) -> Mapping[str, Document]:
    """Return the lines of each host or process whose prefix is on the first line of a table.

    Lines without a prefix, such as the command line, belong to each. A file in which fewer than two of them
    begin a table is one document, without a name.

    Args:
        document: The file.
        begins: Pattern of the first line of a table.
    """
    lines = list(zip(document.origins, document.lines, strict=True))
    names = list(dict.fromkeys(origin for origin, line in lines if begins.match(line.text)))
    if len(names) < 2 or "" in names or len(names) > _ORIGINS_MAX:
        return {"": document}
    return {
        name: document.of_lines([line for origin, line in lines if origin in ("", name)]) for name in names
    }


def read_each(
    document: Document, begins: re.Pattern[str], read: Callable[[Document, list[str]], list[Table]]
) -> tuple[list[Table], list[str]]:
    """Read the tables of each host or process; its name is a setting of its tables.

    Args:
        document: The file.
        begins: Pattern of the first line of a table.
        read: Reads the tables of one, and adds its warnings to a list.
    """
    tables: list[Table] = []
    warnings: list[str] = []
    for origin, part in by_origin(document, begins).items():
        own = {"host": origin} if origin else {}
        tables += [replace(table, settings={**own, **table.settings}) for table in read(part, warnings)]
        document.require_rows([table.rows for table in tables])
    return tables, warnings
