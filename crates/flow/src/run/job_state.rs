//! State of each job: unfinished dependencies of its transfers, and their parts still to be delivered or
//! acknowledged.

use jobs::Jobs;
use spec::RunSpec;
use units::{Instant, TransferId};

/// No transfer.
pub(crate) const NONE: u32 = u32::MAX;

/// Processor of a rank.
#[derive(Clone, Copy, Default)]
pub(crate) struct Process {
    pub(crate) busy_until: Instant,
    pub(crate) copying_until: Instant,
}

/// A job.
pub(crate) struct JobState {
    /// Number of unfinished dependencies of each transfer; empty if there are none.
    open_dependencies: Vec<u32>,
    /// Parts of each transfer to be delivered, and to be acknowledged; empty if each has one part.
    parts_remaining: [Vec<u32>; 2],
    /// The next transfer of the same rank, if a rank sends one at a time.
    next: Vec<u32>,
    pub(crate) processes: Vec<Process>,
    pub(crate) chunks: u64,
    pub(crate) complete: u64,
    pub(crate) end: Instant,
}

impl JobState {
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, job: usize) -> Self {
        let schedule = &jobs.schedules[job];
        let count = schedule.transfers().len();
        let ids = || (0..count).map(TransferId::from_index);
        let is_free = schedule.independent_bytes().is_some();
        let mut open_dependencies: Vec<u32> =
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
                    open_dependencies[id.index()] += 1;
                }
            }
        }
        let parts = if jobs.parts > 1 { vec![jobs.parts; count] } else { Vec::new() };
        Self {
            open_dependencies,
            parts_remaining: [parts.clone(), parts],
            next,
            processes: vec![Process::default(); ranks],
            chunks: count as u64 * u64::from(jobs.parts),
            complete: 0,
            end: Instant(spec.jobs[job].start_ps),
        }
    }

    /// Whether no transfer waits for another, so that the end of one has no consequences.
    pub(crate) fn is_independent(&self) -> bool {
        self.open_dependencies.is_empty()
    }

    /// Whether a transfer has no dependencies at the start.
    pub(crate) fn is_free(&self, transfer: u32) -> bool {
        self.open_dependencies.get(transfer as usize).is_none_or(|&open_dependencies| open_dependencies == 0)
    }

    /// Removes one dependency of a transfer; returns whether it may start.
    pub(crate) fn is_ready(&mut self, transfer: u32) -> bool {
        let remaining = &mut self.open_dependencies[transfer as usize];
        *remaining -= 1;
        *remaining == 0
    }

    /// The transfer that may start when `transfer` is acknowledged.
    pub(crate) fn next_of_rank(&mut self, transfer: TransferId) -> Option<u32> {
        let next = self.next.get(transfer.index()).copied().filter(|&next| next != NONE)?;
        self.is_ready(next).then_some(next)
    }

    /// Counts a delivered part; returns whether it was the last.
    pub(crate) fn is_delivered(&mut self, transfer: TransferId) -> bool {
        is_last_part(&mut self.parts_remaining[0], transfer)
    }

    /// Counts an acknowledged part; returns whether it was the last.
    pub(crate) fn is_acknowledged(&mut self, transfer: TransferId) -> bool {
        is_last_part(&mut self.parts_remaining[1], transfer)
    }
}

fn is_last_part(parts_remaining: &mut [u32], transfer: TransferId) -> bool {
    parts_remaining.get_mut(transfer.index()).is_none_or(|remaining| {
        *remaining -= 1;
        *remaining == 0
    })
}
