"""Joining and mutual TLS: who gets a certificate, and what an agent does without."""

from __future__ import annotations

import json
import random
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import grpc
import pytest
from tests.hosts.conftest import LOOPBACK
from tests.hosts.planes import PlainPlane

from fabricbench.hosts.addresses import Address, parse_address
from fabricbench.hosts.agent.program import Agent, AgentSettings
from fabricbench.hosts.agent.session import Policy
from fabricbench.hosts.certificates import AgentFolder, Authority, Identity, agent_name, new_request
from fabricbench.hosts.channels import METADATA, bind, server_credentials
from fabricbench.hosts.control.agent_client import RemoteAgent
from fabricbench.hosts.control.hosts_file import Host, HostEntry
from fabricbench.hosts.enrolment import join, serve_enrolment
from fabricbench.hosts.proto import agent_pb2 as pb, agent_pb2_grpc
from fabricbench.hosts.protocol import OPTIONS, PROTOCOL_KEY, RefusedError
from fabricbench.hosts.tokens import Tokens


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def joined(authority: Authority, folder: Path, name: str = "h0", days: int = 1) -> AgentFolder:
    """Sign a certificate without the way over the network."""
    key, request = new_request()
    agent = AgentFolder(folder)
    agent.save(key, authority.sign_agent(name, request, days), authority.certificate)
    return agent


@pytest.fixture
def agent(authority: Authority, tmp_path: Path) -> Iterator[Address]:
    """An agent of host h0 with a certificate; where it listens."""
    joined(authority, tmp_path / "agent")
    where = parse_address(f"127.0.0.1:{free_port()}")
    made = Agent(
        AgentSettings(where, tmp_path / "agent", True, Policy("h0", LOOPBACK)), PlainPlane(), "1.2.3"
    )
    yield where
    made.end("the test ended")


def host(where: Address, name: str = "h0") -> Host:
    entry = HostEntry(name=name, agent=str(where), address="127.0.0.1")
    return Host(entry, (0,), "roce", {"address": "127.0.0.1"})


def refused(where: Address, identity: Identity | None, name: str = "h0") -> RefusedError:
    with RemoteAgent(host(where, name), identity) as remote, pytest.raises(RefusedError) as info:
        remote.describe()
    return info.value


def test_a_host_joins_once_by_its_token(authority: Authority, tmp_path: Path) -> None:
    where, names = parse_address(f"127.0.0.1:{free_port()}"), list[str]()
    token = Tokens(authority.folder).issue("h7", authority.fingerprint)
    server = serve_enrolment(authority, where, names.append)
    try:
        identity = join(f"{token}@{where}", AgentFolder(tmp_path / "agent"))
        assert (identity.name, names) == (agent_name("h7"), ["h7"])
        assert (tmp_path / "agent/key.pem").stat().st_mode & 0o777 == 0o600
        with pytest.raises(RefusedError, match="a token that was used"):
            join(f"{token}@{where}", AgentFolder(tmp_path / "other"))
    finally:
        server.stop(None).wait()


def test_a_token_is_kept_as_a_hash_and_expires(authority: Authority) -> None:
    tokens = Tokens(authority.folder)
    token = tokens.issue("h0", authority.fingerprint, lifetime_s=-1)
    other = tokens.issue("h1", authority.fingerprint)
    stored = (authority.folder / "tokens.json").read_text()
    assert other.secret not in stored
    with pytest.raises(RefusedError, match="has expired"):
        tokens.redeem(str(token))
    assert tokens.waiting() == ["h1"]


def test_a_host_tells_another_authority_nothing(authority: Authority, tmp_path: Path) -> None:
    other, where = Authority(tmp_path / "other"), parse_address(f"127.0.0.1:{free_port()}")
    token = Tokens(authority.folder).issue("h0", authority.fingerprint)
    server = serve_enrolment(other, where, pytest.fail)
    try:
        with pytest.raises(RefusedError, match="another authority at"):
            join(f"{token}@{where}", AgentFolder(tmp_path / "agent"))
    finally:
        server.stop(None).wait()
    assert Tokens(authority.folder).waiting() == ["h0"]


def test_a_controller_is_served(authority: Authority, agent: Address) -> None:
    with RemoteAgent(host(agent), authority.controller()) as remote:
        assert remote.describe().version == "1.2.3"


def test_a_controller_of_another_authority_is_told_so(agent: Address, tmp_path: Path) -> None:
    error = refused(agent, Authority(tmp_path / "other").controller())
    assert "whose certificate is refused: " in error.found
    assert error.allowed == "one of this controller's authority"


def test_an_agent_of_another_name_is_told_apart(authority: Authority, agent: Address) -> None:
    error = refused(agent, authority.controller(), "h1")
    assert error.found.endswith(f"which is {agent_name('h0')}")
    assert error.allowed == agent_name("h1")


def test_an_expired_certificate_keeps_the_agent_from_starting(authority: Authority, tmp_path: Path) -> None:
    folder = joined(authority, tmp_path / "agent", days=0)
    with pytest.raises(RefusedError, match="expired on") as info:
        folder.identity()
    assert "join again" in info.value.hint


def at_another_time(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """Have certificates made and looked at as if it were hours later."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(hours=hours)

    monkeypatch.setattr("fabricbench.hosts.certificates.datetime", Shifted)


def test_a_time_of_day_before_its_certificate_keeps_the_agent_from_starting(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = joined(authority, tmp_path / "agent")
    at_another_time(monkeypatch, -3)
    with pytest.raises(RefusedError, match=r"certificate\.pem, valid from ") as info:
        folder.identity()
    assert info.value.hint.startswith("the time of day of this host is ")


@pytest.mark.parametrize("hours", [3, -48])
def test_a_time_of_day_that_differs_is_asked_for_where_the_agent_refuses(
    authority: Authority, agent: Address, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    with monkeypatch.context() as shifted:
        at_another_time(shifted, hours)
        identity = authority.controller()
    error = refused(agent, identity)
    assert error.found == f"{agent}, which refuses this controller's certificate"
    assert error.hint.startswith("is the time of day right here and at the host?")


def test_a_time_of_day_that_differs_is_asked_for_where_the_controller_refuses(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as shifted:
        at_another_time(shifted, 3)
        early = joined(authority, tmp_path / "agent").identity()
    assert early is not None
    where = parse_address(f"127.0.0.1:{free_port()}")
    server = grpc.server(ThreadPoolExecutor(1))
    bind(server, where, server_credentials(early))
    server.start()
    error = refused(where, authority.controller())
    server.stop(None).wait()
    assert error.found.endswith("certificate is refused: certificate is not yet valid")
    assert error.hint.startswith("is the time of day right here and at the host?")


def fabricbench(*command: str | Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "fabricbench", *map(str, command)]
    return subprocess.run(program, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "of", "told"),
    [
        ("h0", "another", "whose certificate is refused: "),
        ("h1", "authority", f"which is {agent_name('h0')}; allowed: {agent_name('h1')}"),
    ],
)
def test_a_run_ends_with_status_2_where_certificates_do_not_fit(
    tmp_path: Path, agent: Address, name: str, of: str, told: str
) -> None:
    Authority(tmp_path / of)
    file, workspace = tmp_path / "hosts.yaml", tmp_path / "workspace"
    entry = {"name": name, "agent": str(agent), "address": "127.0.0.1", "plays": list(range(8))}
    file.write_text(json.dumps({"version": 1, "hosts": [entry]}))
    backend = ("--backend", "hosts", "--hosts", file, "--authority", tmp_path / of)
    finished = fabricbench("run", "jct-alltoall", *backend, "--workspace", workspace)
    assert finished.returncode == 2, finished.stderr
    assert told in finished.stderr
    assert not list(workspace.glob("trials/*"))


def test_an_agent_with_an_expired_certificate_ends_with_status_2(
    authority: Authority, tmp_path: Path
) -> None:
    joined(authority, tmp_path / "agent", days=0)
    finished = fabricbench("agent", "--folder", tmp_path / "agent", "--listen", f"127.0.0.1:{free_port()}")
    assert finished.returncode == 2, finished.stderr
    assert "expired on" in finished.stderr
    assert "join again" in finished.stderr


def test_without_a_certificate_nothing_is_served(authority: Authority, agent: Address) -> None:
    key, request = new_request()
    another_agent = Identity(key, authority.sign_agent("h1", request), authority.certificate)
    for certificates in (
        grpc.ssl_channel_credentials(authority.certificate),
        grpc.ssl_channel_credentials(authority.certificate, another_agent.key, another_agent.certificate),
        None,
    ):
        options = (*OPTIONS, ("grpc.ssl_target_name_override", agent_name("h0")))
        with (
            grpc.insecure_channel(str(agent))
            if certificates is None
            else grpc.secure_channel(str(agent), certificates, options)
        ) as channel:
            stub = agent_pb2_grpc.AgentStub(channel)
            for name, message in (("Ping", pb.PingRequest()), ("Describe", pb.DescribeRequest())):
                with pytest.raises(grpc.RpcError) as info:
                    getattr(stub, name)(message, timeout=3, metadata=METADATA)
                codes = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.FAILED_PRECONDITION)
                assert info.value.code() in codes


@pytest.mark.parametrize("spoken", ["0", "2", "x" * 1000])
def test_another_version_of_the_protocol_gets_a_clear_word(
    authority: Authority, agent: Address, spoken: str
) -> None:
    identity = authority.controller()
    credentials = grpc.ssl_channel_credentials(identity.authority, identity.key, identity.certificate)
    options = (*OPTIONS, ("grpc.ssl_target_name_override", agent_name("h0")))
    with grpc.secure_channel(str(agent), credentials, options) as channel:
        stub = agent_pb2_grpc.AgentStub(channel)
        with pytest.raises(grpc.RpcError) as info:
            stub.Describe(pb.DescribeRequest(), timeout=3, metadata=((PROTOCOL_KEY, spoken),))
    assert "version 1, of fabricbench 1.2.3 at host h0" in (info.value.details() or "")


def test_random_bytes_leave_the_agent_up(authority: Authority, agent: Address) -> None:
    """Junk at the port, within TLS without a certificate, and as messages of a controller."""
    draw = random.Random(21)
    for number in range(60):
        junk = draw.randbytes(draw.randrange(1, 3000))
        if number % 3 == 0:
            with socket.create_connection((agent.host, agent.port), 2) as plain:
                plain.sendall(junk)
        elif number % 3 == 1:
            context = ssl._create_unverified_context()
            context.set_alpn_protocols(["h2"])
            try:
                with (
                    socket.create_connection((agent.host, agent.port), 2) as plain,
                    context.wrap_socket(plain) as secured,
                ):
                    secured.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + junk)
                    secured.settimeout(2)
                    answer = secured.recv(1 << 16)
            except OSError:
                answer = b""
            assert b"fabricbench" not in answer
    _random_messages(authority, agent, draw)
    with RemoteAgent(host(agent), authority.controller()) as remote:
        assert remote.describe().held_by == ""


def _random_messages(authority: Authority, agent: Address, draw: random.Random) -> None:
    identity = authority.controller()
    credentials = grpc.ssl_channel_credentials(identity.authority, identity.key, identity.certificate)
    options = (*OPTIONS, ("grpc.ssl_target_name_override", agent_name("h0")))
    calls = ("Ping", "Describe", "Prepare", "Connect", "Arm", "Start", "Stop", "Collect", "Release", "None")
    with grpc.secure_channel(str(agent), credentials, options) as channel:
        for _ in range(300):
            method = f"/fabricbench.agent.v1.Agent/{draw.choice(calls)}"
            message = draw.randbytes(draw.choice((0, 1, 2, 5, 20, 200, 5000)))
            try:
                channel.unary_unary(method, bytes, bytes)(message, timeout=3, metadata=METADATA)
            except grpc.RpcError as error:
                assert error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED  # noqa: PT017


def test_no_tls_is_for_private_addresses_only(tmp_path: Path) -> None:
    settings = AgentSettings(parse_address("0.0.0.0:7470"), tmp_path, False, Policy("h0", LOOPBACK))
    with pytest.raises(RefusedError, match="allowed: a loopback address or a Unix socket"):
        Agent(settings, PlainPlane(), "1")


def test_an_agent_that_has_not_joined_does_not_start(tmp_path: Path) -> None:
    settings = AgentSettings(parse_address("127.0.0.1:7470"), tmp_path, True, Policy("h0", LOOPBACK))
    with pytest.raises(RefusedError, match="no certificate in"):
        Agent(settings, PlainPlane(), "1")


@pytest.mark.parametrize(
    "text", ["", ":7470", "h0", "h0:0", "h0:65536", "h0:x", "unix:relative", "unix:/" + "x" * 200, "a b:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="--listen: found"):
        parse_address(text, field="--listen")
