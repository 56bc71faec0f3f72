"""Differences between NCCL's choices in a log and those that are expected: algorithms, channels, adapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from fabricbench.explaining.expected import FileCurve, chosen_words, same_choice
from fabricbench.importing import FileFacts, RuleInput
from fabricbench.plan.devices.nccl_graphs import Graph
from fabricbench.plan.nccl import graph_rows
from fabricbench.words import counted, data_size

_QPS: Final = "NCCL_IB_QPS_PER_CONNECTION"


def differences(
    parsed: FileFacts, case: RuleInput, curve: FileCurve, graphs: Sequence[Graph] = ()
) -> list[str]:
    """Return sentences on choices of NCCL in the log, or its graphs, that differ from the expected ones."""
    return [
        *_by_size(case, curve),
        *_graphs(graphs, curve),
        *_channels(parsed, curve),
        *_adapters(parsed, case, curve),
        *_queue_pairs(parsed, curve),
    ]


def _by_size(case: RuleInput, curve: FileCurve) -> Iterator[str]:
    """Yield the sizes with another algorithm, protocol or number of channels."""
    expected = {point.data_size_bytes: point.choice for point in curve.series.points if point.choice}
    logged = {point.size_bytes: chosen_words(point.chosen) for point in case.points if point.chosen}
    pairs = [(size, logged[size], expected[size]) for size in sorted(logged) if size in expected]
    for (has, should), group in groupby(pairs, lambda pair: pair[1:]):
        sizes = [size for size, _, _ in group]
        if not same_choice(has, should):
            first, last = data_size(sizes[0]), data_size(sizes[-1])
            extent = first if first == last else f"{first} to {last}"
            yield f"{extent}: the log has {has}, expected is {should}"


def _graphs(graphs: Sequence[Graph], curve: FileCurve) -> Iterator[str]:
    """Yield the graphs with another number of channels, other speeds or worse paths."""
    if curve.answer is None:
        return
    should = {graph["algorithm"]: _graph_text(graph) for graph in graph_rows(curve.answer)}
    for graph in graphs:
        has = graph.extent or "no channels"
        expected = should.get(graph.algorithm, "no channels")
        if graph.algorithm and has != expected:
            yield f"the dumped graph {graph.algorithm} has {has}, expected are {expected}"


def _graph_text(graph: Mapping[str, Any]) -> str:
    speeds = f"{graph['intra_gb_per_s']:g}/{graph['inter_gb_per_s']:g} GB/s"
    return f"{counted(graph['channels'], 'channel')} of {speeds}, {graph['type_intra']}/{graph['type_inter']}"


def _channels(parsed: FileFacts, curve: FileCurve) -> Iterator[str]:
    """Yield the number of channels, as the log states it or as its connections show."""
    if curve.answer is None:
        return
    facts, should = parsed.facts, curve.answer["channels"]["collective"]
    connected = len({channel for channel, _, _ in facts.rails.ends})
    has = facts.channels or connected
    if has and has != should:
        where = facts.where.get("channels") or facts.where.get("net device")
        line = f" (line {where.line})" if where else ""
        yield f"the log has {counted(has, 'channel')} of collectives{line}, expected are {should}"


def _adapters(parsed: FileFacts, case: RuleInput, curve: FileCurve) -> Iterator[str]:
    """Yield the number of adapters that channels between servers use."""
    used = {number for network, number in parsed.facts.net_devices if network != "NET/Socket"}
    should = curve.adapters or case.hardware.adapters
    if used and should and len(used) < should:
        numbers = ", ".join(map(str, sorted(used)[:8]))
        yield f"channels of the log use {counted(len(used), 'adapter')} ({numbers}), expected are {should}"


def _queue_pairs(parsed: FileFacts, curve: FileCurve) -> Iterator[str]:
    """Yield the number of queue pairs of a connection."""
    should = (curve.variables or {}).get(_QPS, "1")
    has = parsed.facts.settings.get(_QPS, should)
    if has != should:
        line = parsed.facts.where[_QPS].line
        yield f"{_QPS} is {has} in the log (line {line}), expected is {should}"
