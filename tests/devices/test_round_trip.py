"""What is written as configuration of SONiC reads back as the switches that it was written from."""

from __future__ import annotations

import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricbench.plan.load import load_plan, load_text
from fabricbench.report.sonic import sonic_config

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
    # In the ratio of rates without a remainder, so that both sides are whole bytes.
    if draw(st.booleans()):
        found = {name: value * 8 if type(value) is int else value for name, value in found.items()}
        found["reference_rate"] = draw(RATES)
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
        for name in ("kmin_bytes", "kmax_bytes"):
            marks[name] = [marks[name] * rate // (reference or rate) for rate in rates]
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
