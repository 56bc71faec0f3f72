"""Reads the work of a job of a run spec: a collective, open-loop traffic or storage.

A job that was measured elsewhere has no work: it is read as a collective of which only the pattern is known.
"""

from collections.abc import Mapping
from typing import Any, Final

from fabricbench.metrics import JobKind

NCCL_HEAD: Final = ("NCCL", "channels")
"""Head of a column of `nccl_text`."""
_PROTOCOLS: Final = {"ll": "LL", "ll128": "LL128", "simple": "Simple"}
_STORAGE: Final = {"collective": "storage", "algorithm": "closed-loop"}


def job_kind(job: Mapping[str, Any]) -> JobKind:
    """Return the kind of work of a job."""
    return JobKind(job["work"]["kind"]) if "work" in job else JobKind.COLLECTIVE


def collective_of(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the collective of a job; empty for work of another kind and for measured jobs."""
    work: Mapping[str, Any] = job.get("work", {})
    return work if work.get("kind") == JobKind.COLLECTIVE else {}


def pattern_of(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `collective`, `algorithm` and `data_bytes` of a job as results show them.

    For storage these are names of its own and the block size.
    """
    work: Mapping[str, Any] = job.get("work", {"pattern": job})
    pattern: Mapping[str, Any] = work.get("pattern") or _STORAGE | {"data_bytes": work["block_bytes"]}
    return pattern


def nccl_text(job: Mapping[str, Any]) -> str:
    """Return algorithm, protocol and channels of a job that NCCL runs: `ring LL128 16`; else empty."""
    nccl = collective_of(job).get("nccl")
    if not nccl:
        return ""
    channels = nccl["channels"]
    if not isinstance(channels, int):
        channels = len(channels)
    return f"{pattern_of(job)['algorithm']} {_PROTOCOLS[nccl['protocol']]} {channels}"
