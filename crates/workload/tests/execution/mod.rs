//! Carries schedules out symbolically: what each rank holds when all transfers have been delivered.
//!
//! A buffer holds, for each block, how often each rank's data has been added to it. Transfers start and end
//! in a random order that respects nothing but the dependencies, so that a missing one shows. A rank takes
//! what arrives into its buffer in the order of steps, as a program matches messages to its receives: before
//! it may send at step k, what has arrived of the steps before; and it keeps what it sends until that has
//! left. Blocks are counted around the end of the buffer.

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
    /// What may start, with what its sender holds for it at that time.
    ready: Vec<(TransferId, Vec<Block>)>,
    in_flight: Vec<(TransferId, Vec<Block>)>,
    /// By rank: what has arrived and not been taken in.
    arrived: Vec<Vec<(TransferId, Vec<Block>)>>,
    pub(crate) events: Vec<Event>,
}

impl<'a> Run<'a> {
    /// With nothing but the dependencies to keep the order, even if the schedule is blocking.
    pub(crate) fn new(schedule: &'a Schedule, block_bytes: &'a [u64], buffers: Buffers) -> Self {
        let ids = (0..schedule.transfers().len()).map(TransferId::from_index);
        let waits_for: Vec<_> = ids.map(|id| schedule.dependencies(id)).collect();
        let ready = Vec::new();
        let next = vec![None; waits_for.len()];
        let (in_flight, events) = (Vec::new(), Vec::new());
        let arrived = vec![Vec::new(); buffers.len()];
        Self { schedule, block_bytes, buffers, waits_for, next, ready, in_flight, arrived, events }
    }

    /// The same with one transfer of each rank under way at a time.
    pub(crate) fn one_at_a_time(mut self) -> Self {
        let mut last = vec![None; self.buffers.len()];
        for (index, transfer) in self.schedule.transfers().enumerate() {
            let id = TransferId::from_index(index);
            if let Some(before) = last[transfer.src.index()].replace(id) {
                let before: TransferId = before;
                self.next[before.index()] = Some(id);
                self.waits_for[index] += 1;
            }
        }
        self
    }

    pub(crate) fn carry_out(&mut self, stream: &mut Stream, delivery: impl Fn(&Transfer) -> Delivery) {
        for index in 0..self.waits_for.len() {
            if self.waits_for[index] == 0 {
                self.make_ready(TransferId::from_index(index), &delivery);
            }
        }
        while !(self.ready.is_empty() && self.in_flight.is_empty()) {
            let choice = stream.below((self.ready.len() + self.in_flight.len()) as u64) as usize;
            match choice.checked_sub(self.ready.len()) {
                None => self.start(choice),
                Some(arrival) => self.deliver(arrival, &delivery),
            }
        }
        for rank in 0..self.buffers.len() {
            self.take_in(rank, u32::MAX, &delivery);
        }
        assert_eq!(self.events.len(), 2 * self.schedule.transfers().len(), "some transfers never started");
    }

    fn start(&mut self, choice: usize) {
        let (id, data) = self.ready.swap_remove(choice);
        self.in_flight.push((id, data));
        self.events.push(Event::Started(id));
    }

    /// A transfer may start: its sender keeps what it holds for it until it has been sent.
    fn make_ready(&mut self, id: TransferId, delivery: impl Fn(&Transfer) -> Delivery) {
        let transfer = self.schedule.transfer(id);
        self.take_in(transfer.src.index(), transfer.step, delivery);
        let held = &self.buffers[transfer.src.index()];
        let data = self.blocks(&transfer).into_iter().map(|block| held[block].clone()).collect();
        self.ready.push((id, data));
    }

    /// The blocks that a transfer moves.
    fn blocks(&self, transfer: &Transfer) -> Vec<usize> {
        let around =
            (0..self.block_bytes.len()).map(|i| (transfer.block as usize + i) % self.block_bytes.len());
        let mut covered = 0;
        let blocks: Vec<_> = around
            .take_while(|&block| {
                let is_short = covered < transfer.bytes;
                covered += if is_short { self.block_bytes[block] } else { 0 };
                is_short
            })
            .collect();
        assert_eq!(covered, transfer.bytes, "{transfer:?} moves whole blocks");
        blocks
    }

    /// A rank takes in what has arrived of the steps before `step`.
    fn take_in(&mut self, rank: usize, step: u32, delivery: impl Fn(&Transfer) -> Delivery) {
        let step_of = |id: &TransferId| self.schedule.transfer(*id).step;
        let mut arrived = std::mem::take(&mut self.arrived[rank]);
        arrived.sort_by_key(|(id, _)| step_of(id));
        let later = arrived.split_off(arrived.partition_point(|(id, _)| step_of(id) < step));
        self.arrived[rank] = later;
        for (id, data) in arrived {
            let transfer = self.schedule.transfer(id);
            for (block, data) in self.blocks(&transfer).into_iter().zip(data) {
                let held = &mut self.buffers[rank][block];
                match delivery(&transfer) {
                    Delivery::Replace => *held = data,
                    Delivery::Add => held.iter_mut().zip(data).for_each(|(held, more)| *held += more),
                }
            }
        }
    }

    fn deliver(&mut self, arrival: usize, delivery: impl Fn(&Transfer) -> Delivery) {
        let (id, data) = self.in_flight.swap_remove(arrival);
        let transfer = self.schedule.transfer(id);
        self.arrived[transfer.dst.index()].push((id, data));
        self.events.push(Event::Delivered(id));
        for successor in self.schedule.successors(id) {
            assert_eq!(self.schedule.transfer(successor).src, transfer.dst);
            self.release(successor, &delivery);
        }
        if let Some(next) = self.next[id.index()] {
            self.release(next, &delivery);
        }
    }

    fn release(&mut self, waiting: TransferId, delivery: impl Fn(&Transfer) -> Delivery) {
        let waits_for = &mut self.waits_for[waiting.index()];
        *waits_for -= 1;
        if *waits_for == 0 {
            self.make_ready(waiting, delivery);
        }
    }
}
