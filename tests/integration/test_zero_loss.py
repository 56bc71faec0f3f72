"""The zero-loss throughput of the BMWG suite, beside what the hash leaves to the most loaded link."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from fabricbench.cli.main import run

PAYLOAD_SHARE = 4096 / 4178
"""Of a full packet with its headers, preamble and gap."""


@pytest.mark.parametrize("pairs", [1, 2])
def test_what_holds_is_what_the_most_loaded_link_carries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pairs: int
) -> None:
    changes = [
        "fabric.topology.leaves=2",
        "fabric.topology.hosts_per_leaf=4",
        "fabric.topology.spines=4",
        f"sweep.transport.qps_per_rank_pair=[{pairs}]",
        "variants=[]",
    ]
    options = [part for change in changes for part in ("-s", change)]
    workspace = ["--workspace", str(tmp_path)]
    capsys.readouterr()
    command = ["suite", "bmwg", "--only", "bmwg-zero-loss", "--format", "json", *options, *workspace]
    assert run(command) == 0
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    (found,), (case,) = test["search"], test["results"]
    path = tmp_path / "paths.csv"
    assert run(["export", case["trials"][0], "--table", "paths", "-o", str(path), *workspace]) == 0
    with path.open() as file:
        flows = Counter((row["node"], row["port"]) for row in csv.DictReader(file))
    most = max(flows.values()) / pairs
    assert most > 1  # queue pairs collide, so that a link and not a host is the limit
    held, failed = (float(found[end].rstrip("%")) for end in ("holds", "fails"))
    assert failed - held == pytest.approx(0.1)
    assert held == pytest.approx(100 * PAYLOAD_SHARE / most, rel=0.01)
