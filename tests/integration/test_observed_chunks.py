"""Metrics do not depend on which chunks have a row; what needs all rows says so."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.real import run_plan

from fabricbench.analysis.causes.diagnosis import diagnose
from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.figures.figure import SAMPLE_NOTE
from fabricbench.figures.registry import FIGURES
from fabricbench.figures.trial_data import subject_of
from fabricbench.metrics import OF_ALL_ROWS
from fabricbench.store import Trial

FABRIC = "fabric: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}}"
SLOW = f"""
fabricbench: 1
name: observed
{FABRIC}
jobs:
  - {{name: a, collective: all-to-all, ranks: [0, 2, 4, 6], repeat: 3, data_size: 2MB}}
  - {{name: b, collective: all-reduce, algorithm: ring, ranks: [1, 3, 5, 7], data_size: 1MB}}
"""
LOSSY = SLOW.replace(
    "leaves: 2, hosts_per_leaf: 4, spines: 2}}",
    "leaves: 2, hosts_per_leaf: 4, spines: 2}, switch: {buffer: {size: 200KB}}}",
)
TRAFFIC = f"""
fabricbench: 1
name: observed
{FABRIC}
jobs:
  - collective: uniform-random
    message_size: 64KB
    arrivals: {{load: 50%, duration: 200us}}
"""

STORAGE = "dfs-random-write"


@pytest.fixture(params=[SLOW, LOSSY, TRAFFIC, STORAGE], ids=["jobs", "lossy", "traffic", "storage"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a plan as the command line takes it."""
    if "\n" not in request.param:
        return str(request.param)
    path = tmp_path / "observed.yaml"
    path.write_text(request.param)
    return str(path)


def _run(tmp_path: Path, plan: str, mode: str) -> Trial:
    overrides = [f"observe.chunks={mode}", "observe.chunk_rows=9"]
    if plan == STORAGE:
        short = "data_size: [4KB], jobs.0.storage.duration: [2ms], jobs.0.storage.warm_up: [1ms]"
        overrides.append(f"sweep.zip={{{short}}}")
    return run_plan(tmp_path / mode, plan, *overrides)[0]


def _summaries(trial: Trial) -> list[object]:
    found = list(summarise(trial.facts.run_spec, trial.summary or {}, trial.tables))
    has_shares = [job.metrics.get(name) is not None for job in found for name in OF_ALL_ROWS]
    assert any(has_shares) == (trial.facts.run_spec["observe"]["chunks"] == "all")
    return [
        replace(job, metrics={name: value for name, value in job.metrics.items() if name not in OF_ALL_ROWS})
        for job in found
    ]


def test_every_metric_is_the_same_whichever_chunks_have_a_row(tmp_path: Path, plan: str) -> None:
    full, sample, summary = (_run(tmp_path, plan, mode) for mode in ("all", "sample", "summary"))
    assert _summaries(full) == _summaries(sample) == _summaries(summary)
    rows = [trial.tables.table("chunks").to_pylist() for trial in (full, sample, summary)]
    assert len(rows[0]) > len(rows[1]) > 0 == len(rows[2])
    assert all(row in rows[0] for row in rows[1])
    assert full.tables.table("chunk_steps").num_rows == 0 < summary.tables.table("chunk_steps").num_rows


def test_what_needs_all_rows_says_so(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(SLOW)
    sample, summary = (_run(tmp_path, str(path), mode) for mode in ("sample", "summary"))
    for trial in (sample, summary):
        record = Record(trial.facts.run_spec, trial.summary or {}, trial.tables)
        assert {finding.cause for finding in diagnose(record)} <= {"not-recorded"}
    drawing = [figure for figure in FIGURES.values() if figure.draws_chunks and not figure.of_run]
    of_sample = [figure.draw(subject_of(sample, [sample])) for figure in drawing]
    assert any(of_sample)
    assert all(plot.caption.endswith(SAMPLE_NOTE) for plot in of_sample if plot)
    assert not any(figure.draw(subject_of(summary, [summary])) for figure in drawing)
