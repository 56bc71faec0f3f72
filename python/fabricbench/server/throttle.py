"""Rate limit of logins: a token bucket of attempts for each address."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import Final

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
