"""What users hand in is taken or refused with clear errors, however it is damaged."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.targets import TARGETS, Case, judgement
from tests.support.soak import times

ROOT = Path(__file__).parents[2]
COUNT = os.environ.get("FABRICBENCH_FUZZ_COUNT", str(times(30, 300)))
"""Cases of each target; `python -m tests.fuzz` has thousands."""


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_input_is_taken_or_refused_clearly_in_bounded_time_and_memory(target: str) -> None:
    # A process of its own: its memory is bounded, and its end is a failure here and not the end of the tests.
    command = [sys.executable, "-m", "tests.fuzz", target, "--count", COUNT]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert f"{COUNT} cases, 0 wrong" in finished.stdout


@pytest.mark.parametrize(
    ("status", "output", "errors"),
    [
        (1, "", "error: this is a bug in fabricbench: KeyError: 'x'\n"),
        (0, "", ""),
        (0, "ok: plan.yaml\n", "error: plan.yaml: found x\n"),
        (2, "", ""),
        (2, "", "Traceback (most recent call last):\n"),
        (2, "", "error: found something somewhere\n"),
        (2, "", "error: plan.yaml:1: found a\nb\n"),
        (2, "", f"error: plan.yaml:1: found {'x' * 10_000}\n"),
    ],
)
def test_an_unclear_answer_is_seen(status: int, output: str, errors: str) -> None:
    assert judgement(status, output, errors, "plan.yaml")


def test_a_clear_answer_is_none() -> None:
    assert not judgement(0, "ok: plan.yaml: 1 trial\n", "warning: plan.yaml:3: found y\n", "plan.yaml")
    assert not judgement(2, "", "error: plan.yaml:3: seed: found -1\nhint: more\n", "plan.yaml")


@pytest.mark.parametrize("target", TARGETS)
def test_a_number_makes_the_same_case_whatever_was_made_before(target: str) -> None:
    def case(number: int) -> Case:
        return TARGETS[target].make(random.Random(number))

    numbers = range(times(10, 100))
    once = [case(number) for number in numbers]
    assert [case(number) for number in reversed(numbers)] == once[::-1]
