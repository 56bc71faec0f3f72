"""What the sampled series of a run tell: how deep queues mostly were, and the rates of queue pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from fabricbench.analysis import kernels
from fabricbench.analysis.distribution import rank_of

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = ("metric", "node", "port", "qp", "time_ps", "value")
"""Columns of `series` that are read."""
LEAST_SAMPLES: Final = 20
"""Of fewer the 95th percentile is the largest value."""


class SampleFacts:
    """Samples of queues and of rates.

    Attributes:
        rates: For each queue pair whose rate was sampled, the time [ps] and the value [bit/s] of each sample,
            in order of time.
    """

    def __init__(self, series: Iterable[pa.RecordBatch]) -> None:
        """Read the table once.

        Args:
            series: Rows of `series` with at least `COLUMNS`.
        """
        self._queues: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.rates: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for batch in series:
            for node, port, value in _rows(batch, "queue_bytes", ("node", "port", "value")):
                self._queues[node, port].append(value)
            for qp, time_ps, value in _rows(batch, "rate_bps", ("qp", "time_ps", "value")):
                self.rates[qp].append((time_ps, value))

    def queue_p95_bytes(self, hosts: Iterable[str], switch_ports: int) -> int | None:
        """Return the 95th percentile, by nearest rank, of the samples of the switch port where it is largest.

        None where a port of a switch was not sampled, or too rarely for a percentile.

        Args:
            hosts: Names of the hosts, whose ports do not count.
            switch_ports: How many ports the switches have.
        """
        named = set(hosts)
        queues = [values for (node, _), values in self._queues.items() if node not in named]
        if not queues or len(queues) < switch_ports or min(map(len, queues)) < LEAST_SAMPLES:
            return None
        return max(sorted(values)[rank_of(0.95, len(values)) - 1] for values in queues)


def _rows(batch: pa.RecordBatch, metric: str, columns: tuple[str, ...]) -> Iterable[tuple[int, ...]]:
    """Return the values of some columns in the rows of one metric."""
    rows = kernels.filtered(batch.select(columns), kernels.equal(batch.column("metric"), metric))
    return zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
