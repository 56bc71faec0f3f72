"""Finds causes of low bandwidth in a run's adapters: too few, of two kinds, a bond, ports of a lower rate.

Rules: `few_adapters`, `mixed_adapters`, `bonded`, `stated_slower_port`, `slower_port`. `adapters_that_fit`
returns the number of adapters that the bandwidth suggests, `odd_adapters` those of another kind than most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from fabricbench.measured.causes.evidence import (
    CERTAIN,
    LIKELY,
    POSSIBLE,
    Suspect,
    each_adapter,
    each_adapter_at_most,
    fallen,
    is_near,
    reached,
)
from fabricbench.measured.nccl_logs.debug_facts import DebugFacts, adapter_names
from fabricbench.measured.nccl_logs.hardware import LINE_RATES, PortRate, slower_ports
from fabricbench.measured.rule_input import GOOD, RuleInput

_NUMBERED: Final = re.compile(r"_\d+(?::\d+)?$")
"""End of the name of one adapter, such as `mlx5_0` or `mlx5_0:1`; the name of a kind, `mlx5`, lacks it."""
_ONE, _SEVERAL = 0.8, 0.93
"""Fraction of the payload rate of one adapter, or of several, at which a bandwidth is attributed to them."""


def few_adapters(case: RuleInput) -> Iterator[Suspect]:
    """Fewer adapters in use than the host has, by lists, by the channels of the log, or by the bandwidth."""
    if case.is_pair or not case.crosses:
        return
    of_list = _by_list(case)
    by_ratio = _by_ratio(case)
    indications = [indication for indication in (of_list, _by_channels(case), by_ratio) if indication]
    if not indications:
        return
    confidence = max(indication[0] for indication in indications)
    evidence = [text for indication in indications for text in indication[1]]
    rate = case.hardware.rate_gbps
    if rate and case.carried:
        evidence.append(
            f"{case.plateau:.4g} GB/s are {case.carried / (rate / 8):.2f} adapters of {rate:g} Gb/s"
        )
    is_below_host = case.hardware.adapters or of_list is None
    yield Suspect(
        "few-adapters",
        "NCCL uses fewer adapters than the host has" if is_below_host else "few adapters serve many GPUs",
        confidence,
        list(dict.fromkeys(evidence)),
        "leave NCCL_IB_HCA out or name all, `ibstat` must say Active and LinkUp for each, the log must have "
        "channels via NET/.../n for each n (more ranks on a host, NCCL_CROSS_NIC, NCCL_NETDEVS_POLICY); "
        "bandwidth must rise by one adapter's with each that is added",
        is_guess=indications == [by_ratio],
    )


def _by_list(case: RuleInput) -> tuple[int, list[str]] | None:
    """Return confidence and evidence by the adapters that the log or a variable lists; none without any."""
    facts, used = case.facts, len(case.facts.adapters)
    variable = case.setting("NCCL_IB_HCA")
    names = _listed_adapters(variable[1]) if variable else []
    adapters_of_host = case.hardware.adapters
    count = used or len(names)
    confidence, evidence = 0, list[str]()
    local = case.local_ranks
    ranks = max((point.ranks for point in case.points), default=0)
    if adapters_of_host and count and count < adapters_of_host:
        confidence, evidence = CERTAIN, [f"{count} of {adapters_of_host} adapters ({case.hardware.source})"]
    elif not adapters_of_host and count and (local or ranks) >= 4 * count:
        whose = f"{local} GPUs of a host" if local else f"{ranks} ranks on one host or more"
        confidence, evidence = LIKELY if local and not used else POSSIBLE, [f"{count} for {whose}"]
    if not confidence:
        return None
    evidence += [str(variable[2])] if variable else []
    evidence += [str(facts.where["adapters"])] if used else []
    return confidence, evidence


def _by_channels(case: RuleInput) -> tuple[int, list[str]] | None:
    """Return confidence and evidence if all logged channels between hosts use the same few adapters.

    It is likely if every process of a host logged, as each may use its own adapter.
    """
    facts = case.facts
    listed = case.adapters or 0
    used = sorted(device for device in facts.net_devices if device[0] != "NET/Socket")
    if not used or len(used) >= listed or (case.ratio is not None and case.ratio >= GOOD):
        return None
    local = case.local_ranks
    is_whole = bool(local) and _processes_of_a_host(facts) >= (local or 0)
    numbers = ", ".join(f"{name}/{number}" for name, number in used[:8])
    first = facts.where.get("net device")
    count = f"{len(used)} of {listed} adapters in all channels between hosts: via {numbers}"
    return LIKELY if is_whole else POSSIBLE, [count, *([str(first)] if first else [])]


def _processes_of_a_host(facts: DebugFacts) -> int:
    return max(Counter(process.split(":")[0] for process in facts.processes).values(), default=0)


def _by_ratio(case: RuleInput) -> tuple[int, list[str]] | None:
    """Return confidence and evidence if the bandwidth equals that of a whole number of adapters."""
    count = adapters_that_fit(case)
    used = {number for network, number in case.facts.net_devices if network != "NET/Socket"}
    if count is None or case.adapters is None or len(used) > count:
        return None
    local = case.ranks_of_a_host(case.best) if case.best else None
    of_ranks = f", with {local} rank{'s' if local > 1 else ''} on each host" if local else ""
    return POSSIBLE, [f"{count} of {case.adapters} adapters carry that{of_ranks}", *reached(case)]


def adapters_that_fit(case: RuleInput) -> int | None:
    """Return the number of adapters whose rate fits the bandwidth, if it is below all; none if none fits."""
    rate, adapters, carried, peak = case.hardware.rate_gbps, case.adapters, case.carried, case.hardware_peak
    is_low = case.ratio is not None and case.ratio < GOOD
    if not (is_low and rate and adapters and carried and peak) or case.is_pair or fallen(case):
        return None
    of_one = rate / 8
    for count in range(1, adapters):
        least = (_ONE if count == 1 else _SEVERAL) * case.payload_share
        if least * count * of_one <= carried <= count * of_one:
            return count if peak <= count * of_one else None
    return None


def _listed_adapters(value: str) -> list[str]:
    """Return the adapters that NCCL_IB_HCA names; none if it excludes some, or has prefixes of names."""
    names = [name for name in value.removeprefix("=").split(",") if name]
    is_whole = value[:1] == "=" or all(_NUMBERED.search(name) for name in names)
    return names if is_whole and value[:1] != "^" else []


def mixed_adapters(case: RuleInput) -> Iterator[Suspect]:
    """Adapters of two link layers, makes or rates in one list: NCCL spreads data evenly over all of them."""
    facts = case.facts
    odd = odd_adapters(facts)
    if not odd or not case.crosses:
        return
    others = [name for name in facts.adapters if name.split(":")[0] not in odd]
    is_used = not _is_by_make(facts) or _carries(facts, odd)
    both = [f"{name}/{kind}" for name, kind in facts.adapters.items()]
    speeds = [f"{name} {speed / 1000:g} Gb/s" for name, speed in facts.speeds.items()]
    names = ",".join(odd)
    slow = _slow_ports(case)
    is_one_host = bool(slow) and not _is_another_kind(case, slow)
    is_odd = (len(others) > len(odd) or _is_by_make(facts)) and not is_one_host and is_used
    yield Suspect(
        "mixed-adapters",
        f"NCCL lists adapters of different kind, make or rate: {names} is most likely not for this data"
        if is_odd and len(others) > len(odd)
        else "NCCL lists adapters of different kind, make or rate, and spreads data over all of them",
        LIKELY if is_odd else POSSIBLE,
        [str(facts.where["adapters"]), f"listed: {', '.join(speeds or both)}", *reached(case)],
        f"NCCL_IB_HCA=^{names} leaves {'it' if len(odd) == 1 else 'them'} out; bandwidth with and without",
    )


def odd_adapters(facts: DebugFacts) -> list[str]:
    """Return the adapters whose link layer, make or rate is not that of most, else not that of the first."""
    speeds = {name.split(":")[0]: str(speed) for name, speed in facts.speeds.items()}
    for values in (adapter_names(facts), _makes(facts), speeds):
        counts = Counter(values.values())
        if len(counts) > 1:
            usual = counts.most_common(1)[0][0]
            return [name for name, value in values.items() if value != usual]
    return []


_MAKE: Final = re.compile(
    r"(mlx\d|bnxt|irdma|i40iw|ionic|efa|hns|qedr|cxgb\d|erdma|mana|xgbe|hfi\d|siw|rxe)_?"
)
"""Kernel drivers in the names of adapters; names by slot, such as `rocep65s0f0`, have no make."""
_SAME_MAKE: Final = {"i40iw": "irdma"}


def _makes(facts: DebugFacts) -> dict[str, str]:
    """Return the driver of each adapter that has it in its name: `mlx` of `mlx5_0`, `bnxt` of `bnxt_re0`."""
    matches = {name: _MAKE.match(name) for name in adapter_names(facts)}
    return {
        name: _SAME_MAKE.get(make[1], make[1].rstrip("0123456789")) for name, make in matches.items() if make
    }


def _is_by_make(facts: DebugFacts) -> bool:
    """Return whether adapters of one link layer are of several makes."""
    return len(set(adapter_names(facts).values())) == 1 and len(set(_makes(facts).values())) > 1


def _carries(facts: DebugFacts, odd: Sequence[str]) -> bool:
    """Return whether a logged channel uses one of the odd adapters, or no channel is logged."""
    used = {number for network, number in facts.net_devices if network.startswith("NET/IB")}
    names = [name.split(":")[0] for name in facts.adapters]
    return not used or any(names[number] in odd for number in used if number < len(names))


def bonded(case: RuleInput) -> Iterator[Suspect]:
    """A connection on a bond whose queue pairs use only one of its ports."""
    odd = odd_adapters(case.facts)
    names = [name for name in adapter_names(case.facts) if "bond" in name and name not in odd]
    variable = case.setting("NCCL_IB_HCA")
    is_bond_variable = variable and "bond" in variable[1] and not names and variable[1][:1] != "^"
    names += [variable[1]] if variable and is_bond_variable else []
    names += [name for name in [case.perftest_setting("nic")] if "bond" in name]
    if not names:
        return
    pairs = case.setting("NCCL_IB_QPS_PER_CONNECTION")
    pairs_text = pairs[1] if pairs else case.perftest_setting("queue pairs")
    count = int(pairs_text) if pairs_text.isdecimal() and len(pairs_text) < 6 else 1
    half = case.ratio is not None and case.ratio <= 0.65
    if (count > 1 and not half) or (case.ratio is not None and case.ratio >= GOOD):
        return
    connection = f"adapter {names[0]}, {count} queue pair{'s' if count > 1 else ''} for a connection"
    yield Suspect(
        "bond-one-port",
        "the hash of the bond puts the queue pairs of a connection on one of its ports",
        LIKELY if half or count == 1 else POSSIBLE,
        [
            connection,
            *([str(pairs[2])] if pairs else ["NCCL_IB_QPS_PER_CONNECTION is not set: 1"]),
            *reached(case),
        ],
        "NCCL_IB_QPS_PER_CONNECTION=4 with NCCL_IB_SPLIT_DATA_ON_QPS=0; tx bytes of both ports (`ethtool "
        "-S`), or give "
        "NCCL the ports without a bond",
    )


def stated_slower_port(case: RuleInput) -> Iterator[Suspect]:
    """Ports of a lower rate than others, or than stated, that are no adapters of another kind."""
    slow = _slow_ports(case)
    if slow and not _is_another_kind(case, slow):
        yield _stated(case, slow)


def slower_port(case: RuleInput) -> Iterator[Suspect]:
    """A port at a lower rate than stated; none whose rate is below a measured one."""
    slow = _slow_ports(case)
    if slow:
        if _is_another_kind(case, slow):
            yield _stated(case, slow)
        return
    rate, each, most = case.hardware.rate_gbps, each_adapter(case), each_adapter_at_most(case)
    is_low = case.ratio is not None and case.ratio < GOOD
    if rate is None or each is None or most is None or not is_low or fallen(case):
        return
    if len(case.facts.hardware.ports) >= (case.adapters or 1):
        return  # the rates of the ports are in the file, and none is lower
    gbps, share = 8 * each, case.payload_share
    fitting = [
        lower
        for lower in LINE_RATES
        if _may_fall_back(lower, rate) and 0.9 * lower * share <= gbps and 8 * most <= 1.01 * lower * share
    ]
    if fitting:
        yield Suspect(
            "slower-port",
            f"an adapter carries what a port of {fitting[0]} Gb/s carries, not one of {rate:g} Gb/s",
            POSSIBLE,
            [
                f"{gbps:.4g} Gb/s for each adapter: {100 * gbps / fitting[0]:.0f} % of {fitting[0]} Gb/s",
                *reached(case),
            ],
            _PORT_TEST,
            is_guess=True,
        )


_PORT_TEST: Final = (
    "`ibstat` (Rate) or `ethtool` (Speed) of both ends and of the switch; a splitter cable or a second host "
    "port that is not used; tx bytes of each port"
)


def _may_fall_back(lower: float, rate: float) -> bool:
    """Return whether a port may fall back to a rate: down to an eighth, from 200 Gb/s on down to 50 Gb/s."""
    return lower < rate and lower >= rate / 8 and (rate < 200 or lower >= 50)


def _slow_ports(case: RuleInput) -> list[PortRate]:
    """Return the ports with a lower rate by lines of the file, if the rate may limit the measurement."""
    if case.ratio is not None and case.ratio >= GOOD:
        return []
    rate, most = case.hardware.rate_gbps, each_adapter_at_most(case)
    fastest = max((port.gbps for port in case.facts.hardware.ports.values()), default=0.0)
    used = {name.split(":")[0] for name in case.facts.adapters}
    return [
        port
        for port in slower_ports(case.facts.hardware, rate)
        if _may_fall_back(port.gbps, rate or fastest)
        and (most is None or 8 * most <= 1.02 * port.gbps)
        and (not used or port.adapter.split(":")[0] in used or not _NUMBERED.search(port.adapter))
    ]


def _is_another_kind(case: RuleInput, slow: Sequence[PortRate]) -> bool:
    """Return whether the slow adapters are slow on each host, next to faster ones: cards of another kind."""
    hosts = {host for host, _ in case.facts.hardware.ports}
    names = {port.adapter for port in slow}
    everywhere = all(
        (host, name) not in case.facts.hardware.ports
        or case.facts.hardware.ports[host, name].gbps <= max(port.gbps for port in slow)
        for host in hosts
        for name in names
    )
    return everywhere and bool(odd_adapters(case.facts))


def _stated(case: RuleInput, slow: Sequence[PortRate]) -> Suspect:
    """Return the cause for ports with a lower rate by lines of the file."""
    first = slow[0]
    ports = case.facts.hardware.ports
    others = [port for port in ports.values() if port.gbps > first.gbps]
    rate = case.hardware.rate_gbps or max(port.gbps for port in ports.values())
    host = f" on {first.host}" if first.host else ""
    return Suspect(
        "slower-port",
        f"{first.adapter}{host} runs at {first.gbps:g} Gb/s, not at {rate:g} Gb/s: a collective waits for it",
        LIKELY if is_near(case, first.gbps / 8) else POSSIBLE,
        [
            str(first.seen),
            f"{len(slow)} of {len(ports)} ports at a lower rate"
            + (f", others at {max(port.gbps for port in others):g} Gb/s" if others else ""),
            *reached(case),
        ],
        _PORT_TEST,
    )
