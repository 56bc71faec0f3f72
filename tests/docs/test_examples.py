"""The pipeline of docs/examples does what it says: its commands are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PLAN = """\
fabricbench: 1
name: gate
fabric: {topology: {kind: single-switch, hosts: 4}}
jobs: [{collective: all-reduce}]
sweep: {data_size: 1MB}
criteria: [CRITERION]
"""


def steps() -> dict[str, str]:
    job = YAML(typ="safe").load(EXAMPLES / "github-actions.yml")["jobs"]["gate"]
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def statuses(folder: Path, criterion: str) -> dict[str, int]:
    """Run the steps but the installation on a plan, and return the exit status of each."""
    (folder / "plan.yaml").write_text(PLAN.replace("CRITERION", criterion))
    job = YAML(typ="safe").load(EXAMPLES / "github-actions.yml")["jobs"]["gate"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **job["env"], "PLAN": "plan.yaml", "PATH": path}
    found = {}
    for name, command in steps().items():
        if name != "Install":
            ended = subprocess.run(
                ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, check=False
            )
            found[name] = ended.returncode
    return found


@pytest.mark.parametrize(
    ("criterion", "status"),
    [("{metric: busbw_gb_per_s, min: 1}", 0), ("{metric: busbw_gb_per_s, min: 1000}", 3)],
)
def test_the_pipeline_fails_where_a_criterion_is_not_met(tmp_path: Path, criterion: str, status: int) -> None:
    found = statuses(tmp_path, criterion)
    assert found == {
        "Check the plan": 0,
        "Run it and hold it against its criteria": status,
        "Write the report": 0,
    }
    assert "</html>" in (tmp_path / "report.html").read_text()
