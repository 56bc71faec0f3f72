//! A period that is simulated with a look at what is sampled wherever a skipped period would be sampled.
//!
//! Series are sampled more often than what repeats begins anew. So before many periods are skipped one is
//! rehearsed: at each place within it that a sample of the time to be skipped falls on, what is sampled is
//! noted. See [`crate::report::Sample`].

use super::state::Budget;
use crate::report::{Sample, SeriesProbe};
use crate::setup::FabricNode;
use engine::Partition;
use units::{Cycle, Instant, Span};

/// A sample of the time to be skipped.
struct Moment {
    at: Instant,
    /// The same place in the rehearsed period, and how many periods later it is.
    place: Instant,
    periods: u64,
    /// What was seen at that place; none before, and if something else may be sampled.
    seen: Option<Sample>,
}

/// A period that is being rehearsed.
pub(super) struct Rehearsal {
    period: Span,
    /// The state at its beginning.
    cycle: Cycle,
    /// What would have been sampled then.
    first: Sample,
    end: Instant,
    /// Ordered by place until the end, then by time.
    moments: Vec<Moment>,
    /// The moment whose place comes next.
    next: usize,
}

impl Rehearsal {
    /// Begins at `now`; samples until `later` are to be made of it.
    pub(super) fn new(
        now: Instant,
        later: Instant,
        period: Span,
        budget: &mut Budget,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Self {
        let mut cycle = Cycle::record(now);
        budget.walk(&mut cycle, partition);
        let end = now + period;
        let skipped = partition.probe().moments(later, partition.span()).into_iter().filter(|at| *at > end);
        let moment = |at: Instant| {
            let periods = at.since(now).0 / period.0;
            Moment { at, place: Instant(at.0 - periods * period.0), periods, seen: None }
        };
        let mut moments: Vec<Moment> = skipped.map(moment).collect();
        moments.sort_by_key(|moment| moment.place);
        let first = partition.probe().sample_at(partition.nodes(), partition.totals(), now);
        Self { period, cycle, first, end, moments, next: 0 }
    }

    /// When to look next, not before `now`. Places that were passed, because nothing happened there, stay
    /// unseen.
    pub(super) fn next_look(&mut self, now: Instant) -> Instant {
        while self.moments.get(self.next).is_some_and(|moment| moment.place < now) {
            self.next += 1;
        }
        self.moments.get(self.next).map_or(self.end, |moment| moment.place)
    }

    /// Looks at what is sampled at `now`, if that is a place of the period and a window that begins here
    /// would be sampled: something happens in it.
    pub(super) fn look(&mut self, now: Instant, partition: &Partition<FabricNode, SeriesProbe>) {
        let is_active = partition.next_arrival() < now + partition.span();
        while let Some(moment) = self.moments.get_mut(self.next).filter(|moment| moment.place == now) {
            moment.seen =
                is_active.then(|| partition.probe().sample_at(partition.nodes(), partition.totals(), now));
            self.next += 1;
        }
    }

    pub(super) const fn period(&self) -> Span {
        self.period
    }

    /// The period is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        now == self.end
    }

    /// Nothing happened at its end.
    pub(super) fn is_missed(&self, now: Instant) -> bool {
        now > self.end
    }

    /// Skips as many periods as fit, with their samples; returns the time then, or none if the state did not
    /// repeat or nothing fits.
    pub(super) fn skip(
        mut self,
        now: Instant,
        budget: &mut Budget,
        partition: &mut Partition<FabricNode, SeriesProbe>,
    ) -> Option<Instant> {
        self.cycle.compare(now);
        budget.walk(&mut self.cycle, partition);
        let step = partition.probe().sample_at(partition.nodes(), partition.totals(), now).since(&self.first);
        self.moments.sort_by_key(|moment| moment.at);
        // Where a sample cannot be made the run goes on as ever.
        let unknown = self.moments.iter().find(|moment| step.is_none() || moment.seen.is_none());
        self.cycle.stop_before(unknown.map_or(Instant::NEVER, |moment| moment.at));
        self.stop_where_samples_differ(partition.probe(), partition.span());
        let periods = self.cycle.room();
        if periods == 0 {
            return None;
        }
        let later = self.cycle.advance(periods);
        budget.walk(&mut self.cycle, partition);
        for moment in self.moments.iter().take_while(|moment| moment.at <= later) {
            let (Some(seen), Some(step)) = (&moment.seen, &step) else { break };
            partition.probe_mut().add_skipped(moment.at, seen, moment.periods, step);
        }
        Some(later)
    }

    /// What the rehearsed period was sampled at may have changed what comes: then nothing is skipped beyond
    /// it.
    fn stop_where_samples_differ(&mut self, probe: &SeriesProbe, span: Span) {
        let last = self.moments.last().map_or(self.end, |moment| moment.at);
        let expected = probe.moments(last, span);
        let foreseen = self.moments.iter().map(|moment| moment.at);
        if !expected.iter().copied().eq(foreseen) {
            self.cycle.stop_before(probe.due());
        }
    }
}
