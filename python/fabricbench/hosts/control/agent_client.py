"""Client of an agent: every call has a deadline, and every failure becomes an error for users."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import grpc

from fabricbench.hosts import channels
from fabricbench.hosts.certificates import Identity, agent_name
from fabricbench.hosts.control.clocks import ClockOffset, Trip, offset_of
from fabricbench.hosts.control.hosts_file import Host
from fabricbench.hosts.proto import agent_pb2 as pb, agent_pb2_grpc
from fabricbench.hosts.protocol import HEARTBEAT_S, RefusedError

_DEADLINES_S: Final[Mapping[str, float]] = {
    "Ping": 2,
    "Describe": 20,
    "Prepare": 60,
    "Connect": 60,
    "Arm": 20,
    "Start": 2,
    "Stop": 2,
    "Release": 5,
}
_COLLECT_S: Final = 300.0
_WATCH_S: Final = 7 * 86_400.0
"""Longest run; far beyond any plan, but still a deadline."""
_PINGS: Final = 32
ROWS_BYTES_MAX: Final = 8 << 30
"""Most bytes of rows from one host."""


@dataclass
class Watched:
    """Latest state of an agent's progress stream."""

    progress: pb.Progress = field(default_factory=pb.Progress)
    last_progress_s: float = field(default_factory=time.monotonic)
    lost: RefusedError | None = None


@dataclass(frozen=True)
class Collected:
    """Measurements of an agent.

    Attributes:
        sent: Arrow IPC stream of the sender's halves.
        received: Arrow IPC stream of the receiver's halves.
        counters: Counters of devices, and of the endpoint.
    """

    sent: bytes
    received: bytes
    counters: pb.Counters


class RemoteAgent:
    """Client of the agent of a host."""

    def __init__(self, host: Host, identity: Identity | None, run: bytes = b"") -> None:
        self.host = host
        self.watched = Watched()
        self._identity = identity
        self._run = run
        self._address = host.entry.agent_address
        self._channel = channels.channel(self._address, identity, agent_name(host.name))
        self._stub = agent_pb2_grpc.AgentStub(self._channel)
        self._unwatched = threading.Event()
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Return the agent."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the channel."""
        self.close()

    def close(self) -> None:
        """Stop watching, and close the channel."""
        self._unwatched.set()
        self._channel.close()

    @property
    def who(self) -> str:
        """Description of the agent for messages."""
        return f"the agent of host {self.host.name} at {self._address}"

    def _call(self, name: str, request: Any) -> Any:
        try:
            return getattr(self._stub, name)(request, timeout=_DEADLINES_S[name], metadata=channels.METADATA)
        except grpc.RpcError as error:
            raise self._failure(error) from error

    def _failure(self, error: grpc.RpcError) -> RefusedError:
        """Translate a failed call into an error; certificates are checked if the agent is unavailable."""
        is_unavailable = error.code() is grpc.StatusCode.UNAVAILABLE
        if self._identity is not None and is_unavailable and not self._address.path:
            problem = channels.tls_problem(self._address, self._identity, agent_name(self.host.name))
            if problem is not None:
                return RefusedError(f"host {self.host.name}", problem.found, problem.allowed, problem.hint)
        refusal = channels.refusal_of(error, self.who)
        name = f"host {self.host.name}"
        field_name = f"{name}: {refusal.field}" if refusal.field else name
        return RefusedError(field_name, refusal.found, refusal.allowed, refusal.hint)

    def describe(self) -> pb.Description:
        """Return the facts, drivers and checks of the host."""
        reply: pb.Description = self._call("Describe", pb.DescribeRequest(address=self.host.entry.address))
        return reply

    def clock(self) -> ClockOffset:
        """Measure the offset of the host's clock from ours."""
        return offset_of([self._trip() for _ in range(_PINGS)])

    def _trip(self) -> Trip:
        requested_ns = time.monotonic_ns()
        reply = self._call("Ping", pb.PingRequest())
        return Trip(requested_ns, reply.received_ns, reply.sent_ns, time.monotonic_ns())

    def prepare(self, spec_json: str, controller: str, peers: list[str]) -> bytes:
        """Prepare the run at the host; return its connection parameters for peers."""
        request = pb.PrepareRequest(
            run=self._run,
            controller=controller,
            spec_json=spec_json,
            hosts=self.host.plays,
            driver=self.host.driver,
            settings_json=json.dumps(self.host.settings),
            address=self.host.entry.address,
            peers=peers,
        )
        return bytes(self._call("Prepare", request).addresses)

    def connect(self, peers: Mapping[int, bytes]) -> None:
        """Connect the host to its peers."""
        self._call("Connect", pb.ConnectRequest(run=self._run, peers=dict(peers)))

    def arm(self) -> None:
        """Read the host's counters before the run."""
        self._call("Arm", pb.ArmRequest(run=self._run))

    def start(self, at_ns: int) -> None:
        """Start the host at a time of its own clock."""
        self._call("Start", pb.StartRequest(run=self._run, at_ns=at_ns))

    def stop(self, reason: str) -> None:
        """Stop the host's traffic."""
        self._call("Stop", pb.StopRequest(run=self._run, reason=reason))

    def release(self) -> None:
        """Release the run at the host."""
        self._call("Release", pb.ReleaseRequest(run=self._run))

    def collect(self) -> Collected:
        """Return the measurements of the host."""
        sent, received, counters = bytearray(), bytearray(), pb.Counters()
        request = pb.CollectRequest(run=self._run)
        try:
            for piece in self._stub.Collect(request, timeout=_COLLECT_S, metadata=channels.METADATA):
                sent += piece.sent
                received += piece.received
                if piece.HasField("counters"):
                    counters = piece.counters
                if len(sent) + len(received) > ROWS_BYTES_MAX:
                    raise RefusedError(f"host {self.host.name}", "more rows", f"{ROWS_BYTES_MAX} bytes")
        except grpc.RpcError as error:
            raise self._failure(error) from error
        return Collected(bytes(sent), bytes(received), counters)

    def watch(self, beat_s: float = HEARTBEAT_S) -> None:
        """Send a heartbeat every `beat_s` from now on, and store the agent's progress."""
        self.watched = Watched()
        self._watcher = threading.Thread(target=self._watch, args=(beat_s,), daemon=True)
        self._watcher.start()

    def _watch(self, beat_s: float) -> None:
        try:
            stream = self._stub.Watch(self._beats(beat_s), timeout=_WATCH_S, metadata=channels.METADATA)
            for progress in stream:
                self.watched.progress = progress
                self.watched.last_progress_s = time.monotonic()
        except grpc.RpcError as error:
            if not self._unwatched.is_set():
                self.watched.lost = self._failure(error)

    def _beats(self, beat_s: float) -> Iterator[pb.Heartbeat]:
        while not self._unwatched.is_set():
            yield pb.Heartbeat(run=self._run)
            self._unwatched.wait(beat_s)
