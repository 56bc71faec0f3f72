"""Builds the point-to-point sweeps of a calibration as plans with the fabric and transport of a given plan.

A calibration measures latency, rate, window and time per message of hosts. Each sweep is a separate plan with
a variant for each pair of hosts and setting. Its trials are stored like those of any other run, and any
backend can run them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading

TAG: Final = "calibrate"
LATENCY: Final = "latency"
RATE: Final = "rate"
WINDOW: Final = "window"
MESSAGES: Final = "messages"

SMALL_BYTES: Final = (64, 256, 1 << 10, 4 << 10)
"""Sizes of one-packet messages, whose time is mostly latency [bytes]."""
LARGE_BYTES: Final = (64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20)
"""Sizes of messages of many packets, whose time is mostly serialisation at the link rate [bytes]."""
COST_BYTES: Final = (64, 256)
"""Sizes of messages whose per-message cost exceeds the cost of the payload [bytes]."""
WINDOW_BYTES: Final = 1 << 20
WINDOWS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
QUEUE_PAIRS: Final = (1, 8)
STREAMS: Final = (16, 32, 64)
"""Messages that one rank sends back to back in a round, each to a different rank on the other host."""

REFERENCE_LATENCY_PS: Final = 400_000
"""Latency of the reference adapters, the default of a plan, for comparison with measured ones [ps]."""

_PROBE: Final = "probe"
_PAUSE: Final = "1ms"
_OVERHEADS: Final = ("step_overhead", "send_overhead", "receive_overhead")

Pair = tuple[int, int]
"""Two hosts of a plan."""


@dataclass(frozen=True)
class Options:
    """The user's options of a calibration.

    Attributes:
        pairs: Pairs of hosts to measure.
        iterations: Trials of each point.
        size_max_bytes: Largest message.
    """

    pairs: Sequence[Pair]
    iterations: int
    size_max_bytes: int


def base_plan(hosts: int) -> str:
    """Return the text of a plan for hosts whose fabric is not described: a single switch connects them."""
    fields = {
        "fabricbench": 1,
        "name": "calibrate",
        "fabric": {"topology": {"kind": "single-switch", "hosts": hosts}},
        "jobs": [{"collective": "send-receive", "ranks": [0, 1]}],
        "sweep": {"data_size": [64]},
    }
    return json.dumps(fields)


def default_pairs(hosts: int) -> list[Pair]:
    """Return pairs that include each host at least once, with partners half the fabric apart."""
    half = hosts // 2
    pairs = [(host, host + half) for host in range(half)]
    return [*pairs, (0, hosts - 1)] if hosts % 2 and hosts > 1 else pairs


def sweeps(plan: LoadedPlan, options: Options) -> Iterator[tuple[str, LoadedPlan]]:
    """Yield each sweep with its name.

    Raises:
        PlanError: One cannot run on the plan's fabric.
    """
    for name, sizes, job, variants in _sweep_definitions(plan, options):
        yield name, _sweep_plan(plan, name, options, sizes, job, variants)


def reference(plan: LoadedPlan, options: Options, rate_bps: int | None) -> LoadedPlan:
    """Return the latency sweep for the simulator, with `REFERENCE_LATENCY_PS` in the adapters.

    Args:
        plan: The plan.
        options: The user's options.
        rate_bps: Rate of the hosts' links, if no plan gives it.

    Raises:
        PlanError: It cannot run on the plan's fabric.
    """
    # Replies start after the acknowledgement has left the link, like those of software.
    job = {**_ping_pong(repeat=2), **dict.fromkeys(_OVERHEADS, "0s"), "send_overhead": _PAUSE}
    overrides = [f"fabric.nic.latency={REFERENCE_LATENCY_PS}ps", "backend=sim"]
    overrides += [f"fabric.topology.host_link.rate={rate_bps}bps"] if rate_bps else []
    sizes = _up_to(SMALL_BYTES, plan.plan.transport.mtu_bytes)
    return _sweep_plan(plan, f"{LATENCY}-reference", options, sizes, job, _of_pairs(options.pairs), overrides)


def _sweep_definitions(
    plan: LoadedPlan, options: Options
) -> Iterator[tuple[str, Sequence[int], dict[str, Any], dict[str, dict[str, Any]]]]:
    """Yield name, sizes, job and variants of each sweep."""
    transport = plan.plan.transport
    pairs = _of_pairs(options.pairs)
    ping_pong = _ping_pong(repeat=3, warm_up=1)
    large = _up_to(LARGE_BYTES, options.size_max_bytes)
    by_pairs = {
        f"{name}-qps-{count}": {**changes, "transport.qps_per_rank_pair": count}
        for name, changes in pairs.items()
        for count in QUEUE_PAIRS
    }
    yield RATE, large, ping_pong, by_pairs
    windows = [window for window in WINDOWS if window <= transport.window_packets]
    by_window = {
        f"{name}-window-{window}": {**changes, "transport.window": window, "transport.ack_every": 1}
        for name, changes in pairs.items()
        for window in windows
    }
    yield WINDOW, [min(WINDOW_BYTES, options.size_max_bytes)], ping_pong, by_window
    stream = {
        "collective": "broadcast",
        "algorithm": "parallel",
        "repeat": 20,
        "warm_up_rounds": 2,
    }
    ordered_pairs = [
        ordered_pair for first, second in options.pairs for ordered_pair in ((first, second), (second, first))
    ]
    by_count = {
        f"{name}-messages-{count}": {**changes, f"jobs.{_PROBE}.processes_per_host": count}
        for name, changes in _of_pairs(ordered_pairs).items()
        for count in STREAMS
    }
    yield MESSAGES, COST_BYTES, stream, by_count
    yield LATENCY, _up_to(SMALL_BYTES, transport.mtu_bytes), _ping_pong(repeat=100, warm_up=10), pairs


def _ping_pong(repeat: int, warm_up: int = 0) -> dict[str, Any]:
    return {
        "collective": "ping-pong",
        "algorithm": "parallel",
        "repeat": repeat,
        "warm_up_rounds": warm_up,
    }


def _up_to(sizes: Sequence[int], size_max: int) -> list[int]:
    return [size for size in sizes if size <= size_max]


def _of_pairs(pairs: Iterable[Pair]) -> dict[str, dict[str, Any]]:
    return {f"host{first}-host{second}": {f"jobs.{_PROBE}.ranks": [first, second]} for first, second in pairs}


def _sweep_plan(
    plan: LoadedPlan,
    name: str,
    options: Options,
    sizes: Sequence[int],
    job: dict[str, Any],
    variants: dict[str, dict[str, Any]],
    overrides: Sequence[str] = (),
) -> LoadedPlan:
    """Return the plan with one sweep instead of its jobs."""
    first_job = plan.plan.jobs[0]
    # The plan's software overheads apply here too; backends with real hosts have their own.
    overheads = {overhead: f"{getattr(first_job, f'{overhead}_ps')}ps" for overhead in _OVERHEADS}
    ranks = list(options.pairs[0])
    fields: dict[str, Any] = {
        "name": f"calibrate-{name}",
        "title": "",
        "tag": TAG,
        "jobs": [{**overheads, "name": _PROBE, "ranks": ranks, **job}],
        "tcp": [],
        "sweep": {"data_size": [int(size) for size in sizes]},
        "iterations": options.iterations,
        "solo": False,
        "criteria": [],
        "search": None,
        "published": None,
        "profile": None,
        "fabric.failures": [],
        "variants": [{"name": label, "set": changes} for label, changes in variants.items()],
    }
    if plan.plan.fabric.load_balancing.kind == "pinned":  # pins refer to flows of the plan's jobs
        fields["fabric.load_balancing"] = "ecmp"
    return loading.reload(
        plan, [*(f"{key}={json.dumps(value)}" for key, value in fields.items()), *overrides]
    )
