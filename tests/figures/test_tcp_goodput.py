"""Goodput of single TCP connections over time, and their table."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import fabricbench as fb
from fabricbench.analysis.summary.tcp_connections import ConnectionResult
from fabricbench.figures.registry import FIGURES
from fabricbench.figures.samples.goodput import MAX_CONNECTIONS, connections_plot
from fabricbench.figures.scales import time_scale
from fabricbench.report.documents.tcp import connection_table, connections_of

PLAN = """\
fabricbench: 1
name: pulled
fabric:
  topology:
    {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, host_link: 100Gbps, fabric_link: 200Gbps}
  convergence_time: 1ms
  failures:
    - {at: 1ms, kind: link-down, link: spine1-leaf1}
jobs:
  - {name: test, ranks: "0,4", collective: send-receive, start: 4ms}
tcp:
  - {name: web, ranks: "1-3,5-7", collective: permutation, rate: 20Gbps, rto_min: 1ms, duration: 5ms}
sweep: {data_size: [64KB]}
"""


def connection(number: int) -> ConnectionResult:
    return ConnectionResult("web", number, 0, 1, 20.0, 10.0, 0, 0, None)


def test_a_rate_is_what_was_delivered_between_two_samples() -> None:
    series = pl.DataFrame(
        {
            "metric": ["tcp_delivered_bytes"] * 3 + ["tx_bytes"],
            "qp": [7, 7, 7, None],
            "time_ps": [0, 10**6, 2 * 10**6, 0],
            "value": [0, 2_500, 2_500, 9],
        }
    )
    plot = connections_plot(series, [connection(3), connection(7)], time_scale(2 * 10**6))
    assert plot is not None
    (line,) = plot.figure.data
    assert (line.name, list(line.y)) == ("web 7, host0 to host1", [20.0, 0.0])


def test_of_many_connections_the_first_are_drawn() -> None:
    count = MAX_CONNECTIONS + 2
    series = pl.DataFrame(
        {
            "metric": "tcp_delivered_bytes",
            "qp": [qp for qp in range(count) for _ in range(2)],
            "time_ps": [0, 10**6] * count,
            "value": [0, 1] * count,
        }
    )
    plot = connections_plot(series, [connection(each) for each in range(count)], time_scale(10**6))
    assert plot is not None
    assert (len(plot.figure.data), plot.reduced) == (MAX_CONNECTIONS, True)
    assert connections_plot(series, [], time_scale(10**6)) is None


def test_a_connection_over_the_pulled_link_is_idle_until_its_timeout(tmp_path: Path) -> None:
    path = tmp_path / "pulled.yaml"
    path.write_text(PLAN)
    trial = fb.run(fb.load(path), workspace=tmp_path / "w")[0].stored
    found = connections_of(trial)
    hit, others = [each for each in found if each.timeouts], [each for each in found if not each.timeouts]
    assert hit
    assert others
    assert min(each.idle_us or 0 for each in hit) > 900
    assert max(each.idle_us or 0 for each in others) < 100
    assert found[: len(hit)] == hit
    table = connection_table(trial)
    assert table is not None
    assert len(table.rows) == len(found)
    assert "tcp-goodput" in FIGURES
