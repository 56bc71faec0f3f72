"""Reads hosts files: for each host its agent address, the hosts of a plan that it runs, driver, settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from fabricbench.hosts.addresses import Address, parse_address
from fabricbench.hosts.certificates import NAME
from fabricbench.hosts.protocol import DEFAULT_PORT, HOSTS_MAX, RefusedError
from fabricbench.plan.document.document import read_file
from fabricbench.plan.document.validate import read_model
from fabricbench.plan.errors import FieldProblem, PlanError
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Rate
from fabricbench.plan.schema import DIALECT


class _FieldError(ValueError):
    """Error in a value: the actual value, the allowed ones, a hint."""

    def __init__(self, found: str, allowed: str, hint: str = "") -> None:
        super().__init__(allowed)
        self.found, self.allowed, self.hint = found, allowed, hint


def _agent_address(text: str) -> str:
    try:
        return str(parse_address(text, DEFAULT_PORT))
    except RefusedError as error:
        raise _FieldError(error.found, error.allowed) from error


def _data_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise _FieldError(f'"{text}"', "an IP address") from error


_Settings = dict[str, bool | int | float | str]


class Movement(PlanModel):
    """How a host moves data; omitted fields have the driver's defaults."""

    driver: str | None = Field(
        default=None,
        pattern=r"^[a-z][a-z0-9-]*$",
        max_length=40,
        description="What moves the data: `roce` (RoCEv2 over UDP sockets), `tcp` (a TCP connection for each "
        "queue pair), or another that `fabricbench hosts check` lists. Default: `roce`.",
    )
    settings: _Settings | None = Field(
        default=None, max_length=64, description="Settings of the driver, such as `verify: true`."
    )
    rate_limit_bps: Rate | None = Field(
        default=None, alias="rate_limit", description="The host sends no faster. Default: no limit."
    )


class Defaults(Movement):
    """Defaults for every host."""

    tls: bool = Field(
        default=True,
        description="Agents are called with TLS and certificates; `false` at loopback addresses and Unix "
        "sockets only, for labs.",
    )


class HostEntry(Movement):
    """A host with an agent."""

    name: str = Field(
        pattern=f"^{NAME.pattern}$", description="Name of the host, as in its agent's certificate."
    )
    agent: Annotated[str, AfterValidator(_agent_address)] = Field(
        description=f"Where its agent listens: HOST:PORT (port {DEFAULT_PORT} if left out) or unix:/PATH."
    )
    address: Annotated[str, AfterValidator(_data_address)] = Field(
        description="IP address that its data comes from and goes to."
    )
    plays: Annotated[list[Annotated[int, Field(ge=0, lt=HOSTS_MAX)]], Field(min_length=1)] | None = Field(
        default=None,
        description="Hosts of the plan's fabric, by number from 0, whose ranks it carries. Default: the "
        "entries play hosts 0, 1, 2 and so on, in their order.",
    )

    @property
    def agent_address(self) -> Address:
        """Listen address of its agent."""
        return parse_address(self.agent)


class HostsFile(PlanModel):
    """Hosts to measure with."""

    version: Literal[1] = Field(description="Version of the format: 1.")
    defaults: Defaults = Field(default=Defaults(), description="What holds for every host.")
    hosts: list[HostEntry] = Field(min_length=1, max_length=HOSTS_MAX, description="The hosts.")


_DEFAULT_DRIVER: Final = "roce"


@dataclass(frozen=True)
class Host:
    """A host of a run, with defaults applied.

    Attributes:
        entry: The entry of the file.
        plays: Hosts of the plan.
        driver: The driver that moves its data.
        settings: All settings of the driver.
    """

    entry: HostEntry
    plays: tuple[int, ...]
    driver: str
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return self.entry.name


@dataclass(frozen=True)
class Hosts:
    """The hosts of a file.

    Attributes:
        path: The file.
        hosts: The hosts, in the order of the file.
        has_tls: Whether agents are called with certificates.
    """

    path: Path
    hosts: tuple[Host, ...]
    has_tls: bool

    @property
    def digest(self) -> str:
        """Hash (8 hex digits) of the fields that affect results: name, address, plays, driver, settings."""
        host_fields = [
            (host.name, host.entry.address, host.plays, host.driver, host.settings) for host in self.hosts
        ]
        return hashlib.sha256(json.dumps(host_fields, sort_keys=True).encode()).hexdigest()[:8]

    def for_plan(self, needed: Iterable[int]) -> tuple[Host, ...]:
        """Return the entries that play hosts of a plan, each limited to those hosts.

        Raises:
            RefusedError: No entry plays one of them.
        """
        needed_hosts = set(needed)
        played_hosts = {number for host in self.hosts for number in host.plays}
        if missing := sorted(needed_hosts - played_hosts):
            names = ", ".join(f"host{number}" for number in missing[:5])
            remainder_text = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            hint = "add hosts to the file, or give the plan fewer ranks"
            actual = f"ranks on {names}{remainder_text}, which nobody plays"
            raise RefusedError("jobs", actual, f"hosts that {self.path} plays", hint)
        hosts_with_plays = ((host, tuple(sorted(needed_hosts & set(host.plays)))) for host in self.hosts)
        return tuple(
            Host(host.entry, plays, host.driver, host.settings) for host, plays in hosts_with_plays if plays
        )


def load_hosts(path: Path) -> Hosts:
    """Load a hosts file.

    Raises:
        PlanError: The file is unreadable or invalid.
    """
    document = read_file(path, str(path))
    read = read_model(document, HostsFile)
    if field_problems := list(_field_problems(read)):
        raise PlanError(document.problems(field_problems))
    hosts = (_host(read.defaults, entry, number) for number, entry in enumerate(read.hosts))
    return Hosts(path, tuple(hosts), read.defaults.tls)


def _host(defaults: Defaults, entry: HostEntry, number: int) -> Host:
    settings: dict[str, Any] = {**(defaults.settings or {}), **(entry.settings or {})}
    settings["address"] = entry.address
    if rate_bps := entry.rate_limit_bps or defaults.rate_limit_bps:
        settings["rate_limit_bps"] = rate_bps
    plays = tuple(entry.plays) if entry.plays is not None else (number,)
    return Host(entry, plays, entry.driver or defaults.driver or _DEFAULT_DRIVER, settings)


def _field_problems(read: HostsFile) -> Iterator[FieldProblem]:
    """Yield the problems that concern more than one value."""
    yield from _repeated(read)
    yield from _played_twice(read)
    if any(entry.plays is None for entry in read.hosts) and any(entry.plays for entry in read.hosts):
        number_without_plays = next(number for number, entry in enumerate(read.hosts) if entry.plays is None)
        actual, allowed = "nothing, where other hosts have `plays`", "`plays` for all hosts, or for none"
        yield FieldProblem(("hosts", number_without_plays), actual, allowed)
    if not read.defaults.tls:
        for number, entry in enumerate(read.hosts):
            if not entry.agent_address.is_private:
                allowed = "a loopback address or a Unix socket, where `defaults.tls` is false"
                hint = "set `tls: true` and have the host join: `fabricbench hosts token`"
                yield FieldProblem(("hosts", number, "agent"), f'"{entry.agent}"', allowed, hint)


def _repeated(read: HostsFile) -> Iterator[FieldProblem]:
    for key in ("name", "agent", "address"):
        first_by_value: dict[str, int] = {}
        for number, entry in enumerate(read.hosts):
            value = str(getattr(entry, key))
            if (earlier := first_by_value.setdefault(value.lower(), number)) != number:
                owner_text = f'"{value}", which hosts.{earlier} has'
                yield FieldProblem(("hosts", number, key), owner_text, "another")


def _played_twice(read: HostsFile) -> Iterator[FieldProblem]:
    players: dict[int, str] = {}
    for number, entry in enumerate(read.hosts):
        for index, played in enumerate(entry.plays or ()):
            if (player := players.setdefault(played, entry.name)) != entry.name:
                player_text = f"host {played}, which {player} plays"
                yield FieldProblem(
                    ("hosts", number, "plays", index), player_text, "each host of the plan once"
                )


def hosts_schema() -> dict[str, Any]:
    """Return the JSON Schema of the hosts file."""
    schema = HostsFile.model_json_schema()
    return {"$schema": DIALECT, **schema, "title": "fabricbench hosts"}
