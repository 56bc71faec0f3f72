//! Chunks under way at a responder that takes packets in any order, or with gaps.
//!
//! Models what each packet belongs to, by its sequence, and when a chunk has arrived whole: with selective recovery
//! one after the other, as work completes on a queue pair; without recovery each for itself, since a chunk that lost
//! frames never does.

use super::receiver::ReceiveChunk;
use crate::record::ReceiveReport;
use std::collections::VecDeque;
use std::ops::Range;
use transport::Recovery;
use units::Cycle;
use wire::Psn;

/// A chunk of which something may have arrived.
#[derive(Debug)]
pub(super) struct OpenChunk {
    /// Sequence of its first packet, and one past its last.
    packets: Range<u64>,
    /// Packets that must still arrive.
    left: u64,
    pub(super) report: ReceiveReport,
    pub(super) inbound: u32,
}

impl OpenChunk {
    /// Counts a packet of it that was placed; true for the last one.
    pub(super) const fn count_placed(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }
}

/// The chunks of a receiver from the first on that was not delivered.
#[derive(Debug)]
pub(super) struct Arrivals {
    initial_psn: Psn,
    delivers_in_order: bool,
    /// One past the highest sequence seen.
    seen: u64,
    open: VecDeque<OpenChunk>,
    /// One past the last sequence of those that were opened.
    opened_end: u64,
    /// Its first chunk in the host's list of receives: after the last it begins again.
    first_chunk: u32,
    /// Not opened yet in this round.
    chunks: Range<u32>,
    round: u32,
}

impl Arrivals {
    /// What a receiver with that recovery needs of this: nothing when packets are taken in order only.
    pub(super) fn new(recovery: Recovery, initial_psn: Psn, chunks: Range<u32>) -> Option<Box<Self>> {
        let delivers_in_order = match recovery {
            Recovery::GoBackN => return None,
            Recovery::Selective { .. } => true,
            Recovery::None => false,
        };
        Some(Box::new(Self {
            initial_psn,
            delivers_in_order,
            seen: 0,
            open: VecDeque::new(),
            opened_end: 0,
            first_chunk: chunks.start,
            chunks,
            round: 0,
        }))
    }

    /// The chunk that a packet belongs to; none if that was delivered before.
    pub(super) fn chunk_of(&mut self, psn: Psn, receives: &[ReceiveChunk]) -> Option<&mut OpenChunk> {
        let ahead = i64::from(psn.distance_from(self.initial_psn.add(self.seen as u32)));
        let sequence = self.seen.checked_add_signed(ahead)?;
        self.seen = self.seen.max(sequence + 1);
        while self.opened_end <= sequence {
            self.open_next(receives);
        }
        let index = self.open.partition_point(|chunk| chunk.packets.end <= sequence);
        self.open.get_mut(index).filter(|chunk| chunk.packets.contains(&sequence))
    }

    fn open_next(&mut self, receives: &[ReceiveChunk]) {
        if self.chunks.is_empty() {
            self.chunks.start = self.first_chunk;
            self.round += 1;
        }
        let ReceiveChunk { chunk, inbound, packets } = receives[self.chunks.start as usize];
        self.chunks.start += 1;
        let first = self.opened_end;
        self.opened_end += packets;
        self.open.push_back(OpenChunk {
            packets: first..self.opened_end,
            left: packets,
            report: ReceiveReport::new(chunk, self.round),
            inbound,
        });
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            initial_psn: _,
            delivers_in_order: _,
            seen,
            open,
            opened_end,
            first_chunk: _,
            chunks,
            round,
        } = self;
        cycle.count(seen);
        cycle.same_list([*opened_end, u64::from(chunks.start), u64::from(*round)].into_iter());
        cycle.same(open.len() as u64);
        for OpenChunk { packets, left, report, inbound: _ } in open {
            cycle.same(packets.end);
            cycle.left(left, 1);
            report.visit(cycle);
        }
    }

    /// Takes out the next chunk that was delivered.
    pub(super) fn next_delivered(&mut self) -> Option<OpenChunk> {
        let candidates = if self.delivers_in_order { 1 } else { self.open.len() };
        let index = self.open.iter().take(candidates).position(|chunk| chunk.left == 0)?;
        self.open.remove(index)
    }

    /// What has arrived of the chunks that were not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = ReceiveReport> {
        self.open.iter().map(|chunk| chunk.report).filter(|report| report.frames > 0)
    }
}
