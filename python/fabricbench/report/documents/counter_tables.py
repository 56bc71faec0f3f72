"""Tables of a trial's counters: uplinks, rates and ECN marks, paused ports, PFC by priority, reordering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabricbench.analysis.links.uplinks import EgressDistribution
from fabricbench.analysis.summary.reordering import Reordering
from fabricbench.figures.scales import byte_count_scale
from fabricbench.report.documents.diagnosis import Insight
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.words import counted

MAX_UPLINKS_LISTED = 8
"""With more uplinks, only the smallest and the largest value are written."""


def uplinks_table(shown: Sequence[EgressDistribution], total: int) -> Table:
    """Return the traffic distribution over the uplinks of switches, of `total`."""
    largest = max((uplink.tx_bytes for switch in shown for uplink in switch.uplinks), default=0)
    unit, unit_bytes = byte_count_scale(largest)
    columns = [
        Column("switch", is_text=True),
        Column("queue pairs", is_text=True),
        Column("max to mean"),
        Column("sent", unit, is_text=True, head=(f"{unit} sent",)),
        Column("max to mean"),
        Column("link usage", "%", is_text=True, head=("link usage %",)),
        Column("frames delta"),
    ]
    rows = [
        Row(
            [
                switch.switch,
                switch.qps_text,
                fixed(switch.qps_max_to_mean, 3),
                _joined([uplink.tx_bytes / unit_bytes for uplink in switch.uplinks], _three_digits),
                fixed(switch.bytes_max_to_mean, 3),
                _usage_text(switch),
                _count(switch.frames_delta),
            ]
        )
        for switch in shown
    ]
    caption = (
        "Queue pairs and frame bytes of each uplink, in the order of its ports. A queue pair counts where "
        "its data leaves; load balancing that is not by queue pair has no count. Link usage is the time for "
        "which each uplink was occupied, over the run; frames delta the frames that the switch lost."
    )
    title = "uplinks, in the order of their ports"
    return Table(columns, rows, caption, title, _omission(total - len(rows), "switch"))


def marks_table(distributions: Sequence[EgressDistribution], most: int) -> Table | None:
    """Return rates of uplinks in both directions and ECN marks, or `None` if no frame was marked."""
    if not any(distribution.has_marks for distribution in distributions):
        return None
    texts = (("switch", ""), ("sent", "Gb/s"), ("received", "Gb/s"))
    columns = [Column(title, unit, is_text=True, head=(title,)) for title, unit in texts]
    columns += [
        Column(title, "frames", head=(title,))
        for title in ("marked at uplinks", "marked above", "marked at other ports")
    ]
    rows = [
        Row(
            [
                switch.switch,
                _joined([uplink.tx_gbps for uplink in switch.uplinks], _tenths),
                _joined([uplink.rx_gbps for uplink in switch.uplinks], _tenths),
                _sum([uplink.ecn_marked for uplink in switch.uplinks]),
                _sum([uplink.peer_ecn_marked for uplink in switch.uplinks]),
                _sum([switch.ecn_marked_below]),
            ]
        )
        for switch in distributions[:most]
    ]
    caption = (
        "Rates of each uplink over the run, in the order of the ports, in both directions; frames marked "
        "with congestion experienced at the uplinks, at the other ends of their cables, and at the other "
        "ports of the switch, such as those to hosts."
    )
    title = "rates of uplinks (Gb/s) and frames marked with ECN"
    return Table(columns, rows, caption, title, _omission(len(distributions) - len(rows), "switch"))


def pauses_table(insight: Insight, most: int) -> Table | None:
    """Return the ports that were paused, those paused longest first, or `None` without any."""
    if not insight.paused:
        return None
    columns = [
        Column("port", is_text=True),
        Column("paused by", is_text=True),
        Column("XOFF received", "frames", head=("PFC XOFF",)),
        Column("XON received", "frames", head=("XON",)),
        Column("paused", "ms", head=("paused ms",)),
        Column("of the run", "%", head=("% of the run",)),
    ]
    rows = [
        Row(
            [
                f"{port.node} port {port.port}",
                port.peer,
                f"{port.pfc_rx:,}",
                _count(port.pfc_xon_rx),
                f"{port.paused_ps / 1e9:.4g}",
                fixed(100 * port.share, 1),
            ]
        )
        for port in insight.paused[:most]
    ]
    return Table(
        columns, rows, title="paused ports", notes=_omission(len(insight.paused) - len(rows), "port")
    )


def priorities_table(insight: Insight, most: int) -> Table | None:
    """Return the pause frames of each priority, XOFF and XON separately, or `None` without any."""
    if not insight.priorities:
        return None
    columns = [Column("port", is_text=True), Column("priority")]
    columns += [Column(title) for title in ("XOFF sent", "XON sent", "XOFF received", "XON received")]
    columns.append(Column("paused", "ms", head=("paused ms",)))
    rows = [
        Row(
            [
                f"{counters.node} port {counters.port}",
                str(counters.priority),
                *map(_count, (counters.pfc_tx, counters.pfc_xon_tx, counters.pfc_rx, counters.pfc_xon_rx)),
                f"{counters.paused_ps / 1e9:.4g}",
            ]
        )
        for counters in insight.priorities[:most]
    ]
    omitted = len(insight.priorities) - len(rows)
    notes = [f"and {omitted} more; --format json has all"] if omitted else []
    caption = "XOFF begins or renews a pause, XON ends it."
    return Table(columns, rows, caption, "PFC frames by priority", notes)


def orders_table(orders: Sequence[Reordering]) -> Table | None:
    """Return the frames of each job that arrived out of order, or `None` without any."""
    if not orders:
        return None
    titles = ("frames behind", "% of all", "P50", "P99", "max")
    columns = [Column("job", is_text=True), *(Column(title) for title in titles)]
    rows = [
        Row(
            [
                order.job,
                f"{order.late_frames:,}",
                fixed(order.late_percent, 3),
                *map(_count, (order.distance_p50, order.distance_p99, order.distance_max)),
            ]
        )
        for order in orders
    ]
    return Table(columns, rows, title="frames out of order, behind the newest, and by how many frames")


def losses_table(insight: Insight) -> Table | None:
    """Return the frames lost by cause, or `None` if none was lost."""
    if not any(insight.losses.values()):
        return None
    rows = [
        Row([cause, Cell(f"{frames:,}", tone="bad" if frames else "muted")])
        for cause, frames in insight.losses.items()
    ]
    return Table([Column("frames lost by", is_text=True), Column("frames")], rows)


def _omission(omitted: int, name: str) -> list[str]:
    return [f"and {counted(omitted, f'more {name}')}; --format json has all"] if omitted > 0 else []


def _count(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _sum(counts: Sequence[int | None]) -> str:
    """Format a sum of counts; `-` if one is missing."""
    available = [count for count in counts if count is not None]
    return _count(sum(available) if len(available) == len(counts) else None)


def _usage_text(switch: EgressDistribution) -> str:
    """Format the utilisation of a switch's uplinks, `97.1+61.4+97.1`; `-` if it was not counted."""
    percentages = [uplink.usage_percent for uplink in switch.uplinks if uplink.usage_percent is not None]
    return _joined(percentages, _tenths) or "-"


def _three_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _tenths(value: float | None) -> str:
    return fixed(value, 1)


def _joined(values: Sequence[float | None], text: Callable[[float | None], str]) -> str:
    """Format a value per uplink, `1.52+1.37`; for more uplinks their range, `0.9 to 1.6`."""
    available = [value for value in values if value is not None]
    if len(values) > MAX_UPLINKS_LISTED and len(available) == len(values):
        return f"{text(min(available))} to {text(max(available))}"
    return "+".join(text(value) for value in values)
