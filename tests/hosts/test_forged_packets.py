"""Packets forged on the path: no wrong byte in a complete trial, and every run ends by its retries.

`make soak` tries more. FABRICBENCH_FORGE_SECONDS says how long to go on, such as 3600.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.hosts import forger
from tests.hosts.processes import Hosts, Namespace
from tests.support.soak import times

from fabricbench.store import Workspace

pytestmark = pytest.mark.slow
SECONDS = float(os.environ.get("FABRICBENCH_FORGE_SECONDS", times(10, 300)))
TIMEOUT_S = 0.05
RETRIES = 7
END_S = (RETRIES + 1) * TIMEOUT_S + 15
"""A run ends so long after the last forged packet: its retries, what is left to send, and a busy machine."""
RATE = "400Mbps"


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    settings = f"timeout_min_ps: {TIMEOUT_S * 1e12:.0f}, verify: true, batch_packets_max: 1, port: 4791"
    made = Hosts(tmp_path, 2, RATE, Namespace(seconds=SECONDS + 600), settings)
    yield made
    made.end()


def fields(draw: random.Random) -> list[str]:
    """Return fields of a plan whose run takes some seconds."""
    collective = draw.choice(["all-to-all", "all-reduce", "send-receive", "incast"])
    chosen = {
        "transport.recovery": draw.choice(["go_back_n", "selective"]),
        "transport.timeout": "50ms",
        "transport.message_size": draw.choice(["16KB", "128KB", "1MB"]),
        "jobs.0.collective": collective,
        "jobs.0.algorithm": "ring" if collective == "all-reduce" else "parallel",
        "jobs.0.repeat": str(draw.choice([20, 40])),
        "seed": str(draw.randrange(1 << 20)),
    }
    if draw.random() < 0.5:
        chosen["transport.window"] = str(draw.choice([4, 64, 512]))
    return [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]


@dataclass(frozen=True)
class Attacked:
    """How a run ended, what was forged meanwhile, and how long the run went on after that."""

    status: int
    said: str
    forged: dict[str, Any]
    took_s: float


def run_while_forging(hosts: Hosts, workspace: Path, seed: int) -> Attacked:
    draw = random.Random(seed)
    running = hosts.begin(workspace, more=fields(draw))
    seconds, rate = draw.choice([0.5, 1.5, 3.0]), draw.choice([50, 2_000, 20_000])
    forging = [*hosts.network.enter(0), sys.executable, forger.__file__, str(seconds), str(seed), str(rate)]
    forged = subprocess.run(forging, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    began = time.monotonic()
    output, errors = running.communicate(timeout=120)
    return Attacked(running.returncode, output + errors, json.loads(forged.stdout), time.monotonic() - began)


def test_no_forged_byte_is_in_a_complete_trial_and_every_run_ends(hosts: Hosts, tmp_path: Path) -> None:
    until, seed, ends = time.monotonic() + SECONDS, random.randrange(1 << 30), Counter[str]()
    forged_packets = 0
    while time.monotonic() < until:
        seed += 1
        folder = tmp_path / f"{seed}"
        attacked = run_while_forging(hosts, folder, seed)
        said = f"seed {seed}: {attacked}"
        assert attacked.status in (0, 3), said
        assert "Traceback" not in attacked.said, said
        (trial,) = Workspace.open(folder).trials()
        (job,) = (trial.summary or {})["jobs"]
        wrong_bytes = sum(host["endpoint"]["wrong_bytes"] for host in trial.engine["hosts"])
        assert trial.status in ("complete", "incomplete"), said
        assert "nothing was delivered for" not in (job["reason"] or ""), said
        assert trial.status != "complete" or wrong_bytes == 0, said
        assert attacked.took_s < END_S, said
        forged_packets += sum(count for count in attacked.forged.values() if isinstance(count, int))
        ends[f"{trial.status}, {'wrong bytes' if wrong_bytes else 'no wrong byte'}"] += 1
    sys.stdout.write(f"{forged_packets} forged packets, {dict(ends)}\n")
    # The agents are the same as before.
    assert hosts.run(tmp_path / "after").returncode == 0
