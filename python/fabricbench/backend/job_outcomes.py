"""Computes the outcome of each job from the rows of its chunks, for backends whose engine does not report it.

A chunk is the part of a collective's data that one rank sends to another in one transfer. A round is complete
when all of its chunks are. In back-to-back rounds, a rank ends a round when all that it sends is acknowledged
and all that it receives has arrived. With a barrier between rounds, a round begins with its first posted
chunk: the times of single ranks are then unknown, and a round appears shorter if the first rank to continue
has nothing to send.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.backend.protocol import JobSummary, RunSummary
from fabricbench.work import collective_of

if TYPE_CHECKING:
    import pyarrow as pa


COMPLETE = "complete"
INCOMPLETE = "incomplete"


def run_summary(
    run_spec: Mapping[str, Any],
    chunks: pa.Table,
    why: str,
    wrong: Mapping[str, int] | None = None,
    messages: Mapping[int, dict[str, int]] | None = None,
) -> RunSummary:
    """Return the summary of a run.

    Args:
        run_spec: The RunSpec.
        chunks: All rows of the table `chunks`.
        why: Reason why the run ended early; empty if it did not.
        wrong: Received bytes that differ from those sent, by host: any of them makes all jobs incomplete.
        messages: Messages `sent` and `received` on unreliable connections, by number of the job.
    """
    jobs = [_job_summary(job, _rows_of(chunks, job["name"]), why) for job in run_spec["jobs"]]
    for number, counts in (messages or {}).items():
        jobs[number]["messages"] = counts
        if jobs[number]["status"] != COMPLETE:
            lost = counts["sent"] - counts["received"]
            reason = f"{lost} of {counts['sent']} messages lost; {jobs[number]['reason']}"
            jobs[number]["reason"] = reason
    if wrong:
        reason = wrong_bytes_text(wrong)
        for job in jobs:
            job |= {"status": INCOMPLETE, "end_ps": None, "rank_times": None}
            job["reason"] = f"{reason}; {job['reason']}" if job["reason"] else reason
    is_complete = all(job["status"] == COMPLETE for job in jobs)
    ends = [*chunks["completed_ps"].drop_null().to_pylist(), *chunks["delivered_ps"].drop_null().to_pylist()]
    return {
        "status": COMPLETE if is_complete else INCOMPLETE,
        "end_ps": max(ends, default=0),
        "jobs": jobs,
    }


def wrong_bytes_text(wrong: Mapping[str, int]) -> str:
    """Return a message with the number of corrupted bytes at each host."""
    return f"wrong bytes arrived: {', '.join(f'{count:,} at {host}' for host, count in wrong.items())}"


def _rows_of(chunks: pa.Table, job: str) -> pa.Table:
    import pyarrow.compute as pc

    return chunks.filter(pc.equal(chunks["job"], job))


def _job_summary(job: Mapping[str, Any], rows: pa.Table, cause: str) -> JobSummary:
    statuses: Mapping[str, int] = {
        count["values"]: count["counts"] for count in rows["status"].value_counts().to_pylist()
    }
    complete, failed = statuses.get("complete", 0), statuses.get("failed", 0)
    is_endless = job["repeat"]["kind"] == "until-others-end"
    # Chunks cut off at the end are no failure of a job that runs until the others end.
    is_complete = not failed if is_endless else complete == rows.num_rows
    rounds = _Rounds(job, rows)
    summary: JobSummary = {
        "name": job["name"],
        "status": COMPLETE if is_complete else INCOMPLETE,
        "start_ps": job["start_ps"],
        "end_ps": rounds.end_ps if is_complete and rounds.counted else None,
        "rounds": rounds.counted,
        "warm_up_rounds": rounds.count - rounds.counted,
        "round_times": rounds.times(),
        "rank_times": rounds.rank_times() if is_complete else None,
        "chunks": rows.num_rows,
        "chunks_complete": complete,
        "chunks_failed": failed,
        "reason": "" if is_complete else _reason(rows, failed, complete, cause),
    }
    if sizes := rounds.size_times():
        summary["size_times"] = sizes
    return summary


def _reason(rows: pa.Table, failed: int, complete: int, cause: str) -> str:
    """Return why a job is incomplete, with the first chunk concerned."""
    import pyarrow.compute as pc

    waiting = rows.num_rows - complete - failed
    counts_text = f"{failed} of {rows.num_rows} chunks failed and {waiting} never completed"
    if not failed:
        counts_text = f"{waiting} of {rows.num_rows} chunks never completed"
    status = "failed" if failed else "unfinished"
    first_rows = rows.filter(pc.equal(rows["status"], status)).slice(0, 1).to_pylist()
    first_text = [
        f"first: rank {row['src_rank']} to rank {row['dst_rank']}, step {row['step']}, queue pair {row['qp']}"
        for row in first_rows
    ]
    return "; ".join([counts_text, *first_text, *([cause] if cause else [])])


class _Rounds:
    """The complete rounds of a job, including warm-up rounds.

    Attributes:
        count: Number of rounds before the first incomplete one.
        counted: Number of these rounds that are not warm-up rounds.
        end_ps: Time when the last chunk of the last of these rounds was acknowledged.
    """

    def __init__(self, job: Mapping[str, Any], rows: pa.Table) -> None:
        self._work = collective_of(job)
        self._has_barriers = self._work.get("barrier", False)
        self._start_ps = job["start_ps"]
        self.count = _complete_rounds(rows)
        self._warm_up = min(self._work.get("warm_up_rounds", 0), self.count)
        self.counted = self.count - self._warm_up
        self._begins, self._ends = _extent(rows)
        self.end_ps = max((self._ends[number] for number in range(self.count)), default=0)
        self._rank_ends = {} if self._has_barriers else _rank_ends(rows)

    def times(self) -> dict[str, int] | None:
        """Return the total, shortest and longest time of the counted rounds."""
        durations = self._took()
        if not durations:
            return None
        round_times = {"sum_ps": sum(durations), "min_ps": min(durations), "max_ps": max(durations)}
        if not self._has_barriers:
            # Some ranks may still be in the last warm-up round when others begin the first counted round.
            slowest = max(sum(times) for times in self._of_ranks()) if self._warm_up else None
            round_times["sum_ps"] = self.end_ps - self._start_ps if slowest is None else slowest
        return round_times

    def size_times(self) -> list[dict[str, int]]:
        """Return the same by data size, for jobs with several sizes; the slowest rank sets a round's time."""
        cycle = self._work.get("round_bytes", ())
        sizes: dict[int, list[int]] = defaultdict(list)
        for number, duration in enumerate(self._took() if cycle else (), self._warm_up):
            sizes[cycle[number % len(cycle)]].append(duration)
        return [
            {
                "data_bytes": size,
                "rounds": len(times),
                "sum_ps": sum(times),
                "min_ps": min(times),
                "max_ps": max(times),
            }
            for size, times in sizes.items()
        ]

    def _took(self) -> list[int]:
        """Return the time of each counted round."""
        if self._has_barriers:
            return [self._ends[number] - self._begin(number) for number in range(self._warm_up, self.count)]
        if self.count == 1:
            return [self.end_ps - self._start_ps][: self.counted]
        times_by_rank = self._of_ranks()
        return [max(times[number] for times in times_by_rank) for number in range(self.counted)]

    def _begin(self, number: int) -> int:
        return self._start_ps if number == 0 else self._begins[number]

    def rank_times(self) -> dict[str, int] | None:
        """Return the smallest, mean and largest of the ranks' mean round times."""
        if self._has_barriers or not self.counted or not self._rank_ends:
            return None
        means = [sum(times) // len(times) for times in self._of_ranks()]
        return {"min_ps": min(means), "mean_ps": sum(means) // len(means), "max_ps": max(means)}

    def _of_ranks(self) -> list[list[int]]:
        """Return the time of each counted round at each rank."""
        times_by_rank = []
        for ends in self._rank_ends.values():
            previous_end, times = self._start_ps, []
            for number in range(self.count):
                end = max(ends.get(number, previous_end), previous_end)
                times.append(end - previous_end)
                previous_end = end
            times_by_rank.append(times[self._warm_up :])
        return times_by_rank


def _complete_rounds(rows: pa.Table) -> int:
    """Return the number of complete rounds before the first incomplete one."""
    import pyarrow.compute as pc

    if not rows.num_rows:
        return 0
    open_rounds = rows.filter(pc.not_equal(rows["status"], "complete"))["round"]
    if len(open_rounds):
        return int(pc.min(open_rounds).as_py())
    return int(pc.max(rows["round"]).as_py()) + 1


def _extent(rows: pa.Table) -> tuple[dict[int, int], dict[int, int]]:
    """Return the start and the end of each round, each `None` if unknown."""
    grouped = rows.group_by("round").aggregate([("start_ps", "min"), ("completed_ps", "max")]).to_pylist()
    begins = {row["round"]: row["start_ps_min"] for row in grouped}
    return begins, {row["round"]: row["completed_ps_max"] for row in grouped}


def _rank_ends(rows: pa.Table) -> dict[int, dict[int, int]]:
    """Return the end of each round at each rank: all sent data acknowledged, all received data delivered."""
    ends: dict[int, dict[int, int]] = defaultdict(dict)
    for rank, time in (("src_rank", "completed_ps"), ("dst_rank", "delivered_ps")):
        grouped: Sequence[Mapping[str, Any]] = (
            rows.group_by([rank, "round"]).aggregate([(time, "max")]).to_pylist()
        )
        for row in grouped:
            rank_ends = ends[row[rank]]
            rank_ends[row["round"]] = max(rank_ends.get(row["round"], 0), row[f"{time}_max"] or 0)
    return dict(ends)
