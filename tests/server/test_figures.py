"""What is listed as a figure of a trial can be drawn, whatever kind of trial it is."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import ClientOf

import fabricbench as fb


@pytest.mark.parametrize(
    ("plan", "changes", "missing"),
    [
        ("traffic-uniform-poisson", {"sweep.data_size": ["16KB"]}, {"bandwidth", "ideal-share"}),
        ("lb-allgather-ecmp", {}, {"bandwidth", "ideal-share"}),
        ("imb-dynamic-ecn", {"sweep.message_size": ["64B"], "variants": []}, {"ideal-share"}),
        ("jct-alltoall", {"sweep.data_size": ["1MB"], "backend": "flow"}, {"latency"}),
    ],
)
def test_every_figure_of_a_list_can_be_drawn(
    client_of: ClientOf, tmp_path: Path, plan: str, changes: dict[str, Any], missing: set[str]
) -> None:
    fb.run(fb.load(plan).with_(changes), workspace=tmp_path)
    client = client_of(tmp_path)
    trial = "/api/v1/trials/latest/figures"
    listed = {figure["name"] for figure in client.get(trial).json()["figures"]}
    assert {"cdf", "timeline"} <= listed
    assert not listed & missing
    assert {name: client.get(f"{trial}/{name}").status_code for name in listed} == dict.fromkeys(listed, 200)


def test_all_figures_over_time_have_one_axis_the_length_of_the_run(
    client_of: ClientOf, tmp_path: Path
) -> None:
    (trial,) = fb.run(fb.load("cc-alltoall-pfc-ecn").with_(data_size="4MB"), workspace=tmp_path)
    client = client_of(tmp_path)
    path = f"/api/v1/trials/{trial.id}/figures"
    listed = client.get(path).json()["figures"]
    over_time = [client.get(f"{path}/{each['name']}").json() for each in listed if each["over_time"]]
    assert {"timeline", "progress", "goodput", "link-use", "queues"} <= {each["name"] for each in over_time}
    assert len({each["unit"] for each in over_time}) == 1
    for each in over_time:
        assert each["layout"]["xaxis"]["range"] == [0, each["end_ps"] / each["unit_ps"]], each["name"]
    others = [client.get(f"{path}/{each['name']}").json() for each in listed if not each["over_time"]]
    assert {each["unit"] for each in others} == {None}


def test_rates_that_follow_each_other_are_joined_by_a_line(client_of: ClientOf, tmp_path: Path) -> None:
    (trial,) = fb.run(fb.load("cc-alltoall-dcqcn").with_(data_size="32MB"), workspace=tmp_path)
    rates = client_of(tmp_path).get(f"/api/v1/trials/{trial.id}/figures/rates").json()
    for line in rates["data"]:
        joined = [one is not None and other is not None for one, other in pairwise(line["y"])]
        assert sum(joined) > len(joined) / 2, line["name"]


def test_a_run_of_swept_fields_has_its_figures_and_values(client_of: ClientOf, tmp_path: Path) -> None:
    changes = {
        "sweep": {"data_size": ["64KB", "256KB"], "transport.window": [16, 64], "transport.ack_every": [1, 4]}
    }
    run = fb.run(fb.load("jct-alltoall").with_(changes), workspace=tmp_path)
    client = client_of(tmp_path)
    path = f"/api/v1/trials/{run[0].id}"
    listed = [figure["name"] for figure in client.get(f"{path}/figures").json()["figures"]]
    assert listed[:3] == ["curves", "sweep-map", "sweep-lines"]
    heat = client.get(f"{path}/figures/sweep-map").json()
    assert [trace["x"] for trace in heat["data"]] == [["1", "4"], ["1", "4"]]
    lines = client.get(f"{path}/figures/sweep-lines").json()
    assert [trace["name"] for trace in lines["data"]] == ["ack_every 1", "ack_every 4"] * 2
    detail = client.get(path).json()
    assert detail["axes"] == {"transport.window": 16, "transport.ack_every": 1}
    assert {tuple(each["axes"].values()) for each in detail["suite_trials"]} == {
        (window, every) for window in (16, 64) for every in (1, 4)
    }
    assert client.get("/api/v1/trials").json()["trials"][0]["axes"].keys() == detail["axes"].keys()


def test_figures_of_variants_and_of_jobs_alone_are_those_of_the_report(
    client_of: ClientOf, tmp_path: Path
) -> None:
    plans: dict[str, tuple[dict[str, Any], set[str]]] = {
        "lb-allgather-ecmp": ({"sweep.data_size": ["1MB"]}, {"uplinks"}),
        "imb-dynamic-ecn": ({"sweep.message_size": ["64B"]}, {"ratio-0"}),
        "isolation-alltoall-neighbour": (
            {"sweep.data_size": ["256KB"], "iterations": 2},
            {"tenant-busbw", "tenant-fct", "kept-share"},
        ),
    }
    for plan, (changes, names) in plans.items():
        run = fb.run(fb.load(plan).with_(changes), workspace=tmp_path / plan)
        client = client_of(tmp_path / plan)
        path = f"/api/v1/trials/{run[-1].id}"
        report = client.get(f"{path}/downloads/report.html").text
        parts = dict(re.findall(r'data-target="plot-([\w-]+)">(.*?)</script>', report, re.DOTALL))
        for name in names:
            figure = client.get(f"{path}/figures/{name.removesuffix('-0')}").json()
            assert figure["data"] == json.loads(parts[name])["data"], name
