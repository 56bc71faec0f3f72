"""Runs in a real workspace, their records made of synthetic tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tests.report import synthetic
from tests.support.samples import job_spec

from fabricbench.plan._run_spec import SCHEMA_VERSION
from fabricbench.results.job_reports import result_rows
from fabricbench.store import Trial, TrialFacts, Workspace
from fabricbench.store.record.earlier_versions import OF_THE_SIMULATOR

SOURCE = "Test methodology of a vendor, table 2."
PLAN = "fabricbench: 1\nname: jct-alltoall\n"


def run_spec(ranks: int, data_bytes: int, collective: str, **job: Any) -> dict[str, Any]:
    link = {"rate_bps": synthetic.RATE_BPS, "cable": {"delay_ps": 15_000}}
    algorithm = "parallel" if collective == "all-to-all" else "ring"
    pattern: dict[str, Any] = {"collective": collective, "algorithm": algorithm, "data_bytes": data_bytes}
    return {
        "schema_version": SCHEMA_VERSION,
        "seed": 7,
        "fabric": {"topology": {"kind": "leaf-spine", "host_link": link, "fabric_link": link}},
        "transport": {"mtu_bytes": 4096},
        "jobs": [job_spec(hosts=range(ranks), **(pattern | job))],
    }


def store_run(  # noqa: PLR0913 -- one for each way in which runs differ
    folder: Path,
    *,
    sizes: Sequence[int],
    ranks: int = 8,
    shape: tuple[int, int, int] = (2, 4, 4),
    collective: str = "all-to-all",
    changes: Mapping[str, Any] | None = None,
    broken: bool = False,
    samples: int = 100,
    evil_name: str = "",
    job: Mapping[str, Any] | None = None,
) -> list[Trial]:
    """Store one trial for each data size and return them as a run.

    Args:
        folder: Where the workspace is made.
        sizes: Data sizes [bytes].
        ranks: Ranks of the one job.
        shape: Leaves, hosts of a leaf, spines.
        collective: `all-to-all` or `all-reduce` (ring).
        changes: Other values for fields of TrialFacts, such as a title.
        broken: The last chunk of each trial never completes.
        samples: Points of a sampled series; 0 for none.
        evil_name: Name of the first spine, if it is not to be `spine0`.
        job: Other fields of the job and its work, as for `job_spec`.
    """
    workspace = Workspace.open(folder, create=True)
    for position, size in enumerate(sizes):
        spec = run_spec(ranks, size, collective, **(job or {}))
        facts = _facts(position, size, spec, dict(changes or {}))
        make = synthetic.all_to_all_chunks if collective == "all-to-all" else synthetic.ring_chunks
        chunks = make(ranks, size)
        if spec["jobs"][0]["work"]["kind"] == "open-loop":
            chunks = chunks.with_columns(unloaded_ps=pl.col("fct_ps") // 2)
        _store(workspace, facts, chunks, shape, broken=broken, samples=samples, evil_name=evil_name)
    return workspace.suite(workspace.find("latest"))


def store_variants(folder: Path, names: Sequence[str], *, sizes: Sequence[int]) -> list[Trial]:
    """Store a trial for each data size and variant, each variant slower than the one before, as one run.

    Args:
        folder: Where the workspace is made.
        names: The variants; the first is the reference.
        sizes: Data sizes [bytes].
    """
    workspace = Workspace.open(folder, create=True)
    for position, (size, slower) in enumerate((size, each) for size in sizes for each in range(len(names))):
        changes = {"variant": names[slower], "reference": names[0], "published": None}
        facts = _facts(position, size, run_spec(8, size, "all-to-all") | {"seed": slower}, changes)
        chunks = synthetic.all_to_all_chunks(8, size)
        end_ps = int(str(chunks["completed_ps"].max()))
        late = chunks.with_columns(pl.col("completed_ps", "fct_ps") + slower * end_ps // 10)
        _store(workspace, facts, late, (2, 4, 4), broken=False, samples=100, evil_name="")
    return workspace.suite(workspace.find("latest"))


def _facts(position: int, size: int, spec: dict[str, Any], changes: dict[str, Any]) -> TrialFacts:
    values = {"completion_time_ms": 0.3, "busbw_gb_per_s": 46.9, "ideal_percent": 95.68}
    values |= {"min_fct_ms": 0.3, "p50_fct_ms": 0.31}
    known: dict[str, Any] = {
        "id": f"{position:012x}",
        "plan": "jct-alltoall",
        "title": "All-to-all completion time",
        "plan_source": PLAN,
        "overrides": (),
        "suite": "a" * 12,
        "position": position,
        "variant": "base",
        "iteration": 0,
        "data_size_bytes": size,
        "size_kind": "data",
        "tag": "",
        "run_spec": spec,
        "published": {"table": "jct2.csv", "source": SOURCE, "values": values} if position == 0 else None,
        "criteria": (),
        "backend": "sim",
        "backend_version": "1",
        "engine_version": "0.1.0",
        "observed": OF_THE_SIMULATOR,
    }
    return TrialFacts(**(known | changes))


def _store(
    workspace: Workspace,
    facts: TrialFacts,
    chunks: pl.DataFrame,
    shape: tuple[int, int, int],
    *,
    broken: bool,
    samples: int,
    evil_name: str,
) -> None:
    end_ps = int(str(chunks["completed_ps"].max()))
    if broken:
        chunks = _without_the_last(chunks)
    links = synthetic.leaf_spine_links(*shape, end_ps)
    if evil_name:
        links = links.with_columns(pl.col("from", "to").replace({"spine0": evil_name}))
    tables = {
        "chunks": chunks,
        "ports": synthetic.ports_of(links),
        "links": links,
        "series": synthetic.series_of(links, end_ps, samples, 64 if samples else 0),
        "events": synthetic.no_events(),
    }
    summary = _summary(chunks, end_ps, broken=broken)
    with workspace.begin(facts, {"host": "lab1", "cpus": 2}) as writer:
        for name, table in tables.items():
            for batch in table.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches():
                writer.write(name, batch)
        record = writer.close()
        writer.finish(summary, _engine(), result_rows(facts, summary, record))


def _without_the_last(chunks: pl.DataFrame) -> pl.DataFrame:
    last = pl.int_range(pl.len()) == pl.len() - 1
    lost = {name: pl.when(last).then(None).otherwise(pl.col(name)) for name in ("completed_ps", "fct_ps")}
    return chunks.with_columns(
        **lost, status=pl.when(last).then(pl.lit("failed")).otherwise(pl.col("status"))
    )


def _summary(chunks: pl.DataFrame, end_ps: int, *, broken: bool) -> dict[str, Any]:
    status = "incomplete" if broken else "complete"
    job = {
        "name": "test",
        "status": status,
        "start_ps": 0,
        "end_ps": None if broken else end_ps,
        "rounds": int(not broken),
        "chunks": chunks.height,
        "chunks_complete": chunks.height - broken,
        "chunks_failed": int(broken),
        "reason": "1 chunk failed: rank 7 to rank 3" if broken else "",
    }
    frames = int(chunks["tx_frames"].sum())
    return {
        "status": status,
        "end_ps": end_ps,
        "jobs": [job],
        "frames_sent": frames,
        "frames_delivered": frames,
        "frames_lost": {"buffer_full": 0},
        "frames_in_flight": 0,
        "window_ps": 100_000,
    }


def _engine() -> dict[str, Any]:
    return {
        "packet_hops": 12_345_678,
        "events": 456_789,
        "fast_windows": 12_000,
        "exact_windows": 34,
        "fast_forward_ps": 0,
        "wall_s": 1.25,
        "cpu_s": 1.2,
        "peak_rss_bytes": 123_456_789,
        "threads": 1,
    }
