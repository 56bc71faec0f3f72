//! Passes rows of chunks to the observer of a run: all rows, a sample of them, or only counts.

use crate::output::progress::Progress;
use jobs::{Observer, RowSelection, Stopped, Tally};
use record::{Batch, ChunkRow};
use spec::{RunSpec, SpecError};

/// Rows of one batch.
const BATCH_ROWS: usize = 4_096;
/// Maximum number of distinct completion times if not every chunk has a row. Rates of flows differ in their
/// last bits, so hardly any two chunks take the same time.
const TIMES_MAX: usize = 1 << 20;

/// Recorder of chunks.
pub(crate) struct Recorder {
    chosen: RowSelection,
    /// Counts all chunks, if not all have a row.
    tally: Option<Tally>,
    rows: Vec<ChunkRow>,
}

impl Recorder {
    /// For a run with `chunks` chunks in all its rounds.
    pub(crate) fn new(spec: &RunSpec, chunks: u64) -> Result<Self, SpecError> {
        let chosen = RowSelection::new(spec, || Ok(chunks))?;
        let tally = (!matches!(chosen, RowSelection::All)).then(|| Tally::rounding(&spec.jobs, TIMES_MAX));
        Ok(Self { chosen, tally, rows: Vec::new() })
    }

    /// Adds the row of a chunk, by its number; it stands for `count` of them, of which at most one has a row.
    pub(crate) fn push(&mut self, chunk: u32, row: ChunkRow, count: u64) {
        if let Some(tally) = &mut self.tally {
            tally.add_equal(&row, count);
            if !self.chosen.has(chunk, row.round) {
                return;
            }
        }
        self.rows.push(row);
    }

    /// Passes rows to the observer if there are many.
    pub(crate) fn pass_rows(&mut self, observer: &mut dyn Observer<Progress>) -> Result<(), Stopped> {
        match self.rows.len() >= BATCH_ROWS {
            true => observer.batch(Batch::Chunks(std::mem::take(&mut self.rows))),
            false => Ok(()),
        }
    }

    /// Passes the remaining rows and the counts to the observer.
    pub(crate) fn finish(&mut self, observer: &mut dyn Observer<Progress>) -> Result<(), Stopped> {
        observer.batch(Batch::Chunks(std::mem::take(&mut self.rows)))?;
        self.tally.take().map_or(Ok(()), |tally| tally.emit(|batch| observer.batch(batch)))
    }
}
