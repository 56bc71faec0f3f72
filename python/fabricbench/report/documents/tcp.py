"""Builds tables of TCP traffic and of single connections, for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.summary.tcp_connections import ConnectionResult, connection_results
from fabricbench.analysis.summary.tcp_traffic import TcpResult, tcp_results
from fabricbench.report.documents.numbers import count, fixed, number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import named_trials
from fabricbench.store import Trial

_HEADS = (
    ("TCP", "traffic"), ("congestion", "control"), ("senders", ""), ("offered", "Gb/s"), ("goodput", "Gb/s"),
    ("resent", "%"), ("timeouts", ""), ("fast", "recoveries"), ("frames", "lost"), ("ECN", "marks"),
    ("RTT mean", "us"), ("RTT P50", "us"), ("RTT P99", "us"),
)  # fmt: skip
"""Two lines of head for each column."""
_WRITE_HEADS = (
    ("writes", "1/s"), ("write mean", "us"), ("P50", "us"), ("P99", "us"), ("max", "us"),
)  # fmt: skip
"""Additional columns for closed loops."""
_TEXTS = 2
"""Number of text columns, which are the first."""
_CAPTION = (
    "Rates are those of each sending host, of payload, from the start of the traffic to its end; round-trip "
    "times are smoothed (RFC 6298). Frames lost are all of its priority. Writes of a closed loop last from "
    "their issue to the acknowledgement of their last byte."
)
_CONNECTION_HEADS = (
    ("TCP", "traffic"), ("connection", ""), ("from", "host"), ("to", "host"), ("goodput", "Gb/s"),
    ("idle", "us"), ("segments", "resent"), ("timeouts", ""), ("RTT P99", "us"),
)  # fmt: skip
"""Two lines of head for each column of single connections."""
_MAX_CONNECTIONS = 16
_CONNECTION_CAPTION = (
    "Single connections, those with most timeouts first, then those that were idle for longest. Idle is the "
    "longest time between samples over which a connection delivered nothing; one with a rate is idle between "
    "two writes."
)
_UNITS = ("Gb/s", "%", "us", "1/s")


def connections_of(trial: Trial) -> list[ConnectionResult]:
    """Return the TCP connections of a finished trial; empty if the record has no table of them."""
    has_tables = bool(trial.facts.run_spec.get("tcp")) and trial.has("connections", "series")
    return connection_results(trial.tables) if has_tables else []


def connection_table(trial: Trial) -> Table | None:
    """Return a table of the first TCP connections of a trial, or `None` without a table of them."""
    connections = connections_of(trial)
    if not connections:
        return None
    columns = [_column(head, is_text=index == 0) for index, head in enumerate(_CONNECTION_HEADS)]
    rows = [Row(_connection_cells(connection)) for connection in connections[:_MAX_CONNECTIONS]]
    omitted = len(connections) - len(rows)
    notes = [f"and {omitted:,} more; `fabricbench export --table connections` has all"] if omitted else []
    return Table(columns, rows, _CONNECTION_CAPTION, "TCP connections", notes)


def _connection_cells(result: ConnectionResult) -> list[str]:
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


def _column(head: tuple[str, str], *, is_text: bool) -> Column:
    """Return a column; the second line of its head is a unit or a part of its title."""
    first, second = head
    lines = tuple(filter(None, head))
    title = first if second in _UNITS else " ".join(lines)
    return Column(title, second if second in _UNITS else "", is_text, lines)


def results_of(trial: Trial) -> list[TcpResult]:
    """Return the TCP traffic of a finished trial; empty for a trial without."""
    return tcp_results(trial.facts.run_spec, trial.summary or {})


def tcp_table(trials: Sequence[Trial], focus: str = "") -> Table | None:
    """Return a table of the TCP traffic of trials, one line for each, or `None` without any.

    Args:
        trials: The trials; each may be given several times.
        focus: Id of the trial that is shown in detail.
    """
    results = [
        (label, trial, result) for label, trial in named_trials(trials) for result in results_of(trial)
    ]
    if not results:
        return None
    has_writes = any(result.writes_per_s is not None for _, _, result in results)
    heads = _HEADS + _WRITE_HEADS if has_writes else _HEADS
    columns = [Column("trial", is_text=True)]
    columns += [_column(head, is_text=index < _TEXTS) for index, head in enumerate(heads)]
    rows = [
        Row([label, *_cells(result)[: len(heads)]], focus=trial.id == focus)
        for label, trial, result in results
    ]
    return Table(columns, rows, _CAPTION, "TCP traffic, each sending host")


def _cells(result: TcpResult) -> list[str]:
    """Return the cells of one result, in the order of `_HEADS` and `_WRITE_HEADS`."""
    return [
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
