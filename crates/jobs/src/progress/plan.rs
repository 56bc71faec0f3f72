//! Parameters of a [`Progress`](super::Progress): transfers with their dependencies, phases (rounds, and
//! barriers between them) and times of a job, in lists that store equal or default items only once.

use spec::{CollectiveSpec, RunSpec, SharedMemorySpec};
use std::iter::repeat;
use units::{Instant, Rate, Span};
use workload::{Message, RankTimes};

/// A transfer that starts at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutgoingPlan {
    /// Its rank, among those of the place.
    pub process: u32,
    /// The transfer that waits for its acknowledgement.
    pub next: Option<u32>,
    /// Times before its post.
    pub times: OutgoingTimes,
}

/// Times before the post of a transfer: see [`RankTimes`](workload::RankTimes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutgoingTimes {
    /// From the data that it forwards, or the start of its phase.
    pub before: Span,
    /// It clears a buffer of NCCL, which costs the software no time.
    pub is_clearance: bool,
}

impl OutgoingTimes {
    pub(super) fn of(times: RankTimes, message: Message) -> Self {
        Self { before: times.before, is_clearance: message == Message::Cts }
    }
}

/// A transfer that ends at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboundPlan {
    /// Its rank, among those of the place.
    pub process: u32,
    /// Range in [`ProgressPlan::successors`] of the transfers that wait for it: first, and number.
    pub successors: (u32, u32),
    /// Times after its arrival.
    pub times: InboundTimes,
}

/// Times after the arrival of a transfer: see [`RankTimes`](workload::RankTimes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboundTimes {
    /// For which it occupies the rank.
    pub busy: Span,
    /// After that, until the rank has finished with it.
    pub after: Span,
    /// It clears a buffer of NCCL, which costs the software no time.
    pub is_clearance: bool,
}

impl InboundTimes {
    pub(super) fn of(times: RankTimes, message: Message) -> Self {
        Self { busy: times.busy, after: times.after, is_clearance: message == Message::Cts }
    }
}

/// One past the last transfers of a phase at a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseEnd {
    /// One past the last outgoing transfer.
    pub outgoing: u32,
    /// One past the last inbound transfer.
    pub inbound: u32,
}

/// A list of mostly default items: stored up to the last other item; the rest are counted.
#[derive(Clone, Debug, Default)]
pub struct PlanList<T> {
    count: u32,
    first: Vec<T>,
}

impl<T: Copy + Default + PartialEq> PlanList<T> {
    /// A list of default items.
    #[must_use]
    pub const fn of_defaults(count: usize) -> Self {
        Self { count: count as u32, first: Vec::new() }
    }

    /// Sets an item at an index that has none yet.
    #[inline]
    pub fn put(&mut self, index: u32, item: T) {
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

    /// Number of items.
    #[must_use]
    pub const fn count(&self) -> u32 {
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

/// The transfers of a job at a place, in the order of the schedule.
#[derive(Clone, Debug, Default)]
pub struct ProgressPlan {
    /// Times of the job.
    pub times: JobTimes,
    /// Number of its ranks at the place.
    pub processes: u32,
    /// Parts of each transfer.
    pub split: u32,
    /// Transfers that start at the place.
    pub outgoing: PlanList<OutgoingPlan>,
    /// Transfers that end at the place.
    pub inbound: PlanList<InboundPlan>,
    /// Outgoing transfers that wait for an inbound one.
    pub successors: Vec<u32>,
    /// Ends of the phases of a cycle; empty if there is only one.
    pub phase_ends: Vec<PhaseEnd>,
    /// Post time of each outgoing transfer of open-loop traffic, ascending; empty if dependencies determine
    /// it.
    pub releases: Vec<Instant>,
}

impl ProgressPlan {
    /// Sets the release of an outgoing transfer, `after` the start of the job.
    #[inline(never)]
    pub(super) fn put_release(&mut self, index: u32, after: Span) {
        let index = index as usize;
        if index >= self.releases.len() {
            self.releases.resize(index + 1, self.times.start);
        }
        self.releases[index] = self.times.start + after;
    }
}

/// Times of a job, and the number of its phases.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobTimes {
    /// Start of the job at the place.
    pub start: Instant,
    /// The start is later than at others, by the clock of the host.
    pub begins_late: bool,
    /// Software overhead before each post.
    pub overhead: Span,
    /// Time for which a rank is busy with each message that it sends.
    pub send_overhead: Span,
    /// Time for which a rank is busy with each message that it receives.
    pub receive_overhead: Span,
    /// Time for which a rank computes and copies its own block at the start of a round.
    pub round_work: Span,
    /// Copies between ranks of a host.
    pub memory: SharedMemorySpec,
    /// Number of phases: rounds and the barriers between them; `None` if the job runs until other jobs end.
    pub phases: Option<u32>,
    /// Index of the job in the run.
    pub job: u32,
    /// Rounds that are not measured.
    pub warm_up_rounds: u32,
    /// Every second phase is a barrier.
    pub has_barriers: bool,
    /// The place is a real host, whose software takes its own time.
    pub is_real_host: bool,
}

impl JobTimes {
    /// The times of job `index` of a spec.
    #[must_use]
    pub fn new(spec: &RunSpec, index: u32) -> Self {
        let job = &spec.jobs[index as usize];
        let times = Self {
            start: Instant(job.start_ps),
            phases: job.phases_planned(),
            memory: spec.fabric.memory_of(job),
            job: index,
            ..Self::default()
        };
        let Some(collective) = job.work.collective() else { return times };
        let CollectiveSpec { pattern, copies_own_block, .. } = collective;
        let block_bytes = if *copies_own_block { pattern.data_bytes / job.hosts.len() as u64 } else { 0 };
        Self {
            overhead: Span(collective.step_overhead_ps),
            send_overhead: Span(collective.send_overhead_ps),
            receive_overhead: Span(collective.receive_overhead_ps),
            round_work: Span(collective.compute_ps)
                + Rate::from_bps(times.memory.rate_bps).span_of(block_bytes),
            warm_up_rounds: collective.warm_up_rounds,
            has_barriers: collective.barrier,
            ..times
        }
    }

    /// The same times on a host whose clock is late by `offset`.
    #[must_use]
    pub fn late_by(self, offset: Span) -> Self {
        Self { start: self.start + offset, begins_late: offset > Span::ZERO, ..self }
    }

    /// The same times on a real host, whose software takes its own time for messages and rounds.
    #[must_use]
    pub const fn of_real_host(self) -> Self {
        let no = Span::ZERO;
        Self { send_overhead: no, receive_overhead: no, round_work: no, is_real_host: true, ..self }
    }

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
