//! Reports of chunks that nothing befell, which are most, in half a line of the cache: a million of them are written, kept
//! and read again.

use crate::assemble::Key;
use crate::record::{ReceiveReport, SendReport};
use spec::ChunkStatus;
use units::{Instant, Span};

/// A delivered chunk of which no frame came twice, marked or out of order, none was dropped and no notification was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainReceive {
    delivered: Instant,
    chunk: u32,
    round: u16,
    frames: u16,
    bytes: u32,
    latency_sum_ps: u32,
    latency_min_ps: u32,
    latency_max_ps: u32,
}

impl PlainReceive {
    /// In the place of one: of no chunk.
    pub(crate) const NONE: Self = Self {
        delivered: Instant::NEVER,
        chunk: u32::MAX,
        round: 0,
        frames: 0,
        bytes: 0,
        latency_sum_ps: 0,
        latency_min_ps: 0,
        latency_max_ps: 0,
    };

    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.delivered == Instant::NEVER
    }

    /// What is reported, if there is a place for it.
    #[inline]
    pub(crate) fn of(report: &ReceiveReport) -> Option<Self> {
        let ReceiveReport { bytes, latency_sum_ps, frames, chunk, round, .. } = *report;
        let delivered = report.delivered()?;
        let (latency_min, latency_max) = report.latency_range().unwrap_or_default();
        // No latency is more than their sum.
        let is_small = (frames | round) >> u16::BITS == 0 && (bytes | latency_sum_ps) >> u32::BITS == 0;
        (is_small && report.is_plain()).then_some(Self {
            delivered,
            chunk,
            round: round as u16,
            frames: frames as u16,
            bytes: bytes as u32,
            latency_sum_ps: latency_sum_ps as u32,
            latency_min_ps: latency_min.0 as u32,
            latency_max_ps: latency_max.0 as u32,
        })
    }

    /// What was reported.
    #[inline]
    pub(crate) fn report(&self) -> ReceiveReport {
        let range = [self.latency_min_ps, self.latency_max_ps].map(|ps| Span(ps.into()));
        let mut report = ReceiveReport::new(self.chunk, self.round.into())
            .with_latencies(self.frames.into(), self.latency_sum_ps.into(), range.into())
            .delivered_at(self.delivered);
        (report.frames, report.bytes) = (self.frames.into(), self.bytes.into());
        report
    }

    /// The chunk, and its round.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        (self.chunk, self.round.into())
    }
}

/// A chunk that was acknowledged whole, of which no frame was sent again, without NAK, timeout or congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainSend {
    posted: Instant,
    pub(crate) completed: Instant,
    chunk: u32,
    round: u32,
    frames: u32,
    bytes: u32,
}

impl PlainSend {
    /// Of a chunk in a round that was sent in so many frames and bytes from `posted` to `completed`, if there is a place for it.
    #[inline]
    pub(crate) fn new(
        (chunk, round): Key,
        (frames, bytes): (u32, u64),
        (posted, completed): (Instant, Instant),
    ) -> Option<Self> {
        let bytes = u32::try_from(bytes).ok()?;
        Some(Self { posted, completed, chunk, round, frames, bytes })
    }

    /// What is reported, if there is a place for it.
    #[inline]
    pub(crate) fn of(report: &SendReport) -> Option<Self> {
        let SendReport { chunk, round, frames, bytes, posted, .. } = *report;
        let completed = report.completed().filter(|_| report.is_plain())?;
        Self::new((chunk, round), (frames, bytes), (posted, completed))
    }

    /// The chunk, and its round.
    #[inline]
    pub(crate) const fn key(&self) -> Key {
        (self.chunk, self.round)
    }

    /// What was reported.
    #[inline]
    pub(crate) fn report(&self) -> SendReport {
        let mut report = SendReport::new(self.chunk, self.round, self.posted)
            .ended(ChunkStatus::Complete, Some(self.completed));
        (report.frames, report.bytes) = (self.frames, self.bytes.into());
        report
    }
}

const _: () = assert!(size_of::<PlainReceive>() == 32 && size_of::<PlainSend>() == 32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of which most have a place, and some have not.
    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 1..1_u64 << 16, 1..1_u64 << 34]
    }

    proptest! {
        #[test]
        fn what_has_a_place_comes_back_as_it_was(
            (round, frames, bytes, sum, marks) in (number(), number(), number(), number(), 0..3_u32),
        ) {
            let (round, frames) = (round as u32, frames as u32);
            let range = (Span(sum / 3), Span(sum / 2));
            let mut report = ReceiveReport::new(7, round).with_latencies(frames, sum, range).delivered_at(Instant(9));
            (report.frames, report.bytes, report.marks) = (frames, bytes, marks);
            let is_small = round.max(frames) < 1 << 16 && bytes.max(sum) < 1 << 32;
            let plain = PlainReceive::of(&report);
            prop_assert_eq!(plain.is_some(), is_small && marks == 0);
            if let Some(found) = plain.map(|plain| plain.report()) {
                let told = |report: &ReceiveReport| {
                    let counts = (report.frames, report.latency_frames, report.bytes, report.latency_sum_ps);
                    (report.chunk, report.round, counts, report.latency_range(), report.delivered())
                };
                prop_assert_eq!(told(&found), told(&report));
            }
        }

        #[test]
        fn what_was_sent_comes_back_as_it_was(
            (round, frames, bytes, posted, naks) in (number(), number(), number(), number(), 0..3_u32),
        ) {
            let open = SendReport::new(7, round as u32, Instant(posted));
            let mut report = open.ended(ChunkStatus::Complete, Some(Instant(9)));
            (report.frames, report.bytes, report.naks) = (frames as u32, bytes, naks);
            let plain = PlainSend::of(&report);
            prop_assert_eq!(plain.is_some(), bytes < 1 << 32 && naks == 0);
            if let Some(found) = plain.map(|plain| plain.report()) {
                prop_assert_eq!(format!("{found:?}"), format!("{report:?}"));
            }
            prop_assert!(PlainSend::of(&open).is_none());
        }
    }

    #[test]
    fn what_was_not_delivered_is_not_plain() {
        assert!(PlainReceive::of(&ReceiveReport::new(7, 0)).is_none());
    }
}
