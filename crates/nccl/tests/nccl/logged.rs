//! Graphs and channels of public logs. Where a log does not state its version, one of the range is taken.
//!
//! A log is cited by its issue, or as `index` with the number of its excerpt in an index of public code, where
//! the excerpt has no repository.
//!
//! Rows that the search cannot be given are in [`NOT_GIVEN`], those that it does not give in
//! [`NOT_REPRODUCED`], each with its reason.

use crate::case::{Case, Run, assert_graphs, matches};
use crate::servers::{b200, dgx_a100, gb200, gh200_quad, h100, h800, nic, pcie_only, two_gpus_per_nic};
use fabricbench_nccl::PcieGeneration::{Gen4, Gen5};
use fabricbench_nccl::{LinkKind, NicModel, Node, NvLinks, Processor, Rules, Server, nic_of_channel};

/// Rows that are not tested, and why.
const NOT_GIVEN: [(&str, &str); 6] = [
    (
        "8 x H100 VM, NICs behind the CPU, NVIDIA/nccl#1519",
        "number and speed of the NICs, and CPU, not stated",
    ),
    (
        "8 x RTX 4090, nccl-tests#307",
        "CPU and order of the GPUs not stated; 5 GB/s fits no speed of a socket alone",
    ),
    ("4 GPUs, 4 x 10G, NVIDIA/nccl#601", "2.8; the oldest rules are those of 2.18"),
    ("2 AMD GPUs, index 57129709323", "RCCL"),
    ("4 x MI300X, ROCm/rccl#1210", "RCCL"),
    ("8 x B200 EFA: aws region tuner", "the plugin replaces the choice; the counts are tested"),
];

/// Parts of rows that the search does not give: what it finds instead, and why.
const NOT_REPRODUCED: [(&str, &str, &str); 1] = [(
    "2 trays x 4 GB300, one GPU without NVLinks: fallback for the tree, if the row means all graphs",
    "P1 1x90/90 C2C/PIX",
    "the row names no graph; a chain can end at that GPU over the C2C links of its CPU, a ring cannot close",
)];

#[test]
fn each_row_that_is_not_given_has_a_reason() {
    assert!(NOT_GIVEN.iter().all(|(row, reason)| !row.is_empty() && !reason.is_empty()));
    assert!(
        NOT_REPRODUCED
            .iter()
            .all(|(row, found, reason)| [row, found, reason].iter().all(|text| !text.is_empty()))
    );
}

fn run(server: &Server, version: &str, nodes: usize) -> Run {
    Case::new(server, version, nodes).run()
}

#[test]
fn eight_h100_on_one_node() {
    let old = run(&h100(), "2.19.4", 1);
    let expected = ["P4 x0 12x30/30 NVL/PIX s1", "P1 12x30/30 NVL/PIX s1", "P5 8x40/60 NVL/PIX s0"];
    assert_graphs("NVIDIA/nccl#1197", &old.graphs, expected);
    assert_eq!(run(&h100(), "2.30.7", 1).counts()[..2], [24, 16], "index 61961162582");
    assert_eq!(run(&h100(), "2.23", 1).counts(), [24, 16, 32, 32], "index 60737580088");
}

#[test]
fn some_gpus_of_a_hopper_node() {
    for gpus in [2, 4, 6] {
        let members: Vec<usize> = (0..gpus).collect();
        let counts = Case::new(&h100(), "2.29.2", 1).with_gpus(&members).run().counts();
        assert_eq!(counts[..2], [24, 16], "index 56062104289, {gpus} GPUs");
    }
}

#[test]
fn two_nodes_of_h100_chain_from_each_gpu() {
    let run = run(&h100(), "2.26.2", 2);
    for (channel, tree) in run.graphs.tree.channels.iter().enumerate() {
        let chain: Vec<usize> = (0..8).map(|step| (channel + step) % 8).collect();
        assert_eq!(tree.gpus, chain, "nccl-tests#319");
    }
    assert_eq!(run.communicator().nvls_heads.len(), 8);
    assert_eq!(run.counts(), [16, 16, 16, 2]);
    let trees = run.communicator().trees;
    assert!(trees[5][5].up.is_none_or(|parent| parent >= 8), "GPU 5 is the head of channel 5");
    assert!(trees[6][5].down.iter().all(|&child| child >= 8), "GPU 5 is the tail of channel 6");
}

#[test]
fn two_nodes_of_hopper_over_roce() {
    let run = run(&h100(), "2.28", 2);
    assert!(matches(&run.graphs.ring, "P4 x2 8x48/48 NVL/PIX"), "index 71097573815: {}", run.graphs.ring);
    let heads = run.communicator().nvls_heads;
    assert_eq!(heads[..2], [vec![0, 8], vec![1, 9]]);
    assert_eq!(run.counts()[..2], [16, 16]);
}

#[test]
fn four_nodes_of_hopper_with_slow_pcie() {
    let run = run(&Server { nic: nic(400, Gen4), ..h100() }, "2.29.3", 4);
    let expected = ["P4 x0 8x24/24 NVL/PXN", "P3 8x48/24 NVL/PIX", "P5"];
    assert_graphs("index 54638335190", &run.graphs, expected);
    assert_eq!(run.counts()[..2], [16, 16]);
}

#[test]
fn rings_of_three_nodes_leave_by_pxn() {
    let run = run(&Server { nic: nic(400, Gen4), ..h100() }, "2.22", 3);
    assert!(matches(&run.graphs.ring, "8x24/24"), "{}", run.graphs.ring);
    for (channel, ring) in run.graphs.ring.channels.iter().enumerate() {
        let order: Vec<usize> = (0..8).map(|step| (channel + 8 - step) % 8).collect();
        assert_eq!(ring.gpus, order, "NVIDIA/nccl#1453");
        assert_eq!((ring.entry_nic, ring.exit_nic), (Some(channel), Some(channel)));
        let last = order[7];
        let exit = nic_of_channel(&run.graphs.ring, 8, channel, last, &run.case.system, &run.paths).unwrap();
        assert_eq!((exit.nic, exit.proxy), (channel, channel), "PXN to the GPU next to the NIC");
    }
    assert_eq!(run.counts()[0], 16);
    assert_eq!(run.communicator().nvls_heads.len(), 8);
}

#[test]
fn h800_nodes() {
    let two = run(&two_gpus_per_nic(h800()), "2.23", 2);
    let heads: Vec<usize> = two.communicator().nvls_heads.iter().map(|head| head[0]).collect();
    assert_eq!(heads, [0, 2, 4, 6], "NVIDIA/nccl#1357");
    assert_eq!(two.counts()[0], 16);
    // The log has no NVLS channels, which the driver must support.
    let one = Case::new(&h800(), "2.19", 1).with(&[("NCCL_NVLS_ENABLE", "0")]).run();
    assert_eq!(one.counts(), [16, 0, 16, 16], "NVIDIA/nccl#892");
    let two_nics = run(&Server { gpu_of_nic: vec![0, 7], ..h800() }, "2.21", 2);
    assert!(
        matches(&two_nics.graphs.ring, "P4 x0 4x24/24 NVL/PXN s0"),
        "NVIDIA/nccl#1313: {}",
        two_nics.graphs.ring
    );
    for ring in &two_nics.graphs.ring.channels {
        assert_eq!(ring.entry_nic, ring.exit_nic);
    }
}

#[test]
fn two_h20_with_two_nics_without_pxn() {
    let server = Server { gpus: 2, gpu_of_nic: vec![0, 1], ..h100() };
    for version in ["2.20", "2.22", "2.23"] {
        let variables = [("NCCL_PXN_DISABLE", "1"), ("NCCL_CROSS_NIC", "1")];
        let run = Case::new(&server, version, 2).with(&variables).run();
        assert!(
            matches(&run.graphs.ring, "P4 x1 4x24/24 NVL/PIX s0"),
            "NVIDIA/nccl#1189: {}",
            run.graphs.ring
        );
        assert_eq!(run.counts(), [8, 0, 8, 2]);
    }
}

#[test]
fn p5_over_sockets() {
    let sockets = NicModel { gpu_direct: false, ..nic(100, Gen5) };
    let run = run(&Server { nic: sockets, gpu_of_nic: vec![0], ..h100() }, "2.23", 2);
    assert_eq!(run.communicator().nvls_heads.len(), 1, "awslabs, distributed AI, issue 386");
    assert_eq!(run.counts(), [16, 16, 16, 2]);
}

#[test]
fn gb300_trays_of_one_domain() {
    let server = Server { hosts: 2, capability: 103, ..gb200() };
    let all = run(&server, "2.29.7", 1);
    let expected = ["P4 16x45/45", "16x*", "P5 8x80/90"];
    assert_graphs("index 66133408097", &all.graphs, expected);
    assert_eq!(all.counts(), [32, 24, 32, 32]);
    let mut broken = Case::new(&server, "2.29.7", 1);
    broken.system.cut(Node::Gpu(5), Node::NvSwitch, LinkKind::NvLink);
    let broken = broken.run();
    assert!(
        matches(&broken.graphs.ring, "1x0.1/0.1 SYS/SYS"),
        "one GPU without NVLink: {}",
        broken.graphs.ring
    );
    assert!(broken.graphs.nvls.channels.is_empty());
    assert_eq!(broken.counts(), [2, 0, 2, 2]);
}

#[test]
fn b200_nodes() {
    let one = run(&b200(), "2.25", 1);
    for ring in &one.graphs.ring.channels {
        assert_eq!(ring.gpus, (0..8).collect::<Vec<_>>(), "NVIDIA/nccl#1646");
    }
    assert_eq!(one.counts()[0], 32);
    let efa = NicModel { latency_us: 35.0, ..nic(400, Gen5) };
    let server = Server { nic: efa, gpu_of_nic: (0..4).collect(), ..b200() };
    let half = Case::new(&server, "2.27", 2).with_gpus(&[0, 1, 2, 3]).run();
    assert_eq!(half.communicator().nvls_heads[..2], [vec![0, 4], vec![1, 5]], "index 66280673503");
    assert_eq!(half.communicator().nvls_heads.len(), 4);
    assert_eq!(half.counts(), [32, 32, 32, 2]);
    assert!((half.graphs.ring.latency_inter_us - 35.0).abs() < f64::EPSILON);
}

#[test]
fn a100_on_nvswitch() {
    let pair = Case::new(&dgx_a100(), "2.23", 1).with_gpus(&[0, 1]).run();
    let expected = ["P4 x0 12x20/20 NVL/PIX s1", "P1 12x40/40 NVL/PIX s0", ""];
    assert_graphs("index 54131308947", &pair.graphs, expected);
    assert_eq!(pair.counts(), [24, 0, 32, 32]);
    let hopper_pair = Case::new(&h100(), "2.23", 1).with_gpus(&[0, 1]).run();
    assert!(matches(&hopper_pair.graphs.tree, "12x60/60"), "{}", hopper_pair.graphs.tree);
    let four = Case::new(&dgx_a100(), "2.27.3", 1).with_gpus(&[0, 1, 2, 3]).run();
    assert_eq!(four.counts()[0], 24, "index 61669384947");
}

#[test]
fn one_gpu_per_node() {
    let a100 = Server {
        gpus: 1,
        capability: 80,
        nvlink: NvLinks::None,
        gpu_of_nic: vec![0],
        nic: nic(200, Gen4),
        ..pcie_only(1, 1, 1, Processor::AmdZen2)
    };
    let two = run(&a100, "2.18", 2);
    assert_graphs("index 69409530096", &two.graphs, ["P4 x0 1x24/24 LOC/PHB s1", "P3 1x48/24", ""]);
    assert_eq!(two.counts()[0], 2);
    let alone = run(&Server { gpu_of_nic: Vec::new(), ..a100 }, "2.19", 1);
    assert_graphs("index 69484234050", &alone.graphs, ["P4 16x40/40 LOC/PIX s1", "P3 16x40/40", ""]);
    assert_eq!(alone.counts()[0], 32);
    let grace = Server { gpus: 1, gpu_of_nic: vec![0], cpus: 1, nic: nic(400, Gen5), ..gh200_quad() };
    let two_grace = run(&grace, "2.27", 2);
    assert!(matches(&two_grace.graphs.ring, "2x24/24"), "NVIDIA/nccl#1291: {}", two_grace.graphs.ring);
    assert_eq!(two_grace.counts()[0], 4);
}

#[test]
fn two_gpus_on_pcie() {
    let sockets = run(&pcie_only(2, 1, 2, Processor::IntelSkylake), "2.23", 1);
    let expected = ["P4 1x10/10 SYS/PIX s1", "P1 1x10/10 SYS/PIX s1", ""];
    assert_graphs("NVIDIA/nccl#1358", &sockets.graphs, expected);
    let rtx = Server { capability: 89, peer_to_peer: false, ..pcie_only(2, 1, 1, Processor::IntelSkylake) };
    let bridge = run(&rtx, "2.23", 1);
    assert!(
        matches(&bridge.graphs.ring, "P4 x0 1x20/20 PHB/PIX"),
        "index 69288456035: {}",
        bridge.graphs.ring
    );
}

#[test]
fn every_version_finds_graphs_for_a_hopper_node() {
    for minor in 18..=31 {
        let version = format!("2.{minor}");
        let run = run(&h100(), &version, 2);
        assert!(run.graphs.ring.channels.len() >= 8, "{version}: {}", run.graphs.ring);
        assert_eq!(Rules::of(version.parse().unwrap()).version.to_string(), version);
    }
}
