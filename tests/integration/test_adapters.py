"""The plans about adapters against what was measured: how much a port holds, and who loses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.samples import call

import fabricbench as fb

FRAME_BYTES, WIRE_BYTES = 4096 + 78, 4096 + 98


@pytest.mark.parametrize(("variant", "paced_gbps"), [("52.5-gbps", 52.5), ("55-gbps", 55), ("60-gbps", 60)])
def test_the_first_loss_comes_when_the_excess_has_filled_the_buffer(
    tmp_path: Path, variant: str, paced_gbps: float
) -> None:
    excess_gbps = 2 * paced_gbps - 100
    fill_ps = 5_200_000 * 8000 / excess_gbps
    changes = {"jobs.0.arrivals.duration": f"{round(1.2 * fill_ps)}ps"}
    trial = fb.run(fb.load("cx5-buffer").with_(changes), workspace=tmp_path, variants=[variant])[0]
    # Messages wait in the adapter: the first one that is lost left when those before it had.
    sent = (
        trial.frame("chunks")
        .sort("src_rank", "start_ps")
        .with_columns(place=pl.int_range(pl.len()).over("src_rank"))
    )
    first = int(str(sent.filter(pl.col("delivered_ps").is_null())["place"].min()))
    first_ps = first * WIRE_BYTES * 8000 / paced_gbps
    filled_bytes = first_ps * excess_gbps / 8000 * FRAME_BYTES / WIRE_BYTES
    assert 5.0e6 < filled_bytes < 5.4e6
    assert 5.0e6 < trial.summary["queue_max_bytes"][0] <= 5.2e6


def test_both_senders_lose_alike(tmp_path: Path) -> None:
    plan = fb.load("cx5-buffer").with_({"jobs.0.arrivals.duration": "15ms"})
    trial = fb.run(plan, workspace=tmp_path, variants=["60-gbps"])[0]
    lost = trial.frame("chunks").filter(pl.col("delivered_ps").is_null())
    each = lost.group_by("src_rank").len()["len"].to_list()
    assert len(each) == 2
    assert abs(each[0] - each[1]) / sum(each) < 0.02


def test_variants_of_other_sizes_have_a_report(tmp_path: Path) -> None:
    assert call("run", "cx5-incast", "--quick", cwd=tmp_path).returncode == 0
    finished = call("report", "latest", "-o", "report.html", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Variant two-to-one-512b" in text
