"""Describes the fabric under test, its switches and its hosts as text, from the parameters of trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from fabricbench.words import counted, data_size

_Spec = Mapping[str, Any]


def rate_text(rate_bps: float) -> str:
    """Format a rate in Gb/s."""
    return f"{rate_bps / 1e9:g} Gb/s"


def time_text(time_ps: float) -> str:
    """Format a configured time in the largest unit in which it is 1 or more."""
    units = (("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3), ("ps", 1.0))
    name, length = next((unit for unit in units if time_ps >= unit[1]), units[-1])
    return f"{time_ps / length:g} {name}"


def topology_text(fabric: _Spec) -> str:
    """Format the kind and the numbers of a topology."""
    topology = fabric["topology"]
    if topology["kind"] == "custom":
        return f"custom: {len(topology['switches'])} switches, {len(topology['links'])} links"
    counts = [
        f"{value} {name.replace('_', ' ')}"
        for name, value in topology.items()
        if isinstance(value, int) and not isinstance(value, bool) and value != 1
    ]
    return f"{topology['kind']}: {', '.join(counts)}"


def link_facts(fabric: _Spec) -> list[tuple[str, str]]:
    """Return rate and delay of each kind of cable."""
    return [
        (name.replace("_", " "), f"{rate_text(value['rate_bps'])}, {time_text(value['cable']['delay_ps'])}")
        for name, value in fabric["topology"].items()
        if isinstance(value, dict) and "rate_bps" in value and "cable" in value
    ]


def balancing_text(spec: _Spec) -> str:
    """Format the choice among equal paths."""
    chosen = spec["fabric"]["load_balancing"]
    kind = str(chosen["kind"])
    if kind == "ecmp":
        return f"ecmp, {chosen['hash']}{', with the queue pair' if chosen['include_qp'] else ''}"
    return f"flowlet, gap {time_text(chosen['gap_ps'])}" if kind == "flowlet" else kind


def pfc_text(spec: _Spec) -> str:
    """Format the thresholds of PFC."""
    pfc = spec["fabric"]["switch"]["pfc"]
    if pfc is None:
        return "off"
    xoff = pfc["xoff"]
    alpha = xoff.get("alpha")
    limit = f"alpha {alpha['numerator']}/{alpha['denominator']}" if alpha else _bytes(xoff.get("bytes"))
    headroom = pfc["headroom_bytes"]
    parts = [f"XOFF {limit}", f"headroom {'auto' if headroom is None else data_size(headroom)}"]
    parts += [f"watchdog {time_text(pfc['watchdog']['detection_ps'])}"] if pfc["watchdog"] else []
    return f"priority {', '.join(map(str, pfc['priorities']))}: {', '.join(parts)}"


def ecn_text(spec: _Spec) -> str:
    """Format the thresholds of ECN."""
    ecn = spec["fabric"]["switch"]["ecn"]
    if ecn is None:
        return "off"
    rate = ecn["reference_rate_bps"]
    at = f" at {rate_text(rate)}, scaled by the port's rate" if rate else ""
    kmin, kmax = _bytes(ecn["kmin_bytes"]), _bytes(ecn["kmax_bytes"])
    thresholds = f"Kmin {kmin}, Kmax {kmax}, Pmax {_percent(ecn['pmax_ppm'])}"
    wred = ecn.get("wred")
    return f"{thresholds if wred is None else _wred_text(wred)}{at}"


def _wred_text(wred: _Spec) -> str:
    """Format the action of WRED on frames of each colour."""

    def text(curve: _Spec | None) -> str:
        if curve is None:
            return "passes"
        thresholds = f"{_bytes(curve['kmin_bytes'])} to {_bytes(curve['kmax_bytes'])}"
        action = "marked or dropped" if curve["ecn"] else "dropped"
        return f"{action} from {thresholds}, {_percent(curve['pmax_ppm'])}"

    return "WRED: " + "; ".join(f"{colour} {text(curve)}" for colour, curve in wred.items())


def rate_control_text(spec: _Spec) -> str:
    """Format the rate control of senders."""
    control = spec["transport"]["rate_control"]
    if interval := control.get("cnp_interval_ps") if control["kind"] == "line-rate" else None:
        return f"line-rate, CNPs without reaction, CNP interval {time_text(interval)}"
    if control["kind"] == "fixed":
        return f"fixed, {rate_text(control['rate_bps'])} of each queue pair"
    if control["kind"] != "dcqcn":
        return str(control["kind"])
    alpha = control.get("initial_alpha_2e20")
    parts = [
        f"g {control['g_2e20'] / (1 << 20):.4g}",
        *([] if alpha is None else [f"initial alpha {alpha / (1 << 20):.4g}"]),
        f"alpha timer {time_text(control['alpha_timer_ps'])}",
        f"rate cut period {time_text(control['rate_cut_period_ps'])}",
        f"increase timer {time_text(control['increase_timer_ps'])}",
        f"R_AI {rate_text(control['additive_increase_bps'])}",
        f"CNP interval {time_text(control['cnp_interval_ps'])}",
    ]
    return f"DCQCN: {', '.join(parts)}"


def buffer_text(spec: _Spec) -> str:
    """Format the buffer of a switch."""
    buffer = spec["fabric"]["switch"]["buffer"]
    return f"{data_size(buffer['size_bytes'])} shared{', in pools' if buffer.get('pools') else ''}"


def transport_text(specs: Sequence[_Spec]) -> str:
    """Format the transport settings of hosts; if run specs differ, each value once."""
    texts = [_transport(spec) for spec in specs]
    return ", ".join(" / ".join(dict.fromkeys(values)) for values in zip(*texts, strict=True))


def _transport(spec: _Spec) -> tuple[str, ...]:
    transport = spec["transport"]
    return (
        f"MTU {transport['mtu_bytes']}",
        f"messages of {data_size(transport['message_bytes'])}",
        counted(transport["qps_per_rank_pair"], "queue pair"),
        transport["qp_mode"].replace("_", " "),
        f"ACK every {transport['ack_every']}",
        transport["recovery"].replace("_", " "),
        f"timeout {time_text(transport['timeout_ps'])}",
    )


CONFIGURATION: Final[Sequence[tuple[str, Callable[[_Spec], str]]]] = (
    ("topology", lambda spec: topology_text(spec["fabric"])),
    ("load balancing", balancing_text),
    ("PFC", pfc_text),
    ("ECN", ecn_text),
    ("DCQCN", rate_control_text),
    ("buffer of a switch", buffer_text),
)
"""Columns of a table of test configurations."""


def each_once(specs: Iterable[_Spec], text: Callable[[_Spec], str]) -> list[str]:
    """Return the distinct results of a function over run specs."""
    return list(dict.fromkeys(text(spec) for spec in specs))


def _bytes(count: int | None) -> str:
    return "–" if count is None else data_size(count) if count % 1024 == 0 else f"{count / 1000:g} kB"


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:g} %"
