"""Lists the parts of a run that endpoints do not have, on real hosts and in labs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.metrics import JobKind
from fabricbench.work import job_kind


@dataclass(frozen=True)
class Unsupported:
    """A part of a run that endpoints do not have.

    Attributes:
        field: Field of the run spec.
        found: The part, in words.
        allowed: The allowed values, in words.
        why: What endpoints do instead.
    """

    field: str
    found: str
    allowed: str
    why: str


def unsupported(spec: Mapping[str, Any]) -> Iterator[Unsupported]:
    """Yield the parts of a run that endpoints do not have."""
    allowed, why = "none on hosts: collectives only", "endpoints run collectives only"
    for number, job in enumerate(spec["jobs"]):
        if job_kind(job) is JobKind.STORAGE:
            yield Unsupported(f"jobs[{number}].work.kind", "storage", allowed, why)
    if spec["fabric"].get("server") is not None:
        reason = "endpoints have an adapter and no GPUs"
        yield Unsupported("fabric.server", "servers with GPUs", "`fabric.server: none` on hosts", reason)
    if spec["tcp"]:
        yield Unsupported("tcp", "TCP traffic beside the jobs", allowed, why)
