//! Arrivals of a time window (step of the simulation) at a switch of a scheduled fabric, sorted by time.

use crate::packet::Packet;
use crate::switch::WINDOW_MAX;
use engine::{Inbox, Message, Window};

/// Bits of a sort key for the index of the arrival.
const INDEX_BITS: u32 = 32;
const _: () = assert!(WINDOW_MAX.0 < 1 << (u64::BITS - INDEX_BITS), "a key contains the times of a window");

/// A packet that arrives at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) packet: Packet,
    /// Inbox of the node.
    pub(super) inbox: u32,
}

/// Arrivals at a node; meaningless between windows, so all nodes of a partition share one.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// By (inbox, sequence).
    arrivals: Vec<Arrival>,
    /// Sort keys: picoseconds since the window began, above the index in `arrivals`.
    keys: Vec<u64>,
}

impl Arrivals {
    /// Removes all packets from `inboxes` that arrive before the end of `window`.
    pub(super) fn take(&mut self, window: Window, inboxes: &mut [Inbox<Packet>]) {
        self.arrivals.clear();
        self.keys.clear();
        for (inbox, messages) in (0..).zip(inboxes) {
            while let Some(packet) = messages.take_before(window.end) {
                let index = self.arrivals.len() as u64;
                self.keys.push(packet.at().since(window.start).0 << INDEX_BITS | index);
                self.arrivals.push(Arrival { packet, inbox });
            }
        }
        self.keys.sort_unstable();
    }

    /// The arrival after `earlier` others by (time, inbox, sequence).
    #[inline]
    pub(super) fn get(&self, earlier: usize) -> Option<&Arrival> {
        let key = *self.keys.get(earlier)?;
        Some(&self.arrivals[key as u32 as usize])
    }

    /// By (time, inbox, sequence).
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Arrival> {
        self.keys.iter().map(|&key| &self.arrivals[key as u32 as usize])
    }
}
