//! Queries of clusters: servers and NVLink domains, listed parts, variables, errors.

use crate::servers::{gb200, h100};
use fabricbench_nccl::{
    Cluster, GraphAnswer, Hardware, MergedGraph, Query, QueryError, Server, Settings, Version,
};
use serde_json::{Value, json};

fn query(hardware: &Value, servers: usize, variables: &Value) -> Query {
    traffic(hardware, servers, variables, &json!({"collective": "AllReduce"}))
}

fn traffic(hardware: &Value, servers: usize, variables: &Value, traffic: &Value) -> Query {
    let text = json!({
        "hardware": hardware, "servers": servers, "version": "2.30", "variables": variables,
        "traffic": traffic, "sizes": [8, 1 << 20, 1_u64 << 30],
    });
    serde_json::from_value(text).expect("a query")
}

fn regular(server: &Server) -> Value {
    json!({"regular": server})
}

/// A host of two GPUs with an adapter each on one PCIe switch.
fn listed() -> Value {
    let upstream = json!({"to": {"pci_switch": 0}, "bandwidth": 48_000});
    let gpu = |device: usize| {
        json!({
            "gpu": {"capability": 90, "device": device, "host": 0, "gpu_direct": true, "peer_to_peer": true},
            "upstream": upstream,
        })
    };
    let adapter = |name: &str, asic: u64| {
        let nic = json!({
            "bandwidth": 50_000, "latency_us": 0.0, "asic": asic, "port": 1, "rail": null, "plane": null,
            "gpu_direct": true,
        });
        json!({"upstream": upstream, "ports": [{"name": name, "nic": nic}]})
    };
    let nvlink = |gpu: usize| json!({"gpu": gpu, "to": "nv_switch", "links": 18});
    json!({"listed": {
        "cpus": ["intel_sapphire_rapids"],
        "switches": [{"to": {"cpu": 0}, "bandwidth": 48_000}],
        // The devices are in the opposite order of their addresses.
        "gpus": [gpu(1), gpu(0)],
        "adapters": [adapter("mlx5_0", 1), adapter("mlx5_1", 2)],
        "nvlinks": [nvlink(0), nvlink(1)],
        "c2c": [],
    }})
}

#[test]
fn two_servers_have_the_choices_of_the_worked_example() {
    let answer = query(&regular(&h100()), 2, &json!([])).answer().unwrap();
    assert_eq!((answer.nodes, answer.ranks, answer.rings.len()), (2, 16, 8));
    let chosen: Vec<String> = answer
        .operations
        .iter()
        .filter_map(|operation| operation.chosen.as_ref())
        .map(|chosen| {
            format!("{} {} {:.2}", chosen.algorithm.unwrap(), chosen.protocol, chosen.time_us.unwrap())
        })
        .collect();
    assert_eq!(chosen, ["Tree LL 25.20", "Tree LL128 62.51", "NVLSTree Simple 4428.29"]);
    assert_eq!(answer.operations[2].times.len(), 7);
}

#[test]
fn variables_without_an_effect_are_returned() {
    let variables = json!([
        ["NCCL_DEBUG", "INFO"],
        ["NCCL_ALGO", "ring"],
        ["NCCL_IB_QPS_PER_CONNECTION", "4"],
        ["NCCL_IB_HCA", "mlx5"],
    ]);
    let answer = query(&regular(&h100()), 2, &variables).answer().unwrap();
    assert_eq!(answer.ignored, ["NCCL_DEBUG", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_HCA"]);
    assert!(answer.operations[0].times.iter().all(|time| time.algorithm.name() == "Ring"));
}

#[test]
fn an_nvlink_domain_is_a_node() {
    let server = regular(&Server { hosts: 18, ..gb200() });
    let nodes = |servers| query(&server, servers, &json!([])).answer().unwrap().nodes;
    assert_eq!((nodes(2), nodes(18), nodes(19)), (1, 1, 2));
    let apart = query(&server, 18, &json!([["NCCL_MNNVL_ENABLE", "0"]])).answer().unwrap();
    assert_eq!((apart.nodes, apart.ignored.len()), (18, 0));
    assert_eq!(apart.graphs[0].graph.channels, 8, "as trays without MNNVL");
    let mut old = query(&server, 2, &json!([]));
    old.version = "2.19".to_owned();
    assert_eq!(old.answer().unwrap().nodes, 2, "before NVLink domains");
}

/// No log of a whole rack is public: these are what the rules give.
#[test]
fn a_whole_nvlink_domain_has_32_heads_and_the_rings_of_its_nvlinks() {
    let server = regular(&Server { hosts: 18, ..gb200() });
    let graphs = |servers| {
        let answer = query(&server, servers, &json!([])).answer().unwrap();
        let speeds = |graph: &GraphAnswer| {
            let MergedGraph { channels, intra, inter, .. } = graph.graph;
            format!("{} {channels}x{}/{}", graph.algorithm, intra.mb(), inter.mb())
        };
        (answer.graphs.iter().map(speeds).collect::<Vec<_>>(), answer.channels)
    };
    let (one, counts) = graphs(18);
    assert_eq!(one, ["Ring 16x45000/45000", "Tree 16x45000/45000", "NVLS 32x20000/40000"]);
    assert_eq!((counts.collective, counts.nvls, counts.per_peer), (32, 24, 32));
    let (two, counts) = graphs(36);
    assert_eq!(two, ["Ring 16x45100/45100", "Tree 16x45100/45100", "NVLS 32x20000/40000"]);
    assert_eq!((counts.collective, counts.nvls, counts.per_peer), (32, 32, 1));
}

#[test]
fn transfers_change_the_rail_over_c2c_from_2_28_on() {
    let server = regular(&Server { hosts: 18, ..gb200() });
    let pxn = |version: &str, variables: &Value| {
        let mut query = query(&server, 36, variables);
        query.version = version.to_owned();
        query.answer().unwrap().pxn
    };
    let none = json!([]);
    assert_eq!((pxn("2.27", &none), pxn("2.28", &none)), (false, true));
    for variable in [["NCCL_PXN_DISABLE", "1"], ["NCCL_PXN_C2C", "0"], ["NCCL_P2P_PXN_LEVEL", "0"]] {
        assert!(!pxn("2.30", &json!([variable])), "{variable:?}");
    }
    assert!(query(&regular(&h100()), 2, &none).answer().unwrap().pxn);
}

#[test]
fn listed_parts_have_ranks_by_device_and_named_adapters() {
    let answer = query(&listed(), 2, &json!([["NCCL_IB_HCA", "mlx5_1"]])).answer().unwrap();
    assert!(answer.ignored.is_empty());
    assert_eq!(answer.ring_nics[0], (Some(0), Some(0)), "the only adapter left");
    let hardware: Hardware = serde_json::from_value(listed()).unwrap();
    let all = Cluster::new(&hardware, 2, Version::series(30), &Settings::default());
    assert_eq!(all.communicator.rings[0], [1, 0, 3, 2], "from the first GPU by address, device 1");
    assert_eq!(all.ring_nics.len(), all.communicator.rings.len());
}

#[test]
fn transfers_have_channels_and_chunks_but_no_estimate() {
    let answer = |kind: &str| traffic(&regular(&h100()), 2, &json!([]), &json!(kind)).answer().unwrap();
    let send = answer("send_receive").operations[2].clone();
    let large = send.chosen.unwrap();
    assert_eq!((large.channels, large.chunk_bytes, large.messages), (4, 128 << 10, 2048));
    assert!(send.times.is_empty() && large.time_us.is_none() && large.concurrent_peers.is_none());
    let all = answer("all_to_all").operations[2].clone().chosen.unwrap();
    // 64 MiB to each of 16 ranks, by 4 of 16 channels.
    assert_eq!((all.channels, all.messages, all.concurrent_peers), (4, 128, Some(16)));
}

#[test]
fn versions_and_values_that_are_not_allowed() {
    let mut old = query(&listed(), 1, &json!([]));
    old.version = "2.17".to_owned();
    assert!(matches!(old.answer(), Err(QueryError::Version(_))));
    let wrong = query(&listed(), 1, &json!([["NCCL_ALGO", "rings"]])).answer();
    assert!(matches!(wrong, Err(QueryError::Setting(error)) if error.name == "NCCL_ALGO"));
}
