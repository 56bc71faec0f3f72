//! Joins the reports of both ends of storage operations into rows of table `chunks`.
//!
//! An operation is reported as a chunk (otherwise part of a transfer) of its connection, numbered beyond the
//! chunks of all schedules. The round field is its number on the connection times 2, plus 1 for a read. Its
//! data is counted at the sender and the receiver of the data; its times are those of the client.

use super::{Assembler, ChunkPosition};
use crate::record::{Key, ReceiveReport, SendReport};
use crate::report::progress::Failure;
use record::ChunkStatus;
use std::collections::BTreeMap;

impl Assembler<'_> {
    /// An operation ended at its client. If it failed, frames may still be in flight.
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

    /// Makes the row of an operation from both ends: data is counted where it is sent, timeouts and negative
    /// acknowledgements at both.
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

    /// Position of an operation: its number on the connection as the transfer; step 1 for a read, 0 for a
    /// write.
    pub(crate) fn operation_position(&self, chunk: u32, operation: u32) -> ChunkPosition {
        let pair = self.flows.storage_pair(chunk);
        let is_read = operation & 1;
        let unloaded = self.flows.unloaded_operations.get(&pair.number);
        ChunkPosition {
            pair,
            transfer: operation >> 1,
            round: 0,
            step: is_read,
            block: 0,
            bytes: self.block_bytes[pair.job as usize],
            unloaded: unloaded.map(|spans| spans[is_read as usize]),
        }
    }
}
