//! WRITEs with immediate that have come before their turn, under selective recovery.

use std::collections::VecDeque;
use wire::Psn;

/// What the completion of a receive is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) immediate: u32,
    pub(super) bytes: u64,
}

/// Notices whose packets are placed, and that no receive has told.
///
/// One is taken if there are more receives than notices before it. So there are never more than the window of
/// packets has, and one that comes late finds the receive that others behind it have not taken yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    /// Some packet before theirs has not come; first the oldest.
    early: VecDeque<(Psn, Notice)>,
    /// All before them have come, but receives are missing.
    due: VecDeque<Notice>,
}

impl Notices {
    /// How many a receive must tell before that of a packet which has not come yet.
    pub(super) fn before(&self, psn: Psn) -> usize {
        self.due.len() + self.early.partition_point(|(early, _)| early.distance_from(psn) < 0)
    }

    /// A packet is placed.
    pub(super) fn insert(&mut self, psn: Psn, notice: Notice) {
        let place = self.early.partition_point(|(early, _)| early.distance_from(psn) < 0);
        self.early.insert(place, (psn, notice));
    }

    /// Everything up to and with `newest` has come.
    pub(super) fn advance(&mut self, newest: Psn) {
        while let Some((psn, notice)) = self.early.front()
            && psn.distance_from(newest) <= 0
        {
            self.due.push_back(*notice);
            self.early.pop_front();
        }
    }

    /// The next one that a receive is to tell.
    pub(super) fn pop(&mut self) -> Option<Notice> {
        self.due.pop_front()
    }
}
