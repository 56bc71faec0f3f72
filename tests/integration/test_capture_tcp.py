"""Captured TCP segments, read back with tshark."""

import shutil
import subprocess

import pytest

from fabricbench.cli.main import run

PLAN = """\
fabricbench: 1
name: tcp
fabric:
  topology: {kind: single-switch, hosts: 5, host_link: 10Gbps}
  switch: {buffer: {size: 100KB}}
jobs:
  - {name: bytes, ranks: "3,4", collective: send-receive, data_size: 64}
tcp:
  - {ranks: "0,1,2", collective: incast, rate: unlimited, duration: 2ms, start_spread: 1us, rto_min: 1ms}
"""
MSS = 1448


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """The first 3,000 frames of both connections: after the queue pairs, which are two."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    folder = tmp_path_factory.mktemp("capture")
    (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    path = folder / "tcp.pcapng"
    assert (
        run(["capture", str(folder / "plan.yaml"), "--qps", "2,3", "--frames", "3000", "-o", str(path)]) == 0
    )
    names = ["frame.len", "tcp.len", "tcp.checksum.status", "ip.checksum.status", "tcp.dstport"]
    names += [
        "tcp.options.sack.count",
        "tcp.options.timestamp.tsecr",
        "tcp.analysis.retransmission",
        "tcp.ack",
    ]
    names += ["tcp.analysis.fast_retransmission", "_ws.malformed"]
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    fields = [argument for name in names for argument in ("-e", name)]
    command = ["tshark", "-r", str(path), *checks, "-T", "fields", *fields]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def test_every_segment_has_valid_checksums_and_its_size(segments: list[dict[str, str]]) -> None:
    assert len(segments) == 3000
    assert {(each["tcp.checksum.status"], each["ip.checksum.status"]) for each in segments} == {("1", "1")}
    assert all(not each["_ws.malformed"] for each in segments)
    # Without the FCS: Ethernet 14, IPv4 20, TCP 20 and timestamps 12.
    assert {each["frame.len"] for each in segments if each["tcp.len"] == str(MSS)} == {str(66 + MSS)}
    assert {each["tcp.len"] for each in segments} == {"0", str(MSS)}
    assert {each["tcp.dstport"] for each in segments if each["tcp.len"] != "0"} == {"5201"}


def test_losses_are_told_by_sack_and_repaired(segments: list[dict[str, str]]) -> None:
    counts = {each["tcp.options.sack.count"] for each in segments if each["tcp.len"] == "0"}
    assert {"", "1"} <= counts <= {"", "1", "2", "3"}
    sizes = {each["frame.len"] for each in segments if each["tcp.options.sack.count"] == "1"}
    assert sizes == {str(66 + 12)}
    resent = ("tcp.analysis.retransmission", "tcp.analysis.fast_retransmission")
    assert any(each[name] for each in segments for name in resent)
