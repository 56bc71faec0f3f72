"""What is seen of a trial while it runs: goodput between two reports, the largest queue of each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_POINTS_MAX = 200


class Samples:
    """Collects points until they are taken."""

    def __init__(self) -> None:
        self._at = (0, 0)
        self._queues: dict[int, int] = {}
        self._points: list[dict[str, Any]] = []

    def progressed(self, sim_ps: int, delivered_bytes: int) -> None:
        """Take a report: the mean goodput since the last one [GB/s, decimal], all jobs together."""
        since_ps, before = self._at
        if sim_ps > since_ps:
            rate = (delivered_bytes - before) * 1000 / (sim_ps - since_ps)
            self._points.append({"sim_ps": sim_ps, "goodput_gb_per_s": rate})
            self._at = (sim_ps, delivered_bytes)

    def sampled(self, rows: pa.RecordBatch) -> None:
        """Take rows of the table `series`: the largest egress queue at each time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.Table.from_batches([rows]).filter(pc.equal(rows["metric"], "queue_bytes"))
        largest = table.group_by("time_ps").aggregate([("value", "max")])
        for time_ps, value in zip(
            *(largest[name].to_pylist() for name in ("time_ps", "value_max")), strict=True
        ):
            self._queues[time_ps] = max(value, self._queues.get(time_ps, 0))

    def take(self) -> list[dict[str, Any]]:
        """Return the points in order of time and forget them; of very many, some evenly."""
        queues = [{"sim_ps": at, "queue_max_bytes": value} for at, value in sorted(self._queues.items())]
        points = [*_thinned(self._points), *_thinned(queues)]
        self._points, self._queues = [], {}
        return sorted(points, key=lambda point: point["sim_ps"])


def _thinned(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return points[:: -(-len(points) // _POINTS_MAX)] if points else points
