"""The command `serve`: the web application and HTTP API of a workspace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from fabricbench.cli.options import AuthorityOption, WorkspaceOption
from fabricbench.cli.output import note
from fabricbench.cli.testbed.hosts import require_libraries
from fabricbench.hosts.control.hosts_file import load_hosts
from fabricbench.server.settings import LOOPBACK, Settings
from fabricbench.store import Workspace
from fabricbench.words import install_hint

_HOSTS_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def serve_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; any but loopback needs --token or --users, and TLS."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Its port; 0 for any that is free.")] = 8989,
    workspace: WorkspaceOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Runs at once.", show_default="as many as cores")
    ] = None,
    worker_memory_gb: Annotated[
        float | None,
        typer.Option(
            min=0.25,
            max=1 << 20,
            help="Memory that a run may take [GB], also if it is forced.",
            show_default="what is free at the start, divided by the workers",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="FABRICBENCH_TOKEN",
            help="What a request has to show, 16 characters or more.",
            show_default="a random one",
            show_envvar=True,
        ),
    ] = None,
    users: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Users: a line NAME:SHA256-OF-TOKEN for each.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, PEM.")] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="A file of hosts that plans can be run on; repeatable. Without NAME it is called as the "
            "file without its ending.",
            show_default=False,
        ),
    ] = None,
    authority: AuthorityOption = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray://HOST:PORT|HOST:PORT",
            help="Have runs carried out by Ray: on the cores of this machine, or on a cluster.",
            show_default="no cluster",
        ),
    ] = None,
) -> None:
    """Serve a workspace: the web application, and the same for programs.

    Only this machine can reach it unless --host says otherwise, and only with the token that it prints.
    """
    try:
        from fabricbench.server.serve import AddressError, CertificateError, serve
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("fabricbench"):
            raise
        hint = install_hint("server")
        note(f"error: the server needs {error.name}, which is not installed\nhint: {hint}")
        raise typer.Exit(2) from error
    import os

    # Child processes do not need the token, and a token of the user is never printed.
    is_from_environment = token is not None and token == os.environ.pop("FABRICBENCH_TOKEN", None)
    settings = _settings(host, port, token, users, tls_cert, tls_key)
    if token is not None:
        settings = replace(settings, token_shown="$FABRICBENCH_TOKEN" if is_from_environment else "TOKEN")
    settings = replace(
        settings,
        workers=workers or settings.workers,
        worker_memory_bytes=int((worker_memory_gb or 0) * (1 << 30)),
        hosts=_hosts_files(hosts or []),
        authority=authority,
    )
    store = Workspace.open(workspace, create=True)
    try:
        serve(store, settings, note, on)
    except AddressError as error:
        raise typer.BadParameter(f"{error}; --port 0 takes any port that is free") from error
    except CertificateError as error:
        raise typer.BadParameter(str(error)) from error


def _hosts_files(entries: Sequence[str]) -> dict[str, Path]:
    """Return the files of hosts by their names.

    Raises:
        PlanError: A file has a mistake.
        RefusedError: A library is missing that hosts need.
    """
    if not entries:
        return {}
    require_libraries()

    files: dict[str, Path] = {}
    for text in entries:
        name, separator, file = text.partition("=")
        path = Path(file if separator else text)
        name = name if separator else path.stem
        if not _HOSTS_NAME.fullmatch(name):
            allowed = "up to 64 letters, digits, dots, hyphens and underscores"
            raise typer.BadParameter(f'--hosts: found the name "{name}"; allowed: {allowed}')
        if name in files:
            raise typer.BadParameter(f'--hosts: found two files called "{name}"; NAME=FILE names them apart')
        load_hosts(path)
        files[name] = path.resolve()
    return files


def _settings(
    host: str,
    port: int,
    token: str | None,
    users: Path | None,
    certificate: Path | None,
    key: Path | None,
) -> Settings:
    from fabricbench.server.access.auth import UsersFileError, new_token, read_users

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--tls-cert and --tls-key go together")
    if token is not None and len(token) < 16:
        raise typer.BadParameter("--token: 16 characters or more")
    if host not in LOOPBACK and (certificate is None or (token is None and users is None)):
        needed_options = "--tls-cert and --tls-key, and --token or --users"
        raise typer.BadParameter(f"--host {host} lets other machines in: that needs {needed_options}")
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise typer.BadParameter(f"no file {file}")
    try:
        user_list = read_users(users) if users else {}
    except UsersFileError as error:
        raise typer.BadParameter(f"--users: {error}") from error
    own_token = token if token is not None or users else new_token()
    return Settings(host, port, own_token or "", user_list, tls_certificate=certificate, tls_key=key)
