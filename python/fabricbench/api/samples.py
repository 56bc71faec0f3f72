"""`Sample` of a running trial: simulated time, goodput, queue depth, ECN marks and PFC pauses."""

from __future__ import annotations

from dataclasses import dataclass

from fabricbench.backend.protocol import goodput_gb_per_s, paused_mean


@dataclass(frozen=True)
class Sample:
    """Sample of a running trial: counters since the sample before, and the current queue depth.

    Ports are those that the plan samples (`observe.series_ports`); without any, their three values are none.

    Attributes:
        simulated_ps: Simulated time of the sample [ps].
        span_ps: Time since the sample before, never zero [ps].
        delivered_bytes: Payload delivered in that time, of all jobs [bytes].
        queue_max_bytes: Deepest egress queue of all ports of switches at the time of the sample [bytes].
        marked_frames: Frames marked by ECN in that time.
        paused_ps: Time spent paused by PFC in that time, the sum of ports and priorities [ps].

    Example:
        >>> import fabricbench as fb
        >>> sample = fb.Sample(2_000_000, 1_000_000, 50_000, 4096, 0, 500_000)
        >>> sample.goodput_gb_per_s, sample.paused_mean
        (50.0, 0.5)
    """

    simulated_ps: int
    span_ps: int
    delivered_bytes: int
    queue_max_bytes: int | None
    marked_frames: int | None
    paused_ps: int | None

    @property
    def goodput_gb_per_s(self) -> float:
        """Mean goodput of all jobs together since the sample before [GB/s, decimal].

        Example:
            >>> import fabricbench as fb
            >>> fb.Sample(1000, 1000, 25, None, None, None).goodput_gb_per_s
            25.0
        """
        return goodput_gb_per_s(self.delivered_bytes, self.span_ps)

    @property
    def paused_mean(self) -> float | None:
        """Mean number of paused priorities of ports since the sample before.

        Example:
            >>> import fabricbench as fb
            >>> fb.Sample(1000, 1000, 25, 0, 0, 2500).paused_mean
            2.5
        """
        return None if self.paused_ps is None else paused_mean(self.paused_ps, self.span_ps)
