"""ASGI middleware that reads request bodies within bounds of size, for one body and for all together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabricbench.server.errors import answer

_STRANGER_BYTES_MAX: Final = 4096
"""Largest body of a request that shows no token [bytes]: a login has a token of 1,000 characters at most."""


class BodyLimit:
    """Responds with 413 by the Content-Length, or without one as soon as the received bytes exceed the bound.

    Requests without a token have a small bound: they send only a login. The total of all bodies is bounded
    as well (503).
    """

    def __init__(self, app: ASGIApp, bytes_max: int, larger: Mapping[str, int], together_max: int) -> None:
        """Take the bound of a body, larger bounds by path, and the bound of all bodies together [bytes]."""
        self._app = app
        self._bytes_max = bytes_max
        self._larger = larger
        self._left = together_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within the bounds and pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if b"%00" in scope["query_string"]:
            await answer(422, "the query holds the character NUL")(scope, receive, send)
            return
        bytes_max, hint = self._bound(scope)
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > bytes_max:
            await _too_large(bytes_max, hint)(scope, receive, send)
            return
        # The whole body is read here: once a response has started, the request can no longer be refused.
        body = await self._read(receive, bytes_max, hint)
        if isinstance(body, JSONResponse):
            await body(scope, receive, send)
        elif body is not None:
            body_bytes = sum(map(_size_of, body))
            try:
                await self._app(scope, _replay(body, receive), send)
            finally:
                self._left += body_bytes

    async def _read(self, receive: Receive, bytes_max: int, hint: str) -> list[Message] | JSONResponse | None:
        """Return the messages of a body, an error response if it is too large, or none after a disconnect."""
        messages: list[Message] = []
        size, is_whole = 0, False
        try:
            while not is_whole:
                message = await receive()
                messages.append(message)
                size += _size_of(message)
                self._left -= _size_of(message)
                if message["type"] == "http.disconnect":
                    return None
                if size > bytes_max:
                    return _too_large(bytes_max, hint)
                if self._left < 0:
                    return _too_many()
                is_whole = not message.get("more_body", False)
            return messages
        finally:
            if not is_whole:
                self._left += size

    def _bound(self, scope: Scope) -> tuple[int, str]:
        """Return the largest size of a body [bytes], and a hint for larger ones."""
        if not scope["state"]["is_known"]:
            return _STRANGER_BYTES_MAX, "send the token with it"
        if scope["path"] in self._larger:
            return self._larger[scope["path"]], "split the file"
        return self._bytes_max, "a plan is some kilobytes"


def _size_of(message: Message) -> int:
    return len(message.get("body", b""))


def _replay(messages: list[Message], receive: Receive) -> Receive:
    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay


def _too_many() -> JSONResponse:
    return answer(503, "too much is being sent at once", "send it again in a moment", connection="close")


def _too_large(bytes_max: int, hint: str) -> JSONResponse:
    return answer(413, f"the body is larger than {bytes_max:,} bytes", hint, connection="close")
