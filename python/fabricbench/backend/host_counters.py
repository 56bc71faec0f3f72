"""Builds table `counters`: counters of each host's network devices and of its RoCE or TCP endpoint.

Devices name their own counters, and the agent has the meanings from their vendors. Of the numbers that an
endpoint reports, those with a meaning in this module are counters; the others are facts, such as its timeout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from fabricbench.counters import look_up

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.hosts.control.run import HostResult

_TEXTS: Final = ("host", "device", "source", "vendor_name", "name", "unit", "meaning")


def counter_rows(results: Iterable[HostResult]) -> pa.RecordBatch:
    """Return the rows of table `counters`, host by host."""
    return batch_of([row for result in results for row in _rows(result)])


def batch_of(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows with the columns of table `counters`."""
    import pyarrow as pa

    schema = pa.schema(
        [(name, pa.string()) for name in _TEXTS] + [(name, pa.int64()) for name in ("before", "after")]
    )
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def _rows(result: HostResult) -> Iterator[dict[str, Any]]:
    host, counters = result.host, result.collected.counters
    for counter in counters.devices:
        yield {
            "host": host.name,
            "device": counter.device,
            "source": counter.source,
            "vendor_name": counter.vendor_name,
            "name": counter.name or None,
            "unit": counter.unit or None,
            "meaning": counter.meaning or None,
            "before": counter.before,
            "after": counter.after,
        }
    for name, value in sorted(counters.endpoint.items()):
        definition = look_up(name, "endpoint")
        if definition is not None:
            row = {"host": host.name, "device": host.driver, "source": "endpoint", "vendor_name": name}
            description = {"name": definition.name, "unit": definition.unit, "meaning": definition.meaning}
            yield row | description | {"before": 0, "after": int(value)}
