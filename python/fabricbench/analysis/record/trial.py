"""Data of a finished trial: RunSpec (its parameters), summary, tables, plan, and the links of its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricbench.analysis.links.job_links import LinksOfJobs
from fabricbench.analysis.record.run_spec import is_alone
from fabricbench.analysis.record.tables import Tables
from fabricbench.plan.stored_plan import PlanOfTrial


@dataclass(frozen=True)
class Record:
    """Data of a finished trial.

    Attributes:
        run_spec: The RunSpec.
        summary: The backend's RunSummary.
        tables: The record tables.
        plan: The plan of the trial, for remedies that change it; none if unknown.
    """

    run_spec: Mapping[str, Any]
    summary: Mapping[str, Any]
    tables: Tables
    plan: PlanOfTrial | None = None

    @cached_property
    def links(self) -> LinksOfJobs:
        """The links of each job."""
        return LinksOfJobs(self.run_spec, self.tables)

    def concerns(self, job: str, name: str) -> bool:
        """Return whether a job may have frames on a link or at a node, given by name.

        A job without other traffic on the fabric is affected by everything that happens there.
        """
        return is_alone(self.run_spec) or self.links.concerns(job, name)
