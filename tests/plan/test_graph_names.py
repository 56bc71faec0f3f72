"""Names of links and switches that are nearly right get a hint at the one that is meant."""

from pathlib import Path

import pytest
from tests.plan.examples import SMALL, write_plan

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan


def hint_of(folder: Path, field: str, value: str) -> str:
    with pytest.raises(PlanError) as caught:
        load_plan(write_plan(folder, SMALL), [f"{field}={value}"])
    (problem,) = caught.value.problems
    return problem.hint


@pytest.mark.parametrize(
    ("link", "hint"),
    [
        ("leaf0-spin1", "did you mean `leaf0-spine1`?"),
        ("spine1_leaf0-", "did you mean `spine1-leaf0`?"),
        ("leaf0-spine1:4", "did you mean `leaf0-spine1:0`?"),
        ("hots3-leaf0", "did you mean `host3-leaf0`?"),
        ("leaf", ""),
        ("one-other", ""),
    ],
)
def test_a_link_that_is_nearly_one_gets_a_hint(tmp_path: Path, link: str, hint: str) -> None:
    failure = f'[{{at: 1us, kind: link-down, link: "{link}"}}]'
    assert hint_of(tmp_path, "fabric.failures", failure) == hint
    assert hint_of(tmp_path, "fabric.extra_delays", f'[{{link: "{link}", delay: 1us}}]') == hint


@pytest.mark.parametrize(("switch", "hint"), [("spin1", "did you mean `spine1`?"), ("x", ""), ("host0", "")])
def test_a_switch_that_is_nearly_one_gets_a_hint(tmp_path: Path, switch: str, hint: str) -> None:
    failure = f"[{{at: 1us, kind: switch-down, switch: {switch}}}]"
    assert hint_of(tmp_path, "fabric.failures", failure) == hint
