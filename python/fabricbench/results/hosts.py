"""The real hosts of a trial: what each of them is, how sure its clock is, and what its devices counted."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricbench.store import Trial


def hosts_of(trial: Trial) -> list[dict[str, Any]]:
    """Return the hosts of a finished trial; none of one that no hosts have measured.

    Each has what its backend keeps of it, and in `counters` the counters that changed while it ran: `device`,
    `source`, `counter` (the neutral name), `vendor_name`, `meaning`, `unit`, `before` and `after`.

    Raises:
        StoreError: The table `counters` cannot be read.
    """
    hosts = [dict(host) for host in trial.engine.get("hosts") or ()]
    # Records of before the table have the counters beside the facts.
    if hosts and trial.has("counters"):
        changed = _changed(trial)
        hosts = [host | {"counters": changed.get(host["host"], [])} for host in hosts]
    return hosts


def _changed(trial: Trial) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for batch in trial.tables.batches("counters"):
        for row in batch.to_pylist():
            # What a lab counts of its links is its devices' and no host's.
            if row["before"] != row["after"] and row["source"] != "lab":
                host = row.pop("host")
                found[host].append({"counter": row.pop("name"), **row})
    return found
