"""Marks on the way become congestion notifications, and the sender slows down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import REPOSITORY, build

DESCRIPTION = REPOSITORY / "crates/endpoint/testdata/gigabyte.json"
BYTES = 4_000_000
LINE_RATE_BPS = 1_000_000_000
# Longer than a slow sender waits between two packets.
TIMEOUT_PS = 500 * 10**9
TRIES = 5

# All that may be marked and carries data.
MARKING = """
table ip congestion {
  chain out {
    type filter hook output priority mangle; policy accept;
    meta length > 1000 ip ecn { ect0, ect1 } ip ecn set ce
  }
}
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace, which root may"),
    pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft to mark packets"),
]


def run(tmp_path: Path, rules: str) -> dict[str, Any]:
    """Send in a namespace with those rules and return what came of the transfer."""
    (tmp_path / "rules.nft").write_text(rules)
    description = json.loads(DESCRIPTION.read_text())
    description |= {"loss_one_in": 0, "line_rate_bps": LINE_RATE_BPS, "timeout_ps": TIMEOUT_PS}
    description["transfers"] = [{"verb": "write", "bytes": BYTES}]
    script = 'ip link set lo mtu 4500 up && nft -f "$1" && exec "$2"'
    finished = subprocess.run(
        ["unshare", "--net", "sh", "-c", script, "sh", str(tmp_path / "rules.nft"), str(build())],
        input=json.dumps(description),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=100,
    )
    said = json.loads(finished.stdout)
    (transfer,) = said["transfers"]
    assert transfer["is_equal"]
    transfer["goodput_bps"] = said["goodput_bps"]
    return dict(transfer)


def test_what_a_switch_marks_slows_the_sender(tmp_path: Path) -> None:
    slowed: list[bool] = []
    # On an idle machine to two fifths; a busy one holds the free sender back, too, but not each time.
    while not any(slowed) and len(slowed) < TRIES:
        free, marked = run(tmp_path, ""), run(tmp_path, MARKING)
        assert (free["marks"], free["cnps"]) == (0, 0)
        assert marked["marks"] > 0
        # At most one for each mark, and one for so many that come together in one call.
        assert marked["marks"] // 64 <= marked["cnps"] <= marked["marks"]
        assert marked["retransmits"] == 0
        slowed.append(marked["goodput_bps"] < free["goodput_bps"] * 3 / 4)
    assert any(slowed)
