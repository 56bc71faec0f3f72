"""Reads run specs of earlier versions.

In version 1 the fields of a job's work were fields of the job: those of a collective, which storage had
without meaning, and `arrivals` and `storage`, which made it open-loop traffic or storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabricbench.store.columns import SCHEMA_VERSION

_OF_JOBS: Final = ("name", "hosts", "stream", "start_ps", "dscp", "priority", "repeat")
_OF_PATTERNS: Final = ("collective", "algorithm", "data_bytes", "root")
_OF_COLLECTIVES: Final[Mapping[str, Any]] = {
    "step_overhead_ps": 0,
    "send_overhead_ps": 0,
    "receive_overhead_ps": 0,
    "rendezvous": None,
    "copies_own_block": False,
    "compute_ps": 0,
    "warm_up_rounds": 0,
    "root_shift": False,
    "barrier": False,
}
"""Fields of collectives, with their values in specs that were stored before they were added."""


def current_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored run spec in the form of this version.

    That of a benchmark's result has no version and remains as it is.
    """
    if spec.get("schema_version") != 1:
        return spec
    return {**spec, "schema_version": SCHEMA_VERSION, "jobs": [_job(job) for job in spec["jobs"]]}


def _job(job: Mapping[str, Any]) -> dict[str, Any]:
    common = {name: job[name] for name in _OF_JOBS if name in job}
    return {"repeat": {"kind": "rounds", "rounds": 1}, **common, "work": _work(job)}


def _work(job: Mapping[str, Any]) -> dict[str, Any]:
    storage, arrivals = job.get("storage"), job.get("arrivals")
    if isinstance(storage, Mapping):
        return {"kind": "storage", "block_bytes": job.get("data_bytes"), **storage}
    pattern = {name: job[name] for name in _OF_PATTERNS if name in job}
    if isinstance(arrivals, Mapping):
        return {"kind": "open-loop", "pattern": pattern, **arrivals}
    own = {name: job.get(name, default) for name, default in _OF_COLLECTIVES.items()}
    sizes = {"round_bytes": job["round_bytes"]} if "round_bytes" in job else {}
    return {"kind": "collective", "pattern": pattern, **own, **sizes}
