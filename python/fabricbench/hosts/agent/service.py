"""The agent's gRPC service: maps calls to its session; accepts only controllers with a certificate."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import grpc

from fabricbench.hosts.agent.checks import host_checks
from fabricbench.hosts.agent.counters import Snapshot
from fabricbench.hosts.agent.host_facts import host_facts
from fabricbench.hosts.agent.session import Order, Session
from fabricbench.hosts.certificates import CONTROLLER
from fabricbench.hosts.channels import abort
from fabricbench.hosts.proto import agent_pb2 as pb, agent_pb2_grpc
from fabricbench.hosts.protocol import PIECE_BYTES, PROTOCOL, PROTOCOL_KEY, RefusedError
from fabricbench.words import one_line

_CONTROLLER_LENGTH_MAX: Final = 100
_REASON_LENGTH_MAX: Final = 500
_SETTINGS_LENGTH_MAX: Final = 1 << 16


class AgentService(agent_pb2_grpc.AgentServicer):
    """The agent's calls. Each first checks the caller and its protocol version."""

    def __init__(self, session: Session, version: str, *, has_tls: bool) -> None:
        self._session = session
        self._version = version
        self._has_tls = has_tls

    def _admit(self, context: grpc.ServicerContext) -> None:
        """Check that the caller is a controller with this version of the protocol.

        Raises:
            RefusedError: It is not.
        """
        if self._has_tls and _peer_name(context) != CONTROLLER:
            raise RefusedError("", f"a call of {_peer_name(context) or 'nobody'}", CONTROLLER)
        caller_version = dict(context.invocation_metadata() or ()).get(PROTOCOL_KEY, "none")
        if caller_version != PROTOCOL:
            actual = f"version {one_line(str(caller_version), 20)} of the protocol at the controller"
            allowed = (
                f"version {PROTOCOL}, of fabricbench {self._version} at host {self._session.policy.name}"
            )
            raise RefusedError("", actual, allowed, "bring both to the same version of fabricbench")

    def Ping(self, request: pb.PingRequest, context: grpc.ServicerContext) -> pb.PingReply:  # noqa: ARG002, N802
        """Return the time."""
        received_ns = time.monotonic_ns()
        _admitted(self, context)
        return pb.PingReply(received_ns=received_ns, sent_ns=time.monotonic_ns())

    def Describe(self, request: pb.DescribeRequest, context: grpc.ServicerContext) -> pb.Description:  # noqa: N802
        """Return the facts, drivers and checks of the host."""
        _admitted(self, context)
        address, policy = _address(request.address, context), self._session.policy
        drivers = self._session.drivers(address)
        checks = [
            pb.Check(name=check.name, state=check.state.value, found=check.found, hint=check.hint)  # type: ignore[arg-type]
            for check in host_checks(address, drivers)
        ]
        return pb.Description(
            version=self._version,
            name=policy.name,
            drivers=drivers,
            facts=host_facts(address),
            checks=checks,
            allowed_networks=[str(network) for network in policy.networks],
            rate_limit_bps=policy.rate_limit_bps,
            held_by=self._session.held_by,
        )

    def Prepare(self, request: pb.PrepareRequest, context: grpc.ServicerContext) -> pb.Prepared:  # noqa: N802
        """Accept a run."""
        order = Order(
            run=request.run,
            controller=one_line(request.controller, _CONTROLLER_LENGTH_MAX),
            spec_json=request.spec_json,
            hosts=list(request.hosts),
            driver=request.driver,
            settings=_settings(request.settings_json, context),
            address=request.address,
            peers=list(request.peers),
        )
        return pb.Prepared(addresses=_admitted(self, context, lambda: self._session.prepare(order)))

    def Connect(self, request: pb.ConnectRequest, context: grpc.ServicerContext) -> pb.Connected:  # noqa: N802
        """Connect to the peers."""
        _admitted(self, context, lambda: self._session.connect(request.run, dict(request.peers)))
        return pb.Connected()

    def Arm(self, request: pb.ArmRequest, context: grpc.ServicerContext) -> pb.Armed:  # noqa: N802
        """Read the counters."""
        _admitted(self, context, lambda: self._session.arm(request.run))
        return pb.Armed()

    def Start(self, request: pb.StartRequest, context: grpc.ServicerContext) -> pb.Started:  # noqa: N802
        """Start at a time."""
        _admitted(self, context, lambda: self._session.start(request.run, request.at_ns))
        return pb.Started()

    def Watch(  # noqa: N802
        self, request_iterator: Iterator[pb.Heartbeat], context: grpc.ServicerContext
    ) -> Iterator[pb.Progress]:
        """Answer each heartbeat with the progress of the run."""
        _admitted(self, context)
        for heartbeat in request_iterator:
            run = heartbeat.run
            state, progress = _admitted(self, context, partial(self._session.heartbeat, run))
            yield pb.Progress(
                state=state.upper(),
                delivered_bytes=progress["delivered_bytes"],
                total_bytes=progress["total_bytes"],
                elapsed_ps=progress["elapsed_ps"],
                is_idle=progress["is_idle"],
                reason=one_line(progress.get("reason") or "", _REASON_LENGTH_MAX),
            )

    def Stop(self, request: pb.StopRequest, context: grpc.ServicerContext) -> pb.Stopped:  # noqa: N802
        """Stop traffic."""
        reason = one_line(request.reason, _REASON_LENGTH_MAX)
        _admitted(self, context, lambda: self._session.stop(request.run, reason))
        return pb.Stopped()

    def Collect(self, request: pb.CollectRequest, context: grpc.ServicerContext) -> Iterator[pb.Piece]:  # noqa: N802
        """Stream the measurements."""
        measurements = _admitted(self, context, lambda: self._session.results(request.run))
        sent, received, before, after, endpoint = measurements
        for start in range(0, len(sent), PIECE_BYTES):
            yield pb.Piece(sent=sent[start : start + PIECE_BYTES])
        for start in range(0, len(received), PIECE_BYTES):
            yield pb.Piece(received=received[start : start + PIECE_BYTES])
        yield pb.Piece(counters=_counters(before, after, {name: float(n) for name, n in endpoint.items()}))

    def Release(self, request: pb.ReleaseRequest, context: grpc.ServicerContext) -> pb.Released:  # noqa: N802
        """Release the run."""
        _admitted(self, context, lambda: self._session.release(request.run))
        return pb.Released()


def _admitted(
    service: AgentService, context: grpc.ServicerContext, action: Callable[[], Any] | None = None
) -> Any:
    """Admit the caller, run an action, and end the call with any refusal."""
    try:
        service._admit(context)
        return action() if action else None
    except RefusedError as refusal:
        abort(context, refusal)
    except (ValueError, OSError, RuntimeError) as error:  # errors of the data plane about peers and sockets
        abort(context, RefusedError("", one_line(str(error), _REASON_LENGTH_MAX)))


def _peer_name(context: grpc.ServicerContext) -> str:
    names = context.auth_context().get("x509_common_name", [b""])
    return bytes(names[0]).decode("utf-8", "replace")


def _address(text: str, context: grpc.ServicerContext) -> str:
    from ipaddress import ip_address

    try:
        return str(ip_address(text)) if text else ""
    except ValueError:
        abort(context, RefusedError("address", f'"{one_line(text, 60)}"', "an IP address"))


def _settings(text: str, context: grpc.ServicerContext) -> dict[str, Any]:
    try:
        settings = json.loads(text) if len(text) <= _SETTINGS_LENGTH_MAX else None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        abort(context, RefusedError("settings_json", "no settings", "a JSON object of at most 64 KiB"))
    return settings


def _counters(before: Snapshot, after: Snapshot, endpoint: dict[str, float]) -> pb.Counters:
    devices = []
    for key in sorted(before.keys() & after.keys()):
        (device, source, vendor_name), definition = key, after[key][1]
        devices.append(
            pb.Counter(
                device=device,
                source=source,
                vendor_name=vendor_name,
                name=definition.name if definition else "",
                meaning=definition.meaning if definition else "",
                unit=definition.unit if definition else "",
                before=before[key][0],
                after=after[key][0],
            )
        )
    return pb.Counters(devices=devices, endpoint=endpoint)
