"""What lies between observation points: laws that hold in every run, and values worked out from tables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import fabricbench as fb
from fabricbench.analysis.summary.observation_points import observation_points
from fabricbench.report.documents.observation_points import (
    Points,
    point_rows,
    points_object,
    points_of,
    points_tables,
)
from fabricbench.report.terminal.text_table import joined
from fabricbench.results.job_reports import current_reports

PREAMBLE_AND_GAP = 20
TOPOLOGIES = (
    {"kind": "single-switch", "hosts": 8, "host_link": "100Gbps"},
    {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_link": "100Gbps"},
)
SWITCHES = (
    {"pfc": {"priorities": [3]}, "buffer": "1MB"},
    {"buffer": "100KB"},
    {"ecn": {"kmin": "5KB", "kmax": "20KB", "pmax": "50%"}, "pfc": {"priorities": [3]}},
)
INCAST = {"ranks": "0-7", "collective": "incast", "data_size": "512KB"}
PLAN: dict[str, Any] = {
    "fabricbench": 1,
    "name": "points",
    "fabric": {"topology": TOPOLOGIES[1]},
    "jobs": [{"ranks": "0-7", "collective": "all-to-all", "data_size": "256KB"}],
}


def random_plan(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    topology, switch = draw.choice(TOPOLOGIES), draw.choice(SWITCHES)
    collective = draw.choice(["all-to-all", "incast", "all-reduce", "permutation"])
    fabric: dict[str, Any] = {"topology": topology, "switch": switch}
    fabric["load_balancing"] = draw.choice(["ecmp", "spray-random", "flowlet"])
    if draw.random() < 0.3:
        fabric["failures"] = [{"at": "5us", "kind": "frame-loss", "link": "host0-leaf0", "share": "1%"}]
    job = {"ranks": "0-7", "collective": collective, "data_size": f"{draw.choice([64, 256, 512])}KB"}
    transport = {"rate_control": "dcqcn" if "ecn" in switch else "line-rate"}
    return PLAN | {"seed": seed, "fabric": fabric, "jobs": [job], "transport": transport}


def points_in(plan: dict[str, Any], folder: Path) -> tuple[dict[str, Any], fb.Trial, Points]:
    trial = fb.run(fb.load(plan), workspace=folder)[0]
    points = points_of(trial.stored)
    assert points is not None
    return {row.name: row for row in points.rows}, trial, points


@pytest.mark.parametrize("seed", range(12))
def test_what_holds_between_points_in_every_run(seed: int, tmp_path: Path) -> None:
    check_laws(*points_in(random_plan(seed), tmp_path)[:2])


@pytest.mark.parametrize(
    ("switch", "met"), list(zip(SWITCHES, ["pause_frames", "frames_lost", "ce_frames"], strict=True))
)
def test_the_same_where_switches_pause_drop_and_mark(
    switch: dict[str, Any], met: str, tmp_path: Path
) -> None:
    control = "dcqcn" if "ecn" in switch else "line-rate"
    fabric = {"topology": TOPOLOGIES[1], "switch": switch}
    plan = PLAN | {"fabric": fabric, "jobs": [INCAST], "transport": {"rate_control": control}}
    found, trial, _ = points_in(plan, tmp_path)
    assert found[met].device > 0
    assert found[met].fabric > 0
    check_laws(found, trial)


def check_laws(found: dict[str, Any], trial: fb.Trial) -> None:
    links, ports, chunks = (trial.frame(name) for name in ("links", "ports", "chunks"))
    to_hosts = links.filter(links["to"].str.starts_with("host"))
    received, lost, marks = (found[name] for name in ("received_bytes", "frames_lost", "ce_frames"))
    assert received.device_less_fabric == -PREAMBLE_AND_GAP * to_hosts["frames"].sum()
    delivered = chunks.filter(chunks["delivered_ps"].is_not_null())["payload_bytes"].sum()
    assert received.endpoint == delivered
    # Payload crosses the boundary in frames with headers, once or more often, and not alone.
    assert received.endpoint_less_fabric <= -82 * chunks["rx_frames"].sum()
    # Every frame that is missing between two NICs is in the counter of a device, and the other way round.
    assert lost.fabric == lost.device == trial.summary["frames_lost"][0]
    assert lost.endpoint == chunks["retransmits"].sum()
    assert marks.device >= marks.fabric >= marks.endpoint
    pauses = found["pause_frames"]
    of_hosts = ports.filter(ports["tier"] == 0)
    assert pauses.fabric == int(of_hosts["pfc_rx"].sum()) + int(of_hosts["pfc_tx"].sum())
    switches = ports.filter(ports["tier"] > 0)
    assert pauses.device == switches["pfc_tx"].sum()
    # A pause that was sent arrived, but for those on a link as the run ended.
    assert 0 <= int(ports["pfc_tx"].sum()) - int(ports["pfc_rx"].sum()) <= len(links)
    for name in ("min", "mean", "max"):
        latency = found[f"latency_us_{name}"]
        assert latency.device is None
        assert latency.endpoint is None or latency.endpoint > latency.fabric > 0


def test_what_an_adapter_drops_was_delivered_by_the_fabric(tmp_path: Path) -> None:
    slow = {"topology": TOPOLOGIES[1], "nic": {"drain_rate": "40Gbps", "receive_buffer": "64KB"}}
    found, trial, _ = points_in(PLAN | {"fabric": slow}, tmp_path)
    lost = found["frames_lost"]
    assert (lost.fabric, lost.device) == (0, trial.summary["frames_lost"][0])
    assert lost.device > 0
    assert trial.summary["drop_ppm"][0] == 0


def test_rows_of_no_run_are_empty() -> None:
    rows = observation_points({"jobs": []}, {"end_ps": 0, "jobs": []}, NoTables(), {})
    assert all(row.fabric is row.device is row.endpoint is None for row in rows)
    assert all(row.device_less_fabric is row.endpoint_less_fabric is None for row in rows)


class NoTables:
    def batches(self, table: str, columns: Any = None) -> Any:
        raise AssertionError(f"nobody observed {columns} of {table}")


def test_counts_of_chunks_tell_the_same_as_their_rows(tmp_path: Path) -> None:
    whole, _, _ = points_in(PLAN, tmp_path)
    counted, _, _ = points_in(PLAN | {"observe": {"chunks": "summary"}}, tmp_path)
    assert {name: (row.fabric, row.device) for name, row in counted.items() if "mean" not in name} == {
        name: (row.fabric, row.device) for name, row in whole.items() if "mean" not in name
    }
    for name, row in whole.items():
        assert counted[name].endpoint == pytest.approx(row.endpoint)
        assert counted[name].fabric == pytest.approx(row.fabric)


def test_the_flow_model_has_endpoints_alone(tmp_path: Path) -> None:
    found, _, _ = points_in(PLAN | {"backend": "flow"}, tmp_path)
    assert all(row.fabric is row.device is None for row in found.values())
    # Seven of eight blocks of each of the eight ranks leave it.
    assert found["received_bytes"].endpoint == 8 * 7 * (256 << 10) / 8
    assert found["latency_us_max"].endpoint is not None
    assert found["frames_lost"].endpoint is None


def test_tcp_counts_where_it_passes_and_where_it_arrives(tmp_path: Path) -> None:
    job = {"ranks": "0-7", "collective": "permutation", "data_size": "8MB"}
    plan = PLAN | {"jobs": [job]}
    alone, _, _ = points_in(plan, tmp_path)
    found, trial, _ = points_in(plan | {"tcp": [{"ranks": "0,4", "rate": "unlimited"}]}, tmp_path)
    delivered = trial.frame("connections")["delivered_bytes"].sum()
    received = found["received_bytes"]
    assert delivered > 0
    assert received.endpoint == alone["received_bytes"].endpoint + delivered
    assert received.fabric - received.endpoint > 82 * trial.frame("chunks")["rx_frames"].sum()
    assert received.device_less_fabric < alone["received_bytes"].device_less_fabric


def test_every_output_has_the_same_values(tmp_path: Path) -> None:
    found, trial, points = points_in(PLAN, tmp_path)
    jobs = current_reports(trial.stored)
    told = points_object(jobs, points)
    text = joined(points_tables(jobs, points), colour=False)
    assert told["jobs"]["test"]["jct_ratio"] == trial.summary["jct_ratio"][0]
    assert told["jobs"]["test"]["interference_factor"] is None
    for row in point_rows(points):
        shown = told["points"][row["kpi"]]
        assert {name: shown[name] for name in row if name != "kpi"} == {
            name: value for name, value in row.items() if name != "kpi"
        }
        assert found[row["kpi"]].title in text
    assert told["convergence"]["reason"] == "no job begins while another one sends"
    assert told["convergence"]["reason"] in text
