"""Thresholds of a plan's switches as configuration of SONiC, as far as SONiC has a field for them.

`WRED_PROFILE`, `BUFFER_PROFILE` and `PFC_WD` of `config_db.json` (SONiC's YANG models `sonic-wred-profile`,
`sonic-buffer-profile` and `sonic-pfcwd`). Profiles are named by the rate of the ports that they are for:
which ports those are, a plan does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import log2
from typing import Any, Final

_PS_PER_MS: Final = 10**9
_PPM_PER_PERCENT: Final = 10_000
_POOL: Final = "ingress_lossless_pool"
_NO_SWITCH_LINKS: Final = frozenset({"scale_up_link"})


def sonic_config(run_spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the tables of SONiC for the switches of a RunSpec, and what they leave out, in sentences."""
    switch = run_spec["fabric"]["switch"]
    missing: list[str] = []
    rates = sorted(set(_rates(run_spec["fabric"]["topology"])))
    tables: dict[str, Any] = {}
    if switch["ecn"] is not None:
        tables["WRED_PROFILE"] = {_name("ecn", rate): _wred(switch["ecn"], rate) for rate in rates}
        missing += _ecn_missing(switch["ecn"])
    if switch["pfc"] is not None:
        tables["BUFFER_PROFILE"] = {_name("pfc", rate): _buffer(switch["pfc"]) for rate in rates}
        if switch["pfc"]["watchdog"] is not None:
            tables["PFC_WD"] = {"PORT": _watchdog(switch["pfc"]["watchdog"])}
        missing += _pfc_missing(switch["pfc"])
    missing += _rest_missing(run_spec)
    return tables, missing


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


def _name(what: str, rate_bps: int) -> str:
    return f"fabricbench_{what}_{rate_bps // 10**9}g"


def _wred(ecn: Mapping[str, Any], rate_bps: int) -> dict[str, str]:
    """Return thresholds at a port, which a plan may give for another rate."""
    reference = ecn["reference_rate_bps"] or rate_bps
    low, high = (ecn[each] * rate_bps // reference for each in ("kmin_bytes", "kmax_bytes"))
    percent = max(1, round(ecn["pmax_ppm"] / _PPM_PER_PERCENT))
    profile = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        profile |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": str(low),
            f"{colour}_max_threshold": str(high),
            f"{colour}_drop_probability": str(percent),
        }
    return profile


def _ecn_missing(ecn: Mapping[str, Any]) -> Iterator[str]:
    priorities = ", ".join(map(str, ecn["priorities"]))
    yield f"ecn.priorities: set `wred_profile` of QUEUE for queue {priorities} of your ports"
    if ecn["pmax_ppm"] % _PPM_PER_PERCENT:
        yield f"ecn.pmax: {ecn['pmax_ppm'] / _PPM_PER_PERCENT:g} %, which SONiC takes in whole per cent"
    if ecn["dynamic"] is not None:
        yield "ecn.dynamic: SONiC's thresholds do not move"


def _buffer(pfc: Mapping[str, Any]) -> dict[str, str]:
    profile = {"pool": _POOL, "size": str(pfc["reserved_bytes"]), "xon_offset": str(pfc["xon_offset_bytes"])}
    if pfc["headroom_bytes"] is not None:
        profile["xoff"] = str(pfc["headroom_bytes"])
    if pfc["xoff"]["kind"] == "static":
        return profile | {"static_th": str(pfc["xoff"]["bytes"])}
    return profile | {"dynamic_th": str(round(log2(_alpha(pfc))))}


def _alpha(pfc: Mapping[str, Any]) -> Fraction:
    alpha = pfc["xoff"]["alpha"]
    return Fraction(alpha["numerator"], alpha["denominator"])


def _watchdog(watchdog: Mapping[str, Any]) -> dict[str, str]:
    return {
        "action": watchdog["action"],
        "detection_time": str(max(1, watchdog["detection_ps"] // _PS_PER_MS)),
        "restoration_time": str(max(1, watchdog["restoration_ps"] // _PS_PER_MS)),
    }


def _pfc_missing(pfc: Mapping[str, Any]) -> Iterator[str]:
    priorities = ",".join(map(str, pfc["priorities"]))
    yield f'pfc.priorities: set `pfc_enable` of PORT_QOS_MAP to "{priorities}" on your ports'
    if pfc["headroom_bytes"] is None:
        yield "pfc.headroom: auto; SONiC works it out from the rate and the cable of a port"
    if pfc["xoff"]["kind"] == "dynamic" and 2 ** round(log2(_alpha(pfc))) != _alpha(pfc):
        yield f"pfc.xoff.alpha: {float(_alpha(pfc)):g}, of which SONiC has the nearest power of two"
    if pfc["watchdog"] is not None:
        yield "pfc.watchdog: PFC_WD has an entry PORT, which takes the name of each of your ports"
    yield f"pfc.quanta: {pfc['quanta']}, which SONiC does not set"


def _rest_missing(run_spec: Mapping[str, Any]) -> Iterator[str]:
    switch = run_spec["fabric"]["switch"]
    if switch["buffer"]["pools"] is not None:
        yield "buffer.pools: BUFFER_POOL is not written; thresholds of lossless groups are those of `pfc`"
    if switch["scheduling"]["kind"] != "strict":
        yield "scheduling: weights of queues are in SCHEDULER, for each queue of your ports"
    control = run_spec["transport"]["rate_control"]["kind"]
    if control != "line-rate":
        yield f"transport.rate_control: {control} is set at the adapters of hosts"
