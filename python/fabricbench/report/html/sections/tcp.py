"""Builds the section on TCP traffic in parallel with the jobs, and on its single connections."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.report.documents.tcp import connection_table, tcp_table
from fabricbench.report.html.page_parts import Section
from fabricbench.results.result_rows import ResultRow


def tcp_section(rows: Sequence[ResultRow]) -> Section | None:
    """Return one line for each TCP traffic of each trial, or `None` without TCP."""
    focus = next((row.trial for row in rows if row.is_focus), None)
    tables = (
        tcp_table([row.trial for row in rows], focus.id if focus else ""),
        connection_table(focus) if focus else None,
    )
    parts = [table for table in tables if table]
    return Section("tcp", "TCP traffic", parts) if parts else None
