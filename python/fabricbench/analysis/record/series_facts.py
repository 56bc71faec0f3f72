"""Reads sampled queue depths and queue pair rates from table `series`; 95th percentile of queue depths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from fabricbench.analysis.record import arrow_kernels
from fabricbench.analysis.record.percentiles import nearest_rank

COLUMNS: Final = ("metric", "node", "port", "qp", "time_ps", "value")
"""Columns of `series` that are read."""
LEAST_SAMPLES: Final = 20
"""With fewer samples, the 95th percentile is the largest value."""


class SampleFacts:
    """Samples of queue depths by port, and of rates by queue pair, from table `series`."""

    def __init__(self, series: Iterable[pa.RecordBatch]) -> None:
        """Read the table once.

        Args:
            series: Rows of `series` with at least `COLUMNS`.
        """
        self._queues: dict[tuple[Any, ...], list[pa.Array]] = defaultdict(list)
        self._rates: dict[tuple[Any, ...], list[pa.RecordBatch]] = defaultdict(list)
        for batch in series:
            for port, rows in _runs(batch, "queue_bytes", ("node", "port")):
                self._queues[port].append(rows.column("value"))
            for qp, rows in _runs(batch, "rate_bps", ("qp",)):
                self._rates[qp].append(rows)

    @cached_property
    def rates(self) -> dict[int, list[tuple[int, int]]]:
        """Samples of each queue pair with a sampled rate: time [ps] and value [bit/s], in order of time."""
        return {
            qp: [
                sample
                for rows in parts
                for sample in zip(
                    rows.column("time_ps").to_pylist(), rows.column("value").to_pylist(), strict=True
                )
            ]
            for (qp,), parts in self._rates.items()
        }

    def queue_p95_bytes(self, hosts: Iterable[str], switch_ports: int) -> int | None:
        """Return the largest 95th percentile, by nearest rank, of the samples of any switch port.

        None if a port of a switch was not sampled, or has too few samples for a percentile.

        Args:
            hosts: Names of the hosts, whose ports are ignored.
            switch_ports: Number of ports of the switches.
        """
        named = set(hosts)
        parts = [values for (node, _), values in self._queues.items() if node not in named]
        queues = [pa.chunked_array(values) for values in parts]
        if not queues or len(queues) < switch_ports or min(map(len, queues)) < LEAST_SAMPLES:
            return None
        return max(nearest_rank(values, [0.95])[0] for values in queues)


def _runs(
    batch: pa.RecordBatch, metric: str, keys: tuple[str, ...]
) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """Yield the rows of one metric, grouped by consecutive equal keys, as the table is sorted by them."""
    rows = arrow_kernels.filtered(batch, arrow_kernels.equal(batch.column("metric"), metric))
    if not rows.num_rows:
        return
    columns = [rows.column(key) for key in keys]
    begins = {0}
    for column in columns:
        changes = arrow_kernels.not_equal(column.slice(1), column.slice(0, rows.num_rows - 1))
        begins.update(index + 1 for index in arrow_kernels.nonzero(changes).to_pylist())
    for begin, end in pairwise([*sorted(begins), rows.num_rows]):
        yield tuple(column[begin].as_py() for column in columns), rows.slice(begin, end - begin)
