//! Observer of a run for tests: keeps its rows of chunks.

use crate::output::progress::Progress;
use jobs::{Observer, Stopped};
use record::{Batch, ChannelRow, ChunkRow, ChunkStepRow, ChunkTimeRow};

/// Rows of chunks of a run.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) steps: Vec<ChunkStepRow>,
    pub(crate) times: Vec<ChunkTimeRow>,
    pub(crate) channels: Vec<ChannelRow>,
}

impl Observer<Progress> for Rows {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        match batch {
            Batch::Chunks(rows) => self.chunks.extend(rows),
            Batch::ChunkSteps(rows) => self.steps.extend(rows),
            Batch::ChunkTimes(rows) => self.times.extend(rows),
            Batch::Channels(rows) => self.channels.extend(rows),
            _ => {}
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}
