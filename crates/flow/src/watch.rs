//! How far a run is, and who is told.

use jobs::{Observer, Stopped};
use std::time::{Duration, Instant as WallInstant};
use units::Instant;

/// Moments between two looks at the wall clock.
const MOMENTS_PER_LOOK: u64 = 256;
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Payload delivered [bytes].
    pub delivered_bytes: u64,
    /// Payload to deliver in all [bytes].
    pub total_bytes: u64,
    /// Time of the run.
    pub simulated: Instant,
}

/// Tells an observer now and then how far a run is.
pub(crate) struct Watch {
    progress: Progress,
    told: WallInstant,
    moments: u64,
}

impl Watch {
    pub(crate) fn new(total_bytes: u64) -> Self {
        let progress = Progress { delivered_bytes: 0, total_bytes, simulated: Instant::ZERO };
        Self { progress, told: WallInstant::now(), moments: 0 }
    }

    pub(crate) const fn delivered(&mut self, bytes: u64) {
        self.progress.delivered_bytes += bytes;
    }

    /// A moment of the run is over.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        observer: &mut dyn Observer<Progress>,
    ) -> Result<(), Stopped> {
        self.progress.simulated = now;
        self.moments += 1;
        if self.moments.is_multiple_of(MOMENTS_PER_LOOK) && self.told.elapsed() >= PROGRESS_INTERVAL {
            self.told = WallInstant::now();
            observer.progress(self.progress)?;
        }
        Ok(())
    }

    pub(crate) fn end(mut self, now: Instant, observer: &mut dyn Observer<Progress>) -> Result<(), Stopped> {
        self.progress.simulated = now;
        observer.progress(self.progress)
    }
}
