//! What is told of a run while it goes on agrees with its record, and does not change it.

use crate::common::{Recorder, collective, dcqcn, dynamic_pfc, ecn, leaf_spine, run, tables};
use fabricbench_sim::{Observer, Options, Path, Progress, RunError, Sample, Stopped};
use record::Batch;
use spec::RunSpec;
use std::collections::BTreeMap;

/// Keeps the record and every sample that was told before its last rows came.
#[derive(Default)]
struct Watcher {
    recorder: Recorder,
    samples: Vec<Sample>,
    last: Option<Progress>,
    /// End the run at the first sample.
    is_hasty: bool,
}

impl Observer<Progress> for Watcher {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        self.recorder.batch(batch)
    }

    fn progress(&mut self, progress: Progress) -> Result<(), Stopped> {
        assert!(self.recorder.series.is_empty(), "reports come while the run goes on");
        assert!(progress.samples.len() <= 128);
        self.samples.extend(&progress.samples);
        self.last = Some(progress);
        if self.is_hasty && !self.samples.is_empty() { Err(Stopped) } else { Ok(()) }
    }
}

fn watch(spec: &RunSpec, threads: usize, path: Path, fast_forward: bool) -> Watcher {
    let mut watcher = Watcher::default();
    fabricbench_sim::run(spec, Options { threads, path, fast_forward }, &mut watcher)
        .expect("the spec is right");
    watcher
}

/// Seven hosts into one, with pauses and marks. So few samples that none are joined.
fn congested() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 4 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 1 << 20;
    spec.fabric.switch.ecn = Some(ecn(20_000, 80_000));
    spec.transport.rate_control = dcqcn();
    spec.observe.series_points = 60;
    spec.observe.series_interval_ps = 5_000_000;
    spec
}

#[test]
fn samples_are_those_of_the_record() {
    let spec = congested();
    let Watcher { recorder, samples, last, .. } = watch(&spec, 1, Path::Auto, true);
    assert!(samples.len() > 30, "{}", samples.len());
    let mut queues = BTreeMap::<u64, u64>::new();
    let mut paused = BTreeMap::<u64, u64>::new();
    for row in &recorder.series {
        match row.metric {
            "queue_bytes" => {
                let deepest = queues.entry(row.time_ps).or_default();
                *deepest = row.value.max(*deepest);
            }
            "paused_ps" => *paused.entry(row.time_ps).or_default() += row.value,
            _ => {}
        }
    }
    let (mut since_start, mut compared) = (0, 0);
    for sample in &samples {
        let ports = sample.ports.expect("ports are sampled");
        since_start += ports.paused.0;
        if let Some(&deepest) = queues.get(&sample.at.0) {
            assert_eq!((ports.queue_max_bytes, since_start), (deepest, paused[&sample.at.0]));
            compared += 1;
        }
    }
    assert_eq!(compared, queues.len() - 1, "all but that at the start");
    assert!(queues.values().any(|&deepest| deepest > 0) && since_start > 0);
    let marked: u64 = samples.iter().filter_map(|sample| sample.ports).map(|ports| ports.marked_frames).sum();
    assert!(marked > 0 && marked <= recorder.ports.iter().map(|port| port.ecn_marked).sum());
    let last = last.expect("the end is reported");
    assert_eq!((last.total_bytes, last.delivered_bytes), (7 << 22, 7 << 22));
    let delivered: u64 = samples.iter().map(|sample| sample.delivered_bytes).sum();
    assert!(delivered <= last.delivered_bytes && delivered > last.delivered_bytes / 2);
    assert!(samples.windows(2).all(|pair| pair[0].at + pair[1].span == pair[1].at));
}

#[test]
fn they_depend_neither_on_threads_nor_on_the_path_and_change_no_table() {
    let mut bulk = collective(leaf_spine(4), 8, "all-reduce", "ring", 8 * 4_000_000);
    bulk.observe.series_points = 20;
    for spec in [congested(), bulk] {
        let first = watch(&spec, 1, Path::Auto, true);
        assert!(first.samples.len() > 10, "{}", first.samples.len());
        for (threads, path, fast_forward) in
            [(1, Path::Auto, false), (1, Path::Exact, false), (2, Path::Auto, true), (3, Path::Auto, true)]
        {
            let other = watch(&spec, threads, path, fast_forward);
            let differs = first.samples.iter().zip(&other.samples).find(|(one, two)| one != two);
            assert_eq!(differs, None, "{threads} {path:?} {fast_forward}");
            assert_eq!(first.samples.len(), other.samples.len());
            assert!(tables(&first.recorder) == tables(&other.recorder));
        }
        assert!(tables(&first.recorder) == tables(&run(&spec).1));
    }
}

#[test]
fn samples_come_long_before_the_end() {
    let mut endless = collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 40);
    endless.transport.message_bytes = 1 << 30;
    for threads in [1, 2] {
        let mut watcher = Watcher { is_hasty: true, ..Watcher::default() };
        let options = Options { threads, fast_forward: false, ..Options::default() };
        let outcome = fabricbench_sim::run(&endless, options, &mut watcher);
        assert!(matches!(outcome, Err(RunError::Stopped)));
        let last = watcher.last.expect("a report brought them");
        assert!(last.delivered_bytes < last.total_bytes / 2 && watcher.recorder.chunks.is_empty());
        assert!(
            watcher.samples.iter().any(|sample| sample.ports.is_some_and(|ports| ports.queue_max_bytes > 0))
        );
    }
}

#[test]
fn without_sampled_ports_or_points_only_what_was_delivered_is_told() {
    for (points, ports) in [(0, 64), (60, 0)] {
        let mut spec = congested();
        spec.observe.series_points = points;
        spec.observe.series_ports = ports;
        let watcher = watch(&spec, 2, Path::Auto, true);
        assert!(!watcher.samples.is_empty());
        assert!(watcher.samples.iter().all(|sample| sample.ports.is_none() && sample.span.0 > 0));
        let delivered: u64 = watcher.samples.iter().map(|sample| sample.delivered_bytes).sum();
        assert!(delivered > 7 << 21, "{delivered}");
    }
}
