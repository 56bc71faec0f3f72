"""Formats the port map of a trial or of a plan, for the terminal, the page and files.

The port map has for each rank its port, switch port, addresses and queue pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, Final

from fabricbench.analysis.links.port_map import PortRow, port_map, port_map_table, queue_pair_table
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.store import Trial

if TYPE_CHECKING:
    import pyarrow as pa


PortMap = Sequence[PortRow]
"""Rows of a port map."""
TABLES: Final = ("port_map", "queue_pairs")
"""Tables that are derived from the run spec of a trial and are not part of its record."""
ABOUT: Final = (
    "Source ports and destination queue pairs are those of the data that a rank sends; the table queue_pairs "
    "has each of them. Queue pairs between ranks of one host use no port."
)
"""Note below the table of ports."""
_LISTED_MAX: Final = 4
_HEADS: Final = {
    "job": ("job",),
    "rank": ("rank",),
    "chassis": ("chassis",),
    "port": ("port",),
    "cabled": ("switch", "port"),
    "rate": ("rate", "Gb/s"),
    "lid": ("LID",),
    "ip": ("IP / prefix",),
    "gateway": ("gateway",),
    "mac": ("MAC",),
    "vlan": ("VLAN",),
    "queue_pairs": ("queue", "pairs"),
    "source_ports": ("source", "ports"),
    "destination_qps": ("destination", "QPs"),
    "priority": ("prio-", "rity"),
    "dscp": ("DSCP", "data/ACK/CNP"),
}
_NUMBERS: Final = {"rank", "rate", "lid", "vlan", "queue_pairs", "priority"}
_BITS_PER_GBIT: Final = 1e9


def ports_of(trial: Trial) -> Sequence[PortRow] | None:
    """Return the port map of a trial, with data of its hosts, or `None` for a result without a spec."""
    if trial.is_printed:
        return None
    return port_map(trial.facts.run_spec, trial.engine.get("hosts") or ())


def planned_ports(run_spec: Mapping[str, Any]) -> PortMap | None:
    """Return the port map of a run spec, or `None` if the engine refuses it."""
    return port_map(run_spec)


def cells_of(row: PortRow) -> dict[str, str]:
    """Return the cells of a row by column."""
    hyphen = "-"
    dscp = (row.dscp_data, row.dscp_ack, row.dscp_cnp)
    if row.protocol == "tcp":
        dscp = dscp[:1]  # type: ignore[assignment]
    return {
        "job": row.job,
        "rank": str(row.rank),
        "chassis": row.chassis,
        "port": row.port,
        "cabled": hyphen if row.switch is None else f"{row.switch} port{row.switch_port}",
        "rate": f"{row.rate_bps / _BITS_PER_GBIT:g}",
        "lid": _text(row.lid),
        "ip": _text(row.ip) + ("" if row.prefix is None else f"/{row.prefix}"),
        "gateway": _text(row.gateway),
        "mac": _text(row.mac),
        "vlan": _text(row.vlan),
        "queue_pairs": str(row.queue_pairs),
        "source_ports": _numbers(
            row.queue_pairs, row.source_ports, (row.source_port_least, row.source_port_largest), "d"
        ),
        "destination_qps": _numbers(
            row.queue_pairs,
            row.destination_qps,
            (row.destination_qp_least, row.destination_qp_largest),
            "#x",
        ),
        "priority": str(row.priority),
        "dscp": hyphen if row.dscp_data is None else "/".join(map(str, dscp)),
    }


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _numbers(count: int, first: Sequence[int], bounds: tuple[int | None, int | None], form: str) -> str:
    """Return a few numbers individually, or a range."""
    least, largest = bounds
    if least is None or largest is None:
        return "-"
    if count <= _LISTED_MAX:
        return " ".join(f"{number:{form}}" for number in first)
    return f"{least:{form}} to {largest:{form}}"


def columns_of(rows: Sequence[PortRow]) -> dict[str, tuple[str, ...]]:
    """Return the non-empty columns: their names and the lines of their heads."""
    optional = ("lid", "ip", "gateway", "mac", "vlan", "destination_qps", "source_ports", "dscp")
    cells = [cells_of(row) for row in rows]
    empty = {name for name in optional if all(row_cells[name] == "-" for row_cells in cells)}
    return {name: head for name, head in _HEADS.items() if name not in empty}


def is_number(column: str) -> bool:
    """Return whether a column is numeric."""
    return column in _NUMBERS


def ports_table(rows: Sequence[PortRow], most: int | None = None) -> Table:
    """Return the table of all rows, or of the first, without empty columns."""
    heads = columns_of(rows)
    columns = [
        Column(" ".join(head).replace("- ", ""), is_text=not is_number(name), head=head)
        for name, head in heads.items()
    ]
    cells = [cells_of(row) for row in rows[:most]]
    return Table(columns, [Row([row_cells[name] for name in heads]) for row_cells in cells], ABOUT)


PortRowJson = PortRow
"""A rank at a host port."""


def port_map_object(rows: Sequence[PortRow]) -> list[dict[str, Any]]:
    """Return the rows for JSON."""
    return [asdict(row) | {name: list(getattr(row, name)) for name in _LISTS} for row in rows]


_LISTS: Final = ("source_ports", "destination_qps")


def table_of(run_spec: Mapping[str, Any], table: str, rows: Sequence[PortRow] = ()) -> pa.Table:
    """Return one of `TABLES`.

    Args:
        run_spec: The run spec.
        table: Name of the table.
        rows: The port map.
    """
    return port_map_table(rows) if table == "port_map" else queue_pair_table(run_spec)


def table_of_trial(trial: Trial, table: str) -> pa.Table | None:
    """Return one of `TABLES` of a trial, or `None` for a result without a run spec."""
    rows = ports_of(trial)
    return None if rows is None else table_of(trial.facts.run_spec, table, rows)


def write_table(table: pa.Table, file_format: str, stream: IO[bytes]) -> None:
    """Write an Arrow table as `csv`, `json` or `parquet`."""
    from pyarrow import parquet

    if file_format == "parquet":
        parquet.write_table(table, stream)
    elif file_format == "csv":
        stream.write(rows_csv(table.schema.names, table.to_pylist()).encode())
    else:
        stream.write((json.dumps(table.to_pylist(), indent=2) + "\n").encode())
