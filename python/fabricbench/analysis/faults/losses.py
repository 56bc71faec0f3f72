"""Lists a trial's frames lost by cause, its paused ports, and pause frames by port and priority."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

PAUSE_COLUMNS = ("node", "port", "peer", "pfc_rx", "pfc_xon_rx", "paused_ps")
"""Columns of `ports` that are read."""

LOSS_CAUSES: Mapping[str, str] = {
    "buffer_full": "tail drop",
    "headroom_overrun": "headroom overrun",
    "wred": "WRED",
    "host_overrun": "host overrun",
    "pfc_watchdog": "PFC watchdog",
    "link_down": "link down",
    "bit_error": "bit errors",
}
"""Title of each cause in the run's summary."""


@dataclass(frozen=True)
class PausedPort:
    """An egress port that was paused.

    Attributes:
        node: Node of the port.
        port: Its number.
        peer: The node that paused it.
        pfc_rx: Pause frames with non-zero quanta (XOFF) that it received.
        pfc_xon_rx: Pause frames with zero quanta (XON) that it received; none in a record without a count.
        paused_ps: Time for which it was paused.
        share: That time over the length of the run; may exceed 1 if pauses outlast the last chunk.
    """

    node: str
    port: int
    peer: str
    pfc_rx: int
    pfc_xon_rx: int | None
    paused_ps: int
    share: float


@dataclass(frozen=True)
class PriorityPauses:
    """Pause frames of one priority at a port.

    Attributes:
        node: Node of the port.
        port: Its number.
        priority: The priority (IEEE 802.1Q).
        pfc_tx: XOFF frames sent, with non-zero quanta.
        pfc_rx: XOFF frames received.
        pfc_xon_tx: XON frames sent, with zero quanta; none in a record without a count.
        pfc_xon_rx: XON frames received; none likewise.
        paused_ps: Time for which the priority was paused.
    """

    node: str
    port: int
    priority: int
    pfc_tx: int
    pfc_rx: int
    pfc_xon_tx: int | None
    pfc_xon_rx: int | None
    paused_ps: int


_PRIORITY_COLUMNS = tuple(field.name for field in dataclasses.fields(PriorityPauses))


def pauses_by_priority(priorities: Iterable[pa.RecordBatch]) -> list[PriorityPauses]:
    """Return the pause frames of each priority at each port that has any, most frames first.

    Args:
        priorities: Rows of `priorities`.
    """
    rows = (row for batch in priorities for row in batch.select(_PRIORITY_COLUMNS).to_pylist())
    pauses = [PriorityPauses(**row) for row in rows if row["pfc_tx"] or row["pfc_rx"]]
    return sorted(pauses, key=lambda row_pauses: -(row_pauses.pfc_tx + row_pauses.pfc_rx))


def losses_by_cause(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the frames lost by cause, with the titles of `LOSS_CAUSES`; causes not reported are 0.

    Empty if the backend does not count lost frames, such as the flow model.
    """
    lost = summary.get("frames_lost")
    if lost is None:
        return {}
    return {title: lost.get(name, 0) for name, title in LOSS_CAUSES.items()}


def paused_ports(ports: Iterable[pa.RecordBatch], run_ps: int) -> list[PausedPort]:
    """Return every port that was paused, longest time first.

    Args:
        ports: Rows of `ports` with at least `PAUSE_COLUMNS`.
        run_ps: Length of the run, `end_ps` of its summary [ps].
    """
    paused = [
        PausedPort(**row, share=row["paused_ps"] / run_ps if run_ps else 0.0)
        for batch in ports
        for row in batch.select(PAUSE_COLUMNS).to_pylist()
        if row["paused_ps"]
    ]
    return sorted(paused, key=lambda port: -port.paused_ps)
