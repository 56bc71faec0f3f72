//! The chunks that a host sends, with what is recorded of each until it has ended.

use super::chunk_bytes::{ChunkBytes, ChunkBytesMaker};
use super::chunk_frames::Frames;
use super::numbers::{Numbers, NumbersMaker};
use super::shares::{Shares, SharesMaker};
use crate::hash::NumberMap;
use crate::plain_reports::PlainSend;
use crate::prefetch::prefetch;
use crate::record::SendReport;
use std::ops::Range;
use units::{Cycle, Instant};

/// Of a chunk whose dependencies have not arrived, in the place of when it was posted.
const WAITING: Instant = Instant::NEVER;

/// Of a chunk whose turn has not come.
const READY: Instant = Instant(Instant::NEVER.0 - 1);

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

/// What befalls few chunks while they are sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mishaps {
    pub(super) naks: u32,
    pub(super) timeouts: u32,
    /// Congestion notifications received.
    pub(super) cnps: u32,
    /// Frames sent again.
    pub(super) resent: Frames,
}

/// The chunks of all senders of a host, those of each together in the order of its schedule.
#[derive(Debug)]
pub(crate) struct Sends {
    /// When each was posted; before that [`WAITING`], then [`READY`].
    posted: Box<[Instant]>,
    /// Chunk of the run, and outgoing transfer.
    chunks: Numbers,
    outgoing: Numbers,
    bytes: ChunkBytes,
    shares: Shares,
    /// Queue pair of each sender.
    queue_pairs: Numbers,
    /// Of open chunks that have any, by their place.
    mishaps: NumberMap<u32, Mishaps>,
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
            posted: vec![WAITING; self.count as usize].into(),
            chunks: self.chunks.finish(),
            outgoing: self.outgoing.finish(),
            bytes: self.bytes.finish(),
            shares: self.shares.finish(),
            queue_pairs: self.queue_pairs.finish(),
            mishaps: NumberMap::default(),
        }
    }
}

impl Sends {
    /// Chunks of the same size, each alone of an outgoing transfer and with a sender, all of the same number; `queue_pairs`
    /// has those of the senders.
    pub(crate) fn one_each(
        chunks: impl ExactSizeIterator<Item = u32> + Clone,
        queue_pairs: impl Iterator<Item = u32> + Clone,
        bytes: u64,
    ) -> Self {
        Self {
            posted: vec![WAITING; chunks.len()].into(),
            chunks: Numbers::of_all(chunks),
            outgoing: Numbers::from(0),
            bytes: ChunkBytes::same(bytes),
            shares: Shares::of_one(),
            queue_pairs: Numbers::of_all(queue_pairs),
            mishaps: NumberMap::default(),
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
        prefetch(&self.posted, sender);
        self.chunks.prefetch(sender);
        self.outgoing.prefetch(sender);
    }

    /// The dependencies of a chunk have arrived.
    #[inline]
    pub(super) fn make_ready(&mut self, send: u32) {
        self.posted[send as usize] = READY;
    }

    /// Posts a chunk, if its dependencies have arrived; false if they have not.
    #[inline]
    pub(super) fn post(&mut self, send: u32, now: Instant) -> bool {
        let posted = &mut self.posted[send as usize];
        let is_ready = *posted == READY;
        if is_ready {
            *posted = now;
        }
        is_ready
    }

    /// Chunks wait for their dependencies again.
    pub(super) fn rearm(&mut self, sends: Range<u32>) {
        self.posted[sends.start as usize..sends.end as usize].fill(WAITING);
    }

    /// To count what befalls an open chunk.
    #[cold]
    pub(super) fn mishaps_of(&mut self, send: u32) -> &mut Mishaps {
        self.mishaps.entry(send).or_default()
    }

    /// What is known of an open chunk, sent in so many frames without those sent again.
    #[inline]
    pub(super) fn report(&self, send: u32, round: u32, sent: Frames) -> SendReport {
        let mut report = SendReport::new(self.chunks.of(send), round, self.posted[send as usize]);
        (report.frames, report.bytes) = (sent.frames, sent.bytes);
        if !self.mishaps.is_empty() {
            self.add_mishaps(send, &mut report);
        }
        report
    }

    /// The report of a chunk that nothing befell and that was acknowledged whole at `completed`, if there is a place for it.
    #[inline]
    pub(super) fn plain_report(
        &self,
        send: u32,
        round: u32,
        sent: Frames,
        completed: Instant,
    ) -> Option<PlainSend> {
        debug_assert!(!self.mishaps.contains_key(&send), "its sender would know");
        let (key, times) = ((self.chunks.of(send), round), (self.posted[send as usize], completed));
        PlainSend::new(key, (sent.frames, sent.bytes), 0, times)
    }

    fn add_mishaps(&self, send: u32, report: &mut SendReport) {
        let Some(&Mishaps { naks, timeouts, cnps, resent }) = self.mishaps.get(&send) else { return };
        report.frames += resent.frames;
        report.bytes += resent.bytes;
        report.retransmits = resent.frames;
        (report.naks, report.timeouts, report.cnps) = (naks, timeouts, cnps);
    }

    /// A chunk has ended.
    #[inline]
    pub(super) fn forget(&mut self, send: u32) {
        if !self.mishaps.is_empty() {
            self.mishaps.remove(&send);
        }
    }

    /// See [`Cycle`]. When a chunk is posted or ends, its sender shows it.
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self { posted: _, chunks: _, outgoing: _, bytes: _, shares: _, queue_pairs: _, mishaps } = self;
        let mut mishaps: Vec<_> = mishaps.iter_mut().collect();
        mishaps.sort_unstable_by_key(|(send, _)| **send);
        cycle.same_list(mishaps.iter().map(|(send, _)| u64::from(**send)));
        for (_, Mishaps { naks, timeouts, cnps, resent }) in mishaps {
            let Frames { frames, bytes } = resent;
            [naks, timeouts, cnps, frames].into_iter().for_each(|count| cycle.wrapping(count, 32));
            cycle.count(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_posted_once_in_a_round_and_reported_with_what_befell_it() {
        let send = |outgoing| SendChunk { chunk: 7 + outgoing, outgoing, bytes: 100 };
        let mut sends = SendsMaker::default();
        [send(0), send(1)].into_iter().for_each(|send| sends.push(send));
        let mut sends = sends.finish();
        assert!(!sends.post(1, Instant(5)), "its dependencies have not arrived");
        sends.make_ready(1);
        assert!(sends.post(1, Instant(5)));
        assert!(!sends.post(1, Instant(6)), "it is posted");
        sends.mishaps_of(1).cnps += 2;
        sends.mishaps_of(1).resent = Frames { frames: 1, bytes: 50 };
        let report = sends.report(1, 3, Frames { frames: 2, bytes: 90 });
        assert_eq!((report.chunk, report.round, report.posted), (8, 3, Instant(5)));
        assert_eq!((report.frames, report.bytes, report.retransmits, report.cnps), (3, 140, 1, 2));
        sends.forget(1);
        assert_eq!(sends.report(1, 3, Frames::default()).cnps, 0);
        sends.rearm(0..2);
        assert!(!sends.post(1, Instant(9)));
    }
}
