//! Rehearsal: simulates one period of a repeating state with additional samples of the time series, from
//! which the samples of the periods that fast-forward skips are computed.
//!
//! A series may be sampled at several phases of the period, so before many periods are skipped, one is
//! simulated in which a sample is taken at each phase that coincides with a sample of the skipped time. See
//! [`crate::report::Sample`].

use super::state::Budget;
use crate::report::{Sample, SeriesProbe, WorldPartition};
use units::{Cycle, Instant, Span};

/// A sample of the time to be skipped.
struct SkippedSample {
    at: Instant,
    /// Time with the same phase in the rehearsed period, `periods` periods earlier.
    source: Instant,
    periods: u64,
    /// The sample at `source`; `None` before, and if the run would not be sampled there.
    sample: Option<Sample>,
}

/// A period that is being rehearsed.
pub(super) struct Rehearsal {
    period: Span,
    /// The state at its start.
    cycle: Cycle,
    /// The sample at its start.
    first: Sample,
    end: Instant,
    /// Ordered by `source` until the end of the period, then by time.
    samples: Vec<SkippedSample>,
    /// Index of the next sample to take.
    next: usize,
}

impl Rehearsal {
    /// Starts at `now`, for the samples until `later`.
    pub(super) fn new(
        now: Instant,
        later: Instant,
        period: Span,
        budget: &mut Budget,
        partition: &mut WorldPartition,
    ) -> Self {
        let mut cycle = Cycle::record(now);
        budget.walk(&mut cycle, partition);
        let end = now + period;
        let skipped =
            partition.probe().sample_times(later, partition.span()).into_iter().filter(|at| *at > end);
        let skipped_sample = |at: Instant| {
            let periods = at.since(now).0 / period.0;
            SkippedSample { at, source: Instant(at.0 - periods * period.0), periods, sample: None }
        };
        let mut samples: Vec<SkippedSample> = skipped.map(skipped_sample).collect();
        samples.sort_by_key(|sample| sample.source);
        let first = partition.probe().sample_at(partition.nodes(), partition.totals(), now);
        Self { period, cycle, first, end, samples, next: 0 }
    }

    /// Time of the next sample, not before `now`. Times that were passed without an event get no sample.
    pub(super) fn next_sample(&mut self, now: Instant) -> Instant {
        while self.samples.get(self.next).is_some_and(|sample| sample.source < now) {
            self.next += 1;
        }
        self.samples.get(self.next).map_or(self.end, |sample| sample.source)
    }

    /// Takes the samples due at `now`, if a window that starts here would be sampled because it has events.
    pub(super) fn sample(&mut self, now: Instant, partition: &WorldPartition) {
        let is_active = partition.next_arrival() < now + partition.span();
        while let Some(due) = self.samples.get_mut(self.next).filter(|sample| sample.source == now) {
            due.sample =
                is_active.then(|| partition.probe().sample_at(partition.nodes(), partition.totals(), now));
            self.next += 1;
        }
    }

    pub(super) const fn period(&self) -> Span {
        self.period
    }

    /// The period ends at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        now == self.end
    }

    /// The end of the period was passed without an event.
    pub(super) fn is_missed(&self, now: Instant) -> bool {
        now > self.end
    }

    /// Skips as many periods as fit, with their samples; returns the time after them, or `None` if the state
    /// did not repeat or no period fits.
    pub(super) fn skip(
        mut self,
        now: Instant,
        budget: &mut Budget,
        partition: &mut WorldPartition,
    ) -> Option<Instant> {
        self.cycle.compare(now);
        budget.walk(&mut self.cycle, partition);
        let step = partition.probe().sample_at(partition.nodes(), partition.totals(), now).since(&self.first);
        self.samples.sort_by_key(|sample| sample.at);
        // The run is simulated from the first sample on that cannot be computed.
        let missing = self.samples.iter().find(|skipped| step.is_none() || skipped.sample.is_none());
        self.cycle.stop_before(missing.map_or(Instant::NEVER, |skipped| skipped.at));
        self.stop_where_samples_differ(partition.probe(), partition.span());
        let periods = self.cycle.room();
        if periods == 0 {
            return None;
        }
        let later = self.cycle.advance(periods);
        budget.walk(&mut self.cycle, partition);
        for skipped in self.samples.iter().take_while(|skipped| skipped.at <= later) {
            let (Some(sample), Some(step)) = (&skipped.sample, &step) else { break };
            partition.probe_mut().add_skipped(skipped.at, sample, skipped.periods, step);
        }
        Some(later)
    }

    /// The samples of the rehearsed period may have changed the times of the following samples: then nothing
    /// is skipped beyond the next one.
    fn stop_where_samples_differ(&mut self, probe: &SeriesProbe, span: Span) {
        let last = self.samples.last().map_or(self.end, |skipped| skipped.at);
        let planned = self.samples.iter().map(|skipped| skipped.at);
        if !probe.sample_times(last, span).into_iter().eq(planned) {
            self.cycle.stop_before(probe.due());
        }
    }
}
