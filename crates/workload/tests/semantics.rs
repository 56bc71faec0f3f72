//! What the ranks hold once a collective has been carried out, whatever the network does to the order.

mod execution;

use execution::{Block, Buffers, Delivery, Event, Run};
use fabricbench_workload::{Algorithm, Parts, Schedule, Shape, Transfer, algorithms, shares};
use proptest::prelude::*;
use units::{Rank, Seed, TransferId};

/// Size of each block of a algorithm's data [bytes]: some are empty where there are more blocks than bytes.
fn block_bytes(algorithm: &Algorithm, shape: &Shape) -> Vec<u64> {
    let parts = |bytes, count| (0..count).map(|part| Parts::new(bytes, count).of(part)).collect::<Vec<_>>();
    match (algorithm.collective, algorithm.name) {
        ("incast" | "permutation" | "ping-pong" | "send-receive" | "uniform-random", _) => {
            vec![shape.data_bytes; shape.ranks as usize]
        }
        (_, "double-binary-tree") => parts(shape.data_bytes, 2)
            .into_iter()
            .flat_map(|half| {
                let mut chunks = parts(half, half.div_ceil(4096).clamp(1, 64));
                chunks.resize(64, 0);
                chunks
            })
            .collect(),
        _ => parts(shape.data_bytes, algorithm.pattern.parts(shape.ranks, shape.data_bytes)),
    }
}

fn empty(ranks: usize) -> Block {
    vec![0; ranks]
}

fn only(ranks: usize, rank: usize) -> Block {
    (0..ranks).map(|r| u32::from(r == rank)).collect()
}

fn everyone(ranks: usize) -> Block {
    vec![1; ranks]
}

/// Buffers filled by a rule for (rank, block).
fn buffers(ranks: usize, blocks: usize, rule: impl Fn(usize, usize) -> Block) -> Buffers {
    (0..ranks).map(|rank| (0..blocks).map(|block| rule(rank, block)).collect()).collect()
}

/// What the ranks hold after `algorithm`, from `before`.
fn after(
    algorithm: &Algorithm,
    shape: &Shape,
    before: Buffers,
    delivery: impl Fn(&Transfer) -> Delivery,
) -> Buffers {
    let (schedule, block_bytes) = (algorithm.pattern.schedule(shape), block_bytes(algorithm, shape));
    let mut run = Run::new(&schedule, &block_bytes, before);
    run.carry_out(&mut shape.stream.clone(), delivery);
    run.buffers
}

/// Without the blocks that are empty: nobody can tell what becomes of those.
fn with_data(algorithm: &Algorithm, shape: &Shape, buffers: Buffers) -> Buffers {
    let sizes = block_bytes(algorithm, shape);
    let keep = |blocks: Vec<Block>| blocks.into_iter().zip(&sizes).filter(|(_, size)| **size > 0);
    buffers.into_iter().map(|blocks| keep(blocks).map(|(block, _)| block).collect()).collect()
}

fn shape(ranks: usize, seed: u64, algorithm: &Algorithm) -> Shape {
    let ranks = ranks as u32;
    let root = Rank(Seed(seed).stream("test.root", 0).next_u32() % ranks);
    // Less than a byte for each part, a few, and enough for several chunks of a tree.
    let below = [20, 300, 60_000][(seed % 3) as usize];
    let message_bytes = 1 + Seed(seed).stream("test.size", 0).below(below);
    Shape {
        ranks,
        data_bytes: message_bytes * shares(algorithm.collective, ranks),
        root,
        stream: Seed(seed).stream("test.order", 0),
    }
}

/// Every algorithm for `collective` that `ranks` ranks can carry out.
fn of(collective: &str, ranks: usize) -> impl Iterator<Item = &'static Algorithm> {
    let all = algorithms().iter();
    let found: Vec<_> = all.filter(|algorithm| algorithm.collective == collective).collect();
    assert!(!found.is_empty(), "no pattern for {collective}");
    found.into_iter().filter(move |algorithm| algorithm.pattern.supports(ranks as u32).is_ok())
}

/// At how many of the first steps of an all-reduce what arrives is added to what is there.
fn reducing_steps(algorithm: &str, ranks: usize) -> u32 {
    match algorithm {
        "ring" | "ring-bidirectional" => ranks as u32 - 1,
        "halving-doubling" | "double-binary-tree" => ranks.next_power_of_two().ilog2(),
        // The last step of ranks that are no power of two gives the result back.
        "recursive-doubling" => ranks.ilog2() + u32::from(!ranks.is_power_of_two()),
        other => panic!("no such all-reduce: {other}"),
    }
}

proptest! {
    #[test]
    fn after_an_all_reduce_every_rank_holds_everything(n in 2..18usize, seed in any::<u64>()) {
        for algorithm in of("all-reduce", n) {
            let shape = shape(n, seed, algorithm);
            let blocks = block_bytes(algorithm, &shape).len();
            let reducing = reducing_steps(algorithm.name, n);
            let reduces = |transfer: &Transfer| {
                if transfer.step < reducing { Delivery::Add } else { Delivery::Replace }
            };
            let held = after(algorithm, &shape, buffers(n, blocks, |rank, _| only(n, rank)), reduces);
            let expected = with_data(algorithm, &shape, buffers(n, blocks, |_, _| everyone(n)));
            prop_assert_eq!(with_data(algorithm, &shape, held), expected);
        }
    }

    #[test]
    fn after_a_reduce_scatter_each_rank_holds_its_block(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("reduce-scatter", n) {
            let shape = shape(n, seed, algorithm);
            let blocks = block_bytes(algorithm, &shape).len();
            let before = buffers(n, blocks, |rank, _| only(n, rank));
            let held = after(algorithm, &shape, before, |_| Delivery::Add);
            let sizes = block_bytes(algorithm, &shape);
            for (rank, block) in (0..blocks).map(|block| (block % n, block)).filter(|at| sizes[at.1] > 0) {
                prop_assert_eq!(&held[rank][block], &everyone(n));
            }
        }
    }

    #[test]
    fn after_an_all_gather_every_rank_holds_every_block(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("all-gather", n) {
            let shape = shape(n, seed, algorithm);
            let blocks = block_bytes(algorithm, &shape).len();
            let own = |rank, block: usize| if block % n == rank { only(n, rank) } else { empty(n) };
            let held = after(algorithm, &shape, buffers(n, blocks, own), |_| Delivery::Replace);
            let expected = with_data(algorithm, &shape, buffers(n, blocks, |_, block| only(n, block % n)));
            prop_assert_eq!(with_data(algorithm, &shape, held), expected);
        }
    }

    #[test]
    fn after_an_all_to_all_each_rank_holds_what_everyone_had_for_it(n in 2..12usize, seed in any::<u64>()) {
        // Bruck's blocks are not next to each other: its own file follows them.
        for algorithm in of("all-to-all", n).filter(|algorithm| algorithm.name != "bruck") {
            let shape = shape(n, seed, algorithm);
            let before = buffers(n, n, |rank, _| only(n, rank));
            // Block d of rank d collects what arrives; every other block of a rank leaves it.
            let held = after(algorithm, &shape, before, |_| Delivery::Add);
            for (rank, blocks) in held.iter().enumerate() {
                prop_assert_eq!(&blocks[rank], &everyone(n));
            }
        }
    }

    #[test]
    fn after_a_gather_the_root_holds_every_block(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("gather", n) {
            let shape = shape(n, seed, algorithm);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(algorithm, &shape, buffers(n, n, own), |_| Delivery::Replace);
            let expected: Vec<_> = (0..n).map(|block| only(n, block)).collect();
            prop_assert_eq!(&held[shape.root.index()], &expected);
        }
    }

    #[test]
    fn after_a_broadcast_every_rank_holds_the_roots_buffer(n in 2..18usize, seed in any::<u64>()) {
        for algorithm in of("broadcast", n) {
            let shape = shape(n, seed, algorithm);
            let root = shape.root.index();
            let before = buffers(n, 1, |rank, _| only(n, rank));
            let held = after(algorithm, &shape, before, |_| Delivery::Replace);
            prop_assert_eq!(held, buffers(n, 1, |_, _| only(n, root)));
        }
    }

    #[test]
    fn after_a_reduce_the_root_holds_everything(n in 2..18usize, seed in any::<u64>()) {
        for algorithm in of("reduce", n) {
            let shape = shape(n, seed, algorithm);
            let blocks = block_bytes(algorithm, &shape).len();
            let halvings = if algorithm.name == "tree" { u32::MAX } else { n.ilog2() };
            let reduces = |transfer: &Transfer| {
                if transfer.step < halvings { Delivery::Add } else { Delivery::Replace }
            };
            let held = after(algorithm, &shape, buffers(n, blocks, |rank, _| only(n, rank)), reduces);
            let held = with_data(algorithm, &shape, held);
            prop_assert!(held[shape.root.index()].iter().all(|block| *block == everyone(n)));
        }
    }

    #[test]
    fn after_a_scatter_each_rank_holds_its_block_of_the_roots(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("scatter", n) {
            let shape = shape(n, seed, algorithm);
            let root = shape.root.index();
            let held = after(algorithm, &shape, buffers(n, n, |rank, _| only(n, rank)), |_| Delivery::Replace);
            for (rank, blocks) in held.iter().enumerate() {
                prop_assert_eq!(&blocks[rank], &only(n, root));
            }
        }
    }

    #[test]
    fn a_send_receive_or_ping_pong_brings_each_rank_the_data_of_its_partner(pairs in 1..6usize, seed in any::<u64>()) {
        let n = 2 * pairs;
        for algorithm in of("send-receive", n).chain(of("ping-pong", n)) {
            let shape = shape(n, seed, algorithm);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(algorithm, &shape, buffers(n, n, own), |_| Delivery::Add);
            let of_pair = |rank, block| if block / 2 == rank / 2 { only(n, block) } else { empty(n) };
            prop_assert_eq!(held, buffers(n, n, of_pair));
        }
    }

    #[test]
    fn an_incast_brings_the_root_everyones_data(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("incast", n) {
            let shape = shape(n, seed, algorithm);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(algorithm, &shape, buffers(n, n, own), |_| Delivery::Add);
            let expected: Vec<_> = (0..n).map(|block| only(n, block)).collect();
            prop_assert_eq!(&held[shape.root.index()], &expected);
        }
    }

    #[test]
    fn a_permutation_brings_each_rank_the_data_of_one_other(n in 2..12usize, seed in any::<u64>()) {
        for algorithm in of("permutation", n) {
            let shape = shape(n, seed, algorithm);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(algorithm, &shape, buffers(n, n, own), |_| Delivery::Add);
            let counts = |blocks: &Vec<Block>| blocks.iter().filter(|block| **block != empty(n)).count();
            prop_assert!(held.iter().all(|blocks| counts(blocks) == 2));
        }
    }
}

/// What happens when every rank has one transfer under way at a time.
fn events_one_at_a_time(algorithm: &Algorithm, schedule: &Schedule, shape: &Shape) -> Vec<Event> {
    let (n, sizes) = (shape.ranks as usize, block_bytes(algorithm, shape));
    let mut run = Run::new(schedule, &sizes, buffers(n, sizes.len(), |_, _| empty(n))).one_at_a_time();
    run.carry_out(&mut shape.stream.clone(), |_| Delivery::Replace);
    run.events
}

proptest! {
    #[test]
    fn every_schedule_ends_even_with_one_transfer_of_a_rank_at_a_time(n in 2..10usize, seed in any::<u64>()) {
        for algorithm in algorithms().iter().filter(|algorithm| algorithm.pattern.supports(n as u32).is_ok()) {
            let shape = shape(n, seed, algorithm);
            let schedule = algorithm.pattern.schedule(&shape);
            let events = events_one_at_a_time(algorithm, &schedule, &shape);
            prop_assert_eq!(events.len(), 2 * schedule.transfers().len());
        }
    }

    /// As in a program of `MPI_Sendrecv` calls.
    #[test]
    fn a_pairwise_step_starts_when_all_earlier_ones_are_done(n in 2..14usize, seed in any::<u64>()) {
        let algorithm = fabricbench_workload::find("all-to-all", "pairwise").unwrap();
        let shape = shape(n, seed, algorithm);
        let schedule = algorithm.pattern.schedule(&shape);
        prop_assert!(schedule.is_blocking());
        let transfer = |id: TransferId| schedule.transfer(id);
        // Steps of what has been delivered from and to each rank.
        let (mut sent, mut received) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for event in events_one_at_a_time(algorithm, &schedule, &shape) {
            match event {
                Event::Started(id) => {
                    let (src, step) = (transfer(id).src.index(), transfer(id).step);
                    let earlier = |steps: &Vec<u32>| steps.iter().filter(|&&done| done < step).count() as u32;
                    prop_assert_eq!((earlier(&sent[src]), earlier(&received[src])), (step, step));
                }
                Event::Delivered(id) => {
                    sent[transfer(id).src.index()].push(transfer(id).step);
                    received[transfer(id).dst.index()].push(transfer(id).step);
                }
            }
        }
    }
}
