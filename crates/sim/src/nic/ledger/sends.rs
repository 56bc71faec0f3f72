//! Chunks (parts of transfers between ranks) that a host sends, by queue pair: transfer, size, post time, and
//! counts of NAKs, timeouts, retransmissions and CNPs until each is acknowledged or has failed; builds its
//! report.

use super::Frames;
use super::columns::Numbers;
use super::posted::Posted;
use super::queues::{SendQueue, WorkId};
use super::work::{WorkList, WorkMaker};
use crate::record::{PlainSend, SendReport};
use units::{Instant, NumberMap, State};

/// Recovery statistics of the few chunks that need recovery.
#[derive(Clone, Copy, Debug, Default, State)]
struct RecoveryCounts {
    #[state(count)]
    naks: u32,
    #[state(count)]
    timeouts: u32,
    resent: Frames,
}

/// Congestion notifications that a chunk has received.
#[derive(Clone, Copy, Debug, Default, State)]
struct Notifications(#[state(count)] u32);

/// The work of all senders of a host.
#[derive(Debug, State)]
pub(crate) struct Sends {
    // Posting and end of a chunk are visible at its sender.
    #[state(skip)]
    posted: Posted,
    #[state(skip)]
    list: WorkList,
    /// Queue pair of each sender.
    #[state(skip)]
    queue_pairs: Numbers,
    /// Recovery statistics of open chunks that have any, by index.
    recovery_counts: NumberMap<u32, RecoveryCounts>,
    /// Congestion notifications of open chunks that have received any.
    cnps: NumberMap<u32, Notifications>,
}

impl Sends {
    /// The work of senders with the given queue pairs.
    pub(crate) fn new(work: WorkMaker, queue_pairs: impl Iterator<Item = u32> + Clone) -> Self {
        Self::of_list(work.count(), work.finish(), queue_pairs)
    }

    /// Chunks of equal size, one per outgoing transfer and sender: item, transfer and sender have the same
    /// index. `queue_pairs` are those of the senders.
    pub(crate) fn one_each(
        chunks: impl ExactSizeIterator<Item = u32> + Clone,
        queue_pairs: impl Iterator<Item = u32> + Clone,
        bytes: u64,
    ) -> Self {
        Self::of_list(chunks.len() as u32, WorkList::one_each(chunks, bytes), queue_pairs)
    }

    fn of_list(count: u32, list: WorkList, queue_pairs: impl Iterator<Item = u32> + Clone) -> Self {
        Self {
            posted: Posted::new(count),
            list,
            queue_pairs: Numbers::of_all(queue_pairs),
            recovery_counts: NumberMap::default(),
            cnps: NumberMap::default(),
        }
    }

    /// The outgoing transfer of the host that a chunk is part of.
    #[inline]
    pub(crate) fn outgoing_of(&self, WorkId(index): WorkId) -> u32 {
        self.list.transfer_of(index)
    }

    /// Payload of a chunk [bytes].
    #[inline]
    pub(crate) fn bytes_of(&self, WorkId(index): WorkId) -> u64 {
        self.list.bytes_of(index)
    }

    /// Payload of the first chunk [bytes]; 0 without any.
    pub(crate) fn first_bytes(&self) -> u64 {
        self.list.bytes_of(0)
    }

    pub(crate) fn queue_pair_of(&self, sender: u32) -> u32 {
        self.queue_pairs.of(sender)
    }

    /// The send queue of a sender that has posted nothing.
    #[inline]
    pub(crate) fn queue(&self, sender: u32) -> SendQueue {
        SendQueue::new(self.list.of(sender).start)
    }

    /// The first chunk of a sender, if any.
    pub(crate) fn first_of(&self, sender: u32) -> Option<WorkId> {
        self.list.of(sender).next().map(WorkId)
    }

    /// One past the last chunk of a sender.
    #[inline]
    pub(super) fn end_of(&self, sender: u32) -> u32 {
        self.list.end_of(sender)
    }

    /// Prefetches the first chunk of a sender, if each has one.
    #[inline]
    pub(crate) fn prefetch(&self, sender: usize) {
        self.posted.prefetch(sender);
        self.list.prefetch(sender);
    }

    /// The dependencies of a chunk have arrived.
    #[inline]
    pub(crate) fn make_ready(&mut self, WorkId(index): WorkId) {
        self.posted.make_ready(index);
    }

    /// Posts a chunk, if its dependencies have arrived; false if they have not.
    #[inline]
    pub(super) fn post(&mut self, WorkId(index): WorkId, now: Instant) -> bool {
        self.posted.post(index, now)
    }

    /// Makes the chunks of a sender wait for their dependencies again; returns the first.
    pub(super) fn rearm(&mut self, sender: u32) -> u32 {
        let own = self.list.of(sender);
        self.posted.rearm(own.clone());
        own.start
    }

    /// Counts a NAK at a chunk: the oldest open one of its queue pair.
    #[cold]
    pub(crate) fn count_nak(&mut self, WorkId(index): WorkId) {
        self.recovery_counts.entry(index).or_default().naks += 1;
    }

    /// Counts a timeout at a chunk.
    #[cold]
    pub(crate) fn count_timeout(&mut self, WorkId(index): WorkId) {
        self.recovery_counts.entry(index).or_default().timeouts += 1;
    }

    /// Counts a congestion notification at a chunk.
    #[cold]
    pub(crate) fn count_notification(&mut self, WorkId(index): WorkId) {
        self.cnps.entry(index).or_default().0 += 1;
    }

    /// Counts a resent frame of an open chunk.
    #[cold]
    pub(crate) fn count_resent(&mut self, WorkId(index): WorkId, frame_bytes: u32) {
        let resent = &mut self.recovery_counts.entry(index).or_default().resent;
        resent.frames += 1;
        resent.bytes += u64::from(frame_bytes);
    }

    /// Report of an open chunk; `sent` are its frames without those resent.
    pub(crate) fn report(&self, WorkId(index): WorkId, round: u32, sent: Frames) -> SendReport {
        let mut report = SendReport::new(self.list.chunk_of(index), round, self.posted.of(index));
        (report.frames, report.bytes) = (sent.frames, sent.bytes);
        report.cnps = self.cnps.get(&index).map_or(0, |cnps| cnps.0);
        if let Some(&RecoveryCounts { naks, timeouts, resent }) = self.recovery_counts.get(&index) {
            report.frames += resent.frames;
            report.bytes += resent.bytes;
            (report.retransmits, report.naks, report.timeouts) = (resent.frames, naks, timeouts);
        }
        report
    }

    /// Compact report of a chunk without such counts, acknowledged at `completed`; `None` if its values
    /// exceed the compact form.
    #[inline]
    pub(crate) fn plain_report(
        &self,
        WorkId(index): WorkId,
        round: u32,
        sent: Frames,
        completed: Instant,
    ) -> Option<PlainSend> {
        debug_assert!(
            !self.recovery_counts.contains_key(&index) && !self.cnps.contains_key(&index),
            "its sender knows"
        );
        let key = (self.list.chunk_of(index), round);
        PlainSend::new(key, sent.frames, sent.bytes, 0, self.posted.of(index), completed)
    }

    /// Drops the counts of a chunk that has ended.
    pub(crate) fn forget(&mut self, WorkId(index): WorkId) {
        self.cnps.remove(&index);
        self.recovery_counts.remove(&index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::ledger::Work;

    #[test]
    fn a_chunk_is_posted_once_in_a_round_and_reported_with_its_counts() {
        let send = |transfer| Work { chunk: 7 + transfer, transfer, bytes: 100 };
        let mut work = WorkMaker::default();
        let [before, chunk] = [send(0), send(1)].map(|send| work.push(send));
        work.end_share();
        let mut sends = Sends::new(work, [0].into_iter());
        let mut queue = sends.queue(0);
        sends.make_ready(chunk);
        assert_eq!(queue.post_next(0, &mut sends, Instant(4)), None, "the one before it waits");
        sends.make_ready(before);
        assert_eq!(queue.post_next(0, &mut sends, Instant(4)), Some(before));
        assert_eq!(queue.post_next(0, &mut sends, Instant(5)), Some(chunk));
        assert_eq!(queue.post_next(0, &mut sends, Instant(6)), None, "all is posted");
        sends.count_notification(chunk);
        sends.count_notification(chunk);
        sends.count_resent(chunk, 50);
        let report = sends.report(chunk, 3, Frames { frames: 2, bytes: 90 });
        assert_eq!((report.chunk, report.round, report.posted), (8, 3, Instant(5)));
        assert_eq!((report.frames, report.bytes, report.retransmits, report.cnps), (3, 140, 1, 2));
        sends.forget(chunk);
        assert_eq!(sends.report(chunk, 3, Frames::default()).cnps, 0);
        assert!(queue.end_oldest(2).eq([before, chunk]) && queue.is_empty());
        queue.rearm(0, &mut sends);
        assert_eq!(queue.post_next(0, &mut sends, Instant(9)), None, "its dependencies have not arrived");
    }
}
