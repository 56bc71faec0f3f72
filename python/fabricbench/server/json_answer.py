"""The JSON response of a route that has its content, which its response model only describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import Response
from pydantic_core import to_json

_MEDIA_TYPE: Final = "application/json"


def json_answer(content: bytes | str | Mapping[str, Any], status: int = 200) -> Response:
    """Return a JSON response that FastAPI neither validates nor serialises again.

    Validation of a large body takes longer than writing it; tests/server/test_answers.py validates the body
    of each route.

    Args:
        content: The body, as JSON text or as an object of JSON values.
        status: HTTP status.
    """
    body = to_json(content) if isinstance(content, Mapping) else content
    return Response(body, status, media_type=_MEDIA_TYPE)
