//! Tracks the progress of each job: chunks (parts of transfers) by outcome, start and end of rounds
//! (repetitions of the job), durations of measured rounds, first failure.

use super::invariants;
use jobs::Measured;
use spec::{JobSpec, RoundTimes, SizeTimes};
use std::collections::VecDeque;
use units::{Instant, Span};

/// Parameters of the rounds of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundPlan {
    /// Chunks per round.
    pub(crate) chunks: u64,
    /// Number of rounds, warm-up included; `None` if the job ends with the others.
    pub(crate) rounds: Option<u32>,
    /// Number of warm-up rounds, which are not measured.
    pub(crate) warm_up_rounds: u32,
    /// Start of the first round.
    pub(crate) start: Instant,
    /// Ranks wait for each other between rounds.
    pub(crate) has_barriers: bool,
}

impl RoundPlan {
    pub(crate) fn new(job: &JobSpec, chunks: u64) -> Self {
        let collective = job.work.collective();
        Self {
            chunks,
            rounds: job.rounds_planned(),
            warm_up_rounds: collective.map_or(0, |collective| collective.warm_up_rounds),
            start: Instant(job.start_ps),
            has_barriers: collective.is_some_and(|collective| collective.barrier),
        }
    }
}

/// The chunks and rounds of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobProgress {
    plan: RoundPlan,
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    /// Failed messages of handshakes and barriers; these are not chunks.
    failed_control: u64,
    /// Rows made.
    pub(crate) rows: u64,
    /// One past the last round of which a chunk was posted.
    rounds_started: u32,
    /// Complete rounds before the first incomplete one.
    pub(crate) rounds: u32,
    /// Completion of the last chunk of those.
    pub(crate) rounds_end: Instant,
    /// Durations of the measured rounds that started after a barrier.
    barrier_rounds: Vec<Span>,
    /// Duration of each back-to-back round at its slowest rank, or of its slowest chunk if only that is
    /// known.
    rank_times: Vec<Span>,
    /// The rounds from `rounds` on.
    open_rounds: VecDeque<OpenRound>,
    /// The first chunk that failed.
    pub(crate) first_failed: Option<Failure>,
    /// Chunks that failed because frames were lost and not resent.
    pub(crate) losers: u64,
    /// Frames of those chunks, sent and lost.
    pub(crate) frames_sent: u64,
    pub(crate) frames_lost: u64,
    /// Storage jobs: clients that have not ended.
    clients_left: Option<u32>,
}

/// An incomplete round of which chunks may have completed.
#[derive(Clone, Copy, Debug)]
struct OpenRound {
    /// Incomplete chunks.
    left: u64,
    /// Time at which the first rank started the round, after a barrier.
    start: Instant,
    /// Latest completion so far.
    last: Instant,
    /// The longest time of a chunk.
    slowest: Span,
}

/// A failed chunk, with the number of frames sent and lost if loss is the cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) chunk: u32,
    pub(crate) loss: Option<(u64, u64)>,
}

fn add_time(times: &mut Option<RoundTimes>, duration: Span) {
    let times = times.get_or_insert(RoundTimes { sum_ps: 0, min_ps: duration.0, max_ps: duration.0 });
    times.sum_ps += duration.0;
    times.min_ps = times.min_ps.min(duration.0);
    times.max_ps = times.max_ps.max(duration.0);
}

impl JobProgress {
    pub(crate) const fn new(plan: RoundPlan) -> Self {
        Self {
            plan,
            complete: 0,
            failed: 0,
            failed_control: 0,
            rows: 0,
            rounds_started: 0,
            rounds: 0,
            rounds_end: Instant::ZERO,
            barrier_rounds: Vec::new(),
            rank_times: Vec::new(),
            open_rounds: VecDeque::new(),
            first_failed: None,
            losers: 0,
            frames_sent: 0,
            frames_lost: 0,
            clients_left: None,
        }
    }

    /// A storage job with this number of clients; its number of operations is not known in advance.
    pub(crate) fn of_clients(clients: u32, plan: RoundPlan) -> Self {
        Self { clients_left: Some(clients), ..Self::new(plan) }
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

    /// Number of ends until the job is complete: clients, or chunks of all rounds. `None` if the job ends
    /// with the others.
    pub(crate) fn planned_ends(&self) -> Option<u64> {
        self.planned().map(|chunks| self.clients_left.map_or(chunks, u64::from))
    }

    /// Whether all planned chunks, or all clients, are complete.
    pub(crate) fn is_complete(&self) -> bool {
        match (self.planned(), self.clients_left) {
            // Aborted chunks are no failure of a job that ends with the others.
            (None, _) => !self.has_failed(),
            (Some(_), Some(left)) => left == 0 && !self.has_failed(),
            (Some(chunks), None) => self.complete == chunks,
        }
    }

    /// Chunks of the job; those posted if their number is not known in advance.
    pub(crate) fn chunks(&self) -> u64 {
        self.planned().filter(|_| self.clients_left.is_none()).unwrap_or(self.rows)
    }

    /// Chunks of all rounds; `None` if the job ends with the others.
    pub(crate) fn planned(&self) -> Option<u64> {
        self.plan.rounds.map(|rounds| self.plan.chunks * u64::from(rounds))
    }

    /// Whether the job ends with the others.
    pub(crate) const fn is_background(&self) -> bool {
        self.plan.rounds.is_none()
    }

    /// Rounds in which every chunk has a row, posted or not.
    pub(crate) fn rounds_started(&self) -> u32 {
        if self.is_background() { 0 } else { self.rounds_started.max(1) }
    }

    /// A chunk of `round` was posted.
    pub(crate) fn post_chunk(&mut self, round: u32) {
        self.rounds_started = self.rounds_started.max(round + 1);
    }

    /// A chunk of `round` completed. Without recovery a round may complete before an earlier one that lost a
    /// frame.
    pub(crate) fn complete_chunk(&mut self, round: u32, posted: Instant, at: Instant) {
        self.complete += 1;
        self.post_chunk(round);
        let open = self.open_round(round);
        open.left -= 1;
        open.last = open.last.max(at);
        open.slowest = open.slowest.max(at.since(posted));
        if open.left == 0 {
            self.end_rounds();
        }
    }

    /// A round is complete: removes all complete rounds at the front of `open_rounds`.
    #[cold]
    fn end_rounds(&mut self) {
        while let Some(&round @ OpenRound { left: 0, .. }) = self.open_rounds.front() {
            self.open_rounds.pop_front();
            self.end_round(&round);
        }
    }

    /// A rank started a round after a barrier.
    pub(crate) fn start_round(&mut self, round: u32, at: Instant) {
        // All chunks of a round may have arrived before a rank that only receives in it has left the barrier.
        if round >= self.rounds {
            let open = self.open_round(round);
            open.start = open.start.min(at);
        }
    }

    /// The entry of an incomplete round, created if necessary.
    fn open_round(&mut self, round: u32) -> &mut OpenRound {
        let index = (round - self.rounds) as usize;
        let new = OpenRound {
            left: self.plan.chunks,
            start: Instant::NEVER,
            last: Instant::ZERO,
            slowest: Span::ZERO,
        };
        while self.open_rounds.len() <= index {
            self.open_rounds.push_back(new);
        }
        &mut self.open_rounds[index]
    }

    /// The first of the open rounds is complete.
    fn end_round(&mut self, round: &OpenRound) {
        self.rounds_end = self.rounds_end.max(round.last);
        if !self.plan.has_barriers {
            self.note_round(self.rounds, round.slowest);
        } else if self.rounds >= self.plan.warm_up_rounds {
            let start = if self.rounds == 0 { self.plan.start } else { round.start };
            let duration = self.rounds_end.since(start);
            invariants::check_round(self.rounds, duration, round.slowest);
            self.barrier_rounds.push(duration);
        }
        self.rounds += 1;
    }

    /// Records the duration of one of several back-to-back rounds at a rank, or of a chunk of it.
    pub(crate) fn note_round(&mut self, round: u32, duration: Span) {
        if self.rank_times.len() <= round as usize {
            self.rank_times.resize(round as usize + 1, Span::ZERO);
        }
        let slowest = &mut self.rank_times[round as usize];
        *slowest = duration.max(*slowest);
    }

    /// Durations of the complete measured rounds; `ranks` are the measurements of the ranks.
    pub(crate) fn round_times(&self, ranks: &[Measured]) -> Option<RoundTimes> {
        let mut times = None;
        self.measured_rounds(ranks).for_each(|(_, duration)| add_time(&mut times, duration));
        if self.plan.has_barriers || self.is_one_round() {
            return times;
        }
        // Ranks may still be in the last warm-up round when others start the first measured one.
        let slowest_rank = ranks.iter().map(|rank| rank.sum).max().filter(|_| self.plan.warm_up_rounds > 0);
        let together = slowest_rank.unwrap_or_else(|| self.end(ranks).since(self.plan.start));
        times.map(|times| RoundTimes { sum_ps: together.0, ..times })
    }

    /// [`Self::round_times`] by data size, in order of first use, for a job with several sizes. The duration
    /// of a round is that of its slowest rank.
    pub(crate) fn size_times(&self, job: &JobSpec, ranks: &[Measured]) -> Vec<SizeTimes> {
        let mut sizes: Vec<SizeTimes> = Vec::new();
        let Some(collective) = job.work.collective().filter(|each| each.round_bytes.is_some()) else {
            return sizes;
        };
        for (round, duration) in self.measured_rounds(ranks) {
            let data_bytes = collective.bytes_of_round(round);
            let index = sizes.iter().position(|each| each.data_bytes == data_bytes).unwrap_or_else(|| {
                sizes.push(SizeTimes { data_bytes, ..SizeTimes::default() });
                sizes.len() - 1
            });
            sizes[index].add(duration.0);
        }
        sizes
    }

    /// The complete measured rounds, each with its duration.
    fn measured_rounds<'a>(&'a self, ranks: &'a [Measured]) -> impl Iterator<Item = (u32, Span)> + 'a {
        let still_open =
            move |round| ranks.iter().filter_map(move |rank| rank.open.filter(|open| open.0 == round));
        let first = self.plan.warm_up_rounds;
        (first..self.rounds.max(first)).map(move |round| {
            let duration = if self.plan.has_barriers {
                self.barrier_rounds[(round - first) as usize]
            } else if self.is_one_round() {
                self.end(ranks).since(self.plan.start)
            } else {
                let open = still_open(round).map(|(_, duration)| duration).max().unwrap_or_default();
                open.max(self.rank_times[round as usize])
            };
            (round, duration)
        })
    }

    /// End of the complete rounds: of their chunks, and of the ranks' work after these.
    pub(crate) fn end(&self, ranks: &[Measured]) -> Instant {
        ranks.iter().map(|rank| rank.finished_at).fold(self.rounds_end, Instant::max)
    }

    /// Whether all complete chunks count as one round: if the job ends with the others, ranks may not have
    /// ended the only complete round.
    fn is_one_round(&self) -> bool {
        self.rounds == 1 || self.clients_left.is_some()
    }

    /// Number of complete measured rounds, and of complete warm-up rounds.
    pub(crate) fn complete_rounds(&self) -> (u32, u32) {
        let warm_up = self.rounds.min(self.plan.warm_up_rounds);
        (self.rounds - warm_up, warm_up)
    }

    /// Whether any chunk or control message failed.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failed + self.failed_control > 0
    }

    /// A message of a handshake or a barrier failed.
    pub(crate) fn fail_control(&mut self, failure: Failure) {
        self.failed_control += 1;
        self.first_failed.get_or_insert(failure);
    }

    pub(crate) fn fail_chunk(&mut self, round: u32, failure: Failure) {
        self.post_chunk(round);
        self.fail(failure);
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
