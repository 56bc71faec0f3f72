//! Workloads of the benchmark: fabric, jobs and settings of each, and the packet-hops (frames crossing a
//! link) per second that it should reach.

use crate::common::{collective, dcqcn, dynamic_pfc, ecn, leaf_spine, link, single_switch};
use spec::{FatTree, LeafSpine, LoadBalancing, LossRecovery, QpMode, ReleaseSpec, RunSpec, TopologySpec};

/// A workload to measure.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// Million packet-hops per second it should reach on one core; none if it is only compared with others.
    pub(crate) target: Option<f64>,
    /// It is also timed on two threads.
    pub(crate) is_parallel: bool,
    spec: fn() -> RunSpec,
}

impl Workload {
    /// Parameters of its run, with the default of plans for the release of buffers.
    pub(crate) fn spec(&self) -> RunSpec {
        let mut spec = (self.spec)();
        spec.fabric.switch.buffer.release = ReleaseSpec::Cells { bytes: 256 };
        spec
    }
}

/// Every workload, by name. Those with R are one collective on fabrics of one kind, from the smallest to the
/// largest: how cost grows with hosts. Those with L are long collectives of many ranks.
pub(crate) const WORKLOADS: [Workload; 15] = [
    Workload {
        name: "B1",
        description: "8 hosts, two tiers, all-to-all of 16 MB per pair",
        target: Some(30.0),
        is_parallel: false,
        spec: || collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 * (16 << 20)),
    },
    Workload {
        name: "B2",
        description: "128 hosts, permutation of 16 MB, ECMP, PFC + DCQCN",
        target: Some(22.0),
        is_parallel: false,
        spec: || controlled(collective(clos(8, 16, 16), 128, "permutation", "parallel", 16 << 20)),
    },
    Workload {
        name: "B3",
        description: "1,024 hosts, permutation of 4 MB, spray",
        target: Some(25.0),
        is_parallel: true,
        spec: || sprayed(collective(clos(32, 32, 32), 1024, "permutation", "parallel", 4 << 20)),
    },
    Workload {
        name: "B4",
        description: "432 ranks, all-to-all of 16 KB per pair",
        target: Some(20.0),
        is_parallel: false,
        spec: || collective(clos(24, 18, 18), 432, "all-to-all", "parallel", 432 * (16 << 10)),
    },
    Workload {
        name: "B5",
        description: "127:1 incast of 1 MB, lossless, PFC active throughout",
        target: Some(10.0),
        is_parallel: false,
        spec: || lossless_incast(128),
    },
    Workload {
        name: "B6",
        description: "2,000 GPUs, 4 jobs of 500, all-to-all of 64 KB per pair, ECMP, PFC + DCQCN",
        target: Some(15.0),
        is_parallel: true,
        spec: four_jobs,
    },
    Workload {
        name: "B7",
        description: "32,768 hosts, three tiers, one step of a ring of 1 MB per rank",
        target: Some(12.0),
        is_parallel: true,
        spec: || ring_step([32, 32, 32], 1 << 20),
    },
    Workload {
        name: "B8",
        description: "1,024 ranks, all-to-all of 4 KB per pair (1 million chunks)",
        target: Some(12.0),
        is_parallel: false,
        spec: || collective(clos(32, 32, 32), 1024, "all-to-all", "parallel", 1024 * (4 << 10)),
    },
    Workload {
        name: "R1",
        description: "8 hosts, three tiers, one step of a ring of 64 MB per rank",
        target: None,
        is_parallel: false,
        spec: || ring_step([2, 2, 2], 64 << 20),
    },
    Workload {
        name: "R2",
        description: "128 hosts, three tiers, one step of a ring of 16 MB per rank",
        target: None,
        is_parallel: false,
        spec: || ring_step([4, 4, 8], 16 << 20),
    },
    Workload {
        name: "R3",
        description: "1,024 hosts, three tiers, one step of a ring of 4 MB per rank",
        target: None,
        is_parallel: false,
        spec: || ring_step([8, 8, 16], 4 << 20),
    },
    Workload {
        name: "R4",
        description: "8,192 hosts, three tiers, one step of a ring of 1 MB per rank",
        target: None,
        is_parallel: false,
        spec: || ring_step([16, 16, 32], 1 << 20),
    },
    Workload {
        name: "R5",
        description: "32,768 hosts, three tiers, one step of a ring of 1 MB per rank: B7",
        target: None,
        is_parallel: false,
        spec: || ring_step([32, 32, 32], 1 << 20),
    },
    Workload {
        name: "L1",
        description: "1,024 ranks, all-reduce of 256 MB by a ring (2 million chunks)",
        target: None,
        is_parallel: false,
        spec: || collective(clos(32, 32, 32), 1024, "all-reduce", "ring", 256 << 20),
    },
    Workload {
        name: "L2",
        description: "1,024 ranks, all-reduce of 64 MB by a double binary tree",
        target: None,
        is_parallel: false,
        spec: || per_pair(collective(clos(32, 32, 32), 1024, "all-reduce", "double-binary-tree", 64 << 20)),
    },
];

fn clos(leaves: u32, hosts_per_leaf: u32, spines: u32) -> TopologySpec {
    TopologySpec::LeafSpine(LeafSpine {
        leaves,
        hosts_per_leaf,
        spines,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    })
}

/// The chunks of a pair of ranks follow each other on one queue pair.
fn per_pair(mut spec: RunSpec) -> RunSpec {
    spec.transport.qp_mode = QpMode::PerPair;
    spec
}

/// PFC, ECN and DCQCN on.
fn controlled(mut spec: RunSpec) -> RunSpec {
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.ecn = Some(ecn(400_000, 1_600_000));
    spec.transport.rate_control = dcqcn();
    spec
}

fn sprayed(mut spec: RunSpec) -> RunSpec {
    spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
    spec.transport.recovery = LossRecovery::Selective;
    spec
}

fn lossless_incast(hosts: u32) -> RunSpec {
    let mut spec = collective(single_switch(hosts), hosts, "incast", "parallel", 1 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 32 << 20;
    spec
}

/// Four tenants, each with a quarter of the hosts of every leaf.
fn four_jobs() -> RunSpec {
    let mut spec = collective(clos(50, 40, 40), 2_000, "all-to-all", "parallel", 500 * (64 << 10));
    let tenant = spec.jobs[0].clone();
    spec.jobs = (0..4)
        .map(|job| spec::JobSpec {
            name: format!("tenant{job}"),
            hosts: (0..2_000).filter(|host| host % 4 == job).collect(),
            stream: job,
            ..tenant.clone()
        })
        .collect();
    controlled(spec)
}

/// One step of a ring whose ranks are placed at random, as a permutation with a single cycle, so that most
/// data crosses the core. The fabric is not oversubscribed.
fn ring_step([pods, leaves_per_pod, hosts_per_leaf]: [u32; 3], bytes: u64) -> RunSpec {
    let topology = TopologySpec::FatTree(FatTree {
        pods,
        leaves_per_pod,
        hosts_per_leaf,
        aggs_per_pod: hosts_per_leaf,
        cores_per_agg: leaves_per_pod,
        host_link: link(3),
        fabric_link: link(30),
        core_link: link(100),
    });
    let hosts = pods * leaves_per_pod * hosts_per_leaf;
    collective(topology, hosts, "permutation", "parallel", bytes)
}
