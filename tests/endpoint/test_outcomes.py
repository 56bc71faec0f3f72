"""What became of jobs, from the rows of their chunks alone: as the simulator itself accounts of that run."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from tests.endpoint.test_host_run import JOB, spec_of_jobs
from tests.support.samples import job_spec

from fabricbench import _core
from fabricbench.backend.job_outcomes import run_summary

TAKEN = ("status", "start_ps", "end_ps", "rounds", "warm_up_rounds", "round_times")
TAKEN_OF_CHUNKS = ("chunks", "chunks_complete", "chunks_failed", "reason")


def simulated(spec_json: str) -> tuple[dict[str, Any], pa.Table]:
    """Return what the simulator says of a run, and its chunks."""
    batches: list[pa.RecordBatch] = []

    def take(table: str, batch: pa.RecordBatch) -> None:
        if table == "chunks":
            batches.append(batch)

    told: Any = _core.run(spec_json, on_progress=None, on_batch=take)
    return told, pa.Table.from_batches(batches)


rounds = st.integers(1, 5).flatmap(
    lambda repeat: st.fixed_dictionaries(
        {"repeat": st.just(repeat)},
        optional={"warm_up_rounds": st.integers(0, repeat - 1), "barrier": st.booleans()},
    )
)
ways = st.sampled_from(
    [
        {"collective": "all-to-all", "algorithm": "parallel"},
        {"collective": "all-reduce", "algorithm": "ring"},
        {"collective": "incast", "algorithm": "parallel"},
        {"collective": "gather", "algorithm": "tree"},
    ]
)
jobs = st.tuples(rounds, ways, st.sampled_from(["0s", "30us"]), st.sampled_from(["1KB", "64KB", "1MB"]))


@settings(max_examples=40, deadline=None)
@given(first=jobs, other=st.none() | jobs)
def test_rounds_and_jobs_are_those_of_the_simulators_account(first: Any, other: Any) -> None:
    made = []
    for ranks, job in (("0-3", first), ("4-7", other)):
        if job:
            repeat, way, start, size = job
            made.append(JOB | repeat | way | {"start": start, "data_size": size, "ranks": ranks})
    spec_json = spec_of_jobs(*made, hosts=8)
    theirs, chunks = simulated(spec_json)
    ours = run_summary(json.loads(spec_json), chunks, "")
    assert (ours["status"], ours["end_ps"]) == (theirs["status"], theirs["end_ps"])
    for job, mine, its in zip(made, ours["jobs"], theirs["jobs"], strict=True):
        told = [*TAKEN, *TAKEN_OF_CHUNKS, *(() if job.get("barrier") else ("rank_times",))]
        if job.get("barrier") and job["algorithm"] == "tree":
            # The first to leave the barrier may have nothing to send, and no row tells when that was.
            told.remove("round_times")
            times = mine["round_times"] or {}
            assert times.keys() == its["round_times"].keys()
            assert all(times[each] <= its["round_times"][each] for each in times)
        assert {name: mine.get(name) for name in told} == {name: its[name] for name in told}


def test_a_job_that_others_end_is_complete_however_far_it_came() -> None:
    spec_json = spec_of_jobs(
        JOB | {"repeat": 3}, JOB | {"ranks": "4-7", "repeat": "until-others-end"}, hosts=8
    )
    theirs, chunks = simulated(spec_json)
    (_, mine), (_, its) = run_summary(json.loads(spec_json), chunks, "")["jobs"], theirs["jobs"]
    assert {name: mine[name] for name in TAKEN} == {name: its[name] for name in TAKEN}  # type: ignore[literal-required]


def row(number: int, rank: int, end_ps: int, status: str = "complete") -> dict[str, Any]:
    done = end_ps if status == "complete" else None
    return {
        "job": "job0",
        "status": status,
        "round": number,
        "start_ps": max(end_ps - 5, 0),
        "delivered_ps": done,
        "completed_ps": done,
        "src_rank": rank,
        "dst_rank": (rank + 1) % 2,
        "step": 0,
        "qp": rank,
    }


def outcome(rows: list[dict[str, Any]], why: str = "", **changed: Any) -> dict[str, Any]:
    spec = job_spec("job0", **changed)
    (job,) = run_summary({"jobs": [spec]}, pa.Table.from_pylist(rows), why)["jobs"]
    return dict(job)


@pytest.mark.parametrize("warm_up", [0, 1, 3])
def test_rounds_of_equal_length_take_that_each(warm_up: int) -> None:
    rows = [row(number, rank, 100 * (number + 1)) for number in range(5) for rank in (0, 1)]
    told = outcome(rows, warm_up_rounds=warm_up)
    counted = 5 - warm_up
    assert (told["rounds"], told["warm_up_rounds"], told["end_ps"]) == (counted, warm_up, 500)
    assert told["round_times"] == {"sum_ps": 100 * counted, "min_ps": 100, "max_ps": 100}
    assert told["rank_times"] == {"min_ps": 100, "mean_ps": 100, "max_ps": 100}


def test_between_barriers_a_round_begins_with_its_first_chunk() -> None:
    rows = [row(number, rank, 100 * (number + 1)) for number in range(3) for rank in (0, 1)]
    told = outcome(rows, barrier=True)
    # Chunks of 5 ps, but for the first round, which begins with the job.
    assert told["round_times"] == {"sum_ps": 110, "min_ps": 5, "max_ps": 100}
    assert told["rank_times"] is None


@pytest.mark.parametrize(("status", "words"), [("failed", "1 of 6 chunks failed"), ("unfinished", "never")])
def test_rounds_before_the_first_that_is_not_complete_count(status: str, words: str) -> None:
    rows = [row(number, rank, 100 * (number + 1)) for number in range(2) for rank in (0, 1)]
    rows += [row(2, 0, 250, status), row(2, 1, 300)]
    told = outcome(rows, why="nothing was delivered for 30 s")
    assert (told["status"], told["rounds"], told["end_ps"]) == ("incomplete", 2, None)
    assert told["round_times"] == {"sum_ps": 200, "min_ps": 100, "max_ps": 100}
    assert words in told["reason"]
    assert "first: rank 0 to rank 1, step 0, queue pair 0; nothing was delivered for 30 s" in told["reason"]
    assert outcome(rows[:4] + rows[5:], repeat={"kind": "until-others-end"})["status"] == "complete"
