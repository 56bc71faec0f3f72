"""Logins of browsers: sessions in a file of the workspace, identified by the secret in a cookie.

A cookie has a random secret of its own and never a token. One file of the workspace, `logins/sessions.json`,
has a session for each login, so that a login outlives the server and is one for every server of the
workspace: by the SHA-256 of its secret, the user and a digest of the token that was shown, keyed with the
secret. A login ends with its token; the file alone is not enough to log in or to guess tokens. The number of
sessions is bounded: a new one ends the oldest of its user.

Rate limit of logins: a token bucket of attempts for each address.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from fabricbench.inputs import open_regular
from fabricbench.server.settings import Settings
from fabricbench.store import StoreError

FOLDER: Final = "logins"
"""Folder of the logins in a workspace."""
LOGIN_S: Final = 30 * 24 * 3600
"""Lifetime of a login [s]."""
SESSIONS_MAX: Final = 64
"""Maximum number of sessions of one user."""
_FILE: Final = "sessions.json"
_SECRET: Final = re.compile(r"[0-9a-f]{64}")

Sessions = dict[str, dict[str, Any]]
"""Sessions by the SHA-256 of their secrets, the oldest first: `user`, `proof`, `ends_at`."""


class Logins:
    """The logins of a workspace."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Take the folder of the sessions file, created at the first login, and the settings with tokens."""
        self._folder = folder
        self._file = folder / _FILE
        self._settings = settings
        self._read: _SessionsFile | None = None

    def begin(self, user: str) -> str:
        """Log a user in and return the secret of the login.

        Args:
            user: Name; empty for the server's own token.

        Raises:
            StoreError: The workspace cannot be written.
        """
        secret = secrets.token_hex(32)
        proof = _proof(secret, self._settings.digest_of(user))
        now = time.time()
        with self._changing() as sessions:
            names_of_user = [name for name, session in sessions.items() if session["user"] == user]
            ended_names = [name for name, session in sessions.items() if session["ends_at"] <= now]
            for name in {*names_of_user[: max(0, len(names_of_user) + 1 - SESSIONS_MAX)], *ended_names}:
                del sessions[name]
            sessions[_name(secret)] = {"user": user, "proof": proof, "ends_at": now + LOGIN_S}
        return secret

    def user_of(self, secret: str) -> str | None:
        """Return the user of a login, empty for the server's own token; none if it is invalid or ended."""
        session = self._sessions().get(_name(secret)) if _SECRET.fullmatch(secret) else None
        if session is None:
            return None
        digest = self._settings.digest_of(session["user"])
        is_valid = bool(digest) and hmac.compare_digest(session["proof"], _proof(secret, digest))
        return str(session["user"]) if is_valid and time.time() < session["ends_at"] else None

    def end(self, secret: str) -> None:
        """Log out.

        Raises:
            StoreError: The workspace cannot be written.
        """
        if _SECRET.fullmatch(secret) and _name(secret) in self._sessions():
            with self._changing() as sessions:
                sessions.pop(_name(secret), None)

    def _sessions(self) -> Sessions:
        """Return the sessions, read again if their file was replaced."""
        cached = self._read
        try:
            if cached is None or _state(self._file.stat()) != cached.state:
                cached = self._read = _SessionsFile(self._file)
        except OSError:
            return {}
        return cached.sessions

    @contextmanager
    def _changing(self) -> Iterator[Sessions]:
        """Lock the sessions against other servers, and write the changes made in the block.

        Raises:
            StoreError: The workspace cannot be written.
        """
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(folder, fcntl.LOCK_EX)
                sessions = dict(self._sessions())
                yield sessions
                self._write(sessions)
            finally:
                os.close(folder)
        except OSError as error:
            raise StoreError(self._folder, f"cannot be written: {error.strerror}", "make room") from error

    def _write(self, sessions: Sessions) -> None:
        """Replace the file, and remove those of earlier versions, which had one for each login."""
        partial = self._file.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        try:
            partial.touch(mode=0o600, exist_ok=False)
            partial.write_text(json.dumps(sessions), encoding="utf-8")
            partial.replace(self._file)
        finally:
            partial.unlink(missing_ok=True)
        for file in self._folder.iterdir():
            if file != self._file:
                with suppress(OSError):  # another server may be doing the same
                    file.unlink()


class _SessionsFile:
    """Sessions read from their file, which stays open so that no new file can have the same inode."""

    def __init__(self, path: Path) -> None:
        with open_regular(path) as file:
            descriptor = os.dup(file.fileno())
            weakref.finalize(self, os.close, descriptor)
            self.state = _state(os.fstat(descriptor))
            self.sessions = _sessions_in(file.read())


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _sessions_in(content: bytes) -> Sessions:
    """Parse sessions; entries of another form are left out."""
    try:
        entries = json.loads(content).items()
    except (ValueError, AttributeError, RecursionError):
        return {}
    return {name: session for name, session in entries if _is_session(session)}


def _is_session(value: object) -> bool:
    kinds = {"user": str, "proof": str, "ends_at": float}
    return isinstance(value, dict) and all(isinstance(value.get(key), kind) for key, kind in kinds.items())


def _name(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _proof(secret: str, digest: str) -> str:
    return hmac.new(secret.encode(), digest.encode(), "sha256").hexdigest()


ATTEMPTS: Final = 30
"""Attempts at once of one address."""
ATTEMPTS_PER_S: Final = 1.0
"""Attempts that an address regains each second."""
_ADDRESSES_MAX: Final = 10_000


class Throttle:
    """Buckets of attempts by address; above a limit, the least recently used one is dropped."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait_s(self, address: str) -> float:
        """Count an attempt of an address; return 0 if it is allowed, or the time until the next one [s]."""
        now = time.monotonic()
        with self._lock:
            attempts_left, since = self._buckets.pop(address, (float(ATTEMPTS), now))
            attempts_left = min(float(ATTEMPTS), attempts_left + (now - since) * ATTEMPTS_PER_S)
            is_allowed = attempts_left >= 1
            self._buckets[address] = (attempts_left - is_allowed, now)
            if len(self._buckets) > _ADDRESSES_MAX:
                self._buckets.popitem(last=False)
        return 0 if is_allowed else (1 - attempts_left) / ATTEMPTS_PER_S
