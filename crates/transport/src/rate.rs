//! When a requester may send.

use crate::{Dcqcn, DcqcnConfig};
use std::sync::Arc;
use units::{Cycle, Instant};

/// Paces one requester. Timers are applied lazily, when the queue pair next sends or hears something.
pub trait RateControl {
    /// The earliest time of the next packet.
    fn ready_at(&self) -> Instant;

    /// A packet that occupies `wire_bytes` of the link was sent at `now`.
    fn on_sent(&mut self, now: Instant, wire_bytes: u32);

    /// A congestion notification packet arrived.
    fn on_cnp(&mut self, now: Instant);
}

/// No control: as fast as the port takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineRate;

impl RateControl for LineRate {
    #[inline]
    fn ready_at(&self) -> Instant {
        Instant::ZERO
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, _wire_bytes: u32) {}

    #[inline]
    fn on_cnp(&mut self, _now: Instant) {}
}

/// One of the controllers, chosen when a run is set up. All queue pairs of a run agree, so the branch is always
/// predicted; at line rate nothing more than it is paid.
#[derive(Clone, Debug)]
pub enum Controller {
    /// See [`LineRate`].
    LineRate(LineRate),
    /// See [`Dcqcn`].
    Dcqcn(DcqcnPacer),
}

impl Controller {
    /// A packet may have to wait for it.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        !matches!(self, Self::LineRate(_))
    }

    /// See [`Cycle`].
    pub fn visit(&mut self, cycle: &mut Cycle) {
        match self {
            Self::LineRate(LineRate) => {}
            Self::Dcqcn(pacer) => pacer.visit(cycle),
        }
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

    /// Current rate at `now` [bit/s].
    #[must_use]
    pub fn rate_bps_at(&self, now: Instant) -> u64 {
        self.dcqcn.as_ref().map_or(self.config.line_rate_bps, |dcqcn| dcqcn.rate_bps_at(now))
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
}

impl RateControl for Controller {
    #[inline]
    fn ready_at(&self) -> Instant {
        match self {
            Self::LineRate(_) => Instant::ZERO,
            Self::Dcqcn(pacer) => pacer.ready_at(),
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, wire_bytes: u32) {
        if let Self::Dcqcn(pacer) = self {
            pacer.on_sent(now, wire_bytes);
        }
    }

    #[inline]
    fn on_cnp(&mut self, now: Instant) {
        if let Self::Dcqcn(pacer) = self {
            pacer.on_cnp(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Span;

    fn config(byte_counter_bytes: u64, clamp_target_rate: bool) -> DcqcnConfig {
        DcqcnConfig {
            g: (1 << 20) / 256,
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
