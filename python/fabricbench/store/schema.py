"""The record tables: their columns, types and units. `docs/records.md` says the same to users.

Every integer is a signed 64-bit one: readers of Parquet and CSV agree about those.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

SCHEMA_VERSION = 1
"""Version of the record tables, kept with every record."""

CHUNKS = "chunks"
PORTS = "ports"
PRIORITIES = "priorities"
LINKS = "links"
PATHS = "paths"
REORDERING = "reordering"
SERIES = "series"
EVENTS = "events"
CONNECTIONS = "connections"
TRIALS = "trials"

RECORD_TABLES = (CHUNKS, PORTS, PRIORITIES, LINKS, PATHS, REORDERING, SERIES, CONNECTIONS, EVENTS)
"""Tables that a backend writes."""

TABLES = (*RECORD_TABLES, TRIALS)
"""Tables of a stored trial: those of the backend and the results computed from them."""


def _schema(
    required: str, optional: str = "", *, texts: str = "", floats: str = "", order: str = ""
) -> pa.Schema:
    """Build a schema from column names: integers unless in `texts` or `floats`, in `order` if given."""
    types = {name: pa.string() for name in texts.split()} | {name: pa.float64() for name in floats.split()}
    nullable = optional.split()
    names = order.split() or [*required.split(), *nullable]
    return pa.schema(
        [pa.field(name, types.get(name, pa.int64()), nullable=name in nullable) for name in names]
    )


_CHUNK_COLUMNS = """
    job transfer part round qp udp_source_port src_rank dst_rank src_host dst_host step channel block status
    payload_bytes start_ps delivered_ps completed_ps fct_ps unloaded_ps
    tx_frames tx_bytes rx_frames rx_bytes frames_delta retransmits naks timeouts out_of_order
    latency_min_ps latency_mean_ps latency_max_ps ecn_ce_rx cnp_tx cnp_rx
"""

_PORT_COLUMNS = """
    node tier port peer tx_frames tx_bytes rx_frames rx_bytes dropped_frames dropped_bytes
    dropped_headroom_frames dropped_headroom_bytes dropped_watchdog_frames dropped_watchdog_bytes
    lost_link_down_frames lost_link_down_bytes fcs_error_frames fcs_error_bytes queue_max_bytes
    pfc_tx pfc_rx pfc_storms paused_ps flow_control_tx flow_control_rx credit_wait_ps
    ecn_marked ecn_changes egress_qps
    credits_granted credit_granted_bytes voq_max_bytes reassembly_max_bytes
"""

SCHEMAS: dict[str, pa.Schema] = {
    CHUNKS: _schema(
        "",
        "start_ps delivered_ps completed_ps fct_ps unloaded_ps latency_min_ps latency_mean_ps latency_max_ps",
        texts="job status",
        floats="latency_mean_ps",
        order=_CHUNK_COLUMNS,
    ),
    PORTS: _schema(
        "",
        "pfc_tx pfc_rx pfc_storms paused_ps flow_control_tx flow_control_rx credit_wait_ps",
        texts="node peer",
        order=_PORT_COLUMNS,
    ),
    PRIORITIES: _schema(
        "",
        "pfc_tx pfc_rx paused_ps credit_wait_ps",
        texts="node",
        order="node port priority pfc_tx pfc_rx paused_ps credit_wait_ps dropped_frames "
        "dropped_headroom_frames dropped_watchdog_frames",
    ),
    LINKS: _schema("from from_port to to_port tier rate_bps frames bytes busy_ps", texts="from to"),
    PATHS: _schema("qp job src_rank dst_rank hop node port peer", texts="job node peer"),
    REORDERING: _schema("", "qp", texts="job", order="job qp distance_min distance_max frames"),
    SERIES: _schema(
        "",
        "priority qp job",
        texts="metric node job",
        order="metric node port priority qp job time_ps value",
    ),
    CONNECTIONS: _schema(
        "",
        "start_ps offered_bytes rtt_mean_ps rtt_p50_ps rtt_p99_ps rtt_max_ps",
        texts="tcp",
        order="tcp connection source_port src_rank dst_rank src_host dst_host start_ps end_ps is_complete "
        "offered_bytes delivered_bytes acked_bytes segments retransmits timeouts fast_recoveries ecn_ce_rx "
        "rtt_samples rtt_mean_ps rtt_p50_ps rtt_p99_ps rtt_max_ps window_bytes",
    ),
    EVENTS: _schema("time_ps kind node detail", texts="kind node detail"),
}
"""Columns of each table that a backend writes."""


class RecordSchemaError(Exception):
    """A backend handed over rows that do not have a table's columns: a fault of the backend."""


def observed_schema(table: str, unmeasured: Collection[str] = ()) -> pa.Schema:
    """Return the columns of a table some of which were not measured, and so may be null."""
    return pa.schema(
        [field.with_nullable(True) if field.name in unmeasured else field for field in SCHEMAS[table]]
    )


def conform(table: str, batch: pa.RecordBatch, unmeasured: Collection[str] = ()) -> pa.RecordBatch:
    """Return the rows with exactly the columns, order and types of the table.

    Args:
        table: Name of the table.
        batch: Rows as a backend gives them, in any column order and integer width.
        unmeasured: Columns that the backend does not measure: they hold nothing but null.

    Raises:
        RecordSchemaError: There is no such table, a column is missing or too many, a value does not fit, is
            null where something was measured, or is there where nothing was.
    """
    if table not in SCHEMAS:
        raise RecordSchemaError(f"table {table!r} is none of {', '.join(RECORD_TABLES)}")
    schema = observed_schema(table, unmeasured)
    missing = set(schema.names) - set(batch.schema.names)
    unknown = set(batch.schema.names) - set(schema.names)
    if missing or unknown:
        raise RecordSchemaError(
            f"table {table!r}: missing columns {sorted(missing)}, unknown {sorted(unknown)}"
        )
    try:
        columns = [batch.column(field.name).cast(field.type) for field in schema]
    except pa.ArrowInvalid as error:
        raise RecordSchemaError(f"table {table!r}: {error}") from error
    for field, column in zip(schema, columns, strict=True):
        if column.null_count and not field.nullable:
            raise RecordSchemaError(f"table {table!r}: null in column {field.name!r}, which was measured")
        if field.name in unmeasured and column.null_count < len(column):
            raise RecordSchemaError(
                f"table {table!r}: a value in column {field.name!r}, which was not measured"
            )
    return pa.RecordBatch.from_arrays(columns, schema=schema)
