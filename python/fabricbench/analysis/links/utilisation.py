"""Computes link utilisation, over a run and between samples, and the simulator's speed in packet-hops/s."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_PS_PER_S = 10**12
_BITS_PER_BYTE = 8


def link_use_percent(busy_ps: int, run_ps: int) -> float:
    """Return the utilisation of a direction of a cable over a run, preamble and gap included [%].

    Args:
        busy_ps: Column `busy_ps` of table `links` [ps].
        run_ps: Length of the run, `end_ps` of its summary [ps]; 0 gives 0.
    """
    return 100 * busy_ps / run_ps if run_ps else 0.0


def sampled_use(series: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return the utilisation of each sampled egress port in each interval between two samples.

    It is the frame bytes sent in the interval, without preamble and gap, over the capacity at line rate: a
    busy link with frames of 4,158 bytes shows 99.5 %. Formula: 100 * 8 * delta(tx_bytes) / (delta(time) *
    rate_bps).

    Args:
        series: Table `series`.
        links: Table `links`, for the line rates.

    Returns:
        Columns `node`, `port`, `time_ps` (end of the interval), `use_percent`; no row for a port's first
        sample.
    """
    import polars as pl

    rates = links.select(pl.col("from").alias("node"), pl.col("from_port").alias("port"), "rate_bps")
    sent = series.filter(pl.col("metric") == "tx_bytes").sort("node", "port", "time_ps")
    bits = pl.col("value").diff().over("node", "port") * _BITS_PER_BYTE
    seconds = pl.col("time_ps").diff().over("node", "port") / _PS_PER_S
    return (
        sent.join(rates, on=["node", "port"], how="inner")
        .sort("node", "port", "time_ps")
        .with_columns(use_percent=100 * bits / (seconds * pl.col("rate_bps")))
        .select("node", "port", "time_ps", "use_percent")
        .drop_nulls()
    )


def packet_hops_per_s(packet_hops: int, wall_s: float) -> float | None:
    """Return the frames that crossed a link per second of wall clock; none if the run took no time."""
    return packet_hops / wall_s if wall_s else None
