"""Logins: what the cookie of a browser stands for, until it logs out.

A cookie holds a random secret of its own and never a token. The workspace has a file for each login, named by
the SHA-256 of its secret, so that a login outlives the server and is one for every server of the workspace. A
file holds who logged in and, keyed with the secret, a digest of the token that was shown: a login ends with
its token, and from the files alone nobody can log in or try tokens.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from fabricbench.server.settings import Settings
from fabricbench.store import StoreError

FOLDER: Final = "logins"
"""Where they are in a workspace."""
LOGIN_S: Final = 30 * 24 * 3600
"""How long a login lasts."""
_SECRET: Final = re.compile(r"[0-9a-f]{64}")


class Logins:
    """The logins of a workspace."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Take the folder of their files, made with the first, and whose tokens there are."""
        self._folder = folder
        self._settings = settings

    def begin(self, user: str) -> str:
        """Log a user in and return the secret of the login.

        Args:
            user: Name; empty for the server's own token.

        Raises:
            StoreError: The workspace cannot be written.
        """
        secret = secrets.token_hex(32)
        proof = _proof(secret, self._settings.digest_of(user))
        content = {"user": user, "proof": proof, "ends_at": time.time() + LOGIN_S}
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._forget_old()
            file = self._file(secret)
            file.touch(mode=0o600, exist_ok=False)
            file.write_text(json.dumps(content), encoding="utf-8")
        except OSError as error:
            raise StoreError(self._folder, f"cannot be written: {error.strerror}", "make room") from error
        return secret

    def user_of(self, secret: str) -> str | None:
        """Return the user of a login, empty for the server's own token; none if it has ended or never was."""
        if not _SECRET.fullmatch(secret):
            return None
        try:
            login = json.loads(self._file(secret).read_bytes())
            user, proof, ends_at = login["user"], login["proof"], login["ends_at"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        digest = self._settings.digest_of(user)
        is_valid = bool(digest) and hmac.compare_digest(proof, _proof(secret, digest))
        return user if is_valid and time.time() < ends_at else None

    def end(self, secret: str) -> None:
        """Log out."""
        if _SECRET.fullmatch(secret):
            self._file(secret).unlink(missing_ok=True)

    def _file(self, secret: str) -> Path:
        return self._folder / hashlib.sha256(secret.encode()).hexdigest()

    def _forget_old(self) -> None:
        for file in self._folder.iterdir():
            with suppress(OSError):  # another server may be doing the same
                if file.stat().st_mtime < time.time() - LOGIN_S:
                    file.unlink()


def _proof(secret: str, digest: str) -> str:
    return hmac.new(secret.encode(), digest.encode(), "sha256").hexdigest()
