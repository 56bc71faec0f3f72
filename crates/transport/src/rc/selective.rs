//! Set of packets that the requester resends under selective recovery: those reported missing, and those
//! found missing after a timeout.

use std::collections::BTreeSet;

/// Packets reported or assumed missing. Stored as sequence numbers since creation; the methods take and
/// return distances from the oldest unacknowledged packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resends {
    /// The oldest unacknowledged packet.
    unacked: u64,
    /// Packets to resend.
    queued: BTreeSet<u64>,
    /// Packets reported missing and since then neither acknowledged nor timed out. Each was resent or is
    /// queued, so a further report of it is a copy.
    reported: BTreeSet<u64>,
    recovery: Option<Recovery>,
}

/// Recovery from a timeout, until all packets sent before it are accounted for.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// One past the last packet sent before the timeout.
    end: u64,
    /// Before this packet holes are resent one by one; from it on all packets were queued. `None` before the
    /// first acknowledgement.
    holes_end: Option<u64>,
}

impl Resends {
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Whether all losses are repaired.
    pub(crate) fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.reported.is_empty() && self.recovery.is_none()
    }

    /// Removes and returns the first packet to resend.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.queued.pop_first().map(|sequence| sequence - self.unacked)
    }

    /// The responder reported a missing packet.
    pub(crate) fn report(&mut self, missing: u64) {
        self.report_sequence(self.unacked + missing);
    }

    /// Makes the next report of this packet count as new.
    pub(crate) fn forget(&mut self, missing: u64) {
        self.reported.remove(&(self.unacked + missing));
    }

    fn report_sequence(&mut self, sequence: u64) {
        if self.reported.insert(sequence) {
            self.queued.insert(sequence);
        }
    }

    /// Nothing was received for a whole timeout, so nothing is in flight. Queues the oldest unacknowledged
    /// packet, to learn which of the `outstanding` packets are missing.
    pub(crate) fn probe(&mut self, outstanding: u32) {
        self.reported.clear();
        self.queued.insert(self.unacked);
        self.recovery = Some(Recovery { end: self.unacked + u64::from(outstanding), holes_end: None });
    }

    /// `acknowledged` more packets are acknowledged, and nothing has arrived from `highest_end` on, if that
    /// is known.
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
