"""Interface of the agent to the data plane, which is part of the compiled core.

No other module of `hosts` uses the core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fabricbench import _core
from fabricbench.hosts.protocol import RefusedError


class HostRun(Protocol):
    """One host's part of a run: sends and receives the messages of its ranks in real time.

    The run stops by itself if `keep_alive` is not called for two seconds.
    """

    def addresses(self) -> bytes:
        """Return the connection parameters for peers."""

    def connect(self, peers: Mapping[int, bytes]) -> None:
        """Connect to the hosts of the run, keyed by their numbers in its spec."""

    def start(self, at_ns: int) -> None:
        """Start at a time of CLOCK_MONOTONIC [ns], in threads of its own."""

    def keep_alive(self) -> None:
        """Confirm that the controller is present."""

    def stop(self, reason: str) -> None:
        """Stop traffic."""

    def progress(self) -> Mapping[str, Any]:
        """Return delivered_bytes, total_bytes, elapsed_ps, state, reason and is_idle."""

    def wait(self, timeout_s: float) -> bool:
        """Wait until the run is drained, stopped or failed; return whether it is."""

    def sent(self) -> bytes:
        """Return the sender's fields of each chunk as an Arrow IPC stream."""

    def received(self) -> bytes:
        """Return the receiver's fields of each chunk as an Arrow IPC stream."""

    def counters(self) -> Mapping[str, int | float]:
        """Return the endpoint's own counters."""


class DataPlane(Protocol):
    """Creates a host's part of each run."""

    def drivers(self, address: str = "") -> Mapping[str, str]:
        """Return the reason why each driver is unusable here (for an address, if given); empty if usable."""

    def prepare(self, spec_json: str, hosts: Sequence[int], driver: str, settings_json: str) -> HostRun:
        """Create the part of a RunSpec that belongs to some of its hosts.

        Raises:
            RefusedError: It cannot run here.
        """


class CoreDataPlane:
    """The data plane of the compiled core."""

    def drivers(self, address: str = "") -> Mapping[str, str]:
        """Return the reason why each driver is unusable here (for an address, if given); empty if usable."""
        try:
            return _core.drivers(address or None)
        except ValueError:  # not an IPv4 address; the address check reports that
            return _core.drivers()

    def prepare(self, spec_json: str, hosts: Sequence[int], driver: str, settings_json: str) -> HostRun:
        """Create the part of a RunSpec that belongs to some of its hosts; see `DataPlane.prepare`."""
        try:
            return _core.HostRun(spec_json, hosts=list(hosts), driver=driver, settings_json=settings_json)
        except _core.SpecError as error:
            raise RefusedError(error.field, error.found, error.allowed) from error
        except (ValueError, OSError) as error:
            raise RefusedError(
                "hosts", str(error), "", "the file of hosts names driver and settings"
            ) from error
