import io
import logging
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from fabricbench.report.output.atomic_files import OutputFileError
from fabricbench.report.output.pcapng import CapturedFrame, Interface, write_blocks, write_pcapng

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.utils import PcapNgReader  # noqa: E402
from tests.report import roce  # noqa: E402

HOSTS = [Interface("host0", 400_000_000_000), Interface("host1")]
COMMENT = "plan jct-alltoall, seed 7"
tshark = pytest.mark.tshark


@pytest.fixture
def frames() -> list[CapturedFrame]:
    """A message of four frames and its acknowledgement, at times with picoseconds."""
    opcodes = [roce.WRITE_FIRST, roce.WRITE_MIDDLE, roce.WRITE_MIDDLE, roce.WRITE_LAST]
    sent = [
        CapturedFrame(7_001_999 + 83_560 * i, 0, roce.data_frame(op, psn=i)) for i, op in enumerate(opcodes)
    ]
    return [*sent, CapturedFrame(5_000_000_000_123, 1, roce.ack_frame(psn=3))]


@pytest.fixture
def capture(tmp_path: Path, frames: list[CapturedFrame]) -> Path:
    path = tmp_path / "chunk.pcapng"
    assert write_pcapng(path, HOSTS, frames, comment=COMMENT) == len(frames)
    return path


def run_tshark(path: Path, *options: str) -> list[str]:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_scapy_reads_back_the_same_frames(capture: Path, frames: list[CapturedFrame]) -> None:
    with PcapNgReader(str(capture)) as reader:
        packets = list(reader)
    assert [bytes(packet) for packet in packets] == [frame.data for frame in frames]
    assert [round(packet.time * 10**9) for packet in packets] == [frame.time_ps // 1000 for frame in frames]
    assert [packet.sniffed_on for packet in packets] == ["host0"] * 4 + ["host1"]


def test_the_icrc_survives_and_a_flipped_bit_is_seen(frames: list[CapturedFrame]) -> None:
    assert all(roce.has_valid_icrc(frame.data) for frame in frames)
    broken = bytearray(frames[1].data)
    broken[-20] ^= 1
    assert not roce.has_valid_icrc(bytes(broken))


@tshark
def test_tshark_finds_nothing_malformed(capture: Path) -> None:
    assert run_tshark(capture, "-Y", "_ws.malformed") == []
    assert len(run_tshark(capture)) == 5


@tshark
def test_tshark_sees_opcodes_names_and_nanoseconds(capture: Path) -> None:
    fields = [
        "infiniband.bth.opcode",
        "frame.interface_name",
        "frame.time_epoch",
        "frame.packet_flags_direction",
    ]
    lines = run_tshark(capture, "-T", "fields", *(part for field in fields for part in ("-e", field)))
    rows = [line.split("\t") for line in lines]
    assert [int(row[0], 0) for row in rows] == [0x06, 0x07, 0x07, 0x08, 0x11]
    assert [row[1] for row in rows] == ["host0"] * 4 + ["host1"]
    assert [row[2] for row in rows[:2]] == ["0.000007001", "0.000007085"]
    assert rows[4][2] == "5.000000000"
    assert {int(row[3], 0) for row in rows} == {2}


@tshark
def test_tshark_reads_the_comment(capture: Path) -> None:
    if shutil.which("capinfos") is None:
        pytest.skip("capinfos is not installed")
    report = subprocess.run(["capinfos", str(capture)], check=True, capture_output=True, text=True).stdout
    assert COMMENT in report
    assert "nanoseconds (9)" in report


def test_every_block_is_framed_by_its_length() -> None:
    stream = io.BytesIO()
    frames = [CapturedFrame(0, 0, bytes(60 + odd)) for odd in range(4)]
    write_blocks(stream, HOSTS, frames, comment="é", application="fabricbench")
    data, kinds = stream.getvalue(), []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, length - 4) == (length,)
        kinds.append(kind)
        data = data[length:]
    assert kinds == [0x0A0D0D0A, 1, 1, 6, 6, 6, 6]


def test_a_time_beyond_32_bits_of_nanoseconds_is_kept() -> None:
    stream = io.BytesIO()
    write_blocks(stream, HOSTS, [CapturedFrame(3600 * 10**12, 0, bytes(60))], comment="", application="")
    block = stream.getvalue().rindex(struct.pack("<IIII", 6, 104, 0, 3600 * 10**9 >> 32))
    assert struct.unpack_from("<I", stream.getvalue(), block + 16) == (3600 * 10**9 & 0xFFFF_FFFF,)


@pytest.mark.parametrize(
    ("frame", "error"), [(CapturedFrame(0, 2, b""), IndexError), (CapturedFrame(-1, 0, b""), ValueError)]
)
def test_a_wrong_frame_leaves_no_file(tmp_path: Path, frame: CapturedFrame, error: type[Exception]) -> None:
    path = tmp_path / "wrong.pcapng"
    with pytest.raises(error):
        write_pcapng(path, HOSTS, [frame])
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "kept.pcapng"
    path.write_bytes(b"old")
    with pytest.raises(IndexError):
        write_pcapng(path, HOSTS, [CapturedFrame(0, 9, b"")])
    assert path.read_bytes() == b"old"


def test_a_directory_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="it is a directory") as caught:
        write_pcapng(tmp_path, HOSTS, [])
    assert "-o" in caught.value.hint


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="there is no folder"):
        write_pcapng(tmp_path / "none" / "file.pcapng", HOSTS, [])
