"""Jobs whose rounds have several data sizes: in order, or drawn at random."""

import pytest
from tests.plan.examples import SMALL, errors_of, first_bytes, plan_of

from fabricbench.plan._run_spec import JobSpec
from fabricbench.plan.expand import PlannedTrial, expand
from fabricbench.plan.jobs.rounds import DRAWN_ROUNDS
from fabricbench.work import collective_of, pattern_of

MB = 1 << 20
LIST = "data_size: [16MB, 32MB]"
NEIGHBOUR = '  - {name: own, ranks: "4-7", collective: all-reduce, MORE}\nsweep:'


def trials(more: str, plan: str = "") -> list[PlannedTrial]:
    """Return the trials of a plan with a job of four ranks and a neighbour with more fields."""
    text = SMALL.replace('"0-7"', '"0-3"').replace("sweep:", NEIGHBOUR.replace("MORE", more))
    return expand(plan_of(text + plan))


def neighbour(trial: PlannedTrial) -> JobSpec:
    return trial.run_spec["jobs"][-1]


def drawn_by(trial: PlannedTrial) -> list[int]:
    """Return the data size of each round of the neighbour until the sizes repeat."""
    return list(collective_of(neighbour(trial)).get("round_bytes", ()))


def test_a_list_in_order_is_a_round_of_each_size() -> None:
    found = trials("data_size: [4MB, 1MB, 2MB]")
    assert [collective_of(neighbour(trial))["round_bytes"] for trial in found] == [[4 * MB, MB, 2 * MB]] * 2
    assert pattern_of(neighbour(found[0]))["data_bytes"] == 4 * MB
    assert neighbour(found[0])["repeat"] == {"kind": "rounds", "rounds": 3}
    # Ranks wait for each other between two sizes.
    assert collective_of(neighbour(found[0]))["barrier"]
    assert not collective_of(found[0].run_spec["jobs"][0])["barrier"]
    # The other job has the sizes of the sweep.
    assert [first_bytes(trial) for trial in found] == [16 * MB, 32 * MB]


def test_each_repetition_of_a_list_has_all_sizes() -> None:
    job = neighbour(trials("data_size: {start: 1MB, factor: 4, end: 16MB}, repeat: 5")[0])
    assert collective_of(job)["round_bytes"] == [MB, 4 * MB, 16 * MB]
    assert job["repeat"] == {"kind": "rounds", "rounds": 15}


def test_message_sizes_make_a_list_as_well() -> None:
    text = SMALL.replace('"0-7"', '"0-3"').replace("data_size: [16MB, 32MB]", "message_size: [16MB]")
    own = '  - {name: own, ranks: "4-7", collective: all-gather, message_size: [1MB, 2MB]}\nsweep:'
    (trial,) = expand(plan_of(text.replace("sweep:", own)))
    assert collective_of(neighbour(trial))["round_bytes"] == [4 * MB, 8 * MB]


def test_one_size_is_no_list() -> None:
    for more in ("data_size: [4MB]", "data_size: [4MB, 4MB]"):
        job = neighbour(trials(more)[0])
        assert "round_bytes" not in collective_of(job)
        assert pattern_of(job)["data_bytes"] == 4 * MB


def test_sizes_are_drawn_from_a_stream_of_the_job() -> None:
    more = "data_size: [1MB, 2MB, 4MB], size_order: random, repeat: 40"
    first, second = trials(more)[:2]
    drawn = drawn_by(first)
    assert (len(drawn), set(drawn)) == (40, {MB, 2 * MB, 4 * MB})
    assert neighbour(first)["repeat"] == {"kind": "rounds", "rounds": 40}
    # The size of the sweep moves no draw; another seed does.
    assert drawn_by(second) == drawn
    assert drawn_by(trials(more, "seed: 7\n")[0]) != drawn
    # A longer job begins with the same sizes.
    longer = drawn_by(trials(more.replace("40", "50"))[0])
    assert longer[:40] == drawn


def test_each_size_is_drawn_about_as_often() -> None:
    drawn = drawn_by(trials("data_size: [1MB, 2MB, 4MB, 8MB], size_order: random, repeat: 4000")[0])
    # 1,000 of each are expected, with a standard deviation of 27.
    assert all(abs(drawn.count(size * MB) - 1000) < 130 for size in (1, 2, 4, 8))


def test_a_job_that_others_end_draws_a_cycle_and_runs_each_size_once_alone() -> None:
    more = "data_size: [1MB, 2MB, 4MB], size_order: random, repeat: until-others-end"
    first, alone, together = trials(more, "solo: true\n")[:3]
    assert alone.variant != together.variant
    assert first.run_spec["jobs"][0]["name"] == "test"
    assert neighbour(together)["repeat"] == {"kind": "until-others-end"}
    assert len(drawn_by(together)) == DRAWN_ROUNDS
    assert drawn_by(alone) == [MB, 2 * MB, 4 * MB]
    assert neighbour(alone)["repeat"] == {"kind": "rounds", "rounds": 3}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("size_order: random", ["jobs.1.size_order: found an order of one size", "a list in `data_size`"]),
        (f"{LIST}, warm_up_rounds: 2", ["jobs.1.data_size: found several sizes with `warm_up_rounds`"]),
        (
            f"{LIST}, size_order: random, repeat: 5000",
            ["jobs.1.repeat: found 5000 rounds with a size each", "at most 4096"],
        ),
        (
            "data_size: {start: 4MB, end: 2MB}",
            ["jobs.1.data_size.end: found 2MB, below the start", "4MB or more"],
        ),
        ("data_size: [16MB, 0]", ["jobs.1.data_size.1"]),
    ],
)
def test_what_makes_no_sense_with_sizes_is_refused(more: str, words: list[str]) -> None:
    text = SMALL.replace('"0-7"', '"0-3"').replace("sweep:", NEIGHBOUR.replace("MORE", more))
    message = errors_of(text)
    assert all(each in message for each in words), message
    assert "plan.yaml:" in message


def test_a_size_of_a_list_that_ranks_cannot_share_is_named() -> None:
    text = SMALL.replace('"0-7"', '"0-3"').replace(
        "sweep:", '  - {name: own, ranks: "4-7", collective: all-to-all, data_size: [16, 18]}\nsweep:'
    )
    message = errors_of(text)
    assert "jobs.1.data_size.1: found 18 bytes, which are not 4 equal shares" in message


def test_sizes_in_different_numbers_of_chunks_are_refused_by_their_field() -> None:
    text = SMALL.replace('"0-7"', '"0-3"').replace(
        "sweep:",
        '  - {name: own, ranks: "4-7", collective: all-reduce, algorithm: double-binary-tree, '
        "data_size: [4KB, 1MB]}\nsweep:",
    )
    message = errors_of(text)
    assert "jobs.1.data_size" in message
    assert "as many transfers" in message
