"""Code points of a plan on the packets of its endpoints, seen by a socket that knows nothing of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from tests.support import wire
from tests.support.loopback import REPOSITORY

ACKNOWLEDGE = 0x11
PROGRAM = """
import json, sys
from tests.endpoint.test_host_run import run, spec_of_jobs

asked = json.load(sys.stdin)
jobs = [
    {"collective": "send-receive", "ranks": ranks, "data_size": "64KB", **own}
    for ranks, own in (("0,2", {}), ("1,3", {"dscp": 10}))
]
spec = spec_of_jobs(*jobs, hosts=4, **asked["transport"])
run(spec, hosts=4, driver=asked["driver"], **asked["settings"])
print("{}")
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace, which root may")


@pytest.fixture
def packets_of(tmp_path: Path) -> Callable[..., list[IP]]:
    def seen(driver: str, transport: dict[str, Any], **settings: Any) -> list[IP]:
        (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
        command = ["unshare", "--net", sys.executable, str(Path(wire.__file__)), sys.executable]
        asked = {"driver": driver, "transport": transport, "settings": settings}
        finished = subprocess.run(
            [*command, str(tmp_path / "program.py")],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            timeout=100,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        )
        return [IP(bytes.fromhex(packet)) for packet in json.loads(finished.stdout)["packets"]]

    return seen


def code_points(packets: list[IP], *, acknowledgements: bool) -> set[int]:
    """Return the code points of data, or of ACKs, by the opcode of their BTH."""
    found = [packet for packet in packets if UDP in packet]
    wanted = [
        packet for packet in found if (bytes(packet[UDP].payload)[0] == ACKNOWLEDGE) == acknowledgements
    ]
    return {packet.tos >> 2 for packet in wanted}


def test_packets_have_the_code_points_of_the_plan_and_its_jobs(
    packets_of: Callable[..., list[IP]],
) -> None:
    packets = packets_of("roce", {"dscp": {"data": 24, "ack": 40}})
    assert code_points(packets, acknowledgements=False) == {24, 10}
    assert code_points(packets, acknowledgements=True) == {40}


def test_a_plan_that_says_nothing_has_those_of_captures(packets_of: Callable[..., list[IP]]) -> None:
    packets = packets_of("roce", {})
    assert code_points(packets, acknowledgements=False) == {26, 10}
    assert code_points(packets, acknowledgements=True) == {48}


def test_the_setting_of_a_host_is_in_place_of_those_of_the_plan(
    packets_of: Callable[..., list[IP]],
) -> None:
    packets = packets_of("roce", {"dscp": {"data": 24, "ack": 40}}, dscp=12)
    assert code_points(packets, acknowledgements=False) == {12}
    assert code_points(packets, acknowledgements=True) == {12}


def test_segments_of_tcp_have_the_code_point_of_the_data_of_their_job(
    packets_of: Callable[..., list[IP]],
) -> None:
    packets = packets_of("tcp", {"dscp": {"data": 24}})
    with_payload = [packet for packet in packets if TCP in packet and len(packet[TCP].payload) > 1_000]
    assert {packet.tos >> 2 for packet in with_payload} == {24, 10}
