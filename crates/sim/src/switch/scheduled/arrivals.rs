//! What comes in at a node in a window, in order of time.

use crate::packet::Packet;
use crate::switch::WINDOW_MAX;
use engine::{Inbox, Message, Window};

/// Bits of a turn for the place among the arrivals.
const PLACE_BITS: u32 = 32;
const _: () = assert!(WINDOW_MAX.0 < 1 << (u64::BITS - PLACE_BITS), "a turn holds the times of a window");

/// Something that comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) packet: Packet,
    /// The inbox of the node.
    pub(super) inbox: u32,
}

/// What comes in at a node; of no meaning between windows, so all nodes of a partition share one.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// By (inbox, sequence).
    arrivals: Vec<Arrival>,
    /// When each arrives and where it stands above: the picoseconds since the window began, above the place.
    turns: Vec<u64>,
}

impl Arrivals {
    /// Takes everything out of `inboxes` that arrives before the end of `window`.
    pub(super) fn take(&mut self, window: Window, inboxes: &mut [Inbox<Packet>]) {
        self.arrivals.clear();
        self.turns.clear();
        for (inbox, messages) in (0..).zip(inboxes) {
            while let Some(packet) = messages.take_before(window.end) {
                let place = self.arrivals.len() as u64;
                self.turns.push(packet.at().since(window.start).0 << PLACE_BITS | place);
                self.arrivals.push(Arrival { packet, inbox });
            }
        }
        self.turns.sort_unstable();
    }

    /// The one with `earlier` before it by (time, inbox, sequence).
    #[inline]
    pub(super) fn get(&self, earlier: usize) -> Option<&Arrival> {
        let turn = *self.turns.get(earlier)?;
        Some(&self.arrivals[turn as u32 as usize])
    }

    /// By (time, inbox, sequence).
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Arrival> {
        self.turns.iter().map(|&turn| &self.arrivals[turn as u32 as usize])
    }
}
