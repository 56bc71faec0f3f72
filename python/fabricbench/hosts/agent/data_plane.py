"""The part of the compiled core that moves data, as the agent sees it.

This is the only module of the hosts that knows the core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fabricbench.hosts.protocol import RefusedError


class HostRun(Protocol):
    """One host's share of a run: sends and receives what its ranks do, in real time.

    The run stops by itself when `keep_alive` was not called for two seconds.
    """

    def addresses(self) -> bytes:
        """Return what peers must know to connect."""

    def connect(self, peers: Mapping[int, bytes]) -> None:
        """Connect to the hosts of the run, by their numbers in its spec."""

    def start(self, at_ns: int) -> None:
        """Start at a time of CLOCK_MONOTONIC [ns], in threads of its own."""

    def keep_alive(self) -> None:
        """Say that the controller is there."""

    def stop(self, reason: str) -> None:
        """Stop traffic."""

    def progress(self) -> Mapping[str, Any]:
        """Return delivered_bytes, total_bytes, elapsed_ps, state, reason and is_idle."""

    def wait(self, timeout_s: float) -> bool:
        """Wait until everything is drained, stopped or failed; tell whether it is."""

    def sent(self) -> bytes:
        """Return the sender's half of each chunk as an Arrow IPC stream."""

    def received(self) -> bytes:
        """Return the receiver's half of each chunk as an Arrow IPC stream."""

    def counters(self) -> Mapping[str, int | float]:
        """Return what the endpoint counted of itself."""


class DataPlane(Protocol):
    """Makes the share of a host of each run."""

    def drivers(self, address: str = "") -> Mapping[str, str]:
        """Return each driver with why it cannot be used here (from an address, if given), or nothing."""

    def prepare(self, spec_json: str, hosts: Sequence[int], driver: str, settings_json: str) -> HostRun:
        """Make the share of some hosts of a RunSpec.

        Raises:
            RefusedError: It cannot be carried out here.
        """


class CoreDataPlane:
    """The data plane of the compiled core."""

    def drivers(self, address: str = "") -> Mapping[str, str]:
        """Return each driver with why it cannot be used here (from an address, if given), or nothing."""
        from fabricbench import _core

        try:
            return _core.drivers(address or None)
        except ValueError:  # not an IPv4 address; that is told where addresses are looked at
            return _core.drivers()

    def prepare(self, spec_json: str, hosts: Sequence[int], driver: str, settings_json: str) -> HostRun:
        """Make the share of some hosts of a RunSpec; see `DataPlane.prepare`."""
        from fabricbench import _core

        try:
            return _core.HostRun(spec_json, hosts=list(hosts), driver=driver, settings_json=settings_json)
        except _core.SpecError as error:
            raise RefusedError(error.field, error.found, error.allowed) from error
        except (ValueError, OSError) as error:
            raise RefusedError(
                "hosts", str(error), "", "the file of hosts names driver and settings"
            ) from error
