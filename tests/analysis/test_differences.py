"""Which parameters differ between run specs, in the words of a plan."""

from __future__ import annotations

from typing import Any

from tests.support.samples import job_spec

from fabricbench.analysis.comparison.run_spec_differences import differences


def spec(**given: Any) -> dict[str, Any]:
    jobs = [job_spec("ring", (0, 1, 2, 4))]
    return {"seed": 1, "fabric": {"topology": {"kind": "single-switch", "hosts": 8}}, "jobs": jobs} | given


def found(*specs: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {each.field: each.values for each in differences(specs)}


def test_equal_specs_differ_in_nothing() -> None:
    assert differences([spec(), spec(), spec()]) == []


def test_values_have_their_units() -> None:
    first = spec(
        transport={"timeout_ps": 2_000_000, "rate_bps": 400 * 10**9, "window_packets": 4, "none": None}
    )
    second = spec(transport={"timeout_ps": 0, "rate_bps": 10**9, "window_packets": 8, "none": True})
    assert found(first, second) == {
        "transport.timeout": ("2us", "0ps"),
        "transport.rate": ("400Gbps", "1Gbps"),
        "transport.window": ("4", "8"),
        "transport.none": ("none", "true"),
    }


def test_jobs_are_told_by_their_names_and_ranks_in_ranges() -> None:
    jobs = [job_spec("ring", data_bytes=2 << 20), {"name": "more"}]
    assert found(spec(), spec(jobs=jobs)) == {
        "jobs.ring.ranks": ("0-2,4", "0-3"),
        "jobs.ring.data_size": ("1MB", "2MB"),
        "jobs.more": ("-", "name more"),
    }


def test_another_kind_shows_what_belongs_to_it() -> None:
    fabric = {"topology": {"kind": "leaf-spine", "leaves": 2, "hosts": 16}}
    assert found(spec(), spec(fabric=fabric)) == {
        "fabric.topology": ("single-switch", "leaf-spine: leaves 2"),
        "fabric.topology.hosts": ("8", "16"),
    }


def test_what_is_switched_off_is_none_beside_what_is_on() -> None:
    assert found(spec(pfc=None), spec(pfc={"xoff_bytes": 1024, "priorities": [3, 4]})) == {
        "pfc": ("none", "xoff 1KB, priorities 3-4")
    }


def test_long_lists_are_cut() -> None:
    first, second = (spec(pins=[{"qp": n + start} for n in range(100)]) for start in (0, 1))
    (values,) = found(first, second).values()
    assert all(value.startswith("100 of qp") and len(value) < 60 for value in values)
