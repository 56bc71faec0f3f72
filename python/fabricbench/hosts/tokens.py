"""Issues and checks one-time tokens with which hosts join: stored as hashes, valid for minutes."""

from __future__ import annotations

import fcntl
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench.hosts.certificates import check_name, write_secret
from fabricbench.hosts.protocol import RefusedError

LIFETIME_S: Final = 600
"""Default lifetime of a token."""
_SECRET_BYTES: Final = 16
_FINGERPRINT_DIGITS: Final = 32
"""Digits of the authority's fingerprint, 128 bits: nobody can make a second certificate with the same."""
_TOKENS_MAX: Final = 10_000


@dataclass(frozen=True)
class Token:
    """A token with which a host joins.

    Attributes:
        secret: Known to the host only; the controller stores its hash.
        fingerprint: First digits of the SHA-256 of the authority's certificate, with which the host excludes
            a man in the middle.
    """

    secret: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.secret}.{self.fingerprint}"

    @classmethod
    def parse(cls, text: str) -> Token:
        """Parse a token.

        Raises:
            RefusedError: The text is not a token.
        """
        secret, _, digits = text.partition(".")
        if not secret or len(digits) != _FINGERPRINT_DIGITS or set(digits) - set("0123456789abcdef"):
            hint = "`fabricbench hosts token NAME` at the controller prints one, for one use"
            raise RefusedError("", "a token of another form", "SECRET.FINGERPRINT", hint)
        return cls(secret, digits)


class Tokens:
    """The tokens of an authority, in a file of its folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tokens.json"
        self._lock = folder / "tokens.lock"

    def issue(self, name: str, fingerprint: str, lifetime_s: int = LIFETIME_S) -> Token:
        """Create a token for a host; earlier ones for the name become void.

        Raises:
            RefusedError: The name is not allowed in a certificate, or there are too many tokens.
        """
        check_name(name)
        token = Token(secrets.token_urlsafe(_SECRET_BYTES), fingerprint[:_FINGERPRINT_DIGITS])
        with self._changed() as tokens:
            for digest in [digest for digest, entry in tokens.items() if entry["name"] == name]:
                del tokens[digest]
            if len(tokens) >= _TOKENS_MAX:
                raise RefusedError("", f"{len(tokens)} unused tokens", f"at most {_TOKENS_MAX}")
            tokens[_digest(token.secret)] = {"name": name, "expires": time.time() + lifetime_s}
        return token

    def name_of(self, text: str) -> str:
        """Return the name of a token, without using it up.

        Raises:
            RefusedError: There is no such token, it was used, or it has expired.
        """
        with self._changed() as tokens:
            return self._entry(tokens, text)

    def redeem(self, text: str) -> str:
        """Use up a token and return its name.

        Raises:
            RefusedError: There is no such token, it was used, or it has expired.
        """
        with self._changed() as tokens:
            name = self._entry(tokens, text)
            del tokens[_digest(Token.parse(text).secret)]
            return name

    def waiting(self) -> list[str]:
        """Return the names whose tokens are still usable."""
        with self._changed() as tokens:
            return sorted(entry["name"] for entry in tokens.values())

    def _entry(self, tokens: dict[str, dict[str, Any]], text: str) -> str:
        entry = tokens.get(_digest(Token.parse(text).secret))
        if entry is None:
            hint = "`fabricbench hosts token NAME` makes a new one"
            raise RefusedError("", "a token that was used, has expired or was never made", "", hint)
        return str(entry["name"])

    @contextmanager
    def _changed(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Lock and yield the unexpired tokens, then write the block's changes."""
        self._lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stored = json.loads(self._path.read_text()) if self._path.exists() else {}
            now = time.time()
            tokens = {digest: entry for digest, entry in stored.items() if entry["expires"] > now}
            yield tokens
            if tokens != stored:
                write_secret(self._path, json.dumps(tokens).encode())


def _digest(secret: str) -> str:
    """Hash a secret; one of 128 random bits needs neither salt nor a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
