"""Bounds of a server: what is too large is refused before it has come, what costs too much with its cost."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.server.conftest import BEARER, TOKEN
from tests.server.live import SMALL, Live, live
from tests.support.samples import call

GIGABYTE = 1 << 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("workspace")) as running:
        yield running


def upload(server: Live, path: str, *headers: str) -> socket.socket:
    """Begin an upload and return the connection."""
    address = urlsplit(server.address)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    lines = [f"POST {path} HTTP/1.1", f"Host: {address.netloc}", f"Authorization: Bearer {TOKEN}"]
    connection.sendall("\r\n".join([*lines, *headers, "", ""]).encode())
    return connection


def answer(connection: socket.socket) -> bytes:
    """Read what comes until the end of the connection."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass  # what was sent and never read may reset the connection after the answer
    return found


@pytest.mark.parametrize("path", ["/api/v1/plans/check", "/api/v1/runs", "/api/v1/imports", "/api/v1/login"])
def test_a_gigabyte_is_refused_by_its_length_alone(server: Live, path: str) -> None:
    with upload(server, path, f"Content-Length: {GIGABYTE}") as connection:
        assert answer(connection).startswith(b"HTTP/1.1 413 ")


def test_a_gigabyte_without_a_length_is_refused_while_it_comes(server: Live) -> None:
    before = server.memory_bytes("VmHWM")
    sent = 0
    with upload(server, "/api/v1/plans/check", "Transfer-Encoding: chunked") as connection:
        chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
        try:
            while sent < GIGABYTE:
                connection.sendall(chunk)
                sent += 0x10000
        except OSError:
            pass
        assert answer(connection).startswith(b"HTTP/1.1 413 ")
    assert sent < 64 << 20
    assert server.memory_bytes("VmHWM") - before < 64 << 20


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "9" * 400])
def test_a_length_that_is_none_is_refused(server: Live, length: str) -> None:
    with upload(server, "/api/v1/plans/check", f"Content-Length: {length}") as connection:
        assert answer(connection).split(b" ")[1] in (b"400", b"413")


def test_a_body_that_nests_without_end_is_an_error(server: Live) -> None:
    for body in (b"[" * 500_000, b'{"document":' * 100_000, b'{"yaml": "' + b"[" * 900_000 + b'"}'):
        found = server.client.post(
            "/api/v1/plans/check", content=body, headers={"Content-Type": "application/json"}
        )
        assert found.status_code in (200, 400, 422)
        assert found.status_code != 200 or found.json()["errors"]


def test_who_has_plans_checked_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Each takes a second or more, and there are more of them than threads for everything else."""
    slow = json_of({"yaml": f"{SMALL}\nx: [{'1, ' * 30_000}]"})
    with live(tmp_path) as server:
        checks = [upload(server, "/api/v1/plans/check", *slow) for _ in range(60)]
        began = time.monotonic()
        assert server.client.get("/api/v1/trials").status_code == 200
        assert server.client.get("/api/v1/runs").status_code == 200
        assert time.monotonic() - began < 5
        assert not any(select.select(checks[-10:], [], [], 0)), "they are still being checked"
        for connection in checks:
            connection.close()


def json_of(content: object) -> tuple[str, ...]:
    """Return headers and body of a request, as lines."""
    body = json.dumps(content)
    return ("Content-Type: application/json", f"Content-Length: {len(body)}", "", body)


def test_ten_million_ranks_are_refused_with_their_cost(server: Live) -> None:
    large = SMALL.replace("hosts: 4", "hosts: 10000000").replace('ranks: "0-3", ', "")
    began = time.monotonic()
    for yaml in (large, large.replace("kind: single-switch, hosts: 10000000", FABRIC)):
        refused = server.client.post("/api/v1/runs", json={"yaml": yaml})
        error = refused.json()
        assert refused.status_code == 422
        assert error["cost"]["memory_bytes"] > 1 << 50
        assert "10,000,000 ranks" in error["error"]["hint"]
    assert time.monotonic() - began < 20


FABRIC = "kind: leaf-spine, leaves: 20000, hosts_per_leaf: 500, spines: 100"


def test_a_forced_run_takes_no_more_memory_than_a_run_has(tmp_path: Path) -> None:
    large = (
        SMALL.replace("hosts: 4", "hosts: 1000").replace('ranks: "0-3", ', "").replace("[1MB, 2MB]", "1000KB")
    )
    with live(tmp_path, "--worker-memory-gb", "0.25", "--workers", "1") as server:
        refused = server.client.post("/api/v1/runs", json={"yaml": large})
        assert (refused.status_code, "memory" in refused.json()["error"]["message"]) == (422, True)
        failed = server.until(server.submit(large, force=True), lambda run: run["ended_at"])
        assert failed["state"] == "failed"
        assert failed["message"] == "it needs more than the 256 MB of memory that a run has"
        server.until_state(server.submit(), "complete")


def test_a_port_that_is_taken_is_an_error(server: Live, tmp_path: Path) -> None:
    port = str(urlsplit(server.address).port)
    done = call("serve", "--port", port, "--workspace", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "lets other machines in"),
        (["--host", "0.0.0.0", "--token", "0123456789abcdef"], "--tls-cert and --tls-key"),
        (["--token", "short"], "16 characters"),
        (["--tls-cert", "x.pem"], "go together"),
        (["--users", "nobody"], "cannot be read"),
        (["--port", "99999"], "65535"),
    ],
)
def test_what_would_not_be_safe_is_refused(tmp_path: Path, options: list[str], told: str) -> None:
    done = call("serve", *options, "--workspace", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from fabricbench.cli import main; sys.argv[1:] = ['serve']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    hint = done.stderr.splitlines()[1]
    assert "-m pip install '" in hint
    assert "'fastapi>=" in hint
    assert not list(tmp_path.iterdir())


def test_a_random_token_is_printed_and_is_another_each_time(tmp_path: Path) -> None:
    tokens = set()
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", "from fabricbench.cli import main; main()", "serve", "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != "FABRICBENCH_TOKEN"},
        )
        assert process.stderr
        while "?token=" not in (line := process.stderr.readline()):
            assert line
        tokens.add(line.strip().partition("?token=")[2])
        process.terminate()
        assert process.wait(120) == -signal.SIGTERM
        process.stderr.close()
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 32


def test_other_machines_come_in_by_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    options = ("--host", "0.0.0.0", "--tls-cert", str(certificate), "--tls-key", str(key))
    with live(tmp_path / "workspace", *options) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        address = server.address.replace("0.0.0.0", "127.0.0.1")
        with httpx.Client(base_url=address, verify=context, headers=BEARER) as client:
            assert client.get("/api/v1/about").status_code == 200
            cookie = client.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert "Secure" in cookie
