"""Exports a table of a trial's record, batch by batch, or a comparison of trials: CSV, JSON or Parquet."""

from __future__ import annotations

import json
import shutil
from typing import IO

from fabricbench.report.documents.comparison import Comparison
from fabricbench.report.output import csv_escaping
from fabricbench.report.output.json_csv import comparison_columns, comparison_csv, comparison_rows
from fabricbench.store.record.tables import TableFolder


def export_table(tables: TableFolder, table: str, file_format: str, stream: IO[bytes]) -> None:
    """Write a table.

    Args:
        tables: The record.
        table: Name of the table.
        file_format: `csv` (with a header; missing values are empty, text is escaped by `csv_escaping`),
            `json` (an array of objects) or `parquet` (the stored file).
        stream: Output stream.

    Raises:
        StoreError: The table is missing or cannot be read.
    """
    writers = {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}
    writers[file_format](tables, table, stream)


def export_comparison(comparison: Comparison, file_format: str, stream: IO[bytes]) -> None:
    """Write a comparison: a row for each pair of jobs and metric, in a format of `export_table`."""
    import pyarrow as pa
    from pyarrow import parquet

    if file_format == "csv":
        stream.write(comparison_csv(comparison).encode())
    elif file_format == "json":
        stream.write((json.dumps(comparison_rows(comparison), indent=2) + "\n").encode())
    else:
        types = {"first": pa.float64(), "second": pa.float64(), "ratio": pa.float64()}
        types |= dict.fromkeys(("data_size_bytes", "iteration"), pa.int64())
        schema = pa.schema([(name, types.get(name, pa.string())) for name in comparison_columns(comparison)])
        table = pa.Table.from_pylist(comparison_rows(comparison), schema=schema)
        parquet.write_table(table, pa.PythonFile(stream, "w"))


def _write_csv(tables: TableFolder, table: str, stream: IO[bytes]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    schema = tables.schema(table)
    stream.write((",".join(schema.names) + "\n").encode())
    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    with csv.CSVWriter(pa.PythonFile(stream, "w"), schema, write_options=options) as writer:
        for batch in tables.batches(table):
            writer.write_batch(csv_escaping.columns(batch))


def _write_json(tables: TableFolder, table: str, stream: IO[bytes]) -> None:
    separator = "[\n"
    for batch in tables.batches(table):
        for row in batch.to_pylist():
            stream.write((separator + json.dumps(row)).encode())
            separator = ",\n"
    stream.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def _write_parquet(tables: TableFolder, table: str, stream: IO[bytes]) -> None:
    with tables.opened(table).open("rb") as file:
        shutil.copyfileobj(file, stream)
