"""Servers with GPUs in plans: the fields that describe them, places of ranks, and libraries of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import errors_of

from fabricbench.plan._run_spec import RunSpec
from fabricbench.plan.load import load_plan, load_text
from fabricbench.plan.loaded_plan import LoadedPlan

RAILS = "{kind: rail-optimised, servers: 4, rails: 8, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}"
LEAVES = "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 16, spines: 8, host_link: 400Gbps}"
TRAYS = "{{kind: rail-optimised, servers: {}, rails: 4, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}}"
"""Servers of 4 GPUs and 4 adapters, such as the trays of an NVLink domain."""
ALL_REDUCE = "collective: all-reduce"
SOME = f'{ALL_REDUCE}, ranks: "0-7,76-83"'
"""Servers 0 and 1 of the first NVLink domain, 1 and 2 of the second."""


def text_of(
    job: str = ALL_REDUCE, topology: str = RAILS, fabric: str = "", plan: str = "", size: str = "64MB"
) -> str:
    return (
        f"fabricbench: 1\nname: servers\nfabric:\n  topology: {topology}\n{fabric}"
        f"jobs:\n  - {{{job}}}\nsweep: {{data_size: [{size}]}}\n{plan}"
    )


def loaded(*args: str, **fields: str) -> LoadedPlan:
    return load_text(text_of(*args, **fields), "plan.yaml")


def spec_of(*args: str, **fields: str) -> RunSpec:
    return loaded(*args, **fields).trials[0].run_spec


def job_of(*args: str, **fields: str) -> Any:
    return spec_of(*args, **fields)["jobs"][0]


def nccl_of(*args: str, **fields: str) -> Any:
    return job_of(*args, **fields)["work"].get("nccl")


def server(fields: str) -> str:
    return f"  server: {fields}\n"


def test_a_server_on_rails_has_a_gpu_and_an_adapter_for_each() -> None:
    spec = spec_of()
    assert spec["fabric"].get("server") == {"adapters": 8, "adapters_of_gpu": [[rail] for rail in range(8)]}
    assert spec["fabric"]["shared_memory"] == {"rate_bps": 3_600_000_000_000, "latency_ps": 936_250}
    job = spec["jobs"][0]
    assert job["hosts"] == [rank // 8 for rank in range(32)]
    assert job["gpus"] == [rank % 8 for rank in range(32)]


@pytest.mark.parametrize(
    ("topology", "fabric"),
    [
        (LEAVES, ""),
        (RAILS, server("none")),
        (RAILS.replace("}", ", scale_up_link: 3.6Tbps}"), ""),
        ("{kind: rail-optimised, servers: 4, rails: 1, spines: 0}", ""),
    ],
)
def test_other_hosts_are_no_servers(topology: str, fabric: str) -> None:
    spec = spec_of(topology=topology, fabric=fabric)
    assert "server" not in spec["fabric"]
    assert "gpus" not in spec["jobs"][0]
    assert "nccl" not in spec["jobs"][0]["work"]
    assert spec["transport"]["qp_mode"] == "per_chunk"


def test_hosts_of_any_topology_are_adapters_of_a_server() -> None:
    spec = spec_of(topology=LEAVES, fabric=server("dgx-h100"))
    assert spec["fabric"].get("server") == {"adapters": 8, "adapters_of_gpu": [[nic] for nic in range(8)]}
    assert spec["jobs"][0]["hosts"] == [rank // 8 for rank in range(32)]


def test_a_server_of_a_plan_has_defaults_for_all_that_it_leaves_out() -> None:
    fields = "{gpus: 4, nics: 2, scale_up: {rate: 400GB/s, latency: 1us}, nic_of_gpu: [0, 0, 1, 1]}"
    fabric = spec_of(topology=LEAVES, fabric=server(fields))["fabric"]
    assert fabric.get("server") == {"adapters": 2, "adapters_of_gpu": [[0], [0], [1], [1]]}
    assert fabric["shared_memory"] == {"rate_bps": 3_200_000_000_000, "latency_ps": 1_000_000}
    one_each = spec_of(topology=LEAVES, fabric=server("{gpus: 4}"))["fabric"]
    assert one_each.get("server") == {"adapters": 4, "adapters_of_gpu": [[0], [1], [2], [3]]}


def test_a_server_may_be_a_file_next_to_the_plan(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "python/fabricbench/plan/servers/dgx-h100.yaml"
    (tmp_path / "own.yaml").write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(text_of(fabric=server("own.yaml")), encoding="utf-8")
    spec = load_plan(str(tmp_path / "plan.yaml")).trials[0].run_spec
    assert spec == spec_of(fabric=server("dgx-h100"))
    assert 'found "own.yaml" of a plan that is no file' in errors_of(text_of(fabric=server("own.yaml")))


def test_adapters_of_another_rate_than_the_links_are_warned_of() -> None:
    of_pcie, of_link = loaded(topology=LEAVES, fabric=server("dgx-a100")).warnings
    assert "adapters of 200Gbps, which run at 400Gbps" in of_link.found
    assert of_pcie.found == "adapters at 400Gbps, of which PCIe moves 211.9Gbps", "generation 4"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"topology": "{kind: single-switch, hosts: 12}", "fabric": server("{}")},
            "fabric.server.nics: found 8 adapters of 12 hosts of the topology; allowed: a divisor",
        ),
        ({"fabric": server("{nics: 4}")}, "fabric.server.nics: found 4 adapters on 8 rails; allowed: 8"),
        (
            {
                "topology": "{kind: multi-plane, planes: 2, leaves: 2, hosts_per_leaf: 8, spines: 2}",
                "fabric": server("dgx-h100"),
            },
            "fabric.server: found servers whose adapters have ports in planes",
        ),
        (
            {"fabric": server("gb200-nvl72"), "topology": TRAYS.format(20)},
            "fabric.server.scale_up.servers: found 20 servers in domains of 18; allowed: at most 18 servers,",
        ),
        (
            {"fabric": server("gb200-nvl72"), "topology": TRAYS.format(36), "job": f"{SOME}, library: nccl"},
            "jobs.0.library: found NCCL with other servers of one scale-up domain than of another",
        ),
        (
            {
                "fabric": server("gb200-nvl72"),
                "topology": TRAYS.format(36),
                "job": f"{ALL_REDUCE}, library: {{nccl: {{env: {{NCCL_MNNVL_ENABLE: 0}}}}}}",
            },
            "found NCCL 2.30 that takes each server of a scale-up domain for a node",
        ),
        ({"fabric": "  shared_memory: {rate: 80Gbps}\n"}, "fabric.shared_memory: found shared memory of"),
        ({"fabric": server("dgx-h10")}, "did you mean `dgx-h100`?"),
        (
            {
                "topology": RAILS.replace("}", ", scale_up_link: 3.6Tbps}"),
                "fabric": server("dgx-h100"),
            },
            "a scale-up domain beside `scale_up_link`",
        ),
        ({"job": f"{ALL_REDUCE}, processes_per_host: 2"}, "jobs.0.processes_per_host: found 2 on servers"),
        ({"job": f'{ALL_REDUCE}, ranks: "0-32"'}, "33 ranks on 32 GPUs"),
        (
            {"job": f'{ALL_REDUCE}, ranks: "0-11", library: nccl'},
            "jobs.0.library: found NCCL with 4 of the 8 GPUs of server 1",
        ),
        (
            {"job": f"{ALL_REDUCE}, library: nccl", "topology": LEAVES},
            "found NCCL with hosts that are no servers with GPUs",
        ),
        (
            {"job": f"{ALL_REDUCE}, algorithm: halving-doubling, library: nccl"},
            "found NCCL with algorithm halving-doubling of all-reduce",
        ),
        ({"job": "collective: permutation, library: nccl"}, "found NCCL with collective permutation"),
        (
            {"job": f"{ALL_REDUCE}, library: {{nccl: {{env: {{NCCL_ALGO: rings}}}}}}"},
            'jobs.0.library.nccl.env.NCCL_ALGO: found "rings"',
        ),
        (
            {"job": f'{ALL_REDUCE}, library: {{nccl: {{version: "2.3"}}}}'},
            'jobs.0.library.nccl.version: found "2.3"; allowed: 2.18 to 2.31',
        ),
        (
            {"job": f"{ALL_REDUCE}, library: {{nccl: {{env: {{NCCL_ALGO: nvls}}}}}}"},
            "found variables that allow no algorithm and protocol of all-reduce",
        ),
        (
            {"job": f"{ALL_REDUCE}, algorithm: ring, library: {{nccl: {{env: {{NCCL_ALGO: tree}}}}}}"},
            "found NCCL_ALGO beside `algorithm`",
        ),
        (
            {"job": f"{ALL_REDUCE}, library: {{nccl: {{env: {{NCCL_COLLNET_ENABLE: 1}}}}}}"},
            "CollNet and SHARP, reductions in switches of the network, are not modelled",
        ),
        ({"plan": "transport: {qp_mode: per_chunk}\n"}, "transport.qp_mode: found per_chunk with NCCL"),
        (
            {"job": f"{ALL_REDUCE}, library: flat-ring", "fabric": server("dgx-h100")},
            "jobs.0.library: found a flat ring on servers",
        ),
        ({"job": "collective: all-to-all, library: flat-ring"}, "found a flat ring of all-to-all"),
        (
            {"plan": 'tcp: [{name: t, ranks: "0-7", collective: incast, rate: 1Gbps, duration: 100us}]\n'},
            "tcp.0.ranks: found host 4; allowed: hosts 0 to 3",
        ),
        (
            {
                "job": "collective: storage, storage: {clients: [0, 8], targets: [16, 17], duration: 100us}",
                "size": "64KB",
            },
            "jobs.0.storage.targets: found GPU 17, on a server that has a client or target",
        ),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, str], expected: str) -> None:
    assert expected in errors_of(text_of(**fields))


def test_ranks_are_gpus_that_may_be_dealt_out_to_servers() -> None:
    job = job_of(f'{ALL_REDUCE}, mapping: round-robin, ranks: "0-15"')
    assert job["hosts"] == [0, 1] * 8
    assert job["gpus"] == [rank // 2 for rank in range(16)]
    assert job["work"]["nccl"] == nccl_of(f'{ALL_REDUCE}, ranks: "0-15"')


@pytest.mark.parametrize(
    "job",
    [
        f'{ALL_REDUCE}, ranks: "0-11"',
        f'{ALL_REDUCE}, ranks: "0-24:8"',
        f"{ALL_REDUCE}, algorithm: halving-doubling",
        f"{ALL_REDUCE}, software: mpi",
        f"{ALL_REDUCE}, library: none",
        "collective: broadcast, algorithm: tree",
        "collective: permutation",
        "collective: all-to-all, algorithm: parallel",
    ],
)
def test_other_jobs_on_servers_have_no_library(job: str) -> None:
    assert nccl_of(job) is None
    assert spec_of(job)["transport"]["qp_mode"] == "per_chunk"


def test_a_ring_has_a_rail_for_each_channel() -> None:
    found = job_of(f"{ALL_REDUCE}, algorithm: ring", size="4GB")
    assert found["work"]["pattern"]["algorithm"] == "ring"
    nccl = found["work"]["nccl"]
    # 16 channels on 8 rails, slices of 1 MB of which a buffer holds 4; each channel has its part of NVLink.
    assert nccl.pop("channels") == [
        {"gpu": rail, "receive_nic": rail, "send_nic": rail} for rail in [*range(8), *range(8)]
    ]
    assert nccl == {
        "kind": "ring",
        "protocol": "simple",
        "chunk_bytes": 2 << 20,
        "slice_bytes": 1 << 20,
        "window_messages": 4,
        "scale_up": {"hops": 7, "rate_bps": 370_800 * 8_000_000 * 8 // 7 // 16, "latency_ps": 936_250},
    }


def test_the_choice_depends_on_the_size() -> None:
    trials = loaded(size="1KB, 1MB, 64MB, 4GB").trials
    works: list[Any] = [trial.run_spec["jobs"][0]["work"] for trial in trials]
    assert [(work["pattern"]["algorithm"], work["nccl"]["protocol"]) for work in works] == [
        ("tree", "ll"),
        ("tree", "ll128"),
        ("nvls-tree", "simple"),
        ("ring", "simple"),
    ]
    assert [work["nccl"]["scale_up"]["hops"] for work in works] == [7, 7, 1, 7]
    assert [work["nccl"]["window_messages"] for work in works] == [8, 8, 8, 4]
    tree = works[1]["nccl"]["channels"]
    assert {(channel["receive_nic"], channel["send_nic"]) for channel in tree} == {(n, n) for n in range(8)}


ONE_GPU = {
    "topology": "{kind: single-switch, hosts: 8, host_link: 200Gbps}",
    "fabric": server("{gpus: 1, nics: 1}"),
}


def test_servers_of_one_gpu_have_nccl_if_the_job_names_it() -> None:
    assert nccl_of(**ONE_GPU) is None
    found = nccl_of(f"{ALL_REDUCE}, library: nccl", size="1GB", **ONE_GPU)
    # As logged for a GPU and an adapter of 200 Gb/s: a channel of the search, doubled.
    assert (found["kind"], found["scale_up"]["hops"]) == ("ring", 0)
    assert found["channels"] == 2 * [{"gpu": 0, "receive_nic": 0, "send_nic": 0}]


def test_pat_is_refused_with_the_variable_that_excludes_it() -> None:
    job = "collective: all-gather, library: {nccl: {env: {NCCL_ALGO: PAT}}}"
    found = errors_of(text_of(job, size="64KB", **ONE_GPU))
    assert "jobs.0.library.nccl: found PAT, which NCCL chooses for 64 KB" in found
    assert 'NCCL_ALGO: "^PAT"' in found
    without = job.replace("PAT", '"^PAT"')
    assert nccl_of(without, size="64KB", **ONE_GPU)["kind"] == "ring"


def test_transfers_between_peers_change_the_rail_in_the_server() -> None:
    found = nccl_of("collective: all-to-all", size="1GB")
    assert found == {
        "kind": "peers",
        "protocol": "simple",
        "concurrent": 32,
        "channels": 4,
        "chunk_bytes": 128 << 10,
        "pxn": True,
        "scale_up": {"rate_bps": 370_800 * 8_000_000, "latency_ps": 936_250},
    }
    off = nccl_of("collective: all-to-all, library: {nccl: {env: {NCCL_PXN_DISABLE: 1}}}", size="1GB")
    assert off == {**found, "pxn": False}
    assert nccl_of("collective: gather", size="1GB") == found
    pairs = job_of("collective: send-receive", size="1GB")["work"]
    assert pairs["pattern"]["algorithm"] == "peers"
    assert pairs["nccl"]["concurrent"] == 1


def test_variables_of_the_network_are_fields_of_the_plan() -> None:
    env = (
        "{NCCL_ALGO: ring, NCCL_PROTO: Simple, NCCL_IB_TC: 106, NCCL_IB_TIMEOUT: 22, "
        "NCCL_IB_QPS_PER_CONNECTION: 4, NCCL_IB_SPLIT_DATA_ON_QPS: 1, NCCL_DEBUG: INFO}"
    )
    plan = loaded(f"{ALL_REDUCE}, library: {{nccl: {{env: {env}}}}}")
    spec = plan.trials[0].run_spec
    job: Any = spec["jobs"][0]
    assert (job["work"]["nccl"]["kind"], job["work"]["nccl"]["protocol"]) == ("ring", "simple")
    assert (job["dscp"], job["priority"]) == (26, 3)
    assert spec["transport"]["timeout_ps"] == 4_096_000 << 22
    assert spec["transport"]["qps_per_rank_pair"] == 4
    assert spec["transport"]["qp_mode"] == "per_pair"
    (found,) = plan.warnings
    assert found.found == "variables without an effect here: NCCL_DEBUG"


def test_nccl_on_one_server_uses_its_scale_up_domain() -> None:
    plan = loaded(f'{ALL_REDUCE}, ranks: "0-7"', size="1MB, 16MB")
    assert not plan.warnings
    works: list[Any] = [trial.run_spec["jobs"][0]["work"] for trial in plan.trials]
    assert [work["pattern"]["algorithm"] for work in works] == ["ring", "nvls"]
    copies = {"rate_bps": 370_800 * 8_000_000, "latency_ps": 936_250}
    assert works[0]["nccl"] == {
        "kind": "one-server",
        "algorithm": "ring",
        "protocol": "ll",
        "channels": 24,
        "chunk_bytes": 32 << 10,
        "slice_bytes": 32 << 10,
        "window_messages": 8,
        "scale_up": copies,
    }
    switches = works[1]["nccl"]
    assert (switches["algorithm"], switches["protocol"], switches["channels"]) == ("nvls", "simple", 16)
    assert switches["scale_up"] == copies | {"rate_bps": int(370_800 * 8_000_000 * 0.85)}
    chain = nccl_of(f'{ALL_REDUCE}, ranks: "0-7", algorithm: double-binary-tree')
    assert (chain["kind"], chain["algorithm"]) == ("one-server", "tree")
    peers = nccl_of('collective: all-to-all, ranks: "0-7"', size="1GB")
    assert (peers["kind"], peers["channels"], peers["chunk_bytes"]) == ("peers", 8, 512 << 10)


@pytest.mark.parametrize(
    ("fields", "bus_bps"),
    [
        ("dgx-h100", None),
        ("{gpus: 8}", None),
        ("{nic: {pcie: 5}}", None),
        ("{nic: {pcie: 4}}", 211_861_635_074),
        ("{pcie: {generation: 4}}", 211_861_635_074),
        ("{nic: {pcie: 4, pcie_rate: 24GB/s}}", 192_000_000_000),
        ("{nic: {pcie: 4}, c2c: 200GB/s, pcie: {generation: 5}}", 211_861_635_074),
        ("{nic: {pcie: 5}, c2c: 200GB/s, pcie: {generation: 4}}", None),
    ],
)
def test_pcie_may_be_slower_than_an_adapter(fields: str, bus_bps: int | None) -> None:
    plan = loaded(fabric=server(fields))
    spec: Any = plan.trials[0].run_spec["fabric"].get("server")
    assert spec.get("bus_rate_bps") == bus_bps
    warned = [problem.found for problem in plan.warnings]
    assert warned == (
        [] if bus_bps is None else [f"adapters at 400Gbps, of which PCIe moves {bus_bps / 1e9:.4g}Gbps"]
    )


def test_an_nvlink_domain_is_one_server_with_the_adapters_of_all() -> None:
    fabric = {"topology": TRAYS.format(36), "fabric": server("gb200-nvl72")}
    spec = spec_of(size="16GB", **fabric)
    domain: Any = spec["fabric"].get("server")
    assert (domain["machines"], domain["adapters"], domain["adapters_of_gpu"][71]) == (18, 72, [71])
    job: Any = spec["jobs"][0]
    assert job["hosts"] == [rank // 72 for rank in range(144)]
    assert job["gpus"] == [rank % 72 for rank in range(144)]
    # Over two domains 32 heads of the first GPUs, each on its adapter; a GPU sends 33/32 of the data.
    found = job["work"]["nccl"]
    assert job["work"]["pattern"]["algorithm"] == "nvls-tree"
    assert [channel["send_nic"] for channel in found["channels"]] == list(range(32))
    assert found["scale_up"]["rate_bps"] == int(int(721_800 * 8_000_000 * 0.74) / (1 + 1 / 32)) // 32
    dealt = job_of(f"{ALL_REDUCE}, mapping: round-robin", **fabric)
    assert dealt["gpus"][:3] == [0, 4, 8]
    assert dealt["hosts"][:36] == [0] * 18 + [1] * 18
    with_pxn = nccl_of("collective: all-to-all", size="1GB", **fabric)
    without = nccl_of('collective: all-to-all, library: {nccl: {version: "2.27"}}', size="1GB", **fabric)
    assert (with_pxn["pxn"], without["pxn"]) == (True, False), "PXN over C2C: from 2.28 on"


def test_servers_of_an_nvlink_domain_are_a_smaller_domain() -> None:
    two = spec_of(topology=TRAYS.format(2), fabric=server("gb200-nvl72"), size="1GB")
    domain: Any = two["fabric"].get("server")
    assert (domain["machines"], domain["adapters"]) == (2, 8)
    found: Any = two["jobs"][0]["work"]
    assert (found["nccl"]["kind"], found["nccl"]["channels"]) == ("one-server", 24)
    assert "heads" not in found["nccl"]
    whole = nccl_of(topology=TRAYS.format(18), fabric=server("gb200-nvl72"), size="1GB")
    assert (whole["algorithm"], whole["heads"]) == ("nvls", 32)
    one = spec_of(topology=TRAYS.format(1), fabric=server("gb200-nvl72"), size="1GB")
    assert one["fabric"].get("server") == {"adapters": 4, "adapters_of_gpu": [[0], [1], [2], [3]]}


def test_a_job_on_some_servers_of_each_nvlink_domain_uses_their_adapters() -> None:
    ranks = 'ranks: "8-15,80-87"'
    found = job_of(
        f"{ALL_REDUCE}, {ranks}, algorithm: ring",
        topology=TRAYS.format(36),
        fabric=server("gb200-nvl72"),
        size="1GB",
    )
    # The rings of two servers of a domain over 8 adapters, which are those of its third and fourth server.
    channels = found["work"]["nccl"]["channels"]
    assert {channel["send_nic"] for channel in channels} == set(range(8, 16))
    assert {channel["gpu"] for channel in channels} == set(range(8, 16))
    assert found["work"]["nccl"]["scale_up"]["hops"] == 7


def test_adapters_that_spray_want_load_balancing_that_does() -> None:
    (found,) = loaded(topology=LEAVES, fabric=server("p5en")).warnings
    assert "ecmp with adapters whose transport, SRD, sprays packets" in found.found
    assert not loaded(topology=LEAVES, fabric=server("p5en") + "  load_balancing: spray-random\n").warnings


def test_a_flat_ring_is_that_of_hosts() -> None:
    flat = loaded(f"{ALL_REDUCE}, library: flat-ring")
    hosts = loaded(f"{ALL_REDUCE}, algorithm: ring", fabric=server("none"))
    assert flat.trials[0].spec_json == hosts.trials[0].spec_json
    (found,) = flat.warnings
    assert "each hop crosses rails" in found.found
    assert not [each for each in loaded(f"{ALL_REDUCE}, algorithm: ring").warnings if "rails" in each.found]


def test_a_version_and_a_rate_in_bytes_are_taken() -> None:
    # Two channels for a network peer up to 2.28, then one for each 14 GB/s of its adapters (4 of 48 GB/s).
    older = nccl_of('collective: all-to-all, library: {nccl: {version: "2.27"}}', size="1GB")
    assert (older["channels"], nccl_of("collective: all-to-all", size="1GB")["channels"]) == (2, 4)
    in_bytes = spec_of(topology=RAILS.replace("400Gbps", "50GB/s"))
    assert in_bytes == spec_of()
