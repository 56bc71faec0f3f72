"""Computes the facts of a trial for the catalog (plan, variant, size, machine) and its id, a hash."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fabricbench.backend.protocol import Backend, Choosing, carrier_of
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.store import TrialFacts


def machine_facts() -> dict[str, Any]:
    """Return properties of this machine that may affect results."""
    system = os.uname()
    return {
        "host": system.nodename,
        "system": f"{system.sysname} {system.release}",
        "architecture": system.machine,
        "cpus": os.cpu_count(),
        "python": sys.version.split()[0],
    }


def suite_id(plan: str, trial_ids: Sequence[str], tag: str) -> str:
    """Return the common id of the trials of one plan, expanded in the same way."""
    return hashlib.sha256("\n".join((plan, *trial_ids, tag)).encode()).hexdigest()[:12]


def trial_id(planned: PlannedTrial, backend: Backend) -> str:
    """Return the id of a result, derived from the run spec, the backend and the version of its results.

    It is the first 12 hex digits of SHA-256 over three lines: the RunSpec as canonical JSON, the name of the
    backend that runs it and that version.
    """
    carrier = carrier_of(backend, planned)
    text = f"{planned.spec_json}\n{carrier.name}\n{carrier.version}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _published_and_criteria(
    planned: PlannedTrial, loaded: LoadedPlan
) -> tuple[dict[str, Any] | None, tuple[Mapping[str, Any], ...]]:
    """Return the published row of a trial and the criteria that apply to it.

    Published rows and criteria apply to trials with all jobs, not to trials of single jobs.
    """
    if planned.is_solo:
        return None, ()
    variant = loaded.variant_of(planned)
    criteria, reference = loaded.plan.criteria, loaded.reference
    judged = tuple(
        criterion.stored() for criterion in criteria if criterion.concerns(planned.variant, reference)
    )
    table = variant.published
    values = table.rows.get(planned.data_size_bytes) if table else None
    if not table or not values:
        return None, judged
    note = {"note": variant.plan.published_note} if variant.plan.published_note else {}
    return {"table": table.name, "source": table.source, "values": values} | note, judged


def facts_of(
    loaded: LoadedPlan, backend: Backend, suite: str | None = None
) -> Iterator[tuple[PlannedTrial, TrialFacts]]:
    """Yield the trials of a plan, each with its facts before it runs.

    If the backend delegates a trial to another one, the facts are for that one.

    Args:
        loaded: The plan.
        backend: The backend.
        suite: Id of the run that they belong to; None to derive it from the plan and this backend.
    """
    plan = loaded.plan
    suite = suite or suite_id(
        plan.name, [trial_id(suite_trial, backend) for suite_trial in loaded.suite], plan.tag
    )
    for trial in loaded.trials:
        planned, carrier = trial, backend
        if isinstance(backend, Choosing):
            carrier, reason = backend.carrier(trial)
            planned = replace(trial, chosen=reason)
        row, judged = _published_and_criteria(planned, loaded)
        yield (
            planned,
            TrialFacts(
                id=trial_id(planned, carrier),
                plan=plan.name,
                title=plan.title,
                plan_source=loaded.text,
                overrides=(*loaded.overrides, *loaded.configured),
                suite=suite,
                position=planned.index,
                variant=planned.variant,
                iteration=planned.iteration,
                data_size_bytes=planned.data_size_bytes,
                size_kind=planned.size_kind,
                axes=planned.case.axes,
                tag=plan.tag,
                run_spec=planned.run_spec,
                published=row,
                criteria=judged,
                backend=carrier.name,
                backend_version=carrier.version,
                engine_version=carrier.engine_version,
                reference=loaded.reference,
                observed=carrier.observed,
            ),
        )
