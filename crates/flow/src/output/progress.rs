//! Reports the progress of a run to its observer at intervals of wall time.

use jobs::{Observer, Stopped};
use std::time::{Duration, Instant as WallInstant};
use units::Instant;

/// Time steps between two readings of the wall clock.
const STEPS_PER_CLOCK_READ: u64 = 256;
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Payload delivered [bytes].
    pub delivered_bytes: u64,
    /// Total payload to deliver [bytes].
    pub total_bytes: u64,
    /// Time of the run.
    pub simulated: Instant,
}

/// Reports progress to an observer at intervals.
pub(crate) struct ProgressReporter {
    progress: Progress,
    reported_at: WallInstant,
    steps: u64,
}

impl ProgressReporter {
    pub(crate) fn new(total_bytes: u64) -> Self {
        let progress = Progress { delivered_bytes: 0, total_bytes, simulated: Instant::ZERO };
        Self { progress, reported_at: WallInstant::now(), steps: 0 }
    }

    pub(crate) const fn delivered(&mut self, bytes: u64) {
        self.progress.delivered_bytes += bytes;
    }

    /// Counts a time step, and reports progress if it is due.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        observer: &mut dyn Observer<Progress>,
    ) -> Result<(), Stopped> {
        self.progress.simulated = now;
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_CLOCK_READ) && self.reported_at.elapsed() >= PROGRESS_INTERVAL
        {
            self.reported_at = WallInstant::now();
            observer.progress(self.progress)?;
        }
        Ok(())
    }

    pub(crate) fn end(mut self, now: Instant, observer: &mut dyn Observer<Progress>) -> Result<(), Stopped> {
        self.progress.simulated = now;
        observer.progress(self.progress)
    }
}
