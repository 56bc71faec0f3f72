"""Counters of a host: where they are read, what they are called, and the rows that they make."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fabricbench.backend.host_counters import counter_rows
from fabricbench.counters import look_up
from fabricbench.hosts.agent import counters
from fabricbench.hosts.agent.counters import (
    VALUE_MAX,
    backlog_statistics,
    kernel_statistics,
    snapshot,
)
from fabricbench.hosts.agent.host_facts import Interface
from fabricbench.hosts.control.run import HostResult
from fabricbench.hosts.proto import agent_pb2 as pb
from fabricbench.store.record.schema import conform


def made(root: Path, values: dict[str, str]) -> Path:
    """Make files of a device below /sys."""
    for name, value in values.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    return root


def test_counters_of_an_adapter_have_their_source_and_their_vendors_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = "mlx5_0/ports/1"
    values = {f"{port}/counters/port_xmit_data": "10", f"{port}/hw_counters/out_of_sequence": "3\n"}
    values |= {f"{port}/hw_counters/lifespan": "10", f"{port}/hw_counters/of_tomorrow": "7"}
    # What the driver does not count, and what would be beyond 63 bit in bytes.
    values |= {f"{port}/hw_counters/not_counted": str(2**64 - 1)}
    values |= {f"{port}/counters/port_rcv_data": str(VALUE_MAX // 2)}
    made(tmp_path, values)
    (tmp_path / "drivers/mlx5_core").mkdir(parents=True)
    (tmp_path / "mlx5_0/device").mkdir()
    (tmp_path / "mlx5_0/device/driver").symlink_to(tmp_path / "drivers/mlx5_core")
    monkeypatch.setattr(counters, "SYS_RDMA", tmp_path)
    found = {
        key: each for key, each in snapshot(Interface("none", 1500, ("mlx5_0",))).items() if "/" in key[0]
    }
    bursts = found["mlx5_0/1", "hw_counters", "out_of_sequence"]
    assert bursts[0] == 3
    assert bursts[1] is not None
    assert (bursts[1].name, bursts[1].unit) == ("loss_bursts", "events")
    assert "burst" in bursts[1].meaning
    assert found["mlx5_0/1", "rdma", "port_xmit_data"][0] == 40
    assert found["mlx5_0/1", "hw_counters", "of_tomorrow"] == (7, None)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("vendor_name", "name", "unit"),
    [
        ("rx_prio3_pause", "pfc_rx_priority_3", "frames"),
        ("tx_prio0_pause_duration", "pfc_tx_paused_priority_0", "us"),
        ("rx_pfc_ena_frames_pri5", "pfc_rx_priority_5", "frames"),
        ("tx_priority_7_xoff.nic", "pfc_tx_priority_7", "frames"),
    ],
)
def test_pauses_of_a_priority_have_one_name_at_all_vendors(vendor_name: str, name: str, unit: str) -> None:
    known = look_up(vendor_name, "ethtool")
    assert known is not None
    assert (known.name, known.unit) == (name, unit)


def test_the_kernels_counters_are_those_of_nstat() -> None:
    told = Path("/proc/net/snmp").read_text()
    found = dict(kernel_statistics(told))
    try:
        lines = subprocess.run(["nstat", "-asz"], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("needs nstat")
    names = {line.split()[0] for line in lines.splitlines()[1:]}
    assert {"UdpRcvbufErrors", "TcpRetransSegs"} <= found.keys() & names


def collected(endpoint: dict[str, float], *devices: pb.Counter) -> HostResult:
    host = SimpleNamespace(name="h0", driver="roce")
    found: Any = SimpleNamespace(counters=pb.Counters(devices=devices, endpoint=endpoint))
    return cast("HostResult", SimpleNamespace(host=host, collected=found))


def test_rows_have_every_counter_and_no_fact() -> None:
    device = pb.Counter(device="eth0", source="ethtool", vendor_name="of_tomorrow", before=5, after=VALUE_MAX)
    rows = counter_rows([collected({"socket_drops": 2.0, "timeout_ps": 9.0}, device)])
    first, second = conform("counters", rows).to_pylist()
    assert first == {
        "host": "h0",
        "device": "eth0",
        "source": "ethtool",
        "vendor_name": "of_tomorrow",
        "name": None,
        "unit": None,
        "meaning": None,
        "before": 5,
        "after": VALUE_MAX,
    }
    told = {name: second[name] for name in ("device", "source", "name", "unit", "before", "after")}
    names = {"device": "roce", "source": "endpoint", "name": "socket_drops", "unit": "packets"}
    assert told == names | {"before": 0, "after": 2}


def test_hosts_without_counters_give_no_rows() -> None:
    assert conform("counters", counter_rows([collected({})])).num_rows == 0


def test_backlogs_of_all_processors_are_summed() -> None:
    told = "0000c350 00000011 00000002 00000000\n00000010 00000100 00000000 00000000\n"
    assert dict(backlog_statistics(told)) == {"dropped": 0x111, "time_squeeze": 2}
    assert list(backlog_statistics("")) == []
    of_this_machine = dict(backlog_statistics(Path("/proc/net/softnet_stat").read_text()))
    assert of_this_machine.keys() == {"dropped", "time_squeeze"}
