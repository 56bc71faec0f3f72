"""Text in CSV is none that a spreadsheet runs, and none is lost; numbers stay numbers."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from unicodedata import normalize

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from fabricbench.report.output import csv_escaping
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.output.record_tables import export_table
from fabricbench.report.studies.campaign import write_table

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1"]
COMPATIBLE = [
    chr(code) for code in range(0x80, 0x1_0000) if normalize("NFKC", chr(code))[:1] in tuple("=+-@")
]
FORMULAS += [f"{sign}1+1" for sign in COMPATIBLE]
FORMULAS += ["\N{MINUS SIGN}1", "\ufeff=1", "\u200b\u200e\uff1d1", "\x00=1", "\x1f\uff0b1", "\u2060@SUM(A1)"]
PLAIN = ["a=b", " =1", "leaf0", "", "1", "\u00b5s", "1\uff1d2", "\u200bleaf", "\u2014"]


def back(text: str) -> str:
    return text.removeprefix("'")


@pytest.mark.parametrize("text", [*FORMULAS, *PLAIN])
def test_a_row_of_text_is_no_formula_and_is_read_back(text: str) -> None:
    written = rows_csv(["a", "b"], [{"a": text, "b": -1.5}])
    (row,) = csv.DictReader(io.StringIO(written, newline=""))
    assert not row["a"].startswith(tuple("=+-@\t\r\n"))
    assert back(row["a"]) == text
    assert float(row["b"]) == -1.5


def test_numbers_and_missing_values_are_left_alone() -> None:
    for value in (-1, -0.5, 0, None, True):
        assert csv_escaping.cell(value) is value


class Folder:
    """The part of a record that is exported."""

    def __init__(self, path: Path) -> None:
        self._file = path

    def schema(self, _table: str) -> pa.Schema:
        return parquet.read_schema(self._file)

    def batches(self, _table: str) -> Any:
        return parquet.read_table(self._file).to_batches()


def test_a_table_of_a_record_is_written_in_the_same_way(tmp_path: Path) -> None:
    texts: list[str | None] = [*FORMULAS, *PLAIN, None]
    table = pa.table({"text": texts, "number": [-number for number in range(len(texts))]})
    parquet.write_table(table, tmp_path / "table.parquet")
    stream = io.BytesIO()
    export_table(Folder(tmp_path / "table.parquet"), "table", "csv", stream)  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(stream.getvalue().decode(), newline="")))
    assert [back(row["text"]) for row in rows] == [text or "" for text in texts]
    assert [row["text"] for row in rows[: len(FORMULAS)]] == [f"'{text}" for text in FORMULAS]
    assert [int(row["number"]) for row in rows] == table["number"].to_pylist()


def test_the_table_of_a_campaign_is_written_in_the_same_way() -> None:
    texts: list[str | None] = [*FORMULAS, *PLAIN, None]
    frame = pl.DataFrame({"text": texts, "number": [-number for number in range(len(texts))]})
    stream = io.BytesIO()
    write_table(frame, "csv", stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue().decode(), newline="")))
    assert not any(row["text"].startswith(tuple("=+-@\t\r\n")) for row in rows)
    assert [back(row["text"]) for row in rows] == [text or "" for text in texts]
    assert [int(row["number"]) for row in rows] == frame["number"].to_list()
