//! Carries schedules out symbolically: what each rank holds when all transfers have been delivered.
//!
//! A buffer holds, for each block, how often each rank's data has been added to it. Transfers start and end
//! in a random order that respects nothing but the dependencies, so that a missing one shows.

use fabricbench_workload::{Schedule, Transfer};
use units::{Stream, TransferId};

/// How often the data of each rank is in a block.
pub(crate) type Block = Vec<u32>;
/// By rank, then by block.
pub(crate) type Buffers = Vec<Vec<Block>>;

/// What a delivery does with the receiver's blocks.
#[derive(Clone, Copy)]
pub(crate) enum Delivery {
    Add,
    Replace,
}

/// What happened to a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Started(TransferId),
    Delivered(TransferId),
}

/// A schedule while it is carried out.
pub(crate) struct Run<'a> {
    schedule: &'a Schedule,
    /// Size of each block.
    block_bytes: &'a [u64],
    pub(crate) buffers: Buffers,
    waits_for: Vec<u32>,
    /// The transfer its sender may start after each transfer, if it has one under way at a time.
    next: Vec<Option<TransferId>>,
    ready: Vec<TransferId>,
    in_flight: Vec<(TransferId, Vec<Block>)>,
    pub(crate) events: Vec<Event>,
}

impl<'a> Run<'a> {
    /// With nothing but the dependencies to keep the order, even if the schedule is blocking.
    pub(crate) fn new(schedule: &'a Schedule, block_bytes: &'a [u64], buffers: Buffers) -> Self {
        let ids = (0..schedule.transfers().len()).map(TransferId::from_index);
        let waits_for: Vec<_> = ids.clone().map(|id| schedule.dependencies(id)).collect();
        let ready = ids.filter(|id| waits_for[id.index()] == 0).collect();
        let next = vec![None; waits_for.len()];
        let (in_flight, events) = (Vec::new(), Vec::new());
        Self { schedule, block_bytes, buffers, waits_for, next, ready, in_flight, events }
    }

    /// The same with one transfer of each rank under way at a time.
    pub(crate) fn one_at_a_time(mut self) -> Self {
        let mut last = vec![None; self.buffers.len()];
        for (index, transfer) in self.schedule.transfers().iter().enumerate() {
            let id = TransferId::from_index(index);
            if let Some(before) = last[transfer.src.index()].replace(id) {
                let before: TransferId = before;
                self.next[before.index()] = Some(id);
                self.waits_for[index] += 1;
            }
        }
        self.ready.retain(|id| self.waits_for[id.index()] == 0);
        self
    }

    pub(crate) fn carry_out(&mut self, stream: &mut Stream, delivery: impl Fn(&Transfer) -> Delivery) {
        while !(self.ready.is_empty() && self.in_flight.is_empty()) {
            let choice = stream.below((self.ready.len() + self.in_flight.len()) as u64) as usize;
            match choice.checked_sub(self.ready.len()) {
                None => self.start(choice),
                Some(arrival) => self.deliver(arrival, &delivery),
            }
        }
        assert_eq!(self.events.len(), 2 * self.schedule.transfers().len(), "some transfers never started");
    }

    fn start(&mut self, choice: usize) {
        let id = self.ready.swap_remove(choice);
        let transfer = self.schedule.transfers()[id.index()];
        let first = transfer.block as usize;
        let mut covered = 0;
        let is_short = |bytes: &&u64| {
            let is_short = covered < transfer.bytes;
            covered += **bytes;
            is_short
        };
        let blocks = self.block_bytes[first..].iter().take_while(is_short).count();
        let moved: u64 = self.block_bytes[first..][..blocks].iter().sum();
        assert_eq!(moved, transfer.bytes, "{transfer:?} moves whole blocks");
        let data = self.buffers[transfer.src.index()][first..first + blocks].to_vec();
        self.in_flight.push((id, data));
        self.events.push(Event::Started(id));
    }

    fn deliver(&mut self, arrival: usize, delivery: impl Fn(&Transfer) -> Delivery) {
        let (id, data) = self.in_flight.swap_remove(arrival);
        let transfer = self.schedule.transfers()[id.index()];
        let held = &mut self.buffers[transfer.dst.index()][transfer.block as usize..];
        for (block, data) in held.iter_mut().zip(data) {
            match delivery(&transfer) {
                Delivery::Replace => *block = data,
                Delivery::Add => block.iter_mut().zip(data).for_each(|(held, more)| *held += more),
            }
        }
        self.events.push(Event::Delivered(id));
        for &successor in self.schedule.successors(id) {
            assert_eq!(self.schedule.transfers()[successor.index()].src, transfer.dst);
            self.release(successor);
        }
        if let Some(next) = self.next[id.index()] {
            self.release(next);
        }
    }

    fn release(&mut self, waiting: TransferId) {
        let waits_for = &mut self.waits_for[waiting.index()];
        *waits_for -= 1;
        if *waits_for == 0 {
            self.ready.push(waiting);
        }
    }
}
