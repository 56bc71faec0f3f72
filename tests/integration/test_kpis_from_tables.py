"""The KPIs of the BMWG drafts, computed again by the drafts' formulas from tables that were exported.

Nothing of the package's own analysis is used: tables are CSV files as a user has them.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from fabricbench.cli.main import run

PLAN = """
fabricbench: 1
name: small
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, fabric_link: 200Gbps}
  switch: {buffer: 2MB, pfc: on, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
transport: {mtu: 4096, qp_mode: per_pair, qps_per_rank_pair: 4, rate_control: dcqcn}
jobs:
  - name: training
    ranks: "0,4,1,5"
    collective: all-reduce
    algorithm: ring
    data_size: 1MB
    compute: 20us
    repeat: 3
    barrier: true
  - {name: requests, ranks: "2,3,6,7", collective: permutation, data_size: 64KB,
     arrivals: {process: poisson, load: 60%, duration: 100us}}
solo: true
iterations: 2
variants:
  - {name: ecmp, reference: true}
  - name: lossy
    set:
      fabric.switch: {buffer: 256KB}
      transport.rate_control: line-rate
      transport.recovery: selective
      transport.timeout: 100us
  - {name: spray, set: {fabric.load_balancing: spray-random, transport.recovery: selective}}
"""
HOSTS = {f"host{number}" for number in range(8)}
LINE_RATE_BPS = 400e9
SIZE_BYTES, COMPUTE_S, RANKS = 1 << 20, 20e-6, 4
DURATION_PS = 100_000_000
DROPS = (
    *("dropped_frames", "dropped_headroom_frames", "dropped_wred_frames", "dropped_watchdog_frames"),
    *("lost_link_down_frames", "fcs_error_frames"),
)

Rows = Sequence[Mapping[str, str]]


def total(rows: Rows, column: str) -> int:
    return sum(int(row[column] or 0) for row in rows)


def jain(values: Sequence[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


class Tables:
    """The exported tables of a trial."""

    def __init__(self, folder: Path, trial: str) -> None:
        def exported(name: str) -> Rows:
            path = folder / f"{trial}-{name}.csv"
            assert (
                run(["export", trial, "--table", name, "-o", str(path), "--workspace", str(folder / "w")])
                == 0
            )
            with path.open() as file:
                return list(csv.DictReader(file))

        self.trials, self.chunks = exported("trials"), exported("chunks")
        self.ports, self.paths = exported("ports"), exported("paths")

    def of_fabric(self) -> Iterator[tuple[str, float | None]]:
        """Yield the KPIs that all jobs of a trial share."""
        switches = [row for row in self.ports if row["node"] not in HOSTS]
        hosts = [row for row in self.ports if row["node"] in HOSTS]
        yield "pfc_pause_count", total(switches, "pfc_tx")
        yield "pfc_pause_us", total(self.ports, "paused_ps") / 1e6
        yield "queue_max_bytes", max(int(row["queue_max_bytes"]) for row in switches)
        lost = sum(total(self.ports, column) for column in DROPS)
        yield "frames_lost", lost
        yield "drop_ppm", 1e6 * lost / (total(hosts, "tx_frames") - total(hosts, "pfc_tx"))
        flows, traffic = [], []
        for leaf in ("leaf0", "leaf1"):
            up = [row for row in switches if row["node"] == leaf and row["peer"].startswith("spine")]
            taken = [
                {path["qp"] for path in self.paths if (path["node"], path["port"]) == (leaf, row["port"])}
                for row in up
            ]
            flows.append([len(pairs) for pairs in taken])
            traffic.append([int(row["tx_bytes"]) for row in up])
        yield "link_tx_mmr", max(max(each) * len(each) / sum(each) for each in traffic)
        yield "link_tx_jain", min(map(jain, traffic))
        yield "ecmp_mmr", max(max(each) * len(each) / sum(each) for each in flows) if any(flows[0]) else None
        yield "ecmp_jain", min(map(jain, flows)) if any(flows[0]) else None

    def of_job(self, job: str) -> Iterator[tuple[str, float | None]]:
        """Yield the KPIs of a job."""
        rows = [row for row in self.chunks if row["job"] == job]
        times = [int(row["completed_ps"]) - int(row["start_ps"]) for row in rows]
        yield "fct_ms_p99", percentile(times, 0.99) / 1e9
        yield "fct_ms_p999", percentile(times, 0.999) / 1e9
        yield "retransmission_percent", 100 * total(rows, "retransmits") / total(rows, "tx_frames")
        if not total(rows, "retransmits"):  # what came twice, and late, is in no row
            yield "ecn_marking_percent", 100 * total(rows, "ecn_ce_rx") / total(rows, "rx_frames")
        yield "out_of_order_percent", 100 * total(rows, "out_of_order") / total(rows, "rx_frames")
        yield from self._training(rows) if job == "training" else self._requests(rows)

    @staticmethod
    def _training(rows: Rows) -> Iterator[tuple[str, float]]:
        rounds: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for row in rows:
            rounds[row["round"]].append(row)
        # A rank computes before it posts anything.
        took_s = [
            (max(int(row["completed_ps"]) for row in each) - min(int(row["start_ps"]) for row in each)) / 1e12
            for each in rounds.values()
        ]
        assert len(took_s) == 3
        jct_s, factor = sum(took_s) / 3 + COMPUTE_S, 2 * (RANKS - 1) / RANKS
        busbw = SIZE_BYTES * factor / (jct_s - COMPUTE_S)
        yield "completion_time_ms", 1e3 * jct_s
        yield "jct_ratio", jct_s / (COMPUTE_S + 8 * SIZE_BYTES * factor / LINE_RATE_BPS)
        yield "busbw_gb_per_s", busbw / 1e9
        yield "busbw_percent", 100 * 8 * busbw / LINE_RATE_BPS
        yield "goodput_gbps", 8 * total(rows, "payload_bytes") / (3 * (jct_s - COMPUTE_S)) / 1e9

    @staticmethod
    def _requests(rows: Rows) -> Iterator[tuple[str, float]]:
        in_time = [row for row in rows if int(row["delivered_ps"]) <= DURATION_PS]
        offered, delivered = total(rows, "payload_bytes"), total(in_time, "payload_bytes")
        yield "delivered_percent", 100 * delivered / offered
        yield "goodput_gbps", 8 * delivered / DURATION_PS * 1e3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kpis")
    (folder / "plan.yaml").write_text(PLAN)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert (
            run(["run", str(folder / "plan.yaml"), "--format", "json", "--workspace", str(folder / "w")]) == 0
        )
    (folder / "run.json").write_text(printed.getvalue())
    return folder


def test_every_kpi_follows_from_the_exported_tables(folder: Path) -> None:
    jobs = json.loads((folder / "run.json").read_text())["trials"]
    seen = set()
    for trial in {job["id"] for job in jobs}:
        tables = Tables(folder, trial)
        for told in tables.trials:
            for name, value in (*tables.of_fabric(), *tables.of_job(told["job"])):
                ours = float(told[name]) if told[name] else None
                assert (ours is None) == (value is None), (name, told)
                assert ours == value or ours == pytest.approx(value, rel=1e-8, abs=1e-8), (name, told)
                seen.add((name, bool(value)))
    # The plan is one in which each of them happens.
    always = {"link_tx_mmr", "link_tx_jain", "queue_max_bytes", "fct_ms_p99", "fct_ms_p999", "goodput_gbps"}
    always |= {"completion_time_ms", "jct_ratio", "busbw_gb_per_s", "busbw_percent", "delivered_percent"}
    assert seen >= {(name, True) for name, _ in seen}
    assert {name for name, happened in seen if (name, False) not in seen} == always


def test_interference_is_the_time_beside_others_over_that_alone(folder: Path) -> None:
    jobs = json.loads((folder / "run.json").read_text())["trials"]
    alone = {
        (job["variant"].replace("/solo/training", ""), job["iteration"]): job["completion_time_ms"]
        for job in jobs
        if job["variant"].endswith("/solo/training")
    }
    beside = [job for job in jobs if job["job"] == "training" and "solo" not in job["variant"]]
    assert len(beside) == len(alone) == 3 * 2
    for job in beside:
        expected = job["completion_time_ms"] / alone[job["variant"], job["iteration"]]
        assert job["alone"]["interference_factor"] == pytest.approx(expected, rel=1e-12)
    assert max(job["alone"]["interference_factor"] for job in beside) > 1.01
