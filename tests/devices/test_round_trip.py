"""What is written as configuration of SONiC reads back as the switches that it was written from."""

from __future__ import annotations

import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fabricbench.plan.devices.sonic_config.tables import COLOURS
from fabricbench.plan.load import load_plan, load_text
from fabricbench.report.output.sonic import sonic_config

PLAN = """\
fabricbench: 1
name: small
fabric:
  topology:
    {{kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, host_link: {host}, fabric_link: {fabric}}}
  switch: {switch}
transport: {{priorities: {{data: {data}, ack: {ack}, cnp: {ack}}}}}
jobs: [{{collective: all-to-all}}]
sweep: {{data_size: 64KB}}
"""

SHIPPED = sorted((Path(__file__).parents[2] / "plans" / "sonic").glob("*.json"))
SIZES = st.integers(0, 1 << 22)
RATES = st.sampled_from(["100Gbps", "400Gbps", "800Gbps"])


@st.composite
def pfc(draw: st.DrawFn) -> dict[str, Any]:
    power = draw(st.integers(-7, 3))
    xoff = draw(
        st.one_of(
            st.just({"alpha": str(Fraction(2) ** power)}),
            st.builds(lambda size: {"bytes": size}, st.integers(1, 1 << 22)),
        )
    )
    found = {
        "xoff": xoff,
        "xon_offset": draw(SIZES),
        "reserved": draw(SIZES),
        "headroom": draw(st.integers(1, 1 << 20)),
    }
    if draw(st.booleans()):
        found["watchdog"] = {
            "detection": f"{draw(st.integers(100, 5000))}ms",
            "restoration": f"{draw(st.integers(100, 60000))}ms",
            "action": draw(st.sampled_from(["drop", "forward"])),
        }
    return found


@st.composite
def ecn(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(SIZES)
    found = {
        "kmin": low,
        "kmax": low + draw(st.integers(1, 1 << 22)),
        "pmax": f"{draw(st.integers(1, 100))}%",
    }
    if draw(st.booleans()):
        found["wred"] = draw(wred(low))
    # In the ratio of rates without a remainder, so that both sides are whole bytes.
    if draw(st.booleans()):
        found = _eightfold(found)
        found["reference_rate"] = draw(RATES)
    return found


@st.composite
def wred(draw: st.DrawFn, low: int) -> dict[str, Any]:
    """Return what is done with frames of each colour, which all pass at most in two of them."""
    found: dict[str, Any] = {}
    for colour in COLOURS:
        kind = draw(st.sampled_from(["as ecn", "own", "off"]))
        if kind == "off" and len(found) < 2:
            found[colour] = "off"
        elif kind == "own":
            high = low + draw(st.integers(1, 1 << 22))
            found[colour] = {"kmin": low, "kmax": high, "pmax": f"{draw(st.integers(1, 100))}%"}
            found[colour]["ecn"] = draw(st.sampled_from(["on", "off"]))
        elif draw(st.booleans()):
            found[colour] = {"ecn": "off"}
    return found


def _eightfold(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _eightfold(each) for name, each in value.items()}
    return value * 8 if type(value) is int else value


@st.composite
def limit(draw: st.DrawFn) -> dict[str, Any] | str:
    """Return what a group or queue may hold: nothing said, so many times what is free, or bytes."""
    kind = draw(st.sampled_from(["none", "alpha", "bytes"]))
    if kind == "none":
        return "none"
    power = draw(st.integers(-8, 8))
    return (
        {"alpha": str(Fraction(2) ** power)} if kind == "alpha" else {"bytes": draw(st.integers(1, 1 << 24))}
    )


@st.composite
def side(draw: st.DrawFn, name: str, most: int, needed: int | None) -> list[dict[str, Any]]:
    """Return pools of a side: each priority in one of them or in none, `needed` in the first."""
    places = draw(st.lists(st.sampled_from([0, 1, None]), min_size=8, max_size=8))
    if needed is not None:
        places[needed] = 0
    pools = []
    for number in (0, 1):
        priorities = [priority for priority, place in enumerate(places) if place == number]
        if not priorities:
            continue
        pool: dict[str, Any] = {"name": f"{name}{number}", "size": draw(st.integers(most // 2, most))}
        pool |= {"priorities": priorities, "reserved": draw(st.integers(0, 20_000)), "limit": draw(limit())}
        others = [priority for priority in priorities if draw(st.booleans())]
        if others:
            own = {"priorities": others, "reserved": draw(st.integers(0, 20_000)), "limit": draw(limit())}
            pool["profiles"] = [own]
        pools.append(pool)
    return pools


@st.composite
def divided(draw: st.DrawFn, data: int) -> dict[str, Any]:
    """Return switches whose buffer is divided as SONiC divides it: all of the memory is in pools."""
    found: dict[str, Any] = {"pfc": draw(pfc())}
    found["pfc"] |= {"reserved": draw(st.integers(0, 20_000)), "headroom": draw(st.integers(1, 1 << 17))}
    ingress, shared = draw(side("in", 1 << 25, data)), 0
    if draw(st.booleans()):
        shared = draw(st.integers(1 << 17, 1 << 23))
        ingress[0]["headroom"] = shared
    else:
        ingress[0]["headroom_in_size"] = True
    size = sum(pool["size"] for pool in ingress) + shared
    egress = draw(side("out", size, None))
    found["buffer"] = {"size": size, "pools": {"ingress": ingress, "egress": egress}}
    return found


def accounts(switch: dict[str, Any]) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return what each priority has on each side: its pool, reserve, limit and what headroom there is."""
    lossless = switch["pfc"]["priorities"] if switch["pfc"] else ()
    found: dict[tuple[str, int], tuple[Any, ...]] = {}
    for name, pools in switch["buffer"]["pools"].items():
        for pool in pools:
            own = {each: profile for profile in pool.get("profiles", ()) for each in profile["priorities"]}
            has_headroom = name == "ingress" and not set(lossless).isdisjoint(pool["priorities"])
            headroom = (pool["headroom_bytes"], pool.get("headroom_in_size", False)) if has_headroom else ()
            for priority in pool["priorities"]:
                of = own.get(priority, pool)
                is_lossless = name == "ingress" and priority in lossless
                limits = () if is_lossless else (of["reserved_bytes"], json.dumps(of["limit"]))
                found[name, priority] = (pool["name"], pool["size_bytes"], *headroom, *limits)
    return found


@st.composite
def switches(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {"buffer": {"size": draw(st.integers(1 << 25, 1 << 28))}}
    if draw(st.booleans()):
        found["buffer"]["lossy_alpha"] = str(Fraction(2) ** draw(st.integers(-7, 3)))
    if draw(st.booleans()):
        found["pfc"] = draw(pfc())
    if draw(st.booleans()):
        found["ecn"] = draw(ecn())
    if draw(st.booleans()):
        weights = draw(st.lists(st.integers(1, 100), min_size=8, max_size=8))
        found["scheduling"] = {"dwrr": {"quantum": [each * 8192 for each in weights]}}
    return found


def switch_of(text: str, folder: Path) -> dict[str, Any]:
    """Load a plan that may name a file beside it, and return the switches of its run spec."""
    path = folder / "plan.yaml"
    path.write_text(text)
    loaded = load_plan(str(path))
    return dict(loaded.trials[0].run_spec["fabric"]["switch"])


def effective(switch: dict[str, Any], rates: tuple[int, ...]) -> dict[str, Any]:
    """Return what the switches do: thresholds at each rate of ports, weights in their ratio."""
    found = dict(switch)
    if found["ecn"] is not None:
        marks = dict(found["ecn"])
        reference = marks.pop("reference_rate_bps")
        alike = {name: marks.pop(name) for name in ("kmin_bytes", "kmax_bytes", "pmax_ppm")} | {"ecn": True}
        # Without WRED every colour is marked alike.
        curves = {colour: curve and dict(curve) for colour, curve in (marks.get("wred") or {}).items()}
        marks["wred"] = curves or {colour: dict(alike) for colour in COLOURS}
        for curve in marks["wred"].values():
            for name in ("kmin_bytes", "kmax_bytes") if curve else ():
                curve[name] = [curve[name] * rate // (reference or rate) for rate in rates]
        found["ecn"] = marks
    if found["scheduling"]["kind"] == "dwrr":
        quanta = found["scheduling"]["quantum_bytes"]
        found["scheduling"] = [Fraction(each, quanta[0]) for each in quanta]
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(switches(), RATES, RATES, st.integers(0, 6))
def test_switches_read_back_as_they_were_written(
    switch: dict[str, Any], host: str, fabric: str, data: int
) -> None:
    def text(written: object) -> str:
        return PLAN.format(switch=json.dumps(written), host=host, fabric=fabric, data=data, ack=data + 1)

    loaded = load_text(text(switch), "plan.yaml")
    spec = loaded.trials[0].run_spec
    tables, _ = sonic_config(spec)
    rates = tuple(sorted({int(rate.removesuffix("Gbps")) * 10**9 for rate in (host, fabric)}))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spine.json").write_text(json.dumps(tables))
        back = switch_of(text({"config": "spine.json"}), folder)
    assert effective(back, rates) == effective(dict(spec["fabric"]["switch"]), rates)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), RATES, st.integers(0, 6))
def test_pools_read_back_as_they_were_written(data: st.DataObject, rate: str, priority: int) -> None:
    switch = data.draw(divided(priority))

    def text(written: object) -> str:
        switches = json.dumps(written)
        return PLAN.format(switch=switches, host=rate, fabric=rate, data=priority, ack=priority + 1)

    spec = load_text(text(switch), "plan.yaml").trials[0].run_spec
    tables, missing = sonic_config(spec)
    assert not any(each.startswith("buffer") for each in missing), missing
    written: dict[str, Any] = dict(spec["fabric"]["switch"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spine.json").write_text(json.dumps(tables))
        back = switch_of(text({"config": "spine.json"}), folder)
        if "pools" not in back["buffer"]:  # a pool that all share is what a buffer is without
            assert len(accounts(written)) == 1
            return
        # What is read is written again as it was.
        fabric: Any = spec["fabric"] | {"switch": back}
        again, _ = sonic_config(spec | {"fabric": fabric})
        (folder / "spine.json").write_text(json.dumps(again))
        assert switch_of(text({"config": "spine.json"}), folder) == back
    assert accounts(back) == accounts(written)
    assert (back["pfc"], back["buffer"]["size_bytes"]) == (written["pfc"], written["buffer"]["size_bytes"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_configurations_come_back_from_what_is_written_of_them(path: Path, tmp_path: Path) -> None:
    switches = json.dumps({"config": path.name})
    text = PLAN.format(switch=switches, host="100Gbps", fabric="100Gbps", data=3, ack=6)
    (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "plan.yaml").write_text(text)
    first = load_plan(str(tmp_path / "plan.yaml")).trials[0].run_spec
    tables, missing = sonic_config(first)
    (tmp_path / path.name).write_text(json.dumps(tables))
    back: dict[str, Any] = switch_of(text, tmp_path)
    read: dict[str, Any] = dict(first["fabric"]["switch"])
    assert accounts(back) == accounts(read)
    assert back["buffer"]["size_bytes"] == read["buffer"]["size_bytes"]
    rates = (100 * 10**9,)
    apart: dict[str, Any] = {"buffer": None}
    assert not any(each.startswith("scheduling") for each in missing)
    assert effective(back, rates) | apart == effective(read, rates) | apart


@pytest.mark.parametrize("buffer", [{"size": "64MB"}, {
    "size": "64MB",
    "pools": {
        "ingress": [{"name": "ingress_lossless_pool", "size": "32MB", "priorities": [3], "headroom": "1MB"}],
        "egress": [{"name": "out", "size": "64MB", "priorities": [3]}],
    },
}])  # fmt: skip
def test_headroom_that_sonic_works_out_reads_back(buffer: dict[str, Any], tmp_path: Path) -> None:
    def text(switch: dict[str, Any]) -> str:
        return PLAN.format(switch=json.dumps(switch), host="400Gbps", fabric="400Gbps", data=3, ack=6)

    spec = load_text(text({"buffer": buffer, "pfc": {"xoff": {"alpha": 2}}}), "plan.yaml").trials[0].run_spec
    tables, _ = sonic_config(spec)
    assert tables["BUFFER_PG"] == {"PORT_400G|3": {"profile": "NULL"}}
    (tmp_path / "spine.json").write_text(json.dumps(tables))
    back = switch_of(text({"config": "spine.json"}), tmp_path)
    there: Any = spec["fabric"]["switch"]
    assert back["pfc"] == there["pfc"]
    assert accounts(back) == accounts(there) if "pools" in buffer else "pools" not in back


def test_what_sonic_cannot_have_is_told() -> None:
    switch = {
        "buffer": {"size": "32MB", "cell": 256, "lossy_alpha": "3/4"},
        "pfc": {"xoff": {"alpha": "1/5"}, "watchdog": {"detection": "100.5ms"}},
        "ecn": {"kmin": 1, "kmax": 2, "pmax": "2.5%", "dynamic": "on"},
        "scheduling": {"dwrr": {"quantum": {"3": 100_003}}},
    }
    text = PLAN.format(switch=json.dumps(switch), host="400Gbps", fabric="400Gbps", data=3, ack=6)
    loaded = load_text(text, "plan.yaml", ["transport.rate_control=dcqcn"])
    _, missing = sonic_config(loaded.trials[0].run_spec)
    told = "\n".join(missing)
    for part in (
        *("buffer.lossy_alpha: 0.75", "buffer.cell: 256", "pfc.xoff.alpha: 0.2", "pfc.headroom: auto"),
        *("pfc.watchdog", "pfc.quanta", "ecn.pmax: 2.5 %", "ecn.dynamic", "scheduling: quanta of"),
        *("transport.priorities", "transport.rate_control: dcqcn"),
    ):
        assert part in told


def test_what_colours_frames_is_told_to_be_none_of_sonic() -> None:
    switch = {"ecn": {"preset": "sonic", "wred": "on"}, "markers": [{"colour": "yellow"}]}
    text = PLAN.format(switch=json.dumps(switch), host="400Gbps", fabric="400Gbps", data=3, ack=6)
    _, missing = sonic_config(load_text(text, "plan.yaml").trials[0].run_spec)
    assert any(each.startswith("switch.markers: ") for each in missing)
