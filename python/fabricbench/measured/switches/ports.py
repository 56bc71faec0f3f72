"""Names and patterns of ports for `--uplinks`: `is_among` matches a port, `expanded` expands a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

PORT_PATTERNS: Final = (
    "a port, a list `Ethernet0,Ethernet8`, `Ethernet{256,264}` or `Ethernet(256|264)`, a range "
    "`Ethernet{256..280}`, or a pattern with `*`, `?` and `[0-9]` as in a shell; it is no regular expression"
)
_GROUP: Final = re.compile(r"\{([^{}]*)\}|\(([^()]*)\)")
_RANGE: Final = re.compile(r"(\d{1,6})\.\.(\d{1,6})(?:\.\.(\d{1,6}))?")
_OUTER: Final = re.compile(r"[,|](?![^{(\[]*[})\]])")
"""Separators outside braces and brackets."""
_EXPANDED_MAX: Final = 4096
"""Most names of a pattern; further ones are ignored."""


def is_among(port: str, pattern: str) -> bool:
    """Return whether a port matches a pattern."""
    return any(fnmatchcase(port, shell_pattern) for shell_pattern in expanded(pattern))


def expanded(pattern: str) -> list[str]:
    """Return the shell patterns to which a pattern with lists, braces or alternatives expands."""
    patterns: list[str] = []
    for part in _OUTER.split(pattern):
        for pattern_text in _expand(part.strip()):
            if len(patterns) >= _EXPANDED_MAX:
                return patterns
            if pattern_text:
                patterns.append(pattern_text)
    return patterns


def _expand(text: str) -> Iterator[str]:
    group = _GROUP.search(text)
    if group is None:
        yield text
        return
    inner = group[1] if group[1] is not None else group[2]
    for choice in _choices(inner, "," if group[1] is not None else "|"):
        yield from _expand(f"{text[: group.start()]}{choice}{text[group.end() :]}")


def _choices(inner: str, separator: str) -> Iterator[str]:
    for choice in inner.split(separator):
        span = _RANGE.fullmatch(choice.strip())
        if span is None:
            yield choice.strip()
        else:
            yield from map(str, range(int(span[1]), int(span[2]) + 1, int(span[3] or 1) or 1))
