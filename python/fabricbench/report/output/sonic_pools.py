"""Exports buffer pools as SONiC's BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG and BUFFER_QUEUE.

`plan.devices.sonic_config.pools` reads them back. A pool with the same name on both sides has the type
`both`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import log2
from typing import Any, Final

_PREFIX: Final = "fabricbench"
WORKED_OUT: Final = "NULL"
"""Profile of a lossless group that SONiC's buffer manager calculates."""
LOSSLESS_POOL: Final = "ingress_lossless_pool"
"""The pool for calculated profiles."""
_POWERS: Final = (-8, 8)
"""Smallest and largest `dynamic_th`."""
_NUMBERED: Final = {"ingress": "BUFFER_PG", "egress": "BUFFER_QUEUE"}


def ratio_of(ratio: Mapping[str, int]) -> Fraction:
    """Return a ratio of a run spec as a fraction."""
    return Fraction(ratio["numerator"], ratio["denominator"])


def power_of(ratio: Mapping[str, int]) -> str:
    """Return the nearest `dynamic_th` of a ratio."""
    least, most = _POWERS
    return str(min(most, max(least, round(log2(ratio_of(ratio))))))


def is_power(ratio: Mapping[str, int]) -> bool:
    """Return whether SONiC can represent a ratio exactly."""
    return Fraction(2) ** int(power_of(ratio)) == ratio_of(ratio)


def lossless_profile(pfc: Mapping[str, Any], pool: str, *, is_shared: bool = False) -> dict[str, str]:
    """Return the profile of lossless groups.

    Args:
        pfc: PFC of the run spec.
        pool: Their pool.
        is_shared: They use a shared headroom pool. Otherwise, a group's reserved bytes include its headroom.
    """
    size = pfc["reserved_bytes"] + (0 if is_shared else pfc["headroom_bytes"] or 0)
    profile = {"pool": pool, "size": str(size), "xon_offset": str(pfc["xon_offset_bytes"])}
    if pfc["headroom_bytes"] is not None:
        profile["xoff"] = str(pfc["headroom_bytes"])
    return profile | _threshold(pfc["xoff"])


def add_pools(tables: dict[str, Any], switch: Mapping[str, Any], ports: Mapping[str, int]) -> Iterator[str]:
    """Add the pools of a buffer to tables, and yield sentences about omissions."""
    added = _Added(tables, switch, ports)
    for side in _NUMBERED:
        for pool in switch["buffer"]["pools"][side]:
            added.add(side, pool)
    yield from added.missing()


class _Added:
    """Builder of the pool tables."""

    def __init__(self, tables: dict[str, Any], switch: Mapping[str, Any], ports: Mapping[str, int]) -> None:
        self.tables, self.switch, self.ports = tables, switch, ports
        self.pfc = switch["pfc"]
        self.lossless = frozenset(self.pfc["priorities"] if self.pfc is not None else ())
        self.notes: list[str] = []

    def add(self, side: str, pool: Mapping[str, Any]) -> None:
        key = self._entry(side, pool)
        own = {
            priority: profile for profile in pool.get("profiles", ()) for priority in profile["priorities"]
        }
        for priority in pool["priorities"]:
            if side == "ingress" and priority in self.lossless:
                self._add_lossless(key, priority)
            else:
                self._add_limited(side, key, priority, own.get(priority, pool))

    def _entry(self, side: str, pool: Mapping[str, Any]) -> str:
        """Add the pool and return its key."""
        key, pools = pool["name"], self.tables["BUFFER_POOL"]
        entry = {"type": side, "mode": self._mode(side, pool), "size": str(pool["size_bytes"])}
        if side == "ingress":
            headroom = pool["headroom_bytes"]
            if headroom:
                size = pool["size_bytes"] - (headroom if pool.get("headroom_in_size") else 0)
                entry |= {"size": str(size), "xoff": str(headroom)}
            elif not pool.get("headroom_in_size") and self.lossless & set(pool["priorities"]):
                self.notes.append(
                    f"buffer.pools: {key}: headroom of each group is beside the pool: in SONiC its `size` "
                    "has to hold that of all your ports"
                )
            if pool["xoff"] is not None:
                self.notes.append(f"buffer.pools: {key}: xoff: SONiC has no threshold of a whole pool")
        elif key in pools:
            if pools[key] | {"type": side, "mode": entry["mode"]} == entry:
                pools[key]["type"] = "both"
                return str(key)
            key = f"{key}_egress"
        pools[key] = entry
        return str(key)

    def _mode(self, side: str, pool: Mapping[str, Any]) -> str:
        limits = [pool["limit"], *(profile["limit"] for profile in pool.get("profiles", ()))]
        if side == "ingress" and self.lossless & set(pool["priorities"]):
            limits.append(self.pfc["xoff"])
        is_dynamic = any(limit is not None and limit["kind"] == "dynamic" for limit in limits)
        return "dynamic" if is_dynamic else "static"

    def _add_lossless(self, key: str, priority: int) -> None:
        pool = self.tables["BUFFER_POOL"][key]
        name = f"{_PREFIX}_pfc_{key}"
        if self.pfc["headroom_bytes"] is None:
            self._assign("ingress", priority, WORKED_OUT)
            if key != LOSSLESS_POOL:
                self.notes.append(
                    f"buffer.pools: {key}: SONiC works out groups in `{LOSSLESS_POOL}`: give it that name"
                )
        elif self.pfc["headroom_bytes"]:
            profile = lossless_profile(self.pfc, key, is_shared="xoff" in pool)
            self.tables.setdefault("BUFFER_PROFILE", {})[name] = profile
            self._assign("ingress", priority, name)

    def _add_limited(self, side: str, key: str, priority: int, of: Mapping[str, Any]) -> None:
        limit = of["limit"]
        profile = {"pool": key, "size": str(of["reserved_bytes"])} | _threshold(limit)
        if limit is not None and limit["kind"] == "dynamic" and not is_power(limit["alpha"]):
            alpha = float(ratio_of(limit["alpha"]))
            self.notes.append(
                f"buffer.pools: {key}: a limit of {alpha:g}, of which SONiC has the nearest power of two"
            )
        profiles = self.tables.setdefault("BUFFER_PROFILE", {})
        matches = [name for name, other in profiles.items() if other == profile and "_pfc_" not in name]
        name = matches[0] if matches else f"{_PREFIX}_{side}_{key}_{len(profiles)}"
        profiles[name] = profile
        self._assign(side, priority, name)

    def _assign(self, side: str, priority: int, profile: str) -> None:
        entries = self.tables.setdefault(_NUMBERED[side], {})
        entries |= {f"{name}|{priority}": {"profile": profile} for name in self.ports}

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each setting that SONiC cannot express."""
        yield from dict.fromkeys(self.notes)
        pools = self.tables["BUFFER_POOL"].values()
        sizes = [int(pool["size"]) + int(pool.get("xoff", 0)) for pool in pools if pool["type"] != "egress"]
        whole = max([sum(sizes), *(int(pool["size"]) for pool in pools)], default=0)
        size = self.switch["buffer"]["size_bytes"]
        if whole != size or not sizes:
            yield f"buffer.size: {size} bytes, which are the chip's; its pools take {whole}"
        if self.pfc is not None and self.pfc["headroom_bytes"] == 0:
            yield "pfc.headroom: 0, with which SONiC has no lossless group"


def _threshold(limit: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the threshold of a profile; in SAI, no threshold is 0 bytes."""
    if limit is None:
        return {"static_th": "0"}
    if limit["kind"] == "static":
        return {"static_th": str(limit["bytes"])}
    return {"dynamic_th": power_of(limit["alpha"])}
