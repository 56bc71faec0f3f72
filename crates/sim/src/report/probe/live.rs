//! Live view of a run: takes a few statistics of all nodes with each sample of the time series (payload
//! delivered, frames marked, time paused, deepest queue), and passes them to the progress report.
//!
//! All partitions (the nodes that one thread simulates) sample at the same times, and each adds its part.
//! Samples that have not been reported are stored up to a bound: then pairs of samples are merged, later
//! groups of four and so on, with the maximum of the queue and the latest of the sums. None of this is stored
//! in the result tables.

use crate::progress::{PortSample, Sample};
use spec::RunSpec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{Instant, Span};

/// Most samples stored. Even, since they are merged in pairs.
const SAMPLES_MAX: usize = 128;

/// One sample, of one partition or of all; sums are since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LiveSample {
    pub(super) at: Instant,
    pub(super) counts: Counts,
    /// Deepest queue of all switch ports.
    pub(super) queue_max_bytes: u64,
    pub(super) paused_ps: u64,
}

/// Counters of a sample that are not in any series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Payload delivered.
    pub(super) delivered_bytes: u64,
    /// Frames marked at the sampled ports.
    pub(super) marked_frames: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.marked_frames += other.marked_frames;
    }

    /// Difference from `earlier`.
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            marked_frames: self.marked_frames - earlier.marked_frames,
        }
    }

    /// The counts `periods` periods later, each of which adds `step`.
    pub(super) const fn after(self, periods: u64, step: Self) -> Self {
        Self {
            delivered_bytes: self.delivered_bytes + periods * step.delivered_bytes,
            marked_frames: self.marked_frames + periods * step.marked_frames,
        }
    }
}

impl LiveSample {
    /// Adds the same sample of another partition.
    fn add(&mut self, other: &Self) {
        self.counts.add(other.counts);
        self.queue_max_bytes = self.queue_max_bytes.max(other.queue_max_bytes);
        self.paused_ps += other.paused_ps;
    }

    /// Merges this sample with the following one.
    fn joined(&self, later: &Self) -> Self {
        Self { queue_max_bytes: self.queue_max_bytes.max(later.queue_max_bytes), ..*later }
    }
}

/// Samples that have not been taken.
#[derive(Debug)]
struct PendingSamples {
    samples: Vec<LiveSample>,
    /// Samples merged into each entry, and into the last one.
    stride: u32,
    in_last: u32,
}

impl PendingSamples {
    const fn new() -> Self {
        Self { samples: Vec::new(), stride: 1, in_last: 1 }
    }

    fn add(&mut self, sample: LiveSample) {
        match self.samples.last_mut() {
            Some(last) if last.at == sample.at => last.add(&sample),
            Some(last) if self.in_last < self.stride => {
                *last = last.joined(&sample);
                self.in_last += 1;
            }
            _ => self.push(sample),
        }
    }

    fn push(&mut self, sample: LiveSample) {
        if self.samples.len() == SAMPLES_MAX {
            for pair in 0..SAMPLES_MAX / 2 {
                self.samples[pair] = self.samples[2 * pair].joined(&self.samples[2 * pair + 1]);
            }
            self.samples.truncate(SAMPLES_MAX / 2);
            self.stride *= 2;
        }
        self.samples.push(sample);
        self.in_last = 1;
    }
}

/// Samples that have not been taken, shared by the partitions and the observer.
#[derive(Clone, Debug)]
pub(crate) struct LiveSamples(Arc<Mutex<PendingSamples>>);

impl Default for LiveSamples {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(PendingSamples::new())))
    }
}

impl LiveSamples {
    /// Adds the sample of a partition. No partition samples a later time before all have sampled this one.
    pub(super) fn add(&self, sample: LiveSample) {
        self.pending().add(sample);
    }

    fn take(&self) -> Vec<LiveSample> {
        std::mem::replace(&mut *self.pending(), PendingSamples::new()).samples
    }

    fn pending(&self) -> MutexGuard<'_, PendingSamples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the samples since the previous call.
#[derive(Debug)]
pub(crate) struct LiveView {
    samples: LiveSamples,
    last: LiveSample,
    is_sampled: bool,
    has_ports: bool,
}

impl LiveView {
    /// View of a run of `spec` whose probes add to `samples`.
    pub(crate) fn new(spec: &RunSpec, samples: LiveSamples) -> Self {
        Self {
            samples,
            last: LiveSample::default(),
            is_sampled: spec.observe.series_points > 0,
            has_ports: spec.observe.series_points > 0 && spec.observe.series_ports > 0,
        }
    }

    /// The samples since the previous call. If nothing is sampled, one sample with the bytes delivered until
    /// `now`, which is between two windows.
    pub(crate) fn take(&mut self, now: Instant, delivered_bytes: u64) -> Vec<Sample> {
        let mut samples = self.samples.take();
        if !self.is_sampled {
            let counts = Counts { delivered_bytes, ..Counts::default() };
            samples.push(LiveSample { at: now, counts, ..LiveSample::default() });
        }
        samples.iter().filter_map(|sample| self.since_last(sample)).collect()
    }

    /// Difference between the previous sample and this one; `None` at the start of the run.
    fn since_last(&mut self, sample: &LiveSample) -> Option<Sample> {
        let before = std::mem::replace(&mut self.last, *sample);
        let Counts { delivered_bytes, marked_frames } = sample.counts.since(before.counts);
        let ports = PortSample {
            queue_max_bytes: sample.queue_max_bytes,
            marked_frames,
            paused: Span(sample.paused_ps - before.paused_ps),
        };
        (sample.at > before.at).then(|| Sample {
            at: sample.at,
            span: sample.at.since(before.at),
            delivered_bytes,
            ports: self.has_ports.then_some(ports),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, queue_max_bytes: u64) -> LiveSample {
        let counts = Counts { delivered_bytes: 10 * at, marked_frames: at };
        LiveSample { at: Instant(at), counts, queue_max_bytes, paused_ps: 2 * at }
    }

    fn view(samples: &LiveSamples) -> LiveView {
        LiveView { samples: samples.clone(), last: LiveSample::default(), is_sampled: true, has_ports: true }
    }

    #[test]
    fn partitions_add_up_to_one_sample_and_each_is_returned_once() {
        let samples = LiveSamples::default();
        let mut view = view(&samples);
        [sample(0, 0), sample(0, 0), sample(5, 7), sample(5, 3)]
            .into_iter()
            .for_each(|sample| samples.add(sample));
        let ports = PortSample { queue_max_bytes: 7, marked_frames: 10, paused: Span(20) };
        let expected = Sample { at: Instant(5), span: Span(5), delivered_bytes: 100, ports: Some(ports) };
        assert_eq!(view.take(Instant(6), 0), [expected]);
        assert!(view.take(Instant(7), 0).is_empty());
    }

    #[test]
    fn untaken_samples_are_bounded_and_keep_their_peaks_and_sums() {
        let samples = LiveSamples::default();
        let queue = |at: u64| if at == 4_321 { 99 } else { at % 50 };
        for at in 1..=10_000 {
            // Two partitions.
            samples.add(sample(at, queue(at)));
            samples.add(sample(at, 0));
        }
        let taken = view(&samples).take(Instant(10_000), 0);
        assert!(taken.len() <= SAMPLES_MAX && taken.len() >= SAMPLES_MAX / 2, "{}", taken.len());
        assert!(taken.iter().rev().skip(1).all(|sample| sample.span.0 == 128), "{taken:?}");
        let ports = || taken.iter().filter_map(|sample| sample.ports);
        assert_eq!(ports().map(|ports| ports.queue_max_bytes).max(), Some(99));
        assert_eq!(ports().map(|ports| ports.marked_frames).sum::<u64>(), 20_000);
        assert_eq!(taken.iter().map(|sample| sample.span.0).sum::<u64>(), 10_000);
        assert_eq!(taken.iter().map(|sample| sample.delivered_bytes).sum::<u64>(), 200_000);
    }

    #[test]
    fn without_samples_delivered_bytes_are_returned() {
        let mut view = LiveView { is_sampled: false, has_ports: false, ..view(&LiveSamples::default()) };
        let delivered = |samples: Vec<Sample>| {
            samples.iter().map(|sample| (sample.span.0, sample.delivered_bytes)).collect()
        };
        let first: Vec<_> = delivered(view.take(Instant(10), 70));
        assert_eq!(first, [(10, 70)]);
        let nothing: Vec<_> = delivered(view.take(Instant(10), 70));
        assert!(nothing.is_empty());
        let second: Vec<_> = delivered(view.take(Instant(30), 90));
        assert_eq!(second, [(20, 20)]);
    }
}
