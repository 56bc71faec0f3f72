"""Checks one host, or all hosts of a file in parallel, by their agents; loads the controller's identity."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fabricbench import __version__
from fabricbench.hosts.certificates import Authority, Identity
from fabricbench.hosts.control.agent_client import RemoteAgent
from fabricbench.hosts.control.clocks import ClockOffset
from fabricbench.hosts.control.hosts_file import Host, Hosts, load_hosts
from fabricbench.hosts.proto import agent_pb2 as pb
from fabricbench.hosts.protocol import RefusedError

_AT_ONCE: Final = 32
_STATES: Final = {
    pb.Check.OK: "ok",
    pb.Check.UNKNOWN: "unknown",
    pb.Check.WARNING: "warning",
    pb.Check.PROBLEM: "PROBLEM",
}


@dataclass(frozen=True)
class HostReport:
    """Result of the checks of one host.

    Attributes:
        host: The host.
        description: Description by its agent; `None` if it did not answer.
        clock: Offset of its clock from ours.
        refusal: Why it did not answer.
        larger_mtu: The host with the largest MTU of all, and that MTU [bytes]; `None` if it is this one.
    """

    host: Host
    description: pb.Description | None = None
    clock: ClockOffset | None = None
    refusal: RefusedError | None = None
    larger_mtu: tuple[str, int] | None = None

    @property
    def mtu_bytes(self) -> int:
        """MTU of its interface; 0 if unknown."""
        return int(self.description.facts.get("mtu_bytes", 0)) if self.description else 0

    @property
    def is_problem(self) -> bool:
        """Whether a run would be refused."""
        return any(row["state"] == "PROBLEM" for row in self.rows())

    def as_dict(self) -> dict[str, Any]:
        """Return facts and checks as a dictionary for JSON."""
        facts = dict(self.description.facts) if self.description else {}
        checks = [{key: value for key, value in row.items() if key != "host"} for row in self.rows()]
        return {"host": self.host.name, "facts": facts, "checks": checks}

    def rows(self) -> Iterator[dict[str, str]]:
        """Yield each check: host, check, state, actual state, hint."""
        for name, state, actual, hint in self._checks():
            yield {"host": self.host.name, "check": name, "state": state, "found": actual, "hint": hint}

    def _checks(self) -> Iterator[tuple[str, str, str, str]]:
        description = self.description
        if description is None or self.clock is None:
            refusal = self.refusal or RefusedError("", "nothing")
            yield "agent", "PROBLEM", refusal.found, refusal.hint
            return
        is_same = description.version == __version__
        hint = "" if is_same else f"the controller has {__version__}: bring both to one version"
        yield "version", "ok" if is_same else "warning", description.version, hint
        error_us, offset_us = self.clock.error_ns / 1e3, self.clock.offset_ns / 1e3
        yield "clock", "ok", f"{offset_us:,.0f} us ahead, known to {error_us:.0f} us", ""
        if description.held_by:
            yield "run", "warning", f"busy with one of {description.held_by}", "a second one would be refused"
        yield "peers allowed", "ok", ", ".join(description.allowed_networks), ""
        yield from (
            (agent_check.name, _STATES[agent_check.state], agent_check.found, agent_check.hint)
            for agent_check in description.checks
        )
        if self.larger_mtu is not None:
            other, mtu = self.larger_mtu
            hint = "packets that others send are dropped here: give all hosts and switches one MTU"
            yield "MTU of all hosts", "warning", f"{self.mtu_bytes} bytes, {other} has {mtu}", hint
        obstacle = description.drivers.get(self.host.driver, "no such driver")
        if obstacle:
            hint = "choose another `driver` in the file of hosts"
            yield f"its driver {self.host.driver}", "PROBLEM", f"cannot be used: {obstacle}", hint


def survey(path: Path, authority: Path) -> list[HostReport]:
    """Check every host of a file.

    Raises:
        PlanError: The file is invalid.
        RefusedError: There is no authority for the calls.
    """
    hosts = load_hosts(path)
    identity = controller_identity(hosts, authority)
    with ThreadPoolExecutor(min(_AT_ONCE, len(hosts.hosts))) as pool:
        return _compared(list(pool.map(lambda host: check_host(host, identity), hosts.hosts)))


def _compared(reports: list[HostReport]) -> list[HostReport]:
    """Add the largest MTU to the reports of hosts with a smaller one."""
    largest = max(reports, key=lambda report: report.mtu_bytes)
    name_and_mtu = (largest.host.name, largest.mtu_bytes)
    return [
        replace(report, larger_mtu=name_and_mtu) if 0 < report.mtu_bytes < largest.mtu_bytes else report
        for report in reports
    ]


def check_host(host: Host, identity: Identity | None) -> HostReport:
    """Check a host, with the identity of the controller from `controller_identity`."""
    with RemoteAgent(host, identity) as agent:
        try:
            return HostReport(host, agent.describe(), agent.clock())
        except RefusedError as refusal:
            return HostReport(host, refusal=refusal)


def controller_identity(hosts: Hosts, folder: Path) -> Identity | None:
    """Return the identity of the controller, or `None` without TLS.

    Raises:
        RefusedError: No host has joined an authority here.
    """
    if not hosts.has_tls:
        return None
    if not (folder / "key.pem").exists():
        hint = "let the hosts join first: `fabricbench hosts token NAME... --address HOST`"
        raise RefusedError("", f"no authority in {folder}", "the one that the hosts have joined", hint)
    return Authority(folder).controller()
