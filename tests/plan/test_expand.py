"""A plan becomes complete run specs, in order, with identities that depend on everything in them."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.plan.examples import SMALL, first_bytes, plan_of, with_line

from fabricbench.plan.expand import expand, run_seed
from fabricbench.plan.fabric.cables import HostLink
from fabricbench.work import pattern_of

GOLDEN: dict[str, Any] = {
    "schema_version": 2,
    "seed": 1,
    "fabric": {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "hosts_per_leaf": 4,
            "spines": 4,
            "links_per_spine": 1,
            "host_link": {"rate_bps": 400_000_000_000, "cable": {"delay_ps": 15_000}},
            "fabric_link": {"rate_bps": 400_000_000_000, "cable": {"delay_ps": 150_000}},
        },
        "load_balancing": {"kind": "ecmp", "hash": "crc", "include_qp": False},
        "switch": {
            "forwarding": "store-and-forward",
            "pipeline_latency_ps": 500_000,
            "buffer": {
                "size_bytes": 67_108_864,
                "cell_bytes": 1,
                "lossy_alpha": None,
                "release": {"kind": "cells", "bytes": 256},
            },
            "scheduling": {"kind": "strict"},
            "pfc": None,
            "ecn": None,
            "scheduled": None,
        },
        "nic": {
            "latency_ps": 400_000,
            "drain_rate_bps": None,
            "receive_buffer_bytes": 2_097_152,
            "receive_xoff_bytes": 1_048_576,
            "impairments": [],
        },
        "extra_delays": [],
        "shared_memory": {"rate_bps": 80_000_000_000, "latency_ps": 300_000},
        "failures": [],
        "convergence_time_ps": 10_000_000_000,
        "link_layer": {"kind": "ethernet"},
    },
    "transport": {
        "mtu_bytes": 4096,
        "message_bytes": 131_072,
        "qp_mode": "per_chunk",
        "qps_per_rank_pair": 1,
        "ack_every": 2,
        "window_packets": 8_388_608,
        "recovery": "go_back_n",
        "ooo_window_packets": 512,
        "priorities": {"data": 3, "ack": 6, "cnp": 6},
        "timeout_ps": 67_108_864_000,
        "retry_count": 7,
        "rate_control": {"kind": "line-rate"},
    },
    "jobs": [
        {
            "name": "test",
            "hosts": [0, 1, 2, 3, 4, 5, 6, 7],
            "stream": 0,
            "start_ps": 0,
            "repeat": {"kind": "rounds", "rounds": 1},
            "work": {
                "kind": "collective",
                "pattern": {
                    "collective": "all-to-all",
                    "algorithm": "parallel",
                    "data_bytes": 16_777_216,
                    "root": 0,
                },
                "step_overhead_ps": 0,
                "send_overhead_ps": 0,
                "receive_overhead_ps": 0,
                "rendezvous": None,
                "copies_own_block": False,
                "compute_ps": 0,
                "warm_up_rounds": 0,
                "root_shift": False,
                "barrier": False,
            },
        }
    ],
    "tcp": [],
    "observe": {
        "series_points": 1000,
        "series_interval_ps": 1_000_000,
        "series_ports": 64,
        "series_qps": 64,
        "path_rows": 65_536,
        "chunks": "all",
        "chunk_rows": 100_000,
    },
}


def test_a_run_spec_holds_every_default() -> None:
    first = expand(plan_of(SMALL))[0]
    assert first.run_spec == GOLDEN
    assert first.spec_json == json.dumps(GOLDEN, sort_keys=True, separators=(",", ":"))


def test_trials_come_by_size_and_then_by_iteration() -> None:
    trials = expand(plan_of("iterations: 3\n" + SMALL))
    found = [(trial.index, trial.data_size_bytes >> 20, trial.iteration, trial.variant) for trial in trials]
    sizes = [16, 16, 16, 32, 32, 32]
    assert found == [(index, size, index % 3, "base") for index, size in enumerate(sizes)]
    assert len({trial.spec_json for trial in trials}) == 6
    assert [trial.run_spec["seed"] for trial in trials[:3]] == [
        trial.run_spec["seed"] for trial in trials[3:]
    ]
    assert [first_bytes(trial) for trial in trials] == [size << 20 for size in sizes]


def test_seeds_of_iterations_are_fixed() -> None:
    # SHA-256 of "1/1" and "1/2", first 8 bytes, highest bit cleared: they must never change.
    expected = [1, *(int(hashlib.sha256(text).hexdigest()[:16], 16) % 2**63 for text in (b"1/1", b"1/2"))]
    assert [run_seed(1, iteration) for iteration in range(3)] == expected
    assert expected[1] == 2_683_464_844_940_401_643


@given(seed=st.integers(0, 2**63 - 1), iteration=st.integers(0, 10_000))
def test_seeds_fit_a_signed_column(seed: int, iteration: int) -> None:
    assert 0 <= run_seed(seed, iteration) < 2**63


def test_a_range_of_sizes_ends_where_it_says() -> None:
    for end, expected in (("64MB", [16, 32, 64]), ("127MB", [16, 32, 64]), ("16MB", [16])):
        plan = plan_of(with_line("[16MB, 32MB]", f"{{start: 16MB, end: {end}}}"))
        assert [trial.data_size_bytes >> 20 for trial in expand(plan)] == expected


def test_a_job_with_its_own_size_keeps_it() -> None:
    text = with_line('ranks: "0-7"', 'ranks: "0-3"').replace(
        "sweep:",
        '  - {name: two, ranks: "4-7", collective: incast, data_size: 1MB, start: 5us, root: 2}\nsweep:',
    )
    jobs = [trial.run_spec["jobs"] for trial in expand(plan_of(text))]
    assert [[pattern_of(job)["data_bytes"] >> 20 for job in trial] for trial in jobs] == [[16, 1], [32, 1]]
    assert (jobs[0][1]["start_ps"], pattern_of(jobs[0][1])["root"], jobs[0][1]["hosts"]) == (
        5_000_000,
        2,
        [4, 5, 6, 7],
    )


def test_without_a_sweep_the_size_is_the_first_job_s() -> None:
    text = SMALL.replace("sweep:\n  data_size: [16MB, 32MB]\n", "").replace(
        "collective: all-to-all", "collective: all-reduce\n    data_size: 1GB"
    )
    (trial,) = expand(plan_of(text))
    assert trial.data_size_bytes == 2**30
    assert pattern_of(trial.run_spec["jobs"][0])["algorithm"] == "ring"


@pytest.mark.parametrize(
    ("topology", "hosts", "expected"),
    [
        ("{kind: single-switch, hosts: 4}", 4, {"kind": "single-switch", "hosts": 4}),
        ("{kind: full-mesh, hosts: 4}", 4, {"kind": "full-mesh", "hosts": 4}),
        (
            "{kind: fat-tree, pods: 2, leaves_per_pod: 2, hosts_per_leaf: 2, aggs_per_pod: 2, "
            "cores_per_agg: 1, core_link: {rate: 800Gbps, length: 100m}}",
            8,
            {
                "kind": "fat-tree", "pods": 2, "leaves_per_pod": 2, "hosts_per_leaf": 2, "aggs_per_pod": 2,
                "cores_per_agg": 1,
                "fabric_link": {"rate_bps": 4 * 10**11, "cable": {"delay_ps": 150_000}},
                "core_link": {"rate_bps": 8 * 10**11, "cable": {"delay_ps": 500_000}},
            },
        ),
        (
            "{kind: rail-optimised, servers: 2, rails: 4, spines: 2, scale_up_link: 7.2Tbps}",
            8,
            {
                "kind": "rail-optimised", "servers": 2, "rails": 4, "spines": 2, "links_per_spine": 1,
                "fabric_link": {"rate_bps": 4 * 10**11, "cable": {"delay_ps": 150_000}},
                "scale_up_link": {"rate_bps": 72 * 10**11, "cable": {"delay_ps": 5000}},
            },
        ),
        (
            "{kind: rail-optimised, servers: 4, rails: 1, spines: 0}",
            4,
            {
                "kind": "rail-optimised", "servers": 4, "rails": 1, "spines": 0, "links_per_spine": 1,
                "fabric_link": {"rate_bps": 4 * 10**11, "cable": {"delay_ps": 150_000}},
                "scale_up_link": None,
            },
        ),
    ],
)  # fmt: skip
def test_every_topology_is_written_out(topology: str, hosts: int, expected: dict[str, Any]) -> None:
    fields = f"fabric: {{topology: {topology}}}\njobs: [{{collective: incast, data_size: 8}}]\n"
    spec = expand(plan_of(f"fabricbench: 1\nname: x\n{fields}"))[0].run_spec
    host_link = {"rate_bps": 4 * 10**11, "cable": {"delay_ps": 15_000}}
    assert spec["fabric"]["topology"] == expected | {"host_link": host_link}
    assert spec["jobs"][0]["hosts"] == list(range(hosts))


@pytest.mark.parametrize(
    ("length", "propagation", "expected"), [(1, 4900, 5), (1, 400, 0), (1, 500, 1), (3000, 5000, 15_000)]
)
def test_delays_of_cables_are_rounded_to_the_nearest_picosecond(
    length: int, propagation: int, expected: int
) -> None:
    link = HostLink.model_validate({"length": f"{length}mm"})
    assert link.run_spec(propagation)["cable"]["delay_ps"] == expected
