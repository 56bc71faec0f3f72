//! When a requester may send.

use crate::Dcqcn;
use units::Instant;

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
    Dcqcn(Box<Dcqcn>),
}

impl RateControl for Controller {
    #[inline]
    fn ready_at(&self) -> Instant {
        match self {
            Self::LineRate(_) => Instant::ZERO,
            Self::Dcqcn(dcqcn) => dcqcn.ready_at(),
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, wire_bytes: u32) {
        if let Self::Dcqcn(dcqcn) = self {
            dcqcn.on_sent(now, wire_bytes);
        }
    }

    #[inline]
    fn on_cnp(&mut self, now: Instant) {
        if let Self::Dcqcn(dcqcn) = self {
            dcqcn.on_cnp(now);
        }
    }
}
