"""Whoever opens connections and sends or takes nothing gets none of what others need."""

from __future__ import annotations

import resource
import select
import socket
import ssl
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.server.conftest import TOKEN
from tests.server.live import ENDLESS, Live, events, follow, live

HASTE = "import fabricbench.server.access.connections as c; c.PATIENCE = c.Patience(1, 1, 10_000, 2, 3)"
"""Limits that do not take long to reach: headers and bodies 1 s, answers 2 s, idle connections 3 s."""
FEW = f"{HASTE}; c.CONNECTIONS_MAX = 64"
BEARER = f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("workspace"), before=HASTE) as running:
        yield running


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("workspace")) as running:
        yield running


def connect(server: Live, text: str = "") -> socket.socket:
    """Open a connection and send something."""
    address = urlsplit(server.address)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    with suppress(ConnectionError):  # it has been refused before all of it was sent
        connection.sendall(text.replace("HOST", f"Host: {address.netloc}\r\n").encode())
    return connection


def is_ended(connection: socket.socket, seconds: float = 0) -> bool:
    """Tell whether the server has disconnected, without taking what it has sent."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(seconds * 1000))


def drip(connection: socket.socket, seconds: float) -> bytes:
    """Send a byte now and then until the server has had enough, and return its answer."""
    deadline = time.monotonic() + seconds
    while not is_ended(connection, 0.1):
        assert time.monotonic() < deadline, "it is still listening"
        try:
            connection.send(b"x")
        except OSError:
            break
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "begin",
    [
        "",
        "GET /healthz HTTP/1.1\r\nHOSTx-",
        "POST /api/v1/login HTTP/1.1\r\nHOSTContent-Length: 4000\r\n\r\n",
        f"POST /api/v1/plans/check HTTP/1.1\r\nHOST{BEARER}Content-Length: 900000\r\n\r\n{{",
        f"POST /api/v1/runs HTTP/1.1\r\nHOST{BEARER}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\nff\r\n",
        "POST /api/v1/runs HTTP/1.1\r\nHOSTContent-Length: 900000\r\n\r\n",
    ],
    ids=["nothing", "headers", "login", "body", "chunks", "body-after-401"],
)
def test_who_only_drips_bytes_is_disconnected(hasty: Live, begin: str) -> None:
    with connect(hasty, begin) as connection:
        answer = drip(connection, 4)
        assert not answer or answer.split(b" ")[1] in (b"400", b"401", b"408")
    assert hasty.client.get("/healthz").status_code == 200


def test_a_slow_request_is_told_why_it_was_not_waited_for(hasty: Live) -> None:
    begin = f"POST /api/v1/plans/check HTTP/1.1\r\nHOST{BEARER}Content-Length: 900\r\n\r\n{{"
    with connect(hasty, begin) as connection:
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout")
    assert b"bytes a second will do" in answer
    assert not any("Traceback" in line for line in hasty.said)


def test_a_large_body_may_take_its_time(hasty: Live) -> None:
    body = b'{"yaml": "' + b" " * 50_000 + b'"}'
    begin = f"POST /api/v1/plans/check HTTP/1.1\r\nHOST{BEARER}Content-Length: {len(body)}\r\n\r\n"
    with connect(hasty, begin) as connection:
        for part in range(0, len(body), 5_000):
            connection.sendall(body[part : part + 5_000])
            time.sleep(0.3)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_who_does_not_take_an_answer_is_disconnected(hasty: Live) -> None:
    ask = f"GET /openapi.json HTTP/1.1\r\nHOST{BEARER}\r\n"
    with connect(hasty) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host = f"Host: {urlsplit(hasty.address).netloc}\r\n"
        connection.sendall(ask.replace("HOST", host).encode() * 200)
        assert not is_ended(connection, 1)
        assert is_ended(connection, 6)


def test_an_idle_connection_stays_for_a_while_only(hasty: Live) -> None:
    with connect(hasty, "GET /healthz HTTP/1.1\r\nHOST\r\n") as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        assert not is_ended(connection, 2)  # longer than headers may take
        assert is_ended(connection, 3)


def test_a_stream_of_events_outlives_every_limit(hasty: Live) -> None:
    run_id = hasty.submit(ENDLESS)
    began, seen = time.monotonic(), 0
    for _, kind, _ in follow(hasty, run_id):
        seen += kind == "progress"
        if time.monotonic() - began > 5:
            break
    hasty.client.post(f"/api/v1/runs/{run_id}/cancel")
    assert seen > 5
    assert events(hasty, run_id)[-1][2]["state"] == "cancelled"


@contextmanager
def held(server: Live, count: int, text: str) -> Iterator[list[socket.socket]]:
    """Open so many connections that all send the same and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, count + 500), hard), hard))
    with ExitStack() as stack:
        yield [stack.enter_context(connect(server, text)) for _ in range(count)]


def seconds_of_health(server: Live) -> float:
    """Return what a new client waits for an answer, at the median."""
    waited = []
    for _ in range(21):
        began = time.monotonic()
        with connect(server, "GET /healthz HTTP/1.1\r\nHOST\r\n") as connection:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        waited.append(time.monotonic() - began)
    return statistics.median(waited)


@pytest.mark.parametrize("text", ["", "GET / HTTP/1.1\r\nHOSTx: "], ids=["silent", "half-a-request"])
def test_half_open_connections_keep_nobody_out(patient: Live, text: str) -> None:
    with held(patient, 1500, text) as connections:
        assert seconds_of_health(patient) < 0.1
        assert sum(map(is_ended, connections)) >= 1500 - 1024


def test_strangers_make_room_before_who_has_shown_a_token(tmp_path: Path) -> None:
    half = "GET / HTTP/1.1\r\nHOSTx: "
    with live(tmp_path, before=FEW) as server:
        own = f"GET /api/v1/about HTTP/1.1\r\nHOST{BEARER}\r\n"
        with connect(server, own) as known, held(server, 200, half):
            assert known.recv(65536).startswith(b"HTTP/1.1 200")
            assert not is_ended(known)
            uploading = f"POST /api/v1/plans/check HTTP/1.1\r\nHOST{BEARER}Content-Length: 12\r\n\r\n"
            with connect(server, uploading) as upload, held(server, 200, half):
                upload.sendall(b'{"yaml": ""}')
                assert upload.recv(65536).startswith(b"HTTP/1.1 200")


def test_bodies_of_strangers_take_no_memory(patient: Live) -> None:
    before = patient.memory_bytes()
    for path, size in (("/api/v1/login", 2_000_000), ("/", 2_000_000), ("/api/v1/login", 4_000)):
        begin = f"POST {path} HTTP/1.1\r\nHOSTContent-Length: {size}\r\n\r\n{'x' * (size - 1)}"
        with held(patient, 100, begin):
            assert seconds_of_health(patient) < 0.1
            assert patient.memory_bytes() - before < 64 << 20


def test_a_handshake_counts_and_has_its_time(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost"]
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with live(tmp_path / "workspace", *options, before=FEW) as server, held(server, 200, "") as connections:
        assert httpx.get(f"{server.address}/healthz", verify=trusting).status_code == 200
        assert sum(map(is_ended, connections)) >= 200 - 64
        assert all(is_ended(each, 20) for each in connections)
        ended_in_tls = trusting.wrap_socket(connect(server), server_hostname="localhost")
        with ended_in_tls:
            assert is_ended(ended_in_tls, 20)
        assert httpx.get(f"{server.address}/healthz", verify=trusting).status_code == 200
