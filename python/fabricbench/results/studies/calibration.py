"""Fits parameters of hosts (overheads, latency, rate, window) to the medians of a calibration's trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from fabricbench.analysis.summary.bandwidth import ideal_goodput_gb_per_s
from fabricbench.analysis.twins import calibration_fits
from fabricbench.analysis.twins.calibration_times import (
    COLUMNS,
    PingPong,
    Stream,
    TimingError,
    ping_pong,
    stream,
)
from fabricbench.errors import UserError
from fabricbench.store import Trial
from fabricbench.work import collective_of, pattern_of

if TYPE_CHECKING:
    import pyarrow as pa


FITTED_BYTES_MIN = 1 << 20
"""Smaller sizes are in the profile, but not in the fit of a rate: a window or a burst may contain them."""
_HEADER_BYTES = 98
"""Headers, preamble and gap of a message of one packet: 82 of a RoCEv2 frame and 16 of its RETH."""

_T = TypeVar("_T", PingPong, Stream)
Fit = calibration_fits.Fit


Setting = Callable[[Mapping[str, Any]], int]
"""Function of the run spec whose value, with hosts and size, identifies a point of a sweep."""


def _no_setting(_run_spec: Mapping[str, Any]) -> int:
    return 0


def _queue_pairs(run_spec: Mapping[str, Any]) -> int:
    return int(run_spec["transport"]["qps_per_rank_pair"])


def _window(run_spec: Mapping[str, Any]) -> int:
    return int(run_spec["transport"]["window_packets"])


def _ranks(run_spec: Mapping[str, Any]) -> int:
    return len(run_spec["jobs"][0]["hosts"])


class CalibrationError(UserError):
    """A sweep from which no parameter can be computed.

    Attributes:
        hint: The command that shows more of the trial.
    """

    def __init__(self, trial: Trial, why: str) -> None:
        super().__init__(f"trial {trial.id} of {trial.facts.plan}, {trial.facts.variant}: {why}")
        self.hint = f"`fabricbench show {trial.id}` tells more of it"


@dataclass(frozen=True)
class Row:
    """The medians of a point of a sweep.

    Attributes:
        hosts: Source and destination host.
        values: Name of the sweep, and its values with their units in the names.
    """

    hosts: calibration_fits.HostPair
    values: Mapping[str, str | int | float]


@dataclass(frozen=True)
class Calibration:
    """Measured parameters.

    Attributes:
        send_overhead: [ps].
        receive_overhead: [ps].
        latency: Of an adapter, on each side [ps].
        rate: Of the hosts' links, headers included [bit/s].
        window: [packets]; none where one queue pair fills the link.
        rows: Medians of every point.
    """

    send_overhead: calibration_fits.Fit
    receive_overhead: calibration_fits.Fit
    latency: calibration_fits.Fit
    rate: calibration_fits.Fit
    window: calibration_fits.Fit | None
    rows: Sequence[Row]


class Sweeps:
    """The trials of each sweep, and the parameters fitted to them.

    Attributes:
        rows: Medians of the points that were read so far.
    """

    def __init__(self, trials: Mapping[str, Sequence[Trial]]) -> None:
        """Create from the trials of the sweeps `rate`, `window`, `messages` and `latency`."""
        self._trials = trials
        self.rows: list[Row] = []

    def rates(self) -> calibration_fits.Rates:
        """Return the rates of payload.

        Raises:
            CalibrationError: A trial is not complete.
        """
        lines: dict[tuple[calibration_fits.HostPair, int], list[tuple[int, float]]] = defaultdict(list)
        for (_, size, queue_pairs), iterations in self._points("rate", ping_pong, _queue_pairs).items():
            for hosts in iterations[0].transfer_ps:
                transfer_ps = median(exchange.transfer_ps[hosts] for exchange in iterations)
                self._note("rate", hosts, size, queue_pairs=queue_pairs, transfer_us=transfer_ps / 1e6)
                lines[hosts, queue_pairs].append((size, transfer_ps))
        largest = max(size for line in lines.values() for size, _ in line)
        min_bytes = FITTED_BYTES_MIN if largest > FITTED_BYTES_MIN else 0
        return calibration_fits.rates(
            {key: [point for point in line if point[0] >= min_bytes] for key, line in lines.items()}
        )

    def link_bps(self, rates: calibration_fits.Rates) -> float:
        """Return the rate of the link, headers included [bit/s]."""
        run_spec = self._trials["rate"][0].facts.run_spec
        return rates.link.value * _host_rate(run_spec) / (8e9 * ideal_goodput_gb_per_s(run_spec))

    def window(self, rates: calibration_fits.Rates) -> calibration_fits.Window:
        """Return the window fitted to the sweep of windows.

        Raises:
            CalibrationError: A trial is not complete.
        """
        points: dict[tuple[calibration_fits.HostPair, int], tuple[int, float]] = {}
        for (_, size, packets), iterations in self._points("window", ping_pong, _window).items():
            for hosts in iterations[0].transfer_ps:
                transfer_ps = median(exchange.transfer_ps[hosts] for exchange in iterations)
                self._note("window", hosts, size, window=packets, transfer_us=transfer_ps / 1e6)
                points[hosts, packets] = (size, transfer_ps)
        mtu_bytes = self._trials["window"][0].facts.run_spec["transport"]["mtu_bytes"]
        return calibration_fits.window(points, mtu_bytes, rates.single.value, is_full=rates.is_alone)

    def send_overhead(self, link_bps: float) -> calibration_fits.Fit:
        """Return the cost of a message.

        Raises:
            CalibrationError: A trial is not complete.
        """
        spans: dict[tuple[calibration_fits.HostPair, int], list[tuple[int, float]]] = defaultdict(list)
        gaps = []
        for (_, size, _), iterations in self._points("messages", stream, _ranks).items():
            hosts, count = iterations[0].hosts, iterations[0].count
            span, gap = (median(getattr(iteration, name) for iteration in iterations) for name in _OF_STREAM)
            self._note("messages", hosts, size, messages=count, span_us=span / 1e6, post_gap_us=gap / 1e6)
            spans[hosts, size].append((count, span))
            gaps.append(gap)
        bounds = {size: 8e12 * (size + _HEADER_BYTES) / link_bps for _, size in spans}
        # Each message of a stream has its own queue pair, so no window limits it.
        return calibration_fits.send_overhead(spans, gaps, bounds)

    def turnarounds_and_message_times(
        self, reference: Sequence[Trial]
    ) -> tuple[
        dict[tuple[calibration_fits.HostPair, int], float],
        dict[tuple[calibration_fits.HostPair, int], tuple[float, float]],
    ]:
        """Return turnarounds, and the times of small messages: measured, and on the plan's fabric [ps].

        Args:
            reference: The trials of the sweep of latency with adapters of a known latency.

        Raises:
            CalibrationError: A trial is not complete.
        """
        idle = {key: iterations[0].one_way_ps for key, iterations in _grouped(reference, ping_pong).items()}
        turnarounds, message_times = {}, {}
        for key, iterations in self._points("latency", ping_pong).items():
            hosts, size, _ = key
            message_ps, turnaround = (
                median(getattr(exchange, name) for exchange in iterations) for name in _OF_LATENCY
            )
            fabric_times = {"one_way_us": message_ps / 1e6, "fabric_us": idle[key] / 1e6}
            self._note("latency", hosts, size, turnaround_us=turnaround / 1e6, **fabric_times)
            turnarounds[hosts, size] = turnaround
            message_times[hosts, size] = (message_ps, idle[key])
        return turnarounds, message_times

    def _points(
        self, sweep: str, read: Callable[[pa.Table, int], _T], setting: Setting = _no_setting
    ) -> dict[tuple[calibration_fits.HostPair, int, int], list[_T]]:
        return _grouped(self._trials[sweep], read, setting)

    def _note(self, sweep: str, hosts: calibration_fits.HostPair, size: int, **values: float) -> None:
        rounded = {name: round(value, 6) for name, value in values.items()}
        self.rows.append(Row(hosts, {"sweep": sweep, "from": "", "to": "", "size_bytes": size, **rounded}))


_OF_STREAM = ("span_ps", "post_gap_ps")
_OF_LATENCY = ("one_way_ps", "turnaround_ps")


def calibrated(
    sweeps: Sweeps, link_bps: float, rates: calibration_fits.Rates, reference: Sequence[Trial]
) -> Calibration:
    """Return all parameters.

    Args:
        sweeps: The sweeps.
        link_bps: Result of `Sweeps.link_bps`.
        rates: Result of `Sweeps.rates`.
        reference: The trials of the sweep of latency with adapters of a known latency.

    Raises:
        CalibrationError: A trial is not complete.
    """
    window = sweeps.window(rates)
    sending = sweeps.send_overhead(link_bps)
    turnarounds, message_times = sweeps.turnarounds_and_message_times(reference)
    receiving = calibration_fits.receive_overhead(list(turnarounds.values()), sending.value)
    # A plan adds both overheads to a message in one direction. If they exceed the turnaround, as software
    # still works after a post, the difference is part of the transfer time.
    costs = sending.value + receiving.value
    message_times = {
        key: (message_ps + turnarounds[key] - costs, fabric)
        for key, (message_ps, fabric) in message_times.items()
    }
    return Calibration(
        sending,
        receiving,
        calibration_fits.latency(message_times, reference[0].facts.run_spec["fabric"]["nic"]["latency_ps"]),
        calibration_fits.Fit(link_bps, rates.link.residuals, rates.link.basis),
        window.packets,
        sweeps.rows,
    )


def _grouped(
    trials: Sequence[Trial], read: Callable[[pa.Table, int], _T], setting: Setting = _no_setting
) -> dict[tuple[calibration_fits.HostPair, int, int], list[_T]]:
    """Return the times of the iterations of each point: pair of hosts, size, and a setting.

    Raises:
        CalibrationError: A trial is not complete.
    """
    points = defaultdict(list)
    for trial in trials:
        run_spec: Mapping[str, Any] = trial.facts.run_spec
        (job,) = run_spec["jobs"]
        hosts = list(dict.fromkeys(job["hosts"]))
        key = ((hosts[0], hosts[1]), pattern_of(job)["data_bytes"], setting(run_spec))
        points[key].append(_read(trial, read, collective_of(job)["warm_up_rounds"]))
    return dict(points)


def _read(trial: Trial, read: Callable[[pa.Table, int], _T], warm_up_rounds: int) -> _T:
    if trial.status != "complete":
        raise CalibrationError(trial, f"{trial.status}: {trial.message}")
    try:
        return read(trial.tables.table("chunks", list(COLUMNS)), warm_up_rounds)
    except TimingError as error:
        raise CalibrationError(trial, str(error)) from error


def _host_rate(run_spec: Mapping[str, Any]) -> int:
    rate_bps: int = run_spec["fabric"]["topology"]["host_link"]["rate_bps"]
    return rate_bps
