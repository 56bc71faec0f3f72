"""A plan whose switches are set up by a file: what it takes on, what wins, what a record has of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from tests.devices.sonic_files import changed, with_pools, write

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.switch_configurations import configurations

PLAN = """\
fabricbench: 1
name: small
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2}
  switch:
    config: leaf.json
jobs:
  - {collective: all-to-all}
sweep: {data_size: 64KB}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, changed())
    return tmp_path


def loaded(folder: Path, *overrides: str, text: str = PLAN) -> LoadedPlan:
    (folder / "plan.yaml").write_text(text)
    return load_plan(str(folder / "plan.yaml"), overrides)


def switch(folder: Path, *overrides: str, text: str = PLAN) -> dict[str, Any]:
    return switches(loaded(folder, *overrides, text=text))[0]


def switches(plan: LoadedPlan) -> list[dict[str, Any]]:
    return [dict(each.run_spec["fabric"]["switch"]) for each in plan.trials]


def refused(folder: Path, *overrides: str, text: str = PLAN) -> str:
    with pytest.raises(PlanError) as error:
        loaded(folder, *overrides, text=text)
    return str(error.value)


def test_a_run_has_the_values_of_the_file(folder: Path) -> None:
    found = switch(folder)
    assert found["buffer"]["size_bytes"] == 26284032 + 6291456
    assert found["pfc"]["xoff"] == {"kind": "dynamic", "alpha": {"numerator": 1, "denominator": 8}}
    assert (found["pfc"]["reserved_bytes"], found["pfc"]["headroom_bytes"]) == (1248, 177632)
    assert found["pfc"]["priorities"] == [3]
    assert (found["ecn"]["kmin_bytes"], found["ecn"]["kmax_bytes"], found["ecn"]["pmax_ppm"]) == (
        250_000,
        1 << 20,
        50_000,
    )
    assert found["ecn"]["reference_rate_bps"] is None


def test_what_the_plan_writes_wins(folder: Path) -> None:
    found = switch(folder, "fabric.switch.pfc={xoff: {bytes: 100KB}}", "fabric.switch.buffer=16MB")
    assert found["pfc"]["xoff"] == {"kind": "static", "bytes": 100 << 10}
    assert found["pfc"]["headroom_bytes"] == 177632
    assert found["buffer"]["size_bytes"] == 16 << 20
    assert switch(folder, "fabric.switch.ecn=alibaba")["ecn"]["kmin_bytes"] == 100_000
    assert switch(folder, "fabric.switch.ecn={preset: alibaba, pmax: 1%}")["ecn"]["kmax_bytes"] == 400_000
    assert switch(folder, "fabric.switch.pfc=off")["pfc"] is None


def test_on_takes_the_values_of_the_file(folder: Path) -> None:
    found = switch(folder, "fabric.switch.pfc=on", "fabric.switch.ecn=on")
    assert found["pfc"]["headroom_bytes"] == 177632
    assert found["ecn"]["kmin_bytes"] == 250_000


def test_priorities_are_those_that_the_plan_uses(folder: Path) -> None:
    found = switch(folder, "transport.priorities.ack=4")
    assert found["pfc"]["priorities"] == [3, 4]
    assert found["ecn"]["priorities"] == [3, 4]
    plan = loaded(folder, "transport.priorities.data=1")
    assert plan.trials[0].run_spec["fabric"]["switch"]["pfc"] is None
    assert any("data is in priority 1, which is lossy here" in str(each) for each in plan.warnings)


@pytest.mark.parametrize(("name", "what"), [("pfc", "PFC"), ("ecn", "WRED")])
def test_on_is_refused_where_the_file_has_nothing_for_it(folder: Path, name: str, what: str) -> None:
    told = refused(folder, "transport.priorities.data=1", f"fabric.switch.{name}=on")
    assert f"fabric.switch.{name}: found on, while" in told
    assert f"has no {what} for the priority of data; allowed: `off`, a mapping of its own" in told


def test_a_dscp_gives_data_its_priority(folder: Path) -> None:
    maps = {f"PORT_QOS_MAP/{name}/dscp_to_tc_map": "roce" for name in ("Ethernet0", "Ethernet8")}
    write(folder, changed(*maps.items(), ("DSCP_TO_TC_MAP/roce", {"26": "4"})))
    config = "fabric.switch.config={file: leaf.json, data_dscp: 26}"
    plan = loaded(folder, config)
    assert plan.trials[0].run_spec["transport"]["priorities"]["data"] == 4
    assert switches(plan)[0]["pfc"]["priorities"] == [4]
    told = refused(folder, config, "transport.priorities.data=3")
    assert "transport.priorities.data: found 3, while" in told
    assert "allowed: 4, or no `data_dscp`" in told


def test_packets_that_ports_do_not_take_are_refused(folder: Path) -> None:
    write(folder, changed(("PORT/Ethernet8/mtu", "1500")))
    told = refused(folder)
    assert (
        "transport.mtu: found 4096, with packets of 4156 bytes; allowed: packets up to the mtu of PORT"
        in told
    )
    assert switch(folder, "transport.mtu=1024")["pfc"] is not None


def test_other_rates_than_those_of_the_ports_are_told(folder: Path) -> None:
    told = [str(each) for each in loaded(folder, "fabric.topology.host_link=100Gbps").warnings]
    assert any("ports of 400Gbps, while links of the plan have 100Gbps" in each for each in told)
    assert not any("while links" in str(each) for each in loaded(folder).warnings)


def test_each_variant_has_its_own(folder: Path) -> None:
    write(folder, changed(("BUFFER_PROFILE/pg/dynamic_th", "1")), "spine.json")
    text = PLAN + "variants:\n  - {name: leaf}\n  - {name: spine, set: {fabric.switch.config: spine.json}}\n"
    plan = loaded(folder, text=text)
    alphas = [each["pfc"]["xoff"]["alpha"]["numerator"] for each in switches(plan)]
    assert alphas == [1, 2]
    found, others = configurations(plan.configured)
    assert others == []
    assert [(each.variant, each.record["file"]) for each in found] == [
        ("", "leaf.json"),
        ("spine", "spine.json"),
    ]


def test_a_sweep_may_take_one_file_after_the_other(folder: Path) -> None:
    write(folder, changed(("BUFFER_PROFILE/pg/dynamic_th", "1")), "spine.json")
    plan = loaded(folder, "sweep.fabric.switch.config=[leaf.json, spine.json]")
    assert len({each.spec_json for each in plan.trials}) == 2


def test_files_of_several_switches_have_to_come_to_the_same(folder: Path) -> None:
    both = "fabric.switch.config=[leaf.json, spine.json]"
    write(folder, changed(("PORT/Ethernet16", {"speed": "400000"})), "spine.json")
    assert switch(folder, both) == switch(folder)
    write(folder, changed(("BUFFER_PROFILE/pg/xoff", "100000")), "spine.json")
    told = refused(folder, both)
    assert "found fabric.switch.pfc.headroom of 177632B in " in told
    assert "and of 100000B in " in told
    assert "hint: write `fabric.switch.pfc.headroom` into the plan" in told
    assert switch(folder, both, "fabric.switch.pfc.headroom=120000")["pfc"]["headroom_bytes"] == 120_000
    plan = loaded(folder, both, "fabric.switch.pfc.headroom=120000")
    again = load_text(plan.text, "the plan of the trial", (*plan.overrides, *plan.configured))
    assert again.trials[0].spec_json == plan.trials[0].spec_json


def test_a_record_holds_no_other_fields() -> None:
    config = 'fabric.switch.config={"file": "leaf.json", "values": {"seed": 3}}'
    with pytest.raises(PlanError) as error:
        load_text(PLAN, "plan.yaml", [config])
    assert 'fabric.switch.config.values: found the field "seed"; allowed: fabric.switch.buffer' in str(
        error.value
    )


def test_a_record_has_the_values_and_needs_no_file(folder: Path) -> None:
    plan = loaded(folder)
    (found,), _ = configurations(plan.configured)
    assert found.record["sha256"] == hashlib.sha256((folder / "leaf.json").read_bytes()).hexdigest()
    assert found.record["values"]["fabric.switch.pfc.headroom"] == "177632B"
    assert any("priority 4" in each for each in found.record["not_modelled"])
    (folder / "leaf.json").unlink()
    again = load_text(plan.text, "the plan of the trial", plan.configured)
    assert again.trials[0].spec_json == plan.trials[0].spec_json


def test_a_record_of_variants_needs_no_file(folder: Path) -> None:
    write(folder, changed(("BUFFER_PROFILE/pg/dynamic_th", "1")), "spine.json")
    text = PLAN + "variants:\n  - {name: a}\n  - {name: b, set: {fabric.switch: {config: spine.json}}}\n"
    plan = loaded(folder, text=text)
    again = load_text(plan.text, "the plan of the trial", plan.configured)
    assert [each.spec_json for each in again.trials] == [each.spec_json for each in plan.trials]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("spine.json", 'fabric.switch.config: found no file "spine.json"; allowed: a file next to the plan'),
        ("3", "fabric.switch.config.file: found 3"),
        ("[]", "fabric.switch.config.file: found a list of 0"),
        ("[3]", "fabric.switch.config.file: found a list of 1; allowed: the name of a file"),
        ("{file: leaf.json, data_dscp: 64}", "fabric.switch.config.data_dscp: found 64; allowed: 63 or less"),
        ("{files: leaf.json}", "fabric.switch.config.files: found an unknown key"),
        ("[leaf.json, spine.json]", 'no file "spine.json"'),
        (f'"{"x" * 300}"', "no file"),
        ('"a\\0b"', "fabric.switch.config"),
    ],
)
def test_what_is_no_configuration_is_refused(folder: Path, config: str, told: str) -> None:
    assert told in refused(folder, f"fabric.switch.config={config}")


def test_a_wrong_file_is_refused_with_table_key_and_field(folder: Path) -> None:
    write(folder, changed(("BUFFER_PROFILE/pg/xoff", "lots")))
    told = refused(folder)
    assert told.startswith(f"error: {folder}/leaf.json:")
    assert 'BUFFER_PROFILE|pg: xoff: found "lots"; allowed: a whole number' in told


def test_a_value_that_a_plan_cannot_have_is_told_at_its_line_in_the_file(folder: Path) -> None:
    mode = ("BUFFER_POOL/ingress_lossless_pool/mode", "static")
    changes = (mode, ("BUFFER_PROFILE/pg/dynamic_th", None), ("BUFFER_PROFILE/pg/static_th", "0"))
    write(folder, changed(*changes))
    told = refused(folder)
    line = next(
        number
        for number, text in enumerate((folder / "leaf.json").read_text().splitlines(), 1)
        if "static_th" in text
    )
    assert f"leaf.json:{line}: fabric.switch.pfc.xoff" in told


def test_text_that_is_no_file_reads_no_file() -> None:
    with pytest.raises(PlanError) as error:
        load_text(PLAN, "plan.yaml")
    assert 'fabric.switch.config: found "leaf.json" of a plan that is no file' in str(error.value)
    assert "fabricbench convert" in str(error.value)


SPINE = (("BUFFER_PROFILE/pg/dynamic_th", "1"), ("WRED_PROFILE/lossless/green_min_threshold", "100000"))
EACH = "fabric.switch.config={file: {'leaf*': leaf.json, 'spine*': spine.json, spine1: leaf.json}}"


def fabric(plan: LoadedPlan) -> dict[str, Any]:
    return dict(plan.trials[0].run_spec["fabric"])


def test_pools_of_the_file_are_those_of_the_run(folder: Path) -> None:
    write(folder, with_pools())
    found = switch(folder)["buffer"]
    assert found["lossy_alpha"] is None
    (ingress,) = found["pools"]["ingress"]
    assert (ingress["size_bytes"], ingress["headroom_bytes"]) == (26284032, 6291456)
    names = [each["name"] for each in found["pools"]["egress"]]
    assert names == ["egress_lossless_pool", "egress_lossy_pool"]


@pytest.mark.parametrize("own", ["fabric.switch.buffer=64MB", "fabric.switch.buffer.pools=none"])
def test_a_plan_with_a_buffer_of_its_own_has_no_pools_of_the_file(folder: Path, own: str) -> None:
    write(folder, with_pools())
    found = switch(folder, own)["buffer"]
    assert "pools" not in found
    assert found["lossy_alpha"] == {"numerator": 1, "denominator": 2}


def test_a_record_of_pools_needs_no_file_whatever_the_plan_writes(folder: Path) -> None:
    write(folder, with_pools())
    for own in ((), ("fabric.switch.buffer=64MB",), ("fabric.switch.pfc=off",)):
        plan = loaded(folder, *own)
        again = load_text(plan.text, "the plan of the trial", (*plan.overrides, *plan.configured))
        assert again.trials[0].spec_json == plan.trials[0].spec_json


def test_each_switch_has_its_own_file(folder: Path) -> None:
    write(folder, changed(*SPINE), "spine.json")
    plan = loaded(folder, EACH)
    found = fabric(plan)
    assert found["switch"] == switch(folder, "fabric.switch.config=leaf.json")
    leaf, spine, other = found["switch_settings"]
    assert [each["switches"] for each in (leaf, spine, other)] == [["leaf*"], ["spine*"], ["spine1"]]
    assert {name: leaf[name] for name in ("buffer", "pfc", "ecn")} == {
        name: found["switch"][name] for name in ("buffer", "pfc", "ecn")
    }
    assert other["pfc"] == leaf["pfc"]
    assert spine["pfc"]["xoff"]["alpha"] == {"numerator": 2, "denominator": 1}
    assert spine["ecn"]["kmin_bytes"] == 100_000
    again = load_text(plan.text, "the plan of the trial", (*plan.overrides, *plan.configured))
    assert again.trials[0].spec_json == plan.trials[0].spec_json
    (record,), _ = configurations(plan.configured)
    assert "leaf*: leaf.json" in record.title


def test_what_the_plan_writes_wins_at_each_switch(folder: Path) -> None:
    write(folder, changed(*SPINE), "spine.json")
    found = fabric(loaded(folder, EACH, "fabric.switch.pfc.xoff={alpha: 1/4}"))
    alphas = [each["pfc"]["xoff"]["alpha"]["denominator"] for each in found["switch_settings"]]
    assert alphas == [4, 4, 4]


def test_switches_whose_files_come_to_the_same_are_set_up_alike(folder: Path) -> None:
    write(folder, changed(("PORT/Ethernet16", {"speed": "400000"})), "spine.json")
    assert loaded(folder, EACH).trials[0].spec_json == loaded(folder).trials[0].spec_json


def test_a_folder_has_a_file_for_each_switch(folder: Path) -> None:
    (folder / "configs").mkdir()
    for name in ("leaf0", "leaf1", "spine0"):
        write(folder / "configs", changed(), f"{name}.json")
    write(folder / "configs", changed(*SPINE), "spine1.json")
    plan = loaded(folder, "fabric.switch.config=configs")
    assert [each["switches"] for each in fabric(plan)["switch_settings"]] == [
        ["leaf0"],
        ["leaf1"],
        ["spine0"],
        ["spine1"],
    ]
    (folder / "configs" / "spine0.json").unlink()
    told = refused(folder, "fabric.switch.config=configs")
    assert "fabric.switch.config: found no file for spine0; allowed: a file for every switch" in told


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ("{'leaf*': leaf.json, 'spin*': spine.json}", "no file"),
        ("{'leaf*': leaf.json}", "found no file for spine0, spine1; allowed: a file for every switch"),
        (
            "{'*': leaf.json, 'core*': leaf.json}",
            'found a file for "core*", which no switch is named; allowed: leaf0, leaf1, spine0, spine1',
        ),
        ("{}", "fabric.switch.config.file: found"),
        ("{leaf0: 3}", "fabric.switch.config.file: found"),
    ],
)
def test_files_that_are_not_those_of_the_switches_are_refused(folder: Path, files: str, told: str) -> None:
    assert told in refused(folder, f"fabric.switch.config={{file: {files}}}")


def test_switches_are_lossless_alike(folder: Path) -> None:
    ports = [(f"PORT_QOS_MAP/{name}/pfc_enable", "") for name in ("Ethernet0", "Ethernet8")]
    write(folder, changed(*ports), "spine.json")
    told = refused(folder, EACH)
    assert "fabric.switch_settings.1.pfc.priorities: found []; allowed: [3], as those of all other" in told


def test_the_flow_model_takes_pools_of_lossless_data_alone(folder: Path) -> None:
    write(folder, with_pools())
    assert loaded(folder, "backend=flow").trials[0].run_spec["fabric"]["switch"]["buffer"]["pools"]
    told = refused(folder, "backend=flow", "fabric.switch.pfc=off")
    assert "found pools with lossy data; allowed: none, or data with PFC (the flow model" in told
