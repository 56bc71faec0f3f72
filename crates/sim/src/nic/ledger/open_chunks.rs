//! Chunks (parts of transfers) whose packets have partly arrived, of a receiver that accepts packets in any
//! order (selective recovery), or with gaps (no recovery): assigns packets to chunks by sequence number,
//! counts missing ones, and delivers complete chunks.
//!
//! With selective recovery chunks complete in order, as work requests of a queue pair do; without recovery
//! each completes independently, since a chunk that lost frames never completes.

use super::unrecovered_chunks::Vouched;
use super::{ReceiveQueue, Receives, Work};
use crate::packet::Packet;
use crate::record::ReceiveReport;
use engine::prefetch::LINE_BYTES;
use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::Range;
use transport::{Config, Disposition, Recovery};
use units::{Span, State};
use wire::Psn;

/// A delivered chunk.
pub(crate) struct Delivery {
    pub(crate) report: ReceiveReport,
    pub(crate) inbound: u32,
}

/// A chunk that may have received packets.
#[derive(Debug, State)]
#[repr(C)]
pub(crate) struct OpenChunk {
    /// Sequence of its first packet, and one past its last.
    packets: Range<u64>,
    /// Packets that have not arrived yet.
    #[state(left = 1)]
    left: u64,
    report: ReceiveReport,
    #[state(skip)]
    inbound: u32,
}

impl OpenChunk {
    /// Placeholder for no chunk.
    const NONE: Self = Self { packets: 0..0, left: 1, report: ReceiveReport::new(0, 0), inbound: 0 };

    const fn is_none(&self) -> bool {
        self.packets.end == 0
    }

    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet, disposition: Disposition) {
        self.report.frames += 1;
        self.report.bytes += u64::from(packet.frame_bytes());
        let is_early = matches!(disposition, Disposition::OutOfOrder | Disposition::Placed);
        self.report.out_of_order += u32::from(is_early);
    }

    /// Counts a packet of the chunk that arrived marked.
    #[cold]
    pub(crate) fn count_mark(&mut self, is_notified: bool) {
        self.report.marks += 1;
        self.report.cnps += u32::from(is_notified);
    }

    /// Counts a placed packet of the chunk; returns true for the last one.
    #[inline]
    pub(crate) fn count_placed(&mut self, latency: Span) -> bool {
        self.report.add_latency(latency);
        self.left -= 1;
        self.left == 0
    }

    /// Packets that have arrived.
    const fn arrived(&self) -> u64 {
        self.packets.end - self.packets.start - self.left
    }
}

/// The open chunks of a receiver, from the first undelivered one.
#[derive(Debug, State)]
#[state(equal = Self::missing)]
#[repr(C, align(64))]
pub(crate) struct OpenChunks {
    /// One past the highest sequence received.
    #[state(count)]
    received_end: u64,
    #[state(skip)]
    initial_psn: Psn,
    #[state(skip)]
    delivers_in_order: bool,
    oldest: OpenChunk,
    /// One past the last sequence of the opened chunks.
    opened_end: u64,
    // Needed less often.
    younger: VecDeque<OpenChunk>,
    /// Chunks not opened yet.
    queue: ReceiveQueue,
}

/// Bytes at the start of [`OpenChunks`] that most packets need.
pub(crate) const HOT_BYTES: usize = offset_of!(OpenChunks, younger);

const _: () = assert!(HOT_BYTES <= 2 * LINE_BYTES, "most packets need two cache lines");

impl OpenChunks {
    /// The empty state of a receiver with recovery `recovery`.
    pub(crate) fn new(recovery: Recovery, initial_psn: Psn, queue: ReceiveQueue) -> Self {
        Self {
            received_end: 0,
            initial_psn,
            delivers_in_order: recovery.is_selective(),
            oldest: OpenChunk::NONE,
            opened_end: 0,
            younger: VecDeque::new(),
            queue,
        }
    }

    /// The chunk to which a packet belongs; `None` if it has been delivered.
    #[inline]
    pub(crate) fn chunk_of(
        &mut self,
        config: &Config,
        psn: Psn,
        receives: &Receives,
    ) -> Option<&mut OpenChunk> {
        let distance = i64::from(psn.distance_from(self.initial_psn.add(self.received_end as u32)));
        // Wraps beyond the last chunk if the packet precedes the first.
        let sequence = self.received_end.wrapping_add_signed(distance);
        if self.oldest.packets.contains(&sequence) {
            self.received_end = self.received_end.max(sequence + 1);
            return Some(&mut self.oldest);
        }
        self.find(config, self.received_end.checked_add_signed(distance)?, receives)
    }

    /// Same, for a packet outside the oldest open chunk.
    #[inline(never)]
    fn find(&mut self, config: &Config, sequence: u64, receives: &Receives) -> Option<&mut OpenChunk> {
        self.received_end = self.received_end.max(sequence + 1);
        while self.opened_end <= sequence {
            self.open_next(config, receives);
        }
        let index = self.younger.partition_point(|chunk| chunk.packets.end <= sequence);
        let chunk = if sequence < self.oldest.packets.end {
            &mut self.oldest
        } else {
            self.younger.get_mut(index)?
        };
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
            self.younger.push_back(chunk);
        }
    }

    /// The open chunks, oldest first.
    fn open(&self) -> impl Iterator<Item = &OpenChunk> {
        Some(&self.oldest).filter(|oldest| !oldest.is_none()).into_iter().chain(&self.younger)
    }

    /// Packets that have not arrived although later ones have; 0 or more while none is lost.
    fn missing(&self) -> u64 {
        self.received_end.wrapping_sub(self.open().map(OpenChunk::arrived).sum())
    }

    /// Length of the gapless run of received packets that ends with the highest one; [`Vouched::ALL`] without
    /// a gap. It covers exactly the chunks that end in it and are complete.
    pub(crate) fn vouched(&self) -> u32 {
        let of_run = |end: u64| Vouched::packets(self.received_end.saturating_sub(end));
        let mut newest_first =
            self.younger.iter().rev().chain([&self.oldest]).filter(|chunk| !chunk.is_none());
        let Some(newest) = newest_first.next() else { return Vouched::ALL };
        if newest.arrived() < newest.packets.end.min(self.received_end) - newest.packets.start {
            return of_run(newest.packets.end);
        }
        // Chunks still open before the newest one have a gap.
        newest_first.find(|chunk| chunk.left > 0).map_or(Vouched::ALL, |chunk| of_run(chunk.packets.end))
    }

    /// The acknowledgement of the chunk that has just been completed, behind the highest packet received.
    pub(crate) fn vouched_of_delivered(&self) -> Option<Vouched> {
        let chunk = self.open().find(|chunk| chunk.left == 0)?;
        let psn = self.initial_psn.add(chunk.packets.end as u32).add(u32::MAX);
        Some(Vouched { psn, packets: Vouched::packets(chunk.arrived()) })
    }

    /// Removes the next delivered chunk.
    pub(crate) fn next_delivered(&mut self) -> Option<Delivery> {
        let chunk = if self.oldest.left == 0 {
            let next = self.younger.pop_front().unwrap_or(OpenChunk::NONE);
            std::mem::replace(&mut self.oldest, next)
        } else if self.delivers_in_order {
            return None;
        } else {
            let index = self.younger.iter().position(|chunk| chunk.left == 0)?;
            self.younger.remove(index)?
        };
        Some(Delivery { report: chunk.report, inbound: chunk.inbound })
    }

    /// Reports of chunks received in part and not delivered.
    pub(crate) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        self.open().map(|chunk| chunk.report).filter(|report| report.frames > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::unrecovered_chunks::Acknowledged;
    use super::*;
    use crate::nic::ledger::WorkMaker;
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
        /// Under any delay and loss, an acknowledgement covers a chunk if and only if all packets from its
        /// first one to the highest received have arrived, and a delivered chunk is covered by its own
        /// acknowledgement.
        #[test]
        fn packets_vouched_for_have_arrived(
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
            let mut arrivals = OpenChunks::new(Recovery::None, initial, receives.queue(0));
            let total: u64 = chunks.iter().sum();
            let mut order: Vec<u64> = (0..total).filter(|&packet| !is_lost[packet as usize]).collect();
            order.sort_by_key(|&packet| u64::from(keys[packet as usize]) + 3 * packet);
            let (mut arrived, mut highest) = (vec![false; total as usize], 0);
            for packet in order {
                arrived[packet as usize] = true;
                highest = highest.max(packet);
                let chunk = arrivals.chunk_of(&config, initial.add(packet as u32), &receives).unwrap();
                let is_delivered = chunk.count_placed(Span(1));
                let vouched = Vouched { psn: initial.add(highest as u32), packets: arrivals.vouched() };
                let own = if is_delivered { arrivals.vouched_of_delivered() } else { None };
                let mut first = 0;
                for &packets in &chunks {
                    let end = first + packets;
                    let last = initial.add(end as u32 - 1);
                    let chunk = Acknowledged { last, packets };
                    let is_there = end <= highest + 1 && arrived[first as usize..=highest as usize].iter().all(|&is| is);
                    prop_assert_eq!(chunk.is_whole(vouched), is_there, "{:?} of {}", vouched, first);
                    let is_own = is_delivered && (first..end).contains(&packet);
                    prop_assert_eq!(own.is_some_and(|own| chunk.is_whole(own)), is_own);
                    first = end;
                }
                while arrivals.next_delivered().is_some() {}
            }
        }
    }
}
