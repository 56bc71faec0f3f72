"""Exports the switch settings of a plan as a SONiC configuration; lists those that SONiC does not support.

The configuration has tables of `config_db.json` (SONiC's YANG models `sonic-port`, `sonic-buffer-pool`,
`sonic-buffer-profile`, `sonic-wred-profile`, `sonic-port-qos-map`, `sonic-scheduler` and `sonic-pfcwd`),
which `fabric.switch.config` reads back. A plan does not list the ports of a switch: one port of each rate
represents all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any, Final

from fabricbench.analysis.causes.settings import data_classes
from fabricbench.report.output.sonic_pools import (
    LOSSLESS_POOL,
    WORKED_OUT,
    add_pools,
    is_power,
    lossless_profile,
    power_of,
    ratio_of,
)

_PS_PER_MS: Final = 10**9
_PPM_PER_PERCENT: Final = 10_000
_LOSSY: Final = "fabricbench_lossy"
_PORT_MTU: Final = 9100
_PRIORITIES: Final = range(8)
_WEIGHT_MAX: Final = 100
_QUANTUM_LEAST: Final = 8 << 10
"""Quantum of the smallest weight when a plan reads weights back [bytes]."""
_NO_SWITCH_LINKS: Final = frozenset({"scale_up_link"})


def sonic_config(run_spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the tables of SONiC for the switches of a RunSpec, and sentences about omissions."""
    switch = run_spec["fabric"]["switch"]
    rates = sorted(set(_rates(run_spec["fabric"]["topology"])))
    ports = {_port(rate): rate for rate in rates}
    tables: dict[str, Any] = {
        "PORT": {
            name: {"speed": str(rate // 10**6), "mtu": str(_PORT_MTU), "admin_status": "up"}
            for name, rate in ports.items()
        },
        "BUFFER_POOL": _one_pool(switch) if switch["buffer"].get("pools") is None else {},
        "QUEUE": {f"{name}|{priority}": {} for name in ports for priority in _PRIORITIES},
    }
    missing = [f"PORT: {', '.join(ports)} stand for each of your ports of that rate; repeat what names them"]
    if switch["buffer"]["lossy_alpha"] is not None:
        _add_lossy(tables, switch, ports)
    if switch["buffer"].get("pools") is not None:
        missing += add_pools(tables, switch, ports)
    if switch["ecn"] is not None:
        tables["WRED_PROFILE"] = {_name("ecn", rate): _wred(switch["ecn"], rate) for rate in rates}
        for name, rate in ports.items():
            for priority in switch["ecn"]["priorities"]:
                tables["QUEUE"][f"{name}|{priority}"]["wred_profile"] = _name("ecn", rate)
        missing += _ecn_missing(switch["ecn"])
    if switch["pfc"] is not None:
        _add_pfc(tables, switch, ports)
        missing += _pfc_missing(switch["pfc"])
    if switch["scheduling"]["kind"] == "dwrr":
        missing += _add_scheduling(tables, switch["scheduling"]["quantum_bytes"])
    missing += _rest_missing(run_spec)
    tables["QUEUE"] = {key: fields for key, fields in tables["QUEUE"].items() if fields}
    return {table: entries for table, entries in tables.items() if entries}, missing


def _port(rate_bps: int) -> str:
    return f"PORT_{rate_bps // 10**9}G"


def _one_pool(switch: Mapping[str, Any]) -> dict[str, Any]:
    pfc, size = switch["pfc"], str(switch["buffer"]["size_bytes"])
    mode = "static" if pfc is not None and pfc["xoff"]["kind"] == "static" else "dynamic"
    if switch["buffer"]["lossy_alpha"] is None:
        return {LOSSLESS_POOL: {"type": "ingress", "mode": mode, "size": size}}
    return {LOSSLESS_POOL: {"type": "both", "mode": "dynamic", "size": size}}


def _add_lossy(tables: dict[str, Any], switch: Mapping[str, Any], ports: Mapping[str, int]) -> None:
    lossless = switch["pfc"]["priorities"] if switch["pfc"] is not None else ()
    profile = {"pool": LOSSLESS_POOL, "size": "0", "dynamic_th": power_of(switch["buffer"]["lossy_alpha"])}
    tables.setdefault("BUFFER_PROFILE", {})[_LOSSY] = profile
    tables["BUFFER_QUEUE"] = {
        f"{name}|{priority}": {"profile": _LOSSY}
        for name in ports
        for priority in _PRIORITIES
        if priority not in lossless
    }


def _add_pfc(tables: dict[str, Any], switch: Mapping[str, Any], ports: Mapping[str, int]) -> None:
    pfc = switch["pfc"]
    if switch["buffer"].get("pools") is None:
        profiles = tables.setdefault("BUFFER_PROFILE", {})
        profiles |= {_name("pfc", rate): lossless_profile(pfc, LOSSLESS_POOL) for rate in ports.values()}
    enabled = {"pfc_enable": ",".join(map(str, pfc["priorities"]))}
    tables["PORT_QOS_MAP"] = dict.fromkeys(ports, enabled)
    if pfc["headroom_bytes"] != 0 and switch["buffer"].get("pools") is None:
        is_worked_out = pfc["headroom_bytes"] is None
        tables["BUFFER_PG"] = {
            f"{name}|{priority}": {"profile": WORKED_OUT if is_worked_out else _name("pfc", rate)}
            for name, rate in ports.items()
            for priority in pfc["priorities"]
        }
    if pfc["headroom_bytes"] is None and pfc["xoff"]["kind"] == "dynamic":
        power = power_of(pfc["xoff"]["alpha"])
        tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {"AZURE": {"default_dynamic_th": power}}
    if pfc["watchdog"] is not None:
        tables["PFC_WD"] = dict.fromkeys(ports, _watchdog(pfc["watchdog"]))


def _add_scheduling(tables: dict[str, Any], quanta: list[int]) -> Iterator[str]:
    """Add weights in the ratio of quanta, and yield a sentence if SONiC cannot express them exactly."""
    weights = [quantum // gcd(*quanta) for quantum in quanta]
    if max(weights) > _WEIGHT_MAX:
        weights = [max(1, round(weight * _WEIGHT_MAX / max(weights))) for weight in weights]
        quanta_text = ", ".join(map(str, quanta))
        yield f"scheduling: quanta of {quanta_text} bytes, of which weights up to 100 are the nearest"
    elif gcd(*quanta) != -(-_QUANTUM_LEAST // min(weights)):
        yield "scheduling: of quanta, SONiC has the ratio"
    tables["SCHEDULER"] = {
        f"fabricbench_{weight}": {"type": "DWRR", "weight": str(weight)} for weight in weights
    }
    for key, fields in tables["QUEUE"].items():
        fields["scheduler"] = f"fabricbench_{weights[int(key.rpartition('|')[2])]}"


def _rates(node: Any, name: str = "") -> Iterator[int]:
    """Yield the rates of the ports of switches [bit/s]."""
    if isinstance(node, Mapping):
        if "rate_bps" in node:
            yield node["rate_bps"]
        for key, child in node.items():
            if key not in _NO_SWITCH_LINKS:
                yield from _rates(child, key)
    elif isinstance(node, list):
        for child in node:
            yield from _rates(child, name)


def _name(kind: str, rate_bps: int) -> str:
    return f"fabricbench_{kind}_{rate_bps // 10**9}g"


def _wred(ecn: Mapping[str, Any], rate_bps: int) -> dict[str, str]:
    """Return the thresholds of a port, scaled from the reference rate of the plan."""
    reference = ecn["reference_rate_bps"] or rate_bps
    curves = _curves(ecn)
    marked = [colour for colour, curve in curves.items() if curve is not None and curve["ecn"]]
    mode = {0: "none", len(curves): "all"}.get(len(marked), "_".join(marked))
    profile = {"ecn": f"ecn_{mode}"}
    for colour, curve in curves.items():
        profile[f"wred_{colour}_enable"] = "false" if curve is None else "true"
        if curve is None:
            continue
        low, high = (curve[field] * rate_bps // reference for field in ("kmin_bytes", "kmax_bytes"))
        profile |= {
            f"{colour}_min_threshold": str(low),
            f"{colour}_max_threshold": str(high),
            f"{colour}_drop_probability": str(max(1, round(curve["pmax_ppm"] / _PPM_PER_PERCENT))),
        }
    return profile


def _curves(ecn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the curve for frames of each colour: equal for all, unless WRED is set by colour."""
    common_curve = {name: ecn[name] for name in ("kmin_bytes", "kmax_bytes", "pmax_ppm")} | {"ecn": True}
    wred = ecn.get("wred")
    return {colour: common_curve if wred is None else wred[colour] for colour in ("green", "yellow", "red")}


def _ecn_missing(ecn: Mapping[str, Any]) -> Iterator[str]:
    for ppm in {curve["pmax_ppm"]: None for curve in _curves(ecn).values() if curve is not None}:
        if ppm % _PPM_PER_PERCENT:
            yield f"ecn.pmax: {ppm / _PPM_PER_PERCENT:g} %, which SONiC takes in whole per cent"
    if ecn["dynamic"] is not None:
        yield "ecn.dynamic: SONiC's thresholds do not move"


def _watchdog(watchdog: Mapping[str, Any]) -> dict[str, str]:
    return {
        "action": watchdog["action"],
        "detection_time": str(max(1, watchdog["detection_ps"] // _PS_PER_MS)),
        "restoration_time": str(max(1, watchdog["restoration_ps"] // _PS_PER_MS)),
    }


def _pfc_missing(pfc: Mapping[str, Any]) -> Iterator[str]:
    if pfc["headroom_bytes"] is None:
        yield (
            f"pfc.headroom: auto; SONiC works out headroom, reserve and xon of groups whose profile is "
            f"`{WORKED_OUT}`, from the rate and the cable of a port: or name one with `xoff` in BUFFER_PG"
        )
        if pfc["xoff"]["kind"] == "static":
            yield "pfc.xoff: a threshold in bytes, which profiles that SONiC works out do not have"
    if pfc["xoff"]["kind"] == "dynamic" and not is_power(pfc["xoff"]["alpha"]):
        alpha = float(ratio_of(pfc["xoff"]["alpha"]))
        yield f"pfc.xoff.alpha: {alpha:g}, of which SONiC has the nearest power of two"
    watchdog = pfc["watchdog"]
    if watchdog is not None and any(
        watchdog[field] % _PS_PER_MS for field in ("detection_ps", "restoration_ps")
    ):
        yield "pfc.watchdog: times that are no whole milliseconds"
    yield f"pfc.quanta: {pfc['quanta']}, which SONiC does not set"
    if pfc.get("ends_by_time"):
        yield "pfc.xon: off, which SONiC does not set"


def _rest_missing(run_spec: Mapping[str, Any]) -> Iterator[str]:
    switch = run_spec["fabric"]["switch"]
    if settings := run_spec["fabric"].get("switch_settings"):
        names = ", ".join(name for setting in settings for name in setting["switches"])
        yield f"fabric.switch_settings: {names} are set up in another way than these tables say"
    lossy = switch["buffer"]["lossy_alpha"]
    if lossy is not None and not is_power(lossy):
        yield f"buffer.lossy_alpha: {float(ratio_of(lossy)):g}, of which SONiC has the nearest power of two"
    if switch["buffer"]["cell_bytes"] != 1:
        yield f"buffer.cell: {switch['buffer']['cell_bytes']} bytes, which are the chip's"
    if switch.get("markers"):
        yield "switch.markers: what colours frames, for which SONiC has POLICER with rules that name it"
    classes = data_classes(run_spec)
    yield f"transport.priorities: DSCP_TO_TC_MAP has to take the DSCP of your hosts' data to class {classes}"
    control = run_spec["transport"]["rate_control"]["kind"]
    if control != "line-rate":
        yield f"transport.rate_control: {control} is set at the adapters of hosts"
