//! Trait of observers of a run, which receive rows and progress; request to stop, and errors of a run.

use record::Batch;
use spec::SpecError;
use thiserror::Error;

/// Request of an observer to end the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Receives rows and progress of a run; `P` is the engine's type of progress.
pub trait Observer<P> {
    /// Receives rows. Called during the run; a slow observer slows the run, and memory stays bounded.
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped>;

    /// Receives progress, about ten times per second of wall time, and once after the end of the run, before
    /// its last rows.
    fn progress(&mut self, progress: P) -> Result<(), Stopped>;
}

/// Error of a run without results.
#[derive(Debug, Error)]
pub enum RunError {
    /// The spec cannot be run.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The observer requested to stop.
    #[error("stopped by its observer")]
    Stopped,
}

impl From<Stopped> for RunError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}
