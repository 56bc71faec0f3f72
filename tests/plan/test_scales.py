"""Fields that a search may change: their scales, and the names that stand around them."""

from __future__ import annotations

import pytest

from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.errors import Place, PlanError
from fabricbench.plan.load import document_of, load_plan
from fabricbench.plan.sweep.field_scales import Scale, openings, scale_of, value_of

PLAN = load_plan("cc-alltoall-dcqcn")
PLACE = Place("--search")


def scale(field: str) -> Scale | None:
    document = document_of(PLAN)
    return scale_of(apply_overrides(document, openings(document, [field])), field, PLACE)


@pytest.mark.parametrize(
    ("field", "written", "number"),
    [
        ("fabric.switch.ecn.kmin", "100KB", 102_400),
        ("fabric.switch.ecn.kmin", "100", 100),
        ("fabric.switch.ecn.pmax", "5%", 50_000),
        ("transport.rate_control.dcqcn.increase_timer", "300us", 300_000_000),
        ("transport.rate_control.dcqcn.byte_counter", "32KB", 32_768),
        ("transport.rate_control.dcqcn.additive_increase", "5Mbps", 5_000_000),
        ("transport.rate_control.dcqcn.g", "5/1024", 5 / 1024),
        ("fabric.topology.host_link.rate", "400Gbps", 400 * 10**9),
        ("fabric.switch.pfc.xoff.alpha", "0.25", 0.25),
        ("transport.window", "512", 512),
        ("jobs.test.repeat", "3", 3),
    ],
)
def test_numbers_are_read_and_written_as_the_field_has_them(field: str, written: str, number: float) -> None:
    found = scale(field)
    assert found is not None
    assert found.read(written) == number
    assert found.read(found.write(number)) == pytest.approx(number, rel=1e-6)


@pytest.mark.parametrize("field", ["transport.mtu", "fabric.switch.ecn", "jobs.test.ranks", "jobs.0.barrier"])
def test_what_takes_no_numbers_has_no_scale(field: str) -> None:
    assert scale(field) is None


@pytest.mark.parametrize("field", ["fabric.switch.ecn.kmim", "transprt.mtu", "jobs.9.ranks", "name", "seed"])
def test_what_a_search_cannot_change_is_refused(field: str) -> None:
    with pytest.raises(PlanError):
        scale(field)


def test_searched_quantities_keep_few_digits() -> None:
    size, time = scale("fabric.switch.ecn.kmin"), scale("transport.rate_control.dcqcn.increase_timer")
    assert size is not None
    assert time is not None
    assert size.write(size.rounded(1_234_567)) == "1208KB"
    assert time.write(time.rounded(123_456_789)) == "123us"


def test_a_name_is_written_out_where_a_field_needs_room_in_it() -> None:
    document = document_of(PLAN)
    ecn = "fabric.switch.ecn"
    assert openings(document, [f"{ecn}.kmin", f"{ecn}.kmax"]) == [f'{ecn}={{"preset": "alibaba"}}']
    assert openings(document, ["transport.window"]) == []


def test_the_value_of_a_preset_or_a_default_is_known() -> None:
    assert value_of(PLAN, ("fabric", "switch", "ecn", "kmin")) == 100_000
    assert value_of(PLAN, ("transport", "rate_control", "dcqcn", "g")) == 5 / 1024
    assert value_of(PLAN, ("jobs", 0, "collective")) == "all-to-all"
    assert value_of(PLAN, ("fabric", "switch", "nothing")) is None
