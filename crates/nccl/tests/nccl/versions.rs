//! Changes between versions that other tests do not cover.

use crate::case::Case;
use crate::examples::{a2, b1, h, tuner};
use crate::servers::{b200, h100, pcie_only};
use crate::tuner_times::assert_printed;
use fabricbench_nccl::{
    Algorithm, Collective, Operation, Processor, Protocol, Server, Tuner, TunerInput, Vendor,
};

fn ring(server: &Server, version: &str, nodes: usize) -> String {
    let text = Case::new(server, version, nodes).run().graphs.ring.to_string();
    text.split(' ').nth(2).expect("channels and speeds").to_owned()
}

#[test]
fn speeds_of_a_version() {
    let socket = |processor, version| ring(&pcie_only(2, 1, 2, processor), version, 1);
    assert_eq!(
        [socket(Processor::AmdZen5, "2.30"), socket(Processor::AmdZen5, "2.31")],
        ["1x15/15", "2x12/12"]
    );
    assert_eq!(socket(Processor::AmdZen2, "2.31"), "1x15/15");
    let sapphire = Processor::IntelSapphireRapids;
    assert_eq!([socket(sapphire, "2.25"), socket(sapphire, "2.26")], ["1x10/10", "1x20/20"]);
    let eight = |version| ring(&b200(), version, 1);
    assert_eq!([eight("2.24"), eight("2.25")], ["12x30/30", "16x45/45"]);
}

/// The page has 32 channels for H100 in 2.18 and 2.19. Its rings of 48 GB/s need two NICs; by default 2.19 leaves
/// by the NIC of the entry, and finds 45 GB/s, which is not above the limit.
#[test]
fn fast_rings_of_hopper_have_more_channels_up_to_2_19() {
    let collective = |version, cross_nic| {
        Case::new(&h100(), version, 2).with(&[("NCCL_CROSS_NIC", cross_nic)]).run().counts()[0]
    };
    assert_eq!([collective("2.19", "1"), collective("2.20", "1")], [32, 16]);
    assert_eq!([collective("2.19", "2"), collective("2.20", "2")], [16, 16]);
}

fn bandwidth(tuner: &Tuner, algorithm: Algorithm, protocol: Protocol) -> f64 {
    let combination = (Collective::AllReduce, algorithm, protocol);
    let mut costs = tuner.costs().iter();
    let cost = costs.find(|cost| (cost.collective, cost.algorithm, cost.protocol) == combination);
    cost.expect("a possible combination").bandwidth_gb
}

#[test]
fn ll_of_old_rings_has_half_the_bandwidth() {
    let ll = |version| bandwidth(&tuner(&a2(Vendor::Power), version), Algorithm::Ring, Protocol::Ll);
    assert_printed(ll("2.20"), "20.8", "192 / 4 = 48 is above the limit of 39");
    let mut slow = a2(Vendor::Intel);
    slow.graphs.ring.channels = 4;
    let ll = |version| bandwidth(&tuner(&slow, version), Algorithm::Ring, Protocol::Ll);
    assert_printed(ll("2.20"), "12.80", "96 / 4 x 16 / 30");
    assert_printed(ll("2.21"), "20.80", "39 x 16 / 30");
}

#[test]
fn blackwell_in_2_31() {
    let mut two = TunerInput { ranks: 16, nodes: 2, ..b1() };
    two.graphs.ring.inter = two.graphs.ring.intra / 3;
    two.graphs.tree.inter = two.graphs.tree.intra / 3;
    let ratio = |algorithm| {
        let simple = |version| bandwidth(&tuner(&two, version), algorithm, Protocol::Simple);
        simple("2.31") / simple("2.30")
    };
    assert_printed(ratio(Algorithm::Ring), "0.3333", "by the speed of the NIC");
    assert!(ratio(Algorithm::Tree) < 0.4, "by the lesser speed");
    let gather = Operation::new(Collective::AllGather, 1 << 30);
    let time = |version| tuner(&b1(), version).time_of(gather, Algorithm::Ring, Protocol::Simple).unwrap();
    assert!(time("2.31") > time("2.30"), "the plateau of Simple rings");
    let hopper = |version| bandwidth(&tuner(&h(2), version), Algorithm::Ring, Protocol::Simple);
    assert_printed(hopper("2.31"), &hopper("2.30").to_string(), "Hopper is as before");
}
