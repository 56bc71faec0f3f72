//! Rate control of a requester: send time of the next packet and number of packets in flight. The interface,
//! the parameters of a run, and the controller of a queue pair. One file per algorithm.

mod dcqcn;
mod swift;
mod timely;

pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use swift::{Swift, SwiftConfig};
pub use timely::{Timely, TimelyConfig};

use crate::Position;
use crate::adapter::{Adapter, AdapterConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use units::{Instant, Rate, Span, State};
use wire::Psn;

/// An acknowledgement as a rate controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Time of arrival.
    pub now: Instant,
    /// Packets newly acknowledged by it; at least one.
    pub packets: u32,
    /// Round-trip time of the newest of these packets; `None` if it was sent more than once, since it is
    /// ambiguous which transmission is acknowledged (Karn and Partridge, SIGCOMM 1987).
    pub rtt: Option<Span>,
    /// The acknowledgement itself arrived marked "congestion experienced", on the reverse path. RoCEv2
    /// reports congestion of the data by CNPs.
    pub is_marked: bool,
}

/// How a requester detected a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The responder reported a missing packet.
    Nak,
    /// Nothing was received for a whole timeout.
    Timeout,
}

/// Paces one requester by a rate, a window, or both. Timers are applied lazily, at the next packet that the
/// queue pair sends or receives.
pub trait RateControl {
    /// The earliest time of the next packet.
    fn ready_at(&self) -> Instant;

    /// Maximum of packets in flight. The window of [`crate::Config`] applies as well.
    fn window_packets(&self) -> u32 {
        u32::MAX
    }

    /// A packet was sent at `now`; it occupies `wire_bytes` of the link.
    fn on_sent(&mut self, now: Instant, wire_bytes: u32);

    /// Packets were acknowledged.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// A congestion notification packet arrived.
    fn on_cnp(&mut self, _now: Instant) {}

    /// A loss was detected.
    fn on_loss(&mut self, _now: Instant, _loss: Loss) {}

    /// Current rate at `now` [bit/s], if the controller has one.
    fn rate_bps_at(&self, now: Instant) -> Option<u64>;
}

/// Rate control of a run, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "RateControl")]
pub enum RateControlSpec {
    /// As fast as the port takes it.
    LineRate {
        /// A receiver of marked packets sends at most one CNP per queue pair in this time, which the sender
        /// counts without a reaction [ps]; absent, marks are counted alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cnp_interval_ps: Option<u64>,
    },
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn(DcqcnConfig),
    /// Swift (Kumar et al., SIGCOMM 2020).
    Swift(SwiftConfig),
    /// TIMELY (Mittal et al., SIGCOMM 2015).
    Timely(TimelyConfig),
}

/// A field of a rate control that another of its fields limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub number: u64,
    /// Allowed values.
    pub allowed: RangeInclusive<u64>,
    /// Name of the field that limits it.
    pub limited_by: &'static str,
}

impl RateControlSpec {
    /// As fast as the port takes it, without CNPs.
    pub const LINE_RATE: Self = Self::LineRate { cnp_interval_ps: None };

    /// Whether nothing but the port paces a requester.
    #[must_use]
    pub const fn is_line_rate(&self) -> bool {
        matches!(self, Self::LineRate { .. })
    }

    /// Initial controller of queue pairs with this MTU at a port with this rate.
    #[must_use]
    pub fn controller(&self, mtu_bytes: u32, line_rate: Rate) -> Controller {
        match *self {
            Self::LineRate { .. } => Controller::LineRate,
            Self::Dcqcn(config) => Controller::Dcqcn(DcqcnPacer::new(config, line_rate)),
            Self::Swift(config) => Controller::Swift(Timed::boxed(Swift::new(config, mtu_bytes, line_rate))),
            Self::Timely(config) => {
                Controller::Timely(Timed::boxed(Timely::new(config, mtu_bytes, line_rate)))
            }
        }
    }

    /// Fields that another field of the same control limits.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        match *self {
            Self::LineRate { .. } | Self::Dcqcn(_) => Vec::new(),
            Self::Swift(config) => vec![
                Limit {
                    field: "window_min_2e20",
                    number: config.window_min_2e20,
                    allowed: 0..=config.window_max_2e20,
                    limited_by: "window_max_2e20",
                },
                Limit {
                    field: "scaling_window_min_2e20",
                    number: config.scaling_window_min_2e20,
                    allowed: 0..=config.scaling_window_max_2e20,
                    limited_by: "scaling_window_max_2e20",
                },
            ],
            Self::Timely(config) => vec![Limit {
                field: "rtt_low_ps",
                number: config.rtt_low_ps,
                allowed: 1..=config.rtt_high_ps,
                limited_by: "rtt_high_ps",
            }],
        }
    }

    /// Minimum interval between congestion notifications of a receiving queue pair; `None` if it sends none.
    #[must_use]
    pub fn cnp_interval(&self) -> Option<Span> {
        match *self {
            Self::LineRate { cnp_interval_ps } => cnp_interval_ps.map(Span),
            Self::Dcqcn(config) => Some(Span(config.cnp_interval_ps)),
            Self::Swift(_) | Self::Timely(_) => None,
        }
    }

    /// Round-trip time above which a queue pair slows down on a path of this many links; `None` if no
    /// round-trip time does.
    #[must_use]
    pub const fn target_delay(&self, links: u64) -> Option<Span> {
        match *self {
            Self::LineRate { .. } | Self::Dcqcn(_) => None,
            Self::Swift(config) => Some(Span(config.base_target_ps + config.hop_target_ps * links)),
            Self::Timely(config) => Some(Span(config.rtt_high_ps)),
        }
    }

    /// Longest interval between two packets of a queue pair. Round-trip times above `timeout` are not measured,
    /// since their packets are resent.
    #[must_use]
    pub fn interval_max(&self, packet_bytes: u64, timeout: Span) -> Span {
        let at_rate = |rate_bps| Rate::from_bps(rate_bps).span_of(packet_bytes);
        match *self {
            Self::LineRate { .. } => Span::ZERO,
            Self::Dcqcn(config) => at_rate(config.rate_min_bps),
            Self::Timely(config) => at_rate(config.rate_min_bps),
            Self::Swift(config) => {
                let round_trip = u128::from(config.base_target_ps.max(timeout.0));
                let gap = (round_trip << 20).div_ceil(config.window_min_2e20.into());
                Span(gap.try_into().unwrap_or(u64::MAX))
            }
        }
    }
}

/// Rate controller of a queue pair, chosen when a run is set up. All queue pairs of a run use the same
/// variant, so the branch is always predicted, and it is the only cost at line rate.
#[derive(Clone, Debug, State)]
pub enum Controller {
    /// No control: as fast as the port accepts packets.
    LineRate,
    /// DCQCN; see [`Dcqcn`].
    Dcqcn(DcqcnPacer),
    /// Swift; see [`Swift`].
    // Measured round-trip times hardly ever repeat.
    #[state(never)]
    Swift(Box<Timed<Swift>>),
    /// TIMELY; see [`Timely`].
    #[state(never)]
    Timely(Box<Timed<Timely>>),
    /// Another controller behind an adapter with a cost per message.
    Adapter(Box<Adapter>),
}

impl Controller {
    /// Wraps the controller into an adapter if it has a cost per message.
    #[must_use]
    pub fn in_adapter(self, config: Option<&Arc<AdapterConfig>>) -> Self {
        match config {
            Some(config) => Self::Adapter(Box::new(Adapter::new(Arc::clone(config), self))),
            None => self,
        }
    }

    /// Sets the number of links of the path.
    pub fn set_links(&mut self, links: u32) {
        match self {
            Self::Swift(swift) => swift.control.set_links(links),
            Self::Adapter(adapter) => adapter.inner_mut().set_links(links),
            Self::LineRate | Self::Dcqcn(_) | Self::Timely(_) => {}
        }
    }

    /// A message was posted after all earlier ones had been sent; `is_at_rest` if they were also
    /// acknowledged.
    #[inline]
    pub fn on_post(&mut self, now: Instant, is_at_rest: bool) {
        if let Self::Adapter(adapter) = self {
            adapter.on_post(now, is_at_rest);
        }
    }

    /// The next packet is sent at `now` and has this position in its message.
    #[inline]
    pub fn on_position(&mut self, now: Instant, position: Position) {
        if let Self::Adapter(adapter) = self {
            adapter.on_position(now, position);
        }
    }

    /// Whether the controller may delay packets.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::LineRate)
    }

    /// Whether it uses acknowledgements and losses, so that [`Self::on_ack`] and [`Self::on_loss`] must be
    /// called.
    #[must_use]
    pub const fn uses_acks(&self) -> bool {
        match self {
            Self::Swift(_) | Self::Timely(_) => true,
            Self::LineRate | Self::Dcqcn(_) => false,
            Self::Adapter(adapter) => adapter.inner().uses_acks(),
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

    /// Maximum of packets in flight; see [`RateControl::window_packets`].
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

    /// The packet `psn` was sent at `now`; it occupies `wire_bytes` of the link.
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

    /// `packets` more packets were acknowledged; `is_marked` as in [`Ack::is_marked`].
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

    /// A loss was detected.
    pub fn on_loss(&mut self, now: Instant, loss: Loss) {
        match self {
            Self::LineRate | Self::Dcqcn(_) => {}
            Self::Swift(swift) => swift.control.on_loss(now, loss),
            Self::Timely(timely) => timely.control.on_loss(now, loss),
            Self::Adapter(adapter) => adapter.inner_mut().on_loss(now, loss),
        }
    }

    /// Current rate at `now` [bit/s]; `None` at line rate.
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
}

/// A controller that measures round-trip times, with the send times of packets in flight.
#[derive(Clone, Debug)]
pub struct Timed<C> {
    control: C,
    /// PSN of the first entry of `sent_at`.
    oldest: Psn,
    /// Send time of each packet in flight; `None` for resent packets.
    sent_at: VecDeque<Option<Instant>>,
}

impl<C: RateControl> Timed<C> {
    fn boxed(control: C) -> Box<Self> {
        Box::new(Self { control, oldest: Psn::new(0), sent_at: VecDeque::new() })
    }

    /// Not inlined, so that the paths of other controllers have the registers to themselves.
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
        self.control.on_sent(now, wire_bytes);
    }

    fn on_ack(&mut self, now: Instant, packets: u32, is_marked: bool) {
        let newest = self.sent_at.drain(..packets as usize).next_back().flatten();
        self.oldest = self.oldest.add(packets);
        let rtt = newest.map(|sent_at| now.since(sent_at));
        self.control.on_ack(&Ack { now, packets, rtt, is_marked });
    }
}

/// DCQCN that needs little memory before the first CNP: until then it paces at line rate.
#[derive(Clone, Debug, State)]
pub struct DcqcnPacer {
    /// State at the first CNP.
    #[state(skip)]
    initial: Arc<Dcqcn>,
    ready_at: Instant,
    /// Size on the link of the last packet, until the first CNP.
    wire_bytes: u32,
    /// Allocated at the first CNP.
    dcqcn: Option<Box<Dcqcn>>,
}

impl DcqcnPacer {
    /// Starts at line rate.
    #[must_use]
    pub fn new(config: DcqcnConfig, line_rate: Rate) -> Self {
        let initial = Arc::new(Dcqcn::new(config, line_rate));
        Self { initial, ready_at: Instant::ZERO, wire_bytes: 0, dcqcn: None }
    }

    #[cold]
    fn begin(&self) -> Box<Dcqcn> {
        let mut dcqcn = *self.initial;
        if self.wire_bytes > 0 {
            let paced_for = self.initial.span_at_line_rate(self.wire_bytes);
            dcqcn.on_sent(Instant(self.ready_at.0 - paced_for.0), self.wire_bytes);
        }
        Box::new(dcqcn)
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
            self.ready_at = now + self.initial.span_at_line_rate(wire_bytes);
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
        self.dcqcn.as_ref().map_or(Some(self.initial.rate_bps()), |dcqcn| dcqcn.rate_bps_at(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(byte_counter_bytes: u64, clamp_target_rate: bool) -> DcqcnConfig {
        DcqcnConfig {
            g_2e20: (1 << 20) / 256,
            initial_alpha_2e20: None,
            alpha_timer_ps: 5_000_000,
            rate_cut_period_ps: 4_000_000,
            increase_timer_ps: 6_000_000,
            byte_counter_bytes,
            fast_recovery_rounds: 2,
            additive_increase_bps: 40_000_000,
            hyper_increase_bps: 400_000_000,
            rate_min_bps: 100_000_000,
            clamp_target_rate,
            cnp_interval_ps: 4_000_000,
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
            let line_rate = Rate::from_gbps(400);
            let (mut dcqcn, mut pacer) = (Dcqcn::new(config, line_rate), DcqcnPacer::new(config, line_rate));
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
