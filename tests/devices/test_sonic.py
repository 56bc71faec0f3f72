"""SONiC's config_db.json: what its fields come to, what is refused, what is said to be left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.devices.sonic_files import PORTS, SMALL, changed, errors, made, sonic_of, values

from fabricbench.plan.devices.json_text import json_of
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.conversion import TrafficPriorities, fragment_of
from fabricbench.plan.devices.sonic_config.tables import TABLES
from fabricbench.plan.errors import PlanError

PROFILE = "BUFFER_PROFILE/pg"
WRED = "WRED_PROFILE/lossless"


def test_the_values_are_those_of_the_file_in_the_units_of_a_plan() -> None:
    assert values() == {
        "transport.priorities.data": 3,
        "fabric.switch.buffer.size": "31812KB",
        "fabric.switch.buffer.pools": {
            "ingress": [
                {
                    "name": "ingress_lossless_pool",
                    "size": "25668KB",
                    "priorities": [3, 4],
                    "headroom": "6MB",
                    "reserved": "1248B",
                    "limit": {"alpha": "1/8"},
                }
            ]
        },
        "fabric.switch.pfc.xoff": {"alpha": "1/8"},
        "fabric.switch.pfc.xon_offset": "2288B",
        "fabric.switch.pfc.reserved": "1248B",
        "fabric.switch.pfc.headroom": "177632B",
        "fabric.switch.ecn.kmin": "250000B",
        "fabric.switch.ecn.kmax": "1MB",
        "fabric.switch.ecn.pmax": "5%",
    }


@pytest.mark.parametrize(("power", "alpha"), [("-8", "1/256"), ("-1", "1/2"), ("0", 1), ("3", 8)])
def test_a_dynamic_threshold_is_a_power_of_two(power: str, alpha: Any) -> None:
    found = values((f"{PROFILE}/dynamic_th", power))
    assert found["fabric.switch.pfc.xoff"] == {"alpha": alpha}


@pytest.mark.parametrize(
    ("pool_xoff", "size", "reserved"),
    [
        ("6291456", "200000", "200000B"),  # ports share a headroom pool
        (None, "200000", "22368B"),  # SAI: the headroom is in what is reserved
        (None, "177632", 0),
        (None, "1248", "1248B"),  # smaller than the headroom, so beside it
    ],
)
def test_what_is_reserved_holds_the_headroom_or_not(pool_xoff: str | None, size: str, reserved: Any) -> None:
    found = values(("BUFFER_POOL/ingress_lossless_pool/xoff", pool_xoff), (f"{PROFILE}/size", size))
    assert found["fabric.switch.pfc.reserved"] == reserved


@pytest.mark.parametrize(
    ("xon", "xon_offset", "offset"),
    [
        ("60000", "30000", "30000B"),  # the higher level ends the pause: 100000 - 30000
        ("90000", "30000", "10000B"),
        ("90000", None, "10000B"),
        ("0", None, 0),
        ("200000", None, 0),
    ],
)
def test_a_pause_below_a_fixed_threshold_ends_at_the_higher_level(
    xon: str, xon_offset: str | None, offset: Any
) -> None:
    found = values(
        ("BUFFER_POOL/ingress_lossless_pool/mode", "static"),
        (f"{PROFILE}/dynamic_th", None),
        (f"{PROFILE}/static_th", "100000"),
        (f"{PROFILE}/xon", xon),
        (f"{PROFILE}/xon_offset", xon_offset),
    )
    assert found["fabric.switch.pfc.xon_offset"] == offset
    assert found["fabric.switch.pfc.xoff"] == {"bytes": "100000B"}


def test_all_pools_of_the_ingress_side_are_the_buffer() -> None:
    lossy = {"size": "1000000", "type": "ingress", "mode": "dynamic"}
    out = {"size": "9000000", "type": "egress", "mode": "static"}
    fragment = made(("BUFFER_POOL/ingress_lossy_pool", lossy), ("BUFFER_POOL/egress_pool", out))
    (size,) = (each.value for each in fragment.values if each.field == "fabric.switch.buffer.size")
    assert size == f"{26284032 + 6291456 + 1000000}B"
    told = "BUFFER_POOL: ingress_lossy_pool, egress_pool: nothing that the plan carries is in it"
    assert told in fragment.left_out


def test_dscp_finds_the_priority_through_the_maps() -> None:
    maps = [(f"PORT_QOS_MAP/{name}/dscp_to_tc_map", "roce") for name in PORTS]
    table = ("DSCP_TO_TC_MAP/roce", {"26": "4", "48": "6"})
    found = values(*maps, table, carried=TrafficPriorities(data_dscp=26, cnp_dscp=48))
    assert found["transport.priorities.data"] == 4
    assert found["transport.priorities.cnp"] == 6
    told = errors(*maps, table, carried=TrafficPriorities(data_dscp=27))
    assert "fabric.switch.config.data_dscp: found DSCP 27" in told


def test_groups_and_queues_are_found_through_the_maps() -> None:
    maps = {
        "pfc_enable": "5",
        "tc_to_pg_map": "g",
        "pfc_to_pg_map": "p",
        "pfc_to_queue_map": "f",
        "tc_to_queue_map": "q",
    }
    found = values(
        *((f"PORT_QOS_MAP/{name}", maps) for name in PORTS),
        ("TC_TO_PRIORITY_GROUP_MAP/g", {str(each): "4" if each == 2 else "0" for each in range(8)}),
        ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP/p", {"5": "4"}),
        ("TC_TO_QUEUE_MAP/q", {"2": "3"}),
        ("MAP_PFC_PRIORITY_TO_QUEUE/f", {"5": "3"}),
    )
    assert found["transport.priorities.data"] == 2
    assert found["fabric.switch.pfc.xoff"] == {"alpha": "1/8"}
    assert found["fabric.switch.ecn.kmax"] == "1MB"


def test_thresholds_in_the_ratio_of_speeds_have_a_reference_rate() -> None:
    fast = {
        "ecn": "ecn_all",
        "green_min_threshold": "500000",
        "green_max_threshold": str(2 << 20),
        "green_drop_probability": "5",
    }
    changes = [
        ("PORT/Ethernet8/speed", "800000"),
        ("WRED_PROFILE/fast", fast),
        ("QUEUE/Ethernet8|3-4/wred_profile", "fast"),
    ]
    found = values(*changes)
    assert found["fabric.switch.ecn.kmin"] == "250000B"
    assert found["fabric.switch.ecn.reference_rate"] == "400Gbps"
    other = made(*changes, ("WRED_PROFILE/fast/green_max_threshold", "999999"))
    assert "fabric.switch.ecn.reference_rate" not in {each.field for each in other.values}
    (warning,) = other.warnings
    assert "Ethernet8" in warning
    assert "one value for all ports" in warning


def test_a_profile_says_what_wred_does_with_each_colour() -> None:
    thresholds = {"min_threshold": "100000", "max_threshold": "200000", "drop_probability": "50"}
    yellow = [(f"{WRED}/yellow_{name}", value) for name, value in thresholds.items()]

    def wred(*changes: tuple[str, Any]) -> Any:
        return values(*changes).get("fabric.switch.ecn.wred")

    alike = [
        (f"{WRED}/yellow_{name}", SMALL["WRED_PROFILE"]["lossless"][f"green_{name}"]) for name in thresholds
    ]
    assert wred() is None
    assert wred(*alike, (f"{WRED}/wred_yellow_enable", "true")) is None
    own = {"kmin": "100000B", "kmax": "200000B", "pmax": "50%"}
    assert wred(*yellow) == {"green": {"ecn": "on"}, "yellow": own | {"ecn": "on"}, "red": {"ecn": "on"}}
    # What ECN does not cover is dropped if it is switched on, and passes if it is not.
    green = (f"{WRED}/ecn", "ecn_green")
    assert wred(green) == {"green": {"ecn": "on"}, "yellow": "off", "red": "off"}
    dropped = wred(green, *yellow, (f"{WRED}/wred_yellow_enable", "true"))
    assert dropped["yellow"] == own | {"ecn": "off"}
    none = wred((f"{WRED}/ecn", "ecn_none"))
    assert none == {"green": {"ecn": "off"}, "yellow": "off", "red": "off"}
    assert not any("WRED_PROFILE" in each for each in made((f"{WRED}/ecn", "ecn_none")).left_out)
    # The thresholds of `ecn` are those of the first colour that there is.
    found = values(*yellow, (f"{WRED}/wred_green_enable", "false"))
    assert (found["fabric.switch.ecn.kmin"], found["fabric.switch.ecn.pmax"]) == ("100000B", "50%")
    assert found["fabric.switch.ecn.wred"] == {"green": "off", "yellow": {"ecn": "on"}, "red": "off"}


def test_the_value_of_most_ports_is_taken_and_the_others_are_told() -> None:
    other = {"pool": "ingress_lossless_pool", "size": "1248", "xoff": "50000", "dynamic_th": "0"}
    third = ("PORT/Ethernet16", {"speed": "400000", "admin_status": "up"})
    groups = ("BUFFER_PG/Ethernet16|3", {"profile": "other"})
    fragment = made(
        third, groups, ("BUFFER_PROFILE/other", other), ("PORT_QOS_MAP/Ethernet16", {"pfc_enable": "3"})
    )
    found = {each.field: each.value for each in fragment.values}
    assert found["fabric.switch.pfc.xoff"] == {"alpha": "1/8"}
    assert any(
        each.startswith("fabric.switch.pfc.xoff: {alpha: 1} at Ethernet16") for each in fragment.warnings
    )


def test_weights_become_quanta_in_their_ratio() -> None:
    queues: list[tuple[str, Any]] = [(f"QUEUE/{name}|0", {"scheduler": "slow"}) for name in PORTS]
    queues += [(f"QUEUE/{name}|3-4/scheduler", "fast") for name in PORTS]
    schedulers = [
        ("SCHEDULER/slow", {"type": "DWRR", "weight": "1"}),
        ("SCHEDULER/fast", {"type": "DWRR", "weight": "4"}),
    ]
    found = values(*queues, *schedulers)["fabric.switch.scheduling"]
    others = dict.fromkeys(("1", "2", "5", "6", "7"), "8KB")
    assert found == {"dwrr": {"quantum": {"0": "8KB", "3": "32KB", "4": "32KB", **others}}}
    told = "QUEUE: no scheduler for priority 1, 2, 5, 6, 7: the least weight of the others here, 1 in SAI"
    assert told in made(*queues, *schedulers).left_out
    strict = made(*queues, *schedulers, ("SCHEDULER/slow/type", "STRICT"))
    assert "fabric.switch.scheduling" not in {each.field for each in strict.values}
    assert any(each.startswith("SCHEDULER: strict and weighted") for each in strict.left_out)


def test_a_group_whose_profile_sonic_works_out_has_the_default_threshold() -> None:
    fragment = made(
        (f"BUFFER_PG/{','.join(PORTS)}|3-4/profile", "NULL"),
        ("DEFAULT_LOSSLESS_BUFFER_PARAMETER/AZURE", {"default_dynamic_th": "1"}),
        ("BUFFER_POOL/ingress_lossless_pool/size", None),
    )
    found = {each.field: each.value for each in fragment.values}
    assert found["fabric.switch.pfc.xoff"] == {"alpha": 2}
    assert "fabric.switch.pfc.headroom" not in found
    assert "fabric.switch.buffer.size" not in found
    assert any("worked out by SONiC" in each for each in fragment.left_out)


def test_pfc_that_no_port_enables_is_no_pfc() -> None:
    fragment = made(*((f"PORT_QOS_MAP/{name}/pfc_enable", "") for name in PORTS))
    assert not any(each.field.startswith("fabric.switch.pfc") for each in fragment.values)
    assert any("headroom of priority group 3, 4" in each for each in fragment.left_out)


def test_data_of_a_lossy_class_is_told() -> None:
    fragment = made(carried=TrafficPriorities(data=1))
    assert not any(each.field.startswith("fabric.switch.pfc") for each in fragment.values)
    assert "data is in priority 1, which is lossy here; PFC is on for 3, 4" in fragment.warnings[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("BUFFER_PG/Ethernet0|3", {"profile": "pq"}),
            'BUFFER_PG|Ethernet0|3: profile: found "pq", which BUFFER_PROFILE has no entry for; allowed: pg',
        ),
        (
            (f"{PROFILE}/pool", "lossless"),
            'BUFFER_PROFILE|pg: pool: found "lossless", which BUFFER_POOL has no entry for',
        ),
        (
            (f"{PROFILE}/xoff", None),
            "allowed: bytes of headroom, as PORT_QOS_MAP enables PFC for priority 3",
        ),
        ((f"{PROFILE}/xoff", "0"), "BUFFER_PROFILE|pg: xoff: found 0, in priority group 3 of Ethernet0"),
        (
            (f"{PROFILE}/xoff", "12KB"),
            'BUFFER_PROFILE|pg: xoff: found "12KB"; allowed: a whole number from 0 to 1099511627776 bytes',
        ),
        (
            (f"{PROFILE}/dynamic_th", "9"),
            'BUFFER_PROFILE|pg: dynamic_th: found "9"; allowed: a whole number from -8 to 8',
        ),
        (
            (f"{PROFILE}/static_th", "100000"),
            "pg: static_th: found both `dynamic_th` and `static_th`; allowed: one of them",
        ),
        (
            ("BUFFER_POOL/ingress_lossless_pool/type", "egress"),
            'BUFFER_PG|Ethernet0,Ethernet8|3-4: profile: found "pg", whose pool "ingress_lossless_pool" is',
        ),
        (
            ("BUFFER_QUEUE/Ethernet0|3", {"profile": "[BUFFER_PROFILE|pg]"}),
            "is of type ingress; allowed: a profile of a pool of type egress",
        ),
        (
            ("BUFFER_POOL/ingress_lossless_pool/type", "sideways"),
            'type: found "sideways"; allowed: ingress, egress, both',
        ),
        (
            (f"{WRED}/green_min_threshold", "2000000"),
            "lossless: green_min_threshold: found 2000000, which is above green_max_threshold 1048576",
        ),
        (
            ("WRED_PROFILE/other", {"red_min_threshold": "2", "red_max_threshold": "1"}),
            "WRED_PROFILE|other: red_min_threshold: found 2, which is above red_max_threshold 1; allowed: at",
        ),
        (
            (f"{WRED}/green_max_threshold", None),
            "WRED_PROFILE|lossless: green_max_threshold: found nothing; allowed: bytes, as ECN is on",
        ),
        (
            (f"{WRED}/green_drop_probability", "101"),
            'green_drop_probability: found "101"; allowed: a whole number from 0 to 100 per cent',
        ),
        ((f"{WRED}/ecn", "on"), 'WRED_PROFILE|lossless: ecn: found "on"; allowed: ecn_none, ecn_green'),
        (
            ("BUFFER_PG/Ethernet4|3", {"profile": "pg"}),
            'BUFFER_PG|Ethernet4|3: found the port "Ethernet4"; allowed: ports of PORT: Ethernet0, Ethernet8',
        ),
        (("BUFFER_PG/Ethernet0|8", {"profile": "pg"}), 'BUFFER_PG|Ethernet0|8: found the key "Ethernet0|8"'),
        (
            ("PORT_QOS_MAP/Ethernet0/pfc_enable", "3,8"),
            'PORT_QOS_MAP|Ethernet0: pfc_enable: found "3,8"; allowed: priorities 0 to 7',
        ),
        (
            ("PORT/Ethernet0/speed", True),
            'PORT|Ethernet0: speed: found "true"; allowed: a whole number from 10 to 3200000 Mb/s',
        ),
        (
            ("PORT/Ethernet0/mtu", {"v4": 9100}),
            "PORT|Ethernet0: mtu: found a mapping; allowed: a whole number from 68 to 9216 bytes",
        ),
        (("BUFFER_PG", []), "BUFFER_PG: found a list; allowed: entries by their keys"),
        (
            ("PFC_WD/Ethernet0", {"detection_time": "20", "action": "drop"}),
            'PFC_WD|Ethernet0: detection_time: found "20"; allowed: a whole number from 100 to 5000 ms',
        ),
        (
            ("DSCP_TO_TC_MAP/roce", {"64": "3"}),
            'DSCP_TO_TC_MAP|roce: 64: found the DSCP "64"; allowed: 0 to 63',
        ),
        (("DSCP_TO_TC_MAP/roce", {"26": "16"}), 'DSCP_TO_TC_MAP|roce: 26: found "16"; allowed: 0 to 15'),
        (
            ("SCHEDULER/slow", {"type": "DWRR", "weight": "0"}),
            'SCHEDULER|slow: weight: found "0"; allowed: a whole number from 1 to 100',
        ),
    ],
)
def test_what_is_wrong_is_told_with_table_key_and_field(change: tuple[str, Any], told: str) -> None:
    found = errors(change)
    assert told in found
    line = next(each for each in found.splitlines() if told in each)
    number = int(line.removeprefix("error: leaf.json:").partition(":")[0])
    text = json.dumps(changed(change), indent=1).splitlines()[number - 1]
    parts = line.partition(f":{number}: ")[2].split(": found ")[0].replace(": ", "|", 1)
    table, _, rest = parts.partition("|")
    key = rest.split(": ")[0]
    assert any(f'"{part}"' in text for part in (key.rpartition("|")[2], key.rpartition("|")[0], key, table))


def test_a_pause_that_stops_another_queue_is_refused() -> None:
    told = errors(
        ("PORT_QOS_MAP/Ethernet0/pfc_to_queue_map", "wrong"),
        ("MAP_PFC_PRIORITY_TO_QUEUE/wrong", {"3": "2", "4": "4"}),
    )
    assert "PORT_QOS_MAP|Ethernet0: pfc_to_queue_map: found a pause of priority 3 that stops queue 2" in told
    assert "allowed: queue 3" in told


def test_everything_wrong_is_told_at_once() -> None:
    told = errors((f"{PROFILE}/dynamic_th", "9"), (f"{WRED}/ecn", "on"), ("PORT/Ethernet0/speed", "fast"))
    assert told.count("error: ") == 3


def test_nothing_of_the_file_is_dropped_silently() -> None:
    fragment = made(
        ("ACL_TABLE/protect", {"type": "L3"}),
        ("TABLE_OF_TOMORROW/x", {"y": "z"}),
        (f"{PROFILE}/field_of_tomorrow", "1"),
        ("PORT/Ethernet0/pfc_asym", "on"),
        ("CABLE_LENGTH/AZURE", {"Ethernet0": "40m"}),
    )
    told = "\n".join(fragment.left_out)
    for part in ("ACL_TABLE (1 entry)", "TABLE_OF_TOMORROW", "field_of_tomorrow", "pfc_asym", "CABLE_LENGTH"):
        assert part in told


def test_every_field_that_is_not_modelled_says_why() -> None:
    for fields in TABLES.values():
        assert all(
            each.kind is not None or not each.left_out or each.left_out.strip() for each in fields.values()
        )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "leaf.json:1: found text that is no JSON"),
        (b'{"PORT": {"Ethernet0": {}, "Ethernet0": {}}}', 'the key "Ethernet0" twice'),
        (
            b'{"L": [{"a": 1}, {"a": 2}],\n "P": {"b": 1,\n "b": 2}}',
            ':3: found the key "b" twice in one mapping, first in line 2',
        ),
        (b"[]", "no mapping at the top"),
        (b'{"PORT": NaN}', "NaN, which is no number"),
        (b"{}", "no table of buffers, queues or ports"),
        (b'{"BGP_NEIGHBOR": {}}', "no table of buffers, queues or ports"),
        (b'{"a":' * 100_000, "found values nested too deeply"),
        (b'{"PORT": {"\\ud800": {}}}', "half a surrogate pair"),
        (b'\xff\xfe{"PORT": {}}', "not UTF-8"),
        (b'{"PORT": {"Ethernet0": {"speed": ' + b"9" * 5000 + b"}}}", "error: leaf.json"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(PlanError) as error:
        Sonic(json_of(text, "leaf.json"))
    assert told in str(error.value)


def test_a_port_that_is_down_does_not_count() -> None:
    sonic = sonic_of(changed(("PORT/Ethernet8/admin_status", "down")))
    assert [port.name for port in sonic.ports] == ["Ethernet0"]


SHIPPED = sorted((Path(__file__).parents[2] / "plans" / "sonic").glob("*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_configurations_are_read(path: Path) -> None:
    fragment = fragment_of(Sonic(json_of(path.read_bytes(), path.name)), TrafficPriorities())
    fields = {each.field for each in fragment.values}
    assert {"fabric.switch.buffer.size", "fabric.switch.pfc.xoff", "fabric.switch.ecn.kmin"} <= fields
    assert fragment.left_out


def test_a_port_without_admin_status_is_down_where_others_are_up() -> None:
    bare = ("PORT/Ethernet16", {"speed": "100000"})
    fragment = made(bare)
    assert fragment.read[0] == "2 ports of 400 Gb/s"
    assert not fragment.warnings
    assert "PORT: 1 port with admin_status down, as by default" in fragment.left_out
    every = [(f"PORT/{name}/admin_status", None) for name in PORTS]
    fragment = made(bare, *every)  # a file that says it of none is about all
    assert fragment.read[0] == "3 ports of 100, 400 Gb/s"


def test_fields_of_a_queue_in_several_entries_stand_for_themselves() -> None:
    alone: list[tuple[str, Any]] = [(f"QUEUE/{name}|3", {"scheduler": "fast"}) for name in PORTS]
    alone += [("SCHEDULER/fast", {"type": "DWRR", "weight": "15"})]
    found = values(*alone)
    assert found["fabric.switch.ecn.kmin"] == "250000B"
    assert found["fabric.switch.scheduling"] == {"dwrr": {"quantum": dict.fromkeys("01234567", "8KB")}}


def test_entries_that_contradict_each_other_are_refused_once() -> None:
    other = {"pool": "ingress_lossless_pool", "size": "1248", "xoff": "50000", "dynamic_th": "0"}
    told = errors(("BUFFER_PROFILE/other", other), ("BUFFER_PG/Ethernet0|2-4", {"profile": "other"}))
    assert "BUFFER_PG|Ethernet0|2-4: profile: found other, while Ethernet0,Ethernet8|3-4 has pg" in told
    assert told.count("error:") <= 1
    assert told.count("found") == 1
    told = errors((f"PORT_QOS_MAP/{','.join(PORTS)}", {"pfc_enable": "3"}))
    assert "pfc_enable: found 3, while Ethernet0 has 3,4; allowed: one of the two" in told


def test_a_reference_that_leads_nowhere_is_told_once() -> None:
    told = errors(*((f"QUEUE/{name}|3-4/wred_profile", "losless") for name in PORTS))
    assert told.count("losless") == 1
    assert "QUEUE|Ethernet0|3-4: wred_profile" in told


def test_queues_of_a_chassis_are_those_of_its_own_card() -> None:
    own = ("DEVICE_METADATA", {"localhost": {"hostname": "lc1", "asic_name": "Asic0"}})
    queues = {f"lc{card}|Asic0|{name}|3-4": {"wred_profile": "lossless"} for name in PORTS for card in (1, 2)}
    fragment = made(own, ("QUEUE", queues))
    assert fragment.plan["fabric"]["switch"]["ecn"]["kmin"] == "250000B"
    assert any('of other cards: "lc2|Asic0|Ethernet0|3-4"' in each for each in fragment.left_out)


def test_the_namespaces_of_a_switch_with_several_chips_are_named() -> None:
    with pytest.raises(PlanError, match=r'it has namespaces \("asic0", "asic1"\), each a switch') as found:
        sonic_of({"localhost": {"FEATURE": {}}, "asic0": SMALL, "asic1": SMALL})
    assert "no table of buffers" in str(found.value)


def test_headroom_of_a_profile_that_sonic_works_out_is_auto() -> None:
    own = {"pool": "ingress_lossless_pool", "dynamic_th": "1", "headroom_type": "dynamic"}
    found = values((PROFILE, own))
    assert found["fabric.switch.pfc.xoff"] == {"alpha": 2}
    assert not any(f"fabric.switch.pfc.{name}" in found for name in ("headroom", "reserved", "xon_offset"))
    told = 'BUFFER_PROFILE: headroom_type of "pg": headroom that SONiC works out by itself'
    assert told in made((PROFILE, own)).left_out
