"""Measured trials over HTTP have what the command line has of them, and no figures that need chunks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.server.conftest import ClientOf
from tests.support.samples import call

import fabricbench as fb

SAMPLE = Path(__file__).parents[1] / "measured" / "samples" / "nccl_old.txt"


def test_a_measured_trial_is_listed_shown_and_drawn(tmp_path: Path, client_of: ClientOf) -> None:
    measured = fb.import_results(SAMPLE, workspace=tmp_path / "workspace")
    client = client_of(tmp_path / "workspace")
    listed = client.get("/api/v1/trials").json()
    assert (listed["total"], listed["trials"][0]["backend"]) == (4, "imported")
    path = f"/api/v1/trials/{measured[0].id}"
    shown = client.get(path).json()["shown"]
    assert shown["trials"][0]["frames_lost"] is None
    assert shown["trials"][0]["measured"]["benchmark"] == "all_gather_perf"
    assert [each["name"] for each in client.get(f"{path}/figures").json()["figures"]] == ["bandwidth"]
    assert client.get(f"{path}/figures/bandwidth").status_code == 200
    assert client.get(f"{path}/figures/timeline").status_code == 404
    ids = [measured[0].id, measured[1].id]
    assert client.get("/api/v1/compare", params={"trial": ids}).status_code == 200


def test_measured_and_simulated_runs_are_compared_size_by_size(tmp_path: Path, client_of: ClientOf) -> None:
    root = tmp_path / "workspace"
    sample = SAMPLE.with_name("nccl_alltoall.txt")
    measured = fb.import_results(sample, workspace=root, plan="jct-alltoall")
    simulated = fb.run(fb.load("jct-alltoall").with_(data_size=["2MB", "16MB"]), workspace=root)
    path = f"/api/v1/compare?by=size&trial={measured[0].id}"
    answer = client_of(root).get(f"{path}&trial={simulated[0].id}")
    told = call(
        *("compare", "--by", "size", measured[0].id, simulated[0].id, "--format", "json"),
        *("--workspace", root),
        cwd=tmp_path,
    )
    assert answer.json() == json.loads(told.stdout)
    assert {pair["first"]["data_size_bytes"] for pair in answer.json()["jobs"]} == {2 << 20, 16 << 20}
    for wrong in ("", f"&trial={simulated[0].id}&reference=x", f"&trial={simulated[0].id}&trial=latest"):
        assert client_of(root).get(path + wrong).status_code == 422


def test_a_measured_trial_is_downloaded_as_far_as_it_has_something(
    tmp_path: Path, client_of: ClientOf
) -> None:
    root = tmp_path / "workspace"
    measured = fb.import_results(SAMPLE, workspace=root)
    client = client_of(root)
    path = f"/api/v1/trials/{measured[0].id}/downloads"
    assert client.get(f"{path}/output.txt").text == SAMPLE.read_text()
    shown = call("show", measured[0].id, "--format", "json", "--workspace", root, cwd=tmp_path)
    assert client.get(f"{path}/summary.json").text == shown.stdout
    assert client.get(f"{path}/report.html").status_code == 200
    assert client.get(f"{path}/plan.yaml").status_code == 409
    assert client.get(f"{path}/capture.pcapng").status_code == 409
