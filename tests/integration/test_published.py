"""The shipped plans against the published tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.real import jobs_of, run_apart, run_plan

from fabricbench.results.job_reports import JobReport

MIB = 1 << 20


def deviation_percent(job: JobReport, metric: str) -> float:
    found = {deviation.metric: deviation.deviation_percent for deviation in job.deviations}[metric]
    assert found is not None
    return found


def test_all_to_all_fills_as_much_of_the_ports_as_published(tmp_path: Path) -> None:
    jobs = jobs_of(run_plan(tmp_path, "jct-alltoall", "sweep.data_size=[256MB,512MB,1GB,2GB]"))
    assert [job.summary.data_size_bytes for job in jobs] == [256 * MIB, 512 * MIB, 1024 * MIB, 2048 * MIB]
    for job in jobs:
        published = {deviation.metric: deviation.published for deviation in job.deviations}
        assert job.summary.value("ideal_percent") == pytest.approx(published["ideal_percent"], abs=0.5)


def test_all_to_all_of_8_gb_runs_in_bounded_memory(tmp_path: Path) -> None:
    trial = run_apart(tmp_path, "jct-alltoall", "sweep.data_size=8GB")[0]
    assert trial.engine["peak_rss_bytes"] < 1 << 30
    assert trial.engine["packet_hops"] > 4 * 8 * 7 * (8 << 30) // 64 // 4096
    job = jobs_of([trial])[0]
    published = {deviation.metric: deviation.published for deviation in job.deviations}
    assert job.summary.value("ideal_percent") == pytest.approx(published["ideal_percent"], abs=0.5)


def test_all_reduce_ring_has_the_published_minimum_fct(tmp_path: Path) -> None:
    jobs = jobs_of(
        run_plan(tmp_path, "jct-allreduce-ring", "sweep.data_size=[64MB,128MB,256MB,512MB,1GB,2GB]")
    )
    assert len(jobs) == 6
    for job in jobs:
        assert abs(deviation_percent(job, "fct_ms_min")) < 1


@pytest.mark.slow
def test_all_reduce_of_200_gb_has_the_published_median_fct(tmp_path: Path) -> None:
    job = jobs_of(run_plan(tmp_path, "jct-allreduce-200gb"))[0]
    assert abs(deviation_percent(job, "fct_ms_p50")) < 1


def test_a_chunk_of_2_mib_is_512_frames(tmp_path: Path) -> None:
    trial = run_plan(tmp_path, "jct-alltoall", "sweep.data_size=16MB")[0]
    chunks = trial.tables.table("chunks")
    assert chunks.num_rows == 56
    for column, value in (
        ("payload_bytes", 2 * MIB),
        ("tx_frames", 512),
        ("tx_bytes", 2_129_152),
        ("frames_delta", 0),
    ):
        assert set(chunks[column].to_pylist()) == {value}
    assert chunks["rx_bytes"].to_pylist() == chunks["tx_bytes"].to_pylist()
