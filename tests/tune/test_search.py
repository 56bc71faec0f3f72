"""Searches find what is known to be best, keep limits, and suggest the same points again."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import pytest
from tests.support.tuning import INCAST, TRANSFER, loaded, wanted_of

from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner.messages import TuningError
from fabricbench.runner.tuning.confirmation import evidence_of
from fabricbench.runner.tuning.definition import Ending, Tried, TuningDefinition
from fabricbench.runner.tuning.evaluation import Evaluator
from fabricbench.units import parse_size

pytestmark = pytest.mark.slow
Searched = Callable[..., list[Tried]]
Evaluated = Callable[[TuningDefinition], Evaluator]

BYTES = 16 << 10
KMIN, KMAX = "fabric.switch.ecn.kmin", "fabric.switch.ecn.kmax"


def transfer_ps(mtu: int) -> float:
    """Time of one transfer, by docs/closed-forms.md: W(B) t + L(largest frame) + 86 t + L(86)."""
    on_the_link = BYTES + 82 * ceil(BYTES / mtu) + 16
    return on_the_link * 20 + latency_ps(mtu + 82) + 86 * 20 + latency_ps(86)


def latency_ps(frame: int) -> float:
    return 400_000 + 15_000 + 500_000 + frame * 20 + 15_000 + 400_000


def best(wanted: TuningDefinition, tried: list[Tried]) -> Tried:
    found = wanted.best(tried)
    assert found is not None
    return found


def test_the_mtu_that_the_closed_form_gives_is_found(searched: Searched) -> None:
    sizes = [256, 512, 1024, 2048, 4096]
    field = "transport.mtu=" + "|".join(map(str, sizes))
    wanted = wanted_of([loaded(TRANSFER)], [field, "transport.ack_every=1..64"])
    found = best(wanted, searched(wanted, 40))
    assert found.point["transport.mtu"] == str(min(sizes, key=transfer_ps)) == "1024"
    assert found.ratios[0] == pytest.approx(transfer_ps(1024) / transfer_ps(256), rel=1e-3)


def test_the_window_that_no_longer_limits_is_found(searched: Searched) -> None:
    plan = loaded(TRANSFER, "transport.window=4", "transport.ack_every=2")
    wanted = wanted_of([plan], ["transport.window=4..4096"])
    free = wanted_of([plan], ["transport.window=8192|4"])
    found = best(wanted, searched(wanted, 16))
    assert found.ratios == best(free, searched(free, 8)).ratios
    assert found.ratios[0] < 0.9


def test_the_first_point_is_the_plan_as_shipped(searched: Searched) -> None:
    wanted = wanted_of([loaded(INCAST)], [f"{KMIN}=1KB..200KB", f"{KMAX}=1KB..400KB"])
    first = searched(wanted, 4)[0]
    assert first.point == {KMIN: "20KB", KMAX: "80KB"}
    assert first.ratios == [1.0]


def test_a_limit_is_kept_that_the_best_point_would_break(searched: Searched) -> None:
    searches = [f"{KMIN}=1KB..300KB", f"{KMAX}=300KB..400KB", "fabric.switch.ecn.pmax=1%..100%"]
    free = wanted_of([loaded(INCAST)], searches, ("queue_max_bytes",))
    limit = "ecn_ce_rx<=300"
    limited = wanted_of([loaded(INCAST)], searches, ("queue_max_bytes",), (limit,))
    unbound, bound = best(free, searched(free, 24)), searched(limited, 24)
    assert any(each.ending is Ending.COMPLETE and not each.is_allowed for each in bound)
    kept = best(limited, bound)
    assert max(kept.violations) <= 0
    assert kept.ratios[0] > unbound.ratios[0]


def test_thresholds_in_the_wrong_order_are_told_as_invalid(searched: Searched) -> None:
    wanted = wanted_of([loaded(INCAST)], [f"{KMIN}=1KB..400KB", f"{KMAX}=1KB..400KB"])
    tried = searched(wanted, 16)
    invalid = [each for each in tried if each.ending is Ending.INVALID]
    assert invalid
    assert all(size(each, KMIN) > size(each, KMAX) for each in invalid)
    assert all(size(each, KMIN) <= size(each, KMAX) for each in tried if each not in invalid)


def size(tried: Tried, field: str) -> int:
    return parse_size(tried.point[field])


def test_poor_points_are_stopped_before_the_larger_size(searched: Searched) -> None:
    plan = loaded(INCAST, "fabric.switch.ecn.pmax=50%")
    wanted = wanted_of([plan], ["transport.window=1..512"])
    tried = searched(wanted, 32)
    stopped = [each for each in tried if each.ending is Ending.STOPPED]
    assert stopped
    windows = [int(each.point["transport.window"]) for each in stopped]
    assert min(windows) < int(best(wanted, tried).point["transport.window"])
    smallest = wanted.candidate(stopped[0].point).plans[0]
    assert [each.data_size_bytes for each in smallest.trials] == [640 << 10, 2560 << 10]


def test_two_aims_give_points_of_which_none_beats_another(searched: Searched) -> None:
    wanted = wanted_of(
        [loaded(INCAST)],
        ["transport.window=1..64"],
        ("completion_time_ms", "queue_max_bytes"),
    )
    front = wanted.front(searched(wanted, 24))
    assert len(front) > 1
    for one in front:
        assert not any(
            all(theirs <= mine for theirs, mine in zip(other.ratios, one.ratios, strict=True))
            for other in front
            if other is not one
        )


def test_the_same_search_suggests_the_same_points_in_another_workspace(searched: Searched) -> None:
    wanted = wanted_of([loaded(INCAST)], [f"{KMIN}=1KB..200KB", "transport.ack_every=1..32"])
    tried = searched(wanted, 20, "one")
    assert searched(wanted, 20, "two") == tried
    other = wanted_of([loaded(INCAST)], [f"{KMIN}=1KB..200KB", "transport.ack_every=1..32"], seed=1)
    assert [each.point for each in searched(other, 20, "one")] != [each.point for each in tried]


def test_a_search_that_goes_on_is_the_same_as_one_at_a_stretch(searched: Searched) -> None:
    wanted = wanted_of([loaded(INCAST)], [f"{KMIN}=1KB..200KB", "transport.ack_every=1..32"])
    whole = searched(wanted, 20, "whole")
    assert searched(wanted, 12, "parts") == whole[:12]
    assert searched(wanted, 20, "parts") == whole


def test_plans_of_different_scale_weigh_the_same(searched: Searched) -> None:
    small, large = loaded(TRANSFER), loaded(TRANSFER, "sweep.data_size=[1MB,4MB,16MB]")
    ratios = []
    for plans in ([small], [large], [small, large]):
        wanted = wanted_of(plans, ["transport.mtu=4096|2048"])
        tried = searched(wanted, 4)
        ratios.append(next(each.ratios[0] for each in tried if each.point["transport.mtu"] == "4096"))
    assert ratios[2] == pytest.approx((ratios[0] * ratios[1]) ** 0.5, rel=1e-9)


def test_a_metric_that_no_job_measures_is_refused(searched: Searched) -> None:
    wanted = wanted_of([loaded(TRANSFER)], ["transport.ack_every=1..32"], ("slowdown_p99",))
    with pytest.raises(TuningError, match="slowdown_p99 is never measured by transfer"):
        searched(wanted, 4)


def test_fresh_seeds_are_none_of_the_search(evaluated: Evaluated) -> None:
    plan: LoadedPlan = loaded(INCAST, "sweep.data_size=[640KB]", "iterations=2")
    wanted = wanted_of([plan], [f"{KMIN}=1KB..60KB"], ("ecn_ce_rx",))
    evidence = evidence_of(wanted, evaluated(wanted), {KMIN: "4KB"}, 6)
    (sure,) = evidence.confidences
    assert sure.seeds == 6
    assert sure.low < sure.ratio < sure.high
    assert sure.is_shown == (sure.high < 1)
    assert evidence.changes[0].ratio == pytest.approx(sure.ratio)
