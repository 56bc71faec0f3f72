//! What a node may do while it is processed: send messages and report records.

use super::bits::BitSet;
use super::{Message, Window};
use units::{Instant, Span};

/// One directed link's inbox, resolved at build time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The partition of the receiving node.
    pub(crate) partition: u32,
    /// The inbox within that partition.
    pub(crate) inbox: u32,
    /// The node within that partition.
    pub(crate) node: u32,
}

/// Inboxes of the coming windows, and what is leaving for other partitions.
pub(crate) struct Context<M, R> {
    partition: u32,
    span: Span,
    window: Window,
    /// `slots[window % slots.len()][inbox]`.
    slots: Vec<Vec<Vec<M>>>,
    active: Vec<BitSet>,
    remote: Vec<Vec<(Destination, M)>>,
    /// Earliest arrival among what left for other partitions in this window.
    remote_earliest: Instant,
    /// Reported in this window.
    pub(crate) records: Vec<R>,
    /// Sent and achieved since the start.
    pub(crate) totals: Totals,
}

/// What a partition counts for the outside.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Messages sent.
    pub(crate) messages: u64,
    /// Progress of the application, in its own unit.
    pub(crate) progress: u64,
}

impl<M: Message, R> Context<M, R> {
    pub(super) fn new(
        partition: u32,
        partitions: usize,
        nodes: usize,
        inboxes: usize,
        span: Span,
        slots: usize,
    ) -> Self {
        assert!(slots.is_power_of_two(), "slots are addressed by masking");
        Self {
            partition,
            span,
            window: Window::new(0, span),
            slots: (0..slots).map(|_| (0..inboxes).map(|_| Vec::new()).collect()).collect(),
            active: vec![BitSet::new(nodes); slots],
            remote: (0..partitions).map(|_| Vec::new()).collect(),
            remote_earliest: Instant::NEVER,
            records: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Sends `message`, which must arrive after the present window.
    #[inline]
    pub(crate) fn send(&mut self, to: Destination, message: M) {
        debug_assert!(message.at() >= self.window.end, "a message outran the lookahead");
        self.totals.messages += 1;
        if to.partition == self.partition {
            // Nearly every message lands in the next window or the one after; no division for those.
            let beyond = message.at().0 - self.window.end.0;
            let ahead = match beyond {
                _ if beyond < self.span.0 => 0,
                _ if beyond < 2 * self.span.0 => 1,
                _ => beyond / self.span.0,
            };
            self.store(self.window.index + 1 + ahead, to, message);
        } else {
            self.remote_earliest = self.remote_earliest.min(message.at());
            self.remote[to.partition as usize].push((to, message));
        }
    }

    /// Takes in a message from another partition.
    pub(super) fn receive(&mut self, to: Destination, message: M) {
        self.store(message.at().0 / self.span.0, to, message);
    }

    #[inline]
    fn store(&mut self, window: u64, to: Destination, message: M) {
        let slot = window as usize & (self.slots.len() - 1);
        self.slots[slot][to.inbox as usize].push(message);
        self.active[slot].insert(to.node);
    }

    /// Makes `node` active in `window`, which must be within the horizon.
    pub(super) fn wake(&mut self, window: u64, node: u32) {
        let slot = window as usize & (self.slots.len() - 1);
        self.active[slot].insert(node);
    }

    /// One past the last window that has a slot, seen from the present one.
    pub(super) const fn horizon(&self) -> u64 {
        self.window.index + self.slots.len() as u64
    }

    /// Enters `window` and hands out its inboxes and active nodes; give both back with [`Self::leave`].
    pub(super) fn enter(&mut self, window: Window) -> (Vec<Vec<M>>, BitSet) {
        self.window = window;
        self.remote_earliest = Instant::NEVER;
        let slot = window.index as usize & (self.slots.len() - 1);
        (std::mem::take(&mut self.slots[slot]), std::mem::take(&mut self.active[slot]))
    }

    pub(super) fn leave(&mut self, inboxes: Vec<Vec<M>>, active: BitSet) {
        let slot = self.window.index as usize & (self.slots.len() - 1);
        self.slots[slot] = inboxes;
        self.active[slot] = active;
    }

    /// The next window in which something here is active.
    pub(super) fn next_active(&self) -> Option<u64> {
        (self.window.index + 1..self.horizon())
            .find(|&window| !self.active[window as usize & (self.slots.len() - 1)].is_empty())
    }

    /// The window of the earliest message that left for another partition.
    pub(super) fn next_remote(&self) -> Option<u64> {
        (self.remote_earliest != Instant::NEVER).then(|| self.remote_earliest.0 / self.span.0)
    }

    /// What left for `partition`; drain it.
    pub(super) fn outgoing(&mut self, partition: usize) -> &mut Vec<(Destination, M)> {
        &mut self.remote[partition]
    }

    /// Messages that no node has seen yet and that `counts` tells to count.
    pub(super) fn in_flight(&self, counts: impl Fn(&M) -> bool) -> u64 {
        let waiting = self.slots.iter().flatten().flatten().filter(|message| counts(message)).count();
        let leaving = self.remote.iter().flatten().filter(|(_, message)| counts(message)).count();
        (waiting + leaving) as u64
    }
}
