//! Point-to-point rules (NCCL 2.30 `src/graph/paths.cc`, `src/enqueue.cc`).

use crate::case::Case;
use crate::servers::{b200, dgx_a100, gb200, h100, h800, nic};
use fabricbench_nccl::{
    ChannelNic, PcieGeneration, PeerSchedule, PeerTraffic, Protocol, Rules, Server, Settings, nic_of_peer,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

#[test]
fn channels_per_peer_over_the_network() {
    for (version, expected) in [("2.28", [2, 2, 1, 1, 1]), ("2.29", [4, 4, 2, 1, 1])] {
        for (ranks, per_peer) in [16, 32, 64, 128, 256].into_iter().zip(expected) {
            let counts = Case::new(&h100(), version, ranks / 8).run().counts();
            assert_eq!(counts[2..], [16, per_peer], "{version}, {ranks} ranks");
        }
    }
    assert_eq!(Case::new(&h100(), "2.19", 2).run().counts()[3], 2);
}

#[test]
fn channels_per_peer_on_one_node() {
    for (server, version, expected) in [
        (h100(), "2.30", [32, 32]),
        (h800(), "2.30", [16, 16]),
        (dgx_a100(), "2.30", [32, 32]),
        (b200(), "2.30", [32, 32]),
    ] {
        assert_eq!(Case::new(&server, version, 1).run().counts()[2..], expected);
    }
}

#[test]
fn a_user_can_set_the_channels_per_peer() {
    let set = |value| {
        Case::new(&h100(), "2.30", 8).with(&[("NCCL_NCHANNELS_PER_NET_PEER", value)]).run().counts()[3]
    };
    assert_eq!(set("8"), 8);
    assert_eq!(set("3"), 4, "a power of two");
    let two_nics = Server {
        gpu_of_nic: (0..16).map(|nic| nic / 2).collect(),
        nic: nic(200, PcieGeneration::Gen5),
        ..h100()
    };
    assert_eq!(Case::new(&two_nics, "2.28", 32).run().counts()[3], 2, "each NIC of a GPU has a channel");
}

#[test]
fn the_nic_is_that_of_the_peers_rail() {
    let run = Case::two_nodes(&h100()).run();
    let choose = |settings: &Settings, gpu, peer| {
        let paths = fabricbench_nccl::Paths::compute(&run.case.system, &run.rules, settings);
        nic_of_peer(&run.case.system, &paths, gpu, peer, 0, &run.rules, settings).unwrap()
    };
    let default = Settings::default();
    assert_eq!(choose(&default, 2, 5), ChannelNic { nic: 5, proxy: 5 }, "by PXN");
    assert_eq!(choose(&default, 2, 2), ChannelNic { nic: 2, proxy: 2 });
    let without_pxn = Settings { pxn_disable: true, ..Settings::default() };
    assert_eq!(choose(&without_pxn, 2, 5), ChannelNic { nic: 2, proxy: 2 }, "its own NIC");
    let on_rails = Settings { pxn_disable: true, cross_nic: 0, ..Settings::default() };
    assert_eq!(choose(&on_rails, 2, 5), ChannelNic { nic: 5, proxy: 2 }, "over the CPU");
    let if_needed = Settings { p2p_pxn_level: 1, ..Settings::default() };
    assert_eq!(choose(&if_needed, 2, 5), ChannelNic { nic: 5, proxy: 5 }, "where the path is PXN");
}

#[test]
fn each_rank_has_one_peer_to_send_to_and_one_to_receive_from_per_round() {
    let nodes = |sizes: &[usize]| {
        let mut next = 0;
        let node = |&size: &usize| {
            next += size;
            (next - size..next).collect::<Vec<_>>()
        };
        sizes.iter().map(node).collect::<Vec<_>>()
    };
    for version in ["2.18", "2.22", "2.28", "2.29", "2.31"] {
        let rules = Rules::of(version.parse().unwrap());
        for sizes in [&[8, 8, 8][..], &[8; 16], &[4, 4], &[6], &[72], &[2, 4, 6], &[5, 5, 5, 5, 5]] {
            let nodes = nodes(sizes);
            let ranks: usize = sizes.iter().sum();
            let schedule = PeerSchedule::new(&nodes, &rules);
            let rounds: Vec<_> = (0..ranks).map(|rank| schedule.rounds(rank)).collect();
            for rank in 0..ranks {
                assert_eq!(rounds[rank].len(), ranks, "{version} {sizes:?}");
                assert_eq!(rounds[rank][0].send, rank, "the first round is the rank itself");
                for (number, round) in rounds[rank].iter().enumerate() {
                    assert_eq!(rounds[round.send][number].receive, rank, "{version} {sizes:?}");
                }
                let mut peers: Vec<usize> = rounds[rank].iter().map(|round| round.send).collect();
                peers.sort_unstable();
                assert_eq!(peers, (0..ranks).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn groups_follow_the_quadratic_order() {
    let nodes: Vec<Vec<usize>> = (0..16).map(|node| (8 * node..8 * node + 8).collect()).collect();
    let schedule = PeerSchedule::new(&nodes, &Rules::of("2.30".parse().unwrap()));
    let rounds = schedule.rounds(0);
    let groups: Vec<usize> = rounds.iter().step_by(8).map(|round| round.send / 8).collect();
    assert_eq!(groups, [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]);
    let local: Vec<usize> = rounds[..8].iter().map(|round| round.send).collect();
    assert_eq!(local, [0, 1, 2, 3, 4, 5, 6, 7]);
    let bases: Vec<usize> = (0..8).map(|round| schedule.base_channel(round, 16)).collect();
    assert_eq!(bases, [0; 8], "the peers of a group share channels");
    let of_groups: Vec<usize> = (0..4).map(|group| schedule.base_channel(8 * group, 16)).collect();
    assert_eq!(of_groups, [0, 8, 4, 12], "bits reversed");
    let one_node = PeerSchedule::new(&[(0..8).collect()], &Rules::of("2.30".parse().unwrap()));
    let of_rounds: Vec<usize> = (0..4).map(|round| one_node.base_channel(round, 32)).collect();
    assert_eq!(of_rounds, [0, 16, 8, 24]);
}

fn traffic(server: &Server, nodes: usize) -> PeerTraffic {
    let run = Case::new(server, "2.30", nodes).run();
    let communicator = run.communicator();
    run.with_nodes(|nodes| PeerTraffic::new(nodes, &communicator, &run.case.settings))
}

#[test]
fn transfers_over_the_network() {
    let traffic = traffic(&h100(), 2);
    assert_eq!((traffic.chunk_bytes, traffic.channels, traffic.per_peer), (128 * KIB, 16, 4));
    let small = traffic.transfer(16 * KIB, true);
    assert_eq!((small.protocol, small.channels, small.chunk_bytes), (Protocol::Ll, 1, 16 * KIB));
    let medium = traffic.transfer(100 * KIB, true);
    assert_eq!((medium.protocol, medium.channels, medium.chunk_bytes), (Protocol::Simple, 1, 32 * KIB));
    let below_eight_chunks = traffic.transfer(512 * KIB, true);
    assert_eq!((below_eight_chunks.channels, below_eight_chunks.chunk_bytes), (4, 64 * KIB));
    let large = traffic.transfer(16 * MIB, true);
    assert_eq!(
        (large.channels, large.part_bytes, large.chunk_bytes, large.chunks),
        (4, 4 * MIB, 128 * KIB, 32)
    );
    assert_eq!(traffic.concurrent_peers(large.channels), 32, "16 / 4 channels x 8 operations");
}

#[test]
fn transfers_within_a_node() {
    let traffic = traffic(&h100(), 1);
    assert_eq!((traffic.chunk_bytes, traffic.per_peer), (512 * KIB, 32));
    let large = traffic.transfer(64 * MIB, false);
    assert_eq!((large.channels, large.part_bytes, large.chunk_bytes), (4, 16 * MIB, 512 * KIB));
    assert_eq!(traffic.transfer(GIB, false).channels, 32);
    assert_eq!(traffic.transfer(0, false).chunks, 1);
}

const GIB: u64 = 1 << 30;

#[test]
fn grace_with_blackwell_has_larger_chunks() {
    assert_eq!(traffic(&gb200(), 2).chunk_bytes, 256 * KIB);
    assert_eq!(traffic(&b200(), 2).chunk_bytes, 128 * KIB);
}
