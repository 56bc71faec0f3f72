//! [`HostRun`]: a run at an agent (a process that acts as one or more hosts), with the operations that the
//! controller calls: stages from creation to results, the thread of the run, its progress and watchdog. Also
//! the list of drivers.

use super::driver::Driver;
use super::executor::{Executor, State};
use super::memory_check::{MemoryNeeds, available_bytes};
use super::record::{Recorder, write_received, write_sent};
use super::roce::Roce;
use super::share::Share;
use super::tcp::Tcp;
use super::verbs::{RdmaVerbs, unusable_reason};
use super::{RunError, Settings};
use crate::{Clock, monotonic_ns};
use jobs::Jobs;
use spec::{RunSpec, SpecError};
use std::collections::{BTreeMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Span;

/// A run without a sign of life of the controller for this time stops, so that traffic ends with it [ns].
const SIGN_OF_LIFE_NS: u64 = 2_000_000_000;
/// Nice increment of a run's thread relative to other threads of its process.
const NICE: i32 = 5;
/// Maximum number of rows reserved in advance; more are allocated on demand.
const ROWS_MAX: usize = 1 << 22;

const DRIVERS: [&str; 3] = ["roce", "tcp", "verbs"];

/// All drivers, each with the reason why it is unavailable on this host (at that address, if given), or "".
pub fn drivers(address: Option<Ipv4Addr>) -> Vec<(&'static str, String)> {
    let unusable_reason = |driver| if driver == "verbs" { unusable_reason(address) } else { String::new() };
    DRIVERS.map(|driver| (driver, unusable_reason(driver))).into()
}

/// The jobs of a spec, if endpoints support them.
pub(super) fn jobs_of(spec: &RunSpec) -> Result<Jobs, RunError> {
    let mut jobs = Jobs::new(spec);
    for (index, job) in (0..).zip(&spec.jobs) {
        if job.work.storage().is_some() {
            return Err(unsupported(format!("jobs[{index}].work.kind"), "a storage job"));
        }
        jobs.add_scheduled(spec, index, job)?;
    }
    if !spec.tcp.is_empty() {
        return Err(unsupported("tcp".into(), "TCP traffic in parallel with the jobs"));
    }
    Ok(jobs)
}

fn unsupported(field: String, kind: &str) -> RunError {
    SpecError::Value { field, found: kind.into(), allowed: "none on endpoints: collectives only".into() }
        .into()
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Current state.
    pub state: State,
    /// Reason of a stop or failure.
    pub reason: String,
    /// Payload of finite jobs that arrived at the agent's hosts [bytes].
    pub delivered_bytes: u64,
    /// Total payload of finite jobs for the agent's hosts [bytes].
    pub total_bytes: u64,
    /// Time since the start.
    pub elapsed: Span,
    /// The agent only waits for others: nothing sent is unacknowledged, no timer is pending, and nothing
    /// arrived for longer than a queue pair needs to give up.
    pub is_idle: bool,
}

/// State shared by the thread of a run and its observers.
pub(super) struct Control {
    /// Time of the controller's last sign of life, on the monotonic clock [ns].
    alive_ns: AtomicU64,
    must_end: AtomicBool,
    report: Mutex<Report>,
    changed: Condvar,
}

struct Report {
    progress: Progress,
    counters: Vec<(&'static str, u64)>,
}

impl Control {
    fn new(total_bytes: u64) -> Self {
        let progress = Progress {
            state: State::Running,
            reason: String::new(),
            delivered_bytes: 0,
            total_bytes,
            elapsed: Span::ZERO,
            is_idle: false,
        };
        Self {
            alive_ns: AtomicU64::new(monotonic_ns()),
            must_end: AtomicBool::new(false),
            report: Mutex::new(Report { progress, counters: Vec::new() }),
            changed: Condvar::new(),
        }
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to end the run: by request, or without signs of life of the controller.
    pub(super) fn must_end(&self) -> bool {
        let silence = monotonic_ns().saturating_sub(self.alive_ns.load(Ordering::Relaxed));
        if silence > SIGN_OF_LIFE_NS {
            self.end(State::Stopped, &format!("no sign of the controller for {} ms", silence / 1_000_000));
        }
        self.must_end.load(Ordering::Relaxed)
    }

    /// Ends the run; a final state that was set before is not changed.
    pub(super) fn end(&self, state: State, reason: &str) {
        let mut report = self.report();
        if report.progress.state == State::Running {
            (report.progress.state, report.progress.reason) = (state, reason.into());
        }
        drop(report);
        self.must_end.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Marks all work of this agent as done.
    pub(super) fn drained(&self) {
        let mut report = self.report();
        if report.progress.state == State::Running {
            report.progress.state = State::Drained;
            self.changed.notify_all();
        }
    }

    /// Reports the progress of the thread.
    pub(super) fn update(
        &self,
        delivered_bytes: u64,
        elapsed: Span,
        is_idle: bool,
        counters: impl FnOnce() -> Vec<(&'static str, u64)>,
    ) {
        let counters = counters();
        let mut report = self.report();
        report.progress.delivered_bytes = delivered_bytes;
        report.progress.elapsed = elapsed;
        report.progress.is_idle = is_idle;
        report.counters = counters;
    }
}

/// Stage of the executor.
enum Stage {
    Made(Box<Executor>),
    Connected(Box<Executor>),
    Started(JoinHandle<Box<Executor>>),
    Ended(Box<Executor>),
    /// Its thread panicked.
    Lost,
}

/// A run at an agent that acts as one or more hosts.
///
/// Order of calls: [`new`](Self::new), [`addresses`](Self::addresses), [`connect`](Self::connect),
/// [`start`](Self::start), then [`keep_alive`](Self::keep_alive) at least every two seconds and
/// [`progress`](Self::progress) or [`wait`](Self::wait), finally [`sent`](Self::sent) and
/// [`received`](Self::received).
pub struct HostRun {
    jobs: Arc<Jobs>,
    clock: Clock,
    stage: Mutex<Stage>,
    control: Arc<Control>,
}

impl HostRun {
    /// Creates a run for `hosts` of a validated spec; opens sockets.
    pub fn new(spec: RunSpec, hosts: &[u32], driver: &str, settings: Settings) -> Result<Self, RunError> {
        check_hosts(&spec, hosts)?;
        let (clock, jobs) = (Clock::start(), Arc::new(jobs_of(&spec)?));
        let share = Share::new(&spec, &jobs, hosts);
        let needs = MemoryNeeds::of(&spec, &share);
        needs.check(available_bytes())?;
        let rows = needs.rows().map(|rows| ROWS_MAX.min(usize::try_from(rows).unwrap_or(ROWS_MAX)));
        let recorder = Recorder::new(share.sends(), rows);
        let spec = Arc::new(spec);
        settings.check_driver(driver)?;
        let planned_dscp = spec.transport.dscp.unwrap_or_default();
        let settings = Settings { planned_dscp, ..settings };
        let mut driver: Box<dyn Driver> = match driver {
            "roce" => Box::new(Roce::new(&spec, &jobs, settings, clock)?),
            "tcp" => Box::new(Tcp::new(&spec, &jobs, settings, clock)?),
            "verbs" => Box::new(RdmaVerbs::new(&spec, &jobs, settings, clock)?),
            _ => return Err(unknown_driver(driver)),
        };
        driver.prepare(share.senders(), share.receivers())?;
        let control = Arc::new(Control::new(share.total_bytes()));
        let executor = Box::new(Executor::new(share, driver, recorder, clock));
        Ok(Self { jobs, clock, stage: Mutex::new(Stage::Made(executor)), control })
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connection data that peers need to reach this agent.
    ///
    /// # Errors
    /// [`RunError::Order`] after the start.
    pub fn addresses(&self) -> Result<Vec<u8>, RunError> {
        match &*self.stage() {
            Stage::Made(executor) | Stage::Connected(executor) => Ok(executor.driver.addresses()),
            _ => Err(RunError::Order("addresses are read before the start")),
        }
    }

    /// Connects all queue pairs; `peers` has the addresses from the agents of all hosts.
    ///
    /// # Errors
    /// [`RunError`]; the run is unusable after it.
    pub fn connect(&self, peers: &BTreeMap<u32, Vec<u8>>) -> Result<(), RunError> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Lost) {
            Stage::Made(mut executor) => {
                let Executor { share, driver, .. } = &mut *executor;
                driver.connect(peers, share.senders(), share.receivers())?;
                *stage = Stage::Connected(executor);
                Ok(())
            }
            other => {
                *stage = other;
                Err(RunError::Order("a run is connected once, before the start"))
            }
        }
    }

    /// Starts at a time of the monotonic clock [ns], or immediately if it has passed; does not block.
    pub fn start(&self, at_ns: u64) -> Result<(), RunError> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Lost) {
            Stage::Connected(mut executor) => {
                let (control, at) = (Arc::clone(&self.control), self.clock.at(at_ns));
                self.keep_alive();
                let thread = std::thread::Builder::new().name("fabricbench-run".into());
                *stage = Stage::Started(thread.spawn(move || {
                    // The thread that talks to the controller has priority, or a busy host would miss its
                    // signs of life.
                    let _ = rustix::process::nice(NICE);
                    executor.run(at, &control);
                    executor
                })?);
                Ok(())
            }
            other => {
                *stage = other;
                Err(RunError::Order("a run is started once, after it was connected"))
            }
        }
    }

    /// Records a sign of life of the controller: without one for two seconds the run stops.
    pub fn keep_alive(&self) {
        self.control.alive_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Stops the run; chunks in flight remain unfinished.
    pub fn stop(&self, reason: &str) {
        self.control.end(State::Stopped, reason);
    }

    /// Current progress.
    pub fn progress(&self) -> Progress {
        self.control.report().progress.clone()
    }

    /// Waits until the run is no longer running, at most `timeout`; true if so.
    pub fn wait(&self, timeout: Duration) -> bool {
        let is_running = |report: &mut Report| report.progress.state == State::Running;
        let waited = self.control.changed.wait_timeout_while(self.control.report(), timeout, is_running);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Counters, as of the latest progress report.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        match &*self.stage() {
            Stage::Made(executor) | Stage::Connected(executor) | Stage::Ended(executor) => {
                executor.counters()
            }
            Stage::Started(_) | Stage::Lost => self.control.report().counters.clone(),
        }
    }

    /// Sender's records of chunks, as an Arrow IPC stream. Ends a drained run: call it when all agents are
    /// drained.
    pub fn sent(&self) -> Result<Vec<u8>, RunError> {
        self.of_record(|recorder| write_sent(recorder.sent(), &self.jobs))
    }

    /// Receiver's records of chunks, as an Arrow IPC stream. Ends a drained run.
    pub fn received(&self) -> Result<Vec<u8>, RunError> {
        self.of_record(|recorder| write_received(recorder.received(), &self.jobs))
    }

    fn of_record<T>(&self, encode: impl FnOnce(&Recorder) -> Result<T, RunError>) -> Result<T, RunError> {
        let mut stage = self.stage();
        if let Stage::Started(_) = &*stage {
            if self.progress().state == State::Running {
                return Err(RunError::Order("a run that goes on has no record yet: stop it first"));
            }
            self.finish(&mut stage);
        }
        match &*stage {
            Stage::Made(executor) | Stage::Connected(executor) | Stage::Ended(executor) => {
                encode(&executor.recorder)
            }
            Stage::Started(_) | Stage::Lost => Err(RunError::Order("the run has lost its thread")),
        }
    }

    /// Ends and joins the thread.
    fn finish(&self, stage: &mut Stage) {
        self.control.end(State::Stopped, "");
        if let Stage::Started(thread) = std::mem::replace(stage, Stage::Lost)
            && let Ok(executor) = thread.join()
        {
            *stage = Stage::Ended(executor);
        }
    }
}

impl Drop for HostRun {
    fn drop(&mut self) {
        let mut stage = std::mem::replace(&mut *self.stage(), Stage::Lost);
        if let Stage::Started(_) = &stage {
            self.finish(&mut stage);
        }
    }
}

fn unknown_driver(driver: &str) -> RunError {
    RunError::Driver { found: driver.into(), allowed: DRIVERS.join(", ") }
}

fn check_hosts(spec: &RunSpec, hosts: &[u32]) -> Result<(), RunError> {
    let mut known = HashSet::new();
    for &host in hosts {
        let count = spec.fabric.topology.hosts();
        let why = match (u64::from(host) < count, known.insert(host)) {
            (false, _) => format!("the topology has {count}"),
            (true, false) => "it is named twice".into(),
            (true, true) => continue,
        };
        return Err(RunError::Host { host, why });
    }
    Ok(())
}
