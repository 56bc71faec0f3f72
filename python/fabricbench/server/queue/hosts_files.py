"""Loads the files of hosts that the server may use; hides their paths; builds settings for the backend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from fabricbench.hosts.control.hosts_file import Hosts, load_hosts
from fabricbench.plan.errors import PlanError
from fabricbench.server.settings import Settings
from fabricbench.store.host_sets import HostSet

AUTHORITY: Final = "authority"
"""Folder of a workspace with the certificate authority that agents have joined."""


@dataclass(frozen=True)
class HostsFiles:
    """The files of hosts in the settings of a server.

    Attributes:
        files: Path of each file, by its name in requests.
        authority: Folder of the authority that their agents have joined.
    """

    files: Mapping[str, Path]
    authority: Path
    _read: dict[str, tuple[tuple[int, ...], Hosts]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, settings: Settings, root: Path) -> Self:
        """Return the files of hosts of a server whose workspace is the folder `root`."""
        return cls(settings.hosts, settings.authority or root / AUTHORITY)

    def load(self, name: str) -> Hosts:
        """Return the hosts of a file; a changed file is read again.

        Raises:
            PlanError: The file has a mistake.
        """
        path = self.files[name]
        state = _state_of(path)
        cached = self._read.get(name)
        if cached is None or cached[0] != state or not state:
            cached = self._read[name] = (state, load_hosts(path))
        return cached[1]

    def host_set(self, name: str) -> HostSet:
        """Return the hosts of a file in the form that the run queue stores.

        Raises:
            PlanError: The file has a mistake.
        """
        hosts = self.load(name)
        return HostSet(name, hosts.digest, tuple(host.entry.agent for host in hosts.hosts))

    def offered(self) -> list[HostSet]:
        """Return the hosts that runs can use now: the host sets of all files without a mistake."""
        if not self.files:
            return []

        host_sets = []
        for name in self.files:
            try:
                host_sets.append(self.host_set(name))
            except PlanError:  # GET /api/v1/hosts returns the error
                continue
        return host_sets

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return the settings of backend `hosts` for the hosts of a file."""
        return {"hosts": str(self.files[name]), "hosts_authority": str(self.authority)}

    def without_paths(self, text: str) -> str:
        """Return a message with the paths of files and of the authority replaced by names."""
        for name, path in self.files.items():
            text = text.replace(str(path), name)
        return text.replace(str(self.authority), "the server's folder of it")

    def as_json(self) -> str:
        """Return the files and the authority as JSON, the argument of a worker process."""
        return json.dumps([{name: str(path) for name, path in self.files.items()}, str(self.authority)])

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the JSON that `as_json` returns."""
        files, authority = json.loads(text)
        return cls({name: Path(path) for name, path in files.items()}, Path(authority))


def _state_of(path: Path) -> tuple[int, ...]:
    """Return inode, size and modification time of a file, to detect changes; empty if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns)
