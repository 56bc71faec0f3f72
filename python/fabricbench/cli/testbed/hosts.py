"""The commands `hosts token` (one-time tokens to join), `hosts check` and `hosts schema` (of hosts files)."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabricbench.cli.options import AuthorityOption, WorkspaceOption, authority_folder
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.hosts.addresses import Address, parse_address
from fabricbench.hosts.certificates import Authority
from fabricbench.hosts.control.hosts_file import hosts_schema
from fabricbench.hosts.enrolment import serve_enrolment
from fabricbench.hosts.protocol import JOIN_PORT, RefusedError
from fabricbench.hosts.tokens import Tokens
from fabricbench.report.documents.table import Column, Row, Table, Tone
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import render
from fabricbench.words import install_hint

if TYPE_CHECKING:
    from fabricbench.hosts.control.survey import HostReport

_LIBRARIES: Final = ("grpc", "google.protobuf", "cryptography")
_POLL_S: Final = 0.2

HostsArgument = Annotated[Path, typer.Argument(metavar="HOSTS.yaml", help="The file of hosts.")]


def require_libraries() -> None:
    """Check that the libraries for runs on hosts are installed.

    Raises:
        RefusedError: One is missing.
    """
    for name in _LIBRARIES:
        try:
            is_there = find_spec(name) is not None
        except ModuleNotFoundError:
            is_there = False
        if not is_there:
            raise RefusedError("", f"no library {name}", "", f"`{install_hint('hosts')}` brings it")


def token_command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of hosts that are to join.")],
    address: Annotated[
        str,
        typer.Option(
            metavar="HOST[:PORT]", help="Where the hosts reach this controller; it listens at that port."
        ),
    ],
    minutes: Annotated[int, typer.Option(min=1, max=1440, help="The tokens may be used for so long.")] = 10,
    workspace: WorkspaceOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Print a one-time token for each host, and wait until all have joined or the time is over.

    The command for each host goes to standard output. Exit status 2 if a host did not join in time.
    """
    require_libraries()

    join_address = parse_address(address, JOIN_PORT, "--address")
    signer = Authority(authority_folder(workspace, authority))
    tokens = Tokens(signer.folder)
    host_tokens = {name: tokens.issue(name, signer.fingerprint, minutes * 60) for name in names}
    joined_names: queue.SimpleQueue[str] = queue.SimpleQueue()
    any_address = "::" if ":" in join_address.host else "0.0.0.0"
    listen = join_address if join_address.is_private else Address(any_address, join_address.port)
    server = serve_enrolment(signer, listen, joined_names.put)
    try:
        for token in host_tokens.values():
            write(f"fabricbench agent --join {token}@{join_address}")
        note(
            f"waiting for {len(host_tokens)} of them, for {minutes} min at most; authority in {signer.folder}"
        )
        missing = _wait(set(host_tokens), joined_names, time.monotonic() + minutes * 60)
    finally:
        server.stop(1.0).wait()
    if missing:
        note(f"error: {', '.join(sorted(missing))} did not join in time\nhint: make new tokens")
        raise typer.Exit(2)


def _wait(missing: set[str], joined_names: queue.SimpleQueue[str], deadline: float) -> set[str]:
    """Wait until all hosts have joined; return those that have not at the deadline."""
    while missing and time.monotonic() < deadline:
        try:
            name = joined_names.get(timeout=_POLL_S)
        except queue.Empty:
            continue
        missing.discard(name)
        note(f"{name} has joined")
    return missing


def check_command(
    hosts: HostsArgument,
    output: Annotated[Format, typer.Option("--format", help="How to write the checks.")] = Format.TABLE,
    workspace: WorkspaceOption = None,
    authority: AuthorityOption = None,
) -> None:
    """Check every host of a file: its abilities, and obstacles to a run.

    Exit status 2 if a host does not answer or cannot carry a run.
    """
    import json

    require_libraries()
    from fabricbench.hosts.control.survey import survey

    reports = survey(hosts, authority_folder(workspace, authority))
    rows = [row for report in reports for row in report.rows()]
    if output is Format.JSON:
        write(json.dumps({"hosts": [report.as_dict() for report in reports]}, indent=2))
    elif output is Format.CSV:
        write(rows_csv(list(rows[0]), rows))
    else:
        write(render(Table([Column("", is_text=True)] * 5, list(_rows(reports))), colour=has_colour()))
    if any(report.is_problem for report in reports):
        raise typer.Exit(2)


def schema_command() -> None:
    """Write the JSON Schema of a file of hosts, for editors."""
    import json

    write(json.dumps(hosts_schema(), indent=2))


def _rows(reports: Sequence[HostReport]) -> Iterator[Any]:
    for report in reports:
        for row in report.rows():
            tone: Tone = "bad" if row["state"] == "PROBLEM" else ""
            yield Row([row["host"], row["check"], row["state"], row["found"], row["hint"]], tone)
