"""Builds tables of TCP traffic and of single connections, for terminal and page: columns, cells, captions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricbench.analysis.summary.tcp_connections import ConnectionResult, connection_results
from fabricbench.analysis.summary.tcp_traffic import TcpResult, tcp_results
from fabricbench.report.terminal.text_table import Column, Row, Style, count, fixed, number, render, styled
from fabricbench.store import Trial

HEADS = (
    ("TCP", "traffic"), ("congestion", "control"), ("senders", ""), ("offered", "Gb/s"), ("goodput", "Gb/s"),
    ("resent", "%"), ("timeouts", ""), ("fast", "recoveries"), ("frames", "lost"), ("ECN", "marks"),
    ("RTT mean", "us"), ("RTT P50", "us"), ("RTT P99", "us"),
)  # fmt: skip
"""Two lines of head for each column."""
WRITE_HEADS = (
    ("writes", "1/s"), ("write mean", "us"), ("P50", "us"), ("P99", "us"), ("max", "us"),
)  # fmt: skip
"""Additional columns for closed loops."""
TEXTS = 2
"""Number of text columns, which are the first."""
CAPTION = (
    "Rates are those of each sending host, of payload, from the start of the traffic to its end; round-trip "
    "times are smoothed (RFC 6298). Frames lost are all of its priority. Writes of a closed loop last from "
    "their issue to the acknowledgement of their last byte."
)
"""Caption of the table."""


CONNECTION_HEADS = (
    ("TCP", "traffic"), ("connection", ""), ("from", "host"), ("to", "host"), ("goodput", "Gb/s"),
    ("idle", "us"), ("segments", "resent"), ("timeouts", ""), ("RTT P99", "us"),
)  # fmt: skip
"""Two lines of head for each column of single connections."""
MAX_CONNECTIONS = 16
CONNECTION_CAPTION = (
    "Single connections, those with most timeouts first, then those that were idle for longest. Idle is the "
    "longest time between samples over which a connection delivered nothing; one with a rate is idle between "
    "two writes."
)
"""Caption of the table of connections."""


def connections_of(trial: Trial) -> list[ConnectionResult]:
    """Return the TCP connections of a finished trial; empty if the record has no table of them."""
    has_tables = bool(trial.facts.run_spec.get("tcp")) and trial.has("connections", "series")
    return connection_results(trial.tables) if has_tables else []


def connection_cells(result: ConnectionResult) -> list[str]:
    """Return the cells of a connection, in the order of `CONNECTION_HEADS`."""
    return [
        result.tcp,
        str(result.connection),
        str(result.src_host),
        str(result.dst_host),
        number(result.goodput_gbps, 4),
        number(result.idle_us, 4),
        count(result.retransmits),
        count(result.timeouts),
        number(result.rtt_us_p99, 4),
    ]


def connection_table(trial: Trial, *, colour: bool = False) -> str:
    """Return a table of the first TCP connections of a trial; empty if there are none.

    Args:
        trial: A finished trial.
        colour: Use the styles of a terminal.
    """
    connections = connections_of(trial)
    if not connections:
        return ""
    heads = [
        Column(tuple(line for line in head if line), is_text=index == 0)
        for index, head in enumerate(CONNECTION_HEADS)
    ]
    rows = [Row(connection_cells(connection)) for connection in connections[:MAX_CONNECTIONS]]
    lines = [styled("TCP connections", Style.BOLD, colour=colour), render(heads, rows, colour=colour)]
    if len(connections) > MAX_CONNECTIONS:
        lines.append(f"and {len(connections) - MAX_CONNECTIONS:,} more; export --table connections has all")
    return "\n".join(lines)


def results_of(trial: Trial) -> list[TcpResult]:
    """Return the TCP traffic of a finished trial; empty for a trial without."""
    return tcp_results(trial.facts.run_spec, trial.summary or {})


def heads_of(results: Iterable[TcpResult]) -> tuple[tuple[str, str], ...]:
    """Return two lines of head for each column that the results need."""
    return HEADS + WRITE_HEADS if any(result.writes_per_s is not None for result in results) else HEADS


def cells(result: TcpResult, columns: int = len(HEADS)) -> list[str]:
    """Return the cells of one result, in the order of `HEADS` and `WRITE_HEADS`, cut to `columns`."""
    texts = [
        result.name,
        result.congestion,
        str(result.senders),
        "unlimited" if result.offered_gbps is None else number(result.offered_gbps, 3),
        number(result.goodput_gbps, 3),
        fixed(result.retransmit_percent, 3),
        count(result.timeouts),
        count(result.fast_recoveries),
        count(result.frames_lost),
        count(result.ecn_ce_rx),
        number(result.rtt_us_mean, 3),
        number(result.rtt_us_p50, 3),
        number(result.rtt_us_p99, 3),
        number(result.writes_per_s, 4),
        number(result.write_us_mean, 4),
        number(result.write_us_p50, 4),
        number(result.write_us_p99, 4),
        number(result.write_us_max, 4),
    ]
    return texts[:columns]


def tcp_table(labelled: Sequence[tuple[str, Trial]], *, colour: bool = False) -> str:
    """Return a table of the TCP traffic of trials, one line for each; empty if there is none.

    Args:
        labelled: Trials with their labels.
        colour: Use the styles of a terminal.
    """
    results = [(label, result) for label, trial in labelled for result in results_of(trial)]
    if not results:
        return ""
    columns = heads_of(result for _, result in results)
    rows = [Row([label, *cells(result, len(columns))]) for label, result in results]
    heads = [Column(("trial",), is_text=True)]
    heads += [
        Column(tuple(line for line in head if line), is_text=index < TEXTS)
        for index, head in enumerate(columns)
    ]
    title = styled("TCP traffic, each sending host", Style.BOLD, colour=colour)
    return f"{title}\n{render(heads, rows, colour=colour)}"
