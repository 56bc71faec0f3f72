"""Files that a user names: whatever they are, a command ends, with status 2 and one clear error."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.support.samples import PLAN, call

from fabricbench.inputs import BYTES_MAX, open_regular, read_input, read_input_text

TIME_MAX_S = 40
"""Far above the two seconds of patience: the machine may be busy."""

COMMANDS = {
    "plan check": ("plan", "check", "{}"),
    "plan ports": ("plan", "ports", "{}"),
    "run": ("run", "{}"),
    "expect": ("expect", "{}"),
    "tune": ("tune", "{}", "--search", "seed=1..2", "--minimize", "completion_time_ms"),
    "import": ("import", "{}"),
    "explain": ("explain", "{}"),
    "explain counters": ("explain", "{plain}", "--counters", "{}"),
    "counters": ("counters", "{}"),
    "counters before": ("counters", "{plain}", "--before", "{}"),
    "convert": ("convert", "{}"),
    "calibrate": ("calibrate", "{}"),
    "suite": ("suite", "{}"),
    "campaign": ("campaign", "{}"),
    "campaign show": ("campaign", "show", "{}"),
    "workspace import": ("workspace", "import", "{}"),
    "hosts check": ("hosts", "check", "{}"),
    "serve users": ("serve", "--port", "0", "--users", "{}"),
    "serve tls": ("serve", "--port", "0", "--tls-cert", "{}", "--tls-key", "{}"),
    "serve hosts": ("serve", "--port", "0", "--hosts", "{}"),
}

UNREAD = {"counters before", "campaign show", "serve tls"}
"""Commands that refuse something else first, or ask whether it is a file."""


def made(kind: str, folder: Path) -> Path:
    path = folder / "input.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.fspath(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to("/dev/ptmx")
    return path


def ended(arguments: tuple[str, ...], path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    plain = folder / "plain.txt"
    plain.write_text("nothing\n")
    return call(*(each.format(path, plain=plain) for each in arguments), cwd=folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_that_nobody_writes_to_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricbench.inputs.WRITER_S", 0.1)
    done = ended(COMMANDS[name], made("pipe", tmp_path), tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in UNREAD or "a pipe" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("plan check", "socket"),
        ("import", "folder"),
        ("convert", "device"),
        ("explain", "terminal"),
        ("workspace import", "device"),
        ("counters", "folder"),
    ],
)
def test_what_is_no_file_is_refused(name: str, kind: str, tmp_path: Path) -> None:
    done = ended(COMMANDS[name], made(kind, tmp_path), tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_plan_from_a_command_is_read(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    text = f"{sys.executable} -m fabricbench plan check <(sleep 3; cat plan.yaml)"
    done = subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, timeout=TIME_MAX_S, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_a_named_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = b"x" * 300_000

    def written() -> None:
        with path.open("wb") as stream:
            stream.write(content[:1])
            stream.flush()
            time.sleep(2.5)
            stream.write(content[1:])

    thread = threading.Thread(target=written)
    thread.start()
    assert read_input(path) == content
    thread.join()


def test_no_more_than_asked_for_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_input(path, 4) == b"01234"
    with path.open("wb") as stream:
        stream.truncate(BYTES_MAX + 1)
    with pytest.raises(OSError, match="larger than"):
        read_input(path)


def test_the_null_device_is_empty_and_other_devices_are_refused() -> None:
    assert read_input_text(Path("/dev/null")) == ""
    with pytest.raises(OSError, match="a device or terminal, not a regular file"):
        read_input(Path("/dev/zero"))
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(Path("/dev/null"))
