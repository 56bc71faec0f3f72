"""The progress display: on a terminal only, and what it says."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.samples import PLAN, PROGRAM

from fabricbench.cli.progress import ProgressLines, beyond_text, display, progress_text
from fabricbench.runner.loading import load


def test_progress_tells_simulated_time_speed_and_time_left() -> None:
    progress = {
        "delivered_bytes": 25,
        "total_bytes": 100,
        "sim_ps": 1_234_000_000,
        "packet_hops": 5_000_000,
        "wall_s": 2.0,
    }
    assert progress_text(progress) == "1.234 ms simulated, 2.5M packet-hops/s, 0:06 left"  # type: ignore[arg-type]


def test_progress_before_anything_has_arrived_promises_nothing() -> None:
    progress = {"delivered_bytes": 0, "total_bytes": 100, "sim_ps": 0, "packet_hops": 0, "wall_s": 0.0}
    assert progress_text(progress) == "0.000 ms simulated, 0 packet-hops/s, - left"  # type: ignore[arg-type]


def test_a_trial_far_beyond_its_estimate_says_so_and_what_it_waits_for() -> None:
    progress: Any = {
        "packet_hops": 60_000_000,
        "open_chunks": 3,
        "waiting_ps": 20_000_000_000,
        "patience_ps": 100_000_000_000,
    }
    assert beyond_text(progress, 100_000) == (
        "60M packet-hops so far, 600 times its estimate; nothing was delivered for 20.000 ms of simulated "
        "time, and 3 chunks not complete: after 100.000 ms it is ended as stalled"
    )
    assert "payload still arrives, 3 chunks" in beyond_text(progress | {"waiting_ps": 0}, 100_000)
    # Ten times the estimate, 20 million packet-hops at the least, and an estimate at all.
    assert beyond_text(progress, 6_000_001) == ""
    assert beyond_text(progress | {"packet_hops": 19_999_999}, 100_000) == ""
    assert beyond_text(progress, 0) == ""


def test_without_a_terminal_that_is_all_that_is_told_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    loaded = load(str(tmp_path / "small.yaml"))
    spec = json.loads(loaded.trials[0].spec_json)
    facts: Any = SimpleNamespace(variant="base", data_size_bytes=1 << 20, run_spec=spec)
    progress: Any = {"packet_hops": 10**9, "open_chunks": 1, "waiting_ps": 0, "patience_ps": 10**12}
    with display() as listener:
        listener.trial_started(facts, 1, 2)
        for _ in range(2):
            listener.trial_progressed(progress, 1)
    told = capsys.readouterr()
    assert told.out == ""
    assert re.fullmatch(r"warning: trial 1 of 2, 1 MB: 1G packet-hops so far, \d+ times its .*\n", told.err)


def test_without_a_terminal_a_line_is_written_each_thirty_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now_s = [0.0]
    lines = ProgressLines(lambda: now_s[0])
    facts: Any = SimpleNamespace(variant="base", data_size_bytes=1 << 20, run_spec={})
    progress: Any = {
        "delivered_bytes": 25,
        "total_bytes": 100,
        "sim_ps": 10**9,
        "packet_hops": 0,
        "wall_s": 2.0,
    }
    lines.trial_started(facts, 1, 3)
    lines.trial_started(facts, 2, 3)
    for now_s[0] in (1.0, 29.9, 30.0, 31.0, 59.0, 61.0):
        lines.trial_progressed(progress, 2)
    lines.trial_finished(facts, 1, resumed=False)
    now_s[0] = 95.0
    lines.trial_progressed(progress, 2)
    first, second, third = capsys.readouterr().err.splitlines()
    text = "trial 2 of 3, 1 MB: 25 %, 1.000 ms simulated, 0 packet-hops/s, 0:06 left"
    assert first == second == f"progress: 0 of 3 trials finished; {text}"
    assert third == f"progress: 1 of 3 trials finished; {text}"


def test_a_terminal_sees_progress_and_standard_output_does_not(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    controller, terminal = pty.openpty()
    command = [sys.executable, str(PROGRAM), "run", "small.yaml", "--format", "csv"]
    environment = {
        **os.environ,
        "FAKE_PAUSE_S": "0.05",
        "FAKE_COPIES": "500",
        "TERM": "xterm",
        "COLUMNS": "120",
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=terminal, text=True
    ) as process:
        os.close(terminal)
        seen = _read_all(controller)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert output.startswith("id,tag,plan")
    assert len(output.splitlines()) == 3
    assert "trial 1 of 2, 1 MB" in seen
    assert "trial 2 of 2, 2 MB" in seen
    assert re.search(r"\d+ %.*ms simulated, .*packet-hops/s, .* left", seen)


def _read_all(controller: int) -> str:
    """Read what goes to a terminal until its last writer has closed it, which Linux reports as an error."""
    parts = []
    try:
        while part := os.read(controller, 4096):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(controller)
    return b"".join(parts).decode()
