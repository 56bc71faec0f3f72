"""Parser of NCCL Inspector, the profiler plugin of NCCL: one JSON object for each collective of each rank.

`is_output` detects it, `read` returns its tables. Times are whole microseconds and GB/s 1e9 bytes/s.
`coll_msg_size_bytes` is the contribution of one rank; for AllGather and ReduceScatter the data size is that
times the ranks (`inspectorComputeCollBw` of the plugin). Operations of the same communicator, collective and
size form one result, their mean, as nccl-tests measures. A file may have the records of several ranks; the
result is then the mean over the ranks too. Records of single sends and receives are left out: they are parts
of an operation. From version 4.3 on, a record with only header and metadata, or with `dump_stats`, applies to
the records after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from fabricbench.measured.file_text.document import Document, shown
from fabricbench.measured.file_text.intervals import Interval
from fabricbench.measured.file_text.json_fields import Fields, documents_and_lines
from fabricbench.measured.model import Row, Table, UserFacts, Value
from fabricbench.measured.nccl_logs.log_lines import algorithm_name, protocol_name
from fabricbench.measured.nccl_tests.bandwidth_check import KINDS, Kind, bandwidths
from fabricbench.measured.nccl_tests.output import collective_of

NAME = "nccl-inspector"
_KINDS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
}
"""The collectives whose bandwidth Inspector computes, by their names in NCCL."""
_OF_HEAD = ("header", "metadata")
_SLOW_RANK_RATIO = 1.25
"""Ratio of the times of two ranks above which a warning is given: a choice, not a law."""
_TIMES_RANKS = ("all_gather", "reduce_scatter")
_VERSION = "inspector_output_format_version"
_OPERATIONS = ("coll_perf", "p2p_perf")
_BODIES = (*_OPERATIONS, "dump_stats")
_VERSIONS = ("v4.0", "v4.1", "v4.2", "v4.3")
"""Versions of the format that are known."""
_HINT = "the line may be cut off or edited: take the file that the plugin wrote, or remove the line"


def is_output(content: Any) -> bool:
    """Return whether a JSON document is a record of NCCL Inspector."""
    if not isinstance(content, dict) or "header" not in content:
        return False
    metadata = content.get("metadata")
    is_head = isinstance(metadata, dict) and _VERSION in metadata
    return is_head or any(name in content for name in _BODIES)


@dataclass(frozen=True)
class _Key:
    """Key of a result: the fields that its operations have in common."""

    communicator: str
    name: str
    ranks: int
    message_bytes: int


@dataclass
class _Group:
    """The operations of a result: by their number, the times of the ranks [us]."""

    line: int
    times: dict[int, list[float]] = field(default_factory=dict)
    of_rank: dict[int, list[float]] = field(default_factory=dict)
    words: dict[str, dict[str, None]] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    nodes: int | None = None

    def take(self, number: int, rank: int, time_us: float) -> None:
        self.times.setdefault(number, []).append(time_us)
        self.of_rank.setdefault(rank, []).append(time_us)


def read(document: Document, user_facts: UserFacts) -> tuple[list[Table], list[str]]:
    """Read the records of a file.

    Raises:
        MeasuredError: A record lacks a field, or its bandwidths do not follow from size, time and ranks.
    """
    del user_facts  # every record has collective and ranks
    groups: dict[_Key, _Group] = {}
    omitted_counts: Counter[str] = Counter()
    dropped: dict[tuple[str, int], int] = {}
    head: dict[str, Any] = {}
    versions: dict[str, None] = {}
    cut: list[str] = []
    for line, record in documents_and_lines(document, cut=cut):
        content = record
        if isinstance(record, dict):
            head = _head_of(record, head)
            content = head | record
        fields = Fields(document, content, "", line)
        versions[_version(fields)] = None
        if "coll_perf" in fields.value:
            _take(document, line, fields, groups, omitted_counts)
        elif "dump_stats" in fields.value:
            header, stats = fields.object("header"), fields.object("dump_stats")
            counts = [value for name, value in stats.value.items() if name.endswith("dropped_total")]
            dropped_counts = [value for value in counts if isinstance(value, int)]
            dropped[header.text("id"), int(header.number("rank"))] = sum(dropped_counts)
        elif fields.value.keys() - {*_OF_HEAD}:
            omitted_counts[
                "single sends and receives" if "p2p_perf" in fields.value else "other records"
            ] += 1
    warnings = [
        *cut,
        *(f"{document.name}: {count:,} {kind} are not imported" for kind, count in omitted_counts.items()),
        *_spread(document, groups),
    ]
    if unknown := [version for version in versions if version and version not in _VERSIONS]:
        warnings.append(
            f"{document.name}: version {', '.join(map(shown, unknown))} of the format is not known: read as "
            f"{_VERSIONS[-1]}"
        )
    if any(dropped.values()):
        warnings.append(f"{document.name}: the plugin dropped {sum(dropped.values()):,} records itself")
    return _tables(groups), warnings


def _head_of(record: dict[str, Any], former: dict[str, Any]) -> dict[str, Any]:
    """Return header and metadata that apply to the next records; empty before version 4.3."""
    if any(name in record for name in _OPERATIONS):
        return former
    metadata = record.get("metadata")
    version = metadata.get(_VERSION) if isinstance(metadata, dict) else None
    if version is None or version in _VERSIONS[:-1]:
        return {}
    return {name: record[name] for name in _OF_HEAD if name in record}


def _version(fields: Fields) -> str:
    """Return the version of the format of a record; empty if it has none."""
    metadata = fields.value.get("metadata")
    version = metadata.get(_VERSION) if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else ""


def _take(
    document: Document, line: int, fields: Fields, groups: dict[_Key, _Group], omitted_counts: Counter[str]
) -> None:
    """Add an operation of a rank to the result that it belongs to."""
    header, body = fields.object("header"), fields.object("coll_perf")
    name = body.text("coll")
    ranks, message = header.integer("n_ranks"), body.integer("coll_msg_size_bytes")
    time_us = body.number("coll_exec_time_us")
    if reason := _omission_reason(name, ranks, time_us, body.text("coll_timing_source")):
        omitted_counts[reason] += 1
        return
    kind = KINDS[_KINDS[name]]
    size = _data_bytes(kind, ranks, message)
    _require_bandwidths(document, line, body, kind, ranks, size, time_us)
    key = _Key(header.text("id"), name, ranks, message)
    group = groups.setdefault(key, _Group(line))
    group.take(body.integer("coll_sn"), header.integer("rank"), time_us)
    group.nodes = header.integer("nnodes") if "nnodes" in header.value else None
    for field_name, value in (
        ("algorithm", algorithm_name(body.text("coll_algo"))),
        ("protocol", protocol_name(body.text("coll_proto"))),
        ("timing", body.text("coll_timing_source")),
    ):
        if value:
            group.words.setdefault(field_name, {})[value[:80]] = None
    metadata = fields.value.get("metadata")
    host = metadata.get("hostname") if isinstance(metadata, dict) else None
    if isinstance(host, str) and host:
        group.hosts[host[:200]] = None


def _omission_reason(name: str, ranks: int, time_us: float, source: str) -> str:
    """Return the reason why an operation is no result; empty for one that is."""
    if name not in _KINDS:
        return f"operations {shown(name)}, whose bandwidth the plugin does not know,"
    if ranks < 2:
        return "collectives of one rank"
    if not time_us:
        return "operations of 0 us, which the clock did not resolve,"
    if source == "collective_cpu":
        return "operations timed by the processor that starts them (collective_cpu)"
    return ""


def _spread(document: Document, groups: Mapping[_Key, _Group]) -> Iterator[str]:
    """Yield a warning for each result with one rank much slower than another: the result is their mean."""
    for key, group in groups.items():
        means = {rank: fmean(times) for rank, times in group.of_rank.items()}
        least, most = (pick(means, key=lambda rank: means[rank]) for pick in (min, max))
        if means[most] > _SLOW_RANK_RATIO * means[least]:
            yield (
                f"{document.name}:{group.line}: {key.name} of {key.message_bytes:,} bytes, communicator "
                f"{key.communicator[:40]}: rank {most} takes {means[most]:g} us, rank {least} "
                f"{means[least]:g} us, of {len(means)} ranks; the time is their mean. The longer one may be "
                "slow itself, or wait in the kernel for a rank that is late"
            )


def _data_bytes(kind: Kind, ranks: int, message_bytes: int) -> int:
    return message_bytes * ranks if kind.name in _TIMES_RANKS else message_bytes


def _require_bandwidths(
    document: Document, line: int, body: Fields, kind: Kind, ranks: int, size: int, time_us: float
) -> None:
    """Refuse a record whose bandwidths do not follow from its size, time and ranks.

    Raises:
        MeasuredError: They do not; a time of 0 is not checked.
    """
    if not time_us:
        return
    names = ("coll_algobw_gbs", "coll_busbw_gbs")
    for name, value in zip(names, bandwidths(kind, ranks, size, time_us), strict=True):
        printed = body.number(name)
        # Other writers of the format print two decimals.
        if not Interval.written(printed, 2).meets(Interval.written(value, 6)):
            operation = f"{body.text('coll')} of {size:,} bytes, {ranks:,} ranks and {time_us:g} us"
            expected = f"{value:.6f}, as {operation} has"
            raise document.error(line, f"{printed:g} at coll_perf.{name}", expected, _HINT)


def _tables(groups: Mapping[_Key, _Group]) -> list[Table]:
    """Return a table for each communicator and collective."""
    tables: dict[tuple[str, str, int], list[tuple[_Key, _Group]]] = {}
    for key, group in groups.items():
        tables.setdefault((key.communicator, key.name, key.ranks), []).append((key, group))
    return [_table(groups_of_table) for groups_of_table in tables.values()]


def _table(keyed_groups: Sequence[tuple[_Key, _Group]]) -> Table:
    key, first = keyed_groups[0]
    hosts = list(dict.fromkeys(host for _, group in keyed_groups for host in group.hosts))
    facts: dict[str, Value] = {"communicator": key.communicator[:80]} if key.communicator else {}
    if hosts:
        facts |= {"host": ", ".join(hosts[:16]) + (", ..." if len(hosts) > 16 else ""), "hosts": len(hosts)}
    if first.nodes:
        facts["nodes"] = first.nodes
    rows = sorted((_row(*key_and_group) for key_and_group in keyed_groups), key=lambda row: row.size_bytes)
    return Table(
        f"inspector-{key.name.lower()}",
        collective_of(_KINDS[key.name]),
        key.ranks,
        "data",
        first.line,
        rows,
        facts=facts,
        part=key.communicator[:40],
    )


def _row(key: _Key, group: _Group) -> Row:
    times = [fmean(times) for times in group.times.values()]
    rank_times = [fmean(times) for times in group.of_rank.values()]
    values: dict[str, Value] = {name: ", ".join(words)[:80] for name, words in group.words.items()}
    if len(rank_times) > 1:
        values["ranks that wrote"] = len(rank_times)
    return Row(
        group.line,
        _data_bytes(KINDS[_KINDS[key.name]], key.ranks, key.message_bytes),
        time_us=fmean(times),
        time_us_min=min(times),
        time_us_max=max(times),
        rank_us_min=min(rank_times) if len(rank_times) > 1 else None,
        rank_us_max=max(rank_times) if len(rank_times) > 1 else None,
        iterations=len(times),
        values=values,
    )
