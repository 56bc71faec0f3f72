//! When a requester may send, and how much.

use crate::adapter::{Adapter, AdapterConfig};
use crate::{Dcqcn, DcqcnConfig, Position, Swift, SwiftConfig, Timely, TimelyConfig};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Cycle, Instant, Span};
use wire::Psn;

/// What an acknowledgement tells a rate controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Packets newly acknowledged by it, at least one.
    pub packets: u32,
    /// From the sending of the newest of them to the arrival of the acknowledgement; none if that packet was
    /// sent more than once, as nobody knows which of them is acknowledged (Karn and Partridge, SIGCOMM 1987).
    pub rtt: Option<Span>,
    /// It arrived with congestion experienced: on its way back. What its data met with, RoCEv2 tells by CNPs.
    pub is_marked: bool,
}

/// How a requester learns that something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The responder misses a packet.
    Nak,
    /// Nothing was heard for a whole timeout.
    Timeout,
}

/// Paces one requester: by a rate, by a window, or by both. Timers are applied lazily, when the queue pair
/// next sends or hears something.
pub trait RateControl {
    /// The earliest time of the next packet.
    fn ready_at(&self) -> Instant;

    /// Most packets in flight. The window of [`crate::Config`] holds as well.
    fn window_packets(&self) -> u32 {
        u32::MAX
    }

    /// A packet that occupies `wire_bytes` of the link was sent at `now`.
    fn on_sent(&mut self, now: Instant, wire_bytes: u32);

    /// Packets were acknowledged.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// A congestion notification packet arrived.
    fn on_cnp(&mut self, _now: Instant) {}

    /// Something was lost.
    fn on_loss(&mut self, _now: Instant, _loss: Loss) {}

    /// Current rate at `now` [bit/s], if there is one.
    fn rate_bps_at(&self, now: Instant) -> Option<u64>;
}

/// How a queue pair is paced, chosen when a run is set up. All queue pairs of a run agree, so the branch is
/// always predicted; at line rate nothing more than it is paid.
#[derive(Clone, Debug)]
pub enum Controller {
    /// No control: as fast as the port takes it.
    LineRate,
    /// See [`Dcqcn`].
    Dcqcn(DcqcnPacer),
    /// See [`Swift`].
    Swift(Box<Timed<Swift>>),
    /// See [`Timely`].
    Timely(Box<Timed<Timely>>),
    /// One of the others behind an adapter with a cost for each message.
    Adapter(Box<Adapter>),
}

impl Controller {
    /// See [`Swift`].
    #[must_use]
    pub fn swift(config: Arc<SwiftConfig>) -> Self {
        Self::Swift(Box::new(Timed::new(Swift::new(config))))
    }

    /// See [`Timely`].
    #[must_use]
    pub fn timely(config: Arc<TimelyConfig>) -> Self {
        Self::Timely(Box::new(Timed::new(Timely::new(config))))
    }

    /// The same behind an adapter, if that has a cost for each message.
    #[must_use]
    pub fn in_adapter(self, config: Option<&Arc<AdapterConfig>>) -> Self {
        match config {
            Some(config) => Self::Adapter(Box::new(Adapter::new(Arc::clone(config), self))),
            None => self,
        }
    }

    /// Tells it that its path has so many links.
    pub fn set_links(&mut self, links: u32) {
        match self {
            Self::Swift(swift) => swift.control.set_links(links),
            Self::Adapter(adapter) => adapter.inner_mut().set_links(links),
            Self::LineRate | Self::Dcqcn(_) | Self::Timely(_) => {}
        }
    }

    /// Something was posted where all that was posted before was sent; `is_at_rest` if that was acknowledged,
    /// too.
    #[inline]
    pub fn on_post(&mut self, now: Instant, is_at_rest: bool) {
        if let Self::Adapter(adapter) = self {
            adapter.on_post(now, is_at_rest);
        }
    }

    /// The packet that is sent next, at `now`, has that place in its message.
    #[inline]
    pub fn on_position(&mut self, now: Instant, position: Position) {
        if let Self::Adapter(adapter) = self {
            adapter.on_position(now, position);
        }
    }

    /// A packet may have to wait for it.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::LineRate)
    }

    /// It acts on acknowledgements and losses, so [`Self::on_ack`] and [`Self::on_loss`] are to be called.
    #[must_use]
    pub const fn hears_acks(&self) -> bool {
        match self {
            Self::Swift(_) | Self::Timely(_) => true,
            Self::LineRate | Self::Dcqcn(_) => false,
            Self::Adapter(adapter) => adapter.inner().hears_acks(),
        }
    }

    /// The earliest time of the next packet.
    #[inline]
    #[must_use]
    pub fn ready_at(&self) -> Instant {
        match self {
            Self::LineRate => Instant::ZERO,
            Self::Dcqcn(pacer) => pacer.ready_at(),
            Self::Swift(swift) => swift.control.ready_at(),
            Self::Timely(timely) => timely.control.ready_at(),
            Self::Adapter(adapter) => adapter.ready_at(),
        }
    }

    /// Most packets in flight; see [`RateControl::window_packets`].
    #[inline]
    #[must_use]
    pub fn window_packets(&self) -> u32 {
        match self {
            Self::LineRate | Self::Dcqcn(_) => u32::MAX,
            Self::Swift(swift) => swift.control.window_packets(),
            Self::Timely(timely) => timely.control.window_packets(),
            Self::Adapter(adapter) => adapter.inner().window_packets(),
        }
    }

    /// The packet `psn`, which occupies `wire_bytes` of the link, was sent at `now`.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32) {
        match self {
            Self::LineRate => {}
            Self::Dcqcn(pacer) => pacer.on_sent(now, wire_bytes),
            Self::Swift(swift) => swift.on_sent(now, psn, wire_bytes),
            Self::Timely(timely) => timely.on_sent(now, psn, wire_bytes),
            Self::Adapter(adapter) => adapter.on_sent(now, psn, wire_bytes),
        }
    }

    /// So many packets more were acknowledged; [`Ack::is_marked`] tells what `is_marked` is.
    pub fn on_ack(&mut self, now: Instant, packets: u32, is_marked: bool) {
        match self {
            Self::LineRate | Self::Dcqcn(_) => {}
            Self::Swift(swift) => swift.on_ack(now, packets, is_marked),
            Self::Timely(timely) => timely.on_ack(now, packets, is_marked),
            Self::Adapter(adapter) => adapter.inner_mut().on_ack(now, packets, is_marked),
        }
    }

    /// A congestion notification packet arrived.
    #[inline]
    pub fn on_cnp(&mut self, now: Instant) {
        match self {
            Self::LineRate => {}
            Self::Dcqcn(pacer) => pacer.on_cnp(now),
            Self::Swift(swift) => swift.control.on_cnp(now),
            Self::Timely(timely) => timely.control.on_cnp(now),
            Self::Adapter(adapter) => adapter.inner_mut().on_cnp(now),
        }
    }

    /// Something was lost.
    pub fn on_loss(&mut self, now: Instant, loss: Loss) {
        match self {
            Self::LineRate | Self::Dcqcn(_) => {}
            Self::Swift(swift) => swift.control.on_loss(now, loss),
            Self::Timely(timely) => timely.control.on_loss(now, loss),
            Self::Adapter(adapter) => adapter.inner_mut().on_loss(now, loss),
        }
    }

    /// Current rate at `now` [bit/s]; none at line rate.
    #[must_use]
    pub fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        match self {
            Self::LineRate => None,
            Self::Dcqcn(pacer) => pacer.rate_bps_at(now),
            Self::Swift(swift) => swift.control.rate_bps_at(now),
            Self::Timely(timely) => timely.control.rate_bps_at(now),
            Self::Adapter(adapter) => adapter.inner().rate_bps_at(now),
        }
    }

    /// See [`Cycle`]. One that follows round-trip times hardly ever stands still.
    pub fn visit(&mut self, cycle: &mut Cycle) {
        match self {
            Self::LineRate => {}
            Self::Dcqcn(pacer) => pacer.visit(cycle),
            Self::Swift(_) | Self::Timely(_) => cycle.never_repeats(),
            Self::Adapter(adapter) => adapter.visit(cycle),
        }
    }
}

/// A controller that follows round-trip times, with the send times of what is in flight.
#[derive(Clone, Debug)]
pub struct Timed<C> {
    control: C,
    /// The oldest packet of `sent_at`.
    oldest: Psn,
    /// When each packet in flight was sent; none of those sent again.
    sent_at: VecDeque<Option<Instant>>,
}

impl<C: RateControl> Timed<C> {
    const fn new(control: C) -> Self {
        Self { control, oldest: Psn::new(0), sent_at: VecDeque::new() }
    }

    /// Apart, so that what serves other queue pairs has the registers to itself.
    #[inline(never)]
    fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32) {
        if self.sent_at.is_empty() {
            self.oldest = psn;
        }
        let place = psn.distance_from(self.oldest) as usize;
        match self.sent_at.get_mut(place) {
            Some(sent_at) => *sent_at = None,
            None => {
                debug_assert!(place == self.sent_at.len(), "packets are sent one after the other");
                self.sent_at.push_back(Some(now));
            }
        }
        self.control.on_sent(now, wire_bytes);
    }

    fn on_ack(&mut self, now: Instant, packets: u32, is_marked: bool) {
        let newest = self.sent_at.drain(..packets as usize).next_back().flatten();
        self.oldest = self.oldest.add(packets);
        let rtt = newest.map(|sent_at| now.since(sent_at));
        self.control.on_ack(&Ack { now, packets, rtt, is_marked });
    }
}

/// DCQCN that needs little memory until the first CNP: until then it paces at line rate.
#[derive(Clone, Debug)]
pub struct DcqcnPacer {
    config: Arc<DcqcnConfig>,
    ready_at: Instant,
    /// What the last packet occupied of the link, until the first CNP.
    wire_bytes: u32,
    /// From the first CNP on.
    dcqcn: Option<Box<Dcqcn>>,
}

impl DcqcnPacer {
    /// Starts at line rate.
    #[must_use]
    pub const fn new(config: Arc<DcqcnConfig>) -> Self {
        Self { config, ready_at: Instant::ZERO, wire_bytes: 0, dcqcn: None }
    }

    #[cold]
    fn begin(&self) -> Box<Dcqcn> {
        let mut dcqcn = Dcqcn::new(*self.config);
        if self.wire_bytes > 0 {
            let paced_for = self.config.span_at_line_rate(self.wire_bytes);
            dcqcn.on_sent(Instant(self.ready_at.0 - paced_for.0), self.wire_bytes);
        }
        Box::new(dcqcn)
    }

    /// See [`Cycle`].
    fn visit(&mut self, cycle: &mut Cycle) {
        let Self { config: _, ready_at, wire_bytes, dcqcn } = self;
        cycle.time(ready_at);
        cycle.same_list([*wire_bytes, u32::from(dcqcn.is_some())].into_iter().map(u64::from));
        if let Some(dcqcn) = dcqcn {
            dcqcn.visit(cycle);
        }
    }
}

impl RateControl for DcqcnPacer {
    #[inline]
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, wire_bytes: u32) {
        if let Some(dcqcn) = &mut self.dcqcn {
            dcqcn.on_sent(now, wire_bytes);
            self.ready_at = dcqcn.ready_at();
        } else {
            self.wire_bytes = wire_bytes;
            self.ready_at = now + self.config.span_at_line_rate(wire_bytes);
        }
    }

    #[inline]
    fn on_cnp(&mut self, now: Instant) {
        let mut dcqcn = self.dcqcn.take().unwrap_or_else(|| self.begin());
        dcqcn.on_cnp(now);
        self.ready_at = dcqcn.ready_at();
        self.dcqcn = Some(dcqcn);
    }

    fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        let line_rate_bps = self.config.line_rate_bps;
        self.dcqcn.as_ref().map_or(Some(line_rate_bps), |dcqcn| dcqcn.rate_bps_at(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(byte_counter_bytes: u64, clamp_target_rate: bool) -> DcqcnConfig {
        DcqcnConfig {
            g: (1 << 20) / 256,
            initial_alpha: DcqcnConfig::ALPHA_ONE,
            alpha_timer: Span::from_us(5),
            rate_cut_period: Span::from_us(4),
            increase_timer: Span::from_us(6),
            byte_counter_bytes,
            fast_recovery_rounds: 2,
            additive_increase_bps: 40_000_000,
            hyper_increase_bps: 400_000_000,
            rate_min_bps: 100_000_000,
            clamp_target_rate,
            line_rate_bps: 400_000_000_000,
        }
    }

    proptest! {
        #[test]
        fn a_pacer_is_dcqcn_from_the_start(
            steps in prop::collection::vec((0_u64..3_000_000, 84_u32..5_000, 0_u8..8), 1..300),
            byte_counter_bytes in prop::sample::select(vec![0, 20_000]),
            clamp_target_rate: bool,
        ) {
            let config = config(byte_counter_bytes, clamp_target_rate);
            let (mut dcqcn, mut pacer) = (Dcqcn::new(config), DcqcnPacer::new(Arc::new(config)));
            let mut now = Instant::ZERO;
            for (gap_ps, wire_bytes, kind) in steps {
                now += Span(gap_ps);
                if kind == 0 {
                    dcqcn.on_cnp(now);
                    pacer.on_cnp(now);
                } else if dcqcn.ready_at() <= now {
                    dcqcn.on_sent(now, wire_bytes);
                    pacer.on_sent(now, wire_bytes);
                }
                prop_assert_eq!(dcqcn.ready_at(), pacer.ready_at());
            }
        }
    }
}
