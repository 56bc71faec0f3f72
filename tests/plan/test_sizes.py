"""Data sizes and message sizes: what the engine is told of each."""

import pytest
from tests.plan.examples import SMALL, first_bytes, plan_of, with_line

from fabricbench.analysis.summary.bandwidth import BUS_FACTORS, message_size
from fabricbench.plan import engine
from fabricbench.plan.expand import PlannedTrial, expand
from fabricbench.work import pattern_of

SWEEP = "data_size: [16MB, 32MB]"


def trials(collective: str, sizes: str, more: str = "") -> list[PlannedTrial]:
    text = SMALL.replace(SWEEP, sizes).replace("collective: all-to-all", f"collective: {collective}{more}")
    return expand(plan_of(text))


@pytest.mark.parametrize(
    ("collective", "shares"),
    [("all-to-all", 8), ("all-gather", 8), ("gather", 8), ("scatter", 8), ("all-reduce", 1), ("incast", 1)],
)
def test_a_message_size_is_a_share_or_the_whole(collective: str, shares: int) -> None:
    found = trials(collective, "message_size: {start: 1, end: 4}")
    assert [trial.data_size_bytes for trial in found] == [1, 2, 4]
    assert {trial.size_kind for trial in found} == {"message"}
    assert [first_bytes(trial) for trial in found] == [
        shares,
        2 * shares,
        4 * shares,
    ]


def test_a_plan_of_data_sizes_says_so() -> None:
    assert {trial.size_kind for trial in expand(plan_of(SMALL))} == {"data"}


def test_a_job_keeps_a_message_size_of_its_own() -> None:
    text = SMALL.replace(SWEEP, "message_size: [1, 2]").replace('"0-7"', '"0-3"')
    text = text.replace(
        "sweep:", '  - {name: own, ranks: "4-7", collective: gather, message_size: 3}\nsweep:'
    )
    sizes = [
        [pattern_of(job)["data_bytes"] for job in trial.run_spec["jobs"]] for trial in expand(plan_of(text))
    ]
    assert sizes == [[4, 12], [8, 12]]


def test_without_a_sweep_the_first_job_decides() -> None:
    text = with_line(f"sweep:\n  {SWEEP}\n", "").replace("all-to-all", "all-to-all\n    message_size: 5")
    (trial,) = expand(plan_of(text))
    assert (trial.data_size_bytes, trial.size_kind) == (5, "message")
    assert first_bytes(trial) == 40


def test_analysis_and_engine_agree_on_shares() -> None:
    for collective in engine.algorithms():
        assert collective in BUS_FACTORS
        assert message_size(collective, 12, 24) == 24 // engine.shares(collective, 12)
