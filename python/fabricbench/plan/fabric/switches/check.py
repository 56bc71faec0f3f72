"""Checks switches of a plan: markers that colour frames, scheduled fabrics, buffer pools, shared chips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench import units
from fabricbench.plan._run_spec import LIMITS
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fabric.model import Fabric
from fabricbench.plan.fabric.switches.colours import Marker
from fabricbench.plan.fabric.switches.model import Buffer
from fabricbench.plan.fabric.switches.pfc import check_xoff
from fabricbench.plan.fabric.switches.pools import Chip, Pool


def _check_profiles(pool: Pool, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that profiles are of priorities of their pool, each in one of them."""
    seen: set[int] = set()
    for profile_index, profile in enumerate(pool.profiles):
        if profile.limit:
            yield from check_xoff(profile.limit, (*path, profile_index, "limit"))
        for index, priority in enumerate(profile.priorities):
            field = (*path, profile_index, "priorities", index)
            if pool.priorities is not None and priority not in pool.priorities:
                actual = f"priority {priority}, which is not in {pool.name}"
                yield FieldProblem(field, actual, ", ".join(map(str, pool.priorities)))
            elif priority in seen:
                actual = f"priority {priority} in two profiles of {pool.name}"
                yield FieldProblem(field, actual, "each priority once")
            seen.add(priority)


def _check_side(pools: Sequence[Pool], path: FieldPath) -> Iterator[FieldProblem]:
    """Check that each priority and name is of one pool, and that limits have one form."""
    seen: dict[int, str] = {}
    rest_pool = ""
    for pool_index, pool in enumerate(pools):
        if pool.name in (other.name for other in pools[:pool_index]):
            yield FieldProblem((*path, pool_index, "name"), f'"{pool.name}" again', "another name")
        if pool.limit:
            yield from check_xoff(pool.limit, (*path, pool_index, "limit"))
        if pool.priorities is None:
            if rest_pool:
                actual = f"all priorities that no pool names, which are in {rest_pool} already"
                yield FieldProblem((*path, pool_index), actual, "`priorities` of its own")
            rest_pool = pool.name
        for index, priority in enumerate(pool.priorities or ()):
            if seen.get(priority, pool.name) != pool.name:
                actual = f"priority {priority}, which is in {seen[priority]} already"
                yield FieldProblem((*path, pool_index, "priorities", index), actual, "each priority once")
            seen.setdefault(priority, pool.name)
        yield from _check_profiles(pool, (*path, pool_index, "profiles"))


def check_chips(chips: Sequence[Chip]) -> Iterator[FieldProblem]:
    """Yield the problems of chips that need no topology to detect."""
    path: FieldPath
    seen: dict[str, str] = {}
    for chip_index, chip in enumerate(chips):
        if chip.name in (other.name for other in chips[:chip_index]):
            yield FieldProblem(
                ("fabric", "chips", chip_index, "name"), f'"{chip.name}" again', "another name"
            )
        if len(chip.switches) < 2:
            path = ("fabric", "chips", chip_index, "switches")
            yield FieldProblem(path, f"{len(chip.switches)}", "2 switches or more")
        for index, switch in enumerate(chip.switches):
            if switch in seen:
                actual = f"{switch}, which is in {seen[switch]} already"
                path = ("fabric", "chips", chip_index, "switches", index)
                yield FieldProblem(path, actual, "each switch in one chip, once")
            seen.setdefault(switch, chip.name)


def check_pools(buffer: Buffer, path: FieldPath) -> Iterator[FieldProblem]:
    """Yield the problems of the pools of a buffer that need no topology to detect."""
    pools = buffer.pools
    for side in ("ingress", "egress") if pools else ():
        side_pools: Sequence[Pool] = getattr(pools, side)
        yield from _check_side(side_pools, (*path, "pools", side))
    if pools and buffer.lossy_alpha is not None:
        hint = "give each pool its `limit`"
        actual = "a threshold of the whole buffer beside pools"
        yield FieldProblem((*path, "lossy_alpha"), actual, "none", hint)


_SWITCH: FieldPath = ("fabric", "switch")


def _check_each(fabric: Fabric) -> Iterator[FieldProblem]:
    path: FieldPath = ("fabric", "switch", "markers")
    switch, host_count = fabric.switch, fabric.host_count
    if switch.markers and switch.scheduled:
        yield FieldProblem(path, "markers with scheduled switches", "none", "frames have no colours there")
    for index, marker in enumerate(switch.markers):
        yield from _check_marker(marker, (*path, index))
        for host in marker.hosts or ():
            if host >= host_count:
                allowed = f"hosts 0 to {host_count - 1} of this topology"
                yield FieldProblem((*path, index, "hosts"), f"host {host}", allowed)
                break


def check_markers(fabric: Fabric) -> Iterator[FieldProblem]:
    """Yield the problems of markers, and of markers without effect."""
    problems = list(_check_each(fabric))
    yield from problems
    has_wred = any(
        settings.ecn is not None and settings.ecn.wred is not None for _, settings in fabric.set_ups
    )
    if fabric.switch.markers and not (problems or has_wred or fabric.link_layer):
        path: FieldPath = ("fabric", "switch", "markers")
        hint = "such as `ecn: {wred: {yellow: {kmin: 50KB, kmax: 200KB}}}`"
        yield FieldProblem(path, "markers without WRED", "markers where `ecn.wred` goes by colours", hint)


_BURST_BYTES_MAX: Final = LIMITS["TwoRateColouringSpec.cbs_bytes"][1]


def _check_marker(marker: Marker, path: FieldPath) -> Iterator[FieldProblem]:
    rates = "`{cir: 100Gbps, pir: 200Gbps}` is a meter of RFC 2698, `{cir: 100Gbps, ebs: 64KB}` of RFC 2697"
    if (marker.colour is None) == (marker.cir_bps is None):
        actual = "neither `colour` nor `cir`" if marker.colour is None else "both `colour` and `cir`"
        yield FieldProblem(path, actual, "one of them", rates)
    elif marker.cir_bps is not None and (marker.pir_bps is None) == (marker.ebs_bytes is None):
        actual = "neither `pir` nor `ebs`" if marker.pir_bps is None else "both `pir` and `ebs`"
        yield FieldProblem((*path, "cir"), f"a meter with {actual}", "one of them", rates)
    elif marker.cir_bps is None and (marker.pir_bps is not None or marker.ebs_bytes is not None):
        name = "ebs" if marker.pir_bps is None else "pir"
        yield FieldProblem((*path, name), "a rate or burst beside a `colour`", "none")
    elif marker.cir_bps is not None and marker.pir_bps is not None and marker.pir_bps < marker.cir_bps:
        committed = units.format_rate(marker.cir_bps)
        actual, allowed = units.format_rate(marker.pir_bps), f"at least the `cir` of {committed}"
        yield FieldProblem((*path, "pir"), actual, allowed)
    sizes = {"cbs": marker.cbs_bytes, "pbs": marker.pbs_bytes, "ebs": marker.ebs_bytes or 0}
    for name, size in sizes.items():
        if size > _BURST_BYTES_MAX:
            allowed = f"at most {units.format_size(_BURST_BYTES_MAX)}"
            yield FieldProblem((*path, name), units.format_size(size), allowed)


def check_scheduled(fabric: Fabric) -> Iterator[FieldProblem]:
    """Yield the settings that the model of scheduled switches does not support, if the fabric has them."""
    switch = fabric.switch
    if not switch.scheduled:
        return
    if switch.forwarding != "store-and-forward":
        actual = f"{switch.forwarding} with scheduled switches"
        yield FieldProblem((*_SWITCH, "forwarding"), actual, "store-and-forward")
    if switch.ecn:
        hint = "they mark nothing: what waits for a port is in nobody's way"
        yield FieldProblem((*_SWITCH, "ecn"), "ECN with scheduled switches", "off", hint)
    if switch.pfc and switch.pfc.watchdog:
        actual = "a watchdog with scheduled switches"
        yield FieldProblem((*_SWITCH, "pfc", "watchdog"), actual, "off")
    if switch.buffer.release or switch.buffer.pipeline_ps:
        field = "release" if switch.buffer.release else "pipeline"
        hint = "a leaf releases a packet once a credit has come for it"
        actual = f"`{field}` with scheduled switches"
        yield FieldProblem((*_SWITCH, "buffer", field), actual, "none", hint)
    if switch.pfc and switch.pfc.reaction_ps is not None:
        actual = "a reaction time with scheduled switches"
        yield FieldProblem((*_SWITCH, "pfc", "reaction"), actual, "none")
    if fabric.extra_delays:
        actual = "delay lines with scheduled switches"
        hint = "the fabric links of a leaf have one delay in this model"
        yield FieldProblem(("fabric", "extra_delays"), actual, "none", hint)
    if fabric.failures:
        hint = "links of a scheduled fabric do not fail in this model"
        yield FieldProblem(("fabric", "failures"), "failures with scheduled switches", "none", hint)
