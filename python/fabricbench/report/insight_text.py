"""Likely causes, uplinks, losses and pauses of a trial as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fabricbench.analysis.causes.finding import Finding
from fabricbench.analysis.reordering import Reordering
from fabricbench.analysis.uplinks import EgressDistribution
from fabricbench.report.insight import Insight, finding_text
from fabricbench.report.text_table import Column, Row, Style, fixed, render, styled

NO_CAUSE = "no known cause has left evidence in the counters"
_WIDTH = 110
_MAX_FINDINGS = 8
_MAX_SWITCHES = 32
_MAX_PORTS = 8


def insight_text(found: Insight, *, colour: bool = False) -> str:
    """Return the sections that have something to say, each under its title.

    Lists are cut where they are long, and say so; JSON output has all of them.
    """
    sections = [_why(found, job) for job in found.unhealthy]
    sections += [_uplinks(found.distributions), _losses(found), _pauses(found), _orders(found.orders)]
    return "\n\n".join(
        "\n".join([styled(title, Style.BOLD, colour=colour), *lines]) for title, lines in sections if lines
    )


_Section = tuple[str, list[str]]


def _why(found: Insight, job: str) -> _Section:
    findings = found.of_job(job)
    texts = [_wrapped(finding) for finding in findings[:_MAX_FINDINGS]] or [f"  {NO_CAUSE}"]
    if len(findings) > _MAX_FINDINGS:
        texts.append(f"  and {len(findings) - _MAX_FINDINGS} more; --format json has all")
    return f"why job {job} is below 95 % of its ideal, likely causes", texts


def _wrapped(finding: Finding) -> str:
    return textwrap.fill(
        finding_text(finding), _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _uplinks(distributions: Sequence[EgressDistribution]) -> _Section:
    heads = ("switch", "queue pairs", "max to mean", "GB sent", "max to mean")
    columns = [Column((head,), is_text=index in (0, 1, 3)) for index, head in enumerate(heads)]
    rows = [
        Row(
            [
                each.switch,
                each.qps_text,
                fixed(each.qps_max_to_mean, 3),
                "+".join(f"{uplink.tx_bytes / 1e9:.3g}" for uplink in each.uplinks),
                fixed(each.bytes_max_to_mean, 3),
            ]
        )
        for each in distributions[:_MAX_SWITCHES]
    ]
    lines = [render(columns, rows, colour=False)] if rows else []
    if len(distributions) > _MAX_SWITCHES:
        lines.append(f"and {len(distributions) - _MAX_SWITCHES} more switches; --format json has all")
    return "uplinks, in the order of their ports", lines


def _losses(found: Insight) -> _Section:
    if not any(found.losses.values()):
        return "", []
    return "frames lost", [f"  {cause}: {frames:,}" for cause, frames in found.losses.items()]


def _orders(orders: Sequence[Reordering]) -> _Section:
    heads = ("job", "late frames", "% of all", "P50", "P99", "max")
    columns = [Column((head,), is_text=index == 0) for index, head in enumerate(heads)]
    rows = [
        Row(
            [
                order.job,
                f"{order.late_frames:,}",
                fixed(order.late_percent, 3),
                *(
                    f"{distance:,}"
                    for distance in (order.distance_p50, order.distance_p99, order.distance_max)
                ),
            ]
        )
        for order in orders
    ]
    title = "frames out of order, and how many frames behind the newest"
    return title, [render(columns, rows, colour=False)] if rows else []


def _pauses(found: Insight) -> _Section:
    columns = [Column((head,), is_text=index < 2) for index, head in enumerate(("port", "paused by"))]
    columns += [Column((head,)) for head in ("PFC received", "paused ms", "% of the run")]
    rows = [
        Row(
            [
                f"{port.node} port {port.port}",
                port.peer,
                f"{port.pfc_rx:,}",
                f"{port.paused_ps / 1e9:.4g}",
                fixed(100 * port.share, 1),
            ]
        )
        for port in found.paused[:_MAX_PORTS]
    ]
    lines = [render(columns, rows, colour=False)] if rows else []
    if len(found.paused) > _MAX_PORTS:
        lines.append(f"and {len(found.paused) - _MAX_PORTS} more ports; --format json has all")
    return "paused ports", lines
