"""SONiC's configuration in other forms: dumps of CONFIG_DB, traffic classes from 8 on, watched priorities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.devices.sonic_files import changed, errors, made, values

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.devices.sonic_config.conversion import TrafficPriorities, values_of
from fabricbench.plan.errors import PlanError

SAMPLES = Path(__file__).parent / "samples"


def read(content: str | bytes) -> Fragment:
    data = content.encode() if isinstance(content, str) else content
    return read_device(data, "leaf.json", ReadOptions())


def told(fragment: Fragment) -> tuple[object, ...]:
    return values_of(fragment), fragment.read, fragment.warnings, fragment.left_out


def hashes(tables: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{table}|{key}": fields for table, keys in tables.items() for key, fields in keys.items()}


def test_a_dump_of_the_database_is_the_configuration() -> None:
    whole = told(read((SAMPLES / "port_qos.json").read_bytes()))
    assert told(read((SAMPLES / "config_db_dump.json").read_bytes())) == whole


@pytest.mark.parametrize("form", ["wrapped", "plain", "documents", "listed"])
def test_each_form_of_a_dump_gives_the_same(form: str) -> None:
    expected = told(read(json.dumps(changed())))
    entries = hashes(changed())
    if form == "wrapped":
        entries = {key: {"type": "hash", "ttl": -1, "value": each} for key, each in entries.items()}
        entries["CONFIG_DB_INITIALIZED"] = {"type": "string", "value": "1"}
    if form == "listed":
        entries = {
            key: {("pfc_enable@" if name == "pfc_enable" else name): value for name, value in each.items()}
            for key, each in entries.items()
        }
    text = json.dumps(entries, indent=1)
    if form == "documents":
        lines = [{"db": 4, "key": key, "type": "hash", "value": each} for key, each in entries.items()]
        text = "\n".join(map(json.dumps, lines))
    assert told(read(text)) == expected


def refusal(text: str) -> str:
    with pytest.raises(PlanError) as raised:
        read(text)
    return str(raised.value).removeprefix("error: ")


def test_what_is_wrong_in_a_dump_is_told_with_its_line() -> None:
    entries = {"PORT|Ethernet0": {"speed": "fast"}, "BUFFER_POOL|p": {"size": "1"}}
    assert refusal(json.dumps(entries, indent=1)).startswith("leaf.json:3: PORT|Ethernet0: speed")
    wrapped = {key: {"type": "hash", "value": each} for key, each in entries.items()}
    assert refusal(json.dumps(wrapped, indent=1)).startswith("leaf.json:5: PORT|Ethernet0: speed")
    line = json.dumps({"key": "PORT|Ethernet0", "type": "hash", "value": {"speed": "fast"}})
    assert refusal(f"\n{line}\n").startswith("leaf.json:2: PORT|Ethernet0: speed")
    assert "twice, first in line 1" in refusal(f"{line}\n{line}\n")
    assert "keys of APPL_DB" in refusal('{"BUFFER_POOL_TABLE:ingress_lossless_pool": {"size": "1"}}')


def test_traffic_classes_from_8_on_are_listed_and_change_nothing() -> None:
    whole = read((SAMPLES / "port_qos.json").read_bytes())
    eight = read((SAMPLES / "traffic_class_8.json").read_bytes())
    assert values_of(eight) == values_of(whole)
    (more,) = set(eight.left_out) - set(whole.left_out)
    assert more.startswith("DSCP_TO_TC_MAP: traffic class 8 (DSCP 33, queue 1, priority group 0), which")


MAPS = (
    ("DSCP_TO_TC_MAP/roce", {"26": "3", "33": "8", "40": "15"}),
    ("TC_TO_QUEUE_MAP/roce", {"3": "3", "8": "1", "15": "2"}),
    ("TC_TO_PRIORITY_GROUP_MAP/roce", {"3": "3", "8": "0"}),
    ("PORT_QOS_MAP/Ethernet0/dscp_to_tc_map", "roce"),
    ("PORT_QOS_MAP/Ethernet8/dscp_to_tc_map", "roce"),
    ("PORT_QOS_MAP/Ethernet0/tc_to_queue_map", "roce"),
)


def test_sixteen_classes_are_read_and_data_in_one_of_them_is_refused() -> None:
    left_out = "\n".join(made(*MAPS).left_out)
    assert "traffic class 8 (DSCP 33, queue 1" in left_out
    assert "traffic class 15 (DSCP 40, queue 2" in left_out
    assert values(*MAPS)["transport.priorities.data"] == 3
    assert "DSCP 33, which has traffic class 8" in errors(*MAPS, carried=TrafficPriorities(data_dscp=33))
    assert values(*MAPS, carried=TrafficPriorities(data_dscp=26))["transport.priorities.data"] == 3
    beyond = ("TC_TO_QUEUE_MAP/roce", {"16": "1"})
    assert "the traffic class" in errors(beyond)
    assert "0 to 15" in errors(beyond)


WATCHDOG = [
    (f"PFC_WD/{port}", {"action": "drop", "detection_time": "200", "restoration_time": "200"})
    for port in ("Ethernet0", "Ethernet8")
]


@pytest.mark.parametrize(("watched", "has"), [("3,4", True), ("3", True), ("4", False), ("", False)])
def test_the_watchdog_is_that_of_watched_priorities(watched: str, has: bool) -> None:
    fields = [(f"PORT_QOS_MAP/{port}/pfcwd_sw_enable", watched) for port in ("Ethernet0", "Ethernet8")]
    found = made(*WATCHDOG, *fields)
    assert ("fabric.switch.pfc.watchdog" in values_of(found)) is has
    assert any("pfcwd_sw_enable" in each for each in found.left_out)
    assert "fabric.switch.pfc.watchdog" in values(*WATCHDOG)


def test_reserves_beyond_a_pool_are_told() -> None:
    assert not [each for each in made().warnings if "reserved" in each]
    small = made(("BUFFER_POOL/ingress_lossless_pool/size", "4000"))
    # Two ports, two groups each, 1,248 bytes each.
    assert "4,992 bytes are reserved for each priority group of 2 ports" in " ".join(small.warnings)
    exact = made(("BUFFER_POOL/ingress_lossless_pool/size", "4992"))
    assert not [each for each in exact.warnings if "reserved" in each]
