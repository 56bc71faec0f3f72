"""The run of an agent: its controller and state, limits on runs, and its end when the controller is lost."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, Final

from fabricbench.hosts.agent.counters import Snapshot, snapshot
from fabricbench.hosts.agent.data_plane import DataPlane, HostRun
from fabricbench.hosts.agent.host_facts import Interface, interface_of
from fabricbench.hosts.protocol import HOSTS_MAX, LEASE_S, RELEASE_S, RefusedError

RUN_BYTES: Final = 16
_WATCH_S: Final = 0.1
HEADERS_BYTES: Final = 64
"""Headers of a RoCEv2 packet in IPv4: IP 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4."""
_PACKET_DRIVERS: Final = ("roce", "verbs")
"""Drivers that send packets of the plan's MTU; TCP segments adapt to the interface."""


@dataclass(frozen=True)
class Policy:
    """Limits of an agent for its controllers.

    Attributes:
        name: Name of the agent.
        networks: Networks that peers must be in.
        rate_limit_bps: Maximum send rate [bit/s]; 0 for no limit.
    """

    name: str
    networks: Sequence[IPv4Network | IPv6Network]
    rate_limit_bps: int = 0


@dataclass(frozen=True)
class Order:
    """A controller's request to run; see PrepareRequest of the protocol."""

    run: bytes
    controller: str
    spec_json: str
    hosts: Sequence[int]
    driver: str
    settings: Mapping[str, Any]
    address: str
    peers: Sequence[str]


@dataclass
class _PreparedRun:
    """A prepared run."""

    order: Order
    host_run: HostRun
    interface: Interface | None
    since: float
    last_heartbeat_s: float
    is_armed: bool = False
    is_started: bool = False
    before: Snapshot = field(default_factory=dict)


class Session:
    """Manages at most one run, which only its controller can access."""

    def __init__(
        self, policy: Policy, data_plane: DataPlane, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.policy = policy
        self._data_plane = data_plane
        self._clock = clock
        self._lock = threading.Lock()
        self._prepared: _PreparedRun | None = None
        self._is_preparing = ""
        self._ended = ""

    def drivers(self, address: str = "") -> Mapping[str, str]:
        """Return the reason why each driver is unusable here (for an address, if given); empty if usable."""
        return self._data_plane.drivers(address)

    @property
    def held_by(self) -> str:
        """The controller of the current run and its start time; empty if there is no run."""
        prepared = self._prepared
        if prepared is None:
            return self._is_preparing
        return f"{prepared.order.controller}, since {_utc(prepared.since)}"

    def prepare(self, order: Order) -> bytes:
        """Accept a run, and return its connection parameters for peers.

        Raises:
            RefusedError: The agent already has a run, or this one is not possible or not allowed here.
        """
        self._check(order)
        interface = interface_of(order.address)
        self._check_host(order, interface)
        with self._lock:
            if self.held_by:
                hint = "wait until it ends; an agent whose controller is gone is free after some seconds"
                raise RefusedError("", f"another run here, of {self.held_by}", "one run at a time", hint)
            self._is_preparing = f"{order.controller}, since now"
        try:
            settings = json.dumps(self._limited(order.settings))
            host_run = self._data_plane.prepare(order.spec_json, order.hosts, order.driver, settings)
            addresses = host_run.addresses()
            with self._lock:
                self._prepared = _PreparedRun(order, host_run, interface, time.time(), self._clock())
        finally:
            self._is_preparing = ""
        return addresses

    def _check(self, order: Order) -> None:
        """Check that the order is valid and that its peers are allowed."""
        if self._ended:
            raise RefusedError("", f"an agent that is ending: {self._ended}")
        if len(order.run) != RUN_BYTES or not order.hosts or len(order.hosts) > HOSTS_MAX:
            raise RefusedError("", "a run without an id of 16 bytes, or without hosts", "both")
        for peer in (order.address, *order.peers):
            if not self._is_allowed(peer):
                allowed = ", ".join(map(str, self.policy.networks))
                hint = f"the agent decides: `fabricbench agent --allow {peer}/32` lets it send there"
                raise RefusedError("hosts.address", f'"{peer}"', allowed, hint)

    def _is_allowed(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.policy.networks)

    def _check_host(self, order: Order, interface: Interface | None) -> None:
        """Check that the host can execute the run."""
        drivers = self.drivers(order.address)
        obstacle = drivers.get(order.driver)
        if obstacle is None:
            allowed = ", ".join(sorted(drivers))
            raise RefusedError("hosts.driver", f'"{order.driver}"', allowed)
        if obstacle:
            raise RefusedError("hosts.driver", f'"{order.driver}", which cannot be used: {obstacle}')
        if interface is None:
            hint = "`ip address` at the host lists its addresses"
            raise RefusedError("hosts.address", f'"{order.address}"', "an address of the host", hint)
        mtu = _mtu_of(order.spec_json)
        if order.driver in _PACKET_DRIVERS and mtu + HEADERS_BYTES > interface.mtu:
            actual = f"{mtu} bytes, {mtu + HEADERS_BYTES} with headers"
            allowed = f"at most {interface.mtu} with headers, the MTU of {interface.name}"
            hint = f"raise the MTU of {interface.name} and of the fabric, or set transport.mtu lower"
            raise RefusedError("transport.mtu_bytes", actual, allowed, hint)

    def _limited(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a driver, with the networks and the rate limit of the agent."""
        # The data plane checks again where packets leave: the peers' parameters come from the controller.
        networks = [str(network) for network in self.policy.networks if isinstance(network, IPv4Network)]
        settings = {**settings, "allowed_peers": networks}
        limits = [limit for limit in (settings.get("rate_limit_bps"), self.policy.rate_limit_bps) if limit]
        return {**settings, "rate_limit_bps": min(limits)} if limits else settings

    def connect(self, run: bytes, peers: Mapping[int, bytes]) -> None:
        """Connect to the peers of the run."""
        self._own(run).host_run.connect(peers)

    def arm(self, run: bytes) -> None:
        """Read the counters before the run."""
        prepared = self._own(run)
        prepared.before = snapshot(prepared.interface)
        prepared.is_armed = True

    def start(self, run: bytes, at_ns: int) -> None:
        """Start at a time of CLOCK_MONOTONIC.

        Raises:
            RefusedError: The run has already started or is not armed, or the time has passed.
        """
        prepared = self._own(run)
        if not prepared.is_armed:
            raise RefusedError("", "a start of a run that is not armed", "Prepare, Connect, Arm, then Start")
        late_ns = time.monotonic_ns() - at_ns
        if late_ns > 0:
            hint = "the controller waits longer where hosts are slow to answer: try again"
            raise RefusedError("", f"a start {late_ns / 1e6:.1f} ms ago", "a start to come", hint)
        with self._lock:
            if prepared.is_started:
                raise RefusedError("", "a second start", "one")
            prepared.is_started = True
        prepared.host_run.start(at_ns)

    def heartbeat(self, run: bytes) -> tuple[str, Mapping[str, Any]]:
        """Record a heartbeat of the controller; return the state of the run and its progress."""
        prepared = self._own(run)
        prepared.host_run.keep_alive()
        progress = prepared.host_run.progress()
        state = str(progress["state"])
        if self._ended:
            return "stopped", {**progress, "reason": self._ended}
        return (state if prepared.is_started or state in ("stopped", "failed") else "waiting"), progress

    def stop(self, run: bytes, reason: str) -> None:
        """Stop traffic."""
        self._own(run).host_run.stop(reason)

    def results(self, run: bytes) -> tuple[bytes, bytes, Snapshot, Snapshot, Mapping[str, int | float]]:
        """Return both halves of the chunks, the counters before and after, and those of the endpoint."""
        prepared = self._own(run)
        after = snapshot(prepared.interface)
        host_run = prepared.host_run
        return host_run.sent(), host_run.received(), prepared.before, after, host_run.counters()

    def release(self, run: bytes) -> None:
        """Release a run; do nothing if it is not the current one."""
        with self._lock:
            if self._prepared is None or not hmac.compare_digest(self._prepared.order.run, run):
                return
            prepared, self._prepared = self._prepared, None
        prepared.host_run.stop("released")

    def end(self, reason: str) -> None:
        """Stop traffic for good, and report the reason to the controller."""
        self._ended = reason
        if prepared := self._prepared:
            prepared.host_run.stop(reason)

    def _own(self, run: bytes) -> _PreparedRun:
        """Return the run if the caller owns it, and count the call as a heartbeat.

        Raises:
            RefusedError: There is no run, or it belongs to another controller.
        """
        prepared = self._prepared
        if prepared is None or not hmac.compare_digest(prepared.order.run, run):
            now = f", now of {prepared.order.controller}" if prepared else ""
            hint = "an agent lets go of a run whose controller was silent for some seconds"
            raise RefusedError("", f"a run that is not here{now}", "the one that was prepared", hint)
        prepared.last_heartbeat_s = self._clock()
        return prepared

    def watch_over(self, until: threading.Event) -> None:
        """Stop a run whose controller is silent, and release it later; return when `until` is set."""
        while not until.wait(_WATCH_S):
            self.check_controller()

    def check_controller(self) -> None:
        """Check once whether the controller is still present."""
        prepared = self._prepared
        if prepared is None:
            return
        silent_s = self._clock() - prepared.last_heartbeat_s
        if silent_s > RELEASE_S:
            self.release(prepared.order.run)
        elif silent_s > LEASE_S:
            prepared.host_run.stop(f"its controller was silent for {LEASE_S:g} s")


def _mtu_of(spec_json: str) -> int:
    try:
        return int(json.loads(spec_json)["transport"]["mtu_bytes"])
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError("spec_json", "no RunSpec", "one with transport.mtu_bytes") from error


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
