//! How far each job has come: its chunks by how they ended, and its rounds.

use std::collections::VecDeque;
use units::Instant;

/// The chunks and rounds of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobProgress {
    /// Chunks of a round.
    round_chunks: u64,
    /// Rounds the job runs; none when others end it.
    rounds_planned: Option<u32>,
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    /// Rows made.
    pub(crate) rows: u64,
    /// One past the last round of which a chunk was posted.
    pub(crate) begun: u32,
    /// Complete rounds before the first that is not.
    pub(crate) rounds: u32,
    /// When the last chunk of those completed.
    pub(crate) rounds_end: Instant,
    /// The rounds after those.
    open_rounds: VecDeque<OpenRound>,
    /// The first chunk that failed.
    pub(crate) first_failed: Option<Failure>,
    /// Chunks that failed because frames of them were lost and not sent again.
    pub(crate) losers: u64,
    /// Frames of those, sent and lost.
    pub(crate) frames_sent: u64,
    pub(crate) frames_lost: u64,
    /// Of a storage job: clients that have not ended.
    clients_left: Option<u32>,
}

/// A round of which chunks have completed.
#[derive(Clone, Copy, Debug)]
struct OpenRound {
    /// Chunks that have not.
    left: u64,
    /// When the last one so far completed.
    last: Instant,
}

/// A chunk that failed, with the frames sent and lost if that was for their loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) chunk: u32,
    pub(crate) loss: Option<(u64, u64)>,
}

impl JobProgress {
    pub(crate) const fn new(round_chunks: u64, rounds_planned: Option<u32>) -> Self {
        Self {
            round_chunks,
            rounds_planned,
            complete: 0,
            failed: 0,
            rows: 0,
            begun: 0,
            rounds: 0,
            rounds_end: Instant::ZERO,
            open_rounds: VecDeque::new(),
            first_failed: None,
            losers: 0,
            frames_sent: 0,
            frames_lost: 0,
            clients_left: None,
        }
    }

    /// A storage job of that many clients, whose operations nobody counts beforehand.
    pub(crate) fn of_clients(clients: u32, rounds_planned: Option<u32>) -> Self {
        Self { clients_left: Some(clients), ..Self::new(0, rounds_planned) }
    }

    /// A storage operation completed.
    pub(crate) fn complete_operation(&mut self, at: Instant) {
        self.complete += 1;
        self.rounds_end = self.rounds_end.max(at);
    }

    /// A storage client has ended its last operation.
    pub(crate) fn end_client(&mut self) {
        if let Some(left) = &mut self.clients_left {
            *left -= 1;
            self.rounds += u32::from(*left == 0);
        }
    }

    /// What must end before the job has: clients, or chunks of all rounds; none when others end the job.
    pub(crate) fn planned_ends(&self) -> Option<u64> {
        self.planned().map(|chunks| self.clients_left.map_or(chunks, u64::from))
    }

    /// Whether everything that was to be completed was.
    pub(crate) fn is_complete(&self) -> bool {
        match (self.planned(), self.clients_left) {
            // What was cut off is no failure of a job that others end.
            (None, _) => self.failed == 0,
            (Some(_), Some(left)) => left == 0 && self.failed == 0,
            (Some(chunks), None) => self.complete == chunks,
        }
    }

    /// Chunks of the job; those posted, where nobody knows them beforehand.
    pub(crate) fn chunks(&self) -> u64 {
        self.planned().filter(|_| self.clients_left.is_none()).unwrap_or(self.rows)
    }

    /// Chunks of all rounds; none when others end the job.
    pub(crate) fn planned(&self) -> Option<u64> {
        self.rounds_planned.map(|rounds| self.round_chunks * u64::from(rounds))
    }

    /// Whether others end the job.
    pub(crate) const fn is_background(&self) -> bool {
        self.rounds_planned.is_none()
    }

    /// Rounds of which every chunk has a row, posted or not.
    pub(crate) fn rounds_begun(&self) -> u32 {
        if self.is_background() { 0 } else { self.begun.max(1) }
    }

    /// A chunk of `round` completed. Without recovery a round may complete before one that lost a frame.
    pub(crate) fn complete_chunk(&mut self, round: u32, at: Instant) {
        self.complete += 1;
        self.begun = self.begun.max(round + 1);
        let index = (round - self.rounds) as usize;
        while self.open_rounds.len() <= index {
            self.open_rounds.push_back(OpenRound { left: self.round_chunks, last: Instant::ZERO });
        }
        let open = &mut self.open_rounds[index];
        open.left -= 1;
        open.last = open.last.max(at);
        while let Some(&OpenRound { left: 0, last }) = self.open_rounds.front() {
            self.open_rounds.pop_front();
            self.rounds += 1;
            self.rounds_end = self.rounds_end.max(last);
        }
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failed += 1;
        if let Some((sent, lost)) = failure.loss {
            self.losers += 1;
            self.frames_sent += sent;
            self.frames_lost += lost;
        }
        self.first_failed.get_or_insert(failure);
    }
}
