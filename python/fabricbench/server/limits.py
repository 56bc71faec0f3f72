"""Bounds of a request: a body that is too large is refused before it has been read."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabricbench.server.errors import answer


class _TooLargeError(Exception):
    pass


class BodyLimit:
    """Answers 413 by the Content-Length, or without one as soon as more has come than may."""

    def __init__(self, app: ASGIApp, bytes_max: int, larger: Mapping[str, int]) -> None:
        """Take the bound, and that of some paths."""
        self._app = app
        self._bytes_max = bytes_max
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if b"%00" in scope["query_string"]:
            await answer(422, "the query holds the character NUL")(scope, receive, send)
            return
        bytes_max = self._larger.get(scope["path"], self._bytes_max)
        hint = "split the file" if scope["path"] in self._larger else "a plan is some kilobytes"
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > bytes_max:
            await _refuse(bytes_max, hint, scope, receive, send)
            return
        # All of it is read here, within the bound: once an answer has begun it is too late to refuse.
        try:
            messages = await _body(receive, bytes_max)
        except _TooLargeError:
            await _refuse(bytes_max, hint, scope, receive, send)
            return

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, replay, send)


async def _body(receive: Receive, bytes_max: int) -> list[Message]:
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > bytes_max:
            raise _TooLargeError
        if not message.get("more_body", False):
            return messages


async def _refuse(bytes_max: int, hint: str, scope: Scope, receive: Receive, send: Send) -> None:
    text = f"the body is larger than {bytes_max:,} bytes"
    await answer(413, text, hint, connection="close")(scope, receive, send)
