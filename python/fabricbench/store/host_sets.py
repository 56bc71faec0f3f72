"""Finds why queued runs cannot start on their hosts: one run at a time uses a host, in queue order."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass

from fabricbench.store.catalog.schema import QUEUED, RUNNING
from fabricbench.store.catalog.sql import Connection, Sql
from fabricbench.store.catalog.trial import to_json


@dataclass(frozen=True)
class HostSet:
    """The hosts of a file, as identified in the queue.

    Attributes:
        name: Name of the file on the server.
        digest: Digest of the hosts in the file.
        agents: Addresses of their agents.
    """

    name: str
    digest: str
    agents: tuple[str, ...]

    def as_json(self) -> str:
        """Return it as JSON for the catalog."""
        return to_json(asdict(self))

    @classmethod
    def read(cls, text: str | None) -> HostSet | None:
        """Parse the JSON of `as_json`; None for a run without hosts.

        Raises:
            ValueError: It is something else.
            TypeError: It is something else.
        """
        if text is None:
            return None
        content = json.loads(text)
        return cls(str(content["name"]), str(content["digest"]), tuple(map(str, content["agents"])))


def obstacles_in(connection: Connection, offered: Collection[HostSet]) -> dict[str, str]:
    """Return why queued runs of a catalog cannot start here; see `obstacles`."""
    query = "SELECT id, hosts FROM runs WHERE hosts IS NOT NULL AND state = ?"
    waiting = [tuple(row) for row in connection.execute(Sql(f"{query} ORDER BY queued_at, number", QUEUED))]
    if not waiting:  # most runs have no hosts
        return {}
    running = [tuple(row) for row in connection.execute(Sql(query, RUNNING))]
    return obstacles(waiting, running, offered)


def obstacles(
    waiting: Iterable[tuple[str, str | None]],
    running: Iterable[tuple[str, str | None]],
    offered: Collection[HostSet],
) -> dict[str, str]:
    """Return why runs cannot start here, by their ids; runs that may start are omitted.

    Args:
        waiting: Ids of the queued runs with their hosts as JSON, the next one first.
        running: Ids of the running ones with their hosts as JSON.
        offered: The hosts that are available here.
    """
    occupied: dict[str, str] = {}
    for run_id, text in running:
        occupied |= dict.fromkeys(_agents(text), f"run {run_id} uses them")
    reasons: dict[str, str] = {}
    for run_id, text in waiting:
        hosts = _readable(text)
        if hosts is None or hosts not in offered:
            if text is not None:
                reasons[run_id] = _missing(hosts, offered)
            continue
        if reason := next((occupied[agent] for agent in hosts.agents if agent in occupied), ""):
            reasons[run_id] = f"hosts {hosts.name}: {reason}"
        for agent in hosts.agents:
            occupied.setdefault(agent, f"run {run_id}, which is for them too, comes first")
    return reasons


def _missing(hosts: HostSet | None, offered: Collection[HostSet]) -> str:
    if hosts is None:
        return "hosts that cannot be read from the catalog"
    if any(host_set.name == hosts.name for host_set in offered):
        return f"hosts {hosts.name} as they were when it was asked for: their file has changed here"
    return f"hosts {hosts.name}, which this server does not have"


def _agents(text: str | None) -> tuple[str, ...]:
    hosts = _readable(text)
    return hosts.agents if hosts else ()


def _readable(text: str | None) -> HostSet | None:
    try:
        return HostSet.read(text)
    except (KeyError, TypeError, ValueError):
        return None
