"""Hints at names that are nearly what was written."""

from difflib import get_close_matches
from typing import Any, Final

_BEGUN_MAX: Final = 5
"""Most names that a beginning may stand for."""


def close_match_hint(found: object, allowed: Any) -> str:
    """Suggest the allowed names that begin with what was found, if they are few, or else the nearest one."""
    names = [str(name) for name in allowed]
    begun = [name for name in names if found and name.startswith(str(found))]
    close = begun if 0 < len(begun) <= _BEGUN_MAX else get_close_matches(str(found), names, n=1)
    return f"did you mean {' or '.join(f'`{name}`' for name in close)}?" if close else ""
