"""The criteria of shipped plans with the real engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.integration.real import PROGRAM


@pytest.mark.parametrize(
    ("recovery", "status", "text"),
    [
        ("go_back_n", 3, "200 MB: ideal_percent of 95 or more: not met"),
        ("selective", 0, "criteria: all met"),
    ],
)
def test_spraying_meets_its_criterion_only_with_nics_that_reorder(
    tmp_path: Path, recovery: str, status: int, text: str
) -> None:
    command = [str(PROGRAM), "run", "lb-allgather-spray", "-s", f"transport.recovery={recovery}"]
    finished = subprocess.run(
        [*command, "--workspace", str(tmp_path)], check=False, capture_output=True, text=True
    )
    verdict = "1 of 1 criteria not met: share of the ideal of test " if status else "1 of 1 criteria met\n"
    assert (finished.returncode, finished.stderr[: len(verdict)]) == (status, verdict)
    assert text in finished.stdout
