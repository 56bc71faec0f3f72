//! Cost for a queue pair when its packets, or their acknowledgements, are lost for a time.
//!
//! Everything follows from the time at which packets get through again. Packets are sent one after the other,
//! at the same rate as before, until the window is full or nothing is left. Arrivals after a gap are answered
//! by a NAK; otherwise one or more timeouts cause the missing packets to be resent. Leaves out the load of
//! lost packets on links, and earlier packets of the same queue pair.

use spec::{LossRecovery, RunSpec};
use units::{Instant, Span};

/// Recovery parameters of a transport.
pub(crate) struct Recovery {
    is_selective: bool,
    /// Maximum number of outstanding packets.
    window: u64,
    /// A packet is considered lost when one this far beyond it has arrived.
    threshold: u64,
    ack_every: u64,
    timeout: Span,
    retries: u32,
}

/// Packets being sent, and their rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    /// Packets of a burst, and of everything posted.
    pub(crate) packets: u64,
    pub(crate) posted: u64,
    /// Time from one packet to the next.
    pub(crate) each: Span,
    /// Transmission time of a packet at its port.
    pub(crate) alone: Span,
    /// Time from the last bit of a packet out of the port to its acknowledgement.
    pub(crate) round_trip: Span,
    /// Timeouts since the last acknowledgement.
    pub(crate) retries: u32,
}

/// Progress of a burst when its packets began to be lost, at the port that sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Packets that get through.
    pub(crate) arrived: u64,
    /// When the last of them was sent, or sending began.
    pub(crate) since: Instant,
    /// Packets sent from then on get through again; `None` if that never happens.
    pub(crate) opens: Option<Instant>,
}

/// Result of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing is lost.
    Unhurt,
    /// The burst is resent, or continues, from then on.
    Again {
        at: Instant,
        /// Packets of the burst to be sent from then on.
        packets: u64,
        retries: u32,
    },
    /// The queue pair has used up its retries.
    Fails(Instant),
}

impl Train {
    /// Transmission of a single packet and its acknowledgement.
    fn alone_and_back(&self) -> Span {
        self.alone + self.round_trip
    }
}

impl Recovery {
    pub(crate) fn new(spec: &RunSpec, window: u64) -> Self {
        let transport = &spec.transport;
        Self {
            is_selective: transport.recovery == LossRecovery::Selective,
            window,
            threshold: (u64::from(transport.ooo_window_packets) * 3 / 4).max(1),
            ack_every: transport.ack_every.into(),
            timeout: Span(transport.timeout_ps),
            retries: transport.retry_count,
        }
    }

    /// Result for a burst whose packets do not arrive.
    pub(crate) fn of_data(&self, train: &Train, cut: &Cut) -> Outcome {
        if cut.arrived >= train.packets {
            return Outcome::Unhurt;
        }
        let acknowledged = cut.arrived - cut.arrived % self.ack_every;
        let unacknowledged = Span(train.each.0.saturating_mul(cut.arrived - acknowledged));
        let last = Instant(cut.since.0.saturating_sub(unacknowledged.0));
        // The timer starts with an acknowledgement or, if nothing was outstanding then, with the next packet.
        let next = last + Span(train.each.0.saturating_sub(train.alone.0));
        let first = if acknowledged == 0 { next } else { next.max(last + train.round_trip) } + self.timeout;
        let Some(opens) = cut.opens else { return Outcome::Fails(self.last_timeout(train, first)) };
        match self.is_selective {
            true => self.by_selection(train, cut, (acknowledged, first, opens)),
            false => self.by_going_back(train, cut, (acknowledged, first, opens)),
        }
    }

    /// The timeout at which the retries are exhausted, with the first one at `first`.
    fn last_timeout(&self, train: &Train, first: Instant) -> Instant {
        self.timeout_after(first, self.retries.saturating_sub(train.retries).into())
    }

    fn timeout_after(&self, first: Instant, count: u64) -> Instant {
        first + Span(self.timeout.0.saturating_mul(count))
    }

    /// Number of timeouts before the first one that is not before `at`.
    fn timeouts_before(&self, first: Instant, at: Instant) -> u64 {
        at.since(first.min(at)).0.div_ceil(self.timeout.0.max(1))
    }

    fn by_going_back(
        &self,
        train: &Train,
        cut: &Cut,
        (acknowledged, first, opens): (u64, Instant, Instant),
    ) -> Outcome {
        let limit = train.posted.min(acknowledged + self.window);
        // Each timeout resends everything: the last one before the path opens counts.
        let gone_back = self.timeouts_before(first, opens);
        let (begun, from) = match gone_back.checked_sub(1) {
            None => (cut.since, cut.arrived),
            Some(count) => (self.timeout_after(first, count), acknowledged),
        };
        let lost = (from + packets_in(opens.since(begun.min(opens)), train.each)).min(limit);
        if gone_back == 0 && lost <= cut.arrived {
            return Outcome::Unhurt;
        }
        let timeout = self.timeout_after(first, gone_back);
        let nak = begun + Span(train.each.0.saturating_mul(lost + 1 - from)) + train.round_trip;
        let used = u64::from(train.retries) + gone_back;
        if used > self.retries.into() {
            return Outcome::Fails(self.last_timeout(train, first));
        }
        if gone_back > 0 && lost == from {
            return Outcome::Again { at: begun, packets: train.packets - acknowledged, retries: used as u32 };
        }
        if lost < limit && nak < timeout {
            return Outcome::Again { at: nak, packets: train.packets - cut.arrived, retries: 0 };
        }
        if used + 1 > self.retries.into() {
            return Outcome::Fails(timeout);
        }
        Outcome::Again { at: timeout, packets: train.packets - acknowledged, retries: (used + 1) as u32 }
    }

    fn by_selection(
        &self,
        train: &Train,
        cut: &Cut,
        (acknowledged, first, opens): (u64, Instant, Instant),
    ) -> Outcome {
        let limit = train.posted.min(acknowledged + self.window);
        let sent =
            |at: Instant| (cut.arrived + packets_in(at.since(cut.since.min(at)), train.each)).min(limit);
        let lost = sent(opens);
        if lost <= cut.arrived {
            return Outcome::Unhurt;
        }
        let unsent = |at| train.packets - sent(at).min(train.packets);
        let holes = lost.min(train.packets) - cut.arrived;
        let before = self.timeouts_before(first, opens);
        let timeout = self.timeout_after(first, before);
        let used = u64::from(train.retries) + before;
        let telling = (lost + 1).max(acknowledged + self.threshold + 1);
        let nak = cut.since + Span(train.each.0.saturating_mul(telling - cut.arrived)) + train.round_trip;
        if telling <= limit && nak < timeout && used <= self.retries.into() {
            // Holes without an arrival beyond the threshold after them wait for one more timeout.
            let told_end = train.posted.saturating_sub(self.threshold + 1).clamp(cut.arrived, lost);
            let untold = lost.min(train.packets).saturating_sub(told_end);
            let told = holes - untold;
            if untold == 0 {
                return Outcome::Again { at: nak, packets: holes + unsent(nak), retries: 0 };
            }
            let filled = nak + Span(train.each.0.saturating_mul(told)) + train.round_trip;
            let at = filled + self.timeout + Span(train.alone_and_back().0.saturating_mul(untold - 1));
            return Outcome::Again { at, packets: 1, retries: 1 };
        }
        if used + 1 > self.retries.into() {
            return Outcome::Fails(self.last_timeout(train, first));
        }
        let retries = (used + 1) as u32;
        // The first packet is sent alone; its acknowledgement reports how far packets have arrived.
        let is_missing = u64::from(acknowledged == cut.arrived);
        if lost < limit {
            // The responder reports one hole after the other.
            let turns = Span(train.alone_and_back().0.saturating_mul(holes - is_missing));
            return Outcome::Again { at: timeout + turns, packets: 1 + unsent(timeout), retries };
        }
        match holes + unsent(timeout + train.round_trip) - is_missing {
            0 => Outcome::Again { at: timeout, packets: 1, retries },
            packets => Outcome::Again { at: timeout + train.alone_and_back(), packets, retries: 0 },
        }
    }

    /// Result for a burst whose acknowledgements are lost between two times, with the time at which it
    /// stalls; `None` if the queue pair never waits for them.
    pub(crate) fn of_acknowledgements(
        &self,
        train: &Train,
        [at, opens]: [Instant; 2],
    ) -> Option<(Instant, Outcome)> {
        let under_way = packets_in(train.round_trip, train.each) + 1;
        let full = at + Span(train.each.0.saturating_mul(self.window.saturating_sub(under_way)));
        let first = at + self.timeout;
        let goes_back = !self.is_selective && first < full;
        let stalls = if goes_back { first } else { full };
        if stalls >= opens {
            return None;
        }
        let outcome = match self.acknowledged_again(train, [at, opens]) {
            Ok(_) if goes_back => opens + train.round_trip,
            Ok(at) => at,
            Err(at) => return Some((stalls, Outcome::Fails(at))),
        };
        Some((stalls, Outcome::Again { at: outcome, packets: train.packets, retries: 0 }))
    }

    /// When a burst that waits for a timeout continues earlier, because `packets` more are posted behind it
    /// at a time at which the path is open and the responder detects a gap. `None` if they do not reveal the
    /// gap.
    pub(crate) fn prompted(
        &self,
        train: &Train,
        cut: &Cut,
        (at, packets): (Instant, u64),
    ) -> Option<Instant> {
        let behind = if self.is_selective {
            let acknowledged = cut.arrived - cut.arrived % self.ack_every;
            (acknowledged + self.threshold + 1).saturating_sub(train.posted).max(1)
        } else {
            1
        };
        let is_open = cut.opens.is_some_and(|opens| opens <= at);
        (is_open && behind <= packets && train.posted + behind <= cut.arrived + self.window)
            .then(|| at + Span(train.alone.0.saturating_mul(behind)) + train.round_trip)
    }

    /// When the packets that have arrived are acknowledged, if acknowledgements are lost from `at` to
    /// `opens`; or when the queue pair fails.
    pub(crate) fn acknowledged_again(
        &self,
        train: &Train,
        [at, opens]: [Instant; 2],
    ) -> Result<Instant, Instant> {
        let first = at + self.timeout;
        let before = self.timeouts_before(first, opens);
        if u64::from(train.retries) + before + 1 > self.retries.into() {
            return Err(self.last_timeout(train, first));
        }
        Ok(self.timeout_after(first, before) + train.alone_and_back())
    }
}

/// Whole packets sent in a time.
fn packets_in(span: Span, each: Span) -> u64 {
    span.0 / each.0.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMEOUT: u64 = 1_000_000;

    const fn recovery(is_selective: bool, retries: u32) -> Recovery {
        Recovery {
            is_selective,
            window: 1_000_000,
            threshold: 384,
            ack_every: 2,
            timeout: Span(TIMEOUT),
            retries,
        }
    }

    const fn train(packets: u64) -> Train {
        Train {
            packets,
            posted: packets,
            each: Span(100),
            alone: Span(100),
            round_trip: Span(1_000),
            retries: 0,
        }
    }

    /// A hundred packets got through until 10,000 ps.
    fn cut(opens: Option<u64>) -> Cut {
        Cut { arrived: 100, since: Instant(10_000), opens: opens.map(Instant) }
    }

    const fn again(at: u64, packets: u64, retries: u32) -> Outcome {
        Outcome::Again { at: Instant(at), packets, retries }
    }

    #[test]
    fn the_first_packet_behind_the_gap_has_all_sent_again() {
        // 100 are lost; the next leaves at 20,100 and is answered a round trip later.
        let outcome = recovery(false, 7).of_data(&train(1_000), &cut(Some(20_000)));
        assert_eq!(outcome, again(21_100, 900, 0));
        assert_eq!(recovery(false, 7).of_data(&train(1_000), &cut(Some(10_099))), Outcome::Unhurt);
    }

    #[test]
    fn timeouts_follow_the_last_acknowledgement() {
        let first = 11_000 + TIMEOUT;
        for is_selective in [false, true] {
            let outcome = recovery(is_selective, 7).of_data(&train(150), &cut(Some(20_000)));
            let expected = if is_selective { again(first + 1_100, 49, 0) } else { again(first, 50, 1) };
            assert_eq!(outcome, expected, "selective: {is_selective}");
        }
        // The path opens while the packets resent by the third timeout are on it.
        let late = cut(Some(first + 2 * TIMEOUT + 20_000));
        assert_eq!(recovery(false, 7).of_data(&train(150), &late), again(first + 3 * TIMEOUT, 50, 4));
        let fails = Outcome::Fails(Instant(first + 3 * TIMEOUT));
        assert_eq!(recovery(false, 3).of_data(&train(150), &late), fails);
        assert_eq!(recovery(true, 3).of_data(&train(150), &cut(None)), fails);
    }

    #[test]
    fn holes_that_no_packet_far_beyond_tells_are_filled_one_for_each_round_trip() {
        // 50 are lost and 50 arrive after them, fewer than the threshold.
        let outcome = recovery(true, 7).of_data(&train(200), &cut(Some(15_000)));
        assert_eq!(outcome, again(11_000 + TIMEOUT + 49 * 1_100, 1, 1));
        // With more to send, a packet 385 beyond each hole reveals it.
        let outcome = recovery(true, 7).of_data(&train(2_000), &cut(Some(15_000)));
        let nak = 10_000 + 385 * 100 + 1_000;
        assert_eq!(outcome, again(nak, 50 + 2_000 - 100 - 395, 0));
    }

    #[test]
    fn acknowledgements_that_are_late_stall_a_full_window_alone() {
        let recovery = Recovery { window: 50, ..recovery(true, 7) };
        let full = 10_000 + (50 - 11) * 100;
        let until = |opens| recovery.of_acknowledgements(&train(1_000), [Instant(10_000), Instant(opens)]);
        assert_eq!(until(full), None);
        let timeout = 10_000 + TIMEOUT + 1_100;
        assert_eq!(until(full + 1), Some((Instant(full), again(timeout, 1_000, 0))));
    }

    proptest! {
        #[test]
        fn nothing_goes_on_before_its_way_opens(
            is_selective: bool,
            (packets, behind, arrived) in (1_u64..3_000, 0_u64..3_000, 0_u64..3_000),
            (opens, retries) in (0_u64..9_000_000, 0_u32..8),
        ) {
            let (mut train, mut cut) = (train(packets), cut(Some(opens)));
            (train.posted, cut.arrived) = (packets + behind, arrived);
            match recovery(is_selective, retries).of_data(&train, &cut) {
                Outcome::Unhurt => prop_assert!(arrived >= packets || opens < 10_000 + 100),
                Outcome::Again { at, packets: left, .. } => {
                    prop_assert!(at.0 + 100 >= opens, "{} {}", at, opens);
                    prop_assert!((1..=packets).contains(&left));
                }
                Outcome::Fails(at) => {
                    prop_assert!(at.0 <= 11_000 + TIMEOUT * (u64::from(retries) + 1) + 100);
                }
            }
        }
    }
}
