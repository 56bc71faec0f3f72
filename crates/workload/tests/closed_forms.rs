//! Numbers of transfers and bytes of each rank against the formulas of the literature.

use fabricbench_workload::{Schedule, Shape, Transfer, patterns, schedule_for};
use proptest::prelude::*;
use units::{Rank, Seed, TransferId};

const BLOCK: u64 = 96;

fn shape(ranks: u32, data_bytes: u64, root: u32, seed: u64) -> Shape {
    Shape { ranks, data_bytes, root: Rank(root), stream: Seed(seed).stream("workload.permutation", 0) }
}

/// Bytes that each rank sends and receives.
fn traffic(schedule: &Schedule, ranks: u32) -> (Vec<u64>, Vec<u64>) {
    let (mut sent, mut received) = (vec![0; ranks as usize], vec![0; ranks as usize]);
    for transfer in schedule.transfers() {
        sent[transfer.src.index()] += transfer.bytes;
        received[transfer.dst.index()] += transfer.bytes;
    }
    (sent, received)
}

/// `at_root` for the root and `elsewhere` for the other ranks.
fn rooted(ranks: u32, root: u32, at_root: u64, elsewhere: u64) -> Vec<u64> {
    (0..ranks).map(|rank| if rank == root { at_root } else { elsewhere }).collect()
}

/// What each rank sends and receives of `s` bytes, with peers n - 1.
fn expected_traffic(collective: &str, ranks: u32, root: u32, s: u64) -> (Vec<u64>, Vec<u64>) {
    let (n, peers) = (u64::from(ranks), u64::from(ranks) - 1);
    let same = |bytes| (vec![bytes; ranks as usize], vec![bytes; ranks as usize]);
    match collective {
        "all-reduce" => same(2 * peers * s / n),
        "all-gather" | "reduce-scatter" | "all-to-all" => same(peers * s / n),
        "gather" => (rooted(ranks, root, 0, s / n), rooted(ranks, root, peers * (s / n), 0)),
        "incast" => (rooted(ranks, root, 0, s), rooted(ranks, root, peers * s, 0)),
        "broadcast" => (rooted(ranks, root, peers * s, 0), rooted(ranks, root, 0, s)),
        "permutation" => same(s),
        other => panic!("no closed form for {other}"),
    }
}

proptest! {
    #[test]
    fn every_rank_moves_what_the_formula_says(ranks in 2..24u32, pick in any::<u32>(), seed in any::<u64>()) {
        let root = pick % ranks;
        for pattern in patterns() {
            let data_bytes = BLOCK * pattern.parts(ranks);
            let shape = shape(ranks, data_bytes, root, seed);
            let schedule = schedule_for(pattern.collective(), pattern.algorithm(), &shape).unwrap();
            prop_assert_eq!(schedule.transfers().len() as u64, pattern.transfers(ranks));
            let expected = expected_traffic(pattern.collective(), ranks, root, data_bytes);
            prop_assert_eq!(traffic(&schedule, ranks), expected, "{}", pattern.collective());
        }
    }

    #[test]
    fn each_ring_block_waits_for_its_previous_step_only(ranks in 2..24u32, pick in 0..6usize) {
        let pattern = patterns()[pick];
        prop_assert!(pattern.algorithm().starts_with("ring"));
        let shape = shape(ranks, pattern.parts(ranks), 0, 1);
        let schedule = pattern.schedule(&shape);
        for (index, transfer) in schedule.transfers().iter().enumerate() {
            let id = TransferId::from_index(index);
            prop_assert_eq!(schedule.dependencies(id), u32::from(transfer.step > 0));
            for next in schedule.successors(id).iter().map(|next| schedule.transfers()[next.index()]) {
                let expected = (transfer.step + 1, transfer.channel, transfer.block, transfer.dst);
                prop_assert_eq!((next.step, next.channel, next.block, next.src), expected);
            }
        }
    }
}

#[test]
fn ring_blocks_follow_the_formula() {
    let schedule = schedule_for("all-reduce", "ring", &shape(5, 5 * BLOCK, 0, 1)).unwrap();
    for transfer in schedule.transfers() {
        let (r, k) = (i64::from(transfer.src.0), i64::from(transfer.step));
        assert_eq!(i64::from(transfer.dst.0), (r + 1).rem_euclid(5));
        assert_eq!(i64::from(transfer.block), (r - k).rem_euclid(5));
        assert_eq!(transfer.bytes, BLOCK);
    }
}

#[test]
fn the_second_channel_of_a_two_way_ring_runs_backwards_with_the_other_half() {
    let schedule = schedule_for("all-reduce", "ring-bidirectional", &shape(5, 10 * BLOCK, 0, 1)).unwrap();
    for transfer in schedule.transfers() {
        let step_on = if transfer.channel == 0 { 1 } else { 4 };
        assert_eq!(transfer.dst.0, (transfer.src.0 + step_on) % 5);
        assert_eq!((transfer.block / 5, transfer.bytes), (transfer.channel, BLOCK));
    }
}

#[test]
fn an_all_to_all_hits_every_receiver_once_in_each_round() {
    let schedule = schedule_for("all-to-all", "parallel", &shape(6, 6 * BLOCK, 0, 1)).unwrap();
    let of = |rank: u32| schedule.transfers().iter().filter(move |t| t.src == Rank(rank));
    for round in 0..5 {
        let mut receivers: Vec<_> = (0..6).filter_map(|rank| of(rank).nth(round)).map(|t| t.dst.0).collect();
        receivers.sort_unstable();
        assert_eq!(receivers, [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_permutation_differs_by_seed() {
    let of = |seed| schedule_for("permutation", "parallel", &shape(32, BLOCK, 0, seed)).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// 1,024 ranks all-to-all: a million transfers.
#[test]
fn a_million_transfers_stay_small() {
    assert_eq!(size_of::<Transfer>(), 32);
    let schedule = schedule_for("all-to-all", "parallel", &shape(1024, 1 << 30, 0, 1)).unwrap();
    assert_eq!(schedule.transfers().len(), 1024 * 1023);
    assert!(schedule.memory_bytes() <= 42_000_000, "{} bytes", schedule.memory_bytes());
}
