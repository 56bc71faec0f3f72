//! What the requester resends under selective recovery.

use std::collections::BTreeSet;

/// Packets that are known to be missing. Inside they go by their sequence since this was made, outside by how
/// many packets they are beyond the oldest that is not acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resends {
    /// The oldest that is not acknowledged.
    unacked: u64,
    /// To be sent again.
    queued: BTreeSet<u64>,
    /// Reported missing and not acknowledged nor timed out since: it was sent again or is queued, and another
    /// report of it is a copy.
    reported: BTreeSet<u64>,
    recovery: Option<Recovery>,
}

/// What follows a timeout, until everything sent before it is accounted for.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// One past the last packet sent before the timeout.
    end: u64,
    /// Packets before this are holes one by one, those from here on were all queued; none before the first
    /// acknowledgement.
    holes_end: Option<u64>,
}

impl Resends {
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Nothing was lost that is not made good.
    pub(crate) fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.reported.is_empty() && self.recovery.is_none()
    }

    /// Takes out the first packet to send again.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.queued.pop_first().map(|sequence| sequence - self.unacked)
    }

    /// The responder misses a packet.
    pub(crate) fn report(&mut self, missing: u64) {
        self.report_sequence(self.unacked + missing);
    }

    /// The next report of that packet is none of what was reported before.
    pub(crate) fn forget(&mut self, missing: u64) {
        self.reported.remove(&(self.unacked + missing));
    }

    fn report_sequence(&mut self, sequence: u64) {
        if self.reported.insert(sequence) {
            self.queued.insert(sequence);
        }
    }

    /// Nothing was heard for a whole timeout: nothing is under way any more. The oldest unacknowledged packet
    /// is sent to learn which of those `outstanding` are missing.
    pub(crate) fn probe(&mut self, outstanding: u32) {
        self.reported.clear();
        self.queued.insert(self.unacked);
        self.recovery = Some(Recovery { end: self.unacked + u64::from(outstanding), holes_end: None });
    }

    /// So many packets more are acknowledged, and nothing has arrived from `highest_end` on, if that is
    /// known.
    pub(crate) fn on_progress(&mut self, acknowledged: u32, highest_end: Option<u64>) {
        self.unacked += u64::from(acknowledged);
        let unacked = self.unacked;
        forget_before(&mut self.queued, unacked);
        forget_before(&mut self.reported, unacked);
        let Some(mut recovery) = self.recovery else { return };
        if recovery.holes_end.is_none()
            && let Some(highest_end) = highest_end
        {
            let holes_end = (unacked + highest_end).min(recovery.end.max(unacked));
            self.queued.extend(holes_end..recovery.end);
            recovery.holes_end = Some(holes_end);
        }
        let is_hole = unacked < recovery.holes_end.unwrap_or(recovery.end);
        self.recovery = is_hole.then_some(recovery);
        if is_hole {
            self.report_sequence(unacked);
        }
    }
}

fn forget_before(set: &mut BTreeSet<u64>, sequence: u64) {
    while set.first().is_some_and(|&first| first < sequence) {
        set.pop_first();
    }
}
