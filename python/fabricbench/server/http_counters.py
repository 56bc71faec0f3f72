"""Prometheus counter and histogram of HTTP requests by route and status."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Requests:
    """Counters of requests, in a registry of their own."""

    def __init__(self) -> None:
        """Start at 0."""
        self.registry = CollectorRegistry()
        labels = ["method", "route"]
        self._count = Counter(
            "fabricbench_http_requests", "Requests answered.", [*labels, "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "fabricbench_http_request_seconds",
            "Time to the end of the answer, event streams left out.",
            labels,
            buckets=_SECONDS,
            registry=self.registry,
        )

    def add(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count a request, and its time unless `seconds` is none [s]."""
        self._count.labels(method, route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(method, route).observe(seconds)
