"""The expected curve of a cluster over HTTP: that of the command line, with its figure; errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.conftest import ClientOf
from tests.support.samples import call

CLUSTER = {"cluster": "dgx-h100", "servers": "2", "collective": "all-gather"}


def test_the_curve_is_that_of_the_command_line(tmp_path: Path, client_of: ClientOf) -> None:
    answer = client_of(tmp_path / "workspace").get("/api/v1/expected", params=CLUSTER)
    assert answer.status_code == 200, answer.text
    curve = answer.json()
    options = ("--cluster", "dgx-h100", "--servers", "2", "--collective", "all-gather", "--json")
    same = json.loads(call("expect", *options, cwd=tmp_path).stdout)
    assert {name: curve[name] for name in same} == same
    assert curve["title"] == "2 x dgx-h100, rail-optimised, NCCL 2.30"
    (median,) = (each for each in curve["figure"]["data"] if str(each.get("name")).startswith("expected"))
    assert median["y"] == [row["busbw_gb_per_s_median"] for row in same["expected"]]
    assert curve["figure"]["caption"].startswith("Expected bus bandwidth")


def test_the_choices_are_those_of_the_command(tmp_path: Path, client_of: ClientOf) -> None:
    choices = client_of(tmp_path / "workspace").get("/api/v1/expected/choices").json()
    assert "dgx-h100" in choices["servers"]
    assert choices["collectives"][0] == "all-reduce"
    assert choices["topologies"][0] == "rail-optimised"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cluster": "/etc/passwd"}, "cluster"),
        ({"servers": "0"}, "servers"),
        ({"topology": "torus"}, "topology"),
        ({"collective": "gather"}, "collective"),
    ],
)
def test_wrong_parameters_are_errors(
    tmp_path: Path, client_of: ClientOf, changes: dict[str, str], field: str
) -> None:
    answer = client_of(tmp_path / "workspace").get("/api/v1/expected", params=CLUSTER | changes)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
