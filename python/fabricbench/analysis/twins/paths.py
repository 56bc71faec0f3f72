"""Detects queue pairs on other paths than predicted, by the bytes on the uplinks of each switch.

Counters of links do not name queue pairs. If an uplink transported more than every predicted one of its
switch, more queue pairs were on one link: that is certain. If uplinks were only swapped, it is possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.twins.causes import LOAD, Cause

_MORE: Final = 0.1
"""Relative difference from which a link has more load than another; headers of batches are 1.5 %."""
_LinkEnd = tuple[str, int]


def path_causes(measured: Tables, predicted: Tables) -> list[Cause]:
    """Return the switch whose uplinks differ most from the predicted ones, if any does.

    Raises:
        StoreError: A table cannot be read.
    """
    measured_bytes, predicted_bytes = _uplinks(measured), _uplinks(predicted)
    excess_bytes = {
        switch: sum(max(0, links[end] - predicted_bytes[switch][end]) for end in links)
        for switch, links in measured_bytes.items()
        if len(links) > 1 and links.keys() == predicted_bytes.get(switch, {}).keys()
    }
    switch = max(excess_bytes, key=lambda candidate: excess_bytes[candidate], default="")
    total = sum(predicted_bytes.get(switch, {}).values())
    if not total or max(measured_bytes[switch].values()) < LOAD * _busiest(measured):
        return []
    if excess_bytes[switch] < _MORE * total / len(predicted_bytes[switch]):
        return []
    return [_cause(switch, measured_bytes[switch], predicted_bytes[switch])]


def _busiest(tables: Tables) -> int:
    rows = (row for batch in tables.batches("links", ("bytes",)) for row in batch.to_pylist())
    return max((row["bytes"] or 0 for row in rows), default=0)


def _cause(switch: str, measured: Mapping[_LinkEnd, int], predicted: Mapping[_LinkEnd, int]) -> Cause:
    max_bytes, max_predicted = max(measured.values()), max(predicted.values())
    text = f"the most loaded uplink of {switch} carried {max_bytes:,} bytes, {max_predicted:,} predicted: "
    if max_bytes > (1 + _MORE) * max_predicted:
        text += "certainly queue pairs share an uplink that do not in the prediction"
    else:
        text += "queue pairs took other uplinks, and possibly share one at a time at which they do not there"
    return Cause("path", switch, max_bytes, max_predicted, text)


def _uplinks(tables: Tables) -> dict[str, dict[_LinkEnd, int]]:
    """Return the bytes of each link from a switch to a higher tier, by switch, peer and port."""
    columns = ("from", "from_port", "to", "tier", "bytes")
    rows: list[dict[str, Any]] = [
        row
        for batch in tables.batches("links", columns)
        for row in batch.to_pylist()
        if row["tier"] is not None and row["bytes"] is not None
    ]
    # The tier of a link is the higher one of its two ends: links down and sideways have that of the switch.
    tiers: dict[str, int] = {}
    for row in rows:
        tiers[row["from"]] = min(tiers.get(row["from"], row["tier"]), row["tier"])
    bytes_by_switch: dict[str, dict[_LinkEnd, int]] = defaultdict(dict)
    for row in rows:
        if row["tier"] > tiers[row["from"]]:
            bytes_by_switch[row["from"]][row["to"], row["from_port"]] = row["bytes"]
    return dict(bytes_by_switch)
