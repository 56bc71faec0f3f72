"""Counters of switches: every form, differences, files that are broken, and what they explain."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.edited import edited
from tests.support.samples import call

from fabricbench.importing import Hardware, MeasuredError, Source, Suspect, UserFacts, read_facts, suspects
from fabricbench.measured.causes.switch_counters import congestion_denied
from fabricbench.measured.switches.model import SwitchCounters, compared, parsed
from fabricbench.measured.switches.reading import read

FILES = Path(__file__).parent / "switches"
SAMPLES = sorted(path for path in FILES.iterdir() if path.suffix != ".md")
NCCL = FILES.parent / "samples" / "nccl_alltoall.txt"
Values = Mapping[tuple[str, str], object]


def values(text: str | bytes, name: str = "file") -> dict[tuple[str, str], object]:
    data = text.encode() if isinstance(text, str) else text
    return {key: count.value for key, count in read(name, data).counts.items()}


def sample(name: str) -> str:
    return (FILES / name).read_text()


def changes(after: str, before: str | None = None) -> SwitchCounters:
    earlier = None if before is None else read("before", before.encode())
    return compared(read("after", after.encode()), earlier)


PFC = "SAI_PORT_STAT_PFC_3_{}_PKTS"
OC = "/interfaces/interface/state/counters/"
QUEUE = "/qos/interfaces/interface/output/queues/queue/state/"
EXPECTED: dict[str, Values] = {
    "interfaces.txt": {
        ("Ethernet0", "RX_OK"): 1_910_629_135,
        ("Ethernet4", "RX_BPS"): 204_800.0,
        ("Ethernet0", "TX_UTIL"): 81.82,
        ("Ethernet4", "SAI_PORT_STAT_IF_IN_ERRORS"): 10,
        ("Ethernet4", "SAI_PORT_STAT_IF_OUT_DISCARDS"): None,
        ("Ethernet0", PFC.format("RX")): 1210,
        ("Ethernet4", PFC.format("TX")): 88_123,
        ("Ethernet128", PFC.format("TX")): None,
    },
    "queues.txt": {
        ("Ethernet0:0", "SAI_QUEUE_STAT_DROPPED_PACKETS"): 39,
        ("Ethernet0:3", "SAI_QUEUE_STAT_BYTES"): 505_678_901_234,
        ("Ethernet0:MC10", "SAI_QUEUE_STAT_DROPPED_BYTES"): 9,
        ("Ethernet4:3", "SAI_QUEUE_STAT_PACKETS"): None,
        ("Ethernet0:3", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"): 1_234_567,
    },
    "buffers.txt": {
        ("Ethernet0:PG3", "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"): 41_344,
        ("Ethernet0:PG3", "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"): 993_888,
        ("Ethernet0:3", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"): 2_057_328,
        ("Ethernet0:PG3", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"): 217,
        ("ingress_lossless_pool", "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"): None,
        ("Ethernet0:3", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"): 2,
        ("Ethernet0:3", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"): 1,
        ("Ethernet0:3", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"): 300,
        ("Ethernet4", "TOTAL_PAUSE_TIME_MS_3"): 20_001,
    },
    "counters_db.json": {
        ("Ethernet0", "SAI_PORT_STAT_IF_OUT_OCTETS"): 7_904_567_890_123,
        ("Ethernet0", "SAI_PORT_STAT_IF_OUT_UCAST_PKTS"): 1_910_628_891,
        ("Ethernet0", "SAI_PORT_STAT_ECN_MARKED_PACKETS"): None,
        # The one that `show` prints, not that since the last poll.
        ("Ethernet0:3", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"): 2_057_328,
        ("Ethernet0:PG3", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"): 217,
        ("oid:0x900000000000f", "SAI_COUNTER_STAT_PACKETS"): 5,
    },
    "portstat.json": {
        ("Ethernet0", "RX_BPS"): 2e9,
        ("Ethernet0", "SAI_PORT_STAT_IF_IN_DISCARDS"): 1000,
        ("Ethernet0", "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS"): None,
    },
    "restconf.json": {
        ("Ethernet1/1", f"{OC}in-octets"): 2**64 - 2,
        ("Ethernet1/1", f"{OC}out-octets"): 2**53 + 1,
        ("Ethernet1/1", f"{OC}in-jumbo-pkts"): 17,
        ("Ethernet1/1", "/interfaces/interface/ethernet/state/counters/in-crc-errors"): 5,
        ("Ethernet1/1:3", f"{QUEUE}ecn-marked-pkts"): 90,
        ("Ethernet1/1:3", f"{QUEUE}max-queue-len"): 2_057_328,
    },
    # Two queues of one number; what both chips have bears their names.
    "queues_uc_mc.txt": {
        ("Ethernet0:3", "SAI_QUEUE_STAT_DROPPED_PACKETS"): 5,
        ("Ethernet0:MC3", "SAI_QUEUE_STAT_DROPPED_PACKETS"): 1,
        ("Ethernet0:0", "SAI_QUEUE_STAT_PACKETS"): 0,
        ("Ethernet0:MC0", "SAI_QUEUE_STAT_PACKETS"): 3,
    },
    "pools_two_chips.txt": {
        ("asic0:ingress_lossless_pool", "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"): 0,
        ("asic1:ingress_lossless_pool", "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"): 432_640,
    },
    "gnmic_event.json": {
        ("Ethernet1", f"{OC}in-octets"): 1_234_567_890,
        ("Ethernet1", f"{OC}out-discards"): 34,
    },
    "gnmic_event_queues.json": {
        ("Ethernet1:UC3", f"{QUEUE}dropped-pkts"): 12,
        ("Ethernet1:MC3", f"{QUEUE}dropped-pkts"): 12,
    },
    "gnmic_flat.txt": {
        ("Ethernet1/1", f"{OC}out-discards"): 34,
        ("Ethernet1/1:3", f"{QUEUE}dropped-pkts"): 7,
        ("Ethernet1/1:4", f"{QUEUE}dropped-pkts"): 0,
    },
    "ethtool_mlx5.txt": {
        ("adapter", "rx_discards_phy"): 1520,
        ("adapter", "tx_prio3_pause"): 91_234,
        ("adapter", "rx_packets"): 8_123_456,
    },
    "ethtool_two.txt": {
        ("ens1f0np0", "[0]: rx_ucast_packets"): 512,
        ("ens1f0np0", "rx_fcs_err_frames"): 3,
        ("ens2", "rx_fcs_err_frames"): 1,
        ("ens2", "rx_priority_3_xoff.nic"): 5,
    },
    "rdma_statistic.txt": {
        ("mlx5_0/1", "out_of_sequence"): 15_234,
        ("mlx5_0/1", "packet_seq_err"): 15_001,
        ("mlx5_0/1", "local_ack_timeout_err"): 12,
    },
    "rdma_statistic.json": {
        ("mlx5_0/1", "out_of_sequence"): 15_234,
        ("mlx5_1/1", "rx_write_requests"): 77,
    },
    "hw_counters.txt": {
        ("mlx5_0/1", "out_of_sequence"): 42,
        ("mlx5_1/1", "out_of_sequence"): 0,
        ("mlx5_1/1", "port_xmit_data"): 1000,
    },
    "hw_heads.txt": {
        ("bnxt_re0/1", "rx_roce_discard_pkts"): 31,
        ("bnxt_re0/1", "watchdog_of_tomorrow"): 8,
    },
    "gnmic.json": {
        ("Ethernet1/1", f"{OC}out-octets"): 1_508_632,
        ("Ethernet1/1", f"{OC}in-utilization"): 0.25,
        ("Ethernet1/1:3", f"{QUEUE}ecn-selected-pkts"): 41,
    },
}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_form_is_read_with_its_vendors_names(path: Path) -> None:
    found = values(path.read_bytes())
    assert {key: found[key] for key in EXPECTED[path.name]} == EXPECTED[path.name]
    assert values(gzip.compress(path.read_bytes())) == found
    assert not {name for _, name in found} & {"STATE", "STATUS", "PFC_WD_STATUS", "name", "last-clear"}


def test_the_name_of_the_switch_and_what_was_read_are_told() -> None:
    told = changes(sample("interfaces.txt"))
    assert (told.switch, told.forms) == ("leaf1", ["show interfaces counters", "show pfc counters"])
    assert changes(sample("gnmic.json")).switch == "leaf1"
    assert changes(sample("queues.txt")).switch == "after"
    assert "1 objects have no name" in changes(sample("counters_db.json")).notes[0]


def hashes() -> dict[str, dict[str, str]]:
    return {key: each["value"] for key, each in json.loads(sample("counters_db.json")).items()}


def qualified(tree: Any, module: str) -> Any:
    if isinstance(tree, dict):
        return {f"{module}:{name.split(':')[-1]}": qualified(each, module) for name, each in tree.items()}
    return [qualified(each, module) for each in tree] if isinstance(tree, list) else tree


def test_one_tree_in_many_forms_is_the_same() -> None:
    dump = values(sample("counters_db.json"))
    assert values(json.dumps(hashes())) == dump
    lines = [
        json.dumps({"db": 2, "key": key, "type": "hash", "value": each}) for key, each in hashes().items()
    ]
    assert values("\n".join(lines)) == dump
    tree = json.loads(sample("restconf.json"))
    rest = values(sample("restconf.json"))
    assert values(json.dumps(qualified(tree, "openconfig-x"))) == rest
    interface = tree["openconfig-interfaces:interfaces"]["interface"][0]
    begun = values(json.dumps({"openconfig-interfaces:interface": [interface]}))
    assert begun.items() <= rest.items()
    path = "openconfig-interfaces:interfaces/interface[name=Ethernet1/1]/state/counters"
    update = {"path": path, "val": interface["state"]["counters"]}
    assert (
        values(json.dumps({"notification": [{"timestamp": 1, "update": [update]}]})).items() <= begun.items()
    )
    bare = values(json.dumps({"openconfig-interfaces:counters": interface["state"]["counters"]}))
    assert bare["-", f"{OC}out-octets"] == 2**53 + 1


def test_queues_as_json_are_those_of_the_table() -> None:
    queue = {"totalpacket": "60", "totalbytes": "4300", "droppacket": "39", "dropbytes": "1"}
    found = values(
        json.dumps({"Ethernet0": {"UC0": queue, "time": "2026-03-02", "cached_time": "2026-03-01"}})
    )
    assert found.items() <= values(sample("queues.txt")).items()
    assert len(found) == 4


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        *(("1,210", 1210), ("N/A", None), ("", None), ("13.37 MB/s", 13.37e6), ("0.00 B/s", 0.0)),
        *(
            ("247000.00/s", 247_000.0),
            ("64.00%", 64.0),
            ("4.21e-10", 4.21e-10),
            ("-3", -3),
            (True, ValueError),
        ),
        *(("1,2", ValueError), ("12,34,567", ValueError), ("nan", ValueError), ("٣", ValueError)),
        *(("9" * 21, ValueError), (str(2**64 - 1), None), (None, None), ("7.81e-10 (89%)", ValueError)),
    ],
)
def test_a_cell_is_a_number_of_its_unit_or_refused(cell: object, value: object) -> None:
    if value is ValueError:
        with pytest.raises(ValueError, match=r".*"):
            parsed(cell)
    else:
        assert parsed(cell) == value


def test_between_two_files_counters_grow_and_watermarks_do_not() -> None:
    text = sample("interfaces.txt") + sample("buffers.txt")
    grown = text.replace("88,123", "88,200").replace("2057328", "  20573").replace("1350", "1351")
    told = {(each.place, each.vendor_name): each for each in changes(grown, text).changes}
    assert told["Ethernet4", PFC.format("TX")].value == 77
    assert told["Ethernet0", PFC.format("RX")].value == 0
    watermark = told["Ethernet0:3", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"]
    assert (watermark.before, watermark.value) == (2_057_328, 20_573)
    assert told["Ethernet0", "RX_BPS"].value == 40_905_160_000.0


def test_what_fell_or_was_cleared_is_said_and_never_a_number() -> None:
    text = sample("interfaces.txt")
    fallen = changes(text.replace("88,123", "   123"), text)
    (each,) = [one for one in fallen.changes if one.note.startswith("less than before")]
    assert (each.before, each.after, each.value) == (88_123, 123, None)
    assert fallen.notes == [f"1 of {len(fallen.changes)} counters fell: the switch restarted, or was cleared"]
    cleared = changes(text.replace("09:14:05", "10:14:05"), text)
    (note,) = {one.note for one in cleared.changes if one.vendor_name == "RX_OK"}
    assert note.startswith("cleared in between: 2026-03-02 10:14:05")
    appeared = changes(text, "\n".join(line for line in text.split("\n") if "Ethernet0 " not in line))
    assert {one.note for one in appeared.changes if one.place == "Ethernet0"} >= {"not counted before"}
    gone = changes("\n".join(line for line in text.split("\n") if "Ethernet128" not in line), text)
    assert gone.notes == ["28 counters of before are no longer there"]


BROKEN = [
    ("", None, "an empty file"),
    ("\0\1\2", None, "no text"),
    ("nothing here\n", None, "no counters"),
    (sample("interfaces.txt").replace("leaf1:~$ show pfc", "leaf2:~$ show pfc"), 11, '"leaf2" after "leaf1"'),
    (sample("interfaces.txt").replace("1,910,628,891", "1,910,x28,891"), 5, '"1,910,x28,891" for "TX_OK"'),
    (sample("queues.txt").replace("60             4300", "60"), 4, "in a table of 7 columns"),
    (sample("queues.txt").replace("39             1   ", "39 | 1           "), 4, "in a table of 7 columns"),
    (sample("queues.txt") + sample("queues.txt").replace("4300", "4301"), 21, "which is 4300 in line 4"),
    (sample("queues.txt").rstrip()[:-3], 16, "in a table of 6 columns"),
    (sample("buffers.txt").replace("PG0    PG3", "PG0 PG3   ", 1), 2, "a head that does not fit the rule"),
    (sample("counters_db.json").replace('"88123"', '"many"'), 29, '"many" for "SAI_PORT_STAT_PFC_3_TX_PKTS"'),
    (sample("counters_db.json")[:900], 31, "JSON"),
    ('{"COUNTERS:oid:0x1": {"SAI_QUEUE_STAT_PACKETS": NaN}}', 1, "NaN is no number"),
    (sample("portstat.json") + '{"Ethernet4": {"RX_OK": "1', 14, "JSON"),
    ('[{"Port": "Ethernet0", "PG0": "5"}]', 1, "watermarks by -j"),
    (
        sample("gnmic.json").replace("\n]", ",\n{}]").replace("{}", '{"source": "b:1", "updates": []}'),
        27,
        '"b"',
    ),
    (sample("restconf.json").replace('"90"', "[90, true]"), 31, '"True" for'),
    ('{"counters":' + '{"a":' * 70 + "1" + "}" * 71, None, "more than 60 levels"),
    ('{"interfaces": {"interface": [{"name": "e", "state": {"oper-status": "UP"}}]}}', None, "no counters"),
    ("Something\n-----  ---\n", None, "no counters"),
]


@pytest.mark.parametrize(("text", "line", "found"), BROKEN)
def test_what_cannot_be_read_is_one_error_with_its_line(text: str, line: int | None, found: str) -> None:
    with pytest.raises(MeasuredError) as raised:
        read("leaf.txt", text.encode())
    assert str(raised.value).startswith("leaf.txt: " if line is None else f"leaf.txt:{line}: ")
    assert found in str(raised.value)
    assert raised.value.hint


def test_the_same_output_twice_is_read_once_and_unknown_tables_are_left_out() -> None:
    assert values(sample("interfaces.txt") * 2) == values(sample("interfaces.txt"))
    spaced = sample("interfaces.txt").replace("\n", "\n\n")
    assert values(spaced) == values(sample("interfaces.txt"))
    told = read("f", (sample("queues.txt") + "  Lane    Power\n------  -------\n     1     -2.5\n").encode())
    assert told.notes == ['line 18: no table that is known, "Lane, Power": left out']


def test_files_of_two_switches_or_without_a_common_counter_are_refused() -> None:
    text = sample("interfaces.txt")
    with pytest.raises(MeasuredError, match='"leaf1", and of "leaf2" in before'):
        changes(text, text.replace("leaf1", "leaf2"))
    with pytest.raises(MeasuredError, match="no counter that is in before"):
        changes(text, sample("queues.txt"))


def test_names_never_steer_a_terminal() -> None:
    (place, name), *_ = values('{"COUNTERS:\\u001b[31m": {"SAI_\\u202ea": "1"}}')
    assert (place, name) == (r"\x1b[31m", r"SAI_\u202ea")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_file_that_is_cut_off_anywhere_never_gives_a_wrong_number(path: Path) -> None:
    text = path.read_text()
    whole, refused = values(text), 0
    for end in range(0, len(text), 7):
        try:
            assert values(text[:end]).items() <= whole.items(), end
        except MeasuredError:
            refused += 1
    assert refused > 10


PIECES = st.sampled_from(
    [" ", "\n", "-", "---  ---\n", "N/A", "9" * 30, "1,0", "{", "}", "[", '"', ":", "\r", "\x1b[1m"]
)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    read_or_refused(edited(data, path.read_text(), PIECES))


TREE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("12"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["interfaces", "interface", "name", "state", "counters", "in-octets", "queue", "key"]
            )
            | st.sampled_from(
                ["value", "Path", "path", "values", "val", "updates", "source", "prefix", "RX_OK"]
            )
            | st.sampled_from(["COUNTERS:oid:0x1", "COUNTERS_PG_NAME_MAP", "SAI_QUEUE_STAT_PACKETS", "UC0"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(TREE)
def test_any_json_is_read_or_refused(tree: object) -> None:
    read_or_refused(json.dumps(tree).encode())


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_anything_is_read_or_refused(data: bytes) -> None:
    read_or_refused(data)


def read_or_refused(data: bytes) -> None:
    refused: MeasuredError | None = None
    try:
        told = compared(read("fuzzed", data), None)
    except MeasuredError as error:
        refused = error
    if refused is not None:
        assert str(refused).startswith("fuzzed")
        assert refused.hint
        return
    assert told.changes
    json.dumps([each.value for each in told.changes], allow_nan=False)


PORTS = st.lists(st.integers(0, 511), min_size=1, max_size=6, unique=True)
CELLS = st.none() | st.integers(0, 2**64 - 2)


@settings(max_examples=100, deadline=None)
@given(ports=PORTS, data=st.data())
def test_a_table_as_tabulate_prints_it_is_read_back(ports: Sequence[int], data: st.DataObject) -> None:
    rows = {f"Ethernet{port}": data.draw(st.lists(CELLS, min_size=8, max_size=8)) for port in ports}
    cells = [["Port Rx", *(f"PFC{each}" for each in range(8))]]
    cells += [[port, *("N/A" if each is None else f"{each:,}" for each in row)] for port, row in rows.items()]
    widths = [max(len(cells[0][place]) + 2, *(len(row[place]) for row in cells)) for place in range(9)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    found = values("\n".join(lines))
    expected = {
        (port, f"SAI_PORT_STAT_PFC_{each}_RX_PKTS"): row[each]
        for port, row in rows.items()
        for each in range(8)
    }
    assert found == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"a  b\n---  ---\n" * 60_000,
        lambda: b"-" * (8 << 20),
        lambda: b"admin@a:" + b"b" * (8 << 20),
        lambda: b"(" * (4 << 20) + b"\n-- --\n",
        lambda: b'{"COUNTERS:oid:0x1": {' + b",".join(b'"\\u0041%d": 0' % n for n in range(200_000)) + b"}}",
        lambda: b"{\n" * 100_000 + b"}\n" * 100_000,
        lambda: b'{"Path": "' + b"[" * (2 << 20) + b'", "values": 1}',
        lambda: json.dumps({"interfaces": {"interface": [{"name": f"e{n}", "state": {"counters": {"a": n}}}
                            for n in range(30_000)]}}).encode(),
    ],
)  # fmt: skip
def test_what_is_made_to_take_long_ends_soon(make: Any) -> None:
    data, start = make(), time.process_time()
    read_or_refused(data)
    assert time.process_time() - start < 5.0


# What they explain.


def causes(
    switches: Sequence[SwitchCounters], uplinks: Sequence[str] = (), rate: float = 400.0
) -> dict[str, Suspect]:
    found = read_facts(Source("nccl.txt", NCCL.read_bytes()), user_facts=UserFacts())
    case = found.rule_input(Hardware(2, rate, "test"), {}, switches, uplinks)
    return {each.cause: each for each in suspects(case)}


def db(**ports: int) -> str:
    """A dump with bytes sent by each port, and no pauses and drops."""
    names = {port: f"oid:{port}" for port in ports}
    still = {"SAI_PORT_STAT_PFC_3_RX_PKTS": "0", "SAI_PORT_STAT_IF_OUT_DISCARDS": "0"}
    counts = {
        f"COUNTERS:oid:{port}": {"SAI_PORT_STAT_IF_OUT_OCTETS": str(sent), **still}
        for port, sent in ports.items()
    }
    return json.dumps({"COUNTERS_PORT_NAME_MAP": names, **counts}, indent=1)


def test_pauses_and_drops_that_grew_make_congestion_likely_and_totals_only_possible() -> None:
    text = sample("interfaces.txt")
    grown = text.replace("88,123", "99,123")
    likely = causes([changes(grown, text)], rate=800.0)["congestion"]
    assert likely.confidence == 2
    assert (
        "leaf1: SAI_PORT_STAT_PFC_3_TX_PKTS grew by 11,000 frames at Ethernet4 (PFC frames sent"
        in likely.evidence[0]
    )
    assert causes([changes(text)], rate=800.0)["congestion"].confidence == 1
    assert "congestion" not in causes([changes(text, text)], rate=800.0)
    # At the line rate a pause is no cause of anything.
    assert "congestion" not in causes([changes(grown, text)])
    marks = causes(
        [changes(sample("queues.txt").replace("1234567", "1234568"), sample("queues.txt"))], rate=800.0
    )
    assert marks["congestion"].confidence == 1


def test_frames_in_error_name_the_link() -> None:
    text = sample("interfaces.txt")
    told = causes([changes(text.replace("        10         0", "        99         0"), text)], rate=800.0)
    assert "grew by 89 packets at Ethernet4" in told["link-errors"].evidence[0]


def test_uplinks_that_are_uneven_by_what_is_missing_make_collisions_likely() -> None:
    before = db(Ethernet0=0, Ethernet4=0, Ethernet8=0)
    # 44.5 of 85.8 GB/s are reached, and the busiest of two uplinks has 1.9 times the mean.
    told = causes(
        [changes(db(Ethernet0=1900, Ethernet4=100, Ethernet8=10**9), before)], ["Ethernet[04]"], 800.0
    )
    assert told["collisions"].confidence == 2
    assert (
        "2 uplinks sent 100 (Ethernet4) to 1,900 (Ethernet0), most over mean 1.90"
        in told["collisions"].evidence[0]
    )
    slight = causes([changes(db(Ethernet0=1300, Ethernet4=700), before)], ["Ethernet?"], 800.0)
    assert slight["collisions"].confidence == 1
    even = causes([changes(db(Ethernet0=1000, Ethernet4=999), before)], ["Ethernet?"], 800.0)
    assert "collisions" not in even


def test_a_fall_that_no_switch_counts_has_that_against_it() -> None:
    found = read_facts(Source("n", NCCL.read_bytes()))
    case = found.rule_input(Hardware(1, 800.0, "test"), {}, [changes(db(Ethernet0=1), db(Ethernet0=0))])
    assert congestion_denied(case) == ["against it: after counted neither pauses nor drops"]


# The command line.


def two_files(folder: Path) -> None:
    (folder / "before.txt").write_text(sample("interfaces.txt"))
    (folder / "after.txt").write_text(sample("interfaces.txt").replace("88,123", "88,200"))


def test_the_command_shows_each_counter_with_its_meaning(tmp_path: Path) -> None:
    two_files(tmp_path)
    done = call("counters", "after.txt", "--before", "before.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("leaf1: show interfaces counters, show pfc counters; since before.txt\n")
    name = "SAI_PORT_STAT_PFC_3_TX_PKTS: pfc_tx_priority_3, frames [frames]; ours: pfc_pause_count\n"
    assert name in done.stdout
    assert "  Ethernet4 77, 1 with 0, 1 not counted\n" in done.stdout
    rows = json.loads(call("counters", "after.txt", "--format", "json", cwd=tmp_path).stdout)["switches"][0]
    (row,) = [each for each in rows["counters"] if each["value"] == 88_200]
    assert (row["place"], row["counts"], row["metric"], row["before"]) == (
        "Ethernet4",
        "frames",
        "pfc_pause_count",
        None,
    )
    csv = call("counters", "after.txt", "--format", "csv", cwd=tmp_path).stdout.splitlines()
    assert csv[0].startswith("switch,place,vendor_name,name,before,after,value")
    assert len(csv) == 1 + len(rows["counters"])
    (tmp_path / "oc.json").write_text(sample("restconf.json"))
    other = call("counters", "oc.json", cwd=tmp_path).stdout
    assert f"not known, by their vendor's names:\n{OC}in-jumbo-pkts: Ethernet1/1 17\n" in other
    assert "nothing of ours counts this" in other


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("counters", "no.txt"), "no.txt: found No such file or directory; expected a file"),
        (("counters", "--before", "before.txt"), "found no FILE beside it"),
        (
            ("counters", "after.txt", "after.txt", "--before", "before.txt"),
            "--before: found 1 file; expected 2",
        ),
        (("counters", "after.txt", "rx_prio3_pause"), "rx_prio3_pause: found No such file"),
        (("counters", "."), "found no counter of that name"),
        (("explain", str(NCCL), "--before", "before.txt"), "found --before without --counters"),
        (("explain", str(NCCL), "--uplinks", "Ethernet0"), "found --uplinks without --counters"),
        (("explain", str(NCCL), "--counters", "after.txt", "--uplinks", "Eth*x"), "found Eth*x, and no port"),
        (
            ("explain", "latest", "--counters", "after.txt"),
            "found --counters, which says something of a file",
        ),
        (("explain", str(NCCL), "--counters", str(NCCL)), "no counters"),
    ],
)
def test_what_does_not_fit_is_one_error_of_the_user(
    arguments: Sequence[str], text: str, tmp_path: Path
) -> None:
    two_files(tmp_path)
    done = call(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "\nhint: " in done.stderr


def test_explain_takes_them_as_evidence(tmp_path: Path) -> None:
    two_files(tmp_path)
    given_ = ("explain", str(NCCL), "--adapters", "2", "--rate", "800Gbps", "--counters", "after.txt")
    done = call(*given_, "--before", "before.txt", cwd=tmp_path)
    assert "congestion (likely)" in done.stdout
    assert "counters of leaf1: show interfaces counters, show pfc counters, since before.txt" in done.stdout
    assert "missing: which ports are uplinks" in done.stdout
    twice = call(*given_, "--counters", "before.txt", cwd=tmp_path).stdout
    assert "leaf1 (after.txt): SAI_PORT_STAT_PFC_3_TX_PKTS stands at 88,200 frames at Ethernet4" in twice
    told = json.loads(call(*given_, "--uplinks", "Ethernet?", "--format", "json", cwd=tmp_path).stdout)
    assert [each["switch"] for each in told["switches"]] == ["leaf1"]
    assert {each["cause"] for each in told["causes"]} >= {"congestion", "collisions", "link-errors"}


def test_what_a_command_writes_is_read_through_a_pipe(tmp_path: Path) -> None:
    def written(name: str, path: Path) -> Path:
        os.mkfifo(tmp_path / name)
        threading.Thread(target=lambda: (tmp_path / name).write_bytes(path.read_bytes()), daemon=True).start()
        return tmp_path / name

    done = call("counters", written("counters", FILES / "interfaces.txt"), cwd=tmp_path)
    assert done.stdout.startswith("leaf1: show interfaces counters")
    done = call("explain", written("nccl", NCCL), cwd=tmp_path)
    assert done.stdout.startswith("nccl: nccl-tests; alltoall_perf, 8 ranks; 2 hosts")


def test_tables_that_a_terminal_wrapped_are_told() -> None:
    lines = sample("interfaces.txt").splitlines()
    wrapped = [line[start : start + 80] for line in lines for start in range(0, len(line) or 1, 80)]
    reading = read("file", "\n".join(wrapped).encode())
    assert reading.forms == ["show pfc counters"]  # which fits in 80 columns
    assert "no head that fits the rule below it" in reading.notes[0]
    assert "a terminal that is too narrow wraps lines" in reading.notes[0]
