"""Summaries as flat rows: the table `trials`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa


def result_row(summary: Summary) -> dict[str, Any]:
    """Return a summary as a flat row of scalars."""
    return dataclasses.asdict(summary)


def result_table(identity: dict[str, Any], summaries: Sequence[Summary]) -> pa.Table:
    """Return one row for each job: the same columns for every trial.

    Args:
        identity: What tells the trial from others, in front: texts and integers.
        summaries: One for each job.
    """
    import pyarrow as pa

    text, integer, number = pa.string(), pa.int64(), pa.float64()
    fields = [
        pa.field(name, text if isinstance(value, str) else integer, nullable=False)
        for name, value in identity.items()
    ]
    types = {"str": text, "str | None": text, "int": integer, "int | None": integer}
    for field in dataclasses.fields(Summary):
        declared = str(field.type)
        fields.append(pa.field(field.name, types.get(declared, number), nullable="None" in declared))
    rows = [identity | result_row(summary) for summary in summaries]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def summary_of(row: Mapping[str, Any]) -> Summary:
    """Return the summary that a flat row holds; other columns are ignored, missing ones are none."""
    values: dict[str, Any] = {field.name: row.get(field.name) for field in dataclasses.fields(Summary)}
    return Summary(**values)
