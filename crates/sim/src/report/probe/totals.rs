//! Samples totals of all nodes with the time series, and makes their rows: bytes delivered to each job,
//! frames lost in the fabric, deepest queue of all ports.
//!
//! All partitions (the nodes that one thread simulates) sample at the same times, each its own nodes. So sums
//! are added over partitions, and the deepest queue is their maximum.

use super::SeriesProbe;
use super::values::deepest_queue;
use crate::record::Totals;
use crate::report::summary::frames_lost;
use crate::setup::{FabricNode, Location};
use record::SeriesRow;
use spec::RunSpec;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::Instant;

/// The totals of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct SampledTotals {
    /// By job: indices of its hosts in the partition, without duplicates. Empty if there is only one job.
    jobs: Vec<Vec<u32>>,
    pub(super) counts_losses: bool,
    pub(super) sees_queues: bool,
    /// Values of all samples.
    pub(super) sums: Vec<u64>,
    /// Deepest queue at each sample [bytes]; empty if no port is sampled.
    pub(super) queues: Vec<u64>,
}

impl SampledTotals {
    /// The totals of each partition as configured by `spec`; losses only if there are failures.
    pub(super) fn assign(spec: &RunSpec, locations: &[Location], partitions: usize) -> Vec<Self> {
        let empty = Self {
            jobs: vec![Vec::new(); spec.jobs.len()],
            counts_losses: !spec.fabric.failures.is_empty(),
            sees_queues: spec.observe.series_ports > 0,
            sums: Vec::new(),
            queues: Vec::new(),
        };
        let mut totals = vec![empty; partitions];
        if spec.jobs.len() == 1 {
            return totals;
        }
        for (index, job) in spec.jobs.iter().enumerate() {
            for host in job.hosts.iter().collect::<BTreeSet<_>>() {
                let location = locations[*host as usize];
                totals[location.partition as usize].jobs[index].push(location.index);
            }
        }
        totals
    }

    /// Takes a sample at `now`.
    pub(super) fn sample(&mut self, nodes: &[FabricNode], totals: Totals, now: Instant) {
        let mut sums = std::mem::take(&mut self.sums);
        self.sums_into(nodes, totals, &mut sums);
        self.sums = sums;
        self.queues.extend(self.queue_max_bytes(nodes, now));
    }

    /// The deepest queue at `now` [bytes], if ports are sampled.
    pub(super) fn queue_max_bytes(&self, nodes: &[FabricNode], now: Instant) -> Option<u64> {
        let deepest = || nodes.iter().map(|node| deepest_queue(node, now)).max().unwrap_or(0);
        self.sees_queues.then(deepest)
    }

    /// Appends the current sums: of each job, then losses. A single job has the total of all deliveries.
    pub(super) fn sums_into(&self, nodes: &[FabricNode], totals: Totals, sums: &mut Vec<u64>) {
        let delivered = |job: u32, host: u32| match &nodes[host as usize] {
            FabricNode::Host(host) => host.delivered_bytes(job),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => 0,
        };
        let of_job =
            |(job, hosts): (u32, &Vec<u32>)| hosts.iter().map(|&host| delivered(job, host)).sum::<u64>();
        match &*self.jobs {
            [_] => sums.push(totals.delivered),
            jobs => sums.extend((0..).zip(jobs).map(of_job)),
        }
        if self.counts_losses {
            sums.push(frames_lost(nodes.iter()).total());
        }
    }

    /// Drops every second sample; `remaining` remain.
    pub(super) fn thin_out(&mut self, remaining: usize) {
        let width = self.width();
        for sample in 1..remaining {
            self.sums.copy_within(2 * sample * width..(2 * sample + 1) * width, sample * width);
        }
        self.sums.truncate(remaining * width);
        if self.sees_queues {
            (1..remaining).for_each(|sample| self.queues[sample] = self.queues[2 * sample]);
            self.queues.truncate(remaining);
        }
    }

    /// Number of values in a sample.
    fn width(&self) -> usize {
        self.jobs.len() + usize::from(self.counts_losses)
    }

    fn metric(&self, index: usize) -> (&'static str, Option<u32>) {
        if index < self.jobs.len() { ("delivered_bytes", Some(index as u32)) } else { ("lost_frames", None) }
    }
}

/// The sums and the deepest queue of all partitions, series by series.
pub(crate) fn total_rows<'a>(probes: impl Iterator<Item = &'a SeriesProbe>) -> Vec<SeriesRow> {
    let mut probes = probes.peekable();
    let Some(first) = probes.peek().copied() else { return Vec::new() };
    let mut sums = vec![0; first.totals.sums.len()];
    let mut queues = vec![0; first.totals.queues.len()];
    for probe in probes {
        debug_assert_eq!(probe.times, first.times, "partitions sample together");
        sums.iter_mut().zip(&probe.totals.sums).for_each(|(sum, own)| *sum += own);
        queues.iter_mut().zip(&probe.totals.queues).for_each(|(most, &own)| *most = own.max(*most));
    }
    let (width, node) = (first.totals.width(), Arc::from("fabric"));
    let of = |index: usize| {
        let (metric, job) = first.totals.metric(index);
        let values = sums.iter().skip(index).step_by(width);
        first.times.iter().zip(values).map(move |(at, &value)| (metric, job, at.0, value))
    };
    let row = |(metric, job, time_ps, value)| {
        let node = Arc::clone(&node);
        SeriesRow { metric, node, port: 0, priority: None, job, qp: None, time_ps, value }
    };
    let deepest = first.times.iter().zip(&queues).map(|(at, &bytes)| ("queue_max_bytes", None, at.0, bytes));
    (0..width).flat_map(of).chain(deepest).map(row).collect()
}
