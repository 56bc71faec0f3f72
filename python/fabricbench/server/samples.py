"""Samples of the current trial: buffer of samples, converted to the points of event `samples`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabricbench.backend.rates import goodput_gb_per_s, paused_mean


class Samples:
    """Buffer of points until the next call of `take`."""

    def __init__(self) -> None:
        self._points: list[dict[str, Any]] = []

    def add(self, samples: Sequence[Mapping[str, Any]]) -> None:
        """Add the samples of a progress report as points."""
        self._points += map(_point, samples)

    def take(self) -> list[dict[str, Any]]:
        """Return the points in order of time and forget them."""
        points, self._points = self._points, []
        return points


def _point(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample as a point: rates since the one before, and the ports if any is sampled."""
    span_ps = sample["span_ps"]
    goodput = goodput_gb_per_s(sample["delivered_bytes"], span_ps)
    point = {"sim_ps": sample["sim_ps"], "goodput_gb_per_s": goodput}
    if sample["queue_max_bytes"] is None:
        return point
    return point | {
        "queue_max_bytes": sample["queue_max_bytes"],
        "marks_per_us": sample["marked_frames"] * 1e6 / span_ps,
        "paused_mean": paused_mean(sample["paused_ps"], span_ps),
    }
