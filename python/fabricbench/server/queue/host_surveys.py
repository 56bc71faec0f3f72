"""Queries the agents in files of hosts in background threads, so that no request waits for a silent agent."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Final

from fabricbench.hosts.certificates import Identity
from fabricbench.hosts.control.hosts_file import Host, Hosts
from fabricbench.server.queue.hosts_files import HostsFiles

if TYPE_CHECKING:
    from fabricbench.hosts.control.survey import HostReport

_THREADS_MAX: Final = 32
_FRESH_S: Final = 5.0
"""Age after which a request starts a new survey [s]."""
_FRESH_BUSY_S: Final = 30.0
"""The same while an agent executes a run, which surveys should not disturb [s]."""
_SURVEY_TIMEOUT_S: Final = 60.0
"""Age after which an unfinished survey is replaced [s]; none takes so long, for calls have deadlines."""


class Survey:
    """One survey of the agents in a file of hosts, in background threads.

    Attributes:
        hosts: The hosts.
    """

    def __init__(self, hosts: Hosts, identity: Identity | None, before: Survey | None) -> None:
        """Start the threads.

        Args:
            hosts: The hosts of the file as it is now.
            identity: The server's certificate for their agents; none without TLS.
            before: The survey before, whose reports are used until the new ones arrive.
        """
        self.hosts = hosts
        self._identity = identity
        self._before = {} if before is None else before.reports()
        self._began = self._changed_at = time.monotonic()
        self._reports: dict[str, HostReport] = {}
        self._changed = Condition()
        self._waiting: SimpleQueue[Host] = SimpleQueue()
        for host in hosts.hosts:
            self._waiting.put(host)
        for _ in range(min(_THREADS_MAX, len(hosts.hosts))):
            # Daemon threads: the server may end while one waits for an agent.
            Thread(target=self._survey_hosts, name="survey", daemon=True).start()

    def _survey_hosts(self) -> None:
        from fabricbench.hosts.control.survey import check_host

        while True:
            try:
                host = self._waiting.get_nowait()
            except Empty:
                return
            report = check_host(host, self._identity)
            with self._changed:
                self._reports[host.name] = report
                self._changed_at = time.monotonic()
                self._changed.notify_all()

    @property
    def _is_complete(self) -> bool:
        return len(self._reports) == len(self.hosts.hosts)

    @property
    def is_old(self) -> bool:
        """Whether it is time for a new survey."""
        with self._changed:
            if not self._is_complete:
                return time.monotonic() - self._began > _SURVEY_TIMEOUT_S
            descriptions = (report.description for report in self._reports.values())
            is_busy = any(description is not None and description.held_by for description in descriptions)
            return time.monotonic() - self._changed_at > (_FRESH_BUSY_S if is_busy else _FRESH_S)

    def wait(self, until: float) -> None:
        """Wait until all hosts have a report, or until a time of `time.monotonic`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_complete, max(until - time.monotonic(), 0))

    def reports(self) -> dict[str, HostReport]:
        """Return the newest report of each host, by its name; hosts without a report are left out."""
        with self._changed:
            reports = self._before | self._reports
        hosts_by_name = {host.name: host for host in self.hosts.hosts}
        return {name: report for name, report in reports.items() if report.host == hosts_by_name.get(name)}


class Surveys:
    """The newest survey of each file of hosts."""

    def __init__(self, files: HostsFiles) -> None:
        """Take the files; the first call of `newest` for a file starts its survey."""
        self.files = files
        self._newest: dict[str, Survey] = {}
        self._lock = Lock()

    def newest(self, name: str) -> Survey:
        """Return the newest survey of a file; an old one is first replaced by a new one.

        Raises:
            PlanError: The file has a mistake.
            RefusedError: There is no authority with a certificate for its agents.
        """
        from fabricbench.hosts.control.survey import controller_identity

        with self._lock:
            survey = self._newest.get(name)
            if survey is None or survey.is_old:
                hosts = self.files.load(name)
                survey = Survey(hosts, controller_identity(hosts, self.files.authority), survey)
                self._newest[name] = survey
            return survey
