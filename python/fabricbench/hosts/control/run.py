"""Runs one trial over all its hosts: prepare, connect, start together, watch, collect results, release.

A failure at one host ends the run at all of them, with the reason; Ctrl-C stops the traffic first.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from fabricbench.hosts.certificates import Identity
from fabricbench.hosts.control.agent_client import Collected, RemoteAgent
from fabricbench.hosts.control.clocks import ClockOffset, ClockRun
from fabricbench.hosts.control.hosts_file import Host
from fabricbench.hosts.proto import agent_pb2 as pb
from fabricbench.hosts.protocol import (
    HEARTBEAT_MAX_S,
    HEARTBEAT_PER_HOST_S,
    HEARTBEAT_S,
    SILENCE_S,
    RefusedError,
)

_CALLS_AT_ONCE: Final = 32
_CLOCKS_AT_ONCE: Final = 2
"""More in parallel would delay each other and increase the clock error."""
_LEAD_S: Final = 0.3
_LEAD_PER_HOST_S: Final = 0.005
"""Lead time of the start, so that every agent has received it in time."""
_POLL_S: Final = 0.1
PATIENCE_S: Final = 30.0
"""A run without deliveries for this long is stopped: longer than a queue pair takes to give up."""
_IDLE_S: Final = 2 * HEARTBEAT_MAX_S
"""How long all hosts must report that they wait, so that no report predates a message of another host."""
_LOST_REASON: Final = (
    "chunks were acknowledged and never arrived whole; possibly packets were changed on the way"
)
_DROPPED_REASON: Final = "chunks never arrived whole, and senders send nothing again"

_T = TypeVar("_T")
State = pb.Progress


@dataclass(frozen=True)
class Step:
    """Progress of a run over all hosts; see `Progress` of the protocol."""

    delivered_bytes: int
    total_bytes: int
    elapsed_ps: int


@dataclass(frozen=True)
class HostResult:
    """Measurements of one host, and their context.

    Attributes:
        host: The host.
        description: Description by its agent.
        clock: Offset of its clock, with an error that is valid for the whole run.
        collected: Its measurements.
        failure: Reason of its failure; empty if it did not fail.
    """

    host: Host
    description: pb.Description
    clock: ClockRun
    collected: Collected
    failure: str


def _last_start_s(spec_json: str) -> float:
    """Return the latest start of a job of a RunSpec, after the start of the run [s]."""
    starts_ps = (job.get("start_ps", 0) for job in json.loads(spec_json).get("jobs", []))
    return max(starts_ps, default=0) / 1e12


def _lost_reason(spec_json: str) -> str:
    """Return why all hosts of a RunSpec may wait for each other."""
    is_unreliable = json.loads(spec_json).get("transport", {}).get("connection") == "uc"
    return _DROPPED_REASON if is_unreliable else _LOST_REASON


class HostsRun:
    """Coordinates one run.

    Attributes:
        ended_early: Reason if the run ended before all was delivered; else empty.
        spans_s: Duration of each phase [s].
    """

    def __init__(self, hosts: Sequence[Host], identity: Identity | None) -> None:
        run = secrets.token_bytes(16)
        self._agents = [RemoteAgent(host, identity, run) for host in hosts]
        self._pool = ThreadPoolExecutor(min(_CALLS_AT_ONCE, len(hosts)))
        self.ended_early = ""
        self._lost_reason = ""
        self.spans_s: dict[str, float] = {}

    def carry_out(self, spec_json: str, progressed: Callable[[Step], None]) -> list[HostResult]:
        """Run a RunSpec and return the measurements of each host.

        Args:
            spec_json: The RunSpec.
            progressed: Called with the progress about ten times a second; an exception from it stops the run.

        Raises:
            RefusedError: A host refuses the run, or is lost during it.
        """
        with self._let_go():
            descriptions = self._timed("describe", lambda: self._each(RemoteAgent.describe))
            self._timed("prepare", lambda: self._prepare(spec_json))
            before = self._timed("clocks", self._clocks)
            self._timed("arm", lambda: self._each(RemoteAgent.arm))
            start_ns = self._timed("start", lambda: self._start(before))
            starts_at_s = time.monotonic() + _last_start_s(spec_json)
            self._lost_reason = _lost_reason(spec_json)
            self._timed("run", lambda: self._wait(progressed, starts_at_s))
            after = self._clocks()
            collected = self._timed("collect", lambda: self._each(RemoteAgent.collect))
            clock_runs = [ClockRun(first, last, start_ns) for first, last in zip(before, after, strict=True)]
            rows = zip(self._agents, descriptions, clock_runs, collected, strict=True)
            return [
                HostResult(agent.host, description, clock, measurements, _failure(agent))
                for agent, description, clock, measurements in rows
            ]

    def _timed(self, name: str, part: Callable[[], _T]) -> _T:
        """Run a phase and record its duration."""
        start_s = time.monotonic()
        result = part()
        self.spans_s[name] = round(time.monotonic() - start_s, 3)
        return result

    def _prepare(self, spec_json: str) -> None:
        """Prepare the run at every host and connect the hosts to each other."""
        controller = f"{_user()}@{socket.gethostname()}, process {os.getpid()}"
        peers = [agent.host.entry.address for agent in self._agents]
        addresses = self._each(lambda agent: self._take(agent, spec_json, controller, peers))
        agents_and_addresses = zip(self._agents, addresses, strict=True)
        by_host = {number: address for agent, address in agents_and_addresses for number in agent.host.plays}
        self._each(lambda agent: agent.connect(by_host))

    def _take(self, agent: RemoteAgent, spec_json: str, controller: str, peers: list[str]) -> bytes:
        addresses = agent.prepare(spec_json, controller, peers)
        agent.watch(min(max(HEARTBEAT_S, HEARTBEAT_PER_HOST_S * len(self._agents)), HEARTBEAT_MAX_S))
        return addresses

    def _start(self, clocks: Sequence[ClockOffset]) -> int:
        """Start all hosts at one time, each by its own clock; return the local time of the start [ns]."""
        lead_s = _LEAD_S + _LEAD_PER_HOST_S * len(self._agents)
        at_ns = time.monotonic_ns() + round(lead_s * 1e9)
        offsets = {id(agent): clock.offset_ns for agent, clock in zip(self._agents, clocks, strict=True)}
        self._each(lambda agent: agent.start(at_ns + offsets[id(agent)]))
        return at_ns

    def _wait(self, progressed: Callable[[Step], None], starts_at_s: float) -> None:
        """Wait until every host has ended, one has failed, or no progress is made.

        Before `starts_at_s`, by the monotonic clock, a job has still to start.
        """
        delivered_bytes, last_delivery_s, last_busy_s = -1, time.monotonic(), time.monotonic()
        while True:
            states = self._states()
            step = self._step()
            progressed(step)
            if all(state == State.DRAINED for state in states):
                return
            if step.delivered_bytes != delivered_bytes:
                delivered_bytes, last_delivery_s = step.delivered_bytes, time.monotonic()
            now = time.monotonic()
            if now < starts_at_s or not self._all_wait():
                last_busy_s = now
            if State.FAILED in states:
                self._end_early("another host failed")
                return
            if now - last_busy_s > _IDLE_S:
                self._end_early(self._lost_reason)
                return
            if now - max(last_delivery_s, starts_at_s) > PATIENCE_S:
                self._end_early(f"nothing was delivered for {PATIENCE_S:g} s")
                return
            time.sleep(_POLL_S)

    def _end_early(self, reason: str) -> None:
        self.ended_early = reason
        self._each(lambda agent: agent.stop(reason))

    def _all_wait(self) -> bool:
        """Return whether every host has ended or waits for others."""
        reports = (agent.watched.progress for agent in self._agents)
        return all(report.is_idle or report.state == State.DRAINED for report in reports)

    def _states(self) -> list[int]:
        """Return the state of every host.

        Raises:
            RefusedError: A host is lost or has stopped.
        """
        now = time.monotonic()
        for agent in self._agents:
            watched = agent.watched
            name = f"host {agent.host.name}"
            if watched.lost is not None:
                actual = f"its agent lost while it ran: {watched.lost.found}"
                raise RefusedError(name, actual, watched.lost.allowed, watched.lost.hint)
            if now - watched.last_progress_s > SILENCE_S:
                hint = "is the host paused, overloaded or cut off? The run was ended at all hosts"
                raise RefusedError(name, f"its agent silent for {SILENCE_S:g} s", "", hint)
            if watched.progress.state == State.STOPPED:
                hint = "the run was ended at all hosts"
                raise RefusedError(name, f"its traffic stopped: {watched.progress.reason}", "", hint)
        return [agent.watched.progress.state for agent in self._agents]

    def _step(self) -> Step:
        reports = [agent.watched.progress for agent in self._agents]
        return Step(
            sum(report.delivered_bytes for report in reports),
            sum(report.total_bytes for report in reports),
            max(report.elapsed_ps for report in reports),
        )

    def _clocks(self) -> list[ClockOffset]:
        with ThreadPoolExecutor(_CLOCKS_AT_ONCE) as few:
            return list(few.map(RemoteAgent.clock, self._agents))

    def _each(self, call: Callable[[RemoteAgent], _T]) -> list[_T]:
        """Call all agents in parallel and return their replies; once all ended, raise the first error."""
        futures = [self._pool.submit(call, agent) for agent in self._agents]
        failures = [error for future in futures if (error := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    @contextmanager
    def _let_go(self) -> Iterator[None]:
        """Stop and release all agents when the block ends, for any reason; traffic first."""
        with ExitStack() as stack:
            for agent in self._agents:
                stack.callback(agent.close)
            stack.callback(self._pool.shutdown)
            try:
                yield
            except BaseException as error:
                reason = _reason(error)
                self._at_most_try(lambda agent: agent.stop(reason))
                raise
            finally:
                self._at_most_try(RemoteAgent.release)

    def _at_most_try(self, call: Callable[[RemoteAgent], None]) -> None:
        """Call all agents in parallel, ignoring refusals; an agent that does not answer stops by itself."""

        def tried(agent: RemoteAgent) -> None:
            with suppress(RefusedError):
                call(agent)

        self._each(tried)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "the user stopped the run"
    return f"the controller ended the run: {error}"


def _failure(agent: RemoteAgent) -> str:
    progress = agent.watched.progress
    return progress.reason if progress.state == State.FAILED else ""


def _user() -> str:
    with suppress(Exception):  # some containers have no user name
        return getpass.getuser()
    return "somebody"
