"""Surveys of the agents in files of hosts, in background threads: no request waits for a silent agent."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Final

from fabricbench.hosts.certificates import Identity
from fabricbench.hosts.control.hosts_file import Host, Hosts
from fabricbench.server.hosts_files import HostsFiles

if TYPE_CHECKING:
    from fabricbench.hosts.control.survey import HostReport

_AT_ONCE: Final = 32
_KEPT_S: Final = 5.0
"""Answers are so old at most, while somebody looks."""
_KEPT_BUSY_S: Final = 30.0
"""The same while an agent carries out a run, which questions should not disturb."""
_SURVEY_TIMEOUT_S: Final = 60.0
"""No survey takes so long: every call to an agent has a deadline."""


class Survey:
    """One round of questions to the hosts of a file, which goes on beside the requests.

    Attributes:
        hosts: The hosts.
    """

    def __init__(self, hosts: Hosts, identity: Identity | None, before: Survey | None) -> None:
        """Begin to ask.

        Args:
            hosts: The hosts of the file as it is now.
            identity: What the server shows to their agents; none without TLS.
            before: The round before, whose answers stand in for those that are not there yet.
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
        for _ in range(min(_AT_ONCE, len(hosts.hosts))):
            # The server may end while an agent keeps one of them waiting.
            Thread(target=self._ask, name="survey", daemon=True).start()

    def _ask(self) -> None:
        from fabricbench.hosts.control.survey import ask

        while True:
            try:
                host = self._waiting.get_nowait()
            except Empty:
                return
            report = ask(host, self._identity)
            with self._changed:
                self._reports[host.name] = report
                self._changed_at = time.monotonic()
                self._changed.notify_all()

    @property
    def _is_complete(self) -> bool:
        return len(self._reports) == len(self.hosts.hosts)

    @property
    def is_old(self) -> bool:
        """Whether it is time to ask again."""
        with self._changed:
            if not self._is_complete:
                return time.monotonic() - self._began > _SURVEY_TIMEOUT_S
            descriptions = (report.description for report in self._reports.values())
            is_busy = any(description is not None and description.held_by for description in descriptions)
            return time.monotonic() - self._changed_at > (_KEPT_BUSY_S if is_busy else _KEPT_S)

    def wait(self, until: float) -> None:
        """Wait until all have answered, or until a time of `time.monotonic`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_complete, max(until - time.monotonic(), 0))

    def reports(self) -> dict[str, HostReport]:
        """Return the newest answer of each host, by its name; nothing of those that have given none yet."""
        with self._changed:
            reports = self._before | self._reports
        hosts_by_name = {host.name: host for host in self.hosts.hosts}
        return {name: report for name, report in reports.items() if report.host == hosts_by_name.get(name)}


class Surveys:
    """The newest survey of each file of hosts."""

    def __init__(self, files: HostsFiles) -> None:
        """Ask nobody yet."""
        self.files = files
        self._newest: dict[str, Survey] = {}
        self._lock = Lock()

    def newest(self, name: str) -> Survey:
        """Return the newest survey of a file; a new one has just begun if the last one was old.

        Raises:
            PlanError: The file has a mistake.
            RefusedError: There is no authority that its hosts could be asked with.
        """
        from fabricbench.hosts.control.survey import controller_identity

        with self._lock:
            last = self._newest.get(name)
            if last is None or last.is_old:
                hosts = self.files.load(name)
                last = Survey(hosts, controller_identity(hosts, self.files.authority), last)
                self._newest[name] = last
            return last
