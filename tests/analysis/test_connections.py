"""Single TCP connections from rows whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from fabricbench.analysis.summary.tcp_connections import ConnectionResult, connection_results
from fabricbench.store.record.schema import schema_of

US = 10**6


class Rows:
    """Tables of a record with rows of `connections` and `series`."""

    def __init__(self, connections: list[dict[str, Any]], samples: list[tuple[int, int, int]]) -> None:
        series = [
            {
                "metric": "tcp_delivered_bytes",
                "node": "host1",
                "port": 0,
                "qp": qp,
                "time_ps": at,
                "value": value,
            }
            for qp, at, value in samples
        ]
        other = [
            {"metric": "tx_bytes", "node": "leaf0", "port": 0, "time_ps": at, "value": 7} for at in (0, US)
        ]
        self.rows = {"connections": connections, "series": [*series, *other]}

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        whole = pa.Table.from_pylist(self.rows[table], schema=schema_of(table))
        yield from whole.select(list(columns)).to_batches()


def connection(number: int, **given: Any) -> dict[str, Any]:
    zeros = dict.fromkeys(schema_of("connections").names, 0)
    return zeros | {"tcp": "web", "connection": number, "end_ps": 100 * US, "delivered_bytes": 1_000} | given


def found(connections: list[dict[str, Any]], samples: list[tuple[int, int, int]]) -> list[ConnectionResult]:
    return connection_results(Rows(connections, samples))  # type: ignore[arg-type]


def test_goodput_is_payload_over_the_time_of_the_connection() -> None:
    (each,) = found([connection(0, start_ps=20 * US, rtt_p99_ps=3 * US)], [])
    assert each.goodput_gbps == pytest.approx(0.1)
    assert (each.rtt_us_p99, each.idle_us) == (3, None)


def test_a_connection_that_never_started_has_no_goodput() -> None:
    (each,) = found([connection(0, start_ps=None, delivered_bytes=0, rtt_p99_ps=None)], [])
    assert (each.goodput_gbps, each.rtt_us_p99) == (None, None)


def test_idle_is_the_longest_time_without_a_byte_between_the_first_and_the_end() -> None:
    steps = [(0, 0), (10, 0), (40, 5), (50, 8), (60, 8), (70, 8), (80, 9), (90, 9), (120, 9), (200, 9)]
    samples = [(0, at * US, value) for at, value in steps]
    (each,) = found([connection(0)], samples)
    assert each.idle_us == 20


def test_timeouts_come_first_then_what_was_idle_for_longest() -> None:
    samples = [
        (qp, at * US, 1 + (at >= end)) for qp, end in ((0, 20), (1, 50), (2, 30)) for at in range(0, 60, 10)
    ]
    ordered = found([connection(0), connection(1), connection(2, timeouts=1)], samples)
    assert [(each.connection, each.idle_us) for each in ordered] == [(2, 20), (1, 40), (0, 30)]
