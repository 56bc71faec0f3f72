"""Authentication of requests by token in a header or login in a cookie; refusal of other sites.

A page of another site can have a browser send requests here, with the cookie if the browser allows it, so the
cookie is bound to this site (SameSite=Strict), and a request that changes something must have this origin. A
name that an attacker's DNS resolves to 127.0.0.1 is refused: loopback accepts only the names of loopback.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from fabricbench.inputs import read_input_text
from fabricbench.server.access.logins import Logins
from fabricbench.server.errors import answer
from fabricbench.server.settings import LOOPBACK, Settings, digest

OPEN_PATHS: Final = frozenset({"/", "/healthz", "/api/v1/login"})
"""Paths open without a token, in addition to the web application's files; none shows workspace content."""
_CLOSED_FOLDERS: Final = frozenset({"api", "metrics", "openapi.json"})
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_USER: Final = re.compile(r"([A-Za-z0-9_.@-]{1,64}):([0-9a-f]{64})")
_HINT: Final = (
    "send `Authorization: Bearer TOKEN`, or open the address that the server printed when it started"
)


class UsersFileError(Exception):
    """A users file that cannot be used; its text names the reason."""


def new_token() -> str:
    """Return a random token."""
    return secrets.token_hex(24)


def read_users(path: Path) -> dict[str, str]:
    """Read a users file: `NAME:SHA256` on each line, the SHA-256 of the user's token.

    Raises:
        UsersFileError: It cannot be read, or a line has another form.
    """
    try:
        lines = read_input_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsersFileError(f"{path}: cannot be read: {error}") from error
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _USER.fullmatch(line.strip())
        if match is None:
            raise UsersFileError(f"{path}:{number}: found no NAME:SHA256 of a token")
        users[match[1]] = match[2]
    if not users:
        raise UsersFileError(f"{path}: names no user")
    return users


def cookie_name(settings: Settings) -> str:
    """Return the name of the cookie; it includes the port, because cookies are shared by all ports."""
    return f"fabricbench-{settings.port}"


def login_of(connection: HTTPConnection, settings: Settings) -> str:
    """Return the login secret in a request's cookie; empty without a cookie."""
    return connection.cookies.get(cookie_name(settings), "")


def user_of(token: str, settings: Settings) -> str | None:
    """Return the user of a token: empty for the server's own token, none for an invalid token.

    Every registered token is compared, in constant time, so the duration reveals no matching prefix.
    """
    token_digest = digest(token)
    user: str | None = None
    for name, user_digest in settings.users.items():
        if hmac.compare_digest(token_digest, user_digest):
            user = name
    if settings.token and hmac.compare_digest(token_digest, digest(settings.token)):
        user = ""
    return user


class Guard:
    """ASGI middleware that admits requests of this site with a valid token or login, and open paths.

    It stores in the request state the `user`, and whether the request was authenticated (`is_known`).
    """

    def __init__(self, app: ASGIApp, settings: Settings, logins: Logins) -> None:
        self._app = app
        self._settings = settings
        self._logins = logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with 401 or 403, or pass the request on with the name of its user."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if not self._is_ours(connection.headers.get("host", "")):
            await answer(403, "the request names another host")(scope, receive, send)
            return
        if self._is_foreign(scope["method"], connection.headers):
            await answer(403, "the request came from another site")(scope, receive, send)
            return
        user = await self._user_of(connection)
        if user is None and not _is_open(scope["method"], scope["path"]):
            challenge = {"WWW-Authenticate": "Bearer"}
            await answer(401, "the token is missing or wrong", _HINT, **challenge)(scope, receive, send)
            return
        scope.setdefault("state", {}).update(user=user or "", is_known=user is not None)
        await self._app(scope, receive, send)

    async def _user_of(self, connection: HTTPConnection) -> str | None:
        kind, _, token = connection.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return user_of(token.strip(), self._settings)
        login = login_of(connection, self._settings)
        return await run_in_threadpool(self._logins.user_of, login) if login else None

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host header is valid: on loopback a loopback name, on other addresses any name."""
        return not self._settings.is_loopback or (urlsplit(f"//{host}").hostname or "") in LOOPBACK

    def _is_foreign(self, method: str, headers: Mapping[str, str]) -> bool:
        """Return whether a browser sent a state-changing request from a page of another site."""
        if method in _SAFE_METHODS:
            return False
        origin = headers.get("origin")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return True
        return origin is not None and urlsplit(origin).netloc != headers.get("host", "")


def _is_open(method: str, path: str) -> bool:
    """Return whether a request needs no token."""
    return path in OPEN_PATHS or (method in _SAFE_METHODS and path.split("/")[1] not in _CLOSED_FOLDERS)
