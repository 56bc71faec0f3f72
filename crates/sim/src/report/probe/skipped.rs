//! Computes the samples of time series for time skipped by fast-forward from samples of a simulated period.
//!
//! If the state repeats with a period, a value is that at the same phase of a simulated period, plus the
//! increment of each later period. So the simulated period is sampled at the phase of every skipped sample,
//! from which the samples are computed.

use super::SeriesProbe;
use super::live::Counts;
use crate::record::Totals;
use crate::setup::FabricNode;
use units::{Instant, Span};

/// One sample of all watched values of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    values: Vec<Option<u64>>,
    sums: Vec<u64>,
    queue_max_bytes: Option<u64>,
    counts: Counts,
}

impl Sample {
    /// Difference from `earlier`; `None` if the two have different sets of values.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        let values = self.values.iter().zip(&earlier.values).map(|values| match values {
            (Some(now), Some(before)) => Some(Some(now.wrapping_sub(*before))),
            (None, None) => Some(None),
            _ => None,
        });
        let values = values.collect::<Option<_>>()?;
        let sums = self.sums.iter().zip(&earlier.sums).map(|(now, before)| now - before).collect();
        let queue = self.queue_max_bytes.zip(earlier.queue_max_bytes);
        let queue_max_bytes = queue.map(|(now, before)| now.wrapping_sub(before));
        Some(Self { values, sums, queue_max_bytes, counts: self.counts.since(earlier.counts) })
    }

    /// The values and sums `periods` periods later, each of which adds `step`.
    fn after<'a>(
        &'a self,
        periods: u64,
        step: &'a Self,
    ) -> (impl Iterator<Item = Option<u64>> + 'a, impl Iterator<Item = u64> + 'a) {
        let values = self.values.iter().zip(&step.values);
        let values = values.map(move |(value, step)| Some(add((*value)?, (*step)?, periods)));
        let sums = self.sums.iter().zip(&step.sums).map(move |(sum, step)| add(*sum, *step, periods));
        (values, sums)
    }
}

/// A value `periods` periods later, each of which adds `step`, which may be negative.
const fn add(value: u64, step: u64, periods: u64) -> u64 {
    value.wrapping_add(step.wrapping_mul(periods))
}

impl SeriesProbe {
    /// Times of the samples until `end`, if every window of length `span` has an event.
    pub(crate) fn sample_times(&self, end: Instant, span: Span) -> Vec<Instant> {
        let mut schedule = self.schedule;
        let mut times = Vec::new();
        while schedule.due() <= end {
            let at = Instant(schedule.due().0.next_multiple_of(span.0));
            if at > end {
                break;
            }
            schedule.take(at);
            times.push(at);
        }
        times
    }

    pub(crate) fn sample_at(&self, nodes: &[FabricNode], totals: Totals, now: Instant) -> Sample {
        let mut sums = Vec::new();
        self.totals.sums_into(nodes, totals, &mut sums);
        Sample {
            values: self.sampled(nodes, now),
            sums,
            queue_max_bytes: self.totals.queue_max_bytes(nodes, now),
            counts: self.counts(nodes, totals),
        }
    }

    /// Adds a sample of skipped time: `periods` periods after `sample`, each of which adds `step`.
    pub(crate) fn add_skipped(&mut self, at: Instant, sample: &Sample, periods: u64, step: &Sample) {
        self.begin(at);
        let (values, sums) = sample.after(periods, step);
        self.values.extend(values);
        self.totals.sums.extend(sums);
        let queue = sample.queue_max_bytes.zip(step.queue_max_bytes);
        self.totals.queues.extend(queue.map(|(bytes, step)| add(bytes, step, periods)));
        self.update_live(at, sample.counts.after(periods, step.counts));
    }
}
