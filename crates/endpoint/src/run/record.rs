//! Records of each chunk (the part of a transfer that one queue pair sends): collects the sender's and the
//! receiver's half at each agent; `ipc` encodes them as Arrow IPC streams, `join` joins both to a row of
//! table `chunks`.

mod ipc;
mod join;

pub(super) use ipc::{write_received, write_sent};
pub use join::{ClockLine, Halves, chunk_rows, unmeasured};

use super::driver::{ReceivedCounts, SentCounts};
use super::share::Post;
use units::Instant;

/// Result of a chunk at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentStatus {
    /// Not completed.
    Unfinished = 0,
    /// Completely acknowledged or, on an unreliable connection, sent.
    Complete = 1,
    /// Its queue pair failed.
    Failed = 2,
}

/// Sender's record of a chunk. Times in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentHalf {
    /// Number of the chunk in the run.
    pub chunk: u32,
    /// How many times it was sent before.
    pub pass: u32,
    /// Result.
    pub status: SentStatus,
    /// When it was posted.
    pub start_ps: i64,
    /// When its acknowledgement was received or, on an unreliable connection, its last packet was sent.
    pub completed_ps: Option<i64>,
    /// Statistics of the sender.
    pub seen: SentCounts,
}

/// Receiver's record of a chunk. Times in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedHalf {
    /// Number of the chunk in the run.
    pub chunk: u32,
    /// How many times it had arrived or been dropped before.
    pub pass: u32,
    /// When its last byte was placed; `None` if any is missing.
    pub delivered_ps: Option<i64>,
    /// Statistics of the receiver.
    pub seen: ReceivedCounts,
}

/// Collects the records of an agent.
#[derive(Debug)]
pub(super) struct Recorder {
    zero: Instant,
    sent: Vec<SentHalf>,
    received: Vec<ReceivedHalf>,
    /// By [`Post::send`]: index in `sent` of the chunk in flight.
    in_flight: Vec<u32>,
}

impl Recorder {
    /// Reserves memory for `rows` (sent and received; more are allocated on demand). At most `sends` chunks
    /// are in flight at once.
    pub(super) fn new(sends: usize, rows: [usize; 2]) -> Self {
        let [sent, received] = rows;
        Self {
            zero: Instant::ZERO,
            sent: Vec::with_capacity(sent),
            received: Vec::with_capacity(received),
            in_flight: vec![0; sends],
        }
    }

    /// Sets the start time of the run.
    pub(super) const fn start(&mut self, zero: Instant) {
        self.zero = zero;
    }

    const fn since_start(&self, at: Instant) -> i64 {
        at.0 as i64 - self.zero.0 as i64
    }

    pub(super) fn on_posted(&mut self, post: &Post, at: Instant) {
        self.in_flight[post.send as usize] = self.sent.len() as u32;
        self.sent.push(SentHalf {
            chunk: post.chunk,
            pass: post.pass,
            status: SentStatus::Unfinished,
            start_ps: self.since_start(at),
            completed_ps: None,
            seen: SentCounts::default(),
        });
    }

    /// A chunk completed at that time, or failed.
    pub(super) fn on_ended(&mut self, send: u32, completed: Option<Instant>, seen: SentCounts) {
        let completed_ps = completed.map(|at| self.since_start(at));
        let half = &mut self.sent[self.in_flight[send as usize] as usize];
        half.status = if completed.is_some() { SentStatus::Complete } else { SentStatus::Failed };
        (half.completed_ps, half.seen) = (completed_ps, seen);
    }

    /// A chunk was not sent completely.
    pub(super) fn on_unsent(&mut self, send: u32, seen: SentCounts) {
        self.sent[self.in_flight[send as usize] as usize].seen = seen;
    }

    /// A chunk arrived completely at that time, or in part.
    pub(super) fn on_received(&mut self, chunk: u32, pass: u32, at: Option<Instant>, seen: ReceivedCounts) {
        let delivered_ps = at.map(|at| self.since_start(at));
        self.received.push(ReceivedHalf { chunk, pass, delivered_ps, seen });
    }

    pub(super) fn sent(&self) -> &[SentHalf] {
        &self.sent
    }

    pub(super) fn received(&self) -> &[ReceivedHalf] {
        &self.received
    }
}
