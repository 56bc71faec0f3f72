"""Messages to and from Linux's soft-RoCE, compared byte for byte, on a good link and on a bad one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.interop import captures
from tests.interop.machine import FAR, NEAR, facts, link, run_endpoint, run_in_machine

CONTROL_PORT = 18516
VERBS = ("write", "write_with_immediate", "send", "send_with_immediate", "read")
MESSAGES, DEPTH = 10_000, 32
CHANCES = {"loss": 0.005, "duplicate": 0.005, "reorder": 0.005, "seed": 1}


def cases(mtu_bytes: int) -> list[dict[str, Any]]:
    """Return every verb in both directions."""
    both = [(verb, peer_requests) for verb in VERBS for peer_requests in (False, True)]
    fixed = {"mtu_bytes": mtu_bytes, "messages": MESSAGES, "depth": DEPTH}
    return [
        {"verb": verb, "peer_requests": peer_requests, "seed": mtu_bytes + seed} | fixed
        for seed, (verb, peer_requests) in enumerate(both)
    ]


def exchange(
    folder: Path, programs: tuple[Path, Path], mtu_bytes: int, impairment: Mapping[str, float] | None
) -> Sequence[dict[str, Any]]:
    """Carry out all cases and return what our end says of each."""
    task = {"address": NEAR, "control_port": CONTROL_PORT, "cases": cases(mtu_bytes)}
    with link(folder, impairment) as made:
        endpoint = run_endpoint(made, programs[0], {"bytes": task})
        said, _ = facts(made, endpoint, run_in_machine(made, str(programs[1]), NEAR, str(CONTROL_PORT)))
    return said


def check_bytes(said: Sequence[Mapping[str, Any]], mtu_bytes: int) -> None:
    """Fail unless each case has moved every message, and nothing but that."""
    assert [of["case"] for of in said] == cases(mtu_bytes)
    for of in said:
        case = of["case"]
        told = dict(word.split("=") for word in of["peer"].split())
        work = MESSAGES if case["verb"] not in ("write", "read") else 0
        assert (of["wrong_bytes"], of["wrong_receives"], of["refused_datagrams"]) == (0, 0, 0), of
        assert (told["wrong_bytes"], told["wrong_immediates"]) == ("0", "0"), of
        assert of["received"] == work * case["peer_requests"], of
        assert int(told["completed"]) == MESSAGES * case["peer_requests"], of
        assert int(told["received"]) == work * (not case["peer_requests"]), of
        assert of["bytes"] > MESSAGES * mtu_bytes


def check_capture(file: Path) -> None:
    """Fail unless both ends have sent all there is, and tshark and scapy have nothing against it."""
    captures.check(file)
    seen = captures.opcodes(file)
    for address in (NEAR, FAR):
        # Every opcode of SEND, WRITE and READ, and acknowledgements.
        assert {opcode for sender, opcode in seen if sender == address} == set(range(0x12))


@pytest.mark.parametrize("mtu_bytes", [1024, 4096])
def test_every_byte_arrives(tmp_path: Path, program: Path, peer: Path, mtu_bytes: int) -> None:
    said = exchange(tmp_path, (program, peer), mtu_bytes, None)
    print(json.dumps(said))  # noqa: T201 -- what was seen
    check_bytes(said, mtu_bytes)
    check_capture(tmp_path / "capture.pcap")


def test_every_byte_arrives_where_packets_are_lost_duplicated_and_reordered(
    tmp_path: Path, program: Path, peer: Path
) -> None:
    said = exchange(tmp_path, (program, peer), 1024, CHANCES)
    impaired = json.loads((tmp_path / "impaired.json").read_text())
    print(json.dumps([impaired, said]))  # noqa: T201 -- what was seen
    check_bytes(said, 1024)
    check_capture(tmp_path / "capture.pcap")
    for direction in impaired.values():
        assert min(direction[name] for name in ("lost", "duplicated", "reordered")) > 100, impaired
    for of in said:
        ours = (
            ("duplicates", "out_of_order")
            if of["case"]["peer_requests"]
            else ("retransmits", "naks_received")
        )
        assert min(of[name] for name in ours) > 0, of
