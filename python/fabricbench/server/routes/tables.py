"""Route for the result tables of a trial: pages of rows, filtered and sorted, as JSON or Arrow."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, Field

from fabricbench.server.errors import ERRORS, ApiError
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.trials import FinishedTrial
from fabricbench.store import Trial
from fabricbench.store.record.schema import TABLES

if TYPE_CHECKING:
    import polars as pl

router = APIRouter(prefix="/api/v1", tags=["tables"], responses=ERRORS)

ARROW = "application/vnd.apache.arrow.stream"
TableName = StrEnum("TableName", {name.upper(): name for name in TABLES})  # type: ignore[misc]
_CONDITION = re.compile(r"([a-z0-9_]+):(eq|ne|lt|le|gt|ge|contains|null|notnull)(?::(.*))?", re.DOTALL)
_ROWS_MAX = 100_000


class RecordColumn(BaseModel):
    """A column of a table."""

    name: str
    type: str = Field(description="Its type in Polars.")


class RecordPage(BaseModel):
    """Some rows of a table."""

    total: int = Field(description="How many meet the conditions.")
    columns: list[RecordColumn]
    rows: list[dict[str, str | int | float | bool | None]]


@router.get(
    "/trials/{trial_id}/tables/{table}",
    response_model=RecordPage,
    responses={200: {"content": {ARROW: {}}}},
)
def read_table(  # noqa: PLR0913, PLR0917 -- one parameter for each choice
    trial: FinishedTrial,
    table: TableName,
    where: Annotated[
        list[str] | None,
        Query(
            max_length=20,
            description="Conditions that all have to hold, each COLUMN:OPERATOR:VALUE with the operators eq, "
            "ne, lt, le, gt, ge, contains (text), null and notnull (without a value).",
            examples=[["status:ne:complete"]],
        ),
    ] = None,
    columns: Annotated[str, Query(max_length=2000, description="Names, with commas; all by default.")] = "",
    sort: Annotated[str, Query(max_length=100, description="A column; by default as stored.")] = "",
    order: Annotated[Literal["asc", "desc"], Query()] = "asc",
    limit: Annotated[int, Query(ge=1, le=_ROWS_MAX)] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    accept: Annotated[str, Header()] = "",
) -> Response:
    """Return rows of a table.

    With `Accept: application/vnd.apache.arrow.stream` the rows are an Arrow stream; `X-Total` has the total.
    """
    filtered = _filtered(trial, table.value, where or [])
    names = [name.strip() for name in columns.split(",") if name.strip()]
    schema = filtered.collect_schema()
    for name in [*names, *([sort] if sort else [])]:
        _check_column(name, schema)
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ApiError(422, f'columns: found "{duplicate}" twice', "name each column once", field="columns")
    import polars as pl

    total = int(filtered.select(pl.len()).collect().item())
    ordered = (
        filtered.sort(sort, descending=order == "desc", nulls_last=True, maintain_order=True)
        if sort
        else filtered
    )
    rows = ordered.slice(offset, limit).select(names or pl.all()).collect()
    if ARROW in accept:
        return _arrow(rows, total)
    return _json(rows, total)


def _filtered(trial: Trial, table: str, conditions: list[str]) -> pl.LazyFrame:
    import polars as pl

    frame = pl.scan_parquet(trial.tables.opened(table))
    schema = frame.collect_schema()
    for text in conditions:
        frame = frame.filter(_condition(text, schema))
    return frame


def _condition(text: str, schema: pl.Schema) -> pl.Expr:
    import polars as pl

    match = _CONDITION.fullmatch(text)
    if match is None:
        hint = "write COLUMN:OPERATOR:VALUE, such as fct_ps:gt:1000000"
        raise ApiError(422, f'where: found "{text[:60]}"', hint, field="where")
    name, operator, value = match[1], match[2], match[3] or ""
    _check_column(name, schema)
    column = pl.col(name)
    if operator in ("null", "notnull"):
        return column.is_null() if operator == "null" else column.is_not_null()
    if operator == "contains":
        return column.cast(pl.String).str.contains(value, literal=True)
    compared = pl.lit(_value(value, schema[name], name))
    return {
        "eq": column.eq(compared),
        "ne": column.ne_missing(compared),
        "lt": column.lt(compared),
        "le": column.le(compared),
        "gt": column.gt(compared),
        "ge": column.ge(compared),
    }[operator]


def _value(text: str, kind: pl.DataType, name: str) -> Any:
    """Read a value of a column's type."""
    try:
        if kind.is_integer():
            value = int(text)
            return value if abs(value) < 1 << 62 else (1 << 62) * (1 if value > 0 else -1)
        if kind.is_float():
            return float(text)
    except ValueError as error:
        raise ApiError(
            422, f'where: {name}: found "{text[:60]}"', field="where", allowed="a number"
        ) from error
    return {"true": True, "false": False}.get(text) if str(kind) == "Boolean" else text


def _check_column(name: str, schema: pl.Schema) -> None:
    if name not in schema:
        raise ApiError(422, f'no column "{name[:60]}"', allowed=", ".join(schema.names()), field="columns")


def _arrow(rows: pl.DataFrame, total: int) -> Response:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = rows.to_arrow()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW, headers={"X-Total": str(total)})


def _json(rows: pl.DataFrame, total: int) -> Response:
    """Return rows as JSON objects, written by polars, which is faster than Python."""
    import json

    columns = [{"name": name, "type": str(kind)} for name, kind in rows.schema.items()]
    body = f'{{"total": {total}, "columns": {json.dumps(columns)}, "rows": {rows.write_json()}}}'
    return json_answer(body)
