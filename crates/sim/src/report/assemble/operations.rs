//! Storage operations, joined into rows of the table of chunks.
//!
//! An operation is reported as a chunk of its connection beyond those of all schedules; in place of the round
//! stands its number on the connection with, in the lowest bit, whether it reads. Its data are counted where
//! they are sent and where they arrive, its times are the client's.

use super::{Assembler, Place};
use crate::record::{Key, ReceiveReport, SendReport};
use crate::report::progress::Failure;
use record::ChunkStatus;
use std::collections::BTreeMap;

impl Assembler<'_> {
    /// An operation ended at its client. Of one that failed, frames may be on the way.
    pub(crate) fn finish_operation(&mut self, sent: &SendReport, received: &ReceiveReport) {
        let Some(at) = sent.completed() else {
            self.job_of(sent.chunk).fail(Failure { chunk: sent.chunk, loss: None });
            self.failed.push((*sent, *received));
            return;
        };
        self.job_of(sent.chunk).complete_operation(at);
        self.push_operation(sent, received);
    }

    /// Makes rows of the operations that were issued and have not ended.
    pub(crate) fn finish_operations(&mut self, sent: &BTreeMap<Key, SendReport>) {
        let first = self.flows.chunk_count();
        for (_, report) in sent.range((first, 0)..) {
            let received = self.take_delivered(report.chunk, report.round);
            self.push_operation(&report.ended(ChunkStatus::Unfinished, None), &received);
        }
    }

    /// Makes the row of an operation, of both its ends: the data are counted where they are sent, timeouts
    /// and negative acknowledgements at either.
    pub(crate) fn push_operation(&mut self, sent: &SendReport, received: &ReceiveReport) {
        let mut sent = *sent;
        if let Some(served) = self.served.remove(&(sent.chunk, sent.round)) {
            sent.frames += served.frames;
            sent.bytes += served.bytes;
            sent.retransmits += served.retransmits;
            sent.timeouts += served.timeouts;
            sent.naks += served.naks;
            sent.cnps += served.cnps;
        }
        self.push_row(sent.chunk, sent.round, Some(&sent), received);
    }

    /// Where an operation stands: its number on the connection, and 1 for a step if it reads.
    pub(crate) fn operation_place(&self, chunk: u32, operation: u32) -> Place {
        let pair = self.flows.storage_pair(chunk);
        let is_read = operation & 1;
        let unloaded = self.flows.unloaded_operations.get(&pair.number);
        Place {
            pair,
            transfer: operation >> 1,
            round: 0,
            step: is_read,
            block: 0,
            bytes: self.data_bytes[pair.job as usize],
            unloaded: unloaded.map(|spans| spans[is_read as usize]),
        }
    }
}
