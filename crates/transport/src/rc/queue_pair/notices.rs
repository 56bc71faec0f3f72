//! Immediate data of WRITEs that arrived out of order, under selective recovery: stored until the receive
//! that it completes is next.

use std::collections::VecDeque;
use wire::Psn;

/// Fields for the completion of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) immediate: u32,
    pub(super) bytes: u64,
}

/// Notices whose packets are placed, but whose receives are not completed yet.
///
/// A notice is accepted only if there are more receives than notices before it. So their number is at most
/// the window of packets, and a late notice finds the receive that later ones have left for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    /// Notices after a missing packet, with their PSNs, oldest first.
    early: VecDeque<(Psn, Notice)>,
    /// Notices with all packets before them arrived, but without a receive.
    due: VecDeque<Notice>,
}

impl Notices {
    /// Number of notices to complete before that of packet `psn`, which has not arrived yet.
    pub(super) fn before(&self, psn: Psn) -> usize {
        self.due.len() + self.early.partition_point(|(early, _)| early.distance_from(psn) < 0)
    }

    /// A packet with a notice was placed.
    pub(super) fn insert(&mut self, psn: Psn, notice: Notice) {
        let index = self.early.partition_point(|(early, _)| early.distance_from(psn) < 0);
        self.early.insert(index, (psn, notice));
    }

    /// Everything up to and including `newest` has arrived.
    pub(super) fn advance(&mut self, newest: Psn) {
        while let Some((psn, notice)) = self.early.front()
            && psn.distance_from(newest) <= 0
        {
            self.due.push_back(*notice);
            self.early.pop_front();
        }
    }

    /// The next notice to complete a receive with.
    pub(super) fn pop(&mut self) -> Option<Notice> {
        self.due.pop_front()
    }
}
