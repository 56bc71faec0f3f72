"""`ib_write_bw` and `ib_send_bw` of perftest in the virtual machine, with our endpoint as their other end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.interop import captures
from tests.interop.machine import FAR, NEAR, facts, link, run_endpoint, run_in_machine

PROGRAMS = {"write": "ib_write_bw", "send": "ib_send_bw"}
# MTU, bytes of a message, messages.
SIZES = [(4096, 65536, 500), (1024, 10_001, 500), (2048, 64, 1_000)]


def cases(*, peer_serves: bool) -> list[dict[str, Any]]:
    names = ("mtu_bytes", "bytes", "messages")
    return [
        {"verb": verb, "peer_serves": peer_serves} | dict(zip(names, size, strict=True))
        for verb in PROGRAMS
        for size in SIZES
    ]


def command(case: dict[str, Any]) -> str:
    """Return what is to run in the machine."""
    options = f"-d rxe0 -F -m {case['mtu_bytes']} -s {case['bytes']} -n {case['messages']}"
    return f"{PROGRAMS[case['verb']]} {options} {'' if case['peer_serves'] else NEAR}"


@pytest.mark.parametrize("peer_serves", [False, True])
def test_perftest_completes(tmp_path: Path, program: Path, *, peer_serves: bool) -> None:
    planned = cases(peer_serves=peer_serves)
    with link(tmp_path) as made:
        endpoint = run_endpoint(made, program, {"perftest": {"address": NEAR, "peer": FAR, "cases": planned}})
        script = " && ".join(command(case) for case in planned)
        said, told = facts(made, endpoint, run_in_machine(made, "sh", "-c", script))
    assert [of["case"] for of in said] == planned
    for of in said:
        case = of["case"]
        works = peer_serves or case["verb"] == "send"
        assert of["completed"] == case["messages"] * works, of
        assert of["delivered_bytes"] == case["messages"] * case["bytes"] * (not peer_serves), of
        assert (of["refused_datagrams"], of["ignored"]) == (0, 0), of
    results = re.findall(r"^ (\d+) +(\d+)\s+[\d.]+ +[\d.]+\s+[\d.]+ *$", told, re.MULTILINE)
    assert [(int(size), int(count)) for size, count in results] == [
        (case["bytes"], case["messages"]) for case in planned
    ]
    captures.check(tmp_path / "capture.pcap")
