//! The transfers a host takes part in, and which of them wait for which.

use std::ops::Range;
use units::{Instant, Span};

/// A transfer that starts at this host.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// What must still happen first: transfers that have not arrived, and the one before it, if its rank has one
    /// transfer under way at a time.
    pub(crate) waits_for: u32,
    /// Its parts, see [`Transfers::part`].
    pub(crate) parts: Range<u32>,
    /// Parts that must still be acknowledged.
    pub(crate) parts_left: u32,
    /// The transfer that waits for its acknowledgement.
    pub(crate) next: Option<u32>,
}

/// A transfer that ends at this host.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    /// Parts that must still arrive.
    pub(crate) parts_left: u32,
    /// What waits for it, in [`Transfers::successors`].
    pub(crate) successors: Range<u32>,
}

/// The transfers of a host.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) inbound: Vec<Inbound>,
    /// Outgoing transfers that wait for an inbound one.
    pub(crate) successors: Vec<u32>,
    /// Sender and send of each part.
    pub(crate) parts: Vec<(u32, u32)>,
    /// When the job starts.
    pub(crate) start: Instant,
    /// Software overhead before each post.
    pub(crate) overhead: Span,
    /// Scratch space: what an arrival started.
    pub(super) started: Vec<u32>,
}

impl Transfers {
    /// What waits for nothing, with the time it is posted, in the order of the schedule.
    pub(super) fn initial(&self) -> impl Iterator<Item = (Instant, u32)> {
        let at = self.start + self.overhead;
        let ready = self.outgoing.iter().enumerate().filter(|(_, outgoing)| outgoing.waits_for == 0);
        ready.map(move |(index, _)| (at, index as u32))
    }

    pub(super) const fn overhead(&self) -> Span {
        self.overhead
    }

    /// Indices of the parts of an outgoing transfer.
    pub(super) fn parts(&self, outgoing: u32) -> Range<u32> {
        self.outgoing[outgoing as usize].parts.clone()
    }

    /// Sender and send of a part.
    pub(super) fn part(&self, part: u32) -> (u32, u32) {
        self.parts[part as usize]
    }

    /// One part of an inbound transfer has arrived; adds what may start now to `started`.
    pub(super) fn deliver_part(&mut self, inbound: u32, started: &mut Vec<u32>) {
        let transfer = &mut self.inbound[inbound as usize];
        transfer.parts_left -= 1;
        if transfer.parts_left > 0 {
            return;
        }
        for &successor in
            &self.successors[transfer.successors.start as usize..transfer.successors.end as usize]
        {
            let outgoing = &mut self.outgoing[successor as usize];
            outgoing.waits_for -= 1;
            if outgoing.waits_for == 0 {
                started.push(successor);
            }
        }
    }

    /// One part of an outgoing transfer has been acknowledged; returns what may start now.
    pub(super) fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
        let transfer = &mut self.outgoing[outgoing as usize];
        transfer.parts_left -= 1;
        let next = transfer.next.filter(|_| transfer.parts_left == 0)?;
        let waiting = &mut self.outgoing[next as usize];
        waiting.waits_for -= 1;
        (waiting.waits_for == 0).then_some(next)
    }
}
