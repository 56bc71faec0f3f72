"""Registry of the backends by name: their settings and constructors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.backend.auto import AutoBackend
from fabricbench.backend.flow import FlowBackend
from fabricbench.backend.hosts import HostsBackend
from fabricbench.backend.protocol import Backend, BackendError, Capturing
from fabricbench.backend.sim import SimBackend
from fabricbench.words import close_match_hint, install_hint


@dataclass(frozen=True)
class Registered:
    """A backend that can be chosen.

    Attributes:
        make: Creates it from its settings; raises `BackendError` if a prerequisite is missing.
        settings: Names of its settings.
    """

    make: Callable[..., Backend]
    settings: tuple[str, ...] = ()


def _auto(**settings: Any) -> Backend:
    return AutoBackend({"sim": BACKENDS["sim"].make(**settings), "flow": BACKENDS["flow"].make()})


def _hosts(**settings: Any) -> Backend:
    from importlib.util import find_spec

    if missing := [name for name in ("grpc", "cryptography") if find_spec(name) is None]:
        raise BackendError(f"no library {missing[0]}", hint=f"`{install_hint('hosts')}` brings it")
    return HostsBackend(**settings)


_OF_SIMULATOR: Final = ("path", "fast_forward")
BACKENDS: Final[dict[str, Registered]] = {
    "sim": Registered(SimBackend, _OF_SIMULATOR),
    "flow": Registered(FlowBackend),
    "auto": Registered(_auto, _OF_SIMULATOR),
    "hosts": Registered(_hosts, ("hosts", "hosts_authority", "read_links")),
}
"""All backends, by name."""


def get_backend(name: str, settings: Mapping[str, Any] | None = None) -> Backend:
    """Return a backend by its name.

    Args:
        name: Its name.
        settings: The user's settings of this backend; others have their defaults.

    Raises:
        BackendError: There is none, a prerequisite of it is missing, or it does not have a setting.
    """
    entry = BACKENDS.get(name)
    if entry is None:
        hint = close_match_hint(name, BACKENDS)
        raise BackendError(f'no backend "{name}"', ", ".join(sorted(BACKENDS)), hint)
    unknown = sorted(set(settings or ()) - set(entry.settings))
    if unknown:
        allowed = ", ".join(entry.settings) or "none"
        actual = f"setting `{unknown[0]}` for backend {name}"
        raise BackendError(actual, f"{allowed}, the settings of {name}", "leave the option out")
    return entry.make(**(settings or {}))


def capturing(name: str) -> Capturing:
    """Return a backend that can capture frames, by its name.

    Raises:
        BackendError: There is none, a prerequisite of it is missing, or it cannot capture.
    """
    backend = get_backend(name)
    if not isinstance(backend, Capturing):
        raise BackendError(
            f"backend {name}, which shows no frames", "a backend that can capture, such as sim"
        )
    return backend
