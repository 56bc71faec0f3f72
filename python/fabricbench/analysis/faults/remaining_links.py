"""Computes which uplinks of each switch are up after failures, and their rate; links down at a run's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.record.trial import Record


def links_down(tables: Tables) -> dict[str, int]:
    """Return each link that was down when the run ended, by its two nodes, and since when [ps]."""
    down: dict[str, int] = {}
    events = [row for batch in tables.batches("events") for row in batch.to_pylist()]
    for event in events:
        name = event["detail"].split(",")[0]
        if event["kind"] == "link_down":
            down.setdefault(name, event["time_ps"])
        elif event["kind"] == "link_up":
            down.pop(name, None)
    return down


@dataclass(frozen=True)
class UplinksLeft:
    """Uplinks of a switch when some of them are down or slow.

    Attributes:
        switch: Its name.
        up: Uplinks that are up.
        all: All uplinks.
        rate_percent: Rate of the uplinks that are up, relative to the rate of all of them at full speed [%].
    """

    switch: str
    up: int
    all: int
    rate_percent: float

    @property
    def text(self) -> str:
        """Uplinks and their rate as text."""
        return f"{self.switch}: {self.up} of {self.all} uplinks, {self.rate_percent:.3g} % of their rate"


def uplinks_left(record: Record, at_ps: int) -> list[UplinksLeft]:
    """Return the switches with fewer or slower uplinks just after `at_ps`, by name."""
    failures = record.run_spec["fabric"].get("failures", [])
    past_failures = sorted(
        (failure for failure in failures if failure["at_ps"] <= at_ps), key=lambda failure: failure["at_ps"]
    )
    tiers = _tiers(record)
    links = [
        link
        for batch in record.tables.batches("links", ["from", "from_port", "to", "rate_bps"])
        for link in batch.to_pylist()
        if tiers.get(link["to"], 0) > tiers.get(link["from"], 0) > 0
    ]
    rates = _rates(links, past_failures)
    switches = []
    for switch in sorted({link["from"] for link in links}):
        own = [index for index, link in enumerate(links) if link["from"] == switch]
        full_bps = sum(links[index]["rate_bps"] for index in own)
        up_bps = sum(rates[index] for index in own)
        if up_bps < full_bps:
            up = sum(1 for index in own if rates[index])
            switches.append(UplinksLeft(switch, up, len(own), 100 * up_bps / full_bps))
    return switches


def _tiers(record: Record) -> dict[str, int]:
    rows = (row for batch in record.tables.batches("ports", ["node", "tier"]) for row in batch.to_pylist())
    return {row["node"]: row["tier"] for row in rows}


def _rates(links: list[dict[str, Any]], failures: list[Mapping[str, Any]]) -> list[int]:
    """Return the rate of each link after `failures`, 0 where it is down [bit/s]."""
    links_down = [False] * len(links)
    switches_down: set[str] = set()
    rates = [link["rate_bps"] for link in links]
    for failure in failures:
        kind = failure["kind"]
        if kind in ("switch-down", "switch-up"):
            change = switches_down.add if kind == "switch-down" else switches_down.discard
            change(failure["switch"])
        elif kind in ("link-down", "link-up", "link-rate"):
            for index in _named(links, failure["link"]):
                if kind == "link-rate":
                    rates[index] = failure["rate_bps"]
                else:
                    links_down[index] = kind == "link-down"
    return [
        0 if links_down[index] or {link["from"], link["to"]} & switches_down else rates[index]
        for index, link in enumerate(links)
    ]


def _named(links: list[dict[str, Any]], name: str) -> list[int]:
    """Return the links that a failure names: all parallel cables, or one of them by its index."""
    pair, _, index_text = name.partition(":")
    own = [
        index
        for index, link in enumerate(links)
        if pair in (f"{link['from']}-{link['to']}", f"{link['to']}-{link['from']}")
    ]
    own.sort(key=lambda index: links[index]["from_port"])
    return own[int(index_text) : int(index_text) + 1] if index_text else own
