//! Parameters of the transfers of a host: dependencies, phases (rounds, and barriers between them) and times
//! of its job, in lists that store equal or default items only once.

use crate::nic::ledger::WorkId;
use std::iter::repeat;
use units::{Instant, Span};

/// A transfer that starts at a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutgoingPlan {
    /// Its rank, among those of the host.
    pub(crate) process: u32,
    /// The transfer that waits for its acknowledgement.
    pub(crate) next: Option<u32>,
}

/// A transfer that ends at a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InboundPlan {
    /// Its rank, among those of the host.
    pub(crate) process: u32,
    /// Range in [`TransfersPlan::successors`] of the transfers that wait for it: first, and number.
    pub(crate) successors: (u32, u32),
}

/// One past the last transfers of a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseEnd {
    pub(crate) outgoing: u32,
    pub(crate) inbound: u32,
}

/// A list of mostly default items: stored up to the last other item; the rest are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanList<T> {
    count: u32,
    first: Vec<T>,
}

impl<T: Copy + Default + PartialEq> PlanList<T> {
    pub(crate) const fn of_defaults(count: usize) -> Self {
        Self { count: count as u32, first: Vec::new() }
    }

    /// Sets an item at an index that has none yet.
    #[inline]
    pub(crate) fn put(&mut self, index: u32, item: T) {
        self.count = self.count.max(index + 1);
        if item != T::default() {
            self.store(index as usize, item);
        }
    }

    #[inline(never)]
    fn store(&mut self, index: usize, item: T) {
        if index >= self.first.len() {
            self.first.resize(index + 1, T::default());
        }
        self.first[index] = item;
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// All items, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.first.iter().copied().chain(repeat(T::default())).take(self.count as usize)
    }

    /// Whether `is` holds for some item other than the default.
    pub(super) fn any(&self, is: impl Fn(&T) -> bool) -> bool {
        self.first.iter().any(is)
    }
}

/// The transfers of a host, in the order of the schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransfersPlan {
    pub(crate) times: JobTimes,
    /// Ranks on the host.
    pub(crate) processes: u32,
    /// Parts of each transfer.
    pub(crate) split: u32,
    pub(crate) outgoing: PlanList<OutgoingPlan>,
    pub(crate) inbound: PlanList<InboundPlan>,
    /// Outgoing transfers that wait for an inbound one.
    pub(crate) successors: Vec<u32>,
    /// Sender and send of each part, transfer by transfer; empty if both have the number of the part.
    pub(crate) parts: Vec<(u32, WorkId)>,
    /// Ends of the phases of a cycle; empty if there is only one.
    pub(crate) phase_ends: Vec<PhaseEnd>,
    /// Post time of each outgoing transfer of open-loop traffic, ascending; empty if dependencies determine
    /// it.
    pub(crate) releases: Vec<Instant>,
}

/// Times of the job of a host, and the number of its phases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobTimes {
    pub(crate) start: Instant,
    /// The start is later than at others, by the clock of the host.
    pub(crate) begins_late: bool,
    /// Software overhead before each post.
    pub(crate) overhead: Span,
    /// Time for which a rank is busy with each message that it sends.
    pub(crate) send_overhead: Span,
    /// Time for which a rank is busy with each message that it receives.
    pub(crate) receive_overhead: Span,
    /// Time for which a rank computes and copies its own block at the start of a round.
    pub(crate) round_work: Span,
    /// Number of phases: rounds and the barriers between them; `None` if the job runs until other jobs end.
    pub(crate) phases: Option<u32>,
    pub(crate) job: u32,
    /// Rounds that are not measured.
    pub(crate) warm_up_rounds: u32,
    /// Every second phase is a barrier.
    pub(crate) has_barriers: bool,
}

impl JobTimes {
    /// Whether the durations of a rank's rounds are reported: there are several, back to back.
    pub(super) const fn notes_rounds(&self) -> bool {
        !self.has_barriers && !matches!(self.phases, Some(0 | 1))
    }

    /// The round of a phase, unless it is a barrier.
    pub(super) const fn round_of(&self, phase: u32) -> Option<u32> {
        match self.has_barriers {
            false => Some(phase),
            true if phase.is_multiple_of(2) => Some(phase / 2),
            true => None,
        }
    }
}
