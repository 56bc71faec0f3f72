//! Schedules carried out symbolically: what each rank holds when all transfers have been delivered.
//!
//! A buffer holds, for each block, how often each rank's data has been added to it. Transfers start and end in a
//! random order that respects nothing but the dependencies, so that a missing one shows.

use fabricbench_workload::{Pattern, Schedule, Shape, Transfer, patterns};
use proptest::prelude::*;
use units::{Rank, Seed, Stream, TransferId};

/// How often the data of each rank is in a block.
type Block = Vec<u32>;
/// By rank, then by block.
type Buffers = Vec<Vec<Block>>;

/// What a delivery does with the receiver's block.
#[derive(Clone, Copy)]
enum Delivery {
    Add,
    Replace,
}

/// A schedule while it is carried out.
struct Run<'a> {
    schedule: &'a Schedule,
    buffers: Buffers,
    waits_for: Vec<u32>,
    ready: Vec<TransferId>,
    in_flight: Vec<(TransferId, Block)>,
    delivered: usize,
}

impl<'a> Run<'a> {
    fn new(schedule: &'a Schedule, buffers: Buffers) -> Self {
        let ids = (0..schedule.transfers().len()).map(TransferId::from_index);
        let waits_for: Vec<_> = ids.clone().map(|id| schedule.dependencies(id)).collect();
        let ready = ids.filter(|id| waits_for[id.index()] == 0).collect();
        Self { schedule, buffers, waits_for, ready, in_flight: Vec::new(), delivered: 0 }
    }

    fn carry_out(&mut self, stream: &mut Stream, delivery: impl Fn(&Transfer) -> Delivery) {
        while !(self.ready.is_empty() && self.in_flight.is_empty()) {
            let choice = stream.below((self.ready.len() + self.in_flight.len()) as u64) as usize;
            match choice.checked_sub(self.ready.len()) {
                None => self.start(choice),
                Some(arrival) => self.deliver(arrival, &delivery),
            }
        }
        assert_eq!(self.delivered, self.schedule.transfers().len(), "some transfers never started");
    }

    fn start(&mut self, choice: usize) {
        let id = self.ready.swap_remove(choice);
        let transfer = self.schedule.transfers()[id.index()];
        let data = self.buffers[transfer.src.index()][transfer.block as usize].clone();
        self.in_flight.push((id, data));
    }

    fn deliver(&mut self, arrival: usize, delivery: impl Fn(&Transfer) -> Delivery) {
        let (id, data) = self.in_flight.swap_remove(arrival);
        let transfer = self.schedule.transfers()[id.index()];
        let block = &mut self.buffers[transfer.dst.index()][transfer.block as usize];
        match delivery(&transfer) {
            Delivery::Replace => *block = data,
            Delivery::Add => block.iter_mut().zip(data).for_each(|(held, more)| *held += more),
        }
        self.delivered += 1;
        for &next in self.schedule.successors(id) {
            assert_eq!(self.schedule.transfers()[next.index()].src, transfer.dst);
            self.waits_for[next.index()] -= 1;
            if self.waits_for[next.index()] == 0 {
                self.ready.push(next);
            }
        }
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

/// What the ranks hold after `pattern`, from `before`.
fn after(
    pattern: &dyn Pattern,
    shape: &Shape,
    before: Buffers,
    delivery: impl Fn(&Transfer) -> Delivery,
) -> Buffers {
    let schedule = pattern.schedule(shape);
    let mut run = Run::new(&schedule, before);
    run.carry_out(&mut shape.stream.clone(), delivery);
    run.buffers
}

fn shape(ranks: usize, seed: u64, pattern: &dyn Pattern) -> Shape {
    let ranks = ranks as u32;
    let root = Rank(Seed(seed).stream("test.root", 0).next_u32() % ranks);
    Shape { ranks, data_bytes: 7 * pattern.parts(ranks), root, stream: Seed(seed).stream("test.order", 0) }
}

/// Every algorithm for `collective`.
fn of(collective: &str) -> Vec<&'static dyn Pattern> {
    let all = patterns().iter().copied();
    let found: Vec<_> = all.filter(|pattern| pattern.collective() == collective).collect();
    assert!(!found.is_empty(), "no pattern for {collective}");
    found
}

proptest! {
    #[test]
    fn after_an_all_reduce_every_rank_holds_everything(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("all-reduce") {
            let shape = shape(n, seed, pattern);
            let blocks = pattern.parts(shape.ranks) as usize;
            let reduces = |transfer: &Transfer| {
                if (transfer.step as usize) < n - 1 { Delivery::Add } else { Delivery::Replace }
            };
            let held = after(pattern, &shape, buffers(n, blocks, |rank, _| only(n, rank)), reduces);
            prop_assert_eq!(held, buffers(n, blocks, |_, _| everyone(n)));
        }
    }

    #[test]
    fn after_a_reduce_scatter_each_rank_holds_its_block(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("reduce-scatter") {
            let shape = shape(n, seed, pattern);
            let blocks = pattern.parts(shape.ranks) as usize;
            let before = buffers(n, blocks, |rank, _| only(n, rank));
            let held = after(pattern, &shape, before, |_| Delivery::Add);
            for (rank, block) in (0..blocks).map(|block| (block % n, block)) {
                prop_assert_eq!(&held[rank][block], &everyone(n));
            }
        }
    }

    #[test]
    fn after_an_all_gather_every_rank_holds_every_block(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("all-gather") {
            let shape = shape(n, seed, pattern);
            let blocks = pattern.parts(shape.ranks) as usize;
            let own = |rank, block: usize| if block % n == rank { only(n, rank) } else { empty(n) };
            let held = after(pattern, &shape, buffers(n, blocks, own), |_| Delivery::Replace);
            prop_assert_eq!(held, buffers(n, blocks, |_, block| only(n, block % n)));
        }
    }

    #[test]
    fn after_an_all_to_all_each_rank_holds_what_everyone_had_for_it(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("all-to-all") {
            let shape = shape(n, seed, pattern);
            let before = buffers(n, n, |rank, _| only(n, rank));
            // Block d of rank d collects what arrives; every other block of a rank leaves it.
            let held = after(pattern, &shape, before, |_| Delivery::Add);
            for (rank, blocks) in held.iter().enumerate() {
                prop_assert_eq!(&blocks[rank], &everyone(n));
            }
        }
    }

    #[test]
    fn after_a_gather_the_root_holds_every_block(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("gather") {
            let shape = shape(n, seed, pattern);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(pattern, &shape, buffers(n, n, own), |_| Delivery::Replace);
            let expected: Vec<_> = (0..n).map(|block| only(n, block)).collect();
            prop_assert_eq!(&held[shape.root.index()], &expected);
        }
    }

    #[test]
    fn after_a_broadcast_every_rank_holds_the_roots_buffer(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("broadcast") {
            let shape = shape(n, seed, pattern);
            let root = shape.root.index();
            let before = buffers(n, 1, |rank, _| only(n, rank));
            let held = after(pattern, &shape, before, |_| Delivery::Replace);
            prop_assert_eq!(held, buffers(n, 1, |_, _| only(n, root)));
        }
    }

    #[test]
    fn an_incast_brings_the_root_everyones_data(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("incast") {
            let shape = shape(n, seed, pattern);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(pattern, &shape, buffers(n, n, own), |_| Delivery::Add);
            let expected: Vec<_> = (0..n).map(|block| only(n, block)).collect();
            prop_assert_eq!(&held[shape.root.index()], &expected);
        }
    }

    #[test]
    fn a_permutation_brings_each_rank_the_data_of_one_other(n in 2..12usize, seed in any::<u64>()) {
        for pattern in of("permutation") {
            let shape = shape(n, seed, pattern);
            let own = |rank, block| if block == rank { only(n, rank) } else { empty(n) };
            let held = after(pattern, &shape, buffers(n, n, own), |_| Delivery::Add);
            let counts = |blocks: &Vec<Block>| blocks.iter().filter(|block| **block != empty(n)).count();
            prop_assert!(held.iter().all(|blocks| counts(blocks) == 2));
        }
    }
}
