"""`HostSettings`: variables of NCCL by host, from the log of each; finds hosts started with other values.

Every process logs each variable that it reads: `NCCL INFO NCCL_IB_TC set by environment to 106.` A host that
logs its adapters or another variable, and not this one, has not set it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fabricbench.measured.nccl_logs.log_lines import host_of

_LOGGED: Final = re.compile(r"\b([NR]CCL_[A-Z0-9_]{2,60}) set (?:by environment )?to ([^\s;]+)")
_PRINTED: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,254}): +(?:export )?([NR]CCL_[A-Z0-9_]{2,60})=(\S+)\s*\Z")
"""`env` of several hosts by pdsh, clush or ansible."""
_STARTS: Final = ("NET/IB : Using", "NET/Socket : Using", "Using network", "NET/OFI Selected")
"""Lines that a process logs when it reads its variables."""
_OF_A_HOST: Final = re.compile(
    r"[NR]CCL_(?:DEBUG\w*|SOCKET_IFNAME|OOB_\w+|HOSTID|COMM_ID|TOPO_FILE|\w*DUMP_FILE\w*|GRAPH_FILE|\w*RANK\w*)"
)
"""Variables that may differ by host: log level, names of files and interfaces."""
_NAMES: Final = "NCCL_IB_HCA"
"""A list of adapters: only its length is compared."""


@dataclass
class HostSettings:
    """Variables of each host.

    Attributes:
        values: Values by variable and host, with the first line of each.
        hosts: Hosts that log lines at which variables are read.
    """

    values: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)

    def take(self, number: int, text: str) -> None:
        """Read a line."""
        if "CCL_" in text and (printed := _PRINTED.match(text)):
            self._note(printed[1], printed[2], printed[3], number)
        elif "CCL INFO " in text and (host := host_of(text)):
            for name, value in _LOGGED.findall(text):
                self._note(host, name, value.rstrip(",."), number)
            if any(start in text for start in _STARTS):
                self.hosts[host] = None

    def _note(self, host: str, name: str, value: str, number: int) -> None:
        if not _OF_A_HOST.fullmatch(name):
            self.hosts[host] = None
            self.values.setdefault(name, {}).setdefault(host, {}).setdefault(value[:120], number)

    def differing(self) -> Iterator[tuple[str, list[str], str]]:
        """Yield each variable in which hosts differ, with the hosts of the rarest value and the evidence.

        A variable counts as not set on a host if most hosts have set it, or if each host logs some variable:
        a log in which only one host logs its variables is no evidence about the others.
        """
        stating = {host for by_host in self.values.values() for host in by_host}
        for name, by_host in self.values.items():
            unset = [host for host in self.hosts if host not in by_host]
            is_known = len(unset) < len(by_host) or stating >= {*self.hosts}
            groups: dict[str, list[str]] = {}
            for host, values in by_host.items():
                groups.setdefault(_value_text(name, values), []).append(host)
            if unset and is_known:
                groups["not set"] = unset
            if len(groups) > 1:
                rare = min(groups.values(), key=len)
                yield name, rare, _evidence(name, groups, by_host)


def _value_text(name: str, values: Mapping[str, int]) -> str:
    if name == _NAMES:
        counts = {len(value.split(",")) for value in values}
        return f"{', '.join(map(str, sorted(counts)))} adapters"
    return ", ".join(sorted(values))


def _evidence(
    name: str, groups: Mapping[str, Sequence[str]], by_host: Mapping[str, Mapping[str, int]]
) -> str:
    """Return the line of evidence: the hosts of each value, with the first line."""
    parts = []
    for value, hosts in groups.items():
        lines = [min(by_host[host].values()) for host in hosts if host in by_host]
        where = f" (line {min(lines)})" if lines else ""
        parts.append(f"{value} on {_some(hosts)}{where}")
    return f"{name}: {'; '.join(parts)}"


def _some(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - 4} more" if len(hosts) > 4 else ""
    return ", ".join(hosts[:4]) + more
