"""Cache of computed responses by key, bounded in bytes; concurrent requests for a key compute it once."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock, Semaphore
from typing import Final

_BYTES_MAX: Final = 128 << 20


class Cache:
    """Least-recently-used cache of byte strings, bounded in bytes; a key always denotes the same content.

    Attributes:
        places: Semaphore held while content is computed: one slot per processor, at least two.
    """

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        """Start empty."""
        self._bytes_max = bytes_max
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}
        self.places = Semaphore(max(2, os.cpu_count() or 1))

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the content of a key, computed on a miss; concurrent requests for a key wait for one."""
        content = self._found(key)
        if content is not None:
            return content
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            content = self._found(key)
            if content is None:
                with self.places:
                    content = make()
                self._keep(key, content)
        with self._lock:
            self._making.pop(key, None)
        return content

    def _found(self, key: Hashable) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, value: bytes) -> None:
        if len(value) > self._bytes_max // 4:
            return
        with self._lock:
            self._kept[key] = value
            self._bytes += len(value)
            while self._bytes > self._bytes_max:
                self._bytes -= len(self._kept.popitem(last=False)[1])
