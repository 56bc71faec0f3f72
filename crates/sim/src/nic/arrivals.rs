//! Chunks under way at a responder that takes packets in any order, or with gaps.
//!
//! Models what each packet belongs to, by its sequence, and when a chunk has arrived whole: with selective
//! recovery one after the other, as work completes on a queue pair; without recovery each for itself, since a
//! chunk that lost frames never does.

use super::ledger::{ReceiveQueue, Receives, Work};
use super::receivers::Delivery;
use super::unconfirmed::Vouched;
use crate::packet::Packet;
use crate::record::ReceiveReport;
use engine::prefetch::LINE_BYTES;
use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;
use transport::{Config, Disposition, Recovery};
use units::{Cycle, Span};
use wire::Psn;

/// A chunk of which something may have arrived.
#[derive(Debug)]
#[repr(C)]
pub(super) struct OpenChunk {
    /// Sequence of its first packet, and one past its last.
    packets: Range<u64>,
    /// Packets that must still arrive.
    left: u64,
    report: ReceiveReport,
    inbound: u32,
}

impl OpenChunk {
    /// Stands for none.
    const NONE: Self = Self { packets: 0..0, left: 1, report: ReceiveReport::new(0, 0), inbound: 0 };

    const fn is_none(&self) -> bool {
        self.packets.end == 0
    }

    /// Counts a packet of it.
    #[inline]
    pub(super) fn count(&mut self, packet: &Packet, disposition: Disposition) {
        self.report.frames += 1;
        self.report.bytes += u64::from(packet.frame_bytes());
        let is_early = matches!(disposition, Disposition::OutOfOrder | Disposition::Placed);
        self.report.out_of_order += u32::from(is_early);
    }

    /// Counts a packet of it that came marked.
    #[cold]
    pub(super) fn count_mark(&mut self, is_notified: bool) {
        self.report.marks += 1;
        self.report.cnps += u32::from(is_notified);
    }

    /// Counts a packet of it that was placed; true for the last one.
    #[inline]
    pub(super) fn count_placed(&mut self, latency: Span) -> bool {
        self.report.add_latency(latency);
        self.left -= 1;
        self.left == 0
    }

    /// Packets that have arrived.
    const fn arrived(&self) -> u64 {
        self.packets.end - self.packets.start - self.left
    }

    /// See [`Cycle`].
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { packets, left, report, inbound: _ } = self;
        cycle.same(packets.end);
        cycle.left(left, 1);
        report.visit(cycle);
    }
}

/// The chunks of a receiver from the first on that was not delivered.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Arrivals {
    /// One past the highest sequence seen.
    seen: u64,
    initial_psn: Psn,
    delivers_in_order: bool,
    /// The first chunk that is open, if there is one.
    oldest: OpenChunk,
    /// One past the last sequence of those that were opened.
    opened_end: u64,
    // What is needed of it less often.
    later: VecDeque<OpenChunk>,
    /// What was not opened yet.
    queue: ReceiveQueue,
}

/// What most packets need of it is in so much of it, from its beginning.
pub(super) const HOT_BYTES: usize = offset_of!(Arrivals, later);

const _: () = assert!(HOT_BYTES <= 2 * LINE_BYTES, "what most packets need lies together");

impl Arrivals {
    /// What a receiver with that recovery needs of this.
    pub(super) fn new(recovery: Recovery, initial_psn: Psn, queue: ReceiveQueue) -> Self {
        Self {
            seen: 0,
            initial_psn,
            delivers_in_order: recovery.is_selective(),
            oldest: OpenChunk::NONE,
            opened_end: 0,
            later: VecDeque::new(),
            queue,
        }
    }

    /// The chunk that a packet belongs to; none if that was delivered before.
    #[inline]
    pub(super) fn chunk_of(
        &mut self,
        config: &Config,
        psn: Psn,
        receives: &Receives,
    ) -> Option<&mut OpenChunk> {
        let ahead = i64::from(psn.distance_from(self.initial_psn.add(self.seen as u32)));
        // Behind the last chunk, if it lies before the first.
        let sequence = self.seen.wrapping_add_signed(ahead);
        if self.oldest.packets.contains(&sequence) {
            self.seen = self.seen.max(sequence + 1);
            return Some(&mut self.oldest);
        }
        self.find(config, self.seen.checked_add_signed(ahead)?, receives)
    }

    /// The same, of a packet that does not belong to the oldest chunk that is open so far.
    #[inline(never)]
    fn find(&mut self, config: &Config, sequence: u64, receives: &Receives) -> Option<&mut OpenChunk> {
        self.seen = self.seen.max(sequence + 1);
        while self.opened_end <= sequence {
            self.open_next(config, receives);
        }
        let index = self.later.partition_point(|chunk| chunk.packets.end <= sequence);
        let chunk =
            if sequence < self.oldest.packets.end { &mut self.oldest } else { self.later.get_mut(index)? };
        chunk.packets.contains(&sequence).then_some(chunk)
    }

    fn open_next(&mut self, config: &Config, receives: &Receives) {
        let (Work { chunk, transfer: inbound, bytes }, round) = self.queue.take_next(receives);
        let (first, packets) = (self.opened_end, config.packets(bytes));
        self.opened_end += packets;
        let chunk = OpenChunk {
            packets: first..self.opened_end,
            left: packets,
            report: ReceiveReport::new(chunk, round),
            inbound,
        };
        if self.oldest.is_none() {
            self.oldest = chunk;
        } else {
            self.later.push_back(chunk);
        }
    }

    /// Those that are open, oldest first.
    fn open(&self) -> impl Iterator<Item = &OpenChunk> {
        Some(&self.oldest).filter(|oldest| !oldest.is_none()).into_iter().chain(&self.later)
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        // What is not lost within a period arrives within it: one that loses packets does not repeat.
        let placed: u64 = self.open().map(OpenChunk::arrived).sum();
        cycle.same(self.seen.wrapping_sub(placed));
        let Self { initial_psn: _, delivers_in_order: _, seen, oldest, later, opened_end, queue } = self;
        cycle.count(seen);
        let [next, round] = queue.state().map(u64::from);
        cycle.same_list([*opened_end, next, round].into_iter());
        cycle.same(later.len() as u64);
        oldest.visit(cycle);
        later.iter_mut().for_each(|chunk| chunk.visit(cycle));
    }

    /// How many packets up to and with the highest that came have all arrived: all chunks that end there with
    /// as many, and no other, are there.
    pub(super) fn vouched(&self) -> u32 {
        let of_run = |end: u64| Vouched::packets(self.seen.saturating_sub(end));
        let mut newest_first = self.later.iter().rev().chain([&self.oldest]).filter(|chunk| !chunk.is_none());
        let Some(newest) = newest_first.next() else { return Vouched::ALL };
        if newest.arrived() < newest.packets.end.min(self.seen) - newest.packets.start {
            return of_run(newest.packets.end);
        }
        // What is open before the newest lacks something.
        newest_first.find(|chunk| chunk.left > 0).map_or(Vouched::ALL, |chunk| of_run(chunk.packets.end))
    }

    /// What acknowledges the chunk that has just arrived whole, behind the highest packet that came.
    pub(super) fn vouched_of_delivered(&self) -> Option<Vouched> {
        let chunk = self.open().find(|chunk| chunk.left == 0)?;
        let psn = self.initial_psn.add(chunk.packets.end as u32).add(u32::MAX);
        Some(Vouched { psn, packets: Vouched::packets(chunk.arrived()) })
    }

    /// Takes out the next chunk that was delivered.
    pub(super) fn next_delivered(&mut self) -> Option<Delivery> {
        let chunk = if self.oldest.left == 0 {
            let next = self.later.pop_front().unwrap_or(OpenChunk::NONE);
            std::mem::replace(&mut self.oldest, next)
        } else if self.delivers_in_order {
            return None;
        } else {
            let index = self.later.iter().position(|chunk| chunk.left == 0)?;
            self.later.remove(index)?
        };
        Some(Delivery { report: chunk.report, inbound: chunk.inbound })
    }

    /// What has arrived of the chunks that were not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        self.open().map(|chunk| chunk.report).filter(|report| report.frames > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::WorkMaker;
    use super::super::unconfirmed::Acknowledged;
    use super::*;
    use proptest::prelude::*;

    const MTU: u64 = 1_024;

    fn config() -> Config {
        Config {
            mtu_bytes: MTU as u32,
            message_bytes: 1 << 20,
            ack_every: 1,
            window_packets: 1_000,
            timeout: Span::from_us(1),
            retry_count: 7,
            recovery: Recovery::None,
        }
    }

    proptest! {
        /// Whatever comes late or never: an acknowledgement covers a chunk if and only if all from its first
        /// packet to the highest that came has arrived, and one that is delivered is covered by what
        /// acknowledges it alone.
        #[test]
        fn what_is_vouched_for_has_arrived(
            chunks in prop::collection::vec(1_u64..6, 1..6),
            keys in prop::collection::vec(0..100_u32, 25),
            is_lost in prop::collection::vec(prop::bool::weighted(0.1), 25),
        ) {
            let (config, initial) = (config(), Psn::new(0xff_fffa));
            let mut work = WorkMaker::default();
            for (chunk, packets) in (0..).zip(&chunks) {
                work.push(Work { chunk, transfer: 0, bytes: packets * MTU });
            }
            work.end_share();
            let receives = Receives::from(work);
            let mut arrivals = Arrivals::new(Recovery::None, initial, receives.queue(0));
            let total: u64 = chunks.iter().sum();
            let mut order: Vec<u64> = (0..total).filter(|&packet| !is_lost[packet as usize]).collect();
            order.sort_by_key(|&packet| u64::from(keys[packet as usize]) + 3 * packet);
            let (mut arrived, mut highest) = (vec![false; total as usize], 0);
            for packet in order {
                arrived[packet as usize] = true;
                highest = highest.max(packet);
                let chunk = arrivals.chunk_of(&config, initial.add(packet as u32), &receives).unwrap();
                let is_delivered = chunk.count_placed(Span(1));
                let told = Vouched { psn: initial.add(highest as u32), packets: arrivals.vouched() };
                let own = if is_delivered { arrivals.vouched_of_delivered() } else { None };
                let mut first = 0;
                for &packets in &chunks {
                    let end = first + packets;
                    let last = initial.add(end as u32 - 1);
                    let chunk = Acknowledged { last, packets };
                    let is_there = end <= highest + 1 && arrived[first as usize..=highest as usize].iter().all(|&is| is);
                    prop_assert_eq!(chunk.is_whole(told), is_there, "{:?} of {}", told, first);
                    let is_own = is_delivered && (first..end).contains(&packet);
                    prop_assert_eq!(own.is_some_and(|own| chunk.is_whole(own)), is_own);
                    first = end;
                }
                while arrivals.next_delivered().is_some() {}
            }
        }
    }
}
