//! What is left to do of each job.

use jobs::Jobs;
use spec::RunSpec;
use units::{Instant, TransferId};

/// No transfer.
pub(crate) const NONE: u32 = u32::MAX;

/// A rank's processor.
#[derive(Clone, Copy, Default)]
pub(crate) struct Process {
    pub(crate) busy_until: Instant,
    pub(crate) copying_until: Instant,
}

/// A job.
pub(crate) struct JobState {
    /// What each transfer waits for; empty where none waits.
    waits: Vec<u32>,
    /// Parts of each transfer to be delivered, and acknowledged; empty where it has one.
    parts_left: [Vec<u32>; 2],
    /// The next transfer of the same rank, where one is under way at a time.
    next: Vec<u32>,
    pub(crate) processes: Vec<Process>,
    pub(crate) chunks: u64,
    pub(crate) complete: u64,
    /// Those that failed, the first of them, and when the last did.
    pub(crate) failed: u64,
    pub(crate) first_failed: Option<u32>,
    pub(crate) gave_up: Instant,
    pub(crate) end: Instant,
}

impl JobState {
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, job: usize) -> Self {
        let schedule = &jobs.schedules[job];
        let count = schedule.transfers().len();
        let ids = || (0..count).map(TransferId::from_index);
        let is_free = schedule.independent_bytes().is_some();
        let mut waits: Vec<u32> =
            if is_free { Vec::new() } else { ids().map(|id| schedule.dependencies(id)).collect() };
        let ranks = spec.jobs[job].hosts.len();
        let mut next = Vec::new();
        if schedule.is_blocking() {
            next = vec![NONE; count];
            let mut last = vec![NONE; ranks];
            for (id, transfer) in ids().zip(schedule.transfers()) {
                let before = std::mem::replace(&mut last[transfer.src.index()], id.0);
                if before != NONE {
                    next[before as usize] = id.0;
                    waits[id.index()] += 1;
                }
            }
        }
        let parts = if jobs.parts > 1 { vec![jobs.parts; count] } else { Vec::new() };
        Self {
            waits,
            parts_left: [parts.clone(), parts],
            next,
            processes: vec![Process::default(); ranks],
            chunks: count as u64 * u64::from(jobs.parts),
            complete: 0,
            failed: 0,
            first_failed: None,
            gave_up: Instant::ZERO,
            end: Instant(spec.jobs[job].start_ps),
        }
    }

    /// No transfer waits for another, so that nothing follows from the end of one.
    pub(crate) fn is_independent(&self) -> bool {
        self.waits.is_empty()
    }

    /// A transfer waits for nothing, at the start.
    pub(crate) fn is_free(&self, transfer: u32) -> bool {
        self.waits.get(transfer as usize).is_none_or(|&waits| waits == 0)
    }

    /// A transfer waits for one less: whether it may start.
    pub(crate) fn is_ready(&mut self, transfer: u32) -> bool {
        let left = &mut self.waits[transfer as usize];
        *left -= 1;
        *left == 0
    }

    /// The transfer that may start when one is acknowledged.
    pub(crate) fn after(&mut self, transfer: TransferId) -> Option<u32> {
        let next = self.next.get(transfer.index()).copied().filter(|&next| next != NONE)?;
        self.is_ready(next).then_some(next)
    }

    /// One part fewer is to be delivered: whether it was the last.
    pub(crate) fn is_delivered(&mut self, transfer: TransferId) -> bool {
        is_last_part(&mut self.parts_left[0], transfer)
    }

    /// One part fewer is to be acknowledged: whether it was the last.
    pub(crate) fn is_acknowledged(&mut self, transfer: TransferId) -> bool {
        is_last_part(&mut self.parts_left[1], transfer)
    }
}

fn is_last_part(parts_left: &mut [u32], transfer: TransferId) -> bool {
    parts_left.get_mut(transfer.index()).is_none_or(|left| {
        *left -= 1;
        *left == 0
    })
}
