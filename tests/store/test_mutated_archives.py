"""Archives that somebody has changed, by chance or on purpose: one clear error each, in no time."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import call, run_trial, trial_facts
from tests.support.soak import times

from fabricbench.store import StoreError, Workspace
from fabricbench.store.archive import read_archive, write_archive

TRIAL = "aaaa00000001"
ARCHIVES = times(75, 300)
TIME_MAX_S = 5


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    workspace = Workspace.open(tmp_path_factory.mktemp("source"), create=True)
    run_trial(workspace, trial_facts(TRIAL), FakeBackend())
    stream = io.BytesIO()
    write_archive(workspace, workspace.trials(), stream)
    return stream.getvalue()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)


def header(member: tarfile.TarInfo) -> bytes:
    return member.tobuf(tarfile.GNU_FORMAT)[:512]


def with_header(content: bytes, **changed: Any) -> bytes:
    """Change the header of the first file, with the checksum that belongs to it."""
    member = tarfile.TarInfo.frombuf(content[:512], "utf-8", "strict")
    for name, value in changed.items():
        setattr(member, name, value)
    return header(member) + content[512:]


def with_rows(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Change what the archive says of its trials, with the digest that belongs to it."""
    size = tarfile.TarInfo.frombuf(content[:512], "utf-8", "strict").size
    said = json.loads(content[512 : 512 + size])
    change(said)
    noted = {name: said[name] for name in ("trials", "memberships")}
    text = json.dumps(noted, sort_keys=True, separators=(",", ":"))
    said["digest"] = hashlib.sha256(text.encode()).hexdigest()
    new = json.dumps(said).encode()
    member = tarfile.TarInfo("trials.json")
    member.size = len(new)
    rest = content[512 + -(-size // 512) * 512 :]
    return header(member) + new + b"\0" * (-len(new) % 512) + rest


def mutations(content: bytes, random: Random) -> bytes:
    """Return one of many kinds of spoilt archives."""
    columns = ("run_spec", "summary", "results", "id", "status", "position", "machine", "criteria", "digests")
    values: tuple[Any, ...] = (
        "{",
        "[]",
        "null",
        -1,
        2**70,
        1e300,
        None,
        [],
        {},
        "\x00",
        "NaN",
        '{"jobs": 1}',
        "\udc00",
    )
    at, other = random.randrange(len(content)), random.randrange(len(content))
    column, value = random.choice(columns), random.choice(values)
    kinds: list[Callable[[], bytes]] = [
        lambda: content[:at],
        lambda: content[at:],
        lambda: content[:at] + random.randbytes(64) + content[at:],
        lambda: content[: min(at, other)] + content[max(at, other) :],
        lambda: with_header(content, type=random.choice([b"S", b"x", b"g", b"L", b"K", b"1", b"2", b"5"])),
        lambda: with_header(content, size=random.choice([0, 1, 2**33, 2**62, at])),
        lambda: with_header(content, name=random.choice(["", "../x", "trials.json/", "x" * 99])),
        lambda: with_rows(content, lambda said: said["trials"][0].update({column: value})),
        lambda: with_rows(content, lambda said: said["trials"][0].pop(column)),
        lambda: with_rows(content, lambda said: said["memberships"].append({column: value})),
        lambda: with_rows(content, lambda said: said.update(version=value)),
    ]
    return random.choice(kinds)()


def test_mutated_archives_end_in_an_error_that_can_be_read(
    workspace: Workspace, content: bytes, tmp_path: Path
) -> None:
    random, path, refused = Random(5), tmp_path / "spoilt.tar", 0
    for _ in range(ARCHIVES):
        path.write_bytes(mutations(content, random))
        begin = time.monotonic()
        try:
            read_archive(workspace, path)
        except StoreError as error:
            refused += bool(error.hint)
        assert time.monotonic() - begin < TIME_MAX_S
        assert [row.found for row in workspace.unreadable()] == []
    assert refused > ARCHIVES * 0.9


def test_the_program_says_what_is_wrong_with_an_archive(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "sparse.tar").write_bytes(with_header(content, type=b"S"))
    done = call("workspace", "import", "sparse.tar", "--workspace", "workspace", cwd=tmp_path)
    assert done.returncode == 2
    assert "'trials.json' at byte 0 is no plain file\nhint: " in done.stderr


def test_a_table_that_declares_more_than_its_file_can_hold_is_not_expanded(
    workspace: Workspace, content: bytes, tmp_path: Path
) -> None:
    size = tarfile.TarInfo.frombuf(content[:512], "utf-8", "strict").size
    first = 512 + -(-size // 512) * 512
    table_size = tarfile.TarInfo.frombuf(content[first : first + 512], "utf-8", "strict").size
    metadata = pq.read_schema(io.BytesIO(content[first + 512 : first + 512 + table_size])).metadata
    zeros = pa.table({"qp": _zeros(20_000_000)}).replace_schema_metadata(metadata)
    bomb = io.BytesIO()
    pq.write_table(zeros, bomb, compression="zstd", row_group_size=2**31, use_dictionary=False)
    member = tarfile.TarInfo(f"trials/{TRIAL}/chunks.parquet")
    member.size = len(bomb.getvalue())
    rest = content[first + 512 + -(-table_size // 512) * 512 :]
    table = header(member) + bomb.getvalue() + b"\0" * (-member.size % 512)
    digest = hashlib.sha256(bomb.getvalue()).hexdigest()

    def seal(said: dict[str, Any]) -> None:
        digests = json.loads(said["trials"][0]["digests"]) | {"chunks": digest}
        said["trials"][0]["digests"] = json.dumps(digests)

    path = tmp_path / "bomb.tar"
    path.write_bytes(with_rows(content[:first] + table + rest, seal))
    with pytest.raises(StoreError, match="it declares row groups of more than 65,536 rows"):
        read_archive(workspace, path)


def _zeros(rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(bytes(8 * rows))])
