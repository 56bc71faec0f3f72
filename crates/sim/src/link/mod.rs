//! One direction of a link: transmitter (`egress`), flow control (`pause`, `credits`, `delayed`), failures
//! and rate changes (`changes`), corruption (`errors`); count of frames dropped for one cause.

pub(crate) mod changes;
pub(crate) mod credits;
pub(crate) mod delayed;
pub(crate) mod egress;
pub(crate) mod errors;
pub(crate) mod pause;

use crate::packet::Packet;
use std::iter::Sum;
use units::State;

/// Frames lost or dropped for one cause.
#[derive(Clone, Copy, Debug, Default, State)]
pub(crate) struct Dropped {
    #[state(count)]
    pub(crate) frames: u64,
    #[state(count)]
    pub(crate) bytes: u64,
}

impl Dropped {
    /// Counts one more.
    #[cold]
    pub(crate) fn count(&mut self, packet: &Packet) {
        self.frames += 1;
        self.bytes += u64::from(packet.frame_bytes());
    }
}

impl Sum for Dropped {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            frames: sum.frames + part.frames,
            bytes: sum.bytes + part.bytes,
        })
    }
}
