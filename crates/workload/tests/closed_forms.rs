//! Numbers of transfers and bytes of each rank against the formulas of the literature.

use fabricbench_workload::{Algorithm, Schedule, Shape, Transfer, algorithms, find, schedule_for, shares};
use proptest::prelude::*;
use units::{Rank, Seed, TransferId};

const BLOCK: u64 = 96;
/// The smallest chunk of a double binary tree of which there are several.
const CHUNK: u64 = 4096;

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

/// `s` times the children of each rank in a binomial tree: with z trailing zero bits in the rank's distance
/// from the root, the distances that differ in one of these bits only and exist.
fn to_binomial_children(ranks: u32, root: u32, s: u64) -> Vec<u64> {
    let children = |rank: u32| {
        let place = (rank + ranks - root) % ranks;
        let bits = if place == 0 { u32::BITS - 1 } else { place.trailing_zeros() };
        (0..bits).filter(|bit| place + (1 << bit) < ranks).count() as u64
    };
    (0..ranks).map(|rank| s * children(rank)).collect()
}

/// Bytes that each rank sends, and that it receives, of `s` bytes, with peers n - 1. For trees of a size
/// other than a power of two see [`no_rank_of_a_double_binary_tree_moves_more_than_twice_the_data`].
fn expected_traffic(algorithm: &Algorithm, ranks: u32, root: u32, s: u64) -> (Vec<u64>, Vec<u64>) {
    let (n, peers) = (u64::from(ranks), u64::from(ranks) - 1);
    let each = |bytes: Vec<u64>| (bytes.clone(), bytes);
    let same = |bytes| each(vec![bytes; ranks as usize]);
    let from_root = |bytes| (rooted(ranks, root, peers * bytes, 0), rooted(ranks, root, 0, bytes));
    let to_root = |bytes| (rooted(ranks, root, 0, bytes), rooted(ranks, root, peers * bytes, 0));
    match (algorithm.collective, algorithm.name) {
        ("all-reduce", "double-binary-tree") => {
            let is_root = |rank: u32| rank == 0 || rank == ranks - 1;
            each((0..ranks).map(|rank| if is_root(rank) { s } else { 2 * s }).collect())
        }
        ("all-reduce", "recursive-doubling") if ranks.is_power_of_two() => same(u64::from(ranks.ilog2()) * s),
        // Who sends what in these, the tests of what ranks hold tell.
        ("all-reduce", "recursive-doubling") | (_, "bruck" | "rabenseifner") | ("gather", "tree") => {
            (Vec::new(), Vec::new())
        }
        ("all-reduce", _) => same(2 * peers * s / n),
        ("all-gather" | "reduce-scatter" | "all-to-all", _) => same(peers * s / n),
        ("broadcast", "tree") => (to_binomial_children(ranks, root, s), rooted(ranks, root, 0, s)),
        ("reduce", "tree") => (rooted(ranks, root, 0, s), to_binomial_children(ranks, root, s)),
        ("gather", _) => to_root(s / n),
        ("incast", _) => to_root(s),
        ("scatter", _) => from_root(s / n),
        ("broadcast", _) => from_root(s),
        // Who receives is drawn; that all together receive as much is not worth a formula.
        ("uniform-random", _) => (vec![s; ranks as usize], Vec::new()),
        ("permutation" | "ping-pong" | "send-receive", _) => same(s),
        other => panic!("no closed form for {other:?}"),
    }
}

/// Every algorithm that so many ranks can carry out.
fn supported(ranks: u32) -> impl Iterator<Item = &'static Algorithm> {
    algorithms().iter().filter(move |algorithm| algorithm.pattern.supports(ranks).is_ok())
}

/// A data size that is cut into equal parts.
fn even_size(algorithm: &Algorithm, ranks: u32) -> u64 {
    BLOCK * algorithm.pattern.parts(ranks, u64::MAX)
}

fn is_double_tree(algorithm: &Algorithm) -> bool {
    algorithm.name == "double-binary-tree"
}

proptest! {
    #[test]
    fn a_schedule_has_the_transfers_and_bytes_of_its_closed_form(
        ranks in 2..24u32,
        message_bytes in prop_oneof![1..40_u64, 1..100_000_u64],
        pick: u32,
        seed: u64,
    ) {
        for algorithm in supported(ranks) {
            let data_bytes = message_bytes * shares(algorithm.collective, ranks);
            let shape = shape(ranks, data_bytes, pick % ranks, seed);
            let schedule = schedule_for(algorithm.collective, algorithm.name, &shape).unwrap();
            let name = format!("{}/{}", algorithm.collective, algorithm.name);
            prop_assert_eq!(schedule.transfers().len() as u64, algorithm.pattern.transfers(ranks, data_bytes), "{}", name);
            // Parts of a reduce that are uneven go different ways for different roots.
            let slack = if algorithm.name == "rabenseifner" { algorithm.pattern.transfers(ranks, data_bytes) } else { 0 };
            let apart = schedule.total_bytes().abs_diff(algorithm.pattern.payload_bytes(ranks, data_bytes));
            prop_assert!(apart <= slack, "{}", name);
            let ends = schedule.transfers().map(|transfer| (transfer.src, transfer.dst, transfer.channel));
            let connections = ends.collect::<std::collections::HashSet<_>>().len() as u64;
            prop_assert_eq!(connections, algorithm.pattern.connections(ranks, data_bytes), "{}", name);
            let largest = schedule.transfers().map(|transfer| transfer.bytes).max();
            prop_assert_eq!(largest, Some(algorithm.pattern.largest_bytes(ranks, data_bytes)), "{}", name);
            let is_near = |t: Transfer| [1, ranks - 1].contains(&t.src.0.abs_diff(t.dst.0));
            let is_between_neighbours = schedule.transfers().all(is_near);
            prop_assert!(is_between_neighbours || !algorithm.pattern.is_between_neighbours(), "{}", name);
        }
    }

    #[test]
    fn every_rank_moves_what_the_formula_says(ranks in 2..24u32, pick in any::<u32>(), seed in any::<u64>()) {
        let root = pick % ranks;
        for algorithm in supported(ranks) {
            let data_bytes = even_size(algorithm, ranks);
            let shape = shape(ranks, data_bytes, root, seed);
            let schedule = schedule_for(algorithm.collective, algorithm.name, &shape).unwrap();
            if is_double_tree(algorithm) && !ranks.is_power_of_two() {
                continue;
            }
            let (sent, received) = traffic(&schedule, ranks);
            let expected = expected_traffic(algorithm, ranks, root, data_bytes);
            prop_assert!(expected.0.is_empty() || sent == expected.0, "{}", algorithm.collective);
            prop_assert!(expected.1.is_empty() || received == expected.1, "{}", algorithm.collective);
        }
    }

    #[test]
    fn no_rank_of_a_double_binary_tree_moves_more_than_twice_the_data(ranks in 2..100u32) {
        let s = 128 * CHUNK;
        let schedule = schedule_for("all-reduce", "double-binary-tree", &shape(ranks, s, 0, 1)).unwrap();
        let (sent, received) = traffic(&schedule, ranks);
        prop_assert_eq!(&sent, &received);
        prop_assert_eq!(sent.iter().sum::<u64>(), 2 * (u64::from(ranks) - 1) * s);
        prop_assert!(sent.iter().all(|&bytes| bytes <= 2 * s));
    }

    #[test]
    fn each_ring_block_waits_for_its_previous_step_only(
        ranks in 2..24u32,
        collective in prop::sample::select(vec!["all-reduce", "all-gather", "reduce-scatter"]),
        algorithm in prop::sample::select(vec!["ring", "ring-bidirectional"]),
    ) {
        let algorithm = find(collective, algorithm).unwrap();
        let shape = shape(ranks, even_size(algorithm, ranks), 0, 1);
        let schedule = algorithm.pattern.schedule(&shape);
        for (index, transfer) in schedule.transfers().enumerate() {
            let id = TransferId::from_index(index);
            prop_assert_eq!(schedule.dependencies(id), u32::from(transfer.step > 0));
            for next in schedule.successors(id).map(|next| schedule.transfer(next)) {
                let expected = (transfer.step + 1, transfer.channel, transfer.block, transfer.dst);
                prop_assert_eq!((next.step, next.channel, next.block, next.src), expected);
            }
        }
    }
}

/// Step k moves S / 2^(k + 1) to the rank 2^k away, for log2 n steps; then everything comes back.
#[test]
fn halving_doubling_halves_the_data_and_doubles_the_distance() {
    let halvings = 4;
    let s = BLOCK << halvings;
    let schedule = schedule_for("all-reduce", "halving-doubling", &shape(1 << halvings, s, 0, 1)).unwrap();
    for transfer in schedule.transfers() {
        let k = transfer.step.min(2 * halvings - 1 - transfer.step);
        assert_eq!((transfer.src.0 ^ transfer.dst.0, transfer.bytes), (1 << k, s >> (k + 1)));
    }
    let steps = schedule.transfers().map(|transfer| transfer.step);
    assert_eq!(steps.max(), Some(2 * halvings - 1));
}

/// On the way back each exchange swaps the two halves of what was swapped on the way out.
#[test]
fn halving_doubling_comes_back_with_what_it_went_out_for() {
    let schedule = schedule_for("all-reduce", "halving-doubling", &shape(16, 16 * BLOCK, 0, 1)).unwrap();
    let transfers: Vec<_> = schedule.transfers().collect();
    for out in &transfers[..transfers.len() / 2] {
        let back = |t: &&Transfer| (t.src, t.dst, t.step) == (out.dst, out.src, 7 - out.step);
        let back = transfers.iter().find(back).unwrap();
        assert_eq!((back.block, back.bytes), (out.block, out.bytes));
    }
}

/// 13 ranks: four levels, so 12 chunks of each tree on their way.
#[test]
fn a_chunk_of_a_double_binary_tree_waits_for_itself_and_at_leaves_for_the_window() {
    let schedule = schedule_for("all-reduce", "double-binary-tree", &shape(13, 128 * CHUNK, 0, 1)).unwrap();
    let mut opened = 0;
    for (index, transfer) in schedule.transfers().enumerate() {
        assert_eq!(transfer.block / 64, transfer.channel);
        for next in schedule.successors(TransferId::from_index(index)) {
            let next = schedule.transfer(next);
            assert_eq!((next.channel, next.src), (transfer.channel, transfer.dst));
            if next.block == transfer.block {
                assert!(next.step > transfer.step);
            } else {
                assert_eq!((next.block, next.dst), (transfer.block + 12, transfer.src));
                opened += 1;
            }
        }
    }
    let leaves = 6;
    assert_eq!(opened, 2 * leaves * (64 - 12));
}

/// On one queue pair for each pair of ranks, chunks travel in this order.
#[test]
fn the_chunks_of_a_double_binary_tree_follow_each_other() {
    let schedule = schedule_for("all-reduce", "double-binary-tree", &shape(13, 128 * CHUNK, 0, 1)).unwrap();
    let pair = |t: &Transfer| (t.src, t.dst, t.channel);
    for first in schedule.transfers().filter(|t| t.block % 64 == 0) {
        let blocks = schedule.transfers().filter(|t| pair(t) == pair(&first)).map(|t| t.block);
        assert_eq!(blocks.collect::<Vec<_>>(), (first.block..first.block + 64).collect::<Vec<_>>());
    }
}

/// Round k of a broadcast brings the data to as many ranks as have it, until all have.
#[test]
fn a_binomial_tree_doubles_the_ranks_that_hold_the_data() {
    for ranks in 2..40 {
        let count = |collective, round: u32| {
            let schedule = schedule_for(collective, "tree", &shape(ranks, BLOCK, 1, 1)).unwrap();
            schedule.transfers().filter(|transfer| transfer.step == round).count()
        };
        let rounds = ranks.next_power_of_two().ilog2();
        let sent: Vec<_> = (0..=rounds).map(|round| count("broadcast", round)).collect();
        let holders = |round: u32| ranks.div_ceil(1 << (rounds - round)) as usize;
        let expected: Vec<_> = (0..rounds).map(|round| holders(round + 1) - holders(round)).collect();
        assert_eq!((&sent[..rounds as usize], sent[rounds as usize]), (&expected[..], 0));
        let mirrored: Vec<_> = (0..rounds).rev().map(|round| count("reduce", round)).collect();
        assert_eq!(mirrored, expected);
    }
}

#[test]
fn each_step_of_a_pairwise_all_to_all_is_a_permutation_without_fixed_points() {
    let schedule = schedule_for("all-to-all", "pairwise", &shape(6, 6 * BLOCK, 0, 1)).unwrap();
    for step in 0..5 {
        let of_step = schedule.transfers().filter(|transfer| transfer.step == step);
        let (sources, mut targets): (Vec<_>, Vec<_>) = of_step.map(|t| (t.src.0, t.dst.0)).unzip();
        assert!(sources.iter().zip(&targets).all(|(src, dst)| (src + step + 1) % 6 == *dst));
        targets.sort_unstable();
        assert_eq!((sources, targets), ((0..6).collect(), (0..6).collect()));
    }
}

#[test]
fn only_programs_of_blocking_calls_are_blocking() {
    let schedule =
        |algorithm: &Algorithm| algorithm.pattern.schedule(&shape(8, even_size(algorithm, 8), 0, 1));
    for algorithm in algorithms() {
        let is_blocking = matches!(algorithm.name, "pairwise" | "tree" | "linear");
        assert_eq!(schedule(algorithm).is_blocking(), is_blocking, "{}", algorithm.name);
    }
}

/// One byte around a ring of four: one part has it, three are messages without payload; every step is taken.
#[test]
fn a_byte_in_a_ring_is_one_part_and_the_rest_only_keep_the_steps() {
    let schedule = schedule_for("all-reduce", "ring", &shape(4, 1, 0, 1)).unwrap();
    assert_eq!((schedule.transfers().len(), schedule.total_bytes()), (2 * 3 * 4, 2 * 3));
    assert!(schedule.transfers().all(|transfer| transfer.bytes == u64::from(transfer.block == 0)));
}

#[test]
fn a_byte_takes_one_tree_of_two_and_small_data_few_chunks() {
    let chunks = |bytes| {
        let schedule = schedule_for("all-reduce", "double-binary-tree", &shape(4, bytes, 0, 1)).unwrap();
        schedule.transfers().len() / 6
    };
    assert_eq!([1, 2, 8192, 8193, 16_384, 128 * CHUNK, 256 * CHUNK].map(chunks), [1, 2, 2, 3, 4, 128, 128]);
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
    let of = |rank: u32| schedule.transfers().filter(move |t| t.src == Rank(rank));
    for round in 0..5 {
        let mut receivers: Vec<_> = (0..6).filter_map(|rank| of(rank).nth(round)).map(|t| t.dst.0).collect();
        receivers.sort_unstable();
        assert_eq!(receivers, [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_permutation_differs_by_seed() {
    let of = |seed| schedule_for("permutation", "parallel", &shape(32, BLOCK, 0, seed)).unwrap();
    assert!(of(1).transfers().eq(of(1).transfers()));
    assert!(of(1).transfers().ne(of(2).transfers()));
}

/// 1,024 ranks all-to-all: a million transfers that nothing is stored of. Open-loop traffic and trees are
/// lists.
#[test]
fn a_million_transfers_stay_small() {
    assert_eq!(size_of::<Transfer>(), 32);
    for algorithm in ["parallel", "pairwise"] {
        let schedule = schedule_for("all-to-all", algorithm, &shape(1024, 1 << 30, 0, 1)).unwrap();
        assert_eq!(schedule.transfers().len(), 1024 * 1023);
        assert!(schedule.memory_bytes() < 64, "{} bytes", schedule.memory_bytes());
    }
    let listed = schedule_for("permutation", "parallel", &shape(1024, 1 << 20, 0, 1)).unwrap();
    assert_eq!(listed.memory_bytes(), 1024 * size_of::<Transfer>());
}
