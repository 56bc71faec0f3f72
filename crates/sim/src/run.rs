//! Runs a `RunSpec` (the parameters of one trial): builds the world (all nodes and links), processes its time
//! windows (steps of the simulation) with the hooks of a run (reports, progress, stall detection,
//! fast-forward), emits tables as they fill, and returns the summary.

use crate::estimate;
use crate::fast_forward::{self, FastForward};
use crate::patience::patience;
use crate::progress::Progress;
use crate::record::{Record, Totals};
use crate::report::{
    Assembler, Ending, FinalTables, JobProgress, LiveView, SeriesProbe, World, WorldPartition, build,
    deadlock_events, offered_bytes, open_connections, summary, tcp_patience,
};
use crate::setup::{BuildOptions, FabricNode, TwoPhaseRule};
use engine::{Hooks, Partition, Window};
use jobs::{Observer, RowSelection, RunError, Stopped};
use record::{Batch, EventRow};
use spec::{LossRecovery, RunSpec, RunSummary};
use std::ops::ControlFlow;
use std::time::{Duration, Instant as WallInstant};
use units::{Instant, Span};

/// Windows between two checks of the wall clock.
const WINDOWS_PER_CHECK: u32 = 64;
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Path of switches through a window. The result is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The fast path unless a threshold is within reach.
    #[default]
    Auto,
    /// Always the exact path, to verify the fast one.
    Exact,
}

/// Options of a run that do not change its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of threads, 1 or more.
    pub threads: usize,
    /// Path through the switches.
    pub path: Path,
    /// On one thread, skip periods that repeat.
    pub fast_forward: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, path: Path::Auto, fast_forward: true }
    }
}

/// Runs `spec`, emitting tables and progress to `observer`.
///
/// # Errors
/// If the spec cannot run, or the observer requests a stop.
///
/// # Panics
/// If an invariant of every run is violated, see `report/invariants.rs`: a bug of the simulator.
pub fn run(
    spec: &RunSpec,
    options: Options,
    observer: &mut dyn Observer<Progress>,
) -> Result<RunSummary, RunError> {
    spec::check(spec)?;
    let build_options = BuildOptions {
        threads: options.threads,
        exact_only: options.path == Path::Exact,
        ..BuildOptions::default()
    };
    let mut world = build(spec, &build_options)?;
    let mut partitions = std::mem::take(&mut world.partitions);
    let live = LiveView::new(spec, partitions[0].probe().live().clone());
    let mut driver = Driver::new(&world, spec, options, live, &mut *observer);
    let rows = RowSelection::new(spec, || estimate::chunk_rows(spec, &world.fabric))?;
    driver.assembler.choose(rows, &spec.jobs);
    let outcome = engine::run(&mut partitions, world.fabric.span, &mut driver);
    driver.report_end(outcome.last, partitions.iter().map(Partition::totals).sum());
    let Driver {
        mut assembler, observer: watcher, stopped, stalled_since, progress_at, fast_forward, ..
    } = driver;
    if stopped {
        return Err(RunError::Stopped);
    }
    let has_background = spec.jobs.iter().any(|job| job.repeat.rounds().is_none());
    let counts = summary::Counts::of(partitions.iter().flat_map(|partition| partition.nodes()));
    let has_losses = counts.lost.total() > 0;
    let never_resends = spec.transport.recovery == LossRecovery::None;
    let has_waited = stalled_since.is_some() && has_background && has_losses && never_resends;
    // Frames that wait for each other forever are not lost.
    let is_idle = !outcome.stopped && counts.queued == 0;
    let ending = Ending { is_idle, has_waited, has_losses };
    finish_chunks(&partitions, &mut assembler, ending, watcher).map_err(|Stopped| RunError::Stopped)?;
    // If other jobs continued, a failed chunk explains why the rest never arrived.
    let has_failed = has_background && assembler.jobs.iter().any(JobProgress::has_failed);
    let stalled_since = stalled_since.filter(|_| !has_failed);
    // Each source lists its events by time and node, so that the order does not depend on the partitions.
    let mut events = assembler.failure_events(&world.fabric.host_names());
    if let Some(since) = stalled_since {
        events.extend(summary::stall_evidence(&world, &partitions, since));
    }
    let deadlock = if assembler.is_complete() {
        Vec::new()
    } else {
        deadlock_events(&world, &partitions, progress_at, outcome.last.end)
    };
    let is_stalled = stalled_since.is_some() || !deadlock.is_empty();
    events.extend(deadlock);
    events.extend(summary::storm_events(&world, &partitions));
    events.extend(planned_events(&world, outcome.last.end));
    events.extend(summary::threshold_events(&world, &partitions));
    events.sort_by_key(|event| event.time_ps);
    let Assembler { rows, tally, channels, jobs, .. } = assembler;
    world.partitions = partitions;
    let mut summary = summary::summarise(spec, &world, &counts, &jobs, outcome.last, is_stalled);
    summary.fast_forward_ps = fast_forward.skipped.0;
    events.retain(|event| event.time_ps <= summary.end_ps);
    let tables = FinalTables {
        chunks: rows,
        tally,
        channels,
        events,
        end: outcome.last.end,
        run_end: Instant(summary.end_ps),
    };
    tables.emit(&world, spec, observer).map_err(|Stopped| RunError::Stopped)?;
    Ok(summary)
}

/// Failures and repairs of the plan until `end`, with what followed in the fabric.
fn planned_events(world: &World, end: Instant) -> impl Iterator<Item = EventRow> {
    let happened = world.fabric.failures.events(&world.fabric.graph, end).into_iter();
    happened.map(|event| EventRow {
        time_ps: event.at.0,
        kind: event.kind,
        node: event.node,
        detail: event.detail,
    })
}

/// Emits rows for chunks that never ended. There may be as many as chunks, so they are emitted as they are
/// created.
fn finish_chunks(
    partitions: &[WorldPartition],
    assembler: &mut Assembler,
    ending: Ending,
    observer: &mut dyn Observer<Progress>,
) -> Result<(), Stopped> {
    if assembler.has_ended() && !assembler.jobs.iter().any(JobProgress::is_background) {
        return Ok(());
    }
    let hosts = || {
        partitions.iter().flat_map(|partition| partition.nodes()).filter_map(|node| match node {
            FabricNode::Host(host) => Some(host),
            FabricNode::Switch(_) | FabricNode::Scheduled(_) => None,
        })
    };
    assembler.finish_rest(
        hosts().flat_map(|host| host.open_chunks()),
        hosts().flat_map(|host| host.served_so_far()),
        hosts().flat_map(|host| host.undelivered_chunks()),
        ending,
        |rows| observer.batch(Batch::Chunks(rows)),
    )
}

/// Payload of the jobs that end by themselves, in all their rounds.
fn total_bytes(world: &World, spec: &RunSpec) -> u64 {
    let flows = &world.flows;
    let schedules = spec.jobs.iter().zip(&flows.schedules);
    let of_schedules = schedules.map(|(job, schedule)| job.bytes_of_all_rounds(schedule.total_bytes()));
    let of_storage = spec.jobs.iter().filter(|job| job.repeat.rounds().is_some()).filter_map(|job| {
        let storage = job.work.storage()?;
        let operations = estimate::storage_operations(spec, &world.fabric, job, storage);
        Some(operations.saturating_mul(storage.block_bytes))
    });
    of_schedules.chain(of_storage).fold(offered_bytes(spec), u64::saturating_add)
}

/// The hooks of a run: collect reports, emit rows and progress, end the run.
struct Driver<'a> {
    assembler: Assembler<'a>,
    observer: &'a mut dyn Observer<Progress>,
    total_bytes: u64,
    windows_until_check: u32,
    last_report: WallInstant,
    live: LiveView,
    stopped: bool,
    /// Payload delivered so far, and the time of the last delivery.
    progress: u64,
    progress_at: Instant,
    /// Simulated time without any delivery after which the run is ended; the second is added while TCP
    /// connections are open.
    patience: Span,
    tcp_patience: Span,
    stalled_since: Option<Instant>,
    fast_forward: FastForward,
    /// Length of a window, and the end of the last one.
    span: Span,
    now: Instant,
    two_phase: TwoPhaseRule,
}

impl<'a> Driver<'a> {
    fn new(
        world: &'a World,
        spec: &RunSpec,
        options: Options,
        live: LiveView,
        observer: &'a mut dyn Observer<Progress>,
    ) -> Self {
        let flows = &world.flows;
        let (total_bytes, patience) = (total_bytes(world, spec), patience(spec, &world.fabric));
        // Random targets never repeat.
        let mut assembler = Assembler::new(flows, spec, &world.fabric);
        assembler.open_tcp = open_connections(spec, &world.connections);
        Self {
            assembler,
            observer,
            total_bytes,
            windows_until_check: WINDOWS_PER_CHECK,
            last_report: WallInstant::now(),
            live,
            stopped: false,
            progress: 0,
            progress_at: Instant::ZERO,
            patience,
            tcp_patience: Span(tcp_patience(spec)),
            stalled_since: None,
            fast_forward: FastForward::new(
                options.fast_forward
                    && options.threads <= 1
                    && fast_forward::applies(spec, flows.queue_pair_count().into()),
                world.fabric.span,
            ),
            span: world.fabric.span,
            now: Instant::ZERO,
            two_phase: TwoPhaseRule::new(spec, &world.fabric, flows, patience),
        }
    }

    #[inline]
    fn patience(&self) -> Span {
        if self.assembler.open_tcp == 0 { self.patience } else { self.patience + self.tcp_patience }
    }

    #[inline]
    fn note_progress(&mut self, window: Window, totals: Totals) {
        if totals.progress != self.progress {
            self.progress = totals.progress;
            self.progress_at = Window::from(totals.progress_at, self.span).end;
        } else if window.start.since(self.progress_at) > self.patience() {
            self.stalled_since = Some(self.progress_at);
        }
    }

    fn report(&mut self, window: Window, totals: Totals) -> Result<(), Stopped> {
        self.windows_until_check = WINDOWS_PER_CHECK;
        if self.last_report.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last_report = WallInstant::now();
        self.report_progress(window, totals)
    }

    /// Sends the last report of a run, unless the observer has ended it.
    fn report_end(&mut self, last: Window, totals: Totals) {
        self.stopped = self.stopped || self.report_progress(last, totals).is_err();
    }

    fn report_progress(&mut self, window: Window, totals: Totals) -> Result<(), Stopped> {
        self.observer.progress(Progress {
            delivered_bytes: totals.progress.min(self.total_bytes),
            total_bytes: self.total_bytes,
            simulated: window.end,
            packet_hops: totals.messages,
            waiting: window.end.since(self.progress_at),
            patience: self.patience(),
            open_chunks: self.assembler.open,
            samples: self.live.take(window.end, totals.progress),
        })
    }

    fn step(&mut self, window: Window, records: &mut Vec<Record>, totals: Totals) -> Result<(), Stopped> {
        if !records.is_empty() {
            let emit = |rows| self.observer.batch(Batch::Chunks(rows));
            self.assembler.take(records, emit)?;
        }
        self.windows_until_check -= 1;
        if self.windows_until_check == 0 { self.report(window, totals) } else { Ok(()) }
    }
}

impl Hooks<FabricNode, SeriesProbe> for Driver<'_> {
    #[inline]
    fn cut(&mut self, window: Window, partition: &mut WorldPartition) -> Option<Instant> {
        self.fast_forward.cut(window, partition)
    }

    fn inspect(&mut self, now: Instant, partition: &mut WorldPartition) -> Instant {
        self.fast_forward.read_state(now, partition)
    }

    #[inline]
    fn unobserved_until(&self, totals: Totals) -> Instant {
        let has_failed = !self.assembler.failed_queue_pairs.is_empty();
        if !has_failed && self.two_phase.allows(totals, self.assembler.open, self.now) {
            self.fast_forward.rests_until()
        } else {
            Instant::ZERO
        }
    }

    #[inline]
    fn after_window(&mut self, window: Window, records: &mut Vec<Record>, totals: Totals) -> ControlFlow<()> {
        self.now = window.end;
        self.fast_forward.note(window, records);
        // Once it has requested a stop, the observer is not called again, though another step may follow.
        self.stopped = self.stopped || self.step(window, records, totals).is_err();
        self.note_progress(window, totals);
        if self.stopped || self.stalled_since.is_some() || self.assembler.open + self.assembler.open_tcp == 0
        {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
