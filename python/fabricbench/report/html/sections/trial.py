"""Builds sections on one trial: chunks, channels, links, queues, latency, frame order, counters, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.figures.chunks.progress import PROGRESS_FIGURE
from fabricbench.figures.chunks.timeline import TIMELINE_FIGURE
from fabricbench.figures.figure import CHANNELS, LATENCY, LINKS, ORDER, SERIES, TIMELINE
from fabricbench.figures.links.layout import natural_key
from fabricbench.figures.scales import time_text
from fabricbench.figures.trial_data import Subject, subject_of
from fabricbench.report.documents.channels import channels_table
from fabricbench.report.documents.diagnosis import Insight
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.html.figure_sections import figure_section, plot_parts, plot_section
from fabricbench.report.html.page_parts import Part, Section
from fabricbench.store import Trial

if TYPE_CHECKING:
    import polars as pl


MAX_PORT_ROWS = 48
MAX_EVENT_ROWS = 100

_PORT_COLUMNS = {
    "tx_frames": Column("sent", "frames"),
    "tx_bytes": Column("sent", "bytes"),
    "rx_frames": Column("received", "frames"),
    "rx_bytes": Column("received", "bytes"),
    "dropped_frames": Column("tail drops", "frames"),
    "dropped_headroom_frames": Column("headroom overrun", "frames"),
    "dropped_wred_frames": Column("WRED drops", "frames"),
    "dropped_wred_yellow_frames": Column("WRED drops, yellow", "frames"),
    "dropped_wred_red_frames": Column("WRED drops, red", "frames"),
    "dropped_watchdog_frames": Column("watchdog drops", "frames"),
    "lost_link_down_frames": Column("lost, link down", "frames"),
    "fcs_error_frames": Column("corrupted", "frames"),
    "queue_max_bytes": Column("largest queue", "bytes"),
    "egress_qps": Column("egress QPs"),
    "pfc_tx": Column("XOFF sent", "frames"),
    "pfc_xon_tx": Column("XON sent", "frames"),
    "pfc_rx": Column("XOFF received", "frames"),
    "pfc_xon_rx": Column("XON received", "frames"),
    "paused_ps": Column("paused", "ps"),
    "flow_control_tx": Column("FC sent", "packets"),
    "flow_control_rx": Column("FC received", "packets"),
    "credit_wait_ps": Column("without credit", "ps"),
    "ecn_marked": Column("ECN marked", "frames"),
    "ecn_changes": Column("ECN threshold changes"),
    "credits_granted": Column("credits granted"),
    "voq_max_bytes": Column("deepest VOQ for it", "bytes"),
    "reassembly_max_bytes": Column("most in reassembly", "bytes"),
}


def trial_sections(trial: Trial, insight: Insight | None, loss_parts: Sequence[Part] = ()) -> list[Section]:
    """Return the sections about a trial, from the chunks down to the counters.

    Args:
        trial: The trial.
        insight: Insight from its counters; if `None`, its record has chunks only, and links in a lab.
        loss_parts: First parts of the section of counters.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    subject = subject_of(trial, [trial])
    if insight is None:
        links = [figure_section(LINKS, subject)] if trial.has("links", "ports") else []
        return [_transfers(subject), *_channels(subject), *links]
    return [
        _transfers(subject),
        *_channels(subject),
        *(figure_section(section, subject) for section in (LINKS, SERIES, LATENCY)),
        *([figure_section(ORDER, subject)] if insight.orders else []),
        _counters(subject, loss_parts),
    ]


def _transfers(subject: Subject) -> Section:
    """Draw the chunk transfers, after the progress of all chunks if some are left out."""
    timeline = plot_parts([TIMELINE_FIGURE], subject)
    is_reduced = any(part.plot.reduced for part in timeline)
    progress_plots = plot_parts([PROGRESS_FIGURE], subject) if is_reduced else []
    return plot_section(TIMELINE, [*progress_plots, *timeline])


def _channels(subject: Subject) -> list[Section]:
    """Return the section on the channels of NCCL; none if NCCL runs no job."""
    table = channels_table(subject.trial)
    if table is None:
        return []
    section = figure_section(CHANNELS, subject)
    return [Section(section.key, section.title, [*section.parts, table])]


def _counters(subject: Subject, loss_parts: Sequence[Part]) -> Section:
    parts: list[Part] = [*loss_parts, _port_table(subject.ports)]
    if not subject.events.is_empty():
        parts.append(_event_table(subject.events))
    return Section("counters", "Counters", parts)


def _port_table(ports: pl.DataFrame) -> Table:
    """Return a table of the ports with most trouble: by drops, then longest queues, then bytes."""
    shown = [name for name in _PORT_COLUMNS if name in _ALWAYS or (ports[name] != 0).any()]
    worst = ["dropped_frames", "dropped_headroom_frames", "queue_max_bytes", "tx_bytes"]
    chosen = ports.sort(worst, descending=True, maintain_order=True).head(MAX_PORT_ROWS)
    rows = sorted(
        chosen.iter_rows(named=True), key=lambda row: (-row["tier"], natural_key(row["node"]), row["port"])
    )
    # Features that a link lacks, such as PFC on InfiniBand, are null rather than 0.
    counted = [name for name in _PORT_COLUMNS if ports[name].null_count() < ports.height]
    empty = [name for name in counted if name not in shown]
    columns = [Column("port", is_text=True), Column("to", is_text=True)]
    return Table(
        [*columns, *(_PORT_COLUMNS[name] for name in shown)],
        [Row([_port_cell(row), str(row["peer"]), *(_count(row[name]) for name in shown)]) for row in rows],
        _port_caption(len(rows), ports.height, empty),
    )


def _event_table(events: pl.DataFrame) -> Table:
    rows = [
        Row([time_text(time_ps), kind, node, detail])
        for time_ps, kind, node, detail in _rare_first(events).head(MAX_EVENT_ROWS).iter_rows()
    ]
    columns = [Column("time"), *(Column(title, is_text=True) for title in ("event", "node", "detail"))]
    total = events.height
    caption = f"Reduced: {len(rows)} of {total:,} events, changes of ECN thresholds last."
    return Table(columns, rows, caption if len(rows) < total else "")


def _rare_first(events: pl.DataFrame) -> pl.DataFrame:
    """Sort threshold changes last if not all events can be shown."""
    import polars as pl

    if events.height <= MAX_EVENT_ROWS:
        return events
    return events.sort(pl.col("kind").is_in(["ecn_raised", "ecn_lowered"]), maintain_order=True)


_ALWAYS = ("tx_frames", "tx_bytes", "rx_frames", "rx_bytes", "dropped_frames", "queue_max_bytes")


def _port_cell(row: dict[str, int | str]) -> Cell:
    return Cell(f"{row['node']} port {row['port']}")


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", tone="" if value else "muted")


def _port_caption(shown: int, total: int, empty: list[str]) -> str:
    text = "Counters of each port; bytes are frame bytes, without preamble and gap."
    if shown < total:
        text += (
            f" Reduced: {shown} of {total:,} ports, those with the most drops, then the longest queues, "
            "then the most bytes sent; `fabricbench export TRIAL --table ports` gives all."
        )
    if empty:
        titles = [f"{_PORT_COLUMNS[name].title}" for name in empty]
        text += f" 0 at every port, and left out: {', '.join(titles)}."
    return text
