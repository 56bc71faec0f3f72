//! Fast-forward: detects that the state of a run repeats with a period, as in long transfers whose
//! competitors for the links do not change, and skips whole periods instead of simulating them.
//!
//! The period is the time between two messages of one watched queue pair. If the whole state is the same
//! after one or a few periods, except for times and counters, which grow by an increment per period, it is
//! advanced by as many periods as fit before another event is due: a timer, the end of a chunk. If time
//! series are sampled meanwhile, one more period is simulated to obtain its samples. The result is the same
//! to the bit; see [`Cycle`] and [`units::State`].
//!
//! Nothing repeats while queues grow, or packets are marked at random or paused irregularly. Then attempts
//! become rare, end at the first difference, and are made when the simulated part of the run has [paid
//! for](Budget) them: they compare a part of the state, and all of it once that part has repeated.
//! Fast-forward is off on InfiniBand, where credits would have to be compared at both ends, and with load
//! balancing per packet, whose choices depend on the starts of time windows (steps of the simulation):
//! reading the state splits one in two.

mod rehearsal;
mod state;

use crate::record::Record;
use crate::report::WorldPartition;
use crate::setup::FabricNode;
use crate::switch::forward::{Choice, choice};
use engine::Window;
use rehearsal::Rehearsal;
use spec::{LinkLayerSpec, RunSpec};
use state::Budget;
use units::{Cycle, Instant, Span};

/// Time before the first attempt, and after one that failed; it doubles with each that fails.
const WAIT: Span = Span::from_us(10);
/// Maximum length of a repetition, in periods of the watched queue pair.
const MULTIPLES: u64 = 4;
/// The first recording of the state takes at most the budget divided by this.
const FIRST_RECORDING: u64 = 4;
/// With more queue pairs, comparing all of them takes longer than it saves.
const QUEUE_PAIRS_MAX: u64 = 20_000;

/// Whether fast-forward is possible in a run of `spec` on one thread, with `queue_pairs` queue pairs.
pub(crate) fn applies(spec: &RunSpec, queue_pairs: u64) -> bool {
    queue_pairs <= QUEUE_PAIRS_MAX
        && choice(spec) == Choice::PerFlow
        && matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet { .. })
        && spec.tcp.is_empty()
        // Different clocks hardly ever return to the same phases, jitter never.
        && spec.fabric.clocks.is_none()
        && !spec.has_storage()
}

/// Phase of an attempt.
enum Phase {
    /// No attempt before this time.
    Waiting(Instant),
    /// A queue pair is watched until the second time; the first is the start of its latest message.
    Watching(Option<Instant>, Instant),
    /// The state will be recorded at `at`, or compared with the recording in `first`.
    Comparing { at: Instant, period: Span, first: Option<Cycle> },
    /// The state repeats; one period is simulated to obtain the samples of it.
    Rehearsing(Rehearsal),
}

/// Finds repeating states and skips their repetitions.
pub(crate) struct FastForward {
    phase: Phase,
    wait: Span,
    /// Attempts so far: each watches another host.
    attempts: usize,
    /// Index of the node of the watched host.
    watched: Option<usize>,
    budget: Budget,
    is_on: bool,
    /// Length of a window.
    window: Span,
    /// Simulated time skipped.
    pub(crate) skipped: Span,
}

impl FastForward {
    /// Does nothing unless `is_on`.
    pub(crate) fn new(is_on: bool, window: Span) -> Self {
        Self {
            phase: Phase::Waiting(Instant(WAIT.0)),
            wait: WAIT,
            attempts: 0,
            watched: None,
            budget: Budget::default(),
            is_on,
            window,
            skipped: Span::ZERO,
        }
    }

    /// Time at which `window` must be cut to read the state.
    #[inline]
    pub(crate) fn cut(&mut self, window: Window, partition: &mut WorldPartition) -> Option<Instant> {
        if !self.is_on {
            return None;
        }
        match &mut self.phase {
            Phase::Rehearsing(rehearsal) if rehearsal.is_missed(window.start) => {
                self.give_up(window.start, partition);
            }
            Phase::Rehearsing(rehearsal) => {
                return Some(rehearsal.next_sample(window.start)).filter(|&at| at < window.end);
            }
            &mut Phase::Waiting(until) if window.start >= until => self.watch(window.start, partition),
            &mut Phase::Watching(_, until) if window.start >= until => self.give_up(window.start, partition),
            &mut Phase::Comparing { at, .. } if at < window.start => self.give_up(window.start, partition),
            &mut Phase::Comparing { at, .. } if at < window.end => return Some(at),
            _ => {}
        }
        None
    }

    /// Until this time [`Self::cut`] need not be called, unless [`Self::note`] receives records.
    #[inline]
    pub(crate) const fn rests_until(&self) -> Instant {
        match self.phase {
            _ if !self.is_on => Instant::NEVER,
            Phase::Waiting(until) | Phase::Watching(_, until) => until,
            // Until the window that contains `at`.
            Phase::Comparing { at, .. } => Instant((at.0 + 1).saturating_sub(self.window.0)),
            Phase::Rehearsing(_) => Instant::ZERO,
        }
    }

    fn watch(&mut self, now: Instant, partition: &mut WorldPartition) {
        self.unwatch(partition);
        let has_budget = self.budget.left(partition.totals()) > 0;
        let nodes = partition.nodes_mut();
        let (first, count) = (self.attempts, nodes.len());
        let mut indices = (0..count).map(|offset| (first + offset) % count);
        let watches = |node: &mut FabricNode| match node {
            FabricNode::Host(host) => host.watch(),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => false,
        };
        self.watched = if has_budget { indices.find(|&index| watches(&mut nodes[index])) } else { None };
        self.attempts += 1;
        self.phase = Phase::Watching(None, now + self.wait + WAIT);
        if self.watched.is_none() {
            self.give_up(now, partition);
        }
    }

    fn unwatch(&mut self, partition: &mut WorldPartition) {
        let watched = self.watched.take().map(|index| &mut partition.nodes_mut()[index]);
        if let Some(FabricNode::Host(host)) = watched {
            host.unwatch();
        }
    }

    fn give_up(&mut self, now: Instant, partition: &mut WorldPartition) {
        self.unwatch(partition);
        self.back_off(now);
    }

    /// Schedules the next attempt, after twice the wait of the previous one.
    fn back_off(&mut self, now: Instant) {
        self.phase = Phase::Waiting(now + self.wait);
        self.wait = Span(self.wait.0.saturating_mul(2));
    }

    /// Processes the records of a window.
    #[inline]
    pub(crate) fn note(&mut self, window: Window, records: &[Record]) {
        if !records.is_empty() && self.is_on {
            self.note_some(window, records);
        }
    }

    fn note_some(&mut self, window: Window, records: &[Record]) {
        for record in records {
            match (&mut self.phase, record) {
                (Phase::Watching(start @ None, _), Record::MessageStarted(at)) => *start = Some(*at),
                (Phase::Watching(Some(start), _), Record::MessageStarted(at)) => {
                    let period = at.since(*start);
                    self.phase = Phase::Comparing { at: window.end, period, first: None };
                }
                (_, Record::MessageStarted(_)) => {}
                (Phase::Comparing { .. } | Phase::Rehearsing(_), _) => {
                    // Something has ended, so the state does not repeat.
                    self.back_off(window.end);
                }
                _ => {}
            }
        }
    }

    /// Reads the state at a cut; returns the time at which the run continues, later than `now` after a skip.
    pub(crate) fn read_state(&mut self, now: Instant, partition: &mut WorldPartition) -> Instant {
        if !partition.records().is_empty() {
            // They are processed after the window.
            return now;
        }
        match std::mem::replace(&mut self.phase, Phase::Waiting(Instant::NEVER)) {
            Phase::Comparing { period, first: None, .. } => {
                self.unwatch(partition);
                let limit = self.budget.left(partition.totals()) / FIRST_RECORDING;
                self.record(now, period, usize::try_from(limit).unwrap_or(usize::MAX), partition);
                now
            }
            Phase::Comparing { period, first: Some(cycle), .. } => {
                self.compare(now, period, cycle, partition)
            }
            Phase::Rehearsing(rehearsal) => self.rehearse(now, rehearsal, partition),
            other => {
                self.phase = other;
                now
            }
        }
    }

    /// Compares the state with the recorded one and skips repetitions; see [`Self::read_state`].
    fn compare(
        &mut self,
        now: Instant,
        period: Span,
        mut cycle: Cycle,
        partition: &mut WorldPartition,
    ) -> Instant {
        cycle.compare(now);
        self.budget.walk(&mut cycle, partition);
        let repeats_after = cycle.period();
        match cycle.room() {
            0 if repeats_after.0 < period.0 * MULTIPLES => {
                self.phase = Phase::Comparing { at: now + period, period, first: Some(cycle) };
                now
            }
            0 => {
                self.give_up(now, partition);
                now
            }
            // The recorded part repeats: now all of the state is recorded, at the cost of later attempts.
            _ if cycle.is_partial() => {
                self.record(now, repeats_after, usize::MAX, partition);
                now
            }
            periods => {
                let later = now + Span(repeats_after.0 * periods);
                if partition.probe().due() <= later && periods > 1 {
                    self.phase = Phase::Rehearsing(Rehearsal::new(
                        now,
                        later,
                        repeats_after,
                        &mut self.budget,
                        partition,
                    ));
                    return now;
                }
                cycle.stop_before(partition.probe().due());
                self.advance(now, cycle, partition)
            }
        }
    }

    /// Advances the state by as many periods as fit.
    fn advance(&mut self, now: Instant, mut cycle: Cycle, partition: &mut WorldPartition) -> Instant {
        let period = cycle.period();
        let later = cycle.advance(cycle.room());
        self.budget.walk(&mut cycle, partition);
        self.restart(now, later, period, partition)
    }

    /// Takes the samples of the simulated period, and skips repetitions at its end.
    fn rehearse(
        &mut self,
        now: Instant,
        mut rehearsal: Rehearsal,
        partition: &mut WorldPartition,
    ) -> Instant {
        rehearsal.sample(now, partition);
        if !rehearsal.is_over(now) {
            self.phase = Phase::Rehearsing(rehearsal);
            return now;
        }
        let period = rehearsal.period();
        match rehearsal.skip(now, &mut self.budget, partition) {
            Some(later) => self.restart(now, later, period, partition),
            None => {
                self.give_up(now, partition);
                now
            }
        }
    }

    /// Records the state again, after time was skipped until `later`.
    fn restart(
        &mut self,
        now: Instant,
        later: Instant,
        period: Span,
        partition: &mut WorldPartition,
    ) -> Instant {
        self.skipped = self.skipped + later.since(now);
        self.wait = WAIT;
        self.record(later, period, usize::MAX, partition);
        later
    }

    /// Records the first `limit` fields of the state.
    fn record(&mut self, now: Instant, period: Span, limit: usize, partition: &mut WorldPartition) {
        let mut cycle = Cycle::record_some(now, limit);
        self.budget.walk(&mut cycle, partition);
        self.phase = Phase::Comparing { at: now + period, period, first: Some(cycle) };
    }
}
