//! Plain reports: reports in 32 bytes of chunks (parts of transfers) without counts other than marks and
//! congestion notifications; conversion from and to full reports. Most chunks are of this kind, and a million
//! reports are written, stored and read again.

use super::{Key, ReceiveReport, SendReport};
use record::ChunkStatus;
use units::{Instant, Span};

/// Report of a delivered chunk without duplicate, reordered or dropped frames, and with few marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainReceive {
    delivered: Instant,
    chunk: u32,
    round: u16,
    frames: u16,
    /// Bytes in the lower bits, marks and notifications above them.
    bytes_marks: u32,
    latency_sum_ps: u32,
    latency_min_ps: u32,
    latency_max_ps: u32,
}

impl PlainReceive {
    /// Bits of the bytes, and of the marks; notifications have those above.
    const BYTES: u32 = 24;
    const MARKS: u32 = 5;

    /// An empty slot.
    pub(crate) const NONE: Self = Self {
        delivered: Instant::NEVER,
        chunk: u32::MAX,
        round: 0,
        frames: 0,
        bytes_marks: 0,
        latency_sum_ps: 0,
        latency_min_ps: 0,
        latency_max_ps: 0,
    };

    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.delivered == Instant::NEVER
    }

    /// The plain form of a report; `None` if a count does not fit.
    #[inline]
    pub(crate) fn of(report: &ReceiveReport) -> Option<Self> {
        let ReceiveReport { bytes, latency_sum_ps, frames, marks, cnps, chunk, round, .. } = *report;
        let delivered = report.delivered()?;
        let (latency_min, latency_max) = report.latency_range().unwrap_or_default();
        // No latency exceeds their sum.
        let is_small = (frames | round) >> u16::BITS == 0 && latency_sum_ps >> u32::BITS == 0;
        let cnps_bits = u32::BITS - Self::BYTES - Self::MARKS;
        let fits = bytes >> Self::BYTES == 0 && marks >> Self::MARKS | cnps >> cnps_bits == 0;
        (is_small && fits && report.is_plain()).then_some(Self {
            delivered,
            chunk,
            round: round as u16,
            frames: frames as u16,
            bytes_marks: bytes as u32 | marks << Self::BYTES | cnps << (Self::BYTES + Self::MARKS),
            latency_sum_ps: latency_sum_ps as u32,
            latency_min_ps: latency_min.0 as u32,
            latency_max_ps: latency_max.0 as u32,
        })
    }

    /// The full report.
    #[inline]
    pub(crate) fn report(&self) -> ReceiveReport {
        let [min, max] = [self.latency_min_ps, self.latency_max_ps].map(|ps| Span(ps.into()));
        let mut report = ReceiveReport::new(self.chunk, self.round.into())
            .with_latencies(self.frames.into(), self.latency_sum_ps.into(), min, max)
            .delivered_at(self.delivered);
        let bits = |first: u32, count: u32| self.bytes_marks >> first & ((1 << count) - 1);
        (report.frames, report.bytes) = (self.frames.into(), bits(0, Self::BYTES).into());
        report.marks = bits(Self::BYTES, Self::MARKS);
        report.cnps = self.bytes_marks >> (Self::BYTES + Self::MARKS);
        report
    }

    /// The chunk and its round.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        (self.chunk, self.round.into())
    }
}

/// Report of a chunk that was acknowledged completely, without retransmission, NAK or timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainSend {
    posted: Instant,
    pub(crate) completed: Instant,
    chunk: u32,
    round: u16,
    /// Congestion notifications received.
    cnps: u16,
    frames: u32,
    bytes: u32,
}

impl PlainSend {
    /// A report; `None` if a count does not fit.
    #[inline]
    pub(crate) fn new(
        (chunk, round): Key,
        frames: u32,
        bytes: u64,
        cnps: u32,
        posted: Instant,
        completed: Instant,
    ) -> Option<Self> {
        let is_small = bytes >> u32::BITS == 0 && (round | cnps) >> u16::BITS == 0;
        let (round, cnps, bytes) = (round as u16, cnps as u16, bytes as u32);
        is_small.then_some(Self { posted, completed, chunk, round, cnps, frames, bytes })
    }

    /// The plain form of a report; `None` if a count does not fit.
    #[inline]
    pub(crate) fn of(report: &SendReport) -> Option<Self> {
        let SendReport { chunk, round, frames, bytes, cnps, posted, .. } = *report;
        let completed = report.completed().filter(|_| report.is_plain())?;
        Self::new((chunk, round), frames, bytes, cnps, posted, completed)
    }

    /// The chunk and its round.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        (self.chunk, self.round.into())
    }

    /// The full report.
    #[inline]
    pub(crate) fn report(&self) -> SendReport {
        let mut report = SendReport::new(self.chunk, self.round.into(), self.posted)
            .ended(ChunkStatus::Complete, Some(self.completed));
        (report.frames, report.bytes, report.cnps) = (self.frames, self.bytes.into(), self.cnps.into());
        report
    }
}

const _: () = assert!(size_of::<PlainReceive>() == 32 && size_of::<PlainSend>() == 32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of which most fit.
    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 1..1_u64 << 16, 1..1_u64 << 34]
    }

    proptest! {
        #[test]
        fn reports_that_fit_are_restored(
            (round, frames, bytes, sum) in (number(), number(), number(), number()),
            (marks, cnps, dropped) in (0..40_u32, 0..10_u32, 0..2_u32),
        ) {
            let (round, frames) = (round as u32, frames as u32);
            let latencies = ReceiveReport::new(7, round).with_latencies(frames, sum, Span(sum / 3), Span(sum / 2));
            let mut report = latencies.delivered_at(Instant(9));
            (report.frames, report.bytes) = (frames + dropped, bytes);
            (report.marks, report.cnps) = (marks, cnps.min(marks));
            let is_small = round.max(frames) < 1 << 16 && bytes < 1 << 24 && sum < 1 << 32;
            let plain = PlainReceive::of(&report);
            prop_assert_eq!(plain.is_some(), is_small && marks < 32 && report.cnps < 8 && dropped == 0);
            if let Some(restored) = plain.map(|plain| plain.report()) {
                let counts = |report: &ReceiveReport| {
                    let frames = (report.frames, report.latency_frames, report.bytes, report.latency_sum_ps);
                    let marked = (report.marks, report.cnps);
                    (report.chunk, report.round, frames, marked, report.latency_range(), report.delivered())
                };
                prop_assert_eq!(counts(&restored), counts(&report));
            }
        }

        #[test]
        fn send_reports_are_restored(
            (round, frames, bytes, posted) in (number(), number(), number(), number()),
            (naks, cnps) in (0..2_u32, number()),
        ) {
            let open = SendReport::new(7, round as u32, Instant(posted));
            let mut report = open.ended(ChunkStatus::Complete, Some(Instant(9)));
            (report.frames, report.bytes) = (frames as u32, bytes);
            (report.naks, report.cnps) = (naks, cnps as u32);
            let is_small = bytes < 1 << 32 && report.round.max(report.cnps) < 1 << 16;
            let plain = PlainSend::of(&report);
            prop_assert_eq!(plain.is_some(), is_small && naks == 0);
            if let Some(restored) = plain.map(|plain| plain.report()) {
                prop_assert_eq!(format!("{restored:?}"), format!("{report:?}"));
            }
            prop_assert!(PlainSend::of(&open).is_none());
        }
    }

    #[test]
    fn an_undelivered_chunk_has_no_plain_report() {
        assert!(PlainReceive::of(&ReceiveReport::new(7, 0)).is_none());
    }
}
