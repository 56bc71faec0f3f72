//! The chunks that a host sends, with what is recorded of each until it has ended.

use super::chunk_bytes::{ChunkBytes, ChunkBytesMaker};
use super::chunk_frames::Frames;
use super::numbers::{Numbers, NumbersMaker};
use super::posted::Posted;
use super::shares::{Shares, SharesMaker};
use crate::record::{PlainSend, SendReport};
use std::ops::Range;
use units::{Cycle, Instant, NumberMap};

/// A chunk to be sent by a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendChunk {
    /// Chunk of the run.
    pub(crate) chunk: u32,
    /// The transfer it is part of, among those that start at its host.
    pub(crate) outgoing: u32,
    /// Payload [bytes].
    pub(crate) bytes: u64,
}

/// What recovery counts for the few chunks that need it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryCounts {
    pub(super) naks: u32,
    pub(super) timeouts: u32,
    /// Frames sent again.
    pub(super) resent: Frames,
}

/// The chunks of all senders of a host, those of each together in the order of its schedule.
#[derive(Debug)]
pub(crate) struct Sends {
    posted: Posted,
    /// Chunk of the run, and outgoing transfer.
    chunks: Numbers,
    outgoing: Numbers,
    bytes: ChunkBytes,
    shares: Shares,
    /// Queue pair of each sender.
    queue_pairs: Numbers,
    /// Of open chunks that have any, by their place.
    recovery_counts: NumberMap<u32, RecoveryCounts>,
    /// Congestion notifications of open chunks that have received any.
    cnps: NumberMap<u32, u32>,
}

/// The same in the making.
#[derive(Debug, Default)]
pub(crate) struct SendsMaker {
    count: u32,
    senders: u32,
    chunks: NumbersMaker,
    outgoing: NumbersMaker,
    bytes: ChunkBytesMaker,
    shares: SharesMaker,
    queue_pairs: NumbersMaker,
}

impl SendsMaker {
    /// Chunks so far.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Adds a chunk of the next sender.
    #[inline]
    pub(crate) fn push(&mut self, SendChunk { chunk, outgoing, bytes }: SendChunk) {
        self.chunks.push(self.count, chunk);
        self.outgoing.push(self.count, outgoing);
        self.bytes.push(self.count, bytes);
        self.count += 1;
    }

    /// The next sender, of that queue pair, has the chunks since the one before it.
    #[inline]
    pub(crate) fn end_share(&mut self, queue_pair: u32) {
        self.shares.push(self.count);
        self.queue_pairs.push(self.senders, queue_pair);
        self.senders += 1;
    }

    pub(crate) fn finish(self) -> Sends {
        Sends {
            posted: Posted::new(self.count),
            chunks: self.chunks.finish(),
            outgoing: self.outgoing.finish(),
            bytes: self.bytes.finish(),
            shares: self.shares.finish(),
            queue_pairs: self.queue_pairs.finish(),
            recovery_counts: NumberMap::default(),
            cnps: NumberMap::default(),
        }
    }
}

impl Sends {
    /// Chunks of the same size, each alone of an outgoing transfer and with a sender, all of the same number;
    /// `queue_pairs` has those of the senders.
    pub(crate) fn one_each(
        chunks: impl ExactSizeIterator<Item = u32> + Clone,
        queue_pairs: impl Iterator<Item = u32> + Clone,
        bytes: u64,
    ) -> Self {
        Self {
            posted: Posted::new(chunks.len() as u32),
            chunks: Numbers::of_all(chunks),
            outgoing: Numbers::from(0),
            bytes: ChunkBytes::same(bytes),
            shares: Shares::of_one(),
            queue_pairs: Numbers::of_all(queue_pairs),
            recovery_counts: NumberMap::default(),
            cnps: NumberMap::default(),
        }
    }

    /// The transfer that a chunk is part of, among those that start at the host.
    #[inline]
    pub(super) fn outgoing_of(&self, send: u32) -> u32 {
        self.outgoing.of(send)
    }

    /// Payload of a chunk [bytes].
    #[inline]
    pub(super) fn bytes_of(&self, send: u32) -> u64 {
        self.bytes.of(send)
    }

    /// Payload of the first chunk [bytes], 0 without any.
    pub(super) fn first_bytes(&self) -> u64 {
        self.bytes.of(0)
    }

    /// The queue pair of a sender.
    pub(super) fn queue_pair_of(&self, sender: u32) -> u32 {
        self.queue_pairs.of(sender)
    }

    /// The chunks of a sender.
    pub(super) fn of(&self, sender: u32) -> Range<u32> {
        self.shares.of(sender)
    }

    /// One past the last chunk of a sender.
    #[inline]
    pub(super) fn end_of(&self, sender: u32) -> u32 {
        self.shares.end_of(sender)
    }

    /// Asks for the memory of the first chunk of a sender, if each has one.
    #[inline]
    pub(super) fn prefetch(&self, sender: usize) {
        self.posted.prefetch(sender);
        self.chunks.prefetch(sender);
        self.outgoing.prefetch(sender);
    }

    /// The dependencies of a chunk have arrived.
    #[inline]
    pub(super) fn make_ready(&mut self, send: u32) {
        self.posted.make_ready(send);
    }

    /// Posts a chunk, if its dependencies have arrived; false if they have not.
    #[inline]
    pub(super) fn post(&mut self, send: u32, now: Instant) -> bool {
        self.posted.post(send, now)
    }

    /// Chunks wait for their dependencies again.
    pub(super) fn rearm(&mut self, sends: Range<u32>) {
        self.posted.rearm(sends);
    }

    /// The recovery counts of an open chunk.
    #[cold]
    pub(super) fn recovery_counts_of(&mut self, send: u32) -> &mut RecoveryCounts {
        self.recovery_counts.entry(send).or_default()
    }

    /// An open chunk receives a congestion notification.
    pub(super) fn notify(&mut self, send: u32) {
        *self.cnps.entry(send).or_default() += 1;
    }

    /// What is known of an open chunk, sent in so many frames without those sent again.
    pub(super) fn report(&self, send: u32, round: u32, sent: Frames) -> SendReport {
        let mut report = SendReport::new(self.chunks.of(send), round, self.posted.of(send));
        (report.frames, report.bytes) = (sent.frames, sent.bytes);
        report.cnps = self.cnps.get(&send).copied().unwrap_or(0);
        if let Some(&RecoveryCounts { naks, timeouts, resent }) = self.recovery_counts.get(&send) {
            report.frames += resent.frames;
            report.bytes += resent.bytes;
            (report.retransmits, report.naks, report.timeouts) = (resent.frames, naks, timeouts);
        }
        report
    }

    /// The report of a chunk without such counts that was acknowledged whole at `completed`, if there is
    /// a place for it.
    #[inline]
    pub(super) fn plain_report(
        &self,
        send: u32,
        round: u32,
        sent: Frames,
        completed: Instant,
    ) -> Option<PlainSend> {
        debug_assert!(
            !self.recovery_counts.contains_key(&send) && !self.cnps.contains_key(&send),
            "its sender knows"
        );
        let (key, times) = ((self.chunks.of(send), round), (self.posted.of(send), completed));
        PlainSend::new(key, (sent.frames, sent.bytes), 0, times)
    }

    /// A chunk has ended.
    pub(super) fn forget(&mut self, send: u32) {
        self.cnps.remove(&send);
        self.recovery_counts.remove(&send);
    }

    /// See [`Cycle`]. When a chunk is posted or ends, its sender shows it.
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self {
            posted: _,
            chunks: _,
            outgoing: _,
            bytes: _,
            shares: _,
            queue_pairs: _,
            recovery_counts,
            cnps,
        } = self;
        visit_by_send(cycle, recovery_counts, |cycle, RecoveryCounts { naks, timeouts, resent }| {
            let Frames { frames, bytes } = resent;
            [naks, timeouts, frames].into_iter().for_each(|count| cycle.wrapping(count, 32));
            cycle.count(bytes);
        });
        visit_by_send(cycle, cnps, |cycle, count| cycle.wrapping(count, 32));
    }
}

/// Visits what is known of some sends, in their order.
fn visit_by_send<T>(
    cycle: &mut Cycle,
    sends: &mut NumberMap<u32, T>,
    mut visit: impl FnMut(&mut Cycle, &mut T),
) {
    let mut sends: Vec<_> = sends.iter_mut().collect();
    sends.sort_unstable_by_key(|(send, _)| **send);
    cycle.same_list(sends.iter().map(|(send, _)| u64::from(**send)));
    sends.into_iter().for_each(|(_, known)| visit(cycle, known));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_posted_once_in_a_round_and_reported_with_its_counts() {
        let send = |outgoing| SendChunk { chunk: 7 + outgoing, outgoing, bytes: 100 };
        let mut sends = SendsMaker::default();
        [send(0), send(1)].into_iter().for_each(|send| sends.push(send));
        let mut sends = sends.finish();
        assert!(!sends.post(1, Instant(5)), "its dependencies have not arrived");
        sends.make_ready(1);
        assert!(sends.post(1, Instant(5)));
        assert!(!sends.post(1, Instant(6)), "it is posted");
        sends.notify(1);
        sends.notify(1);
        sends.recovery_counts_of(1).resent = Frames { frames: 1, bytes: 50 };
        let report = sends.report(1, 3, Frames { frames: 2, bytes: 90 });
        assert_eq!((report.chunk, report.round, report.posted), (8, 3, Instant(5)));
        assert_eq!((report.frames, report.bytes, report.retransmits, report.cnps), (3, 140, 1, 2));
        sends.forget(1);
        assert_eq!(sends.report(1, 3, Frames::default()).cnps, 0);
        sends.rearm(0..2);
        assert!(!sends.post(1, Instant(9)));
    }
}
