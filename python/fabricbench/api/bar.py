"""Progress bar of a run below the cell of a notebook; nothing outside of notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fabricbench.words import data_size

if TYPE_CHECKING:
    from fabricbench.api.runs import Progress

_PERIOD_S: Final = 0.25
_NOTEBOOK: Final = "ZMQInteractiveShell"
"""Name of IPython's shell class in a notebook kernel; terminals have another class."""


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar in a notebook until the block ends, and yield its progress callback; none elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != _NOTEBOOK:
        yield None
        return
    bar = _Bar()
    try:
        yield bar.told
    finally:
        bar.clear()


class _Bar:
    """Progress bar of the whole run, with the running trials as text."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")
        self._html: Callable[[str], Any] = display.HTML
        self._handle: Any = display.display(display.HTML(""), display_id=True)
        self._running: dict[int, Progress] = {}
        self._shown_at = 0.0

    def told(self, progress: Progress) -> None:
        """Record the progress of a trial, and redraw the bar at most four times a second."""
        self._running[progress.trial] = progress
        if progress.trial_share >= 1.0:
            del self._running[progress.trial]
        if time.monotonic() - self._shown_at >= _PERIOD_S:
            self._shown_at = time.monotonic()
            self._handle.update(self._html(bar_html(progress.share, list(self._running.values()))))

    def clear(self) -> None:
        """Remove the bar."""
        self._handle.update(self._html(""))


def bar_html(share: float, running: list[Progress]) -> str:
    """Return the bar and the running trials as HTML."""
    named = ", ".join(
        f"trial {each.trial} of {each.trials} ({data_size(each.data_size_bytes)}) {each.trial_share:.0%}"
        for each in running
    )
    style = "width:24em;max-width:60%;vertical-align:middle"
    return f'<progress value="{share:.4f}" max="1" style="{style}"></progress> {share:.0%} {escape(named)}'
