"""What is told of a trial while it runs, and that it agrees with the record."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import fabricbench as fb


def congested() -> fb.Plan:
    plan = fb.load("cc-alltoall-pfc-ecn").with_(data_size="1MB")
    return plan.with_({"observe.series_interval": "4us", "observe.series_ports": 1000})


def watched(plan: fb.Plan, root: Path, threads: int) -> tuple[list[fb.Sample], fb.Trials]:
    seen: list[fb.Progress] = []
    run = fb.run(plan, workspace=root, on_progress=seen.append, threads=threads)
    return [sample for progress in seen for sample in progress.samples], run


@pytest.mark.parametrize("threads", [1, 2])
def test_samples_agree_with_the_record(tmp_path: Path, threads: int) -> None:
    samples, run = watched(congested(), tmp_path, threads)
    queues = (
        run.series.filter(pl.col("metric") == "queue_bytes").group_by("time_ps").agg(pl.col("value").max())
    )
    recorded = {time_ps: value for time_ps, value in queues.iter_rows() if time_ps > 0}
    assert recorded == {sample.simulated_ps: sample.queue_max_bytes for sample in samples}
    assert max(recorded.values()) > 0
    assert all(one.simulated_ps + two.span_ps == two.simulated_ps for one, two in pairwise(samples))
    end_ps = (run[0].stored.summary or {})["end_ps"]
    assert 0 < max(sample.goodput_gb_per_s for sample in samples) <= 8 * 50
    assert sum(sample.span_ps for sample in samples) <= end_ps
    assert sum(sample.marked_frames or 0 for sample in samples) <= run.ports["ecn_marked"].sum()


def test_the_deepest_queue_is_that_of_all_ports_however_few_are_sampled(tmp_path: Path) -> None:
    def deepest(samples: list[fb.Sample]) -> list[int | None]:
        return [sample.queue_max_bytes for sample in samples]

    def recorded(run: fb.Trials, metric: str, *, node: str | None = None) -> list[int]:
        rows = run.series.filter(pl.col("metric") == metric)
        rows = rows if node is None else rows.filter(pl.col("node") == node)
        by_time = rows.group_by("time_ps").agg(pl.col("value").max()).sort("time_ps")
        return by_time.filter(pl.col("time_ps") > 0)["value"].to_list()

    all_samples, all_run = watched(congested(), tmp_path / "all", 1)
    samples, run = watched(congested().with_({"observe.series_ports": 1}), tmp_path / "one", 2)
    assert deepest(samples) == deepest(all_samples) == recorded(run, "queue_max_bytes", node="fabric")
    assert deepest(all_samples) == recorded(all_run, "queue_bytes")
    assert max(recorded(run, "queue_bytes")) < max(recorded(all_run, "queue_bytes"))


def test_a_plan_without_sampled_ports_has_goodput_alone(tmp_path: Path) -> None:
    samples, _ = watched(congested().with_({"observe.series_ports": 0}), tmp_path, 1)
    assert {sample.queue_max_bytes for sample in samples} == {None}
    assert {sample.paused_mean for sample in samples} == {None}
    assert sum(sample.delivered_bytes for sample in samples) > 0


def test_they_come_while_the_trial_runs(tmp_path: Path) -> None:
    class SeenError(Exception):
        pass

    def stop(progress: fb.Progress) -> None:
        if any(sample.queue_max_bytes for sample in progress.samples):
            assert progress.trial_share < 0.5
            raise SeenError

    endless = (
        congested()
        .with_(data_size="16GB")
        .with_({"transport.mtu": 256, "fabric.load_balancing": "spray-random"})
    )
    with pytest.raises(SeenError):
        fb.run(endless, workspace=tmp_path, on_progress=stop, threads=1, force=True)
