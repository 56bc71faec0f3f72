//! Wrapper of rate controls that react to delay: measures the round-trip time of packets by their send times.

use super::{Feedback, RateControl};
use std::collections::VecDeque;
use units::{Cycle, Instant, State};
use wire::Psn;

/// A rate control with the send times of its packets in flight, which fills [`Feedback::rtt`].
#[derive(Clone, Debug)]
pub struct Timed<C> {
    control: C,
    /// PSN of the first entry of `sent_at`.
    oldest: Psn,
    /// Send time of each packet in flight; `None` for resent packets.
    sent_at: VecDeque<Option<Instant>>,
}

impl<C> Timed<C> {
    pub(super) fn boxed(control: C) -> Box<Self> {
        Box::new(Self { control, oldest: Psn::new(0), sent_at: VecDeque::new() })
    }
}

/// Measured round-trip times hardly ever repeat.
impl<C> State for Timed<C> {
    fn visit(&mut self, cycle: &mut Cycle) {
        cycle.never_repeats();
    }
}

impl<C: RateControl> RateControl for Timed<C> {
    fn uses_acks(&self) -> bool {
        true
    }

    fn ready_at(&self) -> Instant {
        self.control.ready_at()
    }

    fn window_packets(&self) -> u32 {
        self.control.window_packets()
    }

    fn set_links(&mut self, links: u32) {
        self.control.set_links(links);
    }

    /// Not inlined, so that the paths of other controls have the registers to themselves.
    #[inline(never)]
    fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32) {
        if self.sent_at.is_empty() {
            self.oldest = psn;
        }
        let index = psn.distance_from(self.oldest) as usize;
        match self.sent_at.get_mut(index) {
            Some(sent_at) => *sent_at = None,
            None => {
                debug_assert!(index == self.sent_at.len(), "packets are sent one after the other");
                self.sent_at.push_back(Some(now));
            }
        }
        self.control.on_sent(now, psn, wire_bytes);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let packets = feedback.acknowledged_packets;
        let newest = self.sent_at.drain(..packets as usize).next_back().flatten();
        self.oldest = self.oldest.add(packets);
        let rtt = newest.map(|sent_at| feedback.now.since(sent_at));
        self.control.on_feedback(&Feedback { rtt, ..*feedback });
    }

    fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        self.control.rate_bps_at(now)
    }
}
