"""Captures of the simulator, read back with tools that are not ours: scapy and tshark."""

import logging
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from fabricbench.cli.main import run

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
from scapy.contrib.roce import AETH, BTH  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.packet import Packet  # noqa: E402
from scapy.utils import PcapNgReader  # noqa: E402
from tests.report.roce import (  # noqa: E402
    ACKNOWLEDGE,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    has_valid_icrc,
)

CHUNK_BYTES = 2 * 2**20
MTU = 4096
FRAMES_OF_CHUNK = CHUNK_BYTES // MTU
FRAMES_OF_MESSAGE = 128 * 2**10 // MTU
ACKS_OF_CHUNK = FRAMES_OF_CHUNK // 2
ALL_FRAMES = FRAMES_OF_CHUNK + ACKS_OF_CHUNK


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All frames of queue pair 0 of the 8-rank all-to-all of 16 MB: one chunk of 2 MiB."""
    path = tmp_path_factory.mktemp("capture") / "chunk.pcapng"
    arguments = [
        "capture",
        "jct-alltoall",
        "--data-size",
        "16MB",
        "--qps",
        "0",
        "--frames",
        "5000",
        "-o",
        str(path),
    ]
    assert run(arguments) == 0
    return path


@pytest.fixture(scope="module")
def packets(capture: Path) -> list[Packet]:
    with PcapNgReader(str(capture)) as reader:
        return list(reader)


def data(packets: list[Packet]) -> list[Packet]:
    return [packet for packet in packets if packet[BTH].opcode != ACKNOWLEDGE]


def test_the_chunk_is_512_frames_with_the_bytes_of_the_counters(packets: list[Packet]) -> None:
    assert len(packets) == ALL_FRAMES
    assert len(data(packets)) == FRAMES_OF_CHUNK
    # The counters include the Ethernet FCS, which captures leave out.
    assert sum(len(packet) + 4 for packet in data(packets)) == 2_129_152
    assert {len(packet) + 4 for packet in packets if packet[BTH].opcode == ACKNOWLEDGE} == {66}


def test_opcodes_stand_in_order_in_every_message(packets: list[Packet]) -> None:
    opcodes = [packet[BTH].opcode for packet in data(packets)]
    message = [WRITE_FIRST, *[WRITE_MIDDLE] * (FRAMES_OF_MESSAGE - 2), WRITE_LAST]
    assert opcodes == message * (CHUNK_BYTES // 2**17)
    assert packets[-1][BTH].opcode == ACKNOWLEDGE


def test_every_icrc_is_valid(packets: list[Packet]) -> None:
    wrong = [index for index, packet in enumerate(packets) if not has_valid_icrc(bytes(packet))]
    assert wrong == []


def test_a_flipped_bit_would_be_found(packets: list[Packet]) -> None:
    frame = bytearray(bytes(packets[3]))
    frame[-100] ^= 1
    assert not has_valid_icrc(bytes(frame))


def test_every_ipv4_header_has_a_valid_checksum(packets: list[Packet]) -> None:
    for packet in packets:
        again = packet[IP].copy()
        del again.chksum
        assert IP(bytes(again)).chksum == packet[IP].chksum
        assert packet[UDP].dport == 4791


def test_packet_numbers_count_up_and_acknowledgements_follow(packets: list[Packet]) -> None:
    numbers = [packet[BTH].psn for packet in data(packets)]
    assert all((after - before) % 2**24 == 1 for before, after in pairwise(numbers))
    acknowledged = [packet[BTH].psn for packet in packets if packet[BTH].opcode == ACKNOWLEDGE]
    assert acknowledged == numbers[1::2]
    assert {packet[AETH].syndrome >> 5 for packet in packets if AETH in packet} == {0}


def test_no_acknowledgement_comes_before_its_data(packets: list[Packet]) -> None:
    sent = {packet[BTH].psn: packet.time for packet in data(packets)}
    for packet in packets:
        if packet[BTH].opcode == ACKNOWLEDGE:
            assert packet.time > sent[packet[BTH].psn]


def test_times_never_run_backwards_and_each_host_has_its_interface(packets: list[Packet]) -> None:
    times = [packet.time for packet in packets]
    assert times == sorted(times)
    senders = Counter((packet.sniffed_on, packet[IP].src) for packet in packets)
    assert senders == {("host0", "10.0.0.1"): FRAMES_OF_CHUNK, ("host1", "10.0.0.2"): ACKS_OF_CHUNK}


@pytest.mark.tshark
def test_tshark_finds_nothing_malformed(capture: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")

    def matching(display_filter: str) -> int:
        command = ["tshark", "-r", str(capture), "-Y", display_filter]
        return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())

    assert matching("_ws.malformed") == 0
    assert matching("infiniband.bth.opcode == 0x11") == ACKS_OF_CHUNK
    assert matching("infiniband") == ALL_FRAMES


def test_several_queue_pairs_are_captured_together_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "some.pcapng"
    assert run(["capture", "jct-alltoall", "--qps", "0,7-8", "--frames", "60", "-o", str(path)]) == 0
    with PcapNgReader(str(path)) as reader:
        seen = list(reader)
    assert len(seen) == 60
    assert len({packet[UDP].sport for packet in data(seen)}) == 3


def test_the_same_command_gives_the_same_bytes(capture: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pcapng"
    arguments = [
        "capture",
        "jct-alltoall",
        "--data-size",
        "16777216",
        "--qps",
        "0",
        "--frames",
        "5000",
        "-o",
        str(again),
    ]
    assert run(arguments) == 0
    assert again.read_bytes() == capture.read_bytes()


def test_the_queue_pairs_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capture", "jct-alltoall", "--list-qps"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 + 56
    assert err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--qps", "56", "-o", "x.pcapng"], "no queue pair 56; the trial has 0 to 55"),
        (["--qps", "x", "-o", "x.pcapng"], '"x" is no queue pair'),
        (["-o", "x.pcapng"], "--list-qps lists them"),
        (["--qps", "0"], "say where to write"),
        (["--qps", "0", "-o", "x.pcapng", "--data-size", "3MB"], "the plan has 16 MB, 32 MB"),
        (["--qps", "0", "-o", "x.pcapng", "--trial-index", "10"], "no trial 10; there are 10, from 0 to 9"),
        (["--qps", "0", "-o", "x.pcapng", "--frames", "0"], "--frames"),
        (["--qps", "0", "-o", "."], "it is a directory"),
        (
            ["--qps", "0", "-o", "x.pcap"],
            "name it x.pcapng; `editcap -F nsecpcap x.pcapng x.pcap` converts it",
        ),
        (["--qps", "0", "-o", "x.txt"], "name it x.pcapng"),
        (["--qps", "0", "-o", "none/x.pcapng"], "there is no folder none"),
    ],
)
def test_a_wrong_command_is_explained_and_writes_nothing(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["capture", "jct-alltoall", *options]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert "hint:" in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []
