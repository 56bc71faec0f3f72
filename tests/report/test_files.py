"""Where results are written: a regular file is replaced as a whole, and nothing else is ever replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from tests.report.stored import store_run

from fabricbench.report.output.atomic_files import OutputFileError, atomic_file, check_writable_target


def write(path: Path, content: bytes = b"new") -> None:
    with atomic_file(path) as stream:
        stream.write(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_device_is_written_through_and_stays_a_device(tmp_path: Path) -> None:
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        write(path)
    except (PermissionError, OutputFileError):
        pytest.skip("devices cannot be made or opened here")
    assert path.is_char_device()
    assert names(tmp_path) == ["null"]


def test_a_pipe_with_a_name_gets_everything_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    write(path, b"x" * 200_000)
    reader.join(timeout=10)
    assert received == [b"x" * 200_000]
    assert path.is_fifo()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_followed_and_stays(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder/file"
    if is_there:
        target.write_bytes(b"old")
    (tmp_path / "second").symlink_to("folder/file")
    (tmp_path / "first").symlink_to("second")
    write(tmp_path / "first")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "first").is_symlink()
    assert names(tmp_path / "folder") == ["file"]


def test_a_failure_behind_a_link_leaves_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(TypeError), atomic_file(tmp_path / "link") as stream:
        stream.writelines([b"half", None])  # type: ignore[list-item]
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["file", "link"]


@pytest.mark.parametrize("name", ["/proc/self/fd/{}", "/dev/fd/{}"])
def test_an_open_descriptor_is_written_where_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before ")
    inode = path.stat().st_ino
    with path.open("ab") as file:
        write(Path(name.format(file.fileno())))
        file.write(b" after")
    assert path.read_bytes() == b"before new after"
    assert path.stat().st_ino == inode


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    for attempt in (write, check_writable_target):
        with pytest.raises(OutputFileError, match="Too many levels of symbolic links"):
            attempt(tmp_path / "one")


def test_a_link_into_a_folder_that_is_missing_names_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("none/file")
    with pytest.raises(OutputFileError, match=f"there is no folder {tmp_path}/none"):
        write(tmp_path / "link")
    with pytest.raises(OutputFileError, match="Bad file descriptor"):
        write(Path("/proc/self/fd/987"))


# Not by the name /dev/stdout: where this failed, the machine would lose it.
@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "latest", "--table", "ports", "--format", "parquet"),
        ("workspace", "export"),
    ],
)
def test_standard_output_is_gone_on_with(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    store_run(tmp_path / "workspace", sizes=[2**20])
    (tmp_path / "log").write_bytes(b"before\n")
    command = [sys.executable, "-m", "fabricbench", *arguments, "-o", "/dev/fd/1"]
    with (tmp_path / "log").open("ab") as log:
        subprocess.run(
            [*command, "--workspace", str(tmp_path / "workspace")], check=True, stdout=log, timeout=30
        )
    content = (tmp_path / "log").read_bytes()
    assert content.startswith(b"before\n")
    assert len(content) > 500
