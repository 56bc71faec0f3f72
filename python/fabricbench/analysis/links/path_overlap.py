"""Finds queue pairs that share links between switches, and the time for which their transfers overlap there.

Transfers are rows of table `chunks` of a record, paths those of table `paths`. Overlap is reported by link,
and by job: its transfers against those of other jobs on the same links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.analysis.record.tables import Tables

if TYPE_CHECKING:
    import polars as pl


MAX_AT_ONCE = 3
"""Largest number of neighbours at once that has its own class; it includes larger numbers."""


@dataclass(frozen=True)
class Occupancy:
    """The queue pairs of one link.

    Attributes:
        flows: Their ranks, as `rank 0 to 4`, with the job if there are several; repeated ones with a count.
        qps: Queue pairs in the table; fewer than on the link if the table is bounded.
        most_at_once: Largest number of them with a chunk in flight at one time.
        at_once: Those flows, at the first such time.
        shared_ps: Time for which two or more had a chunk in flight.
    """

    flows: tuple[str, ...]
    qps: int
    most_at_once: int
    at_once: tuple[str, ...]
    shared_ps: int


Link = tuple[str, int]
"""A link between switches: the node that sends on it, and its port."""


def occupancies(tables: Tables, links: Sequence[Link]) -> dict[Link, Occupancy]:
    """Return the queue pairs on links between switches; no entry for links that are not in table `paths`."""
    import polars as pl

    if not links:
        return {}
    nodes, ports = {node for node, _ in links}, {port for _, port in links}
    paths = _frame(tables, "paths", pl.col("node").is_in(list(nodes)), pl.col("port").is_in(list(ports)))
    of_link = {link: rows for link, rows in paths.group_by("node", "port") if link in set(links)}
    if not of_link:
        return {}
    qps = pl.concat(of_link.values())["qp"].unique().to_list()
    chunks = _frame(tables, "chunks", pl.col("qp").is_in(qps), pl.col("completed_ps").is_not_null())
    return {(str(node), int(port)): _occupancy(rows, chunks) for (node, port), rows in of_link.items()}


def _occupancy(paths: pl.DataFrame, chunks: pl.DataFrame) -> Occupancy:
    import polars as pl

    names = _names(paths)
    most_at_once, at_once, shared_ps = _at_once(chunks.filter(pl.col("qp").is_in(list(names))))
    flows = tuple(_counted([names[qp] for qp in sorted(names)]))
    return Occupancy(
        flows, len(names), most_at_once, tuple(_counted([names[qp] for qp in at_once])), shared_ps
    )


def _frame(tables: Tables, table: str, *filters: pl.Expr) -> pl.DataFrame:
    import polars as pl

    columns = {
        "paths": ["qp", "job", "src_rank", "dst_rank", "hop", "node", "port"],
        "chunks": ["qp", "start_ps", "completed_ps"],
    }[table]
    parts = [pl.DataFrame(batch).filter(*filters) for batch in tables.batches(table, columns)]
    return pl.concat(parts) if parts else pl.DataFrame(schema=columns)


def _names(paths: pl.DataFrame) -> dict[int, str]:
    """Return the ranks of each queue pair as text."""
    several = paths["job"].n_unique() > 1
    rows = paths.select("qp", "job", "src_rank", "dst_rank").iter_rows()
    return {qp: f"{job} " * several + f"rank {source} to {target}" for qp, job, source, target in rows}


def _counted(flows: Sequence[str]) -> list[str]:
    counts = Counter(flows)
    return [flow if count == 1 else f"{flow} ({count} queue pairs)" for flow, count in counts.items()]


def _at_once(chunks: pl.DataFrame) -> tuple[int, list[int], int]:
    """Return the most chunks at one time, their queue pairs, and for how long there were two or more."""
    import polars as pl

    if chunks.is_empty():
        return 0, [], 0
    starts = chunks.select("qp", time_ps="start_ps", change=pl.lit(1))
    ends = chunks.select("qp", time_ps="completed_ps", change=pl.lit(-1))
    events = pl.concat([starts, ends]).sort("time_ps", "change", "qp")  # at equal times, ends first
    running = events["change"].cum_sum()
    most_at_once = int(str(running.max()))
    until_most = events.head(int(str(running.arg_max())) + 1)
    in_flight = until_most.group_by("qp").agg(pl.col("change").sum()).sort("qp")
    at_once = [qp for qp, count in in_flight.iter_rows() for _ in range(count)]
    spans = events["time_ps"].diff().shift(-1)
    return most_at_once, at_once, int(spans.filter(running > 1).sum())


@dataclass(frozen=True)
class PairPlacement:
    """Queue pairs of other jobs on the links of one ordered rank pair of a job.

    Attributes:
        src_rank: Sending rank.
        dst_rank: Receiving rank.
        met: For each of its queue pairs, in order, the number of queue pairs of other jobs on the link with
            the most of them.
    """

    src_rank: int
    dst_rank: int
    met: tuple[int, ...]

    @property
    def text(self) -> str:
        """Text in the format of an egress distribution: `1>2: 0+2+1`."""
        return f"{self.src_rank}>{self.dst_rank}: {'+'.join(map(str, self.met))}"


@dataclass(frozen=True)
class Placement:
    """Overlap of a job's paths with those of the other jobs of the run.

    Attributes:
        pairs: The rank pairs whose data crosses links between switches.
        overlap_fractions: Fractions of the time of its chunks on such links with no, one, two, three or more
            chunks of other jobs on the same link.
    """

    pairs: tuple[PairPlacement, ...]
    overlap_fractions: tuple[float, ...]

    @property
    def mean_overlap(self) -> float:
        """Mean number of chunks of other jobs on the link of one of its own, three at most."""
        return sum(number * fraction for number, fraction in enumerate(self.overlap_fractions))


def placements(tables: Tables) -> dict[str, Placement]:
    """Return the overlap of each job's paths; empty if queue pairs have no fixed path."""
    import polars as pl

    paths = _frame(tables, "paths")
    if paths.is_empty():
        return {}
    link = ["node", "port"]
    on_link = paths.with_columns(
        (pl.len().over(link) - pl.len().over([*link, "job"])).cast(pl.Int64).alias("others")
    )
    met = (
        on_link.group_by("job", "src_rank", "dst_rank", "qp")
        .agg(pl.col("others").max())
        .sort("job", "src_rank", "dst_rank", "qp")
        .group_by("job", "src_rank", "dst_rank", maintain_order=True)
        .agg("others")
    )
    times = _overlap_fractions(tables, on_link.filter(pl.col("others") > 0), paths)
    pairs_by_job: dict[str, list[PairPlacement]] = {}
    for job, source, target, others in met.iter_rows():
        pairs_by_job.setdefault(job, []).append(PairPlacement(source, target, tuple(others)))
    return {job: Placement(tuple(pairs), times[job]) for job, pairs in pairs_by_job.items()}


def _overlap_fractions(
    tables: Tables, shared: pl.DataFrame, paths: pl.DataFrame
) -> dict[str, tuple[float, ...]]:
    """Return for each job the fractions of time with no, one, two, three or more others on a link."""
    import polars as pl

    has_path = pl.col("qp").is_in(paths["qp"].unique().to_list())
    chunks = _frame(tables, "chunks", has_path, pl.col("completed_ps").is_not_null())
    spans = (pl.col("completed_ps") - pl.col("start_ps")).sum()
    first = paths.filter(pl.col("hop") == 0)
    totals = dict(first.join(chunks, on="qp").group_by("job").agg(spans).iter_rows())
    # Only the first link of a queue pair is inspected: sharing only a later one is rare and happens late.
    time_by_others = {job: [0.0] * (MAX_AT_ONCE + 1) for job in paths["job"].unique()}
    on_links = shared.filter(pl.col("hop") == 0).join(chunks, on="qp")
    for _, rows in on_links.group_by("node", "port"):
        _add_link(time_by_others, rows.select("job", "start_ps", "completed_ps").rows())
    for job, times in time_by_others.items():
        times[0] = max(0.0, totals.get(job, 0) - sum(times[1:]))
    return {
        job: tuple(time / total if (total := sum(times)) else 0.0 for time in times)
        for job, times in time_by_others.items()
    }


def _add_link(time_by_others: dict[str, list[float]], chunks: Sequence[tuple[str, int, int]]) -> None:
    """Add for each job the time of its chunks on one link, by the number of chunks of others."""
    events = sorted(
        [(end, -1, job) for job, _, end in chunks] + [(start, 1, job) for job, start, _ in chunks]
    )
    running: Counter[str] = Counter()
    last = 0
    for time_ps, change, job in events:
        total = sum(running.values())
        for own, count in running.items():
            others = min(total - count, MAX_AT_ONCE)
            if count and others:
                time_by_others[own][others] += count * (time_ps - last)
        last = time_ps
        running[job] += change
