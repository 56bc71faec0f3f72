//! Carries a spec out: builds the world, runs the windows, hands the tables out as they fill.

use crate::apart::ApartRule;
use crate::assemble::{Assembler, Ending};
use crate::connections::{connection_rows, offered_bytes, open_connections, tcp_patience};
use crate::deadlock::deadlock_events;
use crate::estimate;
use crate::fast_forward::{self, FastForward};
use crate::kernel::{self, Hooks, Totals, Window};
use crate::observer::{Batch, Observer, Progress, Stopped};
use crate::paths::{Paths, paths};
use crate::probe::{LiveView, SeriesProbe, hand_out_links, hand_out_ports, hand_out_series, total_rows};
use crate::progress::JobProgress;
use crate::record::Record;
use crate::reordering::reordering_rows;
use crate::setup::{BuildOptions, Fabric, FabricNode, World, build};
use crate::summary;
use crate::switch::forward::{Forward, balancing, with_forward};
use spec::{JobSpec, LossRecovery, RunSpec, RunSummary, SpecError};
use std::ops::ControlFlow;
use std::time::{Duration, Instant as WallInstant};
use thiserror::Error;
use units::{Instant, NodeId, Rate, Span};

/// Windows between two looks at the wall clock.
const WINDOWS_PER_LOOK: u32 = 64;
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Longer than a frame waits in the queues on its way, where buffers are small and links are fast.
const QUEUEING: Span = Span(100_000_000_000);
/// More than a frame has besides its payload, gap and preamble included.
const HEADERS_BYTES_MAX: u64 = 128;
const WHOLE_PPM: u32 = 1_000_000;
/// Switches on the way of a frame, at the most.
const SWITCHES_MAX: u64 = 8;

/// Which path switches take through a window. The result is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// The fast path wherever no threshold is within reach.
    #[default]
    Auto,
    /// The exact path everywhere, to prove the fast one.
    Exact,
}

/// What a run may choose without changing its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads to run on, 1 or more.
    pub threads: usize,
    /// Path through the switches.
    pub path: Path,
    /// On one thread, skip what repeats.
    pub fast_forward: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, path: Path::Auto, fast_forward: true }
    }
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The spec cannot be carried out.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The observer asked to stop.
    #[error("stopped by its observer")]
    Stopped,
}

/// Carries `spec` out, handing tables and progress to `observer`.
///
/// # Errors
/// When the spec cannot be carried out, or the observer asks to stop.
///
/// # Panics
/// When something does not hold that holds in every run, see [`crate::invariants`]: a bug of the simulator.
pub fn run(spec: &RunSpec, options: Options, observer: &mut dyn Observer) -> Result<RunSummary, RunError> {
    spec::check(spec)?;
    with_forward!(balancing(spec), F => run_with::<F>(spec, options, observer))
}

fn run_with<F: Forward>(
    spec: &RunSpec,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<RunSummary, RunError> {
    let build_options = BuildOptions {
        threads: options.threads,
        exact_only: options.path == Path::Exact,
        ..BuildOptions::default()
    };
    let mut world = build::<F>(spec, &build_options)?;
    let mut partitions = std::mem::take(&mut world.partitions);
    let live = LiveView::new(spec, partitions[0].probe().live().clone());
    let mut driver = Driver::new(&world, spec, options, live, &mut *observer);
    let outcome = kernel::run(&mut partitions, world.fabric.span, &mut driver);
    driver.report_end(outcome.last, partitions.iter().map(kernel::Partition::totals).sum());
    let Driver {
        mut assembler, observer: watcher, stopped, stalled_since, progress_at, fast_forward, ..
    } = driver;
    if stopped {
        return Err(RunError::Stopped);
    }
    let has_background = spec.jobs.iter().any(|job| job.repeat.rounds().is_none());
    let counts = summary::Counts::of(world.nodes_of(&partitions));
    let has_losses = counts.lost.total() > 0;
    let never_resends = spec.transport.recovery == LossRecovery::None;
    let has_waited = stalled_since.is_some() && has_background && has_losses && never_resends;
    let ending = Ending { is_idle: !outcome.stopped, has_waited, has_losses };
    finish_chunks(&partitions, &mut assembler, ending, watcher).map_err(|Stopped| RunError::Stopped)?;
    // Where others went on, a failed chunk says why the rest never came.
    let has_failed = has_background && assembler.jobs.iter().any(JobProgress::has_failed);
    let stalled_since = stalled_since.filter(|_| !has_failed);
    if let Some(since) = stalled_since {
        assembler.events.extend(summary::stall_evidence(&world, &partitions, since));
    }
    let deadlock = if assembler.is_complete() {
        Vec::new()
    } else {
        deadlock_events(&world, &partitions, progress_at, outcome.last.end)
    };
    let is_stalled = stalled_since.is_some() || !deadlock.is_empty();
    assembler.events.extend(deadlock);
    assembler.events.extend(summary::storm_events(&world, &partitions));
    assembler.events.extend(world.fabric.failures.events(&world.fabric.graph, outcome.last.end));
    assembler.events.extend(summary::threshold_events(&world, &partitions));
    assembler.events.sort_by_key(|event| event.time_ps);
    let Assembler { rows, mut events, jobs, .. } = assembler;
    world.partitions = partitions;
    let mut summary = summary::summarise(spec, &world, &counts, &jobs, outcome.last, is_stalled);
    summary.fast_forward_ps = fast_forward.skipped.0;
    events.retain(|event| event.time_ps <= summary.end_ps);
    let ends = (outcome.last.end, Instant(summary.end_ps));
    hand_out(&world, spec, rows, events, ends, observer).map_err(|Stopped| RunError::Stopped)?;
    Ok(summary)
}

/// Rows for what never ended. They may be as many as there are chunks, so they are handed out as they are made.
fn finish_chunks<F: Forward>(
    partitions: &[kernel::Partition<FabricNode<F>, SeriesProbe>],
    assembler: &mut Assembler,
    ending: Ending,
    observer: &mut dyn Observer,
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
        (hosts().flat_map(|host| host.open_chunks()), hosts().flat_map(|host| host.served_so_far())),
        hosts().flat_map(|host| host.undelivered_chunks()),
        ending,
        |rows| observer.batch(Batch::Chunks(rows)),
    )
}

/// Hands out everything that is known only at the end: of the last window, and of the run, which may have ended within it.
fn hand_out<F: Forward>(
    world: &World<F>,
    spec: &RunSpec,
    rows: Vec<spec::ChunkRow>,
    events: Vec<spec::EventRow>,
    (end, run_end): (Instant, Instant),
    observer: &mut dyn Observer,
) -> Result<(), Stopped> {
    let graph = &world.fabric.graph;
    let Paths { egress_qps, rows: path_rows } = paths::<F>(spec, &world.fabric, &world.flows);
    observer.batch(Batch::Chunks(rows))?;
    let priorities = hand_out_ports(world, &egress_qps, end, |rows| observer.batch(Batch::Ports(rows)))?;
    observer.batch(Batch::Priorities(priorities))?;
    hand_out_links(world, end, |mut rows| {
        rows.iter_mut().for_each(|row| row.busy_ps = row.busy_ps.min(run_end.0));
        observer.batch(Batch::Links(rows))
    })?;
    observer.batch(Batch::Paths(path_rows))?;
    observer.batch(Batch::Reordering(reordering_rows(spec, world)))?;
    let probes = || world.partitions.iter().map(|partition| partition.probe());
    hand_out_series(probes(), graph, |rows| observer.batch(Batch::Series(rows)))?;
    observer.batch(Batch::Series(total_rows(probes())))?;
    if !world.connections.is_empty() {
        observer.batch(Batch::Connections(connection_rows(world, end)))?;
    }
    observer.batch(Batch::Events(events))
}

/// Payload of the jobs that end by themselves, in all their rounds.
fn total_bytes<F: Forward>(world: &World<F>, spec: &RunSpec) -> u64 {
    let flows = &world.flows;
    let schedules = spec.jobs.iter().zip(&flows.schedules);
    let of_schedules = schedules.map(|(job, schedule)| job.bytes_of_all_rounds(schedule.total_bytes()));
    let of_storage = spec.jobs.iter().filter(|job| job.repeat.rounds().is_some()).map(|job| {
        let operations = estimate::storage_operations(spec, &world.fabric, job);
        operations.saturating_mul(job.data_bytes)
    });
    of_schedules.chain(of_storage).fold(offered_bytes(spec), u64::saturating_add)
}

/// Longer than anything legal waits but TCP: every retry of a queue pair and one timeout more, on top of the latest start,
/// the longest time that software takes, the longest time for which messages are offered and the times of the PFC watchdog.
fn patience(spec: &RunSpec, fabric: &Fabric) -> Span {
    let offers = |job: &JobSpec| job.arrivals.map_or(0, |arrivals| arrivals.duration_ps);
    let wait = |job: &JobSpec| {
        let software = job.start_ps.saturating_add(software(spec, job)).saturating_add(offers(job));
        software.saturating_add(service_ps(job))
    };
    let waits = spec.jobs.iter().map(wait).max().unwrap_or(0);
    let retries = u64::from(spec.transport.retry_count) + 2;
    let watchdog = spec.fabric.switch.pfc.as_ref().and_then(|pfc| pfc.watchdog);
    let storm = watchdog.map_or(0, |watchdog| watchdog.detection_ps.saturating_add(watchdog.restoration_ps));
    let timeouts = spec.transport.timeout_ps.saturating_mul(retries);
    let timeouts = match spec.transport.recovery {
        // Nothing is sent again: what comes at all waits in queues.
        LossRecovery::None => timeouts.min(queueing(spec, fabric)),
        LossRecovery::GoBackN | LossRecovery::Selective => timeouts,
    };
    let crossing = slowest_frame(spec, fabric).saturating_mul(SWITCHES_MAX);
    Span(timeouts.saturating_add(waits).saturating_add(storm).saturating_add(crossing))
}

/// Longer than a frame waits in the queues on its way: for all buffers by the slowest link [ps].
fn queueing(spec: &RunSpec, fabric: &Fabric) -> u64 {
    let buffer_bytes = spec.fabric.switch.buffer.size_bytes;
    let of_link = |rate: Rate| rate.span_of(buffer_bytes).0;
    let slowest = fabric.graph.links.iter().map(|link| of_link(link.rate)).max().unwrap_or(0);
    slowest.saturating_mul(SWITCHES_MAX).max(QUEUEING.0)
}

/// The time of the largest frame on the slowest link, or in the slowest NIC [ps].
fn slowest_frame(spec: &RunSpec, fabric: &Fabric) -> u64 {
    let hosts = 0..fabric.graph.hosts() as u32;
    let changes = hosts.flat_map(|host| fabric.failures.of_host(NodeId(host))).map(|change| change.ppm);
    let impairments = spec.fabric.nic.impairments.iter().map(|impairment| impairment.throughput_ppm);
    let ppm = impairments.chain(changes).min().unwrap_or(WHOLE_PPM).max(1);
    let line_bps = fabric.graph.links.iter().map(|link| link.rate.bps()).min().unwrap_or(u64::MAX);
    let of_line_bps = (u128::from(line_bps) * u128::from(ppm) / u128::from(WHOLE_PPM)) as u64;
    let bps = spec.fabric.nic.drain_rate_bps.map_or(of_line_bps, |drain| drain.min(of_line_bps));
    let mtus = spec.tcp.iter().map(|tcp| tcp.mtu_bytes).chain([spec.transport.mtu_bytes]);
    Rate::from_bps(bps.max(1)).span_of(u64::from(mtus.max().unwrap_or(0)) + HEADERS_BYTES_MAX).0
}

/// How long a target serves everything that the clients of a job may have outstanding, without new data.
fn service_ps(job: &JobSpec) -> u64 {
    let storing = |rate| Rate::from_bps(rate).span_of(job.data_bytes).0;
    job.storage.map_or(0, |storage| {
        let each = storage.service_time_ps + storage.service_rate_bps.map_or(0, storing);
        each.saturating_mul(u64::from(storage.clients) * u64::from(storage.depth))
    })
}

/// The most time for which a rank is busy with one message from each other rank, and with a copy of its data.
fn software(spec: &RunSpec, job: &JobSpec) -> u64 {
    let each = job.send_overhead_ps.saturating_add(job.receive_overhead_ps);
    let memory = spec.fabric.shared_memory;
    let copy = Rate::from_bps(memory.rate_bps).span_of(job.data_bytes).0.saturating_add(memory.latency_ps);
    let busy = each.saturating_mul(job.hosts.len() as u64).saturating_add(job.step_overhead_ps);
    busy.saturating_mul(estimate::transfers_per_message(job)).saturating_add(copy)
}

/// The hooks of a run: collects reports, hands out rows and progress, ends the run.
struct Driver<'a> {
    assembler: Assembler<'a>,
    observer: &'a mut dyn Observer,
    host_names: Vec<&'a str>,
    total_bytes: u64,
    windows_until_look: u32,
    last_report: WallInstant,
    live: LiveView,
    stopped: bool,
    /// Delivered so far, and when that last grew.
    progress: u64,
    progress_at: Instant,
    /// Simulated time without any delivery after which the run is ended; longer by the second while TCP connections are open.
    patience: Span,
    tcp_patience: Span,
    stalled_since: Option<Instant>,
    fast_forward: FastForward,
    /// Length of a window, and the end of the last.
    span: Span,
    now: Instant,
    apart: ApartRule,
}

impl<'a> Driver<'a> {
    fn new<F: Forward>(
        world: &'a World<F>,
        spec: &RunSpec,
        options: Options,
        live: LiveView,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let flows = &world.flows;
        let (total_bytes, patience) = (total_bytes(world, spec), patience(spec, &world.fabric));
        // Random targets never repeat.
        let mut assembler =
            Assembler::new(flows, &spec.jobs, world.fabric.span, world.fabric.byte_ps_of_hosts());
        assembler.open_tcp = open_connections(spec, &world.connections);
        Self {
            assembler,
            observer,
            host_names: world.fabric.host_names(),
            total_bytes,
            windows_until_look: WINDOWS_PER_LOOK,
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
            apart: ApartRule::new(spec, &world.fabric, flows, patience),
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
        self.windows_until_look = WINDOWS_PER_LOOK;
        if self.last_report.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last_report = WallInstant::now();
        self.tell(window, totals)
    }

    /// The last report of a run that the observer has not ended.
    fn report_end(&mut self, last: Window, totals: Totals) {
        self.stopped = self.stopped || self.tell(last, totals).is_err();
    }

    fn tell(&mut self, window: Window, totals: Totals) -> Result<(), Stopped> {
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
            let hand_out = |rows| self.observer.batch(Batch::Chunks(rows));
            self.assembler.take(records, &self.host_names, hand_out)?;
        }
        self.windows_until_look -= 1;
        if self.windows_until_look == 0 { self.report(window, totals) } else { Ok(()) }
    }
}

impl<F: Forward> Hooks<FabricNode<F>, SeriesProbe> for Driver<'_> {
    #[inline]
    fn cut(
        &mut self,
        window: Window,
        partition: &mut kernel::Partition<FabricNode<F>, SeriesProbe>,
    ) -> Option<Instant> {
        self.fast_forward.cut(window, partition)
    }

    fn look(
        &mut self,
        now: Instant,
        partition: &mut kernel::Partition<FabricNode<F>, SeriesProbe>,
    ) -> Instant {
        self.fast_forward.look(now, partition)
    }

    #[inline]
    fn apart_until(&self, totals: Totals) -> Instant {
        let has_failed = !self.assembler.events.is_empty();
        if !has_failed && self.apart.allows(totals, self.assembler.open, self.now) {
            self.fast_forward.rests_until()
        } else {
            Instant::ZERO
        }
    }

    #[inline]
    fn after_window(&mut self, window: Window, records: &mut Vec<Record>, totals: Totals) -> ControlFlow<()> {
        self.now = window.end;
        self.fast_forward.note(window, records);
        // Once it has asked to stop the observer hears no more, though another step may follow.
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
