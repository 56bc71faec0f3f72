//! Types of paths, NICs of GPUs and GPUs of NICs (NCCL 2.30 `src/graph/paths.cc`).

use crate::case::Case;
use crate::servers::{dgx1_v100, gb200, h100, nic, pcie_only, two_gpus_per_nic};
use fabricbench_nccl::{
    Bandwidth, Layout, NicModel, PathType, Paths, PcieGeneration, Processor, Rules, Server, System,
};

/// A system with its paths, without graphs.
struct Network {
    system: System,
    paths: Paths,
}

impl From<Case> for Network {
    fn from(case: Case) -> Self {
        let paths = Paths::compute(&case.system, &Rules::of(case.version), &case.settings);
        Self { system: case.system, paths }
    }
}

fn to_nic(network: &Network, gpu: usize, nic: usize) -> (PathType, Option<usize>) {
    let path = network.paths.to_nic(&network.system, gpu, nic);
    (path.kind, path.proxy)
}

fn between(network: &Network, from: usize, to: usize) -> PathType {
    network.paths.between_gpus(&network.system, from, to).kind
}

#[test]
fn other_rails_are_reached_by_pxn() {
    let network = Network::from(Case::two_nodes(&h100()));
    assert_eq!(to_nic(&network, 3, 3), (PathType::Pix, None));
    assert_eq!(to_nic(&network, 3, 4), (PathType::Pxn, Some(4)));
    let off = Network::from(Case::two_nodes(&h100()).with(&[("NCCL_PXN_DISABLE", "1")]));
    assert_eq!(to_nic(&off, 3, 2), (PathType::Phb, None), "over the CPU that both have");
    assert_eq!(to_nic(&off, 3, 4), (PathType::Sys, None), "over the socket link");
}

#[test]
fn paths_without_gpudirect_lead_over_the_cpu() {
    let without = NicModel { gpu_direct: false, ..nic(400, PcieGeneration::Gen5) };
    let network = Network::from(Case::two_nodes(&Server { nic: without, ..h100() }));
    assert_eq!(to_nic(&network, 3, 3), (PathType::Phb, None));
    let limited = Network::from(Case::two_nodes(&h100()).with(&[("NCCL_NET_GDR_LEVEL", "LOC")]));
    assert_eq!(to_nic(&limited, 3, 3), (PathType::Phb, None));
}

#[test]
fn nics_behind_grace_are_p2c_from_2_27() {
    let of = |version| Network::from(Case::new(&gb200(), version, 2));
    assert_eq!(to_nic(&of("2.30"), 0, 1), (PathType::P2c, None));
    assert_eq!(to_nic(&of("2.26"), 0, 1), (PathType::Phb, None));
    assert_eq!(to_nic(&of("2.30"), 0, 2).0, PathType::Pxn, "the NIC of the other Grace");
    assert_eq!(to_nic(&of("2.27"), 0, 2).0, PathType::Sys, "PXN over C2C is off");
}

#[test]
fn nvlink_over_a_third_gpu() {
    let network = Network::from(Case::one_node(&dgx1_v100()));
    assert_eq!(between(&network, 0, 4), PathType::Nvl);
    assert_eq!(between(&network, 0, 5), PathType::Nvb);
    assert_eq!(network.paths.between_gpus(&network.system, 0, 5).bandwidth, Bandwidth::from_gb(20));
}

#[test]
fn direct_access_of_gpus() {
    let of = |server: &Server| Network::from(Case::one_node(server));
    let switched = Server { layout: Layout::Switch, ..pcie_only(2, 2, 1, Processor::IntelSkylake) };
    assert_eq!(between(&of(&switched), 0, 1), PathType::Pix);
    let refused = of(&Server { peer_to_peer: false, ..switched });
    assert_eq!(between(&refused, 0, 1), PathType::Phb, "in host memory");
    let amd = of(&pcie_only(2, 1, 2, Processor::AmdZen4));
    assert_eq!(
        (between(&amd, 0, 1), amd.paths.between_gpus(&amd.system, 0, 1).links.len()),
        (PathType::Sys, 3)
    );
}

#[test]
fn nics_of_gpus_that_share_them() {
    let network = Network::from(Case::two_nodes(&two_gpus_per_nic(h100())));
    let nics: Vec<&[usize]> = (0..8).map(|gpu| network.paths.nics_of_gpu(gpu)).collect();
    assert_eq!(nics, [[0], [0], [1], [1], [2], [2], [3], [3]]);
    assert_eq!(network.paths.gpu_of_nic(1), Some(2));
    let pairs = Server {
        gpu_of_nic: (0..16).map(|nic| nic / 2).collect(),
        nic: nic(200, PcieGeneration::Gen5),
        ..h100()
    };
    let two_each = Network::from(Case::two_nodes(&pairs));
    assert_eq!(two_each.paths.nics_of_gpu(3), [6, 7]);
    let limited = Network::from(Case::two_nodes(&pairs).with(&[("NCCL_NETDEVS_POLICY", "MAX:1")]));
    assert_eq!(limited.paths.nics_of_gpu(3), [6]);
}

#[test]
fn links_of_a_kind_add_up() {
    let rules = Rules::of("2.30".parse().unwrap());
    let system = h100().system(&rules);
    assert_eq!(system.capabilities(), (90, 90));
    let nvlinks = system.links().iter().filter(|link| link.bandwidth == Bandwidth::from_mb(370_800));
    assert_eq!(nvlinks.count(), 16, "18 x 20.6 GB/s of 8 GPUs, in both directions");
    let json = serde_json::to_string(&system).unwrap();
    assert_eq!(serde_json::from_str::<System>(&json).unwrap(), system);
}
