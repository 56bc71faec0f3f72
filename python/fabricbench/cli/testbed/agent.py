"""The command `agent`: runs the agent of this host, which executes the host's part of runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabricbench import __version__
from fabricbench.cli.errors import SIGNALLED
from fabricbench.cli.output import note
from fabricbench.cli.testbed.hosts import require_libraries
from fabricbench.hosts.addresses import Address, parse_address
from fabricbench.hosts.agent.data_plane import CoreDataPlane
from fabricbench.hosts.agent.program import Agent, AgentSettings
from fabricbench.hosts.agent.session import Policy
from fabricbench.hosts.certificates import AgentFolder
from fabricbench.hosts.enrolment import join as join_controller
from fabricbench.hosts.protocol import DEFAULT_PORT, RefusedError
from fabricbench.hosts.rate_limit import parse_rate_limit

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


_LOOPBACK: Final = ("127.0.0.0/8", "::1/128")
"""Peers that are always allowed: these addresses reach only the host itself."""

AgentFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        envvar="FABRICBENCH_AGENT_FOLDER",
        show_default="~/.local/state/fabricbench/agent",
        help="Folder of the agent's key and certificates.",
    ),
]


def agent_command(
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default="0.0.0.0:7470, 127.0.0.1:7470 with --no-tls",
            help="Where to listen: HOST:PORT, or unix:/PATH.",
        ),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN@HOST:PORT",
            envvar="FABRICBENCH_JOIN",
            help="First get a certificate, as `fabricbench hosts token` at the controller says.",
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR",
            help="Network that peers may be in, such as 10.0.0.0/16; may be given again. Loopback always is.",
        ),
    ] = None,
    rate_limit: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Send no faster, such as 10Gbps. No limit by default."),
    ] = None,
    no_tls: Annotated[
        bool,
        typer.Option(
            "--no-tls", help="Without certificates; at a loopback address or a Unix socket only, for labs."
        ),
    ] = False,
    folder: AgentFolderOption = None,
) -> None:
    """Carry out this host's part of runs, one run at a time, until Ctrl-C or SIGTERM.

    It serves controllers of the authority that it has joined, sends to allowed networks only, and stops its
    traffic when its controller is silent for two seconds. Exit status: 130 after Ctrl-C, 143 after SIGTERM, 2
    for what a user can mend.
    """
    require_libraries()

    home = folder if folder is not None else _default_folder()
    if join is not None:
        identity = join_controller(join, AgentFolder(home))
        note(f"joined as {identity.name}, until {identity.expires:%Y-%m-%d}; certificates in {home}")
    address = _listen_address(listen, has_tls=not no_tls)
    policy = Policy(os.uname().nodename, _networks(allow or []), _rate_bps(rate_limit))
    agent = Agent(AgentSettings(address, home, not no_tls, policy), CoreDataPlane(), __version__)
    networks = ", ".join(map(str, policy.networks))
    message = f"agent at {address}, process {os.getpid()}; peers allowed: {networks}"
    ended_by = agent.serve(lambda: note(message))
    raise typer.Exit(SIGNALLED + ended_by)


def _default_folder() -> Path:
    """Return the folder of state of the user (XDG base directories, XDG_STATE_HOME)."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "fabricbench/agent"


def _listen_address(text: str | None, *, has_tls: bool) -> Address:

    return parse_address(text or ("0.0.0.0" if has_tls else "127.0.0.1"), DEFAULT_PORT, "--listen")


def _networks(texts: list[str]) -> list[IPv4Network | IPv6Network]:
    from ipaddress import ip_network

    accepted = [ip_network(text) for text in _LOOPBACK]
    for text in texts:
        try:
            accepted.append(ip_network(text))
        except ValueError as error:
            allowed = "a network such as 10.0.0.0/16, no bits set beyond its prefix"
            raise RefusedError("--allow", f'"{text}"', allowed) from error
    return accepted


def _rate_bps(text: str | None) -> int:

    return 0 if text is None else parse_rate_limit(text)
