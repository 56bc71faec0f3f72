"""The sections about one trial: chunk transfers, links, queues, latency, counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.analysis.rates import link_use_percent, sampled_use
from fabricbench.figures.chunks.latency import latency_plot
from fabricbench.figures.chunks.progress import progress_plot
from fabricbench.figures.chunks.reordering import reordering_plot
from fabricbench.figures.chunks.timeline import Window, timeline_plot
from fabricbench.figures.links.layout import DirectedLink, natural_key
from fabricbench.figures.links.map import map_plot
from fabricbench.figures.links.matrix import matrix_plot
from fabricbench.figures.marks import marked, marks_of
from fabricbench.figures.samples.control import pause_plot, rate_plot
from fabricbench.figures.samples.goodput import goodput_plot
from fabricbench.figures.samples.series import queue_plot, use_plot, voq_plot
from fabricbench.figures.samples.thresholds import threshold_plot
from fabricbench.figures.scales import time_text
from fabricbench.report.html.model import Cell, Column, NotePart, Part, PlotPart, Row, Section, TablePart

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.figures.plot import Plot
    from fabricbench.report.insight import Insight
    from fabricbench.store import Trial

MAX_PORT_ROWS = 48
MAX_EVENT_ROWS = 100

_PORT_COLUMNS = {
    "tx_frames": Column("sent", "frames"),
    "tx_bytes": Column("sent", "bytes"),
    "rx_frames": Column("received", "frames"),
    "rx_bytes": Column("received", "bytes"),
    "dropped_frames": Column("tail drops", "frames"),
    "dropped_headroom_frames": Column("headroom overrun", "frames"),
    "dropped_watchdog_frames": Column("watchdog drops", "frames"),
    "lost_link_down_frames": Column("lost, link down", "frames"),
    "fcs_error_frames": Column("corrupted", "frames"),
    "queue_max_bytes": Column("largest queue", "bytes"),
    "egress_qps": Column("egress QPs"),
    "pfc_tx": Column("PFC sent", "frames"),
    "pfc_rx": Column("PFC received", "frames"),
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


class TrialDetail:
    """The tables of one trial and the sections made of them."""

    def __init__(self, trial: Trial, found: Insight | None = None, loss_parts: Sequence[Part] = ()) -> None:
        """Open the tables; `chunks` stays on the disk, whatever its size.

        Args:
            trial: The trial.
            found: What its counters tell; a page needs it.
            loss_parts: What stands first among the counters.

        Raises:
            StoreError: A table is missing or cannot be read.
        """
        import polars as pl

        self._found, self._loss_parts = found, loss_parts
        tables = trial.tables
        self._chunks = pl.scan_parquet(tables.opened("chunks"))
        self._ports, self._links, self._series, self._events = (
            pl.DataFrame(tables.table(name)) for name in ("ports", "links", "series", "events")
        )
        self._end_ps = int((trial.summary or {})["end_ps"])

    def sections(self) -> list[Section]:
        """Give the sections, from the chunks down to the counters."""
        return [
            self._transfers(),
            self._link_use(),
            self._over_time(),
            _section("latency", "Frame latency", [self.latency()], "No frame was accepted."),
            *self._order(),
            self._counters(),
        ]

    def chunk_sections(self) -> list[Section]:
        """Give the sections of the table `chunks` alone."""
        return [self._transfers()]

    def timeline(self, window: Window | None = None) -> Plot | None:
        """Draw the chunk transfers, or those in a window."""
        return timeline_plot(self._chunks, self._end_ps, window)

    def link_map(self) -> Plot | None:
        """Draw the use of each link on a map of the fabric."""
        return map_plot(*self._links_and_tiers())

    def link_matrix(self) -> Plot | None:
        """Draw the use of each link as a matrix of the nodes at its ends."""
        return matrix_plot(*self._links_and_tiers())

    def link_use(self) -> Plot | None:
        """Draw the sampled use of links over time."""
        return use_plot(sampled_use(self._series, self._links))

    def queues(self) -> Plot | None:
        """Draw the sampled queues over time."""
        return queue_plot(self._series)

    def latency(self) -> Plot | None:
        """Draw the latency of frames."""
        return latency_plot(self._chunks)

    def progress(self) -> Plot | None:
        """Draw how many chunks of each rank are complete, over time."""
        return progress_plot(self._chunks, self._end_ps)

    def goodput(self) -> Plot | None:
        """Draw the sampled goodput of each job over time."""
        return goodput_plot(self._series)

    def voqs(self) -> Plot | None:
        """Draw what waited in virtual output queues over time."""
        return voq_plot(self._series)

    def thresholds(self) -> Plot | None:
        """Draw the thresholds of ECN over time."""
        return threshold_plot(self._series)

    def pauses(self) -> Plot | None:
        """Draw which ports were paused over time."""
        return pause_plot(self._series)

    def rates(self) -> Plot | None:
        """Draw the sending rates of sampled queue pairs over time."""
        return rate_plot(self._series, self._queue_pairs())

    def _transfers(self) -> Section:
        timeline = self.timeline()
        whole = self.progress() if timeline and timeline.reduced else None
        return _section(
            "timeline", "Chunk transfers", self._marked([whole, timeline]), "No chunk was started."
        )

    def _link_use(self) -> Section:
        return _section(
            "links", "Link use", [self.link_map(), self.link_matrix()], "The fabric has no links."
        )

    def _links_and_tiers(self) -> tuple[list[DirectedLink], dict[str, int]]:
        tiers = dict(self._ports.select("node", "tier").iter_rows())
        return [self._directed_link(row) for row in self._links.iter_rows(named=True)], tiers

    def _directed_link(self, row: dict[str, int | str]) -> DirectedLink:
        return DirectedLink(
            source=str(row["from"]),
            source_port=int(row["from_port"]),
            target=str(row["to"]),
            target_port=int(row["to_port"]),
            rate_bps=int(row["rate_bps"]),
            frames=int(row["frames"]),
            wire_bytes=int(row["bytes"]),
            busy_ps=int(row["busy_ps"]),
            use_percent=link_use_percent(int(row["busy_ps"]), self._end_ps),
        )

    def _over_time(self) -> Section:
        plots = [
            self.goodput(),
            self.link_use(),
            self.queues(),
            self.voqs(),
            self.thresholds(),
            self.pauses(),
            self.rates(),
        ]
        missing = "Nothing was sampled: the plan's observe.series_points is 0, or the run was too short."
        return _section("series", "Over time", self._marked(plots), missing)

    def _marked(self, plots: list[Plot | None]) -> list[Plot | None]:
        """Draw failures, repairs and convergences into plots over time."""
        marks = marks_of(self._found.steps) if self._found else []
        return [plot and marked(plot, marks) for plot in plots]

    def _queue_pairs(self) -> dict[int, str]:
        """Return what the queue pairs carry whose rate was sampled."""
        import polars as pl

        sampled = self._series["qp"].drop_nulls().unique().to_list()
        if not sampled:
            return {}
        columns = ["qp", "job", "src_rank", "dst_rank"]
        pairs = self._chunks.filter(pl.col("qp").is_in(sampled)).select(columns).unique().collect()
        return {qp: f"{job} {source}>{target}" for qp, job, source, target in pairs.iter_rows()}

    def _order(self) -> list[Section]:
        plot = reordering_plot(self._found.orders) if self._found else None
        return [_section("order", "Order of arrival", [plot], "")] if plot else []

    def _counters(self) -> Section:
        parts: list[Part] = [*self._loss_parts, self._port_table()]
        if not self._events.is_empty():
            parts.append(self._event_table())
        return Section("counters", "Counters", parts)

    def _port_table(self) -> TablePart:
        """List the ports with most trouble: drops, then the longest queues, then the most bytes."""
        import polars as pl

        shown = [name for name in _PORT_COLUMNS if name in _ALWAYS or (self._ports[name] != 0).any()]
        worst = ["dropped_frames", "dropped_headroom_frames", "queue_max_bytes", "tx_bytes"]
        ports = self._ports.sort(worst, descending=True, maintain_order=True).head(MAX_PORT_ROWS)
        rows = sorted(
            ports.iter_rows(named=True), key=lambda row: (-row["tier"], natural_key(row["node"]), row["port"])
        )
        # What a link does not have, such as PFC on InfiniBand, was not counted and found to be 0.
        counted = [name for name in _PORT_COLUMNS if self._ports[name].null_count() < self._ports.height]
        empty = [name for name in counted if name not in shown]
        columns = [Column("port", numeric=False), Column("to", numeric=False)]
        return TablePart(
            [*columns, *(_PORT_COLUMNS[name] for name in shown)],
            [
                Row([_port_cell(row), Cell(str(row["peer"])), *(_count(row[name]) for name in shown)])
                for row in rows
            ],
            _port_caption(len(rows), self._ports.select(pl.len()).item(), empty),
        )

    def _event_table(self) -> TablePart:
        rows = [
            Row([Cell(time_text(time_ps)), Cell(kind), Cell(node), Cell(detail)])
            for time_ps, kind, node, detail in _rare_first(self._events).head(MAX_EVENT_ROWS).iter_rows()
        ]
        columns = [Column("time"), *(Column(title, numeric=False) for title in ("event", "node", "detail"))]
        total = self._events.height
        caption = f"Reduced: {len(rows)} of {total:,} events, changes of ECN thresholds last."
        return TablePart(columns, rows, caption if len(rows) < total else "")


def _rare_first(events: pl.DataFrame) -> pl.DataFrame:
    """Put changes of thresholds behind what is worse, where not all can be shown."""
    import polars as pl

    if events.height <= MAX_EVENT_ROWS:
        return events
    return events.sort(pl.col("kind").is_in(["ecn_raised", "ecn_lowered"]), maintain_order=True)


_ALWAYS = ("tx_frames", "tx_bytes", "rx_frames", "rx_bytes", "dropped_frames", "queue_max_bytes")


def _section(key: str, title: str, plots: list[Plot | None], missing: str) -> Section:
    parts: list[Part] = [PlotPart(plot) for plot in plots if plot is not None]
    return Section(key, title, parts or [NotePart(missing)])


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
