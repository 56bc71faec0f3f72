"""Formats the tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fabricbench.report.documents.fabric_metrics import fabric_table
from fabricbench.report.documents.result_tables import result_tables
from fabricbench.report.documents.table import Note, Table
from fabricbench.report.documents.table_cells import named_trials
from fabricbench.report.documents.tenants import seed_tables, tenants_tables
from fabricbench.report.documents.variants import ratio_tables, spread_table
from fabricbench.report.terminal.text_table import joined, note_lines
from fabricbench.results.axes import axis_names
from fabricbench.results.isolation_by_seed import kept_rows
from fabricbench.results.job_reports import JobReport
from fabricbench.results.variants import versus_rows

_MAX_UNREACHED = 12
_FIELDS_OF_A_TABLE = 2


def run_table(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return the tables of a run.

    Args:
        jobs: Jobs of the trials, in order; see `result_tables`.
        colour: Use the styles of a terminal.
    """
    suites = groupby(sorted(jobs, key=_suite), key=_suite)
    tables = [
        *result_tables(jobs),
        fabric_table(jobs),
        *_sweep_tables(jobs),
        *(table for _, group in suites for table in _versus_tables(list(group))),
        *tenants_tables(jobs),
        *seeds_tables(jobs),
        _tcp_table(jobs),
    ]
    unreached = "\n".join(note_lines(_unreached(jobs), colour=colour))
    return "\n\n".join(part for part in (joined(tables, colour=colour), unreached) if part)


def _sweep_tables(jobs: Sequence[JobReport]) -> list[Table]:
    """Return tables over two swept fields; empty if there are not two."""
    if len(axis_names(job.trial for job in jobs)) < _FIELDS_OF_A_TABLE:
        return []
    from fabricbench.report.documents.sweep import sweep_tables

    return sweep_tables(jobs)


def _tcp_table(jobs: Sequence[JobReport]) -> Table | None:
    """Return the table of TCP traffic, or `None` without any."""
    if not any(job.trial.facts.run_spec.get("tcp") for job in jobs):
        return None
    from fabricbench.report.documents.tcp import tcp_table

    return tcp_table([job.trial for job in jobs])


def _versus_tables(jobs: Sequence[JobReport]) -> list[Table]:
    """Return the ratios only: all jobs with a column for each variant, and their spread over the seeds.

    Empty for one job and one seed, for which the other tables are sufficient.
    """
    rows = versus_rows(jobs)
    tables = ratio_tables(rows) if len({row.job for row in rows}) > 1 else []
    spread = spread_table(rows)
    return [*tables, *([spread] if spread else [])]


def seeds_tables(jobs: Sequence[JobReport]) -> list[Table]:
    """Return the spread of each job's ratio to itself alone over the seeds; empty for one seed."""
    return seed_tables(kept_rows((job.trial, job.summary, job.alone) for job in jobs))


def _unreached(jobs: Sequence[JobReport]) -> list[Note]:
    """List the failures of the plan that trials did not reach."""
    if not any(job.trial.facts.run_spec.get("fabric", {}).get("failures") for job in jobs):
        return []
    from fabricbench.analysis.faults.unreached_failures import unreached_failures

    notes = [
        Note(f"{name}: {text}", "bad")
        for name, trial in named_trials([job.trial for job in jobs])
        for text in unreached_failures(trial.facts.run_spec, (trial.summary or {}).get("end_ps", 0))
    ]
    omission = [Note(f"and {len(notes) - _MAX_UNREACHED} more")] if len(notes) > _MAX_UNREACHED else []
    return [*notes[:_MAX_UNREACHED], *omission]


def _suite(job: JobReport) -> str:
    return job.trial.facts.suite
