//! When a requester may send.

use units::Instant;

/// Paces one requester. Implementations are monomorphised into the requester; timers are applied lazily, when
/// the queue pair next sends or hears something.
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
