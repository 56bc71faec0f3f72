"""Tables of the real hosts of a trial: facts, clock errors, counters of their devices."""

from __future__ import annotations

from fabricbench.report.hosts import COUNTER_HEADS, HEADS, TEXTS, clock_text, rows_of
from fabricbench.report.text_table import Column, Row, render
from fabricbench.store import Trial


def hosts_table(trial: Trial, *, colour: bool = False) -> str:
    """Return the hosts of a trial and the known counters that changed; empty without hosts.

    Raises:
        StoreError: A table cannot be read.
    """
    hosts, counters = rows_of(trial)
    if not hosts:
        return ""
    heads = [Column((name,), is_text=name in TEXTS) for name in HEADS]
    parts = [render(heads, [Row(cells) for cells in hosts], colour=colour)]
    parts += [text] if (text := clock_text(trial)) else []
    if counters:
        heads = [Column((name,), is_text=name != "change") for name in COUNTER_HEADS]
        parts.append(render(heads, [Row(cells) for cells in counters], colour=colour))
    return "\n\n".join(parts)
