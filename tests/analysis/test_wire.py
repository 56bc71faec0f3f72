"""Goodput, wire rate, loss and shares of senders, worked out by hand from small runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fabricbench as fb

FRAME = 4096 + 62 + 20
"""Byte times of a full frame; the first of a message takes 16 more."""
FRAMES = 1000


def plan(ranks: str, **fabric: Any) -> dict[str, Any]:
    return {
        "fabricbench": 1,
        "name": "wire",
        "fabric": {"topology": {"kind": "single-switch", "hosts": 4, "host_link": "100Gbps"}, **fabric},
        "transport": {"qp_mode": "per_pair", "message_size": "1GB"},
        "jobs": [{"ranks": ranks, "collective": "incast", "data_size": FRAMES * 4096}],
    }


def metrics_of(plan: dict[str, Any], folder: Path) -> tuple[dict[str, Any], fb.Trial]:
    trial = fb.run(fb.load(plan), workspace=folder)[0]
    return trial.summary.row(0, named=True), trial


def test_a_lone_flow_fills_its_link(tmp_path: Path) -> None:
    found, trial = metrics_of(plan("1,0"), tmp_path)
    chunk = trial.frame("chunks").row(0, named=True)
    span_ps = chunk["delivered_ps"] - chunk["start_ps"]
    assert found["wire_gbps"] == pytest.approx((FRAMES * FRAME + 16) * 8000 / span_ps)
    assert 99 < found["wire_gbps"] < 100
    assert found["goodput_gbps"] == pytest.approx(FRAMES * 4096 * 8000 / chunk["completed_ps"])
    assert found["loss_percent"] == 0
    assert found["sender_share_percent_min"] == found["sender_share_percent_max"] == 100


def test_two_senders_share_a_port(tmp_path: Path) -> None:
    found, _ = metrics_of(plan("2,0,1"), tmp_path)
    assert found["sender_share_percent_min"] == pytest.approx(50, abs=0.1)
    assert found["sender_share_percent_min"] + found["sender_share_percent_max"] == pytest.approx(100)


def test_loss_is_what_was_sent_and_never_arrived(tmp_path: Path) -> None:
    lossy = plan("2,0,1", switch={"buffer": "64KB"})
    lossy["transport"]["recovery"] = "none"
    found, trial = metrics_of(lossy, tmp_path)
    lost = found["frames_lost"]
    assert lost > 900
    assert found["loss_percent"] == pytest.approx(100 * lost / (2 * FRAMES))
    assert trial.status == "incomplete"
    assert "goodput_gbps" not in found


@pytest.mark.parametrize("chunks", ["summary", "sample"])
def test_counts_of_chunks_tell_the_same_but_for_shares(tmp_path: Path, chunks: str) -> None:
    whole, _ = metrics_of(plan("2,0,1"), tmp_path)
    counted, _ = metrics_of(plan("2,0,1") | {"observe": {"chunks": chunks}}, tmp_path)
    for name in ("goodput_gbps", "wire_gbps", "loss_percent"):
        assert counted[name] == pytest.approx(whole[name])
    assert "sender_share_percent_min" not in counted


def test_one_message_at_a_time_follows_the_measured_adapter(tmp_path: Path) -> None:
    measured_gbps = {
        64: 0.13,
        256: 0.515,
        512: 1.015,
        1024: 1.955,
        2048: 3.71,
        4096: 7.04,
        8192: 12.965,
        16384: 21.95,
        32768: 33.485,
        65536: 49.63,
        131072: 65.93,
        262144: 79.23,
        524288: 87.355,
    }
    trials = fb.run(fb.load("cx5-message-size").with_({"jobs.0.repeat": 5}), workspace=tmp_path)
    found = dict(zip(trials.summary["data_size_bytes"], trials.summary["goodput_gbps"], strict=True))
    for size, gbps in measured_gbps.items():
        assert found[size] == pytest.approx(gbps, rel=0.06), size
        law = size / (4.48e-6 + size * 8 / 97.1e9) * 8e-9
        # Below 2 KB the fitted law is up to 13 % from the data that it was fitted to.
        assert size < 2048 or found[size] == pytest.approx(law, rel=0.06), size
