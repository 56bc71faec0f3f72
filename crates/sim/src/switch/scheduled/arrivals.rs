//! What comes in at a node in a window, in order of time.

use crate::packet::Packet;
use engine::{Inbox, Message};
use units::Instant;

/// Something that comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) packet: Packet,
    /// The inbox of the node, and which of its messages in this window.
    pub(super) inbox: u32,
    place: u32,
}

/// What comes in at a node; of no meaning between windows, so all nodes of a partition share one.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    arrivals: Vec<Arrival>,
}

impl Arrivals {
    /// Takes everything out of `inboxes` that arrives before `end`.
    pub(super) fn take(&mut self, end: Instant, inboxes: &mut [Inbox<Packet>]) {
        self.arrivals.clear();
        for (number, inbox) in inboxes.iter_mut().enumerate() {
            while let Some(packet) = inbox.take_before(end) {
                let place = self.arrivals.len() as u32;
                self.arrivals.push(Arrival { packet, inbox: number as u32, place });
            }
        }
        self.arrivals.sort_unstable_by_key(|arrival| (arrival.packet.at(), arrival.inbox, arrival.place));
    }

    /// By (time, inbox, sequence).
    pub(super) fn in_order(&self) -> &[Arrival] {
        &self.arrivals
    }
}
