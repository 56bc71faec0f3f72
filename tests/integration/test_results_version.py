"""The version of the simulator's results changes when they do: both stand in one golden file.

After a change of results: one more for `RESULTS` in `fabricbench.backend.sim`, then
`python -m tests.integration.test_results_version`, and the reason in the commit.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from tests.integration.real import LOSSY_INCAST, NEIGHBOUR, run_plan

from fabricbench.backend.sim import RESULTS
from fabricbench.store.record.schema import RECORD_TABLES

GOLDEN = Path(__file__).with_name("golden") / "results.txt"


def results(root: Path) -> str:
    """Return the version and, line by line, a digest of each table of a few small trials."""
    lines = [f"version {RESULTS}"]
    (root / "lossy-incast.yaml").write_text(LOSSY_INCAST)
    (root / "neighbour.yaml").write_text(NEIGHBOUR)
    plans = [
        ("jct-alltoall", "sweep.data_size=4MB"),
        ("imb-tcp-background", "sweep.data_size=16KB"),
        (str(root / "lossy-incast.yaml"),),
        (str(root / "neighbour.yaml"), "sweep.data_size=1MB"),
    ]
    for plan in plans:
        for trial in run_plan(root / "workspace", *plan):
            name = f"{trial.facts.plan} {trial.facts.variant}"
            for table in RECORD_TABLES:
                rows = json.dumps(trial.tables.table(table).to_pylist()).encode()
                lines.append(f"{name} {table} {hashlib.sha256(rows).hexdigest()[:16]}")
    return "\n".join(lines) + "\n"


def test_the_version_of_the_results_is_theirs(tmp_path: Path) -> None:
    assert results(tmp_path) == GOLDEN.read_text()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(results(Path(folder)))
