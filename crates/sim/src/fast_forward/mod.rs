//! Fast-forward: skips periods in which a bulk transfer without changing competition repeats itself.
//!
//! One queue pair is watched for the time between two of its messages, the period. If the whole state is the same
//! after that time, or a few times that, except for what a period adds, it is advanced by as many periods as fit
//! before another event is due: a timer, the end of a chunk. If series are sampled meanwhile, one more period is
//! simulated, to know what samples of it show. The result is the same to the bit; see [`Cycle`] and
//! [`units::State`].
//!
//! Nothing repeats while queues grow, or packets are marked at random or paused irregularly. Then attempts become
//! rare, end at the first difference, and are made when the run so far has [paid for](Budget) them: they compare
//! a part of the state, and all of it once that part has repeated. Fast-forward is off on InfiniBand, where
//! credits would have to be compared at both ends, and with load balancing per packet, whose choices depend on
//! where windows begin: reading the state cuts one in two.

mod rehearsal;
mod state;

use crate::record::Record;
use crate::report::SeriesProbe;
use crate::setup::FabricNode;
use crate::switch::forward::{Choice, choice};
use engine::{Partition, Window};
use rehearsal::Rehearsal;
use spec::{LinkLayerSpec, RunSpec};
use state::Budget;
use units::{Cycle, Instant, Span};

/// Time before the first attempt, and after one that failed; it doubles with each that fails.
const WAIT: Span = Span::from_us(10);
/// The state is looked for after so many times the period of the watched queue pair.
const MULTIPLES: u64 = 4;
/// A first look takes no more than this part of what may be looked at.
const FIRST_LOOK: u64 = 4;
/// Above so many queue pairs, looking at all of them takes longer than it saves.
const QUEUE_PAIRS_MAX: u64 = 20_000;

/// Whether it is tried in a run of `spec` on one thread, with so many queue pairs.
pub(crate) fn applies(spec: &RunSpec, queue_pairs: u64) -> bool {
    queue_pairs <= QUEUE_PAIRS_MAX
        && choice(spec) == Choice::PerFlow
        && matches!(spec.fabric.link_layer, LinkLayerSpec::Ethernet { .. })
        && spec.tcp.is_empty()
        // Clocks that differ come back to the same places hardly ever, jitter never.
        && spec.fabric.clocks.is_none()
        && !spec.jobs.iter().any(|job| job.storage.is_some())
}

/// What is under way.
enum State {
    /// Nothing until that time.
    Waiting(Instant),
    /// A queue pair is watched; it began a message then. At the second time it is given up.
    Watching(Option<Instant>, Instant),
    /// The state will be looked at then, for the first time or to compare it with an earlier look.
    Looking { at: Instant, period: Span, first: Option<Cycle> },
    /// The state repeats; a period is simulated to know what samples of it show.
    Rehearsing(Rehearsal),
}

/// Looks for states that repeat, and skips what they repeat.
pub(crate) struct FastForward {
    state: State,
    wait: Span,
    /// Attempts so far: each watches another host.
    attempts: usize,
    /// The host being watched, by its place among the nodes.
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
            state: State::Waiting(Instant(WAIT.0)),
            wait: WAIT,
            attempts: 0,
            watched: None,
            budget: Budget::default(),
            is_on,
            window,
            skipped: Span::ZERO,
        }
    }

    /// Where the coming window is to be cut to look at the state.
    #[inline]
    pub(crate) fn cut(
        &mut self,
        window: Window,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Option<Instant> {
        if !self.is_on {
            return None;
        }
        match &mut self.state {
            State::Rehearsing(rehearsal) if rehearsal.is_missed(window.start) => {
                self.give_up(window.start, partition);
            }
            State::Rehearsing(rehearsal) => {
                return Some(rehearsal.next_look(window.start)).filter(|&at| at < window.end);
            }
            &mut State::Waiting(until) if window.start >= until => self.watch(window.start, partition),
            &mut State::Watching(_, until) if window.start >= until => self.give_up(window.start, partition),
            &mut State::Looking { at, .. } if at < window.start => self.give_up(window.start, partition),
            &mut State::Looking { at, .. } if at < window.end => return Some(at),
            _ => {}
        }
        None
    }

    /// Until then [`Self::cut`] need not be asked, whatever happens but for what [`Self::note`] takes in.
    #[inline]
    pub(crate) const fn rests_until(&self) -> Instant {
        match self.state {
            _ if !self.is_on => Instant::NEVER,
            State::Waiting(until) | State::Watching(_, until) => until,
            // Until the window in which that is.
            State::Looking { at, .. } => Instant((at.0 + 1).saturating_sub(self.window.0)),
            State::Rehearsing(_) => Instant::ZERO,
        }
    }

    fn watch(&mut self, now: Instant, partition: &mut Partition<FabricNode, SeriesProbe>) {
        self.unwatch(partition);
        let may_look = self.budget.left(partition.totals()) > 0;
        let nodes = partition.nodes_mut();
        let (first, count) = (self.attempts, nodes.len());
        let mut places = (0..count).map(|place| (first + place) % count);
        let watches = |node: &mut FabricNode| match node {
            FabricNode::Host(host) => host.watch(),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => false,
        };
        self.watched = if may_look { places.find(|&place| watches(&mut nodes[place])) } else { None };
        self.attempts += 1;
        self.state = State::Watching(None, now + self.wait + WAIT);
        if self.watched.is_none() {
            self.give_up(now, partition);
        }
    }

    fn unwatch(&mut self, partition: &mut Partition<FabricNode, SeriesProbe>) {
        let watched = self.watched.take().map(|place| &mut partition.nodes_mut()[place]);
        if let Some(FabricNode::Host(host)) = watched {
            host.unwatch();
        }
    }

    fn give_up(&mut self, now: Instant, partition: &mut Partition<FabricNode, SeriesProbe>) {
        self.unwatch(partition);
        self.back_off(now);
    }

    /// Tries again after twice the wait of the last time.
    fn back_off(&mut self, now: Instant) {
        self.state = State::Waiting(now + self.wait);
        self.wait = Span(self.wait.0.saturating_mul(2));
    }

    /// Takes in what was reported in a window.
    #[inline]
    pub(crate) fn note(&mut self, window: Window, records: &[Record]) {
        if !records.is_empty() && self.is_on {
            self.note_some(window, records);
        }
    }

    fn note_some(&mut self, window: Window, records: &[Record]) {
        for record in records {
            match (&mut self.state, record) {
                (State::Watching(begun @ None, _), Record::MessageBegun(at)) => *begun = Some(*at),
                (State::Watching(Some(begun), _), Record::MessageBegun(at)) => {
                    let period = at.since(*begun);
                    self.state = State::Looking { at: window.end, period, first: None };
                }
                (_, Record::MessageBegun(_)) => {}
                (State::Looking { .. } | State::Rehearsing(_), _) => {
                    // Something ended: what comes now is something else.
                    self.back_off(window.end);
                }
                _ => {}
            }
        }
    }

    /// Looks at the state at a cut; returns the time to go on from, which is later if something was skipped.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Instant {
        if !partition.records().is_empty() {
            // They are taken in after the window.
            return now;
        }
        match std::mem::replace(&mut self.state, State::Waiting(Instant::NEVER)) {
            State::Looking { period, first: None, .. } => {
                self.unwatch(partition);
                let limit = self.budget.left(partition.totals()) / FIRST_LOOK;
                self.record(now, period, usize::try_from(limit).unwrap_or(usize::MAX), partition);
                now
            }
            State::Looking { period, first: Some(cycle), .. } => self.compare(now, period, cycle, partition),
            State::Rehearsing(rehearsal) => self.rehearse(now, rehearsal, partition),
            other => {
                self.state = other;
                now
            }
        }
    }

    /// Looks whether the state is as it was, and skips what repeats then; see [`Self::look`].
    fn compare(
        &mut self,
        now: Instant,
        period: Span,
        mut cycle: Cycle,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Instant {
        cycle.compare(now);
        self.budget.walk(&mut cycle, partition);
        let found = cycle.period();
        match cycle.room() {
            0 if found.0 < period.0 * MULTIPLES => {
                self.state = State::Looking { at: now + period, period, first: Some(cycle) };
                now
            }
            0 => {
                self.give_up(now, partition);
                now
            }
            // What was seen of it repeats: now all of it is looked at, which later attempts may have to pay
            // for.
            _ if cycle.is_partial() => {
                self.record(now, found, usize::MAX, partition);
                now
            }
            periods => {
                let later = now + Span(found.0 * periods);
                if partition.probe().due() <= later && periods > 1 {
                    self.state =
                        State::Rehearsing(Rehearsal::new(now, later, found, &mut self.budget, partition));
                    return now;
                }
                cycle.stop_before(partition.probe().due());
                self.advance(now, cycle, partition)
            }
        }
    }

    /// Moves the state on by as many periods as fit.
    fn advance(
        &mut self,
        now: Instant,
        mut cycle: Cycle,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Instant {
        let period = cycle.period();
        let later = cycle.advance(cycle.room());
        self.budget.walk(&mut cycle, partition);
        self.go_on(now, later, period, partition)
    }

    /// Notes what is sampled, and skips what repeats at the end of the period.
    fn rehearse(
        &mut self,
        now: Instant,
        mut rehearsal: Rehearsal,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Instant {
        rehearsal.look(now, partition);
        if !rehearsal.is_over(now) {
            self.state = State::Rehearsing(rehearsal);
            return now;
        }
        let period = rehearsal.period();
        match rehearsal.skip(now, &mut self.budget, partition) {
            Some(later) => self.go_on(now, later, period, partition),
            None => {
                self.give_up(now, partition);
                now
            }
        }
    }

    /// Time has been skipped until `later`: the state is looked for again.
    fn go_on(
        &mut self,
        now: Instant,
        later: Instant,
        period: Span,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Instant {
        self.skipped = self.skipped + later.since(now);
        self.wait = WAIT;
        self.record(later, period, usize::MAX, partition);
        later
    }

    /// Looks at the state for the first time, or at the first fields of it until they are `limit`.
    fn record(
        &mut self,
        now: Instant,
        period: Span,
        limit: usize,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) {
        let mut cycle = Cycle::record_some(now, limit);
        self.budget.walk(&mut cycle, partition);
        self.state = State::Looking { at: now + period, period, first: Some(cycle) };
    }
}
