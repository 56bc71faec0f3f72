"""The trace for Perfetto against the Trace Event Format and the table that it is made of."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

import fabricbench as fb
from fabricbench.report.output.perfetto import Chosen, TooManyChunksError, write_trace
from fabricbench.store import Trial, Workspace

PLAN = """\
fabricbench: 1
name: two
fabric: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 1}}
jobs:
  - {name: spread, ranks: "0-3", collective: all-to-all}
  - {name: ring, ranks: "4-7", collective: all-reduce, data_size: 256KB}
sweep: {data_size: 1MB}
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "two.yaml").write_text(PLAN)
    fb.run(fb.load(folder / "two.yaml"), workspace=folder / "lab")
    return Workspace.open(folder / "lab").find("latest")


def trace(trial: Trial, chosen: Chosen | None = None) -> dict[str, Any]:
    stream = io.BytesIO()
    write_trace(trial, chosen or Chosen(), stream)
    content: dict[str, Any] = json.loads(stream.getvalue(), parse_float=Decimal)
    return content


def slices(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in content["traceEvents"] if event["ph"] == "X"]


def test_each_chunk_is_a_slice_of_its_time_to_the_picosecond(trial: Trial) -> None:
    rows = trial.tables.table("chunks").to_pylist()
    expected = sorted((row["start_ps"], row["completed_ps"] - row["start_ps"]) for row in rows)
    found = sorted((int(each["ts"] * 10**6), int(each["dur"] * 10**6)) for each in slices(trace(trial)))
    assert found == expected
    assert len(expected) > 20


def test_slices_of_a_thread_do_not_overlap_and_each_has_a_name(trial: Trial) -> None:
    content = trace(trial)
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in content["traceEvents"]
        if event["name"] == "thread_name"
    }
    of_thread = defaultdict(list)
    for each in slices(content):
        of_thread[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    assert of_thread.keys() == names.keys()
    for spans in of_thread.values():
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    jobs = {e["args"]["name"] for e in content["traceEvents"] if e["name"] == "process_name"}
    assert jobs == {"fabric", "job spread", "job ring"}
    assert {"rank 0 sends", "rank 0 sends, 2 at once"} <= set(names.values())


def test_counters_are_the_samples(trial: Trial) -> None:
    counters = [event for event in trace(trial)["traceEvents"] if event["ph"] == "C"]
    assert len(counters) == trial.tables.table("series").num_rows > 0
    assert sum(sum(each["args"].values()) for each in counters) == sum(
        trial.tables.table("series")["value"].to_pylist()
    )


def test_ranks_and_jobs_are_chosen(trial: Trial) -> None:
    of_ring = slices(trace(trial, Chosen(jobs={"ring"})))
    assert len(of_ring) == sum(row["job"] == "ring" for row in trial.tables.table("chunks").to_pylist())
    of_rank = slices(trace(trial, Chosen(jobs={"spread"}, ranks={2})))
    assert len(of_rank) == 6, "three that it sends, three that it receives"


def test_too_many_are_refused_before_anything_is_written(trial: Trial) -> None:
    stream = io.BytesIO()
    with pytest.raises(TooManyChunksError):
        write_trace(trial, Chosen(), stream, chunks_max=10)
    assert stream.getvalue() == b""
