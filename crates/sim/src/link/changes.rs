//! Scheduled state of one direction of a link: applies failures and repairs, rate changes and corruption of
//! frames over a run; determines and counts the frames that are lost.
//!
//! All changes are known from the spec, so the sender of a frame can determine whether it arrives: it is lost
//! if the link is down at any time between its first bit in and its last bit out. A frame retains the rate at
//! which it started. Leaves out that a cut-through switch forwards the head of a frame that is then cut off,
//! and that a failing link ends the pauses of its ports immediately; here they expire. Links of InfiniBand
//! have no changes.

use crate::link::Dropped;
use crate::link::egress::occupied;
use crate::link::errors::{ErrorRate, LinkErrors};
use crate::packet::Packet;
use units::{Cycle, Instant, LINK_OVERHEAD_BYTES, Rate, Span, State, Stream};
use wire::Framing;

/// The state of a link from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkChange {
    pub(crate) at: Instant,
    pub(crate) is_up: bool,
    pub(crate) rate: Rate,
    pub(crate) errors: Option<ErrorRate>,
}

/// A link with future changes.
#[derive(Clone, Debug)]
pub(crate) struct LinkPlan<'a> {
    /// In order of time.
    pub(crate) changes: &'a [LinkChange],
    pub(crate) rate: Rate,
    /// Time from the port to the link.
    pub(crate) lead: Span,
    /// Propagation delay.
    pub(crate) delay: Span,
    /// Random stream of frame corruption.
    pub(crate) stream: Stream,
}

/// The changes of a link from the view of the port at one end.
#[derive(Clone, Debug)]
pub(crate) struct LinkChanges {
    /// In order of time. Times are those of the port: a frame that it starts to send then is affected when it
    /// is on the link.
    changes: Vec<LinkChange>,
    /// Index of the next change.
    next: usize,
    is_up: bool,
    rate: Rate,
    /// Propagation delay.
    delay: Span,
    errors: LinkErrors,
    lost: Dropped,
    corrupted: Dropped,
    /// Pause frames lost or corrupted.
    pauses: Dropped,
    before: Transmitted,
}

/// Totals of a port at the last rate change of its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transmitted {
    pub(crate) busy: Span,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl LinkChanges {
    /// For the port that sends on the link.
    pub(crate) fn new(plan: LinkPlan<'_>) -> Self {
        let LinkPlan { changes, rate, lead, delay, stream } = plan;
        let at_sender =
            |change: &LinkChange| LinkChange { at: Instant(change.at.0.saturating_sub(lead.0)), ..*change };
        Self {
            changes: changes.iter().map(at_sender).collect(),
            next: 0,
            is_up: true,
            rate,
            delay,
            errors: LinkErrors::new(stream),
            lost: Dropped::default(),
            corrupted: Dropped::default(),
            pauses: Dropped::default(),
            before: Transmitted::default(),
        }
    }

    /// Applies the changes until `now`, when the port has sent `frames` frames and `bytes` bytes. Returns the
    /// current rate.
    pub(crate) fn catch_up(&mut self, now: Instant, framing: Framing, frames: u64, bytes: u64) -> Rate {
        let rate_before = self.rate;
        while let Some(change) = self.changes.get(self.next).filter(|change| change.at <= now) {
            (self.is_up, self.rate) = (change.is_up, change.rate);
            self.errors.set(change.errors);
            self.next += 1;
        }
        if self.rate != rate_before {
            let Transmitted { busy, frames: old_frames, bytes: old_bytes } = self.before;
            let byte_time = rate_before.byte_time();
            let since = occupied(byte_time, framing, frames - old_frames, bytes - old_bytes);
            self.before = Transmitted { busy: busy + since, frames, bytes };
        }
        self.rate
    }

    /// Whether a frame sent from now (the time of the last [`Self::catch_up`]) to `end` reaches the other end
    /// intact; counts it if not.
    pub(crate) fn carries(&mut self, packet: &Packet, end: Instant) -> bool {
        let cause = if !self.is_up_until(end) {
            &mut self.lost
        } else if self.errors.corrupts(packet.frame_bytes()) {
            &mut self.corrupted
        } else {
            return true;
        };
        // Pause frames do not count as frames of a flow.
        let count = if packet.is_link_control() { &mut self.pauses } else { cause };
        count.count(packet);
        false
    }

    /// Whether the link is up while a frame sent from now to `end` is on it.
    fn is_up_until(&self, end: Instant) -> bool {
        let out = end + self.delay;
        let mut coming = self.changes[self.next..].iter().take_while(|change| change.at < out);
        self.is_up && coming.all(|change| change.is_up)
    }

    /// Frames lost while the link was down, without pause frames.
    pub(crate) const fn lost(&self) -> Dropped {
        self.lost
    }

    /// Frames corrupted, without pause frames.
    pub(crate) const fn corrupted(&self) -> Dropped {
        self.corrupted
    }

    /// All frames that did not arrive.
    pub(crate) fn missing(&self) -> Dropped {
        [self.lost, self.corrupted, self.pauses].into_iter().sum()
    }

    /// Totals of the port at the last rate change.
    pub(crate) const fn before(&self) -> Transmitted {
        self.before
    }
}

/// Requires [`LinkChanges::catch_up`]. The skip ends before any frame could be on the link at the next
/// change.
impl State for LinkChanges {
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { changes, next, is_up: _, rate, delay, errors, lost, corrupted, pauses, before: _ } = self;
        next.visit(cycle);
        if let Some(change) = changes.get(*next) {
            let on_link = rate.frame_span(u32::from(u16::MAX), LINK_OVERHEAD_BYTES) + *delay;
            cycle.stop_before(Instant(change.at.0.saturating_sub(on_link.0)));
        }
        errors.visit(cycle);
        [lost, corrupted, pauses].into_iter().for_each(|dropped| dropped.visit(cycle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{ConnectionId, Kind, Path, Priority};
    use units::{AttachmentId, Seed};
    use wire::Psn;

    const RATE: Rate = Rate::from_gbps(400);
    const SLOW: Rate = Rate::from_gbps(100);

    fn change(at: u64, is_up: bool, rate: Rate) -> LinkChange {
        LinkChange { at: Instant(at), is_up, rate, errors: None }
    }

    fn link(changes: &[LinkChange]) -> LinkChanges {
        let stream = Seed(1).stream("link.errors", 0);
        LinkChanges::new(LinkPlan { changes, rate: RATE, lead: Span(10), delay: Span(100), stream })
    }

    fn is_up(changes: &[LinkChange], start: u64, end: u64) -> bool {
        let mut changes = link(changes);
        changes.catch_up(Instant(start), Framing::Ethernet, 0, 0);
        changes.is_up_until(Instant(end))
    }

    #[test]
    fn a_frame_is_lost_if_the_link_is_down_while_any_of_it_is_on_the_way() {
        let outage = [change(1_000, false, RATE), change(1_300, true, RATE)];
        // A frame that starts at 800 is on the link from 810 and, sent by 890, out of it at 1,000.
        assert!(is_up(&outage, 800, 890));
        assert!(!is_up(&outage, 800, 891));
        assert!(!is_up(&outage, 1_289, 1_400), "it began while the link was down");
        assert!(is_up(&outage, 1_290, 1_400));
        assert!(!is_up(&outage, 500, 2_000), "a short outage in the middle");
    }

    #[test]
    fn a_rate_applies_from_its_time_on_and_earlier_frames_are_counted_separately() {
        let mut changes = link(&[change(1_010, true, SLOW)]);
        assert_eq!(changes.catch_up(Instant(999), Framing::Ethernet, 1, 1_000), RATE);
        assert_eq!(changes.catch_up(Instant(1_000), Framing::Ethernet, 2, 2_000), SLOW);
        let sent = Transmitted { busy: Span((2_000 + 40) * 20), frames: 2, bytes: 2_000 };
        assert_eq!(changes.before(), sent);
        assert_eq!(changes.catch_up(Instant(9_000), Framing::Ethernet, 7, 7_000), SLOW);
        assert_eq!(changes.before(), sent);
    }

    #[test]
    fn pauses_that_are_lost_are_missing_but_are_no_lost_frames() {
        let mut changes = link(&[change(1_000, false, RATE)]);
        changes.catch_up(Instant(2_000), Framing::Ethernet, 0, 0);
        let path = Path { destination: AttachmentId(0), connection: ConnectionId::rc(0), entropy: 0 };
        let frame = Packet::new(Kind::Ack, Priority(0), Psn::new(0), 1_000, path);
        for packet in [frame, Packet::pause(Priority(3), 1)] {
            assert!(!changes.carries(&packet, Instant(2_100)));
        }
        let [lost, missing] = [changes.lost(), changes.missing()].map(|count| (count.frames, count.bytes));
        assert_eq!((lost, missing), ((1, 1_000), (2, 1_064)));
    }
}
