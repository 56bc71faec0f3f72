//! Who watches a run from outside, and why a run may have no result.

use record::Batch;
use spec::SpecError;
use thiserror::Error;

/// The observer wants the run to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Receives what a run produces; `P` is what its engine tells of its progress.
pub trait Observer<P> {
    /// Takes rows in. Called while running; a slow observer slows the run, and memory stays bounded.
    ///
    /// # Errors
    /// [`Stopped`] ends the run.
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped>;

    /// Told about ten times a second of wall time, and once when the run has ended and before its last rows
    /// come.
    ///
    /// # Errors
    /// [`Stopped`] ends the run.
    fn progress(&mut self, progress: P) -> Result<(), Stopped>;
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The spec cannot be carried out.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The observer asked to stop.
    #[error("stopped by its observer")]
    Stopped,
}

impl From<Stopped> for RunError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}
