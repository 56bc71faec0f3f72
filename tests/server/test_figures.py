"""What is listed as a figure of a trial can be drawn, whatever kind of trial it is."""

from __future__ import annotations

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
    ],
)
def test_every_figure_of_a_list_can_be_drawn(
    client_of: ClientOf, tmp_path: Path, plan: str, changes: dict[str, Any], missing: set[str]
) -> None:
    fb.run(fb.load(plan).with_(changes), workspace=tmp_path)
    client = client_of(tmp_path)
    trial = "/api/v1/trials/latest/figures"
    listed = {figure["name"] for figure in client.get(trial).json()["figures"]}
    assert {"cdf", "timeline", "links"} <= listed
    assert not listed & missing
    assert {name: client.get(f"{trial}/{name}").status_code for name in listed} == dict.fromkeys(listed, 200)
